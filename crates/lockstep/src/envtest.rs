//! `lockstep envtest use`: a directory of binaries as controller-runtime's envtest wants it, every
//! one of them this program.

use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use clap::ValueEnum;

use crate::dropin::NAMES;
use crate::failure::{Exit, Failure};
use crate::output;

/// Found on the search path, it is put beside the servers.
const KUBECTL: &str = "kubectl";

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Prepare the directory for `KUBEBUILDER_ASSETS` and print its path
    #[command(
        after_help = "Examples:\n  export KUBEBUILDER_ASSETS=\"$(lockstep envtest use -p path)\"\n  eval \"$(lockstep envtest use -p env)\"\n  lockstep envtest use 1.36.x"
    )]
    Use(Arguments),
}

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Kubernetes version, as `1.36`, `1.36.x` or `1.36.4`
    #[arg(value_name = "VERSION")]
    version: Option<String>,
    /// Form of the answer
    #[arg(long, short, value_name = "WHAT", default_value = "overview")]
    print: What,
    /// Parent of the directory [default: the user's data directory]
    #[arg(long, value_name = "DIR")]
    bin_dir: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum What {
    /// Where the directory is.
    Path,
    /// A line for a shell.
    Env,
    /// Version, platform and path.
    Overview,
}

pub(crate) fn run(command: &Command) -> Result<Exit, Failure> {
    let Command::Use(arguments) = command;
    let version = lockstep_gates::KUBE_VERSION;
    check(arguments.version.as_deref(), version)?;
    let root = match &arguments.bin_dir {
        Some(folder) => folder.clone(),
        None => data_directory()?.join("lockstep/envtest"),
    };
    let platform = lockstep_apiserver::version::platform();
    let folder = root.join(format!("k8s/{version}-{}", platform.replace('/', "-")));
    let folder = std::path::absolute(&folder).unwrap_or(folder);
    fill(&folder).map_err(|error| cannot(&folder, &error))?;
    let path = folder.display();
    output::data(&match arguments.print {
        What::Path => format!("{path}\n"),
        What::Env => {
            let quoted = folder.to_string_lossy().replace('\'', "'\"'\"'");
            format!("export KUBEBUILDER_ASSETS='{quoted}'\n")
        }
        What::Overview => {
            format!("Version: {version}\nOS/Arch: {platform}\nPath: {path}\n")
        }
    });
    Ok(Exit::Yes)
}

/// Refuses a Kubernetes version other than this build's: a suite that requests one depends on it.
fn check(wanted: Option<&str>, version: &str) -> Result<(), Failure> {
    let Some(wanted) = wanted else {
        return Ok(());
    };
    let given = wanted.trim_start_matches('v').trim_end_matches('!');
    let given: Vec<&str> = given.split('.').collect();
    let ours: Vec<&str> = version.split('.').collect();
    let is_number = |part: &str| part.parse::<u32>().is_ok();
    let is_form = (2..=3).contains(&given.len())
        && given[..2].iter().all(|part| is_number(part))
        && given
            .get(2)
            .is_none_or(|part| is_number(part) || matches!(*part, "x" | "X" | "*"));
    if !is_form {
        let message = format!("`{wanted}` is not a version; expected `1.36`, `1.36.x` or `1.36.4`");
        return Err(Failure::bad_input(message));
    }
    let is_ours = given
        .iter()
        .zip(&ours)
        .all(|(given, ours)| given == ours || !is_number(given));
    if is_ours {
        return Ok(());
    }
    let message = format!("Kubernetes {wanted} is not available; this program is {version}");
    let failure = Failure::of_server(Exit::No, message);
    Err(failure.with_help(format!("ask for {version}, or leave the version out")))
}

fn data_directory() -> Result<PathBuf, Failure> {
    let variable = |name: &str| {
        let value = std::env::var_os(name).filter(|value| !value.is_empty());
        value.map(PathBuf::from).filter(|path| path.is_absolute())
    };
    let home = || variable("HOME").map(|home| home.join(".local/share"));
    variable("XDG_DATA_HOME").or_else(home).ok_or_else(|| {
        let failure = Failure::bad_input("there is no home directory to make it in");
        failure.with_help("say where with `--bin-dir`")
    })
}

fn cannot(folder: &Path, error: &io::Error) -> Failure {
    Failure::bad_input(format!("cannot prepare {}: {error}", folder.display()))
}

/// Puts a link to this program under each name into a directory.
fn fill(folder: &Path) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    let program = std::env::current_exe()?;
    for name in NAMES {
        link(&program, &folder.join(name))?;
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut found = std::env::split_paths(&path).map(|place| place.join(KUBECTL));
    if let Some(kubectl) = found.find(|path| path.is_file() && !path.starts_with(folder)) {
        link(&kubectl, &folder.join(KUBECTL))?;
    }
    Ok(())
}

/// Replaces a symlink atomically, since another process may be executing its target.
fn link(program: &Path, place: &Path) -> io::Result<()> {
    if std::fs::read_link(place).is_ok_and(|target| target == program) {
        return Ok(());
    }
    let fresh = place.with_extension(format!("{}.new", std::process::id()));
    symlink(program, &fresh)?;
    std::fs::rename(&fresh, place)
}

/// A directory of binaries that is gone when it is no longer needed.
pub(crate) struct Assets(tempfile::TempDir);

impl Assets {
    pub(crate) fn temporary() -> Result<Self, Failure> {
        let folder = tempfile::Builder::new()
            .prefix("lockstep-assets-")
            .tempdir();
        let folder = folder.map_err(|error| cannot(&std::env::temp_dir(), &error))?;
        fill(folder.path()).map_err(|error| cannot(folder.path(), &error))?;
        Ok(Self(folder))
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ux.md §3.1: `use` accepts and checks a version.
    #[test]
    fn a_version_is_ours_or_refused() {
        for (wanted, expected) in [
            (None, Ok(())),
            (Some("1.36"), Ok(())),
            (Some("1.36.x"), Ok(())),
            (Some("v1.36.4"), Ok(())),
            (Some("1.36.x!"), Ok(())),
            (Some("1.36.3"), Err(Exit::No)),
            (Some("1.35.x"), Err(Exit::No)),
            (Some("1"), Err(Exit::BadInput)),
            (Some("latest"), Err(Exit::BadInput)),
        ] {
            let told = check(wanted, "1.36.4").map_err(|failure| failure.exit);
            assert_eq!(told, expected, "{wanted:?}");
        }
    }
}
