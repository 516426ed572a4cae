//! The slab without any bug: each name finds its own object or nothing, on one thread and on several.

use std::sync::Mutex;

use refcount::{Backend, DefaultBackend, Fetch, Full, Plain};
use slab::sessions::Session;
use slab::{Id, Slab};

type Sessions<B> = Slab<Session, B>;

#[test]
fn an_object_is_there_as_long_as_a_handle() {
    let slab = Sessions::<DefaultBackend>::new(1, Session::default);
    let first = slab.insert(|session| session.set_up(1, 10)).unwrap();
    let id = first.id();
    let found = slab.get(id).unwrap();
    assert_eq!((found.user(), found.secret(), found.count()), (1, 10, 2));
    drop(first);
    assert!(slab.insert(|_| ()).is_none(), "the one slot is in use");
    assert_eq!(slab.used_and_leaked(), (1, 0));
    drop(found);
    assert!(slab.get(id).is_none());
    assert_eq!(slab.used_and_leaked(), (0, 0));
}

#[test]
fn a_name_does_not_find_the_slots_next_object() {
    let slab = Sessions::<DefaultBackend>::new(1, Session::default);
    let old = slab.insert(|session| session.set_up(1, 10)).unwrap().id();
    let new = slab.insert(|session| session.set_up(2, 20)).unwrap();
    assert_ne!(old, new.id());
    assert!(slab.get(old).is_none());
    assert_eq!(new.count(), 1, "the lookup's reference was dropped again");
}

/// An object that is being set up is nobody's yet, by its slot's last name neither.
#[test]
fn an_object_is_not_found_while_it_is_set_up() {
    let slab = Sessions::<DefaultBackend>::new(1, Session::default);
    let old = slab.insert(|session| session.set_up(1, 10)).unwrap().id();
    let new = slab.insert(|session| {
        assert!(slab.get(old).is_none());
        session.set_up(2, 20);
        assert!(slab.get(old).is_none());
    });
    assert_eq!(new.unwrap().secret(), 20);
}

#[test]
fn a_reference_travels_as_a_name() {
    let slab = Sessions::<DefaultBackend>::new(1, Session::default);
    let id = slab.insert(|session| session.set_up(1, 10)).unwrap().into_id();
    assert_eq!(slab.used_and_leaked(), (1, 0));
    assert_eq!(slab.handle_of(id).user(), 1);
    assert_eq!(slab.used_and_leaked(), (0, 0));
}

#[test]
fn slots_are_given_out_until_none_is_left() {
    let slab = Sessions::<DefaultBackend>::new(3, Session::default);
    let mut handles: Vec<_> = (0..3).map(|_| slab.insert(|_| ()).unwrap()).collect();
    assert!(slab.insert(|_| ()).is_none());
    handles.remove(1);
    handles.push(slab.insert(|_| ()).expect("one was dropped"));
    drop(handles);
    assert_eq!((0..4).map_while(|_| slab.insert(|_| ()).map(|h| h.into_id())).count(), 3);
}

/// Threads insert, look their own and the others' objects up by names old and new, and drop them. There
/// are fewer slots than objects at a time, so slots are reused all along. Whatever is found is whole,
/// is what the name says, and stays so as long as it is held.
fn threads_find_only_what_they_ask_for<B: Backend<u32>>() {
    const THREADS: u64 = 4;
    const ROUNDS: u64 = 5_000;
    let slab = Sessions::<B>::new(3, Session::default);
    let latest: [Mutex<Option<(Id, u64)>>; THREADS as usize] = Default::default();
    let check = |id, user: u64| {
        let Some(handle) = slab.get(id) else { return };
        let other = handle.clone();
        assert_eq!((handle.user(), handle.secret()), (user, !user));
        drop(handle);
        assert_eq!((other.user(), other.secret(), other.id_now()), (user, !user, id));
    };
    let work = |thread: u64| {
        for round in 0..ROUNDS {
            let user = round * THREADS + thread;
            let Some(handle) = slab.insert(|session| session.set_up(user, !user)) else {
                continue;
            };
            let id = handle.id();
            *latest[thread as usize].lock().expect("no thread panics with it") = Some((id, user));
            assert_eq!(slab.get(id).expect("held").user(), user);
            for other in &latest {
                let named = *other.lock().expect("no thread panics with it");
                named.into_iter().for_each(|(id, user)| check(id, user));
            }
            drop(handle);
        }
    };
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            scope.spawn(move || work(thread));
        }
    });
    assert_eq!(slab.used_and_leaked(), (0, 0));
    let again: Vec<_> = (0..3).map(|_| slab.insert(|_| ()).expect("all are free")).collect();
    assert!(slab.insert(|_| ()).is_none());
    drop(again);
}

#[test]
fn threads_find_only_what_they_ask_for_on_every_backend() {
    threads_find_only_what_they_ask_for::<DefaultBackend>();
    threads_find_only_what_they_ask_for::<Fetch>();
    threads_find_only_what_they_ask_for::<Full>();
    // Without a bug the counter that wraps is as good as any.
    threads_find_only_what_they_ask_for::<Plain>();
}
