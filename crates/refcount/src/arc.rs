//! A shared owner on a saturating counter.
//!
//! One counter of 32 bits stands before the data; there are no weak references, so that is all of the
//! header: four bytes, or the data's alignment, where the standard library's takes two words. A program that loses references faster than it
//! drops them saturates the counter: the object is then never freed, and everybody who holds it may go
//! on using it. The standard library's `Arc` aborts the process there; a counter that wraps would free
//! the object under its users.
//!
//! A clone is one atomic addition and a branch that is not taken, a drop one atomic decrement and
//! likewise. What happens at the end of an object is out of line, in [`Arc::free`].

mod build;
mod convert;
mod traits;
mod unsize;

use alloc::alloc::{Layout, dealloc};
use alloc::boxed::Box;
use core::marker::PhantomData;
use core::mem::{self, ManuallyDrop};
use core::ops::Deref;
use core::panic::{RefUnwindSafe, UnwindSafe};
use core::pin::Pin;
use core::ptr::{self, NonNull};

use crate::counter::RefCount;
use crate::word::Word;

/// What an [`Arc`] points at. The order of the fields is fixed, since [`Arc::from_raw`] finds the
/// counter from the data.
#[repr(C)]
struct Inner<T: ?Sized> {
    /// How many handles there are; its table is at [`Counter`](crate::Counter).
    refs: RefCount,
    data: T,
}

/// How far the data is behind the counter, for data of this alignment.
fn data_offset(align: usize) -> usize {
    mem::size_of::<RefCount>().next_multiple_of(align)
}

/// A shared pointer to a `T` that is freed with its last handle — or, once its counter was exhausted,
/// never.
///
/// The interface is that of the standard library's `Arc` as far as it goes without weak references:
/// there is no `Weak`, no `downgrade` and no `new_cyclic`. Three things stable Rust leaves to the
/// standard library alone: an `Arc<T>` turns into an `Arc<dyn Trait>` by [`unsize!`](crate::unsize)
/// instead of by itself, `self: Arc<Self>` is not a receiver, and what the data borrows has to outlive
/// the handle even where dropping the data would not look at it.
///
/// # Saturation
///
/// There can be `i32::MAX` handles. One more saturates the counter: the fault is reported through
/// [`set_handler`](crate::set_handler), the object leaks, [`Arc::is_saturated`] says so, and from then
/// on nothing that needs a handle to be the only one succeeds: [`Arc::get_mut`], [`Arc::try_unwrap`]
/// and [`Arc::into_inner`] decline, [`Arc::make_mut`] and [`Arc::unwrap_or_clone`] copy.
///
/// # Examples
///
/// ```
/// use refcount::Arc;
///
/// let table: Arc<[u32]> = Arc::from(vec![1, 2, 3]);
/// let reader = std::thread::spawn({
///     let table = table.clone();
///     move || table.iter().sum::<u32>()
/// });
/// assert_eq!(reader.join().unwrap(), 6);
/// assert_eq!(Arc::count(&table), 1);
/// ```
pub struct Arc<T: ?Sized> {
    inner: NonNull<Inner<T>>,
    /// Dropping a handle may drop a `T`.
    owns: PhantomData<Inner<T>>,
}

// SAFETY: a handle gives `&T` to the thread that it is sent to (`Sync`), and the last one, wherever
// it is, drops the `T` (`Send`). The counter is atomic.
unsafe impl<T: ?Sized + Sync + Send> Send for Arc<T> {}
// SAFETY: `&Arc<T>` can be cloned, so sharing a handle is as good as sending one.
unsafe impl<T: ?Sized + Sync + Send> Sync for Arc<T> {}

/// A panic while a handle is used leaves at worst what is behind a shared reference half done.
impl<T: RefUnwindSafe + ?Sized> UnwindSafe for Arc<T> {}

impl<T> Arc<T> {
    /// Moves `data` behind a counter of one.
    #[inline]
    pub fn new(data: T) -> Self {
        let inner = Box::new(Inner { refs: RefCount::new(1), data });
        // SAFETY: the box was just filled with a count of one, which is this handle's.
        unsafe { Self::from_inner(NonNull::from(Box::leak(inner))) }
    }

    /// [`Self::new`], pinned: the data stays where it is until it is dropped.
    #[inline]
    pub fn pin(data: T) -> Pin<Self> {
        // SAFETY: the data is on the heap, and no operation that moves it out or gives `&mut T` takes
        // a pinned handle.
        unsafe { Pin::new_unchecked(Self::new(data)) }
    }

    /// The data, if this is the only handle.
    ///
    /// # Errors
    ///
    /// The handle itself, if there are others or the counter is saturated. Of two threads that try at
    /// the same time both may fail; [`Self::into_inner`] leaves none behind.
    #[inline]
    pub fn try_unwrap(this: Self) -> Result<T, Self> {
        if !this.refs().dec_if_one() {
            return Err(this);
        }
        // SAFETY: the count was one, ours, and is zero.
        Ok(unsafe { Self::take(this) })
    }

    /// Drops the handle, and gives the data if it was the last. Of all handles to one object exactly
    /// one gets it, unless one of them is dropped in another way or the counter is saturated.
    #[inline]
    #[track_caller]
    pub fn into_inner(this: Self) -> Option<T> {
        let this = ManuallyDrop::new(this);
        if !this.refs().dec_and_test() {
            return None;
        }
        // SAFETY: ours was the last reference, and has been given up.
        Some(unsafe { Self::take(ManuallyDrop::into_inner(this)) })
    }

    /// The data, moved if this is the only handle, otherwise copied.
    #[inline]
    pub fn unwrap_or_clone(this: Self) -> T
    where
        T: Clone,
    {
        Self::try_unwrap(this).unwrap_or_else(|shared| (*shared).clone())
    }

    /// Moves the data out and gives the memory back.
    ///
    /// # Safety
    ///
    /// The count is zero, brought there with acquire by the caller, and nobody else knows the object.
    #[inline]
    unsafe fn take(this: Self) -> T {
        let this = ManuallyDrop::new(this);
        let memory = Memory::of(this.inner);
        // SAFETY: the data is live and read this once; `memory` frees it without dropping it.
        let data = unsafe { ptr::read(&raw const (*this.inner.as_ptr()).data) };
        drop(memory);
        data
    }
}

impl<T: ?Sized> Arc<T> {
    /// A handle that takes over one reference.
    ///
    /// # Safety
    ///
    /// `inner` is live, allocated by the global allocator for its own layout, and one of the
    /// references counted is nobody else's.
    #[inline]
    unsafe fn from_inner(inner: NonNull<Inner<T>>) -> Self {
        Self { inner, owns: PhantomData }
    }

    /// The counter. A reference to it alone: it may end with the object while another thread drops
    /// the last handle, which is no fault for something inside an `UnsafeCell`.
    #[inline]
    fn refs(&self) -> &RefCount {
        // SAFETY: the object lives as long as a handle does.
        unsafe { &(*self.inner.as_ptr()).refs }
    }

    /// Gives up the handle for a pointer to the data. Nothing is dropped; [`Self::from_raw`] takes it
    /// back.
    #[inline]
    #[must_use = "the reference is leaked if nobody takes it back"]
    pub fn into_raw(this: Self) -> *const T {
        Self::as_ptr(&*ManuallyDrop::new(this))
    }

    /// A pointer to the data, good as long as there is a handle. It may be given to
    /// [`Self::increment_strong_count`].
    #[inline]
    pub fn as_ptr(this: &Self) -> *const T {
        // SAFETY: the object is live. No reference to the data is made, so that the pointer may reach
        // the counter beside it too.
        unsafe { &raw const (*this.inner.as_ptr()).data }
    }

    /// Takes back what [`Self::into_raw`] gave up.
    ///
    /// # Safety
    ///
    /// `ptr` is from [`Self::into_raw`] or [`Self::as_ptr`] of a `T`, or of a type that it may be
    /// cast from as a pointer: the same data, of the same size and alignment. One reference goes over
    /// to the handle, which nobody else drops.
    #[inline]
    pub unsafe fn from_raw(ptr: *const T) -> Self {
        // SAFETY: the reference that comes with `ptr` keeps the data live.
        let offset = data_offset(mem::align_of_val(unsafe { &*ptr }));
        // SAFETY: the data is the tail of an `Inner`, so many bytes in; both have the same metadata.
        let inner = unsafe { ptr.byte_sub(offset) } as *mut Inner<T>;
        // SAFETY: an address inside an allocation is not null, and the rest is the caller's word.
        unsafe { Self::from_inner(NonNull::new_unchecked(inner)) }
    }

    /// Adds one reference to the object of a pointer from [`Self::into_raw`]: one more
    /// [`Self::from_raw`] or [`Self::decrement_strong_count`] is due.
    ///
    /// # Safety
    ///
    /// `ptr` is as for [`Self::from_raw`], and somebody holds a reference throughout.
    #[inline]
    #[track_caller]
    pub unsafe fn increment_strong_count(ptr: *const T) {
        // SAFETY: the caller's word; the handle made of it is not dropped, so takes nothing over.
        let this = ManuallyDrop::new(unsafe { Self::from_raw(ptr) });
        this.refs().inc();
    }

    /// [`Self::increment_strong_count`] `n` times, in one step: for handing out many references at
    /// once. More than the counter can hold saturates it.
    ///
    /// # Safety
    ///
    /// As for [`Self::increment_strong_count`].
    #[inline]
    #[track_caller]
    pub unsafe fn increment_strong_count_by(ptr: *const T, n: u32) {
        // SAFETY: the caller's word; the handle made of it is not dropped, so takes nothing over.
        let this = ManuallyDrop::new(unsafe { Self::from_raw(ptr) });
        this.refs().add(n);
    }

    /// Drops one reference to the object of a pointer from [`Self::into_raw`], and the object with
    /// the last.
    ///
    /// # Safety
    ///
    /// `ptr` is as for [`Self::from_raw`], and the reference dropped is the caller's to drop.
    #[inline]
    #[track_caller]
    pub unsafe fn decrement_strong_count(ptr: *const T) {
        // SAFETY: the caller's word.
        drop(unsafe { Self::from_raw(ptr) });
    }

    /// How many handles there are now; above `i32::MAX` if the counter is saturated. Another thread
    /// may change it at once.
    #[inline]
    #[must_use]
    pub fn count(this: &Self) -> u32 {
        this.refs().read()
    }

    /// Whether the counter was exhausted, so that the object is never freed.
    #[inline]
    #[must_use]
    pub fn is_saturated(this: &Self) -> bool {
        Self::count(this) > <u32 as Word>::MAX
    }

    /// Whether this is the only handle. Somebody who shares the handle itself may clone it at once;
    /// [`Self::get_mut`] has it alone.
    #[inline]
    #[must_use]
    pub fn is_unique(this: &Self) -> bool {
        // Acquire: what the others did before they dropped their handles is over.
        this.refs().read_acquire() == 1
    }

    /// The data to change, if this is the only handle.
    #[inline]
    pub fn get_mut(this: &mut Self) -> Option<&mut T> {
        // SAFETY: the only handle is borrowed as long as the data is, so nobody can make another.
        Self::is_unique(this).then(|| unsafe { &mut (*this.inner.as_ptr()).data })
    }

    /// Whether both handles are to the same object. Only addresses count, as for the data of a
    /// `dyn Trait` they should.
    #[inline]
    #[must_use]
    pub fn ptr_eq(this: &Self, other: &Self) -> bool {
        ptr::addr_eq(this.inner.as_ptr(), other.inner.as_ptr())
    }

    /// Drops the data and frees the memory: the end of an object, once in its life.
    ///
    /// # Safety
    ///
    /// The count is zero, brought there with acquire by the caller, and nobody else knows the object.
    #[cold]
    #[inline(never)]
    unsafe fn free(inner: NonNull<Inner<T>>) {
        // Freed even if dropping the data panics.
        let _memory = Memory::of(inner);
        // SAFETY: the data is live, nobody else's, and dropped this once.
        unsafe { ptr::drop_in_place(&raw mut (*inner.as_ptr()).data) };
    }
}

impl<T: ?Sized + Unshare> Arc<T> {
    /// The data to change: the handle's own copy if it is shared, which the others do not see.
    #[inline]
    pub fn make_mut(this: &mut Self) -> &mut T {
        if !Self::is_unique(this) {
            *this = T::copy(this);
        }
        // SAFETY: the only handle (a copy is a new object) is borrowed as long as the data is, so
        // nobody can make another.
        unsafe { &mut (*this.inner.as_ptr()).data }
    }
}

/// What [`Arc::make_mut`] can copy: whatever is `Clone`, slices of it, and text. The trait is sealed: a
/// copy must be an object that has no other handle.
pub trait Unshare: sealed::Copy {}

impl<T: ?Sized + sealed::Copy> Unshare for T {}

mod sealed {
    use super::Arc;

    pub trait Copy {
        /// A copy in an object of its own.
        fn copy(&self) -> Arc<Self>;
    }

    impl<T: Clone> Copy for T {
        #[inline]
        fn copy(&self) -> Arc<T> {
            Arc::new(self.clone())
        }
    }

    impl<T: Clone> Copy for [T] {
        #[inline]
        fn copy(&self) -> Arc<[T]> {
            Arc::from(self)
        }
    }

    impl Copy for str {
        #[inline]
        fn copy(&self) -> Arc<str> {
            Arc::from(self)
        }
    }
}

impl<T: ?Sized> Clone for Arc<T> {
    /// One more handle. At more than `i32::MAX` the object is leaked for good.
    #[inline]
    #[track_caller]
    fn clone(&self) -> Self {
        self.refs().inc();
        // SAFETY: the reference was just added. If the counter saturated, there is no last one.
        unsafe { Self::from_inner(self.inner) }
    }
}

impl<T: ?Sized> Drop for Arc<T> {
    /// Drops the handle, and with the last one the data. Nobody calls a drop by name, so the report of
    /// a fault here has this line for its call site.
    #[inline]
    fn drop(&mut self) {
        if self.refs().dec_and_test() {
            // SAFETY: ours was the last reference, and has been given up with acquire.
            unsafe { Self::free(self.inner) };
        }
    }
}

impl<T: ?Sized> Deref for Arc<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the object lives as long as a handle does, and only its only handle changes it.
        unsafe { &(*self.inner.as_ptr()).data }
    }
}

/// The memory of an object whose data is dropped or moved out elsewhere. Freed when this is dropped.
struct Memory {
    start: NonNull<u8>,
    layout: Layout,
}

impl Memory {
    /// The memory of `inner`, which is still live.
    fn of<T: ?Sized>(inner: NonNull<Inner<T>>) -> Self {
        // SAFETY: live, and by the callers nobody else's.
        let layout = Layout::for_value(unsafe { inner.as_ref() });
        Self { start: inner.cast(), layout }
    }
}

impl Drop for Memory {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: allocated by the global allocator for the layout of this `Inner`, and not used again.
        unsafe { dealloc(self.start.as_ptr(), self.layout) };
    }
}
