//! What each operation of the read-write lock does when nobody is in the way, inlined whatever the
//! policy; who is in the way, or in whose way, is a matter for `rw_slow.rs`, out of line.

use crate::context::Context;
use crate::platform::Platform;
use crate::rw_copies::RwCopies;
use crate::rw_raw::QueuedRw;
use crate::rw_slow;
use crate::rw_word::{SLEEPING, admits};
use crate::sync::{Ordering, acquire, planted};
use crate::unlock::wake_preserving;

/// What came of taking a lock to write at once.
enum Taken {
    /// The caller writes.
    Yes,
    /// Somebody is in the way.
    No,
    /// The same, and the writer's byte was 0 and the caller made it 1.
    #[cfg_attr(
        not(any(loom, all(lock_asm, target_arch = "x86_64"))),
        expect(dead_code, reason = "one step does it")
    )]
    ByteOnly,
}

/// What the functions of [`RwCopies`] do, inlined whatever the policy.
#[doc(hidden)]
impl QueuedRw {
    /// # Safety
    /// As for [`RwCopies::read_slow`].
    #[inline(always)]
    pub unsafe fn wait_to_read<P: RwCopies>(&self) {
        // SAFETY: as the caller says.
        unsafe { rw_slow::read::<P>(self) }
    }

    #[inline(always)]
    pub fn wait_to_write<P: RwCopies>(&self) {
        rw_slow::write::<P>(self);
    }

    /// # Safety
    /// As for [`RwCopies::read_step_back`].
    #[inline(always)]
    pub unsafe fn read_step_back<P: Platform>(&self) {
        // SAFETY: as the caller says.
        unsafe { rw_slow::step_back::<P>(self) };
    }

    /// # Safety
    /// As for [`RwCopies::write_step_back`].
    #[inline(always)]
    pub unsafe fn write_step_back<P: Platform>(&self) {
        // SAFETY: as the caller says.
        unsafe { rw_slow::write_step_back::<P>(self) }
    }

    #[inline(always)]
    pub fn wake_head<P: Platform>(&self) {
        rw_slow::wake::<P>(self);
    }

    #[inline(always)]
    pub fn read_here<P: RwCopies>(&self) {
        if !self.word().add_reader(acquire!(P, RwRelaxedRead)) {
            unlikely::cold_path();
            // SAFETY: counted here.
            unsafe { P::read_slow(self) }
        }
    }

    #[inline(always)]
    pub fn write_here<P: RwCopies>(&self) {
        match self.take_write::<P>() {
            Taken::Yes => {}
            Taken::No => P::write_slow(self),
            // SAFETY: as it says.
            Taken::ByteOnly => unsafe { P::write_later(self) },
        }
    }

    #[inline(always)]
    pub fn try_read_here<P: RwCopies>(&self) -> bool {
        // A read first: who tries again and again must not take the line from the others, nor hold a
        // writer up.
        if unlikely::unlikely!(!admits(self.word().load(Ordering::Relaxed))) {
            return false;
        }
        if !self.word().add_reader(acquire!(P, RwRelaxedRead)) {
            unlikely::cold_path();
            // SAFETY: counted here.
            unsafe { P::read_step_back(self) };
            return false;
        }
        true
    }

    #[inline(always)]
    pub fn try_write_here<P: RwCopies>(&self) -> bool {
        if unlikely::unlikely!(self.word().is_written()) {
            return false;
        }
        match self.take_write::<P>() {
            Taken::Yes => true,
            Taken::No => false,
            // SAFETY: as it says.
            Taken::ByteOnly => unsafe { P::write_step_back(self) },
        }
    }

    /// Takes the lock to write if it is free: by one step.
    #[cfg(not(any(loom, all(lock_asm, target_arch = "x86_64"))))]
    #[inline(always)]
    #[cfg_attr(
        not(loom),
        expect(
            clippy::extra_unused_type_parameters,
            reason = "names the fault that a model plants"
        )
    )]
    fn take_write<P: RwCopies>(&self) -> Taken {
        if unlikely::likely!(self.word().take_write(Ordering::Acquire)) {
            Taken::Yes
        } else {
            Taken::No
        }
    }

    /// Takes the lock to write if it is free: in two steps, or in a model that asks for it, by one.
    #[cfg(any(loom, all(lock_asm, target_arch = "x86_64")))]
    #[inline(always)]
    #[cfg_attr(
        not(loom),
        expect(
            clippy::extra_unused_type_parameters,
            reason = "names the fault that a model plants"
        )
    )]
    fn take_write<P: RwCopies>(&self) -> Taken {
        let order = acquire!(P, RwRelaxedWrite);
        #[cfg(loom)]
        if planted!(P, RwOneStep) {
            return if self.word().take_write(order) { Taken::Yes } else { Taken::No };
        }
        // First a look: who comes to wait must not turn away those who read beside others. What is
        // seen may be old, so it decides nothing that a model could miss.
        if cfg!(not(loom)) && !self.word().rest_is_free(Ordering::Relaxed) {
            return Taken::No;
        }
        if unlikely::unlikely!(!self.word().exchange_writer(order)) {
            return Taken::No;
        }
        if self.word().rest_is_free(order) || planted!(P, RwNoSecondLook) {
            return Taken::Yes;
        }
        Taken::ByteOnly
    }

    /// # Safety
    /// As for [`crate::RawRw::unlock_read`].
    #[inline(always)]
    pub unsafe fn unlock_read_here<P: RwCopies>(&self) {
        let order = release(planted!(P, RwRelaxedReadUnlock));
        if P::PARAVIRT {
            if self.word().sub_reader_claimed(order) && !planted!(P, RwNoKickAtReadUnlock) {
                wake_preserving::<P, _>(self);
            }
        } else {
            self.word().sub_reader(order);
        }
    }

    /// # Safety
    /// As for [`crate::RawRw::unlock_write`].
    #[inline(always)]
    pub unsafe fn unlock_write_here<P: RwCopies>(&self) {
        let order = release(planted!(P, RwRelaxedWriteUnlock));
        if P::PARAVIRT {
            if self.word().unlock_write_sleeping(order) && !planted!(P, RwNoKickAtWriteUnlock) {
                wake_preserving::<P, _>(self);
            }
        } else {
            self.word().unlock_write(order);
        }
    }

    /// # Safety
    /// As for [`crate::RawRw::downgrade`].
    #[inline(always)]
    pub unsafe fn downgrade_here<P: RwCopies>(&self) {
        let seen = self.word().downgrade(release(planted!(P, RwRelaxedDowngrade)));
        let asleep = P::PARAVIRT && seen & SLEEPING != 0;
        if unlikely::unlikely!(asleep) && !planted!(P, RwNoKickAtDowngrade) {
            P::rw_wake(self);
        }
    }

    /// # Safety
    /// As for [`crate::RawRw::unlock_read_in`].
    #[inline(always)]
    pub unsafe fn unlock_read_here_in<P: RwCopies, C: Context>(&self) {
        // SAFETY: as the caller says.
        unsafe {
            self.unlock_read_here::<P>();
            C::exit::<P>();
        }
    }

    /// # Safety
    /// As for [`crate::RawRw::unlock_write_in`].
    #[inline(always)]
    pub unsafe fn unlock_write_here_in<P: RwCopies, C: Context>(&self) {
        // SAFETY: as the caller says.
        unsafe {
            self.unlock_write_here::<P>();
            C::exit::<P>();
        }
    }
}

#[inline(always)]
fn release(relaxed: bool) -> Ordering {
    if relaxed { Ordering::Relaxed } else { Ordering::Release }
}
