//! Whether the files of the dashboard are what their sources build to.

use std::path::Path;
use std::process::Command;

use anyhow::Context as _;

use crate::Outcome;
use crate::workspace::Workspace;

/// Builds the user interface and compares what comes out with what is committed. Without Node there
/// is nothing to build with, which is told.
pub(crate) fn check(workspace: &Workspace) -> anyhow::Result<Outcome> {
    let ui = workspace.root().join("ui");
    for program in ["node", "npm"] {
        let has = Command::new(program).arg("--version").output();
        if !has.is_ok_and(|output| output.status.success()) {
            println!("SKIPPED: no `{program}`, so nobody knows whether ui/dist is fresh");
            return Ok(Outcome::Green);
        }
    }
    if !runs(&ui, &["ci", "--no-audit", "--no-fund"])? {
        println!("SKIPPED: `npm ci` cannot fetch what builds ui/dist");
        return Ok(Outcome::Green);
    }
    if !runs(&ui, &["run", "build"])? {
        return Ok(Outcome::Red);
    }
    let changed = Command::new("git")
        .args([
            "status",
            "--porcelain",
            "--",
            "ui/dist",
            "ui/src/lib/types.ts",
        ])
        .current_dir(workspace.root())
        .output()
        .context("asking git what changed")?;
    print!("{}", String::from_utf8_lossy(&changed.stdout));
    Ok(Outcome::of(changed.stdout.is_empty()))
}

fn runs(ui: &Path, arguments: &[&str]) -> anyhow::Result<bool> {
    let status = Command::new("npm")
        .args(arguments)
        .env("PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD", "1")
        .current_dir(ui)
        .status();
    Ok(status.context("running npm")?.success())
}
