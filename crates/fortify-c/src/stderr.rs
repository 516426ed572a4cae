//! A line on standard error, whatever state the process is in.
//!
//! The system call is made directly. The C library's `write` is a point where a thread with a pending
//! cancellation ends: it would end there, quietly, and the program would go on after an overflow.

/// The descriptor of standard error.
const STDERR: usize = 2;
/// The system call was interrupted before anything was written.
const EINTR: isize = 4;

/// Writes all of `text` to standard error; gives up silently where that is impossible.
pub(crate) fn write_all(mut text: &[u8]) {
    while !text.is_empty() {
        let written = write(text);
        if written == -EINTR {
            continue;
        }
        match usize::try_from(written).ok().and_then(|written| text.get(written..)) {
            Some(rest) if rest.len() < text.len() => text = rest,
            _ => return,
        }
    }
}

/// One `write` system call: the bytes written, or an error number, negated.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn write(text: &[u8]) -> isize {
    const WRITE: isize = 1;
    let result;
    // SAFETY: write(2) only reads `text`, which is valid for its length. The kernel changes rax, rcx
    // and r11 and nothing else, and uses no stack of ours.
    unsafe {
        core::arch::asm!(
            "syscall",
            inlateout("rax") WRITE => result,
            in("rdi") STDERR,
            in("rsi") text.as_ptr(),
            in("rdx") text.len(),
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack, readonly)
        );
    }
    result
}

/// One `write` system call: the bytes written, or an error number, negated.
#[cfg(all(target_os = "linux", target_arch = "aarch64"))]
fn write(text: &[u8]) -> isize {
    const WRITE: usize = 64;
    let result;
    // SAFETY: write(2) only reads `text`, which is valid for its length. The kernel changes x0 and
    // nothing else, and uses no stack of ours.
    unsafe {
        core::arch::asm!(
            "svc 0",
            in("x8") WRITE,
            inlateout("x0") STDERR => result,
            in("x1") text.as_ptr(),
            in("x2") text.len(),
            options(nostack, readonly)
        );
    }
    result
}

#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
compile_error!("the report's system call is written for Linux on x86-64 and aarch64 only");
