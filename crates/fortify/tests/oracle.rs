//! Every function against plain loops that look at one byte after the other.
//!
//! The oracle knows nothing of words, scans or merged conditions: it walks over the bytes and stops
//! at the first one that is out of bounds. The buffers are allocations of exactly their size, so that
//! an address sanitizer sees each byte too far.

#![expect(unsafe_code, reason = "the functions under test are unsafe")]

use std::cmp::Ordering;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::NonNull;

use fortify::{
    Access, Dst, Extent, Fixed, Function, Length, Overflow, Src, kmemdup, memchr, memchr_inv,
    memcmp, memcpy, memmove, memscan, memset, set_handler, strcat, strcpy, strlcat, strlen,
    strncat, strncpy, strnlen, strscpy, try_kmemdup, try_memchr, try_memchr_inv, try_memcmp,
    try_memcpy, try_memmove, try_memscan, try_memset, try_strcat, try_strcpy, try_strlcat,
    try_strlen, try_strncat, try_strncpy, try_strnlen, try_strscpy,
};
use proptest::prelude::*;

/// What a function answered.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Answer {
    Done,
    Length(usize),
    Place(Option<usize>),
    Order(Ordering),
    Bytes(Vec<u8>),
}

/// One call: the bytes of both objects, the members at their beginnings, the rest of the arguments.
#[derive(Clone, Debug)]
struct Case {
    function: Function,
    dst: Vec<u8>,
    dst_field: Option<usize>,
    src: Vec<u8>,
    src_field: Option<usize>,
    byte: u8,
    n: usize,
}

impl Case {
    fn dst_bound(&self) -> usize {
        self.dst_field.unwrap_or(usize::MAX).min(self.dst.len())
    }

    fn src_bound(&self) -> usize {
        self.src_field.unwrap_or(usize::MAX).min(self.src.len())
    }

    fn fault(&self, access: Access, bytes: usize, size: usize) -> Overflow {
        Overflow { function: self.function, access, bytes, size }
    }
}

/// The length of the string at the beginning of `text[..bound]`, looking at no more than `most`
/// bytes; `None` if it would have to look past `bound`.
fn end(text: &[u8], bound: usize, most: usize) -> Option<usize> {
    let mut i = 0;
    while i < most {
        if i == bound {
            return None;
        }
        if text[i] == 0 {
            return Some(i);
        }
        i += 1;
    }
    Some(most)
}

/// The answer, and the destination after it.
type Expected = Result<(Answer, Vec<u8>), Overflow>;

fn oracle(case: &Case) -> Expected {
    use Function as F;
    match case.function {
        F::Memcpy | F::Memmove | F::Memset => oracle_write(case),
        F::Memcmp | F::Memchr | F::MemchrInv | F::Memscan | F::Kmemdup => oracle_read(case),
        F::Strlen | F::Strnlen => {
            let most = if case.function == F::Strlen { usize::MAX } else { case.n };
            let size = case.src_bound();
            let length =
                end(&case.src, size, most).ok_or(case.fault(Access::Read, size + 1, size))?;
            Ok((Answer::Length(length), case.dst.clone()))
        }
        F::Strcpy | F::Strncpy | F::Strscpy => oracle_copy(case),
        _ => oracle_append(case),
    }
}

fn oracle_write(case: &Case) -> Expected {
    let mut dst = case.dst.clone();
    let mut room = dst.iter_mut();
    for _ in 0..case.n {
        match room.next() {
            Some(to) => *to = case.byte,
            None => return Err(case.fault(Access::Write, case.n, case.dst.len())),
        }
    }
    if case.function != Function::Memset {
        let mut from = case.src.iter();
        for to in &mut dst[..case.n] {
            match from.next() {
                Some(byte) => *to = *byte,
                None => return Err(case.fault(Access::Read, case.n, case.src.len())),
            }
        }
    }
    Ok((Answer::Done, dst))
}

fn oracle_read(case: &Case) -> Expected {
    if case.function == Function::Memcmp && case.n > case.dst.len() {
        return Err(case.fault(Access::Read, case.n, case.dst.len()));
    }
    if case.n > case.src.len() {
        return Err(case.fault(Access::Read, case.n, case.src.len()));
    }
    let mut place = None;
    let mut order = Ordering::Equal;
    for i in (0..case.n).rev() {
        let wanted = (case.src[i] == case.byte) != (case.function == Function::MemchrInv);
        if wanted {
            place = Some(i);
        }
        if case.function == Function::Memcmp && case.dst[i] != case.src[i] {
            order = case.dst[i].cmp(&case.src[i]);
        }
    }
    let answer = match case.function {
        Function::Memcmp => Answer::Order(order),
        Function::Memscan => Answer::Length(place.unwrap_or(case.n)),
        Function::Kmemdup => Answer::Bytes(case.src[..case.n].to_vec()),
        _ => Answer::Place(place),
    };
    Ok((answer, case.dst.clone()))
}

fn oracle_copy(case: &Case) -> Expected {
    let (size, room) = (case.src_bound(), case.dst_bound());
    let mut dst = case.dst.clone();
    let most = if case.function == Function::Strcpy { usize::MAX } else { case.n };
    if case.function == Function::Strscpy && case.n == 0 {
        return Ok((Answer::Place(None), dst));
    }
    if case.function == Function::Strncpy && case.n > room {
        return Err(case.fault(Access::Write, case.n, room));
    }
    let length = end(&case.src, size, most).ok_or(case.fault(Access::Read, size + 1, size))?;
    let (kept, written) = match case.function {
        Function::Strcpy => (length, length + 1),
        Function::Strncpy => (length, case.n),
        _ => (length.min(case.n - 1), length.min(case.n - 1) + 1),
    };
    if written > room {
        return Err(case.fault(Access::Write, written, room));
    }
    for (i, to) in dst.iter_mut().enumerate().take(written) {
        *to = if i < kept { case.src[i] } else { 0 };
    }
    let answer = match case.function {
        Function::Strscpy => Answer::Place((kept == length).then_some(length)),
        _ => Answer::Length(length),
    };
    Ok((answer, dst))
}

fn oracle_append(case: &Case) -> Expected {
    let (size, room) = (case.src_bound(), case.dst_bound());
    let mut dst = case.dst.clone();
    let limited = case.function == Function::Strlcat;
    let head = end(&dst, room, if limited { case.n } else { usize::MAX }).ok_or(case.fault(
        Access::Read,
        room + 1,
        room,
    ))?;
    let most = if case.function == Function::Strncat { case.n } else { usize::MAX };
    let tail = end(&case.src, size, most).ok_or(case.fault(Access::Read, size + 1, size))?;
    let wanted = head + tail;
    if limited && head == case.n {
        return Ok((Answer::Length(wanted), dst));
    }
    let last = if limited { wanted.min(case.n - 1) } else { wanted };
    if last + 1 > room {
        return Err(case.fault(Access::Write, last + 1, room));
    }
    for (to, from) in dst[head..last].iter_mut().zip(&case.src) {
        *to = *from;
    }
    dst[last] = 0;
    Ok((Answer::Length(wanted), dst))
}

/// Calls the form that returns, on the pointers given.
///
/// # Safety
/// As the function that the case names.
unsafe fn returns<W: Extent, F: Extent, R: Extent, G: Extent, L: Length>(
    case: &Case,
    dst: Dst<W, F>,
    src: Src<R, G>,
    n: L,
) -> Result<Answer, Overflow> {
    use Function as F;
    // SAFETY: the caller's.
    unsafe {
        match case.function {
            F::Memcpy => try_memcpy(dst, src, n).map(|()| Answer::Done),
            F::Memmove => try_memmove(dst, src, n).map(|()| Answer::Done),
            F::Memset => try_memset(dst, case.byte, n).map(|()| Answer::Done),
            F::Memcmp => try_memcmp(dst.to_src(), src, n).map(Answer::Order),
            F::Memchr => try_memchr(src, case.byte, n).map(Answer::Place),
            F::MemchrInv => try_memchr_inv(src, case.byte, n).map(Answer::Place),
            F::Memscan => try_memscan(src, case.byte, n).map(Answer::Length),
            F::Kmemdup => try_kmemdup(src, n, leak).map(taken),
            F::Strlen => try_strlen(src).map(Answer::Length),
            F::Strnlen => try_strnlen(src, n).map(Answer::Length),
            F::Strcpy => try_strcpy(dst, src).map(Answer::Length),
            F::Strncpy => try_strncpy(dst, src, n).map(Answer::Length),
            F::Strscpy => try_strscpy(dst, src, n).map(Answer::Place),
            F::Strcat => try_strcat(dst, src).map(Answer::Length),
            F::Strncat => try_strncat(dst, src, n).map(Answer::Length),
            F::Strlcat => try_strlcat(dst, src, n).map(Answer::Length),
            other => panic!("{other:?} is not under test"),
        }
    }
}

/// Calls the form that goes to the handler, which here unwinds with the report.
///
/// # Safety
/// As the function that the case names.
unsafe fn stops<W: Extent, F: Extent, R: Extent, G: Extent, L: Length>(
    case: &Case,
    dst: Dst<W, F>,
    src: Src<R, G>,
    n: L,
) -> Result<Answer, Overflow> {
    use Function as F;
    set_handler(|report| resume_unwind(Box::new(*report)));
    // SAFETY: the caller's.
    let call = || unsafe {
        match case.function {
            F::Memcpy => {
                memcpy(dst, src, n);
                Answer::Done
            }
            F::Memmove => {
                memmove(dst, src, n);
                Answer::Done
            }
            F::Memset => {
                memset(dst, case.byte, n);
                Answer::Done
            }
            F::Memcmp => Answer::Order(memcmp(dst.to_src(), src, n)),
            F::Memchr => Answer::Place(memchr(src, case.byte, n)),
            F::MemchrInv => Answer::Place(memchr_inv(src, case.byte, n)),
            F::Memscan => Answer::Length(memscan(src, case.byte, n)),
            F::Kmemdup => taken(kmemdup(src, n, leak)),
            F::Strlen => Answer::Length(strlen(src)),
            F::Strnlen => Answer::Length(strnlen(src, n)),
            F::Strcpy => Answer::Length(strcpy(dst, src)),
            F::Strncpy => Answer::Length(strncpy(dst, src, n)),
            F::Strscpy => Answer::Place(strscpy(dst, src, n)),
            F::Strcat => Answer::Length(strcat(dst, src)),
            F::Strncat => Answer::Length(strncat(dst, src, n)),
            F::Strlcat => Answer::Length(strlcat(dst, src, n)),
            other => panic!("{other:?} is not under test"),
        }
    };
    catch_unwind(AssertUnwindSafe(call)).map_err(|payload| match payload.downcast::<Overflow>() {
        Ok(report) => *report,
        Err(other) => resume_unwind(other),
    })
}

fn leak(n: usize) -> Option<NonNull<[u8]>> {
    Some(NonNull::from(Box::leak(vec![0xEE; n].into_boxed_slice())))
}

fn taken(block: Option<NonNull<[u8]>>) -> Answer {
    let block = block.expect("the allocator never runs out");
    // SAFETY: `leak` made it from a box of this size.
    let block = unsafe { Box::from_raw(block.as_ptr()) };
    Answer::Bytes(block.into_vec())
}

/// Runs both forms on fresh buffers, and holds answer, destination and source against `expected`.
fn check<L: Length>(case: &Case, n: L, expected: &Expected) -> Result<(), TestCaseError> {
    for stopping in [false, true] {
        for known in [true, false] {
            if !known && expected.is_err() {
                // Nothing would stop it.
                continue;
            }
            let mut to = case.dst.clone().into_boxed_slice();
            let from = case.src.clone().into_boxed_slice();
            let (dst, src) = (Dst::from(&mut *to), Src::from(&*from));
            let member = |size: Option<usize>| size.unwrap_or(usize::MAX);
            // SAFETY: the sizes are the buffers', which are two; where nothing is known the oracle
            // says that the call stays inside.
            let answer = unsafe {
                let (at, end) = (dst.as_ptr(), src.as_ptr());
                match (known, stopping) {
                    (false, false) => returns(case, Dst::unknown(at), Src::unknown(end), n),
                    (false, true) => stops(case, Dst::unknown(at), Src::unknown(end), n),
                    (true, stopping) => {
                        let dst = dst.member(0, member(case.dst_field));
                        let src = src.member(0, member(case.src_field));
                        match (case.dst_field, case.src_field, stopping) {
                            (None, None, false) => returns(case, dst.object(), src.object(), n),
                            (None, None, true) => stops(case, dst.object(), src.object(), n),
                            (_, _, false) => returns(case, dst, src, n),
                            (_, _, true) => stops(case, dst, src, n),
                        }
                    }
                }
            };
            let (answered, after) = match expected {
                Ok((answer, after)) => (Ok(answer.clone()), after),
                Err(overflow) => (Err(*overflow), &case.dst),
            };
            prop_assert_eq!(&answer, &answered, "known {}, stopping {}", known, stopping);
            prop_assert_eq!(&*to, &after[..], "the destination; {:?}", answer);
            prop_assert_eq!(&*from, &case.src[..], "the source");
        }
    }
    Ok(())
}

fn functions() -> impl Strategy<Value = Function> {
    use Function as F;
    prop::sample::select(vec![
        F::Memcpy,
        F::Memmove,
        F::Memset,
        F::Memcmp,
        F::Memchr,
        F::MemchrInv,
        F::Memscan,
        F::Kmemdup,
        F::Strlen,
        F::Strnlen,
        F::Strcpy,
        F::Strncpy,
        F::Strscpy,
        F::Strcat,
        F::Strncat,
        F::Strlcat,
    ])
}

/// Text with few different bytes, so that what is looked for is found, and zeros are rare or many.
fn text() -> impl Strategy<Value = Vec<u8>> {
    const BYTES: [u8; 13] = [0, 1, 1, b'a', b'a', 0x7F, 0x7F, 0x80, 0x80, 0x81, 0x81, 0xFF, 0xFF];
    let byte = (0..BYTES.len()).prop_map(|i| BYTES[i]);
    let tail = prop_oneof![2 => Just(true), 1 => Just(false)];
    (prop::collection::vec(byte, 0..40), tail).prop_map(|(mut text, ends)| {
        if let (Some(last), true) = (text.last_mut(), ends) {
            *last = 0;
        }
        text
    })
}

fn cases() -> impl Strategy<Value = Case> {
    let n = prop_oneof![
        6 => 0..45usize,
        1 => prop::sample::select(vec![usize::MAX, usize::MAX - 1, isize::MAX as usize, isize::MAX as usize + 1])
    ];
    let edge = prop::option::of(-1..2isize);
    let field = || prop::option::weighted(0.4, 0..40usize);
    (functions(), text(), field(), text(), field(), any::<prop::sample::Index>(), n, edge).prop_map(
        |(function, dst, dst_field, src, src_field, byte, n, edge)| {
            // Half of the lengths lie on an edge of one of the buffers.
            let n = match edge {
                Some(by) if n % 2 == 0 => dst.len().saturating_add_signed(by),
                Some(by) => src.len().saturating_add_signed(by),
                None => n,
            };
            let byte = *byte.get(&[0, 1, b'a', 0x7F, 0x80, 0x81, 0xFF, b'z']);
            Case { function, dst, dst_field, src, src_field, byte, n }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn run_time_lengths_answer_as_plain_loops_do(case in cases()) {
        check(&case, case.n, &oracle(&case))?;
    }

    #[test]
    fn constant_lengths_answer_as_plain_loops_do(case in cases(), n in 0..6usize) {
        let lengths = [0, 1, 8, 9, 16, 33];
        let case = Case { n: lengths[n], ..case };
        let expected = oracle(&case);
        match lengths[n] {
            0 => check(&case, Fixed::<0>, &expected)?,
            1 => check(&case, Fixed::<1>, &expected)?,
            8 => check(&case, Fixed::<8>, &expected)?,
            9 => check(&case, Fixed::<9>, &expected)?,
            16 => check(&case, Fixed::<16>, &expected)?,
            _ => check(&case, Fixed::<33>, &expected)?,
        }
    }
}
