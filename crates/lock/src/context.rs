//! Where a lock is taken from, as a type.
//!
//! A lock that an interrupt handler takes must be taken with interrupts off everywhere else, or the
//! handler waits for the code it interrupted. Which section a guard ends is part of its type, so it
//! cannot be ended as another.

use core::marker::PhantomData;

use crate::platform::Platform;

/// Names a [`Context`] where a type is of no use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContextKind {
    /// [`Plain`].
    Plain,
    /// [`Bh`].
    Bh,
    /// [`Irq`].
    Irq,
    /// [`IrqSave`].
    IrqSave,
}

/// A section of code that some kind of interruption is kept out of. The trait is sealed.
pub trait Context: sealed::Sealed {
    /// Which it is.
    const KIND: ContextKind;

    /// Begins a section.
    fn enter<P: Platform>();

    /// Ends a section; which one of those that are open does not matter.
    ///
    /// # Safety
    /// A section of this context was begun on this CPU and not ended yet.
    unsafe fn exit<P: Platform>();
}

/// A section that ends when this is dropped, unless it is kept: if waiting for a lock panics, or a
/// handler of reports does, nobody has a guard to end it.
pub(crate) struct Section<P: Platform, C: Context> {
    kind: PhantomData<(P, C)>,
}

impl<P: Platform, C: Context> Section<P, C> {
    /// Begins one.
    #[inline(always)]
    pub(crate) fn begin() -> Self {
        C::enter::<P>();
        Self { kind: PhantomData }
    }

    /// Leaves it to be ended by [`Context::exit`].
    #[inline(always)]
    pub(crate) fn keep(self) {
        core::mem::forget(self);
    }
}

impl<P: Platform, C: Context> Drop for Section<P, C> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: it was begun with this, on this CPU, and is not ended by anybody else.
        unsafe { C::exit::<P>() };
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Plain {}
    impl Sealed for super::Bh {}
    impl Sealed for super::Irq {}
    impl Sealed for super::IrqSave {}
}

/// Only preemption is kept out: for locks that no interrupt takes.
#[derive(Debug)]
pub enum Plain {}
/// Bottom halves are kept out too: for locks that they take, and interrupts do not.
#[derive(Debug)]
pub enum Bh {}
/// Interrupts are kept out, by code that knows that they are on.
#[derive(Debug)]
pub enum Irq {}
/// Interrupts are kept out, and put back as they were.
#[derive(Debug)]
pub enum IrqSave {}

impl Context for Plain {
    const KIND: ContextKind = ContextKind::Plain;
    #[inline(always)]
    fn enter<P: Platform>() {
        P::preempt_disable();
    }
    #[inline(always)]
    unsafe fn exit<P: Platform>() {
        P::preempt_enable();
    }
}

impl Context for Bh {
    const KIND: ContextKind = ContextKind::Bh;
    #[inline(always)]
    fn enter<P: Platform>() {
        P::bh_disable();
    }
    #[inline(always)]
    unsafe fn exit<P: Platform>() {
        P::bh_enable();
    }
}

impl Context for Irq {
    const KIND: ContextKind = ContextKind::Irq;
    #[inline(always)]
    fn enter<P: Platform>() {
        let found = P::irq_disable();
        P::with_irq_sections(|sections| sections.open(found));
    }
    #[inline(always)]
    unsafe fn exit<P: Platform>() {
        end_irq_section::<P>();
    }
}

impl Context for IrqSave {
    const KIND: ContextKind = ContextKind::IrqSave;
    #[inline(always)]
    fn enter<P: Platform>() {
        let found = P::irq_save();
        P::with_irq_sections(|sections| sections.open(found));
    }
    #[inline(always)]
    unsafe fn exit<P: Platform>() {
        end_irq_section::<P>();
    }
}

#[inline(always)]
fn end_irq_section<P: Platform>() {
    if let Some(found) = P::with_irq_sections(|sections| sections.close()) {
        P::irq_restore(found);
    }
}
