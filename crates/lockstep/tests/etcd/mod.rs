//! Real etcd as a process that ends with the test.

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A process that is killed when its owner is dropped.
pub(crate) struct Process(pub(crate) Child);

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// A running etcd with one member.
pub(crate) struct Etcd {
    _process: Process,
    address: String,
}

impl Etcd {
    /// None if this machine has no etcd.
    pub(crate) fn start(folder: &Path) -> Option<Self> {
        Self::start_with(folder, "http", &[])
    }

    /// The same, with more flags and another scheme.
    pub(crate) fn start_with(folder: &Path, scheme: &str, flags: &[&OsStr]) -> Option<Self> {
        let program = std::env::var_os("LOCKSTEP_TEST_ETCD").unwrap_or_else(|| "etcd".into());
        let known = Command::new(&program).arg("--version").output();
        if !known.is_ok_and(|output| output.status.success()) {
            println!("SKIPPED: etcd is not installed, so clients met the embedded store only");
            return None;
        }
        // Somebody else may take a port before etcd does; then others are tried.
        for _ in 0..20 {
            let mut command = Command::new(&program);
            command.args(flags);
            if let Some(started) = Self::try_start(command, folder, scheme) {
                return Some(started);
            }
        }
        panic!("etcd does not become ready");
    }

    fn try_start(mut command: Command, folder: &Path, scheme: &str) -> Option<Self> {
        let free = || {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            listener.local_addr().unwrap()
        };
        let (client, peer) = (free(), free());
        let (client_url, peer_url) = (format!("{scheme}://{client}"), format!("http://{peer}"));
        let data = tempfile::tempdir_in(folder).unwrap().keep();
        let child = command
            .arg("--data-dir")
            .arg(data)
            .args(["--listen-client-urls", &client_url])
            .args(["--advertise-client-urls", &client_url])
            .args(["--listen-peer-urls", &peer_url])
            .args(["--initial-advertise-peer-urls", &peer_url])
            .args(["--initial-cluster", &format!("default={peer_url}")])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut process = Process(child);
        let mut lines = BufReader::new(process.0.stderr.take().unwrap());
        let mut told = String::new();
        while !told.contains("ready to serve client requests") {
            if lines.read_line(&mut told).unwrap() == 0 {
                return None;
            }
        }
        std::thread::spawn(move || lines.read_to_string(&mut String::new()));
        Some(Self {
            _process: process,
            address: client.to_string(),
        })
    }

    /// What `--store` takes.
    pub(crate) fn store(&self) -> String {
        format!("etcd://{}", self.address)
    }
}
