//! What can be asked of a descriptor, and one entry of a set, as the system call lays them out.

use core::fmt;
use core::ops::{BitAnd, BitOr, BitOrAssign};

/// A set of conditions, with the bits of Linux's `POLL*` constants (x86-64, arm64 and most others).
///
/// Any bit may be set: one without a name asks for nothing, and is kept.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct Events(u16);

impl Events {
    /// Nothing.
    pub const NONE: Self = Self(0);
    /// There is data to read, or the end of it.
    pub const IN: Self = Self(0x0001);
    /// There is an exceptional condition, such as out-of-band data.
    pub const PRI: Self = Self(0x0002);
    /// A write would not block.
    pub const OUT: Self = Self(0x0004);
    /// An error; answered unasked.
    pub const ERR: Self = Self(0x0008);
    /// The other side is gone; answered unasked.
    pub const HUP: Self = Self(0x0010);
    /// No file behind the descriptor; answered unasked.
    pub const NVAL: Self = Self(0x0020);
    /// Normal data to read; most files answer it together with [`Events::IN`].
    pub const RDNORM: Self = Self(0x0040);
    /// Priority-band data to read.
    pub const RDBAND: Self = Self(0x0080);
    /// A write of normal data would not block.
    pub const WRNORM: Self = Self(0x0100);
    /// A write of priority-band data would not block.
    pub const WRBAND: Self = Self(0x0200);
    /// A message is there; hardly used.
    pub const MSG: Self = Self(0x0400);
    /// The other side of a stream has stopped writing.
    pub const RDHUP: Self = Self(0x2000);

    /// What a file answers that is always ready both ways and cannot tell, such as a regular file.
    pub const ALWAYS: Self = Self(Self::IN.0 | Self::OUT.0 | Self::RDNORM.0 | Self::WRNORM.0);
    /// What is answered whether asked for or not, by a file.
    pub const UNASKED: Self = Self(Self::ERR.0 | Self::HUP.0);

    /// The set with these bits, named or not.
    #[inline]
    pub const fn from_bits(bits: u16) -> Self {
        Self(bits)
    }

    /// The bits.
    #[inline]
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// Whether it is empty.
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether it has all of `other`.
    #[inline]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether it has any of `other`.
    #[inline]
    pub const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Either set's.
    #[inline]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOr for Events {
    type Output = Self;
    #[inline]
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for Events {
    #[inline]
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

impl BitAnd for Events {
    type Output = Self;
    #[inline]
    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const NAMES: [(Events, &str); 12] = [
            (Events::IN, "IN"),
            (Events::PRI, "PRI"),
            (Events::OUT, "OUT"),
            (Events::ERR, "ERR"),
            (Events::HUP, "HUP"),
            (Events::NVAL, "NVAL"),
            (Events::RDNORM, "RDNORM"),
            (Events::RDBAND, "RDBAND"),
            (Events::WRNORM, "WRNORM"),
            (Events::WRBAND, "WRBAND"),
            (Events::MSG, "MSG"),
            (Events::RDHUP, "RDHUP"),
        ];
        let mut rest = self.0;
        let mut separator = "";
        for (event, name) in NAMES {
            if rest & event.0 != 0 {
                write!(f, "{separator}{name}")?;
                rest &= !event.0;
                separator = "|";
            }
        }
        if rest != 0 || self.0 == 0 {
            write!(f, "{separator}{rest:#x}")?;
        }
        Ok(())
    }
}

/// One entry of a set; laid out as C's `struct pollfd`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct PollFd {
    /// The descriptor; any negative number stands for "not this entry".
    pub fd: i32,
    /// What is asked.
    pub events: Events,
    /// What was answered. Written by every call, never read.
    pub revents: Events,
}

impl PollFd {
    /// An entry without an answer yet.
    pub const fn new(fd: i32, events: Events) -> Self {
        Self { fd, events, revents: Events::NONE }
    }
}

// The bridge passes slices of it to the system call.
const _: () = assert!(size_of::<PollFd>() == 8 && align_of::<PollFd>() == 4);

#[cfg(test)]
mod tests {
    extern crate std;
    use super::Events;
    use std::format;

    #[test]
    fn events_are_printed_by_name_and_the_rest_as_bits() {
        assert_eq!(format!("{:?}", Events::IN | Events::HUP), "IN|HUP");
        assert_eq!(format!("{:?}", Events::NONE), "0x0");
        assert_eq!(format!("{:?}", Events::from_bits(0x8001)), "IN|0x8000");
    }

    #[test]
    fn a_bit_without_a_name_is_kept() {
        assert_eq!(Events::from_bits(0xffff).bits(), 0xffff);
        assert_eq!((Events::from_bits(0x8000) | Events::IN).bits(), 0x8001);
    }
}
