//! The `lockstep` binary: flags, wiring and exit codes. One file a subcommand.

mod cel;
mod cli;
mod completion;
mod crd;
#[cfg(feature = "dashboard")]
mod dashboard;
mod document;
mod dropin;
mod envtest;
mod failure;
mod features;
mod gate_flags;
mod manifests;
mod orphan;
mod output;
mod policy;
mod remote;
mod run;
mod serve;
mod store;
mod usage;
mod version;

use std::process::ExitCode;

#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    failure::explain_panics();
    let arguments: Vec<std::ffi::OsString> = std::env::args_os().collect();
    let errors_as = output::Format::of_errors(&arguments);
    match std::panic::catch_unwind(|| cli::run(arguments)) {
        Ok(Ok(exit)) => exit.into(),
        Ok(Err(failure)) => failure.report(errors_as).into(),
        Err(_) => failure::Exit::Bug.into(),
    }
}
