//! Tells the crate which compiler builds it, for `/statusz`.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=RUSTC");
    let compiler = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(compiler).arg("--version").output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let text = text.unwrap_or_default();
    let version = text.split_whitespace().nth(1).unwrap_or_default();
    println!("cargo::rustc-env=LOCKSTEP_RUSTC_VERSION={version}");
}
