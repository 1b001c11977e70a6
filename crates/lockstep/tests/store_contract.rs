//! `lockstep store` seen through the client that the API server uses for etcd: the store in memory,
//! the one on a directory, etcd and this server keep the same rules.

#![expect(clippy::unwrap_used, reason = "what a test cannot do is a failure")]

use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::sync::Arc;

use lockstep_storage::Store;
use lockstep_storage::contract::histories::{self, Plan, seeds};
use lockstep_storage::contract::{RULES, Subject};
use lockstep_storage_etcd::{EtcdStore, Options};
use lockstep_testkit::processes::Process;
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// A running server and its directory.
struct Server {
    _process: Process,
    url: String,
    _folder: TempDir,
}

impl Server {
    fn start() -> Self {
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        let folder = folder.unwrap();
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", free.local_addr().unwrap());
        drop(free);
        let mut command = Command::new(env!("CARGO_BIN_EXE_lockstep"));
        command
            .arg("store")
            .args(["--listen-client-urls", &url])
            .args(["--advertise-client-urls", &url])
            .args(["--election-timeout", "200", "--heartbeat-interval", "20"])
            .arg("--data-dir")
            .arg(folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        // etcd-api.md §10/ready-line.
        let started = Process::start(&mut command, &["ready to serve client requests"]);
        let (process, _) = started.unwrap();
        Self {
            _process: process.drained(),
            url,
            _folder: folder,
        }
    }

    async fn connect(&self) -> Arc<EtcdStore> {
        let store = EtcdStore::connect(Options::new([self.url.as_str()])).await;
        Arc::new(store.unwrap())
    }
}

#[test]
fn the_server_keeps_all_rules_of_a_store() {
    let server = Server::start();
    let runtime = Runtime::new().unwrap();
    let broken: Vec<_> = runtime.block_on(async {
        let store = server.connect().await;
        let mut broken = Vec::new();
        for rule in RULES {
            let subject = Subject::new(store.clone());
            if runtime.spawn(rule.run(subject)).await.is_err() {
                broken.push(rule.name);
            }
        }
        broken
    });
    assert_eq!(broken, [""; 0]);
}

#[test]
fn the_server_gives_sound_histories() {
    for seed in seeds("lockstep store", 2) {
        let server = Server::start();
        Runtime::new().unwrap().block_on(async {
            let store: Arc<dyn Store> = server.connect().await;
            let plan = Plan {
                abandon: false,
                ..Plan::new(seed)
            };
            let history = histories::record(&[store], plan).await;
            if let Err(violations) = histories::check(&history) {
                let shown: String = violations.iter().map(|it| format!("{it}\n")).collect();
                panic!("seed {seed}:\n{shown}");
            }
        });
    }
}
