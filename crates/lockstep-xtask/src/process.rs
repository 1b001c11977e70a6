//! The one place that starts other programs.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context;

/// The variables that `cargo run` sets about this very crate. A nested `cargo` must not see them:
/// build scripts that watch one of them would run again for no reason.
const OWN_CRATE_VARIABLES: [&str; 4] = [
    "CARGO_PKG_",
    "CARGO_MANIFEST_",
    "CARGO_CRATE_NAME",
    "CARGO_BIN_",
];

/// A `cargo` of the toolchain that built this program, to be run in `root`.
pub(crate) fn cargo(root: &Path) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(program);
    command.current_dir(root);
    for (name, _) in std::env::vars_os() {
        let is_own = |prefix: &&str| name.to_string_lossy().starts_with(*prefix);
        if OWN_CRATE_VARIABLES.iter().any(is_own) {
            command.env_remove(name);
        }
    }
    command
}

/// Runs `command` with the terminal's streams; true if it succeeded.
pub(crate) fn succeeds(command: &mut Command) -> anyhow::Result<bool> {
    let status = command
        .stdin(Stdio::null())
        .status()
        .with_context(|| format!("starting {}", shown(command)))?;
    Ok(status.success())
}

/// Runs `command` and returns what it printed; an error, with its complaints, if it failed.
pub(crate) fn output_of(command: &mut Command) -> anyhow::Result<String> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("starting {}", shown(command)))?;
    anyhow::ensure!(
        output.status.success(),
        "{} failed: {}",
        shown(command),
        String::from_utf8_lossy(&output.stderr).trim()
    );
    String::from_utf8(output.stdout).with_context(|| format!("reading {}", shown(command)))
}

/// Whether `cargo NAME` is an installed subcommand.
pub(crate) fn has_cargo_subcommand(root: &Path, name: &str) -> bool {
    output_of(cargo(root).args([name, "--version"])).is_ok()
}

/// Where `program` stands in the search path.
pub(crate) fn find_in_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(program))
        .find(|candidate| candidate.is_file())
}

/// Runs `work`; returns its result and its duration.
pub(crate) fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    #[expect(
        clippy::disallowed_methods,
        reason = "the seconds are shown to a person"
    )]
    let start = Instant::now();
    let result = work();
    (result, start.elapsed())
}

fn shown(command: &Command) -> String {
    let words: Vec<_> = std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(|word| word.to_string_lossy())
        .collect();
    format!("`{}`", words.join(" "))
}
