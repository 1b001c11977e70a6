//! The names of other programs that this one answers to: started as `etcd` it is a store, started as
//! `kube-apiserver` an API server, each with the flags that the other program takes.

mod kube_apiserver;
mod table;

use std::ffi::OsString;
use std::path::Path;

use crate::failure::Failure;

/// The names, as files are named that lead here.
pub(crate) const NAMES: [&str; 2] = [ETCD, KUBE_APISERVER];
const ETCD: &str = "etcd";
const KUBE_APISERVER: &str = "kube-apiserver";

/// Action for a process that was started under the name of another program.
pub(crate) enum Call {
    /// Words, and nothing else.
    Say(String),
    /// A command of ours.
    Run {
        /// The arguments, with the name of the program before them.
        arguments: Vec<OsString>,
        /// Lines to log before anything else.
        notes: Vec<String>,
    },
}

/// Reads the arguments of a process, of which the first is the name it was started by.
pub(crate) fn read(arguments: Vec<OsString>) -> Result<Call, Failure> {
    let name = arguments.first().map(Path::new).and_then(Path::file_name);
    match name.and_then(|name| name.to_str()) {
        Some(ETCD) => Ok(etcd(&arguments[1..])),
        Some(KUBE_APISERVER) => kube_apiserver::read(&arguments[1..]),
        _ => Ok(Call::Run {
            arguments,
            notes: Vec::new(),
        }),
    }
}

/// The flags of a store are etcd's.
fn etcd(arguments: &[OsString]) -> Call {
    let asks_version = |word: &OsString| word == "--version" || word == "-version";
    if arguments.iter().any(asks_version) {
        let (version, ours) = (
            lockstep_store::ETCD_VERSION,
            lockstep_gates::LOCKSTEP_VERSION,
        );
        return Call::Say(format!("etcd Version: {version}\nLockstep: {ours}\n"));
    }
    Call::Run {
        arguments: called("store", arguments.iter().cloned()),
        notes: Vec::new(),
    }
}

/// One of our own commands.
fn called(command: &str, flags: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let command = ["lockstep", command].map(OsString::from);
    command.into_iter().chain(flags).collect()
}
