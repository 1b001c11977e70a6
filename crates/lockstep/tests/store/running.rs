//! A server process on a free port.

use std::process::Command;

use lockstep_testkit::processes::Process;
use tempfile::TempDir;

const READY: &str = "ready to serve client requests";

pub(crate) fn lockstep() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lockstep"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("ETCD") {
            command.env_remove(name);
        }
    }
    command.arg("store");
    command
}

/// The program with a bound on the size of its files; writing beyond it is an error.
pub(crate) fn bounded(file_bytes_max: u64) -> Command {
    let blocks = file_bytes_max / 512;
    let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"");
    let mut command = Command::new("sh");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_lockstep"), "store"]);
    command
}

/// A running store, and its directory.
pub(crate) struct Running {
    process: Process,
    pub(crate) endpoint: String,
    pub(crate) folder: TempDir,
}

impl Running {
    pub(crate) fn start(arguments: &[&str]) -> Self {
        Self::start_on(tempfile::tempdir().unwrap(), arguments)
    }

    pub(crate) fn start_on(folder: TempDir, arguments: &[&str]) -> Self {
        Self::start_as(folder, arguments, lockstep)
    }

    /// With the files of the process bounded, as on a disk that fills up.
    pub(crate) fn start_bounded(file_bytes_max: u64) -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self::start_as(folder, &[], || bounded(file_bytes_max))
    }

    fn start_as(folder: TempDir, arguments: &[&str], program: impl Fn() -> Command) -> Self {
        // Another process may take the port before the server does; then another port is tried.
        for _ in 0..20 {
            let probe = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
            let port = probe.local_addr().unwrap().port();
            drop(probe);
            let endpoint = format!("http://127.0.0.1:{port}");
            let mut command = program();
            command.arg("--data-dir").arg(folder.path().join("data"));
            command
                .args(["--listen-client-urls", &endpoint])
                .args(arguments);
            if let Ok((process, _)) = Process::start(&mut command, &[READY]) {
                return Self {
                    process,
                    endpoint,
                    folder,
                };
            }
        }
        panic!("the server does not become ready");
    }

    /// Sends a signal, waits for the end, and returns the exit code and the rest of the log.
    pub(crate) fn end(self, signal: &str) -> (Option<i32>, String, TempDir) {
        self.process.signal(signal);
        let (code, rest) = self.process.wait();
        (code, rest, self.folder)
    }
}
