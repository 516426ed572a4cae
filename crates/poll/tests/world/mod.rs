//! Real files and models of them, kept in the same state, to ask both the same question.
//!
//! A descriptor number of the world is a real descriptor of this process and a descriptor of a model
//! task at once, or neither. What is done to one is done to the other: write, read, shut down, set,
//! duplicate, close. What these calls return must be the same too. Then random sets are polled three
//! ways: by the kernel, by the core over the models, and by the core over the real descriptors.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::Arc;

use poll::host::{
    AlwaysReady, Bridge, Counter, Direction, Node, PAGE_SIZE, PipeReader, PipeWriter, Read, Socket,
    Task, Timer, kernel_poll, now, pipe, socket_pair,
};
use poll::{Events, PollFd};
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rustix::event::EventfdFlags;
use rustix::fs::OFlags;
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use rustix::pipe::PipeFlags;
use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec};

/// How many numbers it has. About a third of them are closed at any time.
const NUMBERS: i32 = 40;

/// The model's half of a file.
#[derive(Clone)]
enum Model {
    Always(Arc<AlwaysReady>),
    /// Opened with `O_PATH`: a descriptor that no file is behind for poll.
    PathOnly,
    Reader(Arc<PipeReader>),
    Writer(Arc<PipeWriter>),
    Counter(Arc<Counter>),
    Timer(Arc<Timer>),
    Socket(Arc<Socket>),
}

impl Model {
    fn node(&self) -> Option<Arc<dyn Node>> {
        match self {
            Self::Always(file) => Some(file.clone()),
            Self::PathOnly => None,
            Self::Reader(file) => Some(file.clone()),
            Self::Writer(file) => Some(file.clone()),
            Self::Counter(file) => Some(file.clone()),
            Self::Timer(file) => Some(file.clone()),
            Self::Socket(file) => Some(file.clone()),
        }
    }
}

struct Entry {
    real: OwnedFd,
    model: Model,
}

/// How a run went.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    /// Sets polled three ways.
    pub(crate) sets: u64,
    /// Entries in them.
    pub(crate) entries: u64,
    /// Entries with an answer.
    pub(crate) answered: u64,
    /// Sets in which nothing was ready, and which waited for their timeout.
    pub(crate) waited: u64,
    /// How often each bit was answered.
    pub(crate) bits: [u64; 16],
}

pub(crate) struct World {
    /// The first number of the world: none from there on was open, whoever started the process.
    base: i32,
    random: ChaCha8Rng,
    files: BTreeMap<i32, Entry>,
    task: Task,
    bridge: Bridge,
    tally: Tally,
}

impl World {
    pub(crate) fn new(seed: u64) -> Self {
        assert_eq!(rustix::param::page_size(), PAGE_SIZE, "the pipe's model has pages of 4 KiB");
        let mut world = Self {
            base: free_numbers(),
            random: ChaCha8Rng::seed_from_u64(seed),
            files: BTreeMap::new(),
            task: Task::new(usize::MAX),
            bridge: Bridge::new(),
            tally: Tally::default(),
        };
        for _ in 0..NUMBERS {
            world.open();
        }
        world
    }

    /// Polls so many sets, with a change or two of the world before each.
    ///
    /// # Panics
    /// At the first disagreement, with the set.
    pub(crate) fn run(&mut self, sets: u64) -> Tally {
        for _ in 0..sets {
            for _ in 0..self.random.random_range(0..=2) {
                self.change();
            }
            self.compare();
        }
        self.tally
    }

    fn number(&mut self) -> i32 {
        self.base + self.random.random_range(0..NUMBERS)
    }

    /// Puts one pair of halves behind a number, closing what was there.
    fn put(&mut self, real: &OwnedFd, model: Model) {
        let fd = self.number();
        self.close(fd);
        let real = rustix::io::fcntl_dupfd_cloexec(real, fd).expect("a free descriptor");
        assert_eq!(real.as_raw_fd(), fd, "nobody else opens descriptors up here");
        if let Some(node) = model.node() {
            assert!(self.task.files.set(fd, node));
        }
        self.files.insert(fd, Entry { real, model });
    }

    fn close(&mut self, fd: i32) {
        self.files.remove(&fd);
        self.task.files.close(fd);
    }

    fn open(&mut self) {
        match self.random.random_range(0..10) {
            0 => self.open_plain(),
            1..=4 => {
                let flags = PipeFlags::NONBLOCK | PipeFlags::CLOEXEC;
                let (read_end, write_end) = rustix::pipe::pipe_with(flags).expect("a pipe");
                let size = rustix::pipe::fcntl_getpipe_size(&read_end).expect("its size");
                let (reader, writer) = pipe(size / PAGE_SIZE);
                self.put(&read_end, Model::Reader(Arc::new(reader)));
                self.put(&write_end, Model::Writer(Arc::new(writer)));
            }
            5 => {
                let one = self.random.random();
                let flags = EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC;
                let (flags, read) = if one {
                    (flags | EventfdFlags::SEMAPHORE, Read::One)
                } else {
                    (flags, Read::All)
                };
                let start = self.random.random_range(0..2);
                let real = rustix::event::eventfd(start, flags).expect("an eventfd");
                self.put(&real, Model::Counter(Arc::new(Counter::new(start, read))));
            }
            6 => {
                let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
                let real = rustix::time::timerfd_create(TimerfdClockId::Monotonic, flags)
                    .expect("a timerfd");
                self.put(&real, Model::Timer(Arc::new(Timer::new())));
            }
            _ => {
                let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
                let (a, b) =
                    rustix::net::socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None)
                        .expect("a pair of sockets");
                let (model_a, model_b) = socket_pair();
                self.put(&a, Model::Socket(Arc::new(model_a)));
                self.put(&b, Model::Socket(Arc::new(model_b)));
            }
        }
    }

    fn open_plain(&mut self) {
        let always = Model::Always(Arc::default());
        let open = |path: &str, flags| {
            rustix::fs::open(path, flags | OFlags::CLOEXEC, rustix::fs::Mode::empty())
                .expect("a path that is always there")
        };
        match self.random.random_range(0..4) {
            0 => self.put(&tempfile::tempfile().expect("a file").into(), always),
            1 => self.put(&open("/", OFlags::DIRECTORY | OFlags::RDONLY), always),
            2 => self.put(&File::open("/dev/null").expect("a null device").into(), always),
            _ => self.put(&open("/", OFlags::PATH), Model::PathOnly),
        }
    }

    /// One random change, the same on both sides.
    fn change(&mut self) {
        let fd = self.number();
        match self.random.random_range(0..20) {
            0 => self.close(fd),
            1 => self.open(),
            2 => {
                if let Some(entry) = self.files.get(&fd) {
                    let real = entry.real.try_clone().expect("a duplicate");
                    let model = entry.model.clone();
                    self.put(&real, model);
                }
            }
            _ => self.touch(fd),
        }
    }

    fn touch(&mut self, fd: i32) {
        let Some(entry) = self.files.get(&fd) else { return };
        let (real, random) = (entry.real.as_fd(), &mut self.random);
        let mut buffer = vec![0; 20 * PAGE_SIZE];
        // Whole pages, parts of them and single bytes fill a ring of pages differently.
        let length = match random.random_range(0..4) {
            0 => 1,
            1 => random.random_range(1..=PAGE_SIZE),
            2 => PAGE_SIZE * random.random_range(1..=16),
            _ => random.random_range(1..=buffer.len()),
        };
        let buffer = &mut buffer[..length];
        let small = length.min(64);
        match &entry.model {
            Model::Always(_) | Model::PathOnly => {}
            Model::Reader(model) => {
                let done = rustix::io::read(real, &mut *buffer);
                same("read of a pipe", done, model.read(buffer));
            }
            Model::Writer(model) => {
                same("write to a pipe", rustix::io::write(real, buffer), model.write(buffer));
            }
            Model::Counter(model) => touch_counter(real, model, random),
            Model::Timer(model) => touch_timer(real, model, random),
            Model::Socket(model) => match random.random_range(0..16) {
                0 => {
                    let how = [
                        (rustix::net::Shutdown::Read, Direction::Read),
                        (rustix::net::Shutdown::Write, Direction::Write),
                        (rustix::net::Shutdown::Both, Direction::Both),
                    ][random.random_range(0..3)];
                    rustix::net::shutdown(real, how.0).expect("a connected socket");
                    model.shutdown(how.1);
                }
                1..=4 => {
                    let flags = rustix::net::SendFlags::NOSIGNAL;
                    let sent = rustix::net::send(real, &buffer[..small], flags);
                    same("send", sent, model.send(&buffer[..small]));
                }
                _ => {
                    let flags = rustix::net::RecvFlags::empty();
                    let got = rustix::net::recv(real, &mut *buffer, flags).map(|(_, n)| n);
                    same("receive", got, model.receive(buffer));
                }
            },
        }
    }

    fn events(&mut self) -> Events {
        const USUAL: [Events; 6] = [
            Events::IN,
            Events::OUT,
            Events::PRI,
            Events::RDHUP,
            Events::NONE,
            Events::IN.union(Events::OUT),
        ];
        if self.random.random_range(0..3) == 0 {
            USUAL[self.random.random_range(0..USUAL.len())]
        } else {
            Events::from_bits(self.random.random())
        }
    }

    fn descriptor(&mut self) -> i32 {
        match self.random.random_range(0..16) {
            0 => [-1, -2, i32::MIN][self.random.random_range(0..3)],
            1 => -self.random.random_range(1..i32::MAX),
            // Past the world's numbers, and never open.
            2 => self.base + self.random.random_range(NUMBERS..2 * NUMBERS),
            3 => [i32::MAX, i32::MAX - 1, 1 << 20][self.random.random_range(0..3)],
            _ => self.number(),
        }
    }

    /// The kernel copies sets in pieces: of some thirty entries, then of some five hundred.
    fn set(&mut self) -> Vec<PollFd> {
        let length = match self.random.random_range(0..500) {
            0 => self.random.random_range(0..=1000),
            1..=20 => self.random.random_range(0..=70),
            _ => self.random.random_range(0..=12),
        };
        (0..length)
            .map(|_| PollFd {
                fd: self.descriptor(),
                events: self.events(),
                revents: Events::from_bits(self.random.random()),
            })
            .collect()
    }

    /// Polls one set three ways.
    fn compare(&mut self) {
        let set = self.set();
        let mut kernel = set.clone();
        let mut found = kernel_poll(&mut kernel, 0).expect("the kernel polls");
        // Nothing ready: sometimes a real wait. Something: any timeout gives the same at once.
        let timeout_ms = match (found, self.random.random_range(0..400)) {
            (0, 0) => 1,
            (0, _) => 0,
            (_, 0..100) => -1 - self.random.random_range(0..i32::MAX),
            (_, 100..200) => self.random.random_range(1..1_000_000),
            _ => 0,
        };
        if timeout_ms != 0 {
            kernel.clone_from(&set);
            found = kernel_poll(&mut kernel, timeout_ms).expect("the kernel polls");
            self.tally.waited += u64::from(found == 0);
        }
        let mut model = set.clone();
        let mut bridge = set.clone();
        let answers = [
            ("model", self.task.poll(&mut model, timeout_ms), model),
            ("bridge", poll::poll(&self.bridge, &mut bridge, timeout_ms), bridge),
        ];
        for (name, answer, entries) in answers {
            if answer != Ok(found) || entries != kernel {
                let what = difference(&set, &kernel, &entries);
                panic!(
                    "set {}, timeout {timeout_ms} ms: the {name} says {answer:?}, the kernel {found}\n{what}",
                    self.tally.sets
                );
            }
        }
        self.tally.sets += 1;
        self.tally.entries += set.len() as u64;
        for entry in &kernel {
            self.tally.answered += u64::from(!entry.revents.is_empty());
            for (bit, count) in self.tally.bits.iter_mut().enumerate() {
                *count += u64::from(entry.revents.bits() >> bit & 1);
            }
        }
    }
}

/// The first of twice as many numbers as the world has, none of them open.
fn free_numbers() -> i32 {
    let free = |base: &i32| {
        let mut set: Vec<_> =
            (*base..base + 2 * NUMBERS).map(|fd| PollFd::new(fd, Events::NONE)).collect();
        kernel_poll(&mut set, 0).expect("the kernel polls");
        set.iter().all(|entry| entry.revents == Events::NVAL)
    };
    (100..900).step_by(20).find(free).expect("room for descriptors below the usual limit of 1024")
}

fn difference(set: &[PollFd], kernel: &[PollFd], other: &[PollFd]) -> String {
    let mut text = String::new();
    for ((asked, kernel), other) in set.iter().zip(kernel).zip(other) {
        if kernel != other {
            let PollFd { fd, events, revents } = asked;
            writeln!(
                text,
                "  fd {fd} events {events:?} revents before {revents:?}: \
                 kernel {kernel:?}, other {other:?}"
            )
            .expect("a string takes text");
        }
    }
    text
}

fn touch_counter(real: rustix::fd::BorrowedFd<'_>, model: &Counter, random: &mut impl Rng) {
    if random.random() {
        let n = [0, 1, 7, u64::MAX - 1, u64::MAX - 2, u64::MAX][random.random_range(0..6)];
        let done = rustix::io::write(real, &n.to_ne_bytes()).map(|_| ());
        same("write to a counter", done, model.write(n));
    } else {
        let mut bytes = [0; 8];
        let done = rustix::io::read(real, &mut bytes).map(|_| u64::from_ne_bytes(bytes));
        same("read of a counter", done, model.read());
    }
}

/// Timers that have expired, or will not while the test runs: whether one does between two looks is
/// not for a comparison.
fn touch_timer(real: rustix::fd::BorrowedFd<'_>, model: &Timer, random: &mut impl Rng) {
    let time = |tv_sec, tv_nsec| Timespec { tv_sec, tv_nsec };
    let set = |it_value, it_interval| {
        let flags = TimerfdTimerFlags::ABSTIME;
        rustix::time::timerfd_settime(real, flags, &Itimerspec { it_interval, it_value })
            .expect("a timerfd");
    };
    const DAY_S: i64 = 86_400;
    const DAY_NS: u64 = 86_400_000_000_000;
    match random.random_range(0..5) {
        0 => {
            set(time(0, 0), time(0, 0));
            model.set(None, 0);
        }
        1 => {
            // One nanosecond after boot is long ago.
            set(time(0, 1), time(0, 0));
            model.set(Some(now()), 0);
        }
        2 => {
            set(time(i64::from(i32::MAX), 0), time(0, 0));
            model.set(Some(now().after(DAY_NS)), 0);
        }
        3 => {
            // Both have expired at least once, and next a day later.
            let boot = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
            set(time(boot.tv_sec, boot.tv_nsec), time(DAY_S, 0));
            model.set(Some(now()), DAY_NS);
        }
        _ => {
            let mut bytes = [0; 8];
            let done = rustix::io::read(real, &mut bytes).map(|_| u64::from_ne_bytes(bytes));
            same("read of a timer", done, model.read());
        }
    }
}

/// What a call did on both sides must be the same, or the states would part.
fn same<T: PartialEq + std::fmt::Debug>(
    what: &str,
    real: Result<T, rustix::io::Errno>,
    model: io::Result<T>,
) {
    let real = real.map_err(|error| io::Error::from(error).kind());
    assert_eq!(real, model.map_err(|error| error.kind()), "{what}: the kernel, then the model");
}
