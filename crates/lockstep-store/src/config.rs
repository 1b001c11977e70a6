//! How a server is set up. Flags become this in the binary.

use std::path::PathBuf;
use std::time::Duration;

use crate::{Address, AutoCompaction, Level};

/// The newest release of etcd whose API is served.
pub const ETCD_VERSION: &str = "3.7.0";

/// Everything a server can be told.
#[derive(Clone, Debug)]
pub struct Config {
    /// The name of this member, for people.
    pub name: String,
    /// The directory.
    pub data_dir: PathBuf,
    /// Where clients come in.
    pub listen_client: Vec<Address>,
    /// Where HTTP without gRPC comes in; if there are none, clients' addresses serve both.
    pub listen_client_http: Vec<Address>,
    /// Where health and metrics are served besides.
    pub listen_metrics: Vec<Address>,
    /// The URLs that clients are told.
    pub advertise_client_urls: Vec<String>,
    /// The URLs that other members would use. Nothing listens there yet.
    pub peer_urls: Vec<String>,
    /// Makes the ids of two clusters with the same peer URLs different.
    pub cluster_token: String,
    /// Whether those who speak JSON are served.
    pub gateway: bool,
    /// What addresses with TLS use.
    pub tls: Option<TlsFiles>,
    /// The most bytes of a request.
    pub request_bytes_max: usize,
    /// The most compares, and the most operations, of a transaction.
    pub txn_ops_max: usize,
    /// The most bytes of the state; none is without end.
    pub quota_bytes: Option<u64>,
    /// The release line of etcd that clients meet.
    pub level: Level,
    /// How long members wait for a leader; leases live at least one and a half times as long.
    pub election_timeout: Duration,
    /// What is forgotten without being asked.
    pub auto_compaction: Option<AutoCompaction>,
    /// How often watchers that asked for it are told their progress.
    pub watch_progress_interval: Duration,
    /// The most streams of one connection.
    pub streams_max: u32,
    /// How long a client has to wait between asking whether the server is there; zero lets it ask as
    /// often as it likes.
    pub keepalive_interval_min: Duration,
    /// How often an idle connection is asked whether it is there.
    pub keepalive_interval: Duration,
    /// How long the answer to that may take.
    pub keepalive_timeout: Duration,
    /// From how long on carrying out one write counts as slow, in metrics.
    pub slow_apply: Duration,
    /// Whether a write waits for the disk. Without it, a crash of the machine loses writes.
    pub waits_for_disk: bool,
}

/// PEM files for TLS. They are read again when they change.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TlsFiles {
    /// The server's certificate and those up to its authority.
    pub certificate: PathBuf,
    /// The key of the certificate.
    pub key: PathBuf,
    /// The authorities of clients; if given, a client needs a certificate of one of them.
    pub client_authorities: Option<PathBuf>,
    /// Certificates that are no longer good.
    pub revoked: Option<PathBuf>,
}

impl Config {
    /// The shortest TTL of a lease: one and a half times the election timeout, in whole seconds.
    pub fn lease_ttl_min_seconds(&self) -> i64 {
        let millis = self.election_timeout.as_millis().saturating_mul(3);
        i64::try_from(millis.div_ceil(2).div_ceil(1000)).unwrap_or(i64::MAX)
    }

    /// How long a request may take before its client is told that its outcome is unknown.
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
            waits_for_disk: true,
        }
    }
}
