//! Watchers that count their events.

use bytes::Bytes;
use lockstep_etcd_api::etcdserverpb as pb;
use prost::Message;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::client::{Connection, Messages};
use crate::contents;

/// Number of streams, each on its own connection.
const STREAMS: usize = 10;
const WATCHERS_PER_STREAM: usize = 10;
pub(crate) const WATCHERS: usize = STREAMS * WATCHERS_PER_STREAM;

/// Streams that are being read.
pub(crate) struct Watchers {
    readers: JoinSet<anyhow::Result<()>>,
    /// Events received by each stream.
    counts: Vec<watch::Receiver<u64>>,
    _connections: Vec<Connection>,
}

impl Watchers {
    /// Returns when every watcher is there.
    pub(crate) async fn start(port: u16) -> anyhow::Result<Self> {
        let connections = Connection::open_many(port, STREAMS).await?;
        let mut readers = JoinSet::new();
        let mut counts = Vec::new();
        for connection in &connections {
            let call = contents::watch(WATCHERS_PER_STREAM);
            let mut messages = connection.handle().stream(call).await?;
            for _ in 0..WATCHERS_PER_STREAM {
                let created = decode(messages.next().await?)?;
                anyhow::ensure!(created.created && !created.canceled, "{created:?}");
            }
            let (told, count) = watch::channel(0);
            counts.push(count);
            readers.spawn(read(messages, told));
        }
        Ok(Self {
            readers,
            counts,
            _connections: connections,
        })
    }

    /// Waits until every watcher has got so many events.
    pub(crate) async fn wait_for(&mut self, changes: u64) -> anyhow::Result<()> {
        let wanted = changes * WATCHERS_PER_STREAM as u64;
        for count in &mut self.counts {
            if count.wait_for(|count| *count >= wanted).await.is_err() {
                while let Some(ended) = self.readers.join_next().await {
                    ended??;
                }
                anyhow::bail!("a watch ended");
            }
        }
        Ok(())
    }
}

async fn read(mut messages: Messages, told: watch::Sender<u64>) -> anyhow::Result<()> {
    loop {
        let response = decode(messages.next().await?)?;
        anyhow::ensure!(!response.canceled, "a watcher was canceled: {response:?}");
        told.send_modify(|count| *count += response.events.len() as u64);
    }
}

fn decode(message: Option<Bytes>) -> anyhow::Result<pb::WatchResponse> {
    let message = message.ok_or_else(|| anyhow::anyhow!("a watch stream ended"))?;
    Ok(pb::WatchResponse::decode(message)?)
}
