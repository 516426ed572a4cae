//! What of the read-write lock is one copy in the program.

use crate::raw::SpinCopies;
use crate::rw_raw::{QueuedRw, RwPlatform};

/// What of [`QueuedRw`] is not inlined: one copy in the program for each platform, as with
/// [`SpinCopies`]. [`rw_copies!`](crate::rw_copies!) writes them.
///
/// # Safety
/// As for [`SpinCopies`].
pub unsafe trait RwCopies: RwPlatform + SpinCopies {
    /// Waits to read.
    ///
    /// # Safety
    /// The caller was counted as a reader and not admitted.
    #[doc(hidden)]
    unsafe fn read_slow(lock: &QueuedRw);
    /// Waits to write.
    #[doc(hidden)]
    fn write_slow(lock: &QueuedRw);
    /// Takes back that a reader was counted.
    ///
    /// # Safety
    /// As for [`read_slow`](Self::read_slow).
    ///
    /// ```compile_fail,E0133
    /// <lock::Std as lock::RwCopies>::read_step_back(&lock::QueuedRw::new());
    /// ```
    #[doc(hidden)]
    unsafe fn read_step_back(lock: &QueuedRw);
    /// Takes back that the writer's byte was set; `false`.
    ///
    /// # Safety
    /// It was 0 before, and the caller made it 1.
    #[doc(hidden)]
    unsafe fn write_step_back(lock: &QueuedRw) -> bool;
    /// Takes back that the writer's byte was set, and waits to write.
    ///
    /// # Safety
    /// As for [`write_step_back`](Self::write_step_back).
    #[doc(hidden)]
    unsafe fn write_later(lock: &QueuedRw);
    /// Wakes the head of the queue, if it sleeps and the lock is left to it.
    #[doc(hidden)]
    fn rw_wake(lock: &QueuedRw);
    #[doc(hidden)]
    fn read(lock: &QueuedRw);
    #[doc(hidden)]
    fn write(lock: &QueuedRw);
    #[doc(hidden)]
    fn try_read(lock: &QueuedRw) -> bool;
    #[doc(hidden)]
    fn try_write(lock: &QueuedRw) -> bool;
    /// # Safety
    /// As for [`crate::RawRw::unlock_read`].
    #[doc(hidden)]
    unsafe fn unlock_read(lock: &QueuedRw);
    /// # Safety
    /// As for [`crate::RawRw::unlock_write`].
    #[doc(hidden)]
    unsafe fn unlock_write(lock: &QueuedRw);
    /// # Safety
    /// As for [`crate::RawRw::unlock_read_in`].
    #[doc(hidden)]
    unsafe fn unlock_read_bh(lock: &QueuedRw);
    /// # Safety
    /// As for [`crate::RawRw::unlock_read_in`].
    #[doc(hidden)]
    unsafe fn unlock_read_irq(lock: &QueuedRw);
    /// # Safety
    /// As for [`crate::RawRw::unlock_read_in`].
    #[doc(hidden)]
    unsafe fn unlock_read_irqrestore(lock: &QueuedRw);
    /// # Safety
    /// As for [`crate::RawRw::unlock_write_in`].
    #[doc(hidden)]
    unsafe fn unlock_write_bh(lock: &QueuedRw);
    /// # Safety
    /// As for [`crate::RawRw::unlock_write_in`].
    #[doc(hidden)]
    unsafe fn unlock_write_irq(lock: &QueuedRw);
    /// # Safety
    /// As for [`crate::RawRw::unlock_write_in`].
    #[doc(hidden)]
    unsafe fn unlock_write_irqrestore(lock: &QueuedRw);
}

/// Gives a [`RwPlatform`] the out-of-line parts of [`QueuedRw`]:
/// `lock::rw_copies!(MyPlatform);` beside `lock::spin_copies!(MyPlatform);`.
#[macro_export]
macro_rules! rw_copies {
    ($platform:ty) => {
        #[expect(unsafe_code, reason = "hands its callers' promises on")]
        // SAFETY: the macro writes them.
        unsafe impl $crate::RwCopies for $platform {
            $crate::rw_copies!(@functions);
        }
    };
    (@functions) => {
        #[cold]
        #[inline(never)]
        unsafe fn read_slow(lock: &$crate::QueuedRw) {
            // SAFETY: as the caller says.
            unsafe { lock.wait_to_read::<Self>() }
        }
        #[cold]
        #[inline(never)]
        fn write_slow(lock: &$crate::QueuedRw) {
            lock.wait_to_write::<Self>();
        }
        #[cold]
        #[inline(never)]
        unsafe fn read_step_back(lock: &$crate::QueuedRw) {
            // SAFETY: as the caller says.
            unsafe { lock.read_step_back::<Self>() }
        }
        #[cold]
        #[inline(never)]
        unsafe fn write_step_back(lock: &$crate::QueuedRw) -> bool {
            // SAFETY: as the caller says.
            unsafe { lock.write_step_back::<Self>() }
            false
        }
        #[cold]
        #[inline(never)]
        unsafe fn write_later(lock: &$crate::QueuedRw) {
            // SAFETY: as the caller says.
            unsafe { lock.write_step_back::<Self>() }
            lock.wait_to_write::<Self>();
        }
        #[cold]
        #[inline(never)]
        fn rw_wake(lock: &$crate::QueuedRw) {
            lock.wake_head::<Self>();
        }
        #[inline(never)]
        fn read(lock: &$crate::QueuedRw) {
            lock.read_here::<Self>();
        }
        #[inline(never)]
        fn write(lock: &$crate::QueuedRw) {
            lock.write_here::<Self>();
        }
        #[inline(never)]
        fn try_read(lock: &$crate::QueuedRw) -> bool {
            lock.try_read_here::<Self>()
        }
        #[inline(never)]
        fn try_write(lock: &$crate::QueuedRw) -> bool {
            lock.try_write_here::<Self>()
        }
        #[inline(never)]
        unsafe fn unlock_read(lock: &$crate::QueuedRw) {
            // SAFETY: as the caller says.
            unsafe { lock.unlock_read_here::<Self>() }
        }
        #[inline(never)]
        unsafe fn unlock_write(lock: &$crate::QueuedRw) {
            // SAFETY: as the caller says.
            unsafe { lock.unlock_write_here::<Self>() }
        }
        #[inline(never)]
        unsafe fn unlock_read_bh(lock: &$crate::QueuedRw) {
            // SAFETY: as the caller says.
            unsafe { lock.unlock_read_here_in::<Self, $crate::Bh>() }
        }
        #[inline(never)]
        unsafe fn unlock_read_irq(lock: &$crate::QueuedRw) {
            // SAFETY: as the caller says.
            unsafe { lock.unlock_read_here_in::<Self, $crate::Irq>() }
        }
        #[inline(never)]
        unsafe fn unlock_read_irqrestore(lock: &$crate::QueuedRw) {
            // SAFETY: as the caller says.
            unsafe { lock.unlock_read_here_in::<Self, $crate::IrqSave>() }
        }
        #[inline(never)]
        unsafe fn unlock_write_bh(lock: &$crate::QueuedRw) {
            // SAFETY: as the caller says.
            unsafe { lock.unlock_write_here_in::<Self, $crate::Bh>() }
        }
        #[inline(never)]
        unsafe fn unlock_write_irq(lock: &$crate::QueuedRw) {
            // SAFETY: as the caller says.
            unsafe { lock.unlock_write_here_in::<Self, $crate::Irq>() }
        }
        #[inline(never)]
        unsafe fn unlock_write_irqrestore(lock: &$crate::QueuedRw) {
            // SAFETY: as the caller says.
            unsafe { lock.unlock_write_here_in::<Self, $crate::IrqSave>() }
        }
    };
}
