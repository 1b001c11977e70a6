//! Servers and etcd members as processes that end with the test.

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// How often etcd is started anew because somebody else took its port.
const ETCD_STARTS_MAX: usize = 20;

/// A process that is killed when its owner is dropped.
pub struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

impl Process {
    /// Starts it, and lets nobody see what it says.
    ///
    /// # Panics
    ///
    /// If there is no such program.
    pub fn start_silent(command: &mut Command) -> Self {
        let silent = command.stdout(Stdio::null()).stderr(Stdio::null());
        Self(silent.spawn().expect("the program can be started"))
    }

    /// Starts it, and waits until it has said `word` on its standard error; none if it ends before.
    fn start(command: &mut Command, word: &str) -> Result<Self, String> {
        let child = command.stderr(Stdio::piped()).spawn();
        let mut process = Self(child.expect("the program can be started"));
        let errors = process.0.stderr.take().expect("it is a pipe");
        let mut lines = BufReader::new(errors);
        let mut said = String::new();
        while !said.contains(word) {
            if lines.read_line(&mut said).expect("it says text") == 0 {
                return Err(said);
            }
        }
        // Somebody has to read what is logged later.
        std::thread::spawn(move || lines.read_to_string(&mut String::new()));
        Ok(process)
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
        let process = Process::start(&mut command, "  try  ");
        Self {
            process: process.unwrap_or_else(|said| panic!("it ended: {said}")),
            kubeconfig: data.join("admin.kubeconfig"),
        }
    }

    /// The file by which its administrator reaches it.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// Ends it without a chance to say goodbye.
    ///
    /// # Panics
    ///
    /// If it has ended before.
    pub fn kill(mut self) {
        self.process.0.kill().expect("it runs");
        self.process.0.wait().expect("it ends");
    }
}

/// A running etcd with one member.
pub struct Etcd {
    _process: Process,
    address: SocketAddr,
}

impl Etcd {
    /// Starts the etcd that `LOCKSTEP_TEST_ETCD` or the search path names, on a directory of its own in `folder`; none, aloud, if this
    /// machine has none.
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
        // Somebody else may take a port before etcd does; then others are tried.
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
        let process = Process::start(command, "ready to serve client requests").ok()?;
        Some(Self {
            _process: process,
            address,
        })
    }

    /// What `--store` takes.
    pub fn store(&self) -> String {
        format!("etcd://{}", self.address)
    }
}

/// An address that was free a moment ago.
fn free() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
    listener.local_addr().expect("it is bound")
}

/// Says what a test does not do, and why; whoever runs the tests repeats it.
#[expect(clippy::print_stdout, reason = "what is skipped is said aloud")]
pub fn skipped(why: &str) {
    println!("SKIPPED: {why}");
}
