//! Random operations on handles of several objects, against a model that knows who is alive; and the
//! same operations on the standard library's `Arc`, which must agree.
#![expect(unsafe_code, reason = "references also travel as raw pointers")]

use std::cell::RefCell;
use std::rc::Rc;

use proptest::prelude::*;

/// What is done next. A number picks a handle, modulo how many there are; without any nothing is done.
#[derive(Clone, Debug)]
enum Step {
    New(u16),
    Clone(usize),
    Drop(usize),
    Set(usize, u16),
    SetOwn(usize, u16),
    TryUnwrap(usize),
    IntoInner(usize),
    UnwrapOrClone(usize),
    ThroughRaw(usize),
    IncrementRaw(usize),
    DecrementRaw(usize),
    Compare(usize, usize),
}

fn step() -> impl Strategy<Value = Step> {
    use Step::*;
    let at = || any::<usize>();
    prop_oneof![
        3 => any::<u16>().prop_map(New),
        6 => at().prop_map(Clone),
        4 => at().prop_map(Drop),
        2 => (at(), any::<u16>()).prop_map(|(at, n)| Set(at, n)),
        2 => (at(), any::<u16>()).prop_map(|(at, n)| SetOwn(at, n)),
        2 => at().prop_map(TryUnwrap),
        2 => at().prop_map(IntoInner),
        1 => at().prop_map(UnwrapOrClone),
        1 => at().prop_map(ThroughRaw),
        1 => at().prop_map(IncrementRaw),
        1 => at().prop_map(DecrementRaw),
        2 => (at(), at()).prop_map(|(a, b)| Compare(a, b)),
    ]
}

/// The names of the objects that were dropped, in order.
type Drops = Rc<RefCell<Vec<usize>>>;

/// Data that tells when it is dropped. A copy is another object, with the next free name.
struct Data {
    name: usize,
    value: u16,
    names: Rc<RefCell<usize>>,
    drops: Drops,
}

impl Clone for Data {
    fn clone(&self) -> Self {
        let name = next(&self.names);
        Self { name, value: self.value, names: self.names.clone(), drops: self.drops.clone() }
    }
}

impl Drop for Data {
    fn drop(&mut self) {
        self.drops.borrow_mut().push(self.name);
    }
}

fn next(names: &RefCell<usize>) -> usize {
    let name = *names.borrow();
    *names.borrow_mut() += 1;
    name
}

/// What is seen after each step: per handle its object's name, value and count; and the drops.
#[derive(Clone, Debug, Default, PartialEq)]
struct Seen {
    handles: Vec<(usize, u16, usize)>,
    drops: Vec<usize>,
    /// What the step itself answered.
    answer: Option<bool>,
}

/// The model: an object is a name and a value, a handle an index into the objects.
#[derive(Default)]
struct Model {
    values: Vec<u16>,
    handles: Vec<usize>,
    drops: Vec<usize>,
}

impl Model {
    fn new_object(&mut self, value: u16) -> usize {
        self.values.push(value);
        self.values.len() - 1
    }

    fn count(&self, name: usize) -> usize {
        self.handles.iter().filter(|&&handle| handle == name).count()
    }

    /// Removes a handle as `Vec::swap_remove` does; whether it was its object's last.
    fn remove(&mut self, at: usize) -> bool {
        let name = self.handles.swap_remove(at);
        let last = self.count(name) == 0;
        if last {
            self.drops.push(name);
        }
        last
    }

    fn step(&mut self, step: &Step) -> Option<bool> {
        let len = self.handles.len();
        if let &Step::New(value) = step {
            let name = self.new_object(value);
            self.handles.push(name);
            return None;
        }
        if len == 0 {
            return None;
        }
        match *step {
            Step::New(_) => unreachable!("done above"),
            Step::Clone(at) | Step::IncrementRaw(at) => {
                self.handles.push(self.handles[at % len]);
                None
            }
            Step::Drop(at) | Step::DecrementRaw(at) => {
                self.remove(at % len);
                None
            }
            Step::Set(at, value) => {
                let name = self.handles[at % len];
                let alone = self.count(name) == 1;
                if alone {
                    self.values[name] = value;
                }
                Some(alone)
            }
            Step::SetOwn(at, value) => {
                let name = self.handles[at % len];
                if self.count(name) == 1 {
                    self.values[name] = value;
                } else {
                    self.handles[at % len] = self.new_object(value);
                }
                None
            }
            Step::TryUnwrap(at) => {
                let alone = self.count(self.handles[at % len]) == 1;
                if alone {
                    self.remove(at % len);
                } else {
                    let name = self.handles.swap_remove(at % len);
                    self.handles.push(name);
                }
                Some(alone)
            }
            Step::IntoInner(at) => Some(self.remove(at % len)),
            Step::UnwrapOrClone(at) => {
                let name = self.handles[at % len];
                if !self.remove(at % len) {
                    let copy = self.new_object(self.values[name]);
                    self.drops.push(copy);
                }
                None
            }
            Step::ThroughRaw(at) => {
                let name = self.handles.swap_remove(at % len);
                self.handles.push(name);
                None
            }
            Step::Compare(a, b) => Some(self.handles[a % len] == self.handles[b % len]),
        }
    }

    fn seen(&self, answer: Option<bool>) -> Seen {
        let handles =
            self.handles.iter().map(|&name| (name, self.values[name], self.count(name))).collect();
        Seen { handles, drops: self.drops.clone(), answer }
    }
}

/// A world of real handles. Both `Arc`s have all that is needed by the same names, but for the count.
macro_rules! world {
    ($world:ident, $arc:ident = $path:path, $count:expr) => {
        mod $world {
            use super::*;
            use $path as $arc;

            #[derive(Default)]
            pub(super) struct World {
                names: Rc<RefCell<usize>>,
                drops: Drops,
                handles: Vec<$arc<Data>>,
            }

            impl World {
                pub(super) fn step(&mut self, step: &Step) -> Option<bool> {
                    let handles = &mut self.handles;
                    let len = handles.len();
                    if let &Step::New(value) = step {
                        let (name, names) = (next(&self.names), self.names.clone());
                        let drops = self.drops.clone();
                        handles.push($arc::new(Data { name, value, names, drops }));
                        return None;
                    }
                    if len == 0 {
                        return None;
                    }
                    match *step {
                        Step::New(_) => unreachable!("done above"),
                        Step::Clone(at) => handles.push(handles[at % len].clone()),
                        Step::Drop(at) => drop(handles.swap_remove(at % len)),
                        Step::Set(at, value) => {
                            let data = $arc::get_mut(&mut handles[at % len]);
                            return Some(data.map(|data| data.value = value).is_some());
                        }
                        Step::SetOwn(at, value) => {
                            $arc::make_mut(&mut handles[at % len]).value = value;
                        }
                        Step::TryUnwrap(at) => {
                            let unwrapped = $arc::try_unwrap(handles.swap_remove(at % len));
                            return Some(unwrapped.map_err(|shared| handles.push(shared)).is_ok());
                        }
                        Step::IntoInner(at) => {
                            return Some($arc::into_inner(handles.swap_remove(at % len)).is_some());
                        }
                        Step::UnwrapOrClone(at) => {
                            drop($arc::unwrap_or_clone(handles.swap_remove(at % len)));
                        }
                        Step::ThroughRaw(at) => {
                            let raw = $arc::into_raw(handles.swap_remove(at % len));
                            // SAFETY: just given up.
                            handles.push(unsafe { $arc::from_raw(raw) });
                        }
                        Step::IncrementRaw(at) => {
                            let raw = $arc::as_ptr(&handles[at % len]);
                            // SAFETY: the handle lives; the reference added is taken by the other.
                            handles.push(unsafe {
                                $arc::increment_strong_count(raw);
                                $arc::from_raw(raw)
                            });
                        }
                        Step::DecrementRaw(at) => {
                            let raw = $arc::into_raw(handles.swap_remove(at % len));
                            // SAFETY: just given up.
                            unsafe { $arc::decrement_strong_count(raw) };
                        }
                        Step::Compare(a, b) => {
                            return Some($arc::ptr_eq(&handles[a % len], &handles[b % len]));
                        }
                    }
                    None
                }

                pub(super) fn seen(&self, answer: Option<bool>) -> Seen {
                    let handle = |a: &$arc<Data>| (a.name, a.value, $count(a));
                    let handles = self.handles.iter().map(handle).collect();
                    Seen { handles, drops: self.drops.borrow().clone(), answer }
                }
            }
        }
    };
}
world!(ours, Arc = refcount::Arc, |a: &Arc<Data>| Arc::count(a) as usize);
world!(stds, Arc = std::sync::Arc, Arc::strong_count);

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn handles_are_what_the_model_says(steps in prop::collection::vec(step(), 0..80)) {
        let mut model = Model::default();
        let (mut ours, mut stds) = (ours::World::default(), stds::World::default());
        // At the end every handle goes, and each object must have been dropped exactly once.
        let drops = std::iter::repeat_n(Step::Drop(0), 160);
        for step in steps.into_iter().chain(drops) {
            let answer = model.step(&step);
            let expected = model.seen(answer);
            let answer = ours.step(&step);
            prop_assert_eq!(ours.seen(answer), expected.clone(), "ours, {:?}", step);
            let answer = stds.step(&step);
            prop_assert_eq!(stds.seen(answer), expected, "std's, {:?}", step);
        }
        prop_assert!(model.handles.is_empty());
        model.drops.sort_unstable();
        prop_assert_eq!(model.drops, (0..model.values.len()).collect::<Vec<_>>());
    }
}
