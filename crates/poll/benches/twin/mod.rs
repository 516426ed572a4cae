//! The smallest table of files there can be, the same as in `twin.c`: numbers index an array of
//! pointers, a file is a word of what is ready. It is asked either through its operations, as a
//! kernel does, or directly, so that nothing but the loop is left.

use core::sync::atomic::{AtomicU16, Ordering};

use poll::{Events, File, Files, PollFd, scan};

/// Counts who registers.
#[repr(C)]
pub(crate) struct Waiter {
    /// How many files have it.
    pub(crate) registered: u64,
}

/// How a file is asked.
#[repr(C)]
pub(crate) struct Operations {
    /// As [`File::poll`].
    pub(crate) poll: fn(&Plain, Events, Option<&mut Waiter>) -> Events,
}

/// A file.
#[repr(C)]
pub(crate) struct Plain {
    /// How it is asked.
    pub(crate) operations: &'static Operations,
    /// What is ready.
    pub(crate) ready: AtomicU16,
}

/// Registers, out of line as any real registration is, then looks.
#[inline]
fn look(file: &Plain, waiter: Option<&mut Waiter>) -> Events {
    if let Some(waiter) = waiter {
        register(waiter);
    }
    Events::from_bits(file.ready.load(Ordering::Relaxed))
}

#[inline(never)]
fn register(waiter: &mut Waiter) {
    waiter.registered += 1;
}

/// The operations of every file here.
pub(crate) static OPERATIONS: Operations =
    Operations { poll: |file, _, waiter| look(file, waiter) };

/// A table whose files are asked directly.
#[derive(Clone, Copy)]
pub(crate) struct Direct<'t>(pub(crate) &'t [Option<&'t Plain>]);

/// A table whose files are asked through their operations.
#[derive(Clone, Copy)]
pub(crate) struct Indirect<'t>(pub(crate) &'t [Option<&'t Plain>]);

/// One file of either.
pub(crate) struct Asked<'t, const INDIRECT: bool>(&'t Plain);

impl<const INDIRECT: bool> File<Waiter> for Asked<'_, INDIRECT> {
    #[inline]
    fn poll(&self, want: Events, waiter: Option<&mut Waiter>) -> Events {
        if INDIRECT { (self.0.operations.poll)(self.0, want, waiter) } else { look(self.0, waiter) }
    }
}

#[inline]
fn find<'t>(table: &[Option<&'t Plain>], fd: u32) -> Option<&'t Plain> {
    *table.get(fd as usize)?
}

impl Files for Direct<'_> {
    type Waiter = Waiter;
    type Ref<'a>
        = Asked<'a, false>
    where
        Self: 'a;

    #[inline]
    fn lookup(&self, fd: u32) -> Option<Self::Ref<'_>> {
        find(self.0, fd).map(Asked)
    }
}

impl Files for Indirect<'_> {
    type Waiter = Waiter;
    type Ref<'a>
        = Asked<'a, true>
    where
        Self: 'a;

    #[inline]
    fn lookup(&self, fd: u32) -> Option<Self::Ref<'_>> {
        find(self.0, fd).map(Asked)
    }
}

/// The loop over files asked directly.
#[inline(never)]
pub(crate) fn scan_direct(
    files: Direct<'_>,
    entries: &mut [PollFd],
    waiter: Option<&mut Waiter>,
) -> usize {
    scan(&files, entries, waiter)
}

/// The loop over files asked through their operations.
#[inline(never)]
pub(crate) fn scan_indirect(
    files: Indirect<'_>,
    entries: &mut [PollFd],
    waiter: Option<&mut Waiter>,
) -> usize {
    scan(&files, entries, waiter)
}
