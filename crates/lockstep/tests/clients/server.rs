//! Servers as kube-rs reaches them.

use std::ffi::OsStr;
use std::path::Path;

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use lockstep_testkit::processes::{self, Etcd};

/// A running `lockstep serve`.
pub(crate) struct Server(processes::Server);

impl Server {
    /// Starts on a data directory with the store that `--store` names.
    pub(crate) fn start(data: &Path, store: &str) -> Self {
        Self::start_with(data, store, &[])
    }

    /// Form of [`Self::start`] with more flags.
    pub(crate) fn start_with(data: &Path, store: &str, flags: &[&OsStr]) -> Self {
        let program = Path::new(env!("CARGO_BIN_EXE_lockstep"));
        Self(processes::Server::start(program, data, store, flags))
    }

    pub(crate) fn kubeconfig(&self) -> &Path {
        self.0.kubeconfig()
    }

    pub(crate) async fn client(&self) -> Client {
        let kubeconfig = Kubeconfig::read_from(self.kubeconfig()).unwrap();
        let options = KubeConfigOptions::default();
        let config = Config::from_custom_kubeconfig(kubeconfig, &options).await;
        Client::try_from(config.unwrap()).unwrap()
    }

    /// Ends it without a chance to say goodbye.
    pub(crate) fn kill(self) {
        self.0.kill();
    }
}

/// Runs a test on a server with the embedded store, and on one with etcd if there is one.
pub(crate) async fn on_each_store(test: impl AsyncFn(&Server)) {
    on_each_store_with(&[], test).await;
}

/// Form of [`on_each_store`] with more flags.
pub(crate) async fn on_each_store_with(flags: &[&OsStr], test: impl AsyncFn(&Server)) {
    let folder = tempfile::tempdir().unwrap();
    let start =
        |name: &str, store: &str| Server::start_with(&folder.path().join(name), store, flags);
    test(&start("embedded", "embedded")).await;
    if let Some(etcd) = Etcd::start(folder.path(), "http", &[]) {
        test(&start("etcd", &etcd.store())).await;
    }
}
