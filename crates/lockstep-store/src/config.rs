//! Configuration of the server. The binary builds it from flags.

use std::path::PathBuf;
use std::time::Duration;

use crate::{Address, AutoCompaction, Level};

/// The newest release of etcd whose API is served.
pub const ETCD_VERSION: &str = "3.7.0";

/// Configuration of a server.
#[derive(Clone, Debug)]
pub struct Config {
    /// Human-readable name of this member.
    pub name: String,
    /// Data directory.
    pub data_dir: PathBuf,
    /// Client listen addresses.
    pub listen_client: Vec<Address>,
    /// Listen addresses for HTTP only; if empty, client addresses serve both gRPC and HTTP.
    pub listen_client_http: Vec<Address>,
    /// Additional listen addresses for health and metrics.
    pub listen_metrics: Vec<Address>,
    /// Advertised client URLs.
    pub advertise_client_urls: Vec<String>,
    /// Peer URLs. No listener uses them yet.
    pub peer_urls: Vec<String>,
    /// Distinguishes the ids of clusters with equal peer URLs.
    pub cluster_token: String,
    /// Enables the JSON gateway.
    pub gateway: bool,
    /// TLS files of addresses with `https` or `unixs`.
    pub tls: Option<TlsFiles>,
    /// Maximum request size in bytes.
    pub request_bytes_max: usize,
    /// Maximum number of compares and of operations of a transaction.
    pub txn_ops_max: usize,
    /// Backend quota in bytes; `None` is unlimited.
    pub quota_bytes: Option<u64>,
    /// The etcd release line presented to clients.
    pub level: Level,
    /// Raft election timeout; the minimum lease TTL is one and a half times as long.
    pub election_timeout: Duration,
    /// Automatic compaction.
    pub auto_compaction: Option<AutoCompaction>,
    /// Interval of progress notifications for watchers that requested them.
    pub watch_progress_interval: Duration,
    /// Maximum concurrent streams of a connection.
    pub streams_max: u32,
    /// Minimum interval of client pings; zero allows any rate.
    pub keepalive_interval_min: Duration,
    /// Interval of server pings on idle connections.
    pub keepalive_interval: Duration,
    /// Timeout of a server ping.
    pub keepalive_timeout: Duration,
    /// Threshold of the metric for slow applies.
    pub slow_apply: Duration,
    /// False acknowledges writes before they are fsynced, so a machine crash loses them.
    pub fsync: bool,
}

/// PEM files for TLS. Changed files are reloaded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TlsFiles {
    /// Server certificate chain.
    pub certificate: PathBuf,
    /// Private key of the certificate.
    pub key: PathBuf,
    /// CA bundle for client certificates; if set, clients must present one.
    pub client_authorities: Option<PathBuf>,
    /// Certificate revocation list.
    pub revoked: Option<PathBuf>,
}

impl Config {
    /// Minimum lease TTL: one and a half times the election timeout, in whole seconds.
    pub fn lease_ttl_min_seconds(&self) -> i64 {
        let millis = self.election_timeout.as_millis().saturating_mul(3);
        i64::try_from(millis.div_ceil(2).div_ceil(1000)).unwrap_or(i64::MAX)
    }

    /// Time after which a request fails with an unknown outcome.
    pub fn request_timeout(&self) -> Duration {
        Duration::from_secs(5) + 2 * self.election_timeout
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            name: "default".to_owned(),
            data_dir: "default.etcd".into(),
            listen_client: Vec::new(),
            listen_client_http: Vec::new(),
            listen_metrics: Vec::new(),
            advertise_client_urls: Vec::new(),
            peer_urls: vec!["http://localhost:2380".to_owned()],
            cluster_token: "etcd-cluster".to_owned(),
            gateway: true,
            tls: None,
            request_bytes_max: 3 << 19,
            txn_ops_max: 128,
            quota_bytes: Some(2 << 30),
            level: Level::default(),
            election_timeout: Duration::from_secs(1),
            auto_compaction: None,
            watch_progress_interval: Duration::from_secs(10 * 60),
            streams_max: u32::MAX,
            keepalive_interval_min: Duration::from_secs(5),
            keepalive_interval: Duration::from_secs(2 * 60 * 60),
            keepalive_timeout: Duration::from_secs(20),
            slow_apply: Duration::from_millis(100),
            fsync: true,
        }
    }
}
