//! Compiles the glue between gcc's coverage and libFuzzer. Without the flags of README.md nothing
//! calls it.

fn main() {
    // libFuzzer brings a function of that name that does nothing; ours stands first.
    println!("cargo::rustc-link-arg-bins=-Wl,--allow-multiple-definition");
    println!("cargo::rerun-if-changed=coverage.c");
    cc::Build::new()
        .file("coverage.c")
        .compile("lyra_fuzz_coverage");
}
