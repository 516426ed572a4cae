//! Names the targets whose word is written in parts by assembly, in one place.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(lock_asm)");
    println!("cargo::rustc-check-cfg=cfg(lock_portable)");
    println!("cargo::rustc-check-cfg=cfg(loom)");
    let is_set = |name: &str| std::env::var_os(name).is_some();
    let var = |name: &str| std::env::var(name).unwrap_or_default();
    println!("cargo::rustc-check-cfg=cfg(lock_host)");
    let wide = var("CARGO_CFG_TARGET_POINTER_WIDTH") == "64";
    // What `Std` is made of; it keeps the kernel's signal set in a register.
    let linux = var("CARGO_CFG_TARGET_OS") == "linux" && wide;
    if linux && is_set("CARGO_FEATURE_STD") && !is_set("CARGO_CFG_LOOM") {
        println!("cargo::rustc-cfg=lock_host");
    }
    // Loom, Miri and ThreadSanitizer cannot look into assembly; for the last, whoever builds sets
    // `--cfg lock_portable`.
    let blind = ["CARGO_CFG_LOOM", "CARGO_CFG_MIRI", "CARGO_CFG_LOCK_PORTABLE"];
    if blind.into_iter().any(is_set) {
        return;
    }
    // The assembly takes a pointer for a whole register, which on x32 and ILP32 it is not, and the
    // lowest byte for the first.
    let little = var("CARGO_CFG_TARGET_ENDIAN") == "little";
    if wide && little && matches!(var("CARGO_CFG_TARGET_ARCH").as_str(), "x86_64" | "aarch64") {
        println!("cargo::rustc-cfg=lock_asm");
    }
}
