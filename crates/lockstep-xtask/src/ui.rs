//! Whether the files of the dashboard are what their sources build to.

use std::path::Path;
use std::process::Command;

use crate::workspace::Workspace;
use crate::{Outcome, process};

/// Builds the user interface and compares what comes out with what is committed. Without Node there
/// is nothing to build with, which is told.
pub(crate) fn check(workspace: &Workspace) -> anyhow::Result<Outcome> {
    let ui = workspace.root().join("ui");
    for program in ["node", "npm"] {
        if process::find_in_path(program).is_none() {
            println!("SKIPPED: no `{program}`, so ui/dist is not checked");
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
    let mut git = Command::new("git");
    git.current_dir(workspace.root())
        .args(["status", "--porcelain", "--"]);
    let changed = process::output_of(git.args(["ui/dist", "ui/src/lib/types.ts"]))?;
    print!("{changed}");
    Ok(Outcome::of(changed.is_empty()))
}

fn runs(ui: &Path, arguments: &[&str]) -> anyhow::Result<bool> {
    let mut npm = Command::new("npm");
    npm.args(arguments).current_dir(ui);
    process::succeeds(npm.env("PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD", "1"))
}
