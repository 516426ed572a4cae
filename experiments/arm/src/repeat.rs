//! Loops that every arm has alike.
//!
//! Left to itself the compiler unrolls the loop of one arm, whose body is one instruction, and not that
//! of another, whose body has a branch; the two then differ by more than what is compared. Here the
//! count goes through a statement that the compiler cannot look into, once a turn: every loop is its
//! body, a decrement, and a branch back.

/// Calls `each` `count` times.
#[inline(always)]
pub fn times(count: u64, mut each: impl FnMut()) {
    let mut left = opaque(count);
    while left != 0 {
        each();
        left = opaque(left - 1);
    }
}

/// Calls `each` until it is `true`, at most `count` times: how many calls were left then, or `None`
/// if none was.
#[inline(always)]
pub fn until(count: u64, mut each: impl FnMut() -> bool) -> Option<u64> {
    let mut left = opaque(count);
    while left != 0 {
        left = opaque(left - 1);
        if each() {
            return Some(left);
        }
    }
    None
}

/// Its argument, of which the compiler knows nothing. It stays in a register.
#[inline(always)]
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
fn opaque(mut value: u64) -> u64 {
    // SAFETY: the statement is empty: it leaves the value in its register and touches nothing else.
    unsafe {
        core::arch::asm!(
            "/* {0} */",
            inlateout(reg) value,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    value
}

#[inline(always)]
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn opaque(value: u64) -> u64 {
    core::hint::black_box(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_turn_is_taken() {
        for count in [0, 1, 2, 9] {
            let mut turns = 0;
            times(count, || turns += 1);
            assert_eq!(turns, count);
            let mut turns = 0;
            let never = until(count, || {
                turns += 1;
                false
            });
            assert_eq!((turns, never), (count, None));
        }
    }

    #[test]
    fn what_is_left_after_the_first_true_is_told() {
        let mut turns = 0;
        let mut third = || {
            turns += 1;
            turns == 3
        };
        assert_eq!(until(10, &mut third), Some(7));
        assert_eq!((turns, until(1, || true)), (3, Some(0)));
    }
}
