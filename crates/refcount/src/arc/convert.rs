//! What an [`Arc`] can be made from.

use alloc::borrow::{Cow, ToOwned};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use super::{Arc, build};

impl<T> From<T> for Arc<T> {
    #[inline]
    fn from(data: T) -> Self {
        Self::new(data)
    }
}

impl<T: Clone> From<&[T]> for Arc<[T]> {
    /// Copies the elements.
    #[inline]
    fn from(data: &[T]) -> Self {
        build::collect(data.iter().cloned())
    }
}

impl<T: Clone> From<&mut [T]> for Arc<[T]> {
    /// Copies the elements.
    #[inline]
    fn from(data: &mut [T]) -> Self {
        Self::from(&*data)
    }
}

impl<T, const N: usize> From<[T; N]> for Arc<[T]> {
    /// Moves the elements.
    #[inline]
    fn from(data: [T; N]) -> Self {
        Arc::new(data).into()
    }
}

impl From<&str> for Arc<str> {
    /// Copies the text.
    #[inline]
    fn from(text: &str) -> Self {
        // SAFETY: bytes are as good copied as moved: dropping them does nothing.
        unsafe { Self::copy_of(text) }
    }
}

impl From<&mut str> for Arc<str> {
    /// Copies the text.
    #[inline]
    fn from(text: &mut str) -> Self {
        Self::from(&*text)
    }
}

impl From<String> for Arc<str> {
    /// Copies the text.
    #[inline]
    fn from(text: String) -> Self {
        Self::from(text.as_str())
    }
}

impl<'a, B: ?Sized + ToOwned> From<Cow<'a, B>> for Arc<B>
where
    Arc<B>: From<&'a B> + From<B::Owned>,
{
    #[inline]
    fn from(data: Cow<'a, B>) -> Self {
        match data {
            Cow::Borrowed(data) => Self::from(data),
            Cow::Owned(data) => Self::from(data),
        }
    }
}

impl<T> FromIterator<T> for Arc<[T]> {
    /// Collects by way of a vector: an iterator does not say for certain how long it is.
    #[inline]
    fn from_iter<I: IntoIterator<Item = T>>(elements: I) -> Self {
        Self::from(Vec::from_iter(elements))
    }
}

impl<T: Default> Default for Arc<T> {
    #[inline]
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T> Default for Arc<[T]> {
    /// An empty slice, on the heap all the same.
    #[inline]
    fn default() -> Self {
        Self::from([])
    }
}

impl Default for Arc<str> {
    /// Empty text, on the heap all the same.
    #[inline]
    fn default() -> Self {
        Self::from("")
    }
}

macro_rules! boxed {
    ($($(#[$cfg:meta])? $owned:ty => $borrowed:ty, $into_box:ident;)*) => {$(
        $(#[$cfg])?
        impl From<$owned> for Arc<$borrowed> {
            #[inline]
            fn from(owned: $owned) -> Self {
                Self::from(owned.$into_box())
            }
        }

        $(#[$cfg])?
        impl From<&$borrowed> for Arc<$borrowed> {
            #[inline]
            fn from(borrowed: &$borrowed) -> Self {
                Self::from(Box::<$borrowed>::from(borrowed))
            }
        }
    )*};
}
boxed! {
    alloc::ffi::CString => core::ffi::CStr, into_boxed_c_str;
    #[cfg(feature = "std")] std::ffi::OsString => std::ffi::OsStr, into_boxed_os_str;
    #[cfg(feature = "std")] std::path::PathBuf => std::path::Path, into_boxed_path;
}
