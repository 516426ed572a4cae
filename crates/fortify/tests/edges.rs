//! The edges that the other tests do not reach: the two modes, what comes of the handlers, nothing
//! at all, everything there could be, and places that overlap. With the faults of Linux's LKDTM.

#![expect(unsafe_code, reason = "the functions under test are unsafe")]

use std::cell::RefCell;
use std::panic::{Location, catch_unwind};
use std::ptr;

use fortify::{
    Access, Dst, FieldSpan, Fixed, Function, Overflow, SizeOf, Src, dst_member, memcpy, memset,
    set_warning_handler, slice, src_member, try_memchr, try_memcmp, try_memcpy, try_memmove,
    try_memscan, try_memset, try_strcpy, try_strlen, try_strncpy, try_strnlen, try_strscpy,
};

thread_local! {
    static WARNED: RefCell<Vec<FieldSpan>> = const { RefCell::new(Vec::new()) };
}

/// What `call` warned of.
fn warnings<T>(call: impl FnOnce() -> T) -> (T, Vec<FieldSpan>) {
    set_warning_handler(|warning| WARNED.with_borrow_mut(|warned| warned.push(*warning)));
    WARNED.with_borrow_mut(Vec::clear);
    let value = call();
    (value, WARNED.take())
}

#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
struct Target {
    a: [u8; 10],
    b: [u8; 10],
}

const ZERO: Target = Target { a: [0; 10], b: [0; 10] };

fn write(function: Function, bytes: usize, size: usize) -> Overflow {
    Overflow { function, access: Access::Write, bytes, size }
}

#[test]
fn a_write_that_spans_a_member_is_warned_of_and_done() {
    let (mut target, src) = (ZERO, [7u8; 20]);
    let at = &raw mut target;
    // SAFETY: `at` points to a whole target, which nobody else uses.
    let member = unsafe { dst_member!(at, Target, a) };
    for n in [0, 9, 10] {
        // SAFETY: within the target, the source is another.
        let (done, warned) = warnings(|| unsafe { try_memcpy(member, Src::from(&src), n) });
        assert_eq!((done, warned), (Ok(()), vec![]));
    }
    // SAFETY: as before.
    let (done, warned) = warnings(|| unsafe { try_memcpy(member, Src::from(&src), 15) });
    let span = |function, bytes| FieldSpan { function, bytes, field: 10 };
    assert_eq!((done, warned), (Ok(()), vec![span(Function::Memcpy, 15)]));
    // SAFETY: `at` is still the only way to it.
    assert_eq!(unsafe { (*at).b }, *b"\x07\x07\x07\x07\x07\0\0\0\0\0");

    // The whole object still bounds it, without a warning; the source too.
    // SAFETY: as before.
    let (done, warned) = warnings(|| unsafe { try_memcpy(member, Src::from(&src), 21) });
    assert_eq!((done, warned), (Err(write(Function::Memcpy, 21, 20)), vec![]));
    let short = Src::from(&src[..12]);
    // SAFETY: as before.
    let (done, warned) = warnings(|| unsafe { try_memcpy(member, short, 15) });
    let read = Overflow { access: Access::Read, ..write(Function::Memcpy, 15, 12) };
    assert_eq!((done, warned), (Err(read), vec![]));

    // The same of the forms that stop, and of the other two functions.
    // SAFETY: as before; the move is within the target.
    let ((), warned) = warnings(|| unsafe {
        memset(member, 1, 11);
        fortify::memmove(member, member.to_src().object().advance(1), 12);
        memcpy(member, Src::from(&src), Fixed::<20>);
    });
    let functions = [(Function::Memset, 11), (Function::Memmove, 12), (Function::Memcpy, 20)];
    assert_eq!(warned, functions.map(|(function, bytes)| span(function, bytes)));
    assert_eq!(target, Target { a: [7; 10], b: [7; 10] });
}

#[test]
fn a_warning_reads_like_a_report() {
    let warning = FieldSpan { function: Function::Memcpy, bytes: 8, field: 4 };
    let text = "memcpy: detected field-spanning write: 8 bytes into a field of 4";
    assert_eq!(warning.to_string(), text);
}

#[test]
fn the_modes_turn_into_each_other() {
    let mut target = ZERO;
    let at = &raw mut target;
    // SAFETY: `at` points to a whole target, which nobody else uses.
    unsafe {
        let member = dst_member!(at, Target, a);
        assert_eq!((member.whole(), member.field(), member.bound()), (20, 10, 10));
        let strict = try_memset(member.strict(), 1, 11);
        assert_eq!(strict, Err(write(Function::Memset, 11, 10)));
        let (done, warned) = warnings(|| try_memset(member.object(), 1, 11));
        assert_eq!((done, warned), (Ok(()), vec![]));
        // A string may not leave the member, unless the object is meant.
        let text = Src::from(b"over ten bytes\0");
        assert_eq!(try_strcpy(member, text), Err(write(Function::Strcpy, 15, 10)));
        assert_eq!(try_strcpy(member.object(), text), Ok(14));
        let second = src_member!(at, Target, b);
        assert_eq!((second.whole(), second.field()), (10, 10));
        let rest = Dst::of(at).member(10, 10);
        assert_eq!(
            (rest.whole(), rest.field(), rest.as_ptr()),
            (10, 10, second.as_ptr().cast_mut())
        );
        let past = Dst::of(at).member(30, 4);
        assert_eq!(try_memset(past, 1, 0), Ok(()));
        assert_eq!(try_memset(past, 1, 1), Err(write(Function::Memset, 1, 0)));
        // What is not known stays so.
        assert_eq!(Dst::unknown(at).advance(8).whole(), usize::MAX);
    }
}

#[test]
fn lkdtm_fortify_str_object() {
    #[repr(C)]
    struct Object {
        a: [u8; 10],
        foo: i32,
    }
    let mut targets = [const { Object { a: [0; 10], foo: 0 } }; 3];
    let [first, second, _] = &mut targets;
    // SAFETY: both are whole objects, which are two.
    unsafe {
        let (dst, src) = (dst_member!(first, Object, a), src_member!(second, Object, a));
        assert_eq!(
            try_strncpy(dst.object(), src.object(), 20),
            Err(write(Function::Strncpy, 20, 16))
        );
    }
    assert_eq!((first.a, first.foo, second.foo), ([0; 10], 0, 0));
}

#[test]
fn lkdtm_fortify_str_member() {
    let mut target = ZERO;
    let src = b"over ten bytes\0".to_vec();
    // SAFETY: a whole target, and a source that is another.
    let copied = unsafe {
        try_strncpy(dst_member!(&raw mut target, Target, a), Src::from(&*src), src.len())
    };
    assert_eq!((copied, target), (Err(write(Function::Strncpy, 15, 10)), ZERO));
}

#[test]
fn lkdtm_fortify_mem_object() {
    let (mut target, before) = (ZERO, [3i32; 10]);
    // SAFETY: a whole target, and a source that is another.
    let copied = unsafe { try_memcpy(Dst::of(&raw mut target), Src::of(&raw const before), 21) };
    assert_eq!((copied, target), (Err(write(Function::Memcpy, 21, 20)), ZERO));
}

#[test]
fn lkdtm_fortify_mem_member() {
    let mut target = ZERO;
    let src = b"over ten bytes\0".to_vec();
    // SAFETY: a whole target, and a source that is another.
    let copied = unsafe {
        let member = dst_member!(&raw mut target, Target, a).strict();
        try_memcpy(member, Src::from(&*src), src.len())
    };
    assert_eq!((copied, target), (Err(write(Function::Memcpy, 15, 10)), ZERO));
}

#[test]
fn lkdtm_fortify_strscpy() {
    let mut dst = [0xEE; 5];
    let mut src = *b"foobar\0";
    assert_eq!(slice::try_strscpy(&mut dst, &src, 0), Ok(None));
    assert_eq!(dst, [0xEE; 5]);
    assert_eq!(slice::try_strscpy(&mut dst, &src, 5), Ok(None));
    assert_eq!(&dst, b"foob\0");
    src[3] = 0;
    assert_eq!(slice::try_strscpy(&mut dst, &src, 5), Ok(Some(3)));
    assert_eq!(&dst[..4], b"foo\0");
    // A member of a union that the string is longer than: bounded by the union, it is a string.
    let weird = *b"hello!\0\0\0\0";
    let src_member = Src::from(&weird).member(0, 5);
    let mut to = [0u8; 6];
    // SAFETY: two buffers, of their sizes.
    let (strict, object) = unsafe {
        (
            try_strscpy(Dst::from(&mut to), src_member, 6),
            try_strscpy(Dst::from(&mut to), src_member.object(), 6),
        )
    };
    assert_eq!(strict, Err(Overflow { access: Access::Read, ..write(Function::Strscpy, 6, 5) }));
    assert_eq!((object, &to), (Ok(None), b"hello\0"));
    src[3] = b'b';
    assert_eq!(slice::try_strscpy(&mut dst, &src, 6), Err(write(Function::Strscpy, 6, 5)));
}

#[test]
fn nothing_is_copied_between_null_pointers() {
    let (to, from) = (Dst::known(ptr::null_mut::<u8>(), 0), Src::known(ptr::null::<u8>(), 0));
    // SAFETY: no byte is touched.
    unsafe {
        assert_eq!(try_memcpy(to, from, 0), Ok(()));
        assert_eq!(try_memmove(to, from, 0), Ok(()));
        assert_eq!(try_memset(to, 1, 0), Ok(()));
        assert_eq!(try_memcmp(from, from, 0), Ok(std::cmp::Ordering::Equal));
        assert_eq!(try_memchr(from, 1, 0), Ok(None));
        assert_eq!(try_memscan(from, 1, 0), Ok(0));
        assert_eq!(try_strnlen(from, 0), Ok(0));
        assert_eq!(try_strncpy(to, from, 0), Ok(0));
        let none = Overflow { access: Access::Read, ..write(Function::Strlen, 1, 0) };
        assert_eq!(try_strlen(from), Err(none));
        assert_eq!(try_memcpy(to, from, 1), Err(write(Function::Memcpy, 1, 0)));
    }
}

#[test]
fn no_length_is_too_large_to_be_refused() {
    let mut to = [0u8; 8];
    for n in [usize::MAX, usize::MAX - 1, isize::MAX as usize + 1, isize::MAX as usize, 9] {
        assert_eq!(slice::try_memset(&mut to, 1, n), Err(write(Function::Memset, n, 8)));
        assert_eq!(slice::try_strncpy(&mut to, b"a\0", n), Err(write(Function::Strncpy, n, 8)));
        // Where the string ends it does not matter how far it might have gone.
        assert_eq!(slice::try_strnlen(b"a\0", n), Ok(1));
        assert_eq!(slice::try_strscpy(&mut to, b"a\0", n), Ok(Some(1)));
    }
    // A size of usize::MAX is one that nobody knows, at run time as in C.
    let (dst, src) =
        (Dst::known(&raw mut to, usize::MAX), Src::known(&raw const *b"b\0", usize::MAX));
    // SAFETY: both have two bytes, and there are two of them.
    unsafe {
        assert_eq!(try_memcpy(dst, src, 2), Ok(()));
        assert_eq!(try_strlen(src), Ok(1));
        assert_eq!(try_strnlen(src, 100), Ok(1));
        assert_eq!(try_strcpy(dst, src), Ok(1));
    }
    assert_eq!(&to[..2], b"b\0");
}

#[test]
fn overlapping_places_are_moved_as_if_through_a_third() {
    let text: [u8; 40] = std::array::from_fn(|i| i as u8);
    for (to, from, n) in (0..10).flat_map(|to| (0..10).map(move |from| (to, from, 30))) {
        let mut expected = text.to_vec();
        expected.splice(to..to + n, text[from..from + n].iter().copied());
        let mut moved = text;
        assert_eq!(slice::try_memmove(&mut moved, to, from, n), Ok(()));
        assert_eq!(moved[..], expected, "from {from} to {to}");
        let mut moved = text;
        slice::memmove(&mut moved, to, from, n);
        assert_eq!(moved[..], expected, "from {from} to {to}");
    }
    let mut moved = text;
    let place = slice::try_memmove(&mut moved, 11, 0, 30);
    assert_eq!(place, Err(write(Function::Memmove, 30, 29)));
    let place = slice::try_memmove(&mut moved, 0, 50, 1);
    assert_eq!(place, Err(Overflow { access: Access::Read, ..write(Function::Memmove, 1, 0) }));
    assert_eq!(moved, text);
}

#[test]
fn the_size_of_a_type_is_a_length_too() {
    let (mut to, from) = (std::mem::MaybeUninit::<u64>::uninit(), 7u64);
    // SAFETY: both are of the type, and there are two of them; then `to` is initialised.
    let value = unsafe {
        memcpy(Dst::from(&mut to), Src::of(&raw const from), SizeOf::<u64>::new());
        to.assume_init()
    };
    assert_eq!(value, 7);
}

#[test]
fn without_a_handler_the_panic_names_the_report_and_the_line() {
    // No test in this file sets a handler.
    thread_local! { static AT: RefCell<Option<(String, u32)>> = const { RefCell::new(None) }; }
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        let place = info.location().map(|at| (at.file().to_owned(), at.line()));
        if !info.payload_as_str().is_some_and(|text| text.starts_with("memcpy: detected")) {
            return hook(info);
        }
        AT.set(place);
    }));
    let line = Location::caller().line() + 2;
    let copy = || {
        slice::memcpy(&mut [0u8; 4], &[1u8; 8], std::hint::black_box(8));
    };
    let payload = catch_unwind(copy).expect_err("it is stopped");
    let text = payload.downcast_ref::<String>().map(String::as_str);
    assert_eq!(text, Some("memcpy: detected buffer overflow: 8 byte write of buffer size 4"));
    assert_eq!(AT.take(), Some((file!().to_owned(), line)));
}
