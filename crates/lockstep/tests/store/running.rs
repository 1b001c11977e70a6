//! A server process on a free port.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

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

/// A process that is killed when the test is over.
pub(crate) struct Running {
    child: Child,
    pub(crate) endpoint: String,
    pub(crate) folder: TempDir,
    log: BufReader<std::process::ChildStderr>,
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
        // Somebody else may take the port before the server does; then another one is tried.
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
            let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
            let mut log = BufReader::new(child.stderr.take().unwrap());
            if wait_for(&mut log, "ready to serve client requests").is_some() {
                return Self {
                    child,
                    endpoint,
                    folder,
                    log,
                };
            }
            child.wait().unwrap();
        }
        panic!("the server does not become ready");
    }

    /// Waits for the end, and answers with the exit code and the rest of the log.
    pub(crate) fn wait(mut self) -> (Option<i32>, String) {
        let mut rest = String::new();
        std::io::Read::read_to_string(&mut self.log, &mut rest).unwrap();
        (self.child.wait().unwrap().code(), rest)
    }

    /// Sends a signal, waits for the end, and answers with the exit code and the rest of the log.
    pub(crate) fn end(mut self, signal: &str) -> (Option<i32>, String, TempDir) {
        let id = self.child.id().to_string();
        let sent = Command::new("kill").args(["-s", signal, &id]).status();
        assert!(sent.unwrap().success(), "kill");
        let mut rest = String::new();
        std::io::Read::read_to_string(&mut self.log, &mut rest).unwrap();
        let code = self.child.wait().unwrap().code();
        let folder = std::mem::replace(&mut self.folder, tempfile::tempdir().unwrap());
        (code, rest, folder)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// The first line with a text; none if the output ends before.
pub(crate) fn wait_for(log: &mut impl BufRead, text: &str) -> Option<String> {
    let lines = log.lines().map_while(Result::ok);
    lines.into_iter().find(|line| line.contains(text))
}
