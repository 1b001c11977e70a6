//! Servers and etcd members as processes that end with the test.

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};

/// Bound on attempts to start etcd on a free port, which another process may take first.
const ETCD_STARTS_MAX: usize = 20;

/// Guard of a child process: kills it when dropped, so that no process outlives its test.
pub struct Process {
    child: Child,
    log: Option<BufReader<ChildStderr>>,
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl From<Child> for Process {
    fn from(child: Child) -> Self {
        Self { child, log: None }
    }
}

impl Process {
    /// Starts a process and discards its output.
    ///
    /// # Panics
    ///
    /// If there is no such program.
    pub fn start_silent(command: &mut Command) -> Self {
        let silent = command.stdout(Stdio::null()).stderr(Stdio::null());
        Self::from(silent.spawn().expect("the program can be started"))
    }

    /// Starts a process, waits until its standard error has one of `words`, and returns that output so far. If the
    /// process ends first, its whole output is the error.
    ///
    /// # Panics
    ///
    /// If there is no such program.
    pub fn start(command: &mut Command, words: &[&str]) -> Result<(Self, String), String> {
        let child = command.stderr(Stdio::piped()).spawn();
        let mut process = Self::from(child.expect("the program can be started"));
        let errors = process.child.stderr.take().expect("it is a pipe");
        let mut log = BufReader::new(errors);
        let mut said = String::new();
        while !words.iter().any(|word| said.contains(word)) {
            if log.read_line(&mut said).expect("the log is text") == 0 {
                return Err(said);
            }
        }
        process.log = Some(log);
        Ok((process, said))
    }

    /// Reads and discards the rest of the log in the background, so that the process never blocks on a full pipe.
    #[must_use]
    pub fn drained(mut self) -> Self {
        if let Some(mut log) = self.log.take() {
            std::thread::spawn(move || log.read_to_end(&mut Vec::new()));
        }
        self
    }

    /// Takes the standard output of a process that was started with a pipe for it.
    ///
    /// # Panics
    ///
    /// If it is not a pipe, or was taken before.
    pub fn output(&mut self) -> ChildStdout {
        self.child.stdout.take().expect("it is a pipe")
    }

    /// True if the process has ended.
    ///
    /// # Panics
    ///
    /// If it cannot be awaited.
    pub fn has_ended(&mut self) -> bool {
        let ended = self.child.try_wait();
        ended.expect("our own process can be awaited").is_some()
    }

    /// The process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal, such as `TERM`.
    ///
    /// # Panics
    ///
    /// If it cannot be sent.
    pub fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        let sent = Command::new("kill").args(["-s", name, &id]).status();
        assert!(sent.expect("`kill` can be run").success(), "kill -s {name}");
    }

    /// Waits for the end, and returns the exit code and the rest of the log.
    ///
    /// # Panics
    ///
    /// If it cannot be awaited.
    pub fn wait(mut self) -> (Option<i32>, String) {
        let mut rest = String::new();
        if let Some(mut log) = self.log.take() {
            log.read_to_string(&mut rest).expect("the log is text");
        }
        let status = self.child.wait().expect("our own process can be awaited");
        (status.code(), rest)
    }

    /// Kills the process and waits for its end.
    ///
    /// # Panics
    ///
    /// If it has ended before.
    pub fn kill(mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("our own process can be awaited");
    }
}

/// A running `lockstep serve`.
pub struct Server {
    process: Process,
    kubeconfig: PathBuf,
}

impl Server {
    /// Starts `program` on a data directory with the store that `--store` names.
    ///
    /// # Panics
    ///
    /// If it ends instead of serving.
    pub fn start(program: &Path, data: &Path, store: &str, flags: &[&OsStr]) -> Self {
        let mut command = Command::new(program);
        command
            .args(["serve", "--secure-port", "0", "--store", store])
            .arg("--data-dir")
            .arg(data)
            .args(flags);
        let started = Process::start(&mut command, &["  try  "]);
        let (process, _) = started.unwrap_or_else(|said| panic!("it ended: {said}"));
        Self {
            process: process.drained(),
            kubeconfig: data.join("admin.kubeconfig"),
        }
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// The kubeconfig of its administrator.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// Kills the server with SIGKILL.
    ///
    /// # Panics
    ///
    /// If it has ended before.
    pub fn kill(self) {
        self.process.kill();
    }
}

/// A running etcd with one member.
pub struct Etcd {
    _process: Process,
    address: SocketAddr,
}

impl Etcd {
    /// Starts the etcd that `LOCKSTEP_TEST_ETCD` or the search path names, on its own directory in `folder`. Prints that the
    /// test is skipped, and returns none, if there is no etcd.
    ///
    /// # Panics
    ///
    /// If it does not become ready.
    pub fn start(folder: &Path, scheme: &str, flags: &[&OsStr]) -> Option<Self> {
        let program = std::env::var_os("LOCKSTEP_TEST_ETCD").unwrap_or_else(|| "etcd".into());
        let known = Command::new(&program).arg("--version").output();
        if !known.is_ok_and(|output| output.status.success()) {
            skipped("etcd is not installed, so clients met the embedded store only");
            return None;
        }
        // Another process may take a port before etcd does; then other ports are tried.
        let started = (0..ETCD_STARTS_MAX).find_map(|_| {
            let mut command = Command::new(&program);
            Self::try_start(command.args(flags), folder, scheme)
        });
        Some(started.expect("etcd becomes ready"))
    }

    fn try_start(command: &mut Command, folder: &Path, scheme: &str) -> Option<Self> {
        let (address, peer) = (free(), free());
        let (client_url, peer_url) = (format!("{scheme}://{address}"), format!("http://{peer}"));
        let data = folder.join(format!("etcd-{}", address.port()));
        command
            .arg("--data-dir")
            .arg(data)
            .args(["--listen-client-urls", &client_url])
            .args(["--advertise-client-urls", &client_url])
            .args(["--listen-peer-urls", &peer_url])
            .args(["--initial-advertise-peer-urls", &peer_url])
            .args(["--initial-cluster", &format!("default={peer_url}")])
            .stdout(Stdio::null());
        let (process, _) = Process::start(command, &["ready to serve client requests"]).ok()?;
        Some(Self {
            _process: process.drained(),
            address,
        })
    }

    /// The value of `--store` for this etcd.
    pub fn store(&self) -> String {
        format!("etcd://{}", self.address)
    }
}

/// An address that was free a moment ago.
fn free() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
    listener.local_addr().expect("it is bound")
}

/// Prints a skipped test and the reason, which `cargo xtask test` repeats in its summary.
#[expect(clippy::print_stdout, reason = "what is skipped is said aloud")]
pub fn skipped(why: &str) {
    println!("SKIPPED: {why}");
}
