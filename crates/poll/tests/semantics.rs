//! What `poll` promises, one test a promise, in a system whose clock and sleeps are the test's.

mod sim;

use poll::{
    Access, Deadline, Error, Events, InvalidTimespec, PollFd, Restart, Time, Timespec, poll,
    poll_until, ppoll,
};
use sim::{Memory, Sim};

const STALE: Events = Events::from_bits(0xdead);
const MS: u64 = 1_000_000;
/// When the simulated clock begins.
const START: u64 = 1_000_000;

/// Entries with what was left of an earlier answer.
fn set(entries: &[(i32, Events)]) -> Vec<PollFd> {
    entries.iter().map(|&(fd, events)| PollFd { fd, events, revents: STALE }).collect()
}

fn answers(entries: &[PollFd]) -> Vec<Events> {
    entries.iter().map(|entry| entry.revents).collect()
}

// The scan.

#[test]
fn a_negative_descriptor_answers_nothing_and_is_not_counted() {
    let sim = Sim::new(&[Events::IN]);
    let mut entries = set(&[(-1, Events::IN), (-2, Events::IN), (i32::MIN, Events::IN)]);
    assert_eq!(poll(&sim, &mut entries, 0), Ok(0));
    assert_eq!(answers(&entries), [Events::NONE; 3], "stale answers are wiped");
    assert_eq!([entries[0].fd, entries[1].fd, entries[2].fd], [-1, -2, i32::MIN], "fd is kept");
}

#[test]
fn a_descriptor_without_a_file_is_counted_and_the_scan_goes_on() {
    let sim = Sim::new(&[Events::IN, Events::IN]);
    let mut entries =
        set(&[(7, Events::NONE), (0, Events::IN), (i32::MAX, Events::IN), (1, Events::IN)]);
    assert_eq!(poll(&sim, &mut entries, -1), Ok(4), "and does not wait");
    assert_eq!(answers(&entries), [Events::NVAL, Events::IN, Events::NVAL, Events::IN]);
}

#[test]
fn a_file_answers_only_what_it_was_asked() {
    let sim = Sim::new(&[Events::ALWAYS, Events::ALWAYS, Events::ALWAYS]);
    let mut entries = set(&[(0, Events::IN), (1, Events::OUT | Events::PRI), (2, Events::NONE)]);
    assert_eq!(poll(&sim, &mut entries, 0), Ok(2));
    assert_eq!(answers(&entries), [Events::IN, Events::OUT, Events::NONE]);
}

#[test]
fn errors_and_hangups_are_answered_unasked() {
    let sim = Sim::new(&[Events::ERR | Events::OUT, Events::HUP | Events::IN]);
    let mut entries = set(&[(0, Events::NONE), (1, Events::NONE)]);
    assert_eq!(poll(&sim, &mut entries, 0), Ok(2));
    assert_eq!(answers(&entries), [Events::ERR, Events::HUP]);
}

#[test]
fn unknown_bits_ask_for_nothing_and_are_kept() {
    let sim = Sim::new(&[Events::OUT]);
    let events = Events::from_bits(0x8000 | 0x4000 | 0x1000 | 0x0800) | Events::OUT;
    let mut entries = set(&[(0, events)]);
    assert_eq!(poll(&sim, &mut entries, 0), Ok(1));
    assert_eq!(entries, [PollFd { fd: 0, events, revents: Events::OUT }]);
}

#[test]
fn duplicates_are_entries_of_their_own() {
    let sim = Sim::new(&[Events::ALWAYS]);
    let mut entries = set(&[(0, Events::IN), (0, Events::OUT), (0, Events::PRI), (0, Events::IN)]);
    assert_eq!(poll(&sim, &mut entries, 0), Ok(3));
    assert_eq!(answers(&entries), [Events::IN, Events::OUT, Events::NONE, Events::IN]);
}

#[test]
fn only_revents_is_written() {
    let sim = Sim::new(&[Events::ALWAYS]);
    let asked = [(0, Events::IN), (5, Events::OUT), (-3, Events::PRI)];
    let mut entries = set(&asked);
    poll(&sim, &mut entries, 0).unwrap();
    let kept: Vec<_> = entries.iter().map(|entry| (entry.fd, entry.events)).collect();
    assert_eq!(kept, asked);
}

#[test]
fn an_empty_set_is_a_sleep() {
    let sim = Sim::new(&[]);
    assert_eq!(poll(&sim, &mut [], 5), Ok(0));
    assert_eq!(sim.state.now.get(), START + 5 * MS);
}

// The limit.

#[test]
fn a_set_as_large_as_the_limit_is_taken_and_one_more_is_not() {
    let mut sim = Sim::new(&[Events::IN]);
    sim.limit = 3;
    let mut entries = set(&[(0, Events::IN); 3]);
    assert_eq!(poll(&sim, &mut entries, 0), Ok(3));
    let mut entries = set(&[(0, Events::IN); 4]);
    let error = poll(&sim, &mut entries, 0).unwrap_err();
    assert_eq!(error, Error::TooManyEntries { entries: 4, limit: 3 });
    assert_eq!(error.errno(), 22);
    assert_eq!(answers(&entries), [STALE; 4], "the set is untouched");
}

#[test]
fn descriptors_themselves_may_be_past_the_limit() {
    let mut sim = Sim::new(&[]);
    sim.limit = 1;
    assert_eq!(poll(&sim, &mut set(&[(9_999, Events::IN)]), 0), Ok(1));
}

// Registering.

#[test]
fn a_zero_timeout_makes_no_waiter_registers_nothing_and_reads_no_clock() {
    let sim = Sim::new(&[Events::NONE, Events::NONE]);
    assert_eq!(poll(&sim, &mut set(&[(0, Events::IN), (1, Events::IN)]), 0), Ok(0));
    assert_eq!(sim.state.waiters.get(), 0);
    assert_eq!([sim.registrations(0), sim.registrations(1)], [0, 0]);
    assert_eq!(sim.state.clock_reads.get(), 0);
    assert_eq!(sim.sleeps(), 0);
}

#[test]
fn after_the_first_answer_nothing_more_is_registered_but_everything_is_scanned() {
    let sim = Sim::new(&[Events::NONE, Events::IN, Events::NONE, Events::IN]);
    let mut entries = set(&[0, 1, 2, 3].map(|fd| (fd, Events::IN)));
    assert_eq!(poll(&sim, &mut entries, -1), Ok(2));
    let registered = [0, 1, 2, 3].map(|fd| sim.registrations(fd));
    assert_eq!(registered, [1, 1, 0, 0], "the one that answered had registered before it looked");
    assert_eq!([0, 1, 2, 3].map(|fd| sim.file(fd).polled.get()), [1; 4]);
}

#[test]
fn a_descriptor_without_a_file_ends_registering_and_a_negative_one_does_not() {
    let sim = Sim::new(&[Events::NONE, Events::NONE]);
    let mut entries = set(&[(-1, Events::IN), (0, Events::IN), (9, Events::IN), (1, Events::IN)]);
    assert_eq!(poll(&sim, &mut entries, -1), Ok(1));
    assert_eq!([sim.registrations(0), sim.registrations(1)], [1, 0]);
}

#[test]
fn a_file_is_registered_once_however_often_the_call_wakes_up() {
    let sim = Sim::new(&[Events::NONE]);
    sim.during_sleep(1, |_| {});
    sim.during_sleep(1, |_| {});
    sim.during_sleep(1, |state| state.files.borrow()[&0].ready.set(Events::IN));
    assert_eq!(poll(&sim, &mut set(&[(0, Events::IN)]), -1), Ok(1));
    assert_eq!(sim.sleeps(), 3);
    assert_eq!(sim.registrations(0), 1);
    assert_eq!(sim.file(0).polled.get(), 4);
}

#[test]
fn a_file_learns_what_is_wanted_of_it_with_what_comes_unasked() {
    let sim = Sim::new(&[Events::NONE]);
    poll(&sim, &mut set(&[(0, Events::PRI)]), 1).unwrap();
    let wanted = Events::PRI | Events::ERR | Events::HUP;
    assert_eq!(*sim.file(0).registered.borrow(), [wanted]);
}

#[test]
fn want_of_memory_is_an_error_only_when_nothing_is_ready() {
    let sim = Sim::new(&[Events::NONE, Events::IN]);
    sim.state.registration_fails.set(true);
    let mut entries = set(&[(0, Events::IN)]);
    let error = poll(&sim, &mut entries, -1).unwrap_err();
    assert_eq!((error, error.errno()), (Error::NoMemory, 12));
    assert_eq!(sim.sleeps(), 0, "who could not register must not sleep");
    assert_eq!(poll(&sim, &mut set(&[(0, Events::IN), (1, Events::IN)]), -1), Ok(1));
}

// Time.

#[test]
fn a_timeout_ends_at_its_deadline_with_every_answer_empty() {
    let sim = Sim::new(&[Events::NONE]);
    let mut entries = set(&[(0, Events::IN), (-1, Events::IN)]);
    assert_eq!(poll(&sim, &mut entries, 250), Ok(0));
    assert_eq!(sim.state.now.get(), START + 250 * MS);
    assert_eq!(answers(&entries), [Events::NONE; 2]);
}

#[test]
fn a_timer_that_fires_early_does_not_make_the_timeout_short() {
    let sim = Sim::new(&[]);
    sim.during_sleep(250 * MS - 1, |_| {});
    assert_eq!(poll(&sim, &mut [], 250), Ok(0));
    assert_eq!(sim.sleeps(), 2);
    assert_eq!(sim.state.now.get(), START + 250 * MS);
}

#[test]
fn being_woken_for_nothing_does_not_move_the_deadline() {
    let sim = Sim::new(&[Events::NONE]);
    for _ in 0..5 {
        sim.during_sleep(40 * MS, |_| {});
    }
    assert_eq!(poll(&sim, &mut set(&[(0, Events::IN)]), 250), Ok(0));
    let deadline = Some(Time(START + 250 * MS));
    assert_eq!(*sim.state.deadlines.borrow(), [deadline; 6]);
}

#[test]
fn what_became_ready_as_the_time_ran_out_is_an_answer() {
    let sim = Sim::new(&[Events::NONE]);
    sim.during_sleep(9_000 * MS, |state| state.files.borrow()[&0].ready.set(Events::IN));
    assert_eq!(poll(&sim, &mut set(&[(0, Events::IN)]), 10), Ok(1));
}

#[test]
fn a_wake_up_for_something_not_asked_goes_back_to_sleep() {
    let sim = Sim::new(&[Events::NONE]);
    sim.during_sleep(MS, |state| state.files.borrow()[&0].ready.set(Events::OUT));
    assert_eq!(poll(&sim, &mut set(&[(0, Events::IN)]), 10), Ok(0));
    assert_eq!(sim.sleeps(), 2);
}

#[test]
fn every_negative_timeout_sleeps_without_a_deadline() {
    for timeout_ms in [-1, -2, -1000, i32::MIN] {
        let sim = Sim::new(&[Events::NONE]);
        sim.during_sleep(u64::MAX / 2, |state| state.files.borrow()[&0].ready.set(Events::HUP));
        assert_eq!(poll(&sim, &mut set(&[(0, Events::NONE)]), timeout_ms), Ok(1));
        assert_eq!(*sim.state.deadlines.borrow(), [None]);
    }
}

#[test]
fn a_single_nanosecond_of_ppoll_is_waited_for() {
    let sim = Sim::new(&[]);
    let mut timeout = Timespec { seconds: 0, nanoseconds: 1 };
    assert_eq!(ppoll(&sim, &mut [], Some(&mut timeout), None), Ok(0));
    assert_eq!(*sim.state.deadlines.borrow(), [Some(Time(START + 1))]);
}

// Signals.

fn interrupted(deadline: Deadline) -> Result<usize, Error> {
    Err(Error::Interrupted(Restart { deadline }))
}

#[test]
fn a_signal_interrupts_a_call_that_found_nothing_even_with_a_zero_timeout() {
    let sim = Sim::new(&[Events::NONE]);
    sim.state.pending.set(true);
    let mut entries = set(&[(0, Events::IN)]);
    assert_eq!(poll(&sim, &mut entries, 0), interrupted(Deadline::Now));
    assert_eq!(poll(&sim, &mut entries, -1), interrupted(Deadline::Never));
    assert_eq!(sim.sleeps(), 0);
    assert_eq!(answers(&entries), [Events::NONE]);
    assert_eq!(poll(&sim, &mut entries, 0).unwrap_err().errno(), 4);
}

#[test]
fn a_signal_does_not_take_an_answer_away() {
    let sim = Sim::new(&[Events::IN]);
    sim.state.pending.set(true);
    for timeout_ms in [0, 5, -1] {
        assert_eq!(poll(&sim, &mut set(&[(0, Events::IN)]), timeout_ms), Ok(1));
    }
}

#[test]
fn a_signal_goes_before_the_timeout_and_before_want_of_memory() {
    let sim = Sim::new(&[Events::NONE]);
    sim.during_sleep(20 * MS, |state| state.pending.set(true));
    let deadline = Deadline::At(Time(START + 10 * MS));
    assert_eq!(poll(&sim, &mut set(&[(0, Events::IN)]), 10), interrupted(deadline));

    let sim = Sim::new(&[Events::NONE]);
    sim.state.pending.set(true);
    sim.state.registration_fails.set(true);
    assert_eq!(poll(&sim, &mut set(&[(0, Events::IN)]), -1), interrupted(Deadline::Never));
}

#[test]
fn a_restarted_call_keeps_the_first_deadline_however_often() {
    let sim = Sim::new(&[Events::NONE]);
    let mut entries = set(&[(0, Events::IN)]);
    sim.during_sleep(40 * MS, |state| state.pending.set(true));
    let mut answer = poll(&sim, &mut entries, 100);
    let mut restarts = 0;
    while let Err(Error::Interrupted(Restart { deadline })) = answer {
        assert_eq!(deadline, Deadline::At(Time(START + 100 * MS)));
        restarts += 1;
        sim.state.pending.set(false);
        if restarts == 1 {
            sim.during_sleep(40 * MS, |state| state.pending.set(true));
        }
        answer = poll_until(&sim, &mut entries, deadline);
    }
    assert_eq!((answer, restarts), (Ok(0), 2));
    assert_eq!(sim.state.now.get(), START + 100 * MS, "not 140 or 180");
}

#[test]
fn a_call_restarted_after_its_deadline_still_scans() {
    let sim = Sim::new(&[Events::IN]);
    let late = Deadline::At(Time(0));
    assert_eq!(poll_until(&sim, &mut set(&[(0, Events::IN)]), late), Ok(1));
    let sim = Sim::new(&[Events::NONE]);
    assert_eq!(poll_until(&sim, &mut set(&[(0, Events::IN)]), late), Ok(0));
}

// ppoll.

#[test]
fn the_mask_is_in_force_during_the_call_and_put_back() {
    let sim = Sim::new(&[Events::IN]);
    assert_eq!(ppoll(&sim, &mut set(&[(0, Events::IN)]), None, Some(&0b101)), Ok(1));
    assert_eq!(*sim.state.masks.borrow(), [0b101]);
    assert_eq!(*sim.state.restored.borrow(), [false]);
}

#[test]
fn an_interrupted_call_says_so_when_it_puts_the_mask_back() {
    let sim = Sim::new(&[Events::NONE]);
    sim.state.pending.set(true);
    let answer = ppoll(&sim, &mut set(&[(0, Events::IN)]), None, Some(&0));
    assert_eq!(answer, interrupted(Deadline::Never));
    assert_eq!(*sim.state.restored.borrow(), [true]);
}

#[test]
fn the_mask_is_put_back_after_an_error_too() {
    let mut sim = Sim::new(&[]);
    sim.limit = 0;
    ppoll(&sim, &mut set(&[(0, Events::IN)]), None, Some(&1)).unwrap_err();
    assert_eq!(*sim.state.restored.borrow(), [false]);
}

#[test]
fn without_a_mask_none_is_touched() {
    let sim = Sim::new(&[Events::IN]);
    assert_eq!(ppoll(&sim, &mut set(&[(0, Events::IN)]), None, None), Ok(1));
    assert!(sim.state.masks.borrow().is_empty() && sim.state.restored.borrow().is_empty());
}

#[test]
fn a_timeout_that_is_no_time_is_refused_before_anything_is_done() {
    let sim = Sim::new(&[Events::IN]);
    for (seconds, nanoseconds) in [(-1, 0), (0, -1), (0, 1_000_000_000)] {
        let mut timeout = Timespec { seconds, nanoseconds };
        let error =
            ppoll(&sim, &mut set(&[(0, Events::IN)]), Some(&mut timeout), Some(&1)).unwrap_err();
        assert_eq!(error, Error::Timeout(InvalidTimespec(Timespec { seconds, nanoseconds })));
        assert_eq!(error.errno(), 22);
    }
    assert!(sim.state.masks.borrow().is_empty());
    assert_eq!(sim.file(0).polled.get(), 0);
}

#[test]
fn what_is_left_of_the_timeout_is_told_except_of_none() {
    let left = |then: fn(&sim::State), seconds, nanoseconds| {
        let sim = Sim::new(&[Events::NONE]);
        sim.during_sleep(300, then);
        let mut timeout = Timespec { seconds, nanoseconds };
        let _ = ppoll(&sim, &mut set(&[(0, Events::IN)]), Some(&mut timeout), None);
        (timeout.seconds, timeout.nanoseconds)
    };
    let ready: fn(&sim::State) = |state| state.files.borrow()[&0].ready.set(Events::IN);
    assert_eq!(left(ready, 2, 100), (1, 999_999_800), "found");
    assert_eq!(left(|state| state.pending.set(true), 0, 1000), (0, 700), "interrupted");
    assert_eq!(left(|_| {}, 0, 1000), (0, 0), "timed out");
    assert_eq!(left(ready, 0, 100), (0, 0), "found late: never less than nothing");
    assert_eq!(left(ready, 0, 0), (0, 0));
}

// User memory.

fn memory(entries: &[(i32, Events)]) -> Memory {
    Memory { entries: set(entries), ..Memory::default() }
}

/// Room for a copy of a set.
fn room() -> [PollFd; 8] {
    [PollFd::new(0, Events::NONE); 8]
}

#[test]
fn the_answers_are_copied_out_to_every_entry() {
    let sim = Sim::new(&[Events::IN]);
    let mut user = memory(&[(-1, Events::IN), (0, Events::IN), (4, Events::IN)]);
    assert_eq!(poll::user::poll(&sim, &mut user, 3, &mut room(), 0), Ok(2));
    assert_eq!(answers(&user.entries), [Events::NONE, Events::IN, Events::NVAL]);
}

#[test]
fn a_set_that_cannot_be_read_is_a_fault_and_no_file_is_asked() {
    let sim = Sim::new(&[Events::IN]);
    let mut user = memory(&[(0, Events::IN)]);
    user.unreadable = true;
    let error = poll::user::poll(&sim, &mut user, 1, &mut room(), 0).unwrap_err();
    assert_eq!((error, error.errno()), (Error::Fault(Access::Read), 14));
    assert_eq!(sim.file(0).polled.get(), 0);
    assert_eq!(poll::user::poll(&sim, &mut user, 0, &mut [], 0), Ok(0), "no entry, no fault");
}

#[test]
fn an_answer_that_cannot_be_written_is_a_fault_whatever_was_found() {
    let sim = Sim::new(&[Events::IN]);
    let mut user = memory(&[(0, Events::IN), (0, Events::IN), (0, Events::IN)]);
    user.unwritable_from = Some(1);
    let error = poll::user::poll(&sim, &mut user, 3, &mut room(), 0).unwrap_err();
    assert_eq!(error, Error::Fault(Access::Write { entry: 1 }));
    assert_eq!(answers(&user.entries), [Events::IN, STALE, STALE], "those before it are written");

    sim.state.pending.set(true);
    sim.file(0).ready.set(Events::NONE);
    let error = poll::user::poll(&sim, &mut user, 3, &mut room(), 0).unwrap_err();
    assert_eq!(error, Error::Fault(Access::Write { entry: 1 }), "before a signal");
}

#[test]
fn the_limit_goes_before_the_fault() {
    let mut sim = Sim::new(&[]);
    sim.limit = 0;
    let mut user = Memory { unreadable: true, ..memory(&[(0, Events::IN)]) };
    let error = poll::user::poll(&sim, &mut user, 1, &mut room(), 0).unwrap_err();
    assert_eq!(error, Error::TooManyEntries { entries: 1, limit: 0 });
    assert_eq!(user.reads.get(), 0);
}

#[test]
fn a_copy_that_is_too_small_is_want_of_memory() {
    let sim = Sim::new(&[Events::IN]);
    let mut user = memory(&[(0, Events::IN); 3]);
    let error = poll::user::poll(&sim, &mut user, 3, &mut room()[..2], 0).unwrap_err();
    assert_eq!((error, error.errno()), (Error::NoRoom { entries: 3, room: 2 }, 12));
}

#[test]
fn an_interrupted_call_wipes_the_answers_and_resumes_with_the_set_as_it_then_is() {
    let sim = Sim::new(&[Events::NONE, Events::IN]);
    let mut user = memory(&[(0, Events::IN)]);
    sim.during_sleep(30 * MS, |state| state.pending.set(true));
    let copy = &mut room();
    let Err(Error::Interrupted(restart)) = poll::user::poll(&sim, &mut user, 1, copy, 50) else {
        panic!("no signal was seen");
    };
    assert_eq!(restart.deadline, Deadline::At(Time(START + 50 * MS)));
    assert_eq!(answers(&user.entries), [Events::NONE]);

    sim.state.pending.set(false);
    assert_eq!(restart.resume(&sim, &mut user, 1, copy), Ok(0));
    assert_eq!(sim.state.now.get(), START + 50 * MS);
    user.entries[0].fd = 1;
    assert_eq!(restart.resume(&sim, &mut user, 1, copy), Ok(1), "the handler changed the set");
}

#[test]
fn the_set_is_scanned_as_it_was_when_the_call_began() {
    // The copy is made once: after a sleep the same entries are asked, and the count is of them.
    let sim = Sim::new(&[Events::NONE]);
    let mut user = memory(&[(0, Events::IN)]);
    sim.during_sleep(1, |state| state.files.borrow()[&0].ready.set(Events::IN));
    assert_eq!(poll::user::poll(&sim, &mut user, 1, &mut room(), -1), Ok(1));
    assert_eq!(user.reads.get(), 1);
}

#[test]
fn ppoll_over_user_memory_has_timespec_mask_and_faults() {
    let sim = Sim::new(&[Events::IN]);
    let mut user = memory(&[(0, Events::IN)]);
    let mut timeout = Timespec { seconds: 1, nanoseconds: 0 };
    let copy = &mut room();
    let answer = poll::user::ppoll(&sim, &mut user, 1, copy, Some(&mut timeout), Some(&2));
    assert_eq!(answer, Ok(1));
    assert_eq!(*sim.state.masks.borrow(), [2]);
    user.unreadable = true;
    let answer = poll::user::ppoll(&sim, &mut user, 1, copy, Some(&mut timeout), Some(&2));
    assert_eq!(answer, Err(Error::Fault(Access::Read)));
    assert_eq!(*sim.state.restored.borrow(), [false, false]);
}

#[test]
fn errors_name_the_remedy() {
    for (error, remedy) in [
        (Error::TooManyEntries { entries: 9, limit: 8 }, "raise the limit"),
        (Error::NoRoom { entries: 9, room: 8 }, "as much room"),
        (Error::Fault(Access::Write { entry: 3 }), "entry 3"),
        (Error::NoMemory, "zero timeout"),
    ] {
        assert!(error.to_string().contains(remedy), "{error}");
    }
}
