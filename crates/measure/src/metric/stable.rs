//! Which stressors of stress-ng count operations that are all alike.
//!
//! A bogo-op is whatever a stressor counts: some count equal steps, others passes over a list of
//! unequal ones, so their rate depends on where the run happened to end. stress-ng marks those whose
//! rate can be trusted for benchmarking as `bogo-ops-stable`: in its source since 0.21.04, and in
//! the YAML when run with `--exercised`. Older versions mark none.

/// Version whose marks [`STABLE`] holds.
pub(crate) const STABLE_AS_OF: &str = "0.22.00";

/// Stressors that stress-ng [`STABLE_AS_OF`] marks, sorted.
const STABLE: &[&str] = &[
    "affinity",
    "alarm",
    "besselmath",
    "bitops",
    "branch",
    "cachehammer",
    "chyperbolic",
    "clock",
    "context",
    "cpu",
    "crc",
    "ctrig",
    "cyclic",
    "dup",
    "easy-opcode",
    "eigen",
    "enosys",
    "eventfd",
    "exit-group",
    "factor",
    "far-branch",
    "fd-fork",
    "fma",
    "fork",
    "fp",
    "fp-subnormal",
    "funccall",
    "funcret",
    "gamma",
    "getrandom",
    "gpu",
    "hrtimers",
    "hyperbolic",
    "icmp-flood",
    "intmath",
    "ioport",
    "itimer",
    "jpeg",
    "judy",
    "list",
    "llc-affinity",
    "logmath",
    "lsm",
    "matrix",
    "matrix-3d",
    "min-nanosleep",
    "monte-carlo",
    "mpfr",
    "mq",
    "mseal",
    "msg",
    "mutex",
    "nanosleep",
    "netdev",
    "nice",
    "nop",
    "null",
    "pci",
    "personality",
    "physmmap",
    "physpage",
    "ping-sock",
    "pipe",
    "poll",
    "powmath",
    "prefetch",
    "priv-instr",
    "ptr-chase",
    "ptrace",
    "randlist",
    "regs",
    "remap",
    "rlimit",
    "rotate",
    "rtc",
    "schedpolicy",
    "seal",
    "seccomp",
    "secretmem",
    "session",
    "set",
    "shm-sysv",
    "sigbus",
    "sigfpe",
    "signal",
    "signest",
    "sigpending",
    "sigpipe",
    "sigsegv",
    "sigtrap",
    "sigvtalrm",
    "sigxcpu",
    "sigxfsz",
    "sockdiag",
    "splice",
    "stream",
    "syncload",
    "timer",
    "trig",
    "tsc",
    "unshare",
    "varyload",
    "vecfp",
    "vecmath",
    "vecshuf",
    "vecwide",
    "vforkmany",
    "vm-splice",
    "vnni",
    "waitcpu",
    "x86cpuid",
    "x86syscall",
    "zlib",
    "zombie",
];

/// Whether stress-ng marks `stressor` as one whose rate can be trusted.
pub(crate) fn is_stable(stressor: &str) -> bool {
    STABLE.binary_search(&stressor).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted_as_the_search_needs_it() {
        assert!(STABLE.is_sorted());
    }

    #[test]
    fn poll_is_marked_and_urandom_is_not() {
        assert!(is_stable("poll") && is_stable("zombie") && is_stable("affinity"));
        assert!(!is_stable("urandom") && !is_stable("vm") && !is_stable(""));
    }
}
