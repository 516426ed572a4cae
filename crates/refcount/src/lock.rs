//! Taking a lock together with the last reference.
//!
//! An object that is found through a locked table must leave the table before it is freed, and the
//! last reference must not go while somebody finds it there. So the last decrement is made with the
//! lock held, and only the last one takes the lock.

/// A lock, as far as [`Counter::dec_and_lock`](crate::Counter::dec_and_lock) needs it. What the lock
/// saves (interrupt flags, a queue node) is in its guard; dropping the guard unlocks.
pub trait Lock {
    /// The lock is held while this lives.
    type Guard<'a>
    where
        Self: 'a;

    /// Waits for the lock.
    fn lock(&self) -> Self::Guard<'_>;
}

/// A poisoned mutex is taken all the same: the counter is not what was being changed.
#[cfg(feature = "std")]
impl<T: ?Sized> Lock for std::sync::Mutex<T> {
    type Guard<'a>
        = std::sync::MutexGuard<'a, T>
    where
        Self: 'a;

    fn lock(&self) -> Self::Guard<'_> {
        self.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
