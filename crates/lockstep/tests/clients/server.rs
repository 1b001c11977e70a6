//! Servers and etcd members as processes that end with the test.

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

/// A process that is killed when its owner is dropped.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// A running `lockstep serve`.
pub(crate) struct Server {
    process: Process,
    kubeconfig: PathBuf,
}

impl Server {
    /// Starts on a data directory with the store that `--store` names.
    pub(crate) fn start(data: &Path, store: &str) -> Self {
        Self::start_with(data, store, &[])
    }

    /// The same, with more flags.
    pub(crate) fn start_with(data: &Path, store: &str, flags: &[&OsStr]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_lockstep"))
            .args(["serve", "--secure-port", "0", "--store", store])
            .arg("--data-dir")
            .arg(data)
            .args(flags)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap());
        let mut announced = String::new();
        while !announced.contains("  try  ") {
            let read = lines.read_line(&mut announced).unwrap();
            assert!(read > 0, "it ended: {announced}");
        }
        // Somebody has to read what is logged later.
        std::thread::spawn(move || lines.read_to_string(&mut String::new()));
        Self {
            process: Process(child),
            kubeconfig: data.join("admin.kubeconfig"),
        }
    }

    pub(crate) fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    pub(crate) async fn client(&self) -> Client {
        let kubeconfig = Kubeconfig::read_from(&self.kubeconfig).unwrap();
        let options = KubeConfigOptions::default();
        let config = Config::from_custom_kubeconfig(kubeconfig, &options).await;
        Client::try_from(config.unwrap()).unwrap()
    }

    /// Ends it without a chance to say goodbye.
    pub(crate) fn kill(mut self) {
        self.process.0.kill().unwrap();
        self.process.0.wait().unwrap();
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

/// Runs a test on a server with the embedded store, and on one with etcd if there is one.
pub(crate) async fn on_each_store(test: impl AsyncFn(&Server)) {
    let folder = tempfile::tempdir().unwrap();
    test(&Server::start(&folder.path().join("embedded"), "embedded")).await;
    if let Some(etcd) = Etcd::start(folder.path()) {
        test(&Server::start(&folder.path().join("etcd"), &etcd.store())).await;
    }
}
