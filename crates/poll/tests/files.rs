//! The in-process files, in what a comparison with the kernel's does not show: bytes, ends, edges.

use std::io::ErrorKind;
use std::sync::Arc;

use poll::host::{
    AlwaysReady, Counter, Descriptors, Direction, Node, PAGE_SIZE, Read, Task, Timer, now, pipe,
    socket_pair,
};
use poll::{Events, PollFd};

fn ready(file: &dyn Node) -> Events {
    file.poll(Events::from_bits(u16::MAX), None)
}

fn kind<T: std::fmt::Debug>(result: std::io::Result<T>) -> ErrorKind {
    result.expect_err("it fails").kind()
}

#[test]
fn a_pipe_gives_back_its_bytes_in_order() {
    let (reader, writer) = pipe(3);
    let bytes: Vec<u8> = (0..2 * PAGE_SIZE + 100).map(|i| (i % 251) as u8).collect();
    assert_eq!(writer.write(&bytes[..10]).unwrap(), 10);
    assert_eq!(writer.write(&bytes[10..]).unwrap(), bytes.len() - 10);
    let mut got = Vec::new();
    let mut buffer = [0; 1000];
    while let Ok(n) = reader.read(&mut buffer) {
        got.extend_from_slice(&buffer[..n]);
    }
    assert_eq!(got, bytes);
}

#[test]
fn a_pipe_is_full_by_pages_not_by_bytes() {
    let (reader, writer) = pipe(2);
    assert_eq!(writer.write(&[0; 2 * PAGE_SIZE]).unwrap(), 2 * PAGE_SIZE);
    assert_eq!(ready(&writer), Events::NONE);
    reader.read(&mut [0; PAGE_SIZE - 1]).unwrap();
    assert_eq!(ready(&writer), Events::NONE, "one byte holds the page");
    assert_eq!(kind(writer.write(&[0])), ErrorKind::WouldBlock);
    reader.read(&mut [0]).unwrap();
    assert_eq!(ready(&writer), Events::OUT | Events::WRNORM);
}

#[test]
fn no_end_of_a_pipe_answers_both_hangup_and_writable() {
    for written in [0, 1, PAGE_SIZE, 2 * PAGE_SIZE] {
        for close_reader in [false, true] {
            let (reader, writer) = pipe(2);
            let _ = writer.write(&vec![0; written]);
            let answer = if close_reader {
                drop(reader);
                ready(&writer)
            } else {
                drop(writer);
                ready(&reader)
            };
            assert!(!answer.contains(Events::HUP | Events::OUT), "{answer:?}");
            assert!(answer.intersects(Events::HUP | Events::ERR), "{answer:?}");
        }
    }
}

#[test]
fn the_ends_of_a_pipe_tell_that_the_other_is_gone() {
    let (reader, writer) = pipe(1);
    drop(reader);
    assert_eq!(kind(writer.write(&[1])), ErrorKind::BrokenPipe);
    let (reader, writer) = pipe(1);
    writer.write(&[1]).unwrap();
    drop(writer);
    assert_eq!(ready(&reader), Events::IN | Events::RDNORM | Events::HUP);
    assert_eq!(reader.read(&mut [0; 9]).unwrap(), 1);
    assert_eq!(reader.read(&mut [0; 9]).unwrap(), 0);
    assert_eq!(ready(&reader), Events::HUP);
}

#[test]
fn a_duplicate_keeps_a_file_open() {
    let task = Task::new(16);
    let (reader, writer) = pipe(1);
    let writer: Arc<dyn Node> = Arc::new(writer);
    let read_fd = task.files.open(Arc::new(reader)).unwrap();
    let write_fd = task.files.open(writer.clone()).unwrap();
    let copy = task.files.open(writer).unwrap();
    let mut entries = [PollFd::new(read_fd, Events::IN)];
    task.files.close(write_fd);
    assert_eq!(task.poll(&mut entries, 0), Ok(0));
    task.files.close(copy);
    assert_eq!(task.poll(&mut entries, 0), Ok(1));
    assert_eq!(entries[0].revents, Events::HUP);
}

#[test]
fn a_table_gives_the_lowest_free_number_up_to_its_limit() {
    let table = Descriptors::new(3);
    let file = || Arc::new(AlwaysReady);
    assert_eq!([0, 1, 2].map(|_| table.open(file())), [Some(0), Some(1), Some(2)]);
    assert_eq!(table.open(file()), None);
    assert!(table.close(1) && !table.close(1) && !table.close(-1) && !table.close(99));
    assert_eq!(table.open(file()), Some(1));
    assert!(!table.set(3, file()) && !table.set(-1, file()));
    assert!(table.get(3).is_none() && table.get(u32::MAX).is_none());
}

#[test]
fn a_counter_is_writable_until_one_more_does_not_fit() {
    let counter = Counter::new(0, Read::All);
    assert_eq!(ready(&counter), Events::OUT);
    counter.write(u64::MAX - 2).unwrap();
    assert_eq!(ready(&counter), Events::IN | Events::OUT);
    counter.write(1).unwrap();
    assert_eq!(ready(&counter), Events::IN);
    assert_eq!(kind(counter.write(1)), ErrorKind::WouldBlock);
    assert_eq!(kind(counter.write(u64::MAX)), ErrorKind::InvalidInput);
    assert_eq!(counter.read().unwrap(), u64::MAX - 1);
    assert_eq!(kind(counter.read()), ErrorKind::WouldBlock);
}

#[test]
fn a_semaphore_gives_one_at_a_time() {
    let counter = Counter::new(2, Read::One);
    assert_eq!([counter.read().unwrap(), counter.read().unwrap()], [1, 1]);
    assert_eq!(ready(&counter), Events::OUT);
}

#[test]
fn a_timer_counts_what_was_not_read_and_forgets_it_when_set() {
    const HOUR_NS: u64 = 3_600_000_000_000;
    let timer = Timer::new();
    assert_eq!(kind(timer.read()), ErrorKind::WouldBlock);
    timer.set(Some(poll::Time(0)), 0);
    assert_eq!(ready(&timer), Events::IN);
    assert_eq!(timer.read().unwrap(), 1);
    assert_eq!(ready(&timer), Events::NONE, "it was set once");
    timer.set(Some(poll::Time(0)), 1);
    assert!(timer.read().unwrap() >= now().0 / 1_000_000_000, "one a nanosecond");
    timer.set(Some(now()), HOUR_NS);
    assert_eq!(timer.read().unwrap(), 1);
    assert_eq!(ready(&timer), Events::NONE, "next in an hour");
    timer.set(Some(now()), 0);
    timer.set(None, 0);
    assert_eq!(ready(&timer), Events::NONE);
}

#[test]
fn a_socket_whose_peer_left_data_unread_tells_it_once() {
    let (a, b) = socket_pair();
    a.send(b"lost").unwrap();
    b.send(b"kept").unwrap();
    drop(b);
    assert!(ready(&a).contains(Events::ERR | Events::HUP | Events::RDHUP | Events::IN));
    let mut buffer = [0; 9];
    assert_eq!(a.receive(&mut buffer).unwrap(), 4);
    assert_eq!(&buffer[..4], b"kept");
    assert_eq!(kind(a.receive(&mut buffer)), ErrorKind::ConnectionReset);
    assert_eq!(a.receive(&mut buffer).unwrap(), 0);
    assert!(!ready(&a).contains(Events::ERR));
    assert_eq!(kind(a.send(b"more")), ErrorKind::BrokenPipe);
}

#[test]
fn a_half_closed_socket_hangs_up_in_one_direction() {
    let (a, b) = socket_pair();
    a.shutdown(Direction::Write);
    assert!(ready(&b).contains(Events::RDHUP | Events::IN) && !ready(&b).contains(Events::HUP));
    assert!(!ready(&a).intersects(Events::RDHUP | Events::HUP));
    b.send(b"back").unwrap();
    assert_eq!(a.receive(&mut [0; 9]).unwrap(), 4);
    assert_eq!(kind(a.send(b"no")), ErrorKind::BrokenPipe);
}

#[test]
fn a_socket_is_not_writable_while_too_much_is_unread() {
    let (a, b) = socket_pair();
    a.send(&vec![0; 1 << 16]).unwrap();
    assert!(!ready(&a).contains(Events::OUT));
    assert_eq!(kind(a.send(&[0])), ErrorKind::WouldBlock);
    b.receive(&mut [0]).unwrap();
    assert!(ready(&a).contains(Events::OUT));
}
