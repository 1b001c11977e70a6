//! Set-up of benchmarks that run our program beside others: builds ours and locates theirs.

use std::process::Command;

use crate::process;
use crate::programs::Purpose;
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
    cargo.env(OWN_VARIABLE, workspace.target().join("release/lockstep"));
    for (program, place) in super::announce_programs(workspace, Purpose::Tests, package)? {
        cargo.envs(program.variable.zip(place));
    }
    Ok(())
}
