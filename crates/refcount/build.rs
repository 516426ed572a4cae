//! Names the targets that have a backend in assembly, in one place.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(refcount_fast)");
    println!("cargo::rustc-check-cfg=cfg(refcount_portable)");
    println!("cargo::rustc-check-cfg=cfg(loom)");
    let var = |name: &str| std::env::var(name).unwrap_or_default();
    // Loom and Miri cannot look into assembly.
    let models = ["CARGO_CFG_LOOM", "CARGO_CFG_MIRI"];
    if models.iter().any(|model| std::env::var_os(model).is_some()) {
        return;
    }
    if matches!(var("CARGO_CFG_TARGET_ARCH").as_str(), "x86_64") {
        println!("cargo::rustc-cfg=refcount_fast");
    }
}
