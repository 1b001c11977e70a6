//! `lockstep run -- CMD`: a command with a server of its own, which is gone afterwards.

mod load;
mod server;

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::Command;

use rustix::process::Signal;

use crate::envtest;
use crate::failure::{Exit, Failure};
use crate::output;

use server::Server;

/// Base of a shell's exit status for a command that a signal ended: 128 plus the signal number.
const SIGNAL_BASE: i32 = 128;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  lockstep run -- kubectl get namespaces\n  lockstep run --crds config/crd --load testdata -- go test ./...\n  lockstep run --keep-on-failure -- cargo test\n\nThe command finds the server by KUBECONFIG, and envtest by KUBEBUILDER_ASSETS and USE_EXISTING_CLUSTER. Its exit status is passed on."
)]
pub(crate) struct Arguments {
    /// Gates of the server, as `Name=true|false,…`; may be repeated
    #[arg(long, value_name = "GATES")]
    feature_gates: Vec<String>,
    /// Custom resource definitions to create first: a file, or a directory of .yaml, .yml and .json; may be repeated
    #[arg(long, value_name = "PATH")]
    crds: Vec<PathBuf>,
    /// Objects to create before the command starts, from the same kinds of places; may be repeated
    #[arg(long, value_name = "PATH")]
    load: Vec<PathBuf>,
    /// Fail before the command starts if the server warns about one of the objects
    #[arg(long)]
    strict: bool,
    /// Keep the server's directory if the command fails, and print its path
    #[arg(long)]
    keep_on_failure: bool,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<OsString>,
}

/// Starts a server, creates the given objects, runs the command and passes on its exit status.
pub(crate) fn run(arguments: &Arguments, quiet: bool) -> Result<Exit, Failure> {
    let objects = load::read(&arguments.crds, &arguments.load)?;
    let assets = envtest::Assets::temporary()?;
    let server = Server::start(&arguments.feature_gates)?;
    let warnings = objects.create(&server.access()?)?;
    if !quiet {
        warnings.tell();
    }
    if arguments.strict {
        warnings.refuse()?;
    }
    let (program, rest) = arguments
        .command
        .split_first()
        .expect("clap asks for a command");
    let status = Command::new(program)
        .args(rest)
        .env("KUBECONFIG", server.kubeconfig())
        .env("KUBERNETES_MASTER", server.url()?)
        .env("KUBEBUILDER_ASSETS", assets.path())
        .env("USE_EXISTING_CLUSTER", "true")
        .status();
    let status = status.map_err(|error| {
        let program = program.to_string_lossy();
        Failure::bad_input(format!("cannot run `{program}`: {error}"))
    })?;
    let failed = !status.success();
    if failed && arguments.keep_on_failure {
        let folder = server.keep();
        if !quiet {
            let folder = folder.display();
            output::tell(&format!(
                "kept {folder}\nlook at it with: lockstep serve --data-dir {folder}\n"
            ));
        }
    }
    let by_signal = status.signal().map(|signal| SIGNAL_BASE + signal);
    let code = status.code().or(by_signal).unwrap_or_default();
    Ok(u8::try_from(code).map_or(Exit::Bug, Exit::OfCommand))
}

/// Ends a server in order.
fn terminate(child: &std::process::Child) {
    let process = i32::try_from(child.id()).ok();
    if let Some(process) = process.and_then(rustix::process::Pid::from_raw) {
        let _gone_already = rustix::process::kill_process(process, Signal::TERM);
    }
}
