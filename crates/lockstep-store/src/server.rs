//! Server startup, run loop and shutdown.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use lockstep_storage_embedded::{Durability, EmbeddedStore, OpenError, Options};
use tokio_util::task::TaskTracker;
use tonic_health::ServingStatus;
use tonic_health::server::{HealthReporter, HealthService};

use crate::compactor;
use crate::config::Config;
use crate::dispatch::{Dispatch, Serves};
use crate::identity::Identity;
use crate::listen::{Address, Connections, Listener, Tls};
use crate::member::Member;
use crate::request_timeout::TICK;
use crate::workers::Workers;

/// Grace period for running requests at shutdown.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);
/// Interval of quota measurements.
const MEASURE_INTERVAL: Duration = TICK;

/// Errors of starting a server.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The data directory cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The member's ids cannot be read or persisted.
    #[error("the member's ids in `{folder}`: {source}")]
    Identity {
        /// The directory.
        folder: std::path::PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The TLS files cannot be loaded.
    #[error("TLS: {0}")]
    Tls(io::Error),
    /// An address requires TLS, which is not configured.
    #[error("`{0}` needs TLS, but no certificate and key are given")]
    NoTls(Address),
    /// An address cannot be bound.
    #[error("listening at `{address}`: {source}")]
    Listen {
        /// The address.
        address: Address,
        /// The operating system's error.
        source: io::Error,
    },
}

/// A server with an open data directory and bound addresses.
pub struct Server {
    member: Arc<Member>,
    listeners: Vec<Listener>,
    health: HealthReporter,
}

impl Server {
    /// Opens the data directory and binds all addresses. Must be called inside a tokio runtime.
    pub async fn start(config: Config) -> Result<Self, StartError> {
        let tls = match &config.tls {
            Some(files) => Some(Arc::new(Tls::read(files.clone()).map_err(StartError::Tls)?)),
            None => None,
        };
        let listeners = listen(&config, tls.as_ref()).await?;
        let member = open(config)?;
        member.measure();
        let health = HealthReporter::new();
        Ok(Self {
            member,
            listeners,
            health,
        })
    }

    /// Port of the first client address, for port 0.
    pub fn port(&self) -> Option<u16> {
        self.listeners.first().and_then(Listener::port)
    }

    /// Serves until `shutdown` completes or the store fails, which is returned as the error.
    pub async fn run(self, shutdown: impl Future<Output = ()>) -> Result<(), String> {
        let Self {
            member,
            listeners,
            health,
        } = self;
        let tasks = TaskTracker::new();
        let health_service = HealthService::from_health_reporter(health.clone());
        let connections = Connections {
            member: member.clone(),
            dispatch: Dispatch::new(&member, health_service),
            tasks: tasks.clone(),
        };
        let workers = Workers::start(&connections);
        let workers = workers.map_err(|error| format!("starting threads: {error}"))?;
        for listener in listeners {
            let stopping = member.stopping.token().clone();
            tasks.spawn(listener.accept_all(stopping, workers.round_robin()));
        }
        tasks.spawn(measure(member.clone()));
        if let Some(mode) = member.config.auto_compaction {
            tasks.spawn(compactor::run(member.clone(), mode));
        }
        let id = member.identity.member_id;
        tracing::info!(
            version = member.config.level.release(),
            member_id = format!("{id:x}"),
            "ready to serve client requests"
        );
        let stopping = member.stopping.token();
        // Also stop if this future is dropped.
        let _stop = stopping.clone().drop_guard();
        stopping.run_until_cancelled(shutdown).await;
        health
            .set_service_status("", ServingStatus::NotServing)
            .await;
        member.stopping.stop();
        drop(connections);
        tasks.close();
        if tokio::time::timeout(DRAIN_TIMEOUT, tasks.wait())
            .await
            .is_err()
        {
            tracing::warn!("requests were still under way at the end");
        }
        workers.end().await;
        match member.stopping.reason() {
            None => Ok(()),
            Some(reason) => Err(reason),
        }
    }
}

async fn listen(config: &Config, tls: Option<&Arc<Tls>>) -> Result<Vec<Listener>, StartError> {
    let clients = if config.listen_client_http.is_empty() {
        Serves::Both
    } else {
        Serves::Grpc
    };
    let groups = [
        (&config.listen_client, clients),
        (&config.listen_client_http, Serves::Http),
        (&config.listen_metrics, Serves::Metrics),
    ];
    let mut listeners = Vec::new();
    for (addresses, serves) in groups {
        for address in addresses {
            if address.uses_tls() && tls.is_none() {
                return Err(StartError::NoTls(address.clone()));
            }
            let listener = Listener::bind(address, tls.cloned(), serves).await;
            listeners.push(listener.map_err(|source| StartError::Listen {
                address: address.clone(),
                source,
            })?);
        }
    }
    Ok(listeners)
}

fn open(config: Config) -> Result<Arc<Member>, StartError> {
    let options = Options {
        durability: if config.fsync {
            Durability::Fsync
        } else {
            Durability::None
        },
        slow_apply: config.slow_apply,
        ..Options::default()
    };
    let store = EmbeddedStore::open(&config.data_dir, &options)?;
    let fresh = Identity::decide(&config.peer_urls, &config.cluster_token);
    let identity = Identity::keep(&config.data_dir, fresh);
    let identity = identity.map_err(|source| StartError::Identity {
        folder: config.data_dir.clone(),
        source,
    })?;
    Ok(Member::new(store, config, identity))
}

/// Measures the size of the state until shutdown.
async fn measure(member: Arc<Member>) {
    let stopping = member.stopping.token().clone();
    let pause = || tokio::time::sleep(MEASURE_INTERVAL);
    while stopping.run_until_cancelled(pause()).await.is_some() {
        member.request_timeout.tick();
        member.measure();
    }
}
