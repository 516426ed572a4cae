//! From a type to a trait object or a slice of it, and back.
//!
//! The compiler turns a `*const T` into a `*const dyn Trait` where it is asked for one, and only with
//! the right table of functions: that is left to it. A function that took the pointer as made by the
//! caller could check its address, but neither the table nor the length beside it.

use core::any::Any;

use super::Arc;

/// Turns an `Arc<T>` into an `Arc<dyn Trait>` of the same object, or one of an array into one of a
/// slice.
///
/// ```
/// use core::fmt::Display;
/// use refcount::{Arc, unsize};
///
/// let number: Arc<dyn Display + Send + Sync> = unsize!(Arc::new(7) => dyn Display + Send + Sync);
/// assert_eq!(number.to_string(), "7");
/// let slice = unsize!(Arc::new([1, 2, 3]) => [i32]);
/// assert_eq!(slice.len(), 3);
/// ```
///
/// Only what the compiler converts by itself is accepted, never a cast:
///
/// ```compile_fail,E0308
/// use refcount::{Arc, unsize};
/// let _ = unsize!(Arc::new(1u8) => u64);
/// ```
#[macro_export]
macro_rules! unsize {
    ($arc:expr => $target:ty) => {{
        let data = $crate::Arc::into_raw($arc);
        // The type makes this a place where the compiler converts.
        let data: *const $target = data;
        // SAFETY: the pointer was just given up, and the conversion keeps it a pointer to the same
        // data with the metadata that belongs to it.
        unsafe { $crate::Arc::from_raw(data) }
    }};
}

impl Arc<dyn Any + Send + Sync> {
    /// The same object by its own type.
    ///
    /// # Errors
    ///
    /// The handle itself, if the object is not a `T`.
    #[inline]
    pub fn downcast<T: Any + Send + Sync>(self) -> Result<Arc<T>, Self> {
        if !(*self).is::<T>() {
            return Err(self);
        }
        // SAFETY: just given up, and seen to be a `T`.
        Ok(unsafe { Arc::from_raw(Arc::into_raw(self).cast::<T>()) })
    }
}

impl<T, const N: usize> From<Arc<[T; N]>> for Arc<[T]> {
    /// The same object with its length beside it.
    #[inline]
    fn from(array: Arc<[T; N]>) -> Self {
        crate::unsize!(array => [T])
    }
}

impl<T, const N: usize> TryFrom<Arc<[T]>> for Arc<[T; N]> {
    type Error = Arc<[T]>;

    /// The same object, if it is so long; otherwise the handle comes back.
    #[inline]
    fn try_from(slice: Arc<[T]>) -> Result<Self, Arc<[T]>> {
        if slice.len() != N {
            return Err(slice);
        }
        // SAFETY: just given up, and a slice of `N` elements is laid out as an array of `N`.
        Ok(unsafe { Arc::from_raw(Arc::into_raw(slice).cast::<[T; N]>()) })
    }
}

impl From<Arc<str>> for Arc<[u8]> {
    /// The same object as bytes.
    #[inline]
    fn from(text: Arc<str>) -> Self {
        // SAFETY: just given up, and text is laid out as its bytes.
        unsafe { Arc::from_raw(Arc::into_raw(text) as *const [u8]) }
    }
}
