//! The cases of Linux's `fortify_kunit`, and the ones it leaves out (`memset`), in this API's terms.
//!
//! Each test bears the name of the kernel's. Where the kernel's test goes on after a fault and looks
//! at what was written, here nothing is written: the destination must be as it was.

#![expect(unsafe_code, reason = "the functions under test are unsafe")]

use core::cmp::Ordering;
use core::mem::MaybeUninit;
use core::ptr::NonNull;

use fortify::slice::{
    try_memchr, try_memchr_inv, try_memcmp, try_memcpy, try_memscan, try_memset, try_strcat,
    try_strcpy, try_strlcat, try_strlen, try_strncat, try_strncpy, try_strnlen, try_strscpy,
};
use fortify::{
    Access, Dst, Extent, Fixed, Function, Known, Overflow, SizeOf, Src, Unknown, const_strlen,
    dst_member, try_kmemdup,
};

/// A member with something on each side that must not change.
#[repr(C)]
#[derive(Clone, Copy)]
struct Padded {
    before: usize,
    buffer: [u8; 32],
    after: usize,
}

const CLEAN: Padded = Padded { before: 0, buffer: [0; 32], after: 0 };

fn write(function: Function, bytes: usize, size: usize) -> Overflow {
    Overflow { function, access: Access::Write, bytes, size }
}

fn read(function: Function, bytes: usize, size: usize) -> Overflow {
    Overflow { function, access: Access::Read, bytes, size }
}

fn constant<W: Extent>(_: W) -> Option<usize> {
    W::CONSTANT
}

#[test]
fn known_sizes() {
    // The kernel asks what the compiler knows of a string; here types say it.
    const LITERAL: Option<usize> = const_strlen(b"88888888\0");
    assert_eq!(LITERAL, Some(8));
    assert_eq!(const_strlen(b"this is 10"), None);
    assert_eq!(constant(Fixed::<80>), Some(80));
    assert_eq!(constant(SizeOf::<Padded>::new()), Some(size_of::<Padded>()));
    let mut array = [0u8; 11];
    assert_eq!(Dst::from(&mut array).whole(), 11);
    assert_eq!(constant(Known(11)), None);
    assert_eq!((constant(Unknown), Unknown.bytes()), (None, usize::MAX));
}

#[test]
fn control_flow_split() {
    // Which of two buffers it is turns out at run time, so only a run-time size holds both.
    let (four, three) = (*b"4444\0", *b"333\0");
    for (pick, size) in [(true, 5), (false, 4)] {
        let picked: &[u8] = if pick { &four } else { &three };
        let src = Src::from(picked);
        assert_eq!(src.whole(), size);
        assert_eq!(try_strlen(picked), Ok(size - 1));
    }
}

/// What the kernel's `alloc_size` tests ask of each allocator: the pointer that comes of it knows
/// its size, whether that was a constant or not.
fn knows_its_size(block: &mut [MaybeUninit<u8>], size: usize) {
    assert_eq!(Dst::from(&mut *block).whole(), size);
    assert_eq!(try_memset(block, 1, size), Ok(()));
    assert_eq!(try_memset(block, 2, size + 1), Err(write(Function::Memset, size + 1, size)));
}

#[test]
fn alloc_size_kmalloc_const() {
    fn block<const N: usize>() {
        let mut block = [const { MaybeUninit::<u8>::uninit() }; N];
        assert_eq!(Dst::from(&mut block).whole(), N);
        assert_eq!(try_memset(&mut block, 0, Fixed::<N>), Ok(()));
        assert_eq!(try_memset(&mut block, 0, N + 1), Err(write(Function::Memset, N + 1, N)));
    }
    block::<0>();
    block::<1>();
    block::<128>();
    block::<1023>();
    block::<1025>();
    block::<4096>();
    block::<4097>();
}

#[test]
fn alloc_size_kmalloc_dynamic() {
    for size in [0, 1, 50, 128, 1023, 1025, 4096, 4097] {
        knows_its_size(&mut Box::new_uninit_slice(size), size);
    }
}

/// Pages, as `vmalloc` gives them: by a layout with their alignment.
fn pages(count: usize) {
    let layout = std::alloc::Layout::from_size_align(count * 4096, 4096).expect("small");
    // SAFETY: the layout is not empty, and the block is given back with the same one.
    unsafe {
        let at = NonNull::new(std::alloc::alloc(layout)).expect("memory");
        let mut block = NonNull::slice_from_raw_parts(at, layout.size());
        assert_eq!(Dst::from(block).whole(), layout.size());
        at.write_bytes(0, layout.size());
        let bytes: *mut [u8] = block.as_mut();
        knows_its_size(&mut *(bytes as *mut [MaybeUninit<u8>]), layout.size());
        std::alloc::dealloc(at.as_ptr(), layout);
    }
}

#[test]
fn alloc_size_vmalloc_const() {
    pages(1);
    pages(128);
}

#[test]
fn alloc_size_vmalloc_dynamic() {
    for count in 1..4 {
        pages(count);
    }
}

#[test]
fn alloc_size_kvmalloc_const() {
    // Room that is reserved and not filled.
    let mut vector: Vec<u8> = Vec::with_capacity(4096);
    let size = vector.capacity();
    knows_its_size(vector.spare_capacity_mut(), size);
}

#[test]
fn alloc_size_kvmalloc_dynamic() {
    for wanted in 1..40 {
        let mut vector = vec![7u8; wanted];
        vector.reserve(wanted);
        let spare = vector.capacity() - wanted;
        knows_its_size(vector.spare_capacity_mut(), spare);
        assert_eq!(vector[wanted - 1], 7);
    }
}

fn boxed(n: usize) -> Option<NonNull<[u8]>> {
    Some(NonNull::from(Box::leak(vec![0xEE; n].into_boxed_slice())))
}

fn dup(src: Src, n: usize) -> Result<Vec<u8>, Overflow> {
    // SAFETY: the sources are slices; `boxed` gives fresh memory.
    let block = unsafe { try_kmemdup(src, n, boxed)? }.expect("memory");
    // SAFETY: it is a box that nobody else holds.
    Ok(unsafe { Box::from_raw(block.as_ptr()) }.into_vec())
}

#[test]
fn alloc_size_devm_kmalloc_const() {
    assert_eq!(dup(Src::from(&b"Ohai"[..]), 4).map(|copy| copy.len()), Ok(4));
}

#[test]
fn alloc_size_devm_kmalloc_dynamic() {
    let text = b"hello there";
    for n in 0..=text.len() {
        assert_eq!(dup(Src::from(&text[..]), n).as_deref(), Ok(&text[..n]));
    }
}

#[test]
fn realloc_size() {
    for text in ["", "Hello there", "A longer string, just for variety"] {
        let mut copy = dup(Src::from(text.as_bytes()), text.len()).expect("it fits");
        assert_eq!(Dst::from(&mut *copy).whole(), text.len());
        copy.resize(text.len() * 2, 0);
        assert_eq!(Dst::from(&mut *copy).whole(), text.len() * 2);
    }
}

#[test]
fn strlen() {
    let mut pad = CLEAN;
    pad.buffer[..31].fill(b'0');
    assert_eq!(try_strlen(&pad.buffer), Ok(31));
    pad.buffer[31] = b'A';
    assert_eq!(try_strlen(&pad.buffer), Err(read(Function::Strlen, 33, 32)));
}

#[test]
fn strnlen() {
    let mut pad = CLEAN;
    pad.buffer[..31].fill(b'0');
    assert_eq!(try_strnlen(&pad.buffer, 32), Ok(31));
    assert_eq!(try_strnlen(&pad.buffer, 16), Ok(16));
    // A bound past the end is no fault as long as the string ends before.
    assert_eq!(try_strnlen(&pad.buffer, usize::MAX), Ok(31));
    pad.buffer[31] = b'A';
    assert_eq!(try_strnlen(&pad.buffer, 33), Err(read(Function::Strnlen, 33, 32)));
    assert_eq!(try_strnlen(&pad.buffer, 34), Err(read(Function::Strnlen, 33, 32)));
    assert_eq!(try_strnlen(&pad.buffer, 32), Ok(32));
    assert_eq!(try_strnlen(&pad.buffer, 16), Ok(16));
}

#[test]
fn strcpy() {
    let mut pad = CLEAN;
    let mut src = [0u8; 33];
    src[..31].fill(b'0');
    assert_eq!(try_strcpy(&mut pad.buffer, &src), Ok(31));
    assert_eq!(pad.buffer, src[..32]);
    let before = pad.buffer;
    src[31] = b'A';
    assert_eq!(try_strcpy(&mut pad.buffer, &src), Err(write(Function::Strcpy, 33, 32)));
    // Now the source has no end either, which is found first.
    src[32] = b'A';
    assert_eq!(try_strcpy(&mut pad.buffer, &src), Err(read(Function::Strcpy, 34, 33)));
    assert_eq!((pad.buffer, pad.before, pad.after), (before, 0, 0));
}

const LONG: &[u8] = b"Copy me fully into a small buffer and I will overflow!\0";

#[test]
fn strncpy() {
    let mut pad = CLEAN;
    assert_eq!(try_strncpy(&mut pad.buffer, LONG, 31), Ok(31));
    assert_eq!((pad.buffer[30], pad.buffer[31]), (LONG[30], 0));
    assert_eq!(try_strncpy(&mut pad.buffer, LONG, 32), Ok(32));
    assert_eq!(pad.buffer, LONG[..32]);
    assert_eq!(try_strncpy(&mut pad.buffer, LONG, 33), Err(write(Function::Strncpy, 33, 32)));
    assert_eq!(try_strncpy(&mut pad.buffer, LONG, 34), Err(write(Function::Strncpy, 34, 32)));
    assert_eq!((&pad.buffer[..], pad.after), (&LONG[..32], 0));
    // A short string is filled up.
    assert_eq!(try_strncpy(&mut pad.buffer, b"ab\0", 32), Ok(2));
    assert_eq!((&pad.buffer[..2], &pad.buffer[2..]), (&b"ab"[..], &[0; 30][..]));
}

#[test]
fn strscpy() {
    let mut pad = CLEAN;
    assert_eq!(try_strscpy(&mut pad.buffer, LONG, 31), Ok(None));
    assert_eq!((pad.buffer[29], pad.buffer[30], pad.buffer[31]), (LONG[29], 0, 0));
    assert_eq!(try_strscpy(&mut pad.buffer, LONG, 32), Ok(None));
    assert_eq!((pad.buffer[30], pad.buffer[31]), (LONG[30], 0));
    let before = pad.buffer;
    assert_eq!(try_strscpy(&mut pad.buffer, LONG, 33), Err(write(Function::Strscpy, 33, 32)));
    let wanted = LONG.len();
    assert_eq!(
        try_strscpy(&mut pad.buffer, LONG, 2 * wanted),
        Err(write(Function::Strscpy, wanted, 32))
    );
    assert_eq!((pad.buffer, pad.after), (before, 0));
}

/// `fill` bytes, then zeros.
fn filled<const N: usize>(fill: usize) -> [u8; N] {
    core::array::from_fn(|i| if i < fill { b'A' + i as u8 } else { 0 })
}

#[test]
fn strcat() {
    let mut pad = CLEAN;
    let src: [u8; 16] = filled(15);
    assert_eq!(try_strcat(&mut pad.buffer, &src), Ok(15));
    assert_eq!(try_strcat(&mut pad.buffer, &src), Ok(30));
    assert_eq!((pad.buffer[29], pad.buffer[30], pad.buffer[31]), (b'O', 0, 0));
    assert_eq!(try_strcat(&mut pad.buffer, b"A\0"), Ok(31));
    assert_eq!((pad.buffer[30], pad.buffer[31]), (b'A', 0));
    let before = pad.buffer;
    assert_eq!(try_strcat(&mut pad.buffer, b"A\0"), Err(write(Function::Strcat, 33, 32)));
    assert_eq!(try_strcat(&mut pad.buffer, b"BC\0"), Err(write(Function::Strcat, 34, 32)));
    assert_eq!((pad.buffer, pad.after), (before, 0));
}

#[test]
fn strncat() {
    let mut pad = CLEAN;
    let src: [u8; 32] = filled(15);
    assert_eq!(try_strncat(&mut pad.buffer, &src, 15), Ok(15));
    assert_eq!(try_strncat(&mut pad.buffer, &src, 15), Ok(30));
    assert_eq!(try_strncat(&mut pad.buffer, &src, 1), Ok(31));
    assert_eq!((pad.buffer[30], pad.buffer[31]), (b'A', 0));
    assert_eq!(try_strncat(&mut pad.buffer, &src, 1), Err(write(Function::Strncat, 33, 32)));
    assert_eq!(try_strncat(&mut pad.buffer, &src, 2), Err(write(Function::Strncat, 34, 32)));
    pad.buffer[31] = b'A';
    let before = pad.buffer;
    assert_eq!(try_strncat(&mut pad.buffer, &src, 1), Err(read(Function::Strncat, 33, 32)));
    assert_eq!((pad.buffer, pad.after), (before, 0));
}

#[test]
fn strlcat() {
    let mut pad = CLEAN;
    let src: [u8; 32] = filled(15);
    assert_eq!(try_strlcat(&mut pad.buffer, &src, 32), Ok(15));
    assert_eq!(try_strlcat(&mut pad.buffer, &src, 32), Ok(30));
    assert_eq!(try_strlcat(&mut pad.buffer, b"Q\0", 32), Ok(31));
    assert_eq!((pad.buffer[30], pad.buffer[31]), (b'Q', 0));
    // Cut, within what is there.
    assert_eq!(try_strlcat(&mut pad.buffer, b"cut\0", 32), Ok(34));
    let before = pad.buffer;
    // Told of more room than there is.
    assert_eq!(try_strlcat(&mut pad.buffer, b"V\0", 64), Err(write(Function::Strlcat, 33, 32)));
    assert_eq!(try_strlcat(&mut pad.buffer, b"QQ\0", 64), Err(write(Function::Strlcat, 34, 32)));
    assert_eq!(pad.buffer, before);
    pad.buffer[31] = b'A';
    assert_eq!(try_strlcat(&mut pad.buffer, b"TT\0", 64), Err(read(Function::Strlcat, 33, 32)));
    pad.buffer[31] = 0;
    let endless = [b'B'; 32];
    assert_eq!(try_strlcat(&mut pad.buffer, &endless, 96), Err(read(Function::Strlcat, 33, 32)));
    assert_eq!((pad.buffer, pad.after), (before, 0));
}

/// The kernel's body for `memcpy` and `memmove`: from nothing to one too much, at offset 0 and 1.
fn memory(function: Function, call: impl Fn(Dst, &[u8; 34], usize) -> Result<(), Overflow>) {
    let (a, b) = ([b'A'; 34], [b'B'; 34]);
    let mut pad = CLEAN;
    let at = &raw mut pad;
    let copy = |offset: usize, src: &[u8; 34], n: usize| {
        // SAFETY: `at` points to the whole of `pad`.
        let member = unsafe { dst_member!(at, Padded, buffer) };
        // Bounded by the member, as all of the kernel's counting is here.
        call(member.strict().advance(offset).object(), src, n)
    };
    // SAFETY: nobody else uses `pad` here.
    let buffer = || unsafe { (*at).buffer };
    assert_eq!(copy(0, &a, 0), Ok(()));
    assert_eq!(buffer()[0], 0);
    assert_eq!(copy(1, &b, 1), Ok(()));
    assert_eq!(buffer()[..3], [0, b'B', 0]);
    assert_eq!(copy(0, &a, 1), Ok(()));
    assert_eq!(buffer()[..3], [b'A', b'B', 0]);
    assert_eq!(copy(0, &a, 31), Ok(()));
    assert_eq!(buffer()[30..], [b'A', 0]);
    assert_eq!(copy(0, &a, 32), Ok(()));
    assert_eq!(buffer(), a[..32]);
    assert_eq!(copy(0, &a, 33), Err(write(function, 33, 32)));
    assert_eq!(copy(1, &b, 32), Err(write(function, 32, 31)));
    assert_eq!(buffer(), a[..32]);
    // SAFETY: as before.
    assert_eq!(unsafe { ((*at).before, (*at).after) }, (0, 0));
    // Nothing into nothing.
    let mut empty = [0u8; 0];
    assert_eq!(call(Dst::from(&mut empty[..]), &b, 0), Ok(()));
    assert_eq!(call(Dst::from(&mut empty[..]), &b, 1), Err(write(function, 1, 0)));
}

#[test]
fn memcpy() {
    memory(Function::Memcpy, |dst, src, n| {
        // SAFETY: both are whole buffers, which are two.
        unsafe { fortify::try_memcpy(dst, Src::from(src), n) }
    });
    // The source is shorter: it is the source's size that is said.
    let mut to = [0u8; 40];
    assert_eq!(try_memcpy(&mut to, &[1u8; 8], 9), Err(read(Function::Memcpy, 9, 8)));
    // Both are: the write counts first.
    assert_eq!(try_memcpy(&mut to, &[1u8; 8], 41), Err(write(Function::Memcpy, 41, 40)));
    assert_eq!(to, [0; 40]);
}

#[test]
fn memmove() {
    memory(Function::Memmove, |dst, src, n| {
        // SAFETY: both are whole buffers.
        unsafe { fortify::try_memmove(dst, Src::from(src), n) }
    });
}

#[test]
fn memset() {
    memory(Function::Memset, |dst, src, n| {
        // SAFETY: it is a whole buffer.
        unsafe { fortify::try_memset(dst, src[0], n) }
    });
}

const HAYSTACK: &[u8] = b"Where oh where is my memory range?\0";

#[test]
fn memscan() {
    let len = HAYSTACK.len();
    assert_eq!(try_memscan(HAYSTACK, b'm', len), Ok(18));
    assert_eq!(try_memscan(HAYSTACK, b'!', len), Ok(len));
    assert_eq!(try_memscan(HAYSTACK, b'm', len + 1), Err(read(Function::Memscan, len + 1, len)));
    assert_eq!(try_memscan(HAYSTACK, b'm', len * 2), Err(read(Function::Memscan, len * 2, len)));
}

#[test]
fn memchr() {
    let len = HAYSTACK.len();
    assert_eq!(try_memchr(HAYSTACK, b'm', len), Ok(Some(18)));
    assert_eq!(try_memchr(HAYSTACK, b'm', 18), Ok(None));
    assert_eq!(try_memchr(HAYSTACK, b'm', len + 1), Err(read(Function::Memchr, len + 1, len)));
    assert_eq!(try_memchr(HAYSTACK, b'm', len * 2), Err(read(Function::Memchr, len * 2, len)));
}

#[test]
fn memchr_inv() {
    let len = HAYSTACK.len();
    assert_eq!(try_memchr_inv(HAYSTACK, b'W', len), Ok(Some(1)));
    assert_eq!(try_memchr_inv(HAYSTACK, b'W', 1), Ok(None));
    let bytes = len + 1;
    assert_eq!(try_memchr_inv(HAYSTACK, b'W', bytes), Err(read(Function::MemchrInv, bytes, len)));
    let bytes = len * 2;
    assert_eq!(try_memchr_inv(HAYSTACK, b'W', bytes), Err(read(Function::MemchrInv, bytes, len)));
}

#[test]
fn memcmp() {
    let (one, two) = (b"My mind is going ...\0", b"My mind is going ... I can feel it.\0");
    assert_eq!(try_memcmp(one, two, 20), Ok(Ordering::Equal));
    assert_eq!(try_memcmp(one, two, 21), Ok(Ordering::Less));
    assert_eq!(try_memcmp(one, two, 22), Err(read(Function::Memcmp, 22, 21)));
    // The other one is the short one: its size is said.
    assert_eq!(try_memcmp(two, one, 36), Err(read(Function::Memcmp, 36, 21)));
}

#[test]
fn kmemdup() {
    let text = b"I got Doom running on it!\0";
    let (src, len) = (Src::from(&text[..]), text.len());
    for n in [len, len - 1, 1, 0] {
        assert_eq!(dup(src, n).as_deref(), Ok(&text[..n]));
    }
    assert_eq!(dup(src, len + 1), Err(read(Function::Kmemdup, len + 1, len)));
    assert_eq!(dup(src, len * 2), Err(read(Function::Kmemdup, len * 2, len)));
    assert_eq!(dup(src.advance(1).object(), len), Err(read(Function::Kmemdup, len, len - 1)));
}

#[test]
fn kmemdup_asks_for_nothing_it_may_not_fill() {
    let text = Src::from(&b"text"[..]);
    let mut room = [0xEEu8; 3];
    let short = NonNull::from(&mut room[..]);
    // SAFETY: the memory is `room`, which is three bytes.
    let copied = unsafe { try_kmemdup(text, 4, |_| Some(short)) };
    assert_eq!(copied, Err(write(Function::Kmemdup, 4, 3)));
    // SAFETY: nothing is allocated.
    let none = unsafe { try_kmemdup(text, 4, |_| None) };
    assert_eq!(none, Ok(None));
    // SAFETY: nothing is allocated.
    let refused = unsafe { try_kmemdup(text, 5, |_| panic!("asked for memory")) };
    assert_eq!(refused, Err(read(Function::Kmemdup, 5, 4)));
    assert_eq!(room, [0xEE; 3]);
}
