//! What a benchmark needs that runs our program beside others: the program, and where the others are.

use std::path::PathBuf;
use std::process::Command;

use crate::process;
use crate::programs::install::{self, Means};
use crate::programs::{self, Purpose};
use crate::workspace::Workspace;

/// By which the benchmark is told where our program is.
const OWN_VARIABLE: &str = "LOCKSTEP_BENCH_SERVER";

/// Builds the program as users get it, and tells `cargo` where everything is.
pub(super) fn prepare(
    workspace: &Workspace,
    package: &str,
    cargo: &mut Command,
) -> anyhow::Result<()> {
    let mut build = process::cargo(workspace.root());
    build.args(["build", "--release", "--locked", "--package", "lockstep"]);
    anyhow::ensure!(process::succeeds(&mut build)?, "`lockstep` does not build");
    cargo.env(OWN_VARIABLE, target(workspace).join("release/lockstep"));
    for program in programs::needed(Purpose::Tests, |name| name == package) {
        let found = install::find(program, &workspace.tools())?;
        if let (Some(variable), Some(place)) = (program.variable, &found) {
            cargo.env(variable, place);
        }
        let decision = install::decide(program, found, Means::Nothing);
        println!("bench: {}", install::sentence(program, &decision));
    }
    Ok(())
}

fn target(workspace: &Workspace) -> PathBuf {
    let told = std::env::var_os("CARGO_TARGET_DIR");
    told.map_or_else(|| workspace.root().join("target"), PathBuf::from)
}
