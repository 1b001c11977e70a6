//! Servers as processes that end with the test.

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

use crate::etcd::{Etcd, Process};

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

/// Runs a test on a server with the embedded store, and on one with etcd if there is one.
pub(crate) async fn on_each_store(test: impl AsyncFn(&Server)) {
    let folder = tempfile::tempdir().unwrap();
    test(&Server::start(&folder.path().join("embedded"), "embedded")).await;
    if let Some(etcd) = Etcd::start(folder.path()) {
        test(&Server::start(&folder.path().join("etcd"), &etcd.store())).await;
    }
}
