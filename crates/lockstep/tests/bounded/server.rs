//! Servers as processes, with the etcd that some of them use.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use lockstep_testkit::processes::{self, Etcd};

/// A running `lockstep serve`, and the store that it uses.
pub(crate) struct Server {
    process: processes::Server,
    data: PathBuf,
    etcd: Option<Etcd>,
    flags: Vec<String>,
}

impl Server {
    /// Starts on an embedded store.
    pub(crate) fn embedded(data: &Path, flags: &[&str]) -> Self {
        Self::start(data, None, flags)
    }

    /// Starts on an etcd of its own; none if there is no etcd.
    pub(crate) fn on_etcd(data: &Path, flags: &[&str]) -> Option<Self> {
        let etcd = Etcd::start(data, "http", &[])?;
        Some(Self::start(data, Some(etcd), flags))
    }

    fn start(data: &Path, etcd: Option<Etcd>, flags: &[&str]) -> Self {
        let flags: Vec<String> = flags.iter().map(|&flag| flag.to_owned()).collect();
        let store = etcd.as_ref().map_or("embedded".to_owned(), Etcd::store);
        Self {
            process: process(data, &store, &flags),
            data: data.to_owned(),
            etcd,
            flags,
        }
    }

    /// Ends the process without a chance to say goodbye, and starts another one on the same data.
    pub(crate) fn restart(self) -> Self {
        let Self {
            process: old,
            data,
            etcd,
            flags,
        } = self;
        old.kill();
        let store = etcd.as_ref().map_or("embedded".to_owned(), Etcd::store);
        Self {
            process: process(&data, &store, &flags),
            data,
            etcd,
            flags,
        }
    }

    /// Process id.
    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    /// Folder of the server, and of its etcd.
    pub(crate) fn data(&self) -> &Path {
        &self.data
    }

    pub(crate) async fn client(&self) -> Client {
        Client::try_from(self.config().await).unwrap()
    }

    /// Configuration of a client of the administrator.
    pub(crate) async fn config(&self) -> Config {
        let kubeconfig = Kubeconfig::read_from(self.process.kubeconfig()).unwrap();
        let options = KubeConfigOptions::default();
        let config = Config::from_custom_kubeconfig(kubeconfig, &options).await;
        config.unwrap()
    }
}

fn process(data: &Path, store: &str, flags: &[String]) -> processes::Server {
    let program = Path::new(env!("CARGO_BIN_EXE_lockstep"));
    let flags: Vec<&OsStr> = flags.iter().map(OsStr::new).collect();
    processes::Server::start(program, data, store, &flags)
}
