//! A server of its own for each test, on a free port.

use std::net::Ipv4Addr;

use lockstep_etcd_api::etcdserverpb as pb;
use lockstep_store::{Config, Server};
use pb::kv_client::KvClient;
use pb::lease_client::LeaseClient;
use pb::maintenance_client::MaintenanceClient;
use pb::watch_client::WatchClient;
use tempfile::TempDir;
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tonic::Status;
use tonic::transport::{Channel, Endpoint};

/// A server that runs until it is dropped or stopped.
pub(crate) struct Running {
    pub(crate) port: u16,
    channel: Channel,
    stop: Option<oneshot::Sender<()>>,
    task: JoinSet<Result<(), String>>,
    folder: TempDir,
}

impl Running {
    pub(crate) async fn start() -> Self {
        Self::start_with(|_| {}).await
    }

    pub(crate) async fn start_with(change: impl FnOnce(&mut Config)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self::start_on(folder, change).await
    }

    pub(crate) async fn start_on(folder: TempDir, change: impl FnOnce(&mut Config)) -> Self {
        let mut config = Config {
            data_dir: folder.path().join("data"),
            listen_client: vec!["http://127.0.0.1:0".parse().unwrap()],
            fsync: false,
            ..Config::default()
        };
        change(&mut config);
        let server = Server::start(config).await.unwrap();
        let port = server.port().unwrap_or_default();
        let (stop, stopped) = oneshot::channel();
        let run = server.run(async {
            stopped.await.unwrap_or_default();
        });
        let mut task = JoinSet::new();
        task.spawn(run);
        let stop = Some(stop);
        let uri = format!("http://{}:{port}", Ipv4Addr::LOCALHOST);
        let channel = Endpoint::from_shared(uri).unwrap().connect_lazy();
        Self {
            port,
            channel,
            stop,
            task,
            folder,
        }
    }

    /// Stops in order and gives the directory back.
    pub(crate) async fn stop(mut self) -> (TempDir, Result<(), String>) {
        drop(self.stop.take());
        let outcome = self.task.join_next().await.unwrap().unwrap();
        (self.folder, outcome)
    }

    pub(crate) fn folder(&self) -> &std::path::Path {
        self.folder.path()
    }

    pub(crate) fn channel(&self) -> Channel {
        self.channel.clone()
    }

    pub(crate) fn kv(&self) -> KvClient<Channel> {
        KvClient::new(self.channel()).max_decoding_message_size(usize::MAX)
    }

    pub(crate) fn watch(&self) -> WatchClient<Channel> {
        WatchClient::new(self.channel())
    }

    pub(crate) fn lease(&self) -> LeaseClient<Channel> {
        LeaseClient::new(self.channel())
    }

    pub(crate) fn maintenance(&self) -> MaintenanceClient<Channel> {
        MaintenanceClient::new(self.channel())
    }

    /// Puts, and answers with the revision.
    pub(crate) async fn put(&self, key: &str, value: &str) -> i64 {
        let answer = self.kv().put(put(key, value)).await.unwrap().into_inner();
        answer.header.unwrap().revision
    }

    pub(crate) async fn delete(&self, key: &str) -> i64 {
        let request = pb::DeleteRangeRequest {
            key: key.to_owned().into(),
            ..pb::DeleteRangeRequest::default()
        };
        let answer = self.kv().delete_range(request).await.unwrap().into_inner();
        answer.header.unwrap().revision
    }

    pub(crate) async fn compact(&self, revision: i64) -> Result<i64, String> {
        let request = pb::CompactionRequest {
            revision,
            physical: true,
        };
        let answer = self
            .kv()
            .compact(request)
            .await
            .map_err(|status| code_and_text(&status))?;
        Ok(answer.into_inner().header.unwrap().revision)
    }
}

pub(crate) fn put(key: &str, value: &str) -> pb::PutRequest {
    pb::PutRequest {
        key: key.to_owned().into(),
        value: value.to_owned().into(),
        ..pb::PutRequest::default()
    }
}

pub(crate) fn get(key: &str) -> pb::RangeRequest {
    pb::RangeRequest {
        key: key.to_owned().into(),
        ..pb::RangeRequest::default()
    }
}

/// All keys.
pub(crate) fn all() -> pb::RangeRequest {
    pb::RangeRequest {
        key: vec![0].into(),
        range_end: vec![0].into(),
        ..pb::RangeRequest::default()
    }
}

/// Code and text, as clients match them.
pub(crate) fn code_and_text(status: &Status) -> String {
    format!("{:?}: {}", status.code(), status.message())
}
