//! Names the targets that have a backend in assembly, in one place.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(refcount_fast)");
    println!("cargo::rustc-check-cfg=cfg(refcount_portable)");
    println!("cargo::rustc-check-cfg=cfg(refcount_no_fence)");
    println!("cargo::rustc-check-cfg=cfg(loom)");
    let var = |name: &str| std::env::var(name).unwrap_or_default();
    // Loom and Miri cannot look into assembly.
    let models = ["CARGO_CFG_LOOM", "CARGO_CFG_MIRI"];
    if models.iter().any(|model| std::env::var_os(model).is_some()) {
        return;
    }
    // Nor can ThreadSanitizer, which does not know fences either.
    if var("CARGO_CFG_SANITIZE").split(',').any(|sanitizer| sanitizer == "thread") {
        println!("cargo::rustc-cfg=refcount_no_fence");
        return;
    }
    // The assembly takes a pointer for a whole register, which on x32 and ILP32 it is not.
    let wide = var("CARGO_CFG_TARGET_POINTER_WIDTH") == "64";
    if wide && matches!(var("CARGO_CFG_TARGET_ARCH").as_str(), "x86_64" | "aarch64") {
        println!("cargo::rustc-cfg=refcount_fast");
    }
}
