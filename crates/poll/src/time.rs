//! Times, and the two roundings that poll cores get wrong: a timeout that is cut short, and a
//! deadline that moves.
//!
//! All arithmetic is in nanoseconds and saturates: 2^64 ns are 584 years.

use core::fmt;
use core::num::NonZeroU64;

/// A point of a [`Clock`](crate::Clock): nanoseconds since an origin that the clock chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub u64);

impl Time {
    /// `ns` later; the last time there is, when that is past it.
    #[inline]
    pub const fn after(self, ns: u64) -> Self {
        Self(self.0.saturating_add(ns))
    }

    /// How many nanoseconds from `now` until this time; 0 when it has passed.
    #[inline]
    pub const fn until(self, now: Self) -> u64 {
        self.0.saturating_sub(now.0)
    }
}

/// How many periods of a timer last at least `ns`.
///
/// For clocks that tick: rounding down would end a wait early, and make of a short one a busy loop.
/// Whoever starts to count within a period, not at its edge, adds one more.
#[inline]
pub const fn ticks_up(ns: u64, period_ns: NonZeroU64) -> u64 {
    ns.div_ceil(period_ns.get())
}

/// How long a call may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timeout {
    /// Until something is found.
    Never,
    /// So many nanoseconds; with 0 it does not wait at all.
    After(u64),
}

impl Timeout {
    /// `poll`'s argument: milliseconds, where any negative number means for ever.
    #[inline]
    pub const fn from_millis(ms: i32) -> Self {
        if ms < 0 { Self::Never } else { Self::After(ms as u64 * 1_000_000) }
    }

    /// The smallest argument of `poll` that lasts at least as long; at most `i32::MAX`, which is
    /// 24 days. Whoever may have to wait longer looks at the clock and waits again.
    #[inline]
    pub const fn as_millis_up(self) -> i32 {
        match self {
            Self::Never => -1,
            Self::After(ns) => {
                let ms = ns.div_ceil(1_000_000);
                if ms > i32::MAX as u64 { i32::MAX } else { ms as i32 }
            }
        }
    }

    /// The deadline, when the wait begins at `now`; the clock is not read unless it is needed.
    #[inline]
    pub fn deadline(self, now: impl FnOnce() -> Time) -> Deadline {
        match self {
            Self::Never => Deadline::Never,
            Self::After(0) => Deadline::Now,
            Self::After(ns) => Deadline::At(now().after(ns)),
        }
    }
}

/// When a call gives up. It is computed once and survives restarts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deadline {
    /// At once: one scan, no waiter.
    Now,
    /// When the clock has reached this.
    At(Time),
    /// Not.
    Never,
}

/// `ppoll`'s argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Timespec {
    /// Whole seconds; negative ones are refused.
    pub seconds: i64,
    /// The rest: 0 to 999,999,999.
    pub nanoseconds: i64,
}

/// Negative seconds, or nanoseconds that are not below a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidTimespec(pub Timespec);

impl fmt::Display for InvalidTimespec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Timespec { seconds, nanoseconds } = self.0;
        write!(
            f,
            "timeout of {seconds} s and {nanoseconds} ns: seconds must not be negative, \
             nanoseconds must be 0 to 999999999; pass no timeout to wait for ever"
        )
    }
}

impl core::error::Error for InvalidTimespec {}

const NS_PER_S: u64 = 1_000_000_000;

impl Timespec {
    /// So many nanoseconds.
    pub const fn from_ns(ns: u64) -> Self {
        Self { seconds: (ns / NS_PER_S) as i64, nanoseconds: (ns % NS_PER_S) as i64 }
    }

    /// As a timeout; one longer than 584 years becomes 584 years.
    pub const fn timeout(self) -> Result<Timeout, InvalidTimespec> {
        if self.seconds < 0 || self.nanoseconds < 0 || self.nanoseconds >= NS_PER_S as i64 {
            return Err(InvalidTimespec(self));
        }
        let whole = (self.seconds as u64).saturating_mul(NS_PER_S);
        Ok(Timeout::After(whole.saturating_add(self.nanoseconds as u64)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: NonZeroU64 = NonZeroU64::new(1_000_000).unwrap();

    #[test]
    fn ticks_last_at_least_as_long_as_what_was_asked() {
        assert_eq!(ticks_up(0, MS), 0);
        assert_eq!(ticks_up(1, MS), 1);
        assert_eq!(ticks_up(1_000_000, MS), 1);
        assert_eq!(ticks_up(1_000_001, MS), 2);
        assert_eq!(ticks_up(u64::MAX, NonZeroU64::MIN), u64::MAX);
    }

    #[test]
    fn part_of_a_millisecond_becomes_a_whole_one() {
        assert_eq!(Timeout::After(0).as_millis_up(), 0);
        assert_eq!(Timeout::After(1).as_millis_up(), 1);
        assert_eq!(Timeout::After(1_000_000).as_millis_up(), 1);
        assert_eq!(Timeout::After(1_000_001).as_millis_up(), 2);
        assert_eq!(Timeout::After(u64::MAX).as_millis_up(), i32::MAX);
        assert_eq!(Timeout::Never.as_millis_up(), -1);
    }

    #[test]
    fn every_negative_number_of_milliseconds_is_for_ever() {
        for ms in [-1, -2, i32::MIN] {
            assert_eq!(Timeout::from_millis(ms), Timeout::Never);
        }
        assert_eq!(Timeout::from_millis(i32::MAX), Timeout::After(2_147_483_647_000_000));
    }

    #[test]
    fn a_timespec_is_refused_or_exact_or_saturates() {
        let of = |seconds, nanoseconds| Timespec { seconds, nanoseconds }.timeout();
        assert_eq!(of(0, 0), Ok(Timeout::After(0)));
        assert_eq!(of(2, 999_999_999), Ok(Timeout::After(2_999_999_999)));
        assert_eq!(of(i64::MAX, 999_999_999), Ok(Timeout::After(u64::MAX)));
        for (seconds, nanoseconds) in [(-1, 0), (0, -1), (0, 1_000_000_000), (i64::MIN, i64::MIN)] {
            assert_eq!(
                of(seconds, nanoseconds),
                Err(InvalidTimespec(Timespec { seconds, nanoseconds }))
            );
        }
    }

    #[test]
    fn a_deadline_past_the_end_of_time_is_the_end_of_time() {
        let deadline = Timeout::After(u64::MAX).deadline(|| Time(5));
        assert_eq!(deadline, Deadline::At(Time(u64::MAX)));
    }

    #[test]
    fn no_clock_is_read_for_a_zero_or_an_endless_timeout() {
        let clock = || -> Time { panic!("the clock was read") };
        assert_eq!(Timeout::After(0).deadline(clock), Deadline::Now);
        assert_eq!(Timeout::Never.deadline(clock), Deadline::Never);
    }
}
