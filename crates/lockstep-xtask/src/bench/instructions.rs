//! Instruction counts under callgrind: the same on a busy machine as on an idle one.
//!
//! A crate `lockstep-x` takes part with an example called `instructions_x`: without arguments it lists its
//! cases, with a case and a number of rounds it runs that case. Two numbers of rounds are compared, so
//! that starting the program does not count.

use std::path::Path;
use std::process::Command;

use anyhow::Context;

use crate::process;

const ROUNDS_FEW: u64 = 100;
const ROUNDS_MANY: u64 = 1_100;

/// Counts and prints every case of a crate's example, or says why not.
pub(super) fn run(root: &Path, package: &str, folder: &Path) -> anyhow::Result<()> {
    let short = package.strip_prefix("lockstep-").unwrap_or(package);
    let example = format!("instructions_{short}");
    if !folder.join(format!("examples/{example}.rs")).is_file() {
        return Ok(());
    }
    if Command::new("valgrind").arg("--version").output().is_err() {
        println!("bench: SKIPPED: instruction counts need valgrind, which is not installed");
        return Ok(());
    }
    let mut cargo = process::cargo(root);
    cargo.args(["build", "--release", "--locked", "--package", package]);
    anyhow::ensure!(
        process::succeeds(cargo.args(["--example", &example]))?,
        "the example `{example}` of {package} does not build"
    );
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), Into::into);
    let program = target.join("release/examples").join(&example);
    let listed = Command::new(&program)
        .output()
        .context("listing the cases")?;
    println!("\ninstructions a round, by callgrind:");
    for case in String::from_utf8(listed.stdout)?.lines() {
        let few = count(&program, case, ROUNDS_FEW)?;
        let many = count(&program, case, ROUNDS_MANY)?;
        println!("  {case:<40} {:>10}", per_round(few, many));
    }
    Ok(())
}

fn count(program: &Path, case: &str, rounds: u64) -> anyhow::Result<u64> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(program)
        .args([case, &rounds.to_string()])
        .output()
        .context("running valgrind")?;
    let told = String::from_utf8_lossy(&output.stderr);
    anyhow::ensure!(
        output.status.success(),
        "valgrind failed on `{case}`:\n{told}"
    );
    collected(&told).with_context(|| format!("no count in what valgrind said:\n{told}"))
}

/// The number behind `Collected :`.
fn collected(told: &str) -> Option<u64> {
    let line = told.lines().find(|line| line.contains("Collected :"))?;
    line.rsplit(' ').next()?.parse().ok()
}

fn per_round(few: u64, many: u64) -> u64 {
    many.saturating_sub(few) / (ROUNDS_MANY - ROUNDS_FEW)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_is_read_from_what_valgrind_says() {
        let told = "==7== Events    : Ir\n==7== Collected : 123456\n==7== \n";
        assert_eq!(collected(told), Some(123_456));
        assert_eq!(collected("==7== nothing"), None);
    }

    #[test]
    fn starting_the_program_does_not_count() {
        assert_eq!(per_round(50_000 + 100 * 7, 50_000 + 1_100 * 7), 7);
    }
}
