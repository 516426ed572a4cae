//! Taking a lock together with the last reference: `Counter::dec_and_lock` and its forms for each
//! context.

use core::marker::PhantomData;

use crate::context::{Context, Plain};
use crate::platform::Platform;
use crate::raw::RawSpin;
use crate::spin::{SpinGuard, SpinLock};

/// A lock that is taken in the context `C`, where something takes a lock without saying how.
///
/// ```
/// # #[cfg(all(feature = "std", target_os = "linux", target_pointer_width = "64"))] {
/// use lock::{InContext, IrqSave, SpinLock, Std};
/// use refcount::RefCount;
///
/// static TABLE: SpinLock<u32, Std> = SpinLock::new(7);
/// let refs = RefCount::new(1);
/// let table = InContext::<IrqSave, _, _, _>::of(&TABLE);
/// // The last reference: the table is locked, and interrupts are off until the guard is dropped.
/// let guard = refs.dec_and_lock(&table).expect("there was one");
/// assert_eq!(*guard, 7);
/// # }
/// ```
#[derive(Debug)]
pub struct InContext<'l, C, T: ?Sized, P: Platform, R: RawSpin<P> = crate::raw::DefaultRaw> {
    lock: &'l SpinLock<T, P, R>,
    context: PhantomData<fn() -> C>,
}

impl<'l, C: Context, T: ?Sized, P: Platform, R: RawSpin<P>> InContext<'l, C, T, P, R> {
    /// `lock`, to be taken in `C`.
    pub const fn of(lock: &'l SpinLock<T, P, R>) -> Self {
        Self { lock, context: PhantomData }
    }
}

impl<'l, C: Context, T: ?Sized, P: Platform, R: RawSpin<P>> refcount::Lock
    for InContext<'l, C, T, P, R>
{
    type Guard<'a>
        = SpinGuard<'a, T, P, C, R>
    where
        Self: 'a;

    fn lock(&self) -> Self::Guard<'_> {
        self.lock.lock_in()
    }
}

/// In the context [`Plain`].
impl<T: ?Sized, P: Platform, R: RawSpin<P>> refcount::Lock for SpinLock<T, P, R> {
    type Guard<'a>
        = SpinGuard<'a, T, P, Plain, R>
    where
        Self: 'a;

    fn lock(&self) -> Self::Guard<'_> {
        self.lock_in()
    }
}
