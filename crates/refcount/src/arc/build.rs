//! Objects whose size is known only at run time, and objects for which there may be no memory.
//!
//! Memory is taken for the counter and the data together; the data is then moved or copied into it.
//! Until all of it is there, a guard owns the memory and what has been written of a slice.

use alloc::alloc::{Layout, alloc, handle_alloc_error};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::mem::{self, ManuallyDrop};
use core::ptr::{self, NonNull};

use super::{Arc, Inner, Memory, data_offset};
use crate::counter::RefCount;

impl<T> Arc<T> {
    /// [`Self::new`] for those who survive the lack of memory.
    ///
    /// # Errors
    ///
    /// The data itself, if the allocator has no memory for it.
    #[inline]
    pub fn try_new(data: T) -> Result<Self, T> {
        // SAFETY: the layout is not of size zero: it has the counter.
        let start = unsafe { alloc(Layout::new::<Inner<T>>()) };
        let Some(inner) = NonNull::new(start.cast::<Inner<T>>()) else {
            return Err(data);
        };
        // SAFETY: the memory is fresh and laid out for this type.
        unsafe { inner.write(Inner { refs: RefCount::new(1), data }) };
        // SAFETY: the count of one is this handle's.
        Ok(unsafe { Self::from_inner(inner) })
    }
}

/// Memory for a counter and data of the layout `data`. Nothing is in it yet.
fn allocate(data: Layout) -> Memory {
    let (layout, offset) = Layout::new::<RefCount>()
        .extend(data)
        .expect("a shared object of more than isize::MAX bytes cannot be; the data is too large");
    debug_assert_eq!(offset, data_offset(data.align()));
    let layout = layout.pad_to_align();
    // SAFETY: the layout is not of size zero: it has the counter.
    let start = unsafe { alloc(layout) };
    let Some(start) = NonNull::new(start) else { handle_alloc_error(layout) };
    Memory { start, layout }
}

/// A pointer to `start` with the metadata of `like`.
///
/// Stable Rust has no way to say this, so the address is written over the pointer's first word. That
/// it is the first is not promised; hence the check, which the optimiser answers.
fn with_metadata<T: ?Sized>(start: NonNull<u8>, like: *const T) -> NonNull<Inner<T>> {
    let mut inner = like as *mut Inner<T>;
    // SAFETY: a pointer of any kind is at least one address long, and aligned for one.
    unsafe { (&raw mut inner).cast::<*mut u8>().write(start.as_ptr()) };
    assert!(
        ptr::addr_eq(inner, start.as_ptr()),
        "this compiler does not keep a pointer's address before its metadata; \
         `Arc::from(Box<T>)` cannot work with it"
    );
    // SAFETY: the address was just seen to be `start`, which is not null.
    unsafe { NonNull::new_unchecked(inner) }
}

impl<T: ?Sized> Arc<T> {
    /// A copy of the bytes of `data` behind a counter of one. The original must not be dropped.
    ///
    /// # Safety
    ///
    /// `data` is live, and ownership of it goes over to the handle.
    pub(super) unsafe fn copy_of(data: *const T) -> Self {
        // SAFETY: live by the caller's word.
        let memory = allocate(Layout::for_value(unsafe { &*data }));
        let inner = with_metadata(memory.start, data);
        mem::forget(memory);
        let object = inner.as_ptr();
        // SAFETY: the memory is fresh and laid out for a counter and this data behind it.
        unsafe {
            (&raw mut (*object).refs).write(RefCount::new(1));
            let size = mem::size_of_val(&*data);
            ptr::copy_nonoverlapping(data.cast(), (&raw mut (*object).data).cast::<u8>(), size);
        }
        // SAFETY: the count of one is this handle's.
        unsafe { Self::from_inner(inner) }
    }
}

impl<T: ?Sized> From<Box<T>> for Arc<T> {
    /// Moves the data out of the box. The counter needs memory of its own, so this copies the bytes.
    #[inline]
    fn from(data: Box<T>) -> Self {
        let data = Box::into_raw(data);
        // SAFETY: live, and given up below without being dropped.
        let this = unsafe { Self::copy_of(data) };
        // SAFETY: the pointer is from the box; `ManuallyDrop` is laid out as what it holds.
        drop(unsafe { Box::from_raw(data as *mut ManuallyDrop<T>) });
        this
    }
}

impl<T> From<Vec<T>> for Arc<[T]> {
    /// Moves the elements.
    #[inline]
    fn from(mut data: Vec<T>) -> Self {
        // SAFETY: the vector is made to forget its elements, and keeps only its memory.
        let this = unsafe { Self::copy_of(data.as_slice()) };
        // SAFETY: none is fewer, and the elements have another owner.
        unsafe { data.set_len(0) };
        this
    }
}

/// A slice that is not complete. Drops what has been written of it, and frees its memory, if an
/// element's making panics.
struct Building<T> {
    memory: Memory,
    first: *mut T,
    written: usize,
}

impl<T> Drop for Building<T> {
    fn drop(&mut self) {
        let written = ptr::slice_from_raw_parts_mut(self.first, self.written);
        // SAFETY: so many elements were written, and nobody else has them.
        unsafe { ptr::drop_in_place(written) };
    }
}

/// A shared slice of the elements of an iterator that knows how many they are.
///
/// # Panics
///
/// If there are fewer elements than the iterator said. More are left in it.
pub(super) fn collect<T>(elements: impl ExactSizeIterator<Item = T>) -> Arc<[T]> {
    let len = elements.len();
    let data = Layout::array::<T>(len)
        .expect("a slice of more than isize::MAX bytes cannot be; the iterator is too long");
    let memory = allocate(data);
    // SAFETY: the data is inside the memory, so many bytes in.
    let first = unsafe { memory.start.as_ptr().add(data_offset(data.align())).cast::<T>() };
    let mut building = Building { memory, first, written: 0 };
    for element in elements.take(len) {
        // SAFETY: of `len` elements less than `len` have been written.
        unsafe { first.add(building.written).write(element) };
        building.written += 1;
    }
    assert_eq!(building.written, len, "the iterator ended before the length that it gave");
    let start = ManuallyDrop::new(building).memory.start.as_ptr();
    let inner = ptr::slice_from_raw_parts_mut(start.cast::<T>(), len) as *mut Inner<[T]>;
    // SAFETY: the memory is laid out for a counter and this slice, of which only the counter is
    // missing; its count of one is the handle's.
    unsafe {
        (&raw mut (*inner).refs).write(RefCount::new(1));
        Arc::from_inner(NonNull::new_unchecked(inner))
    }
}
