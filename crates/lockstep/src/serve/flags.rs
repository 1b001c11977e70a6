//! The flags of the server. Names are kube-apiserver's wherever it has the feature.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;
use lockstep_apiserver::accounts::{AccountSettings, DEFAULT_ISSUER};
use lockstep_apiserver::admission::{Ineffective, Plugins};
use lockstep_apiserver::audit::{Audit, Destination, Policy, Rotation, Sink};
use lockstep_apiserver::authz::{Authorizer, allow_all, stored_rules_only};
use lockstep_apiserver::builtin::ApiWishes;
use lockstep_apiserver::limits::Limits;
use lockstep_apiserver::oidc::OidcSettings;
use lockstep_apiserver::trust::ServingNames;
use lockstep_apiserver::{
    CredentialFiles, EnabledControllers, LoopConfig, ServiceRange, TlsVersion,
};

use lockstep_gotext::duration::Duration as GoDuration;
use lockstep_storage_embedded::Durability;

use super::logging;
use super::oidc::OidcFlags;
use super::stores::{EtcdFiles, StoreAddress};
use crate::document;
use crate::failure::{Exit, Failure};
use crate::gate_flags::ServerFlags;

#[derive(Debug, clap::Args)]
#[command(
    next_line_help = true,
    after_help = "Examples:\n  lockstep serve\n  lockstep serve --data-dir /var/lib/lockstep --bind-address 0.0.0.0\n  lockstep serve --feature-gates CRDFieldLevelVersioning=true --emulated-version 1.36\n\nEvery flag can be given as a variable too: LOCKSTEP_DATA_DIR is --data-dir."
)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct Arguments {
    /// Directory of the store, the certificates and the kubeconfig
    #[arg(long, value_name = "DIR", default_value = "./lockstep-data")]
    pub(crate) data_dir: PathBuf,
    /// Store of the objects: `embedded`, or `etcd://host:port,…`
    #[arg(long, value_name = "STORE", default_value = "embedded")]
    pub(crate) store: StoreAddress,
    #[command(flatten)]
    pub(crate) etcd: EtcdFiles,
    /// Interval of compactions of the store, embedded or etcd, shared with other servers on it: history goes back one
    /// to two intervals; 0 means that this server does not compact
    #[arg(long, value_name = "DURATION", default_value = "5m0s", value_parser = duration)]
    pub(crate) etcd_compaction_interval: Duration,
    /// Do not fsync writes of the embedded store: a loss of power loses them
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true", action = clap::ArgAction::Set)]
    pub(crate) unsafe_no_fsync: bool,
    /// IP address to listen on; 0.0.0.0 means all interfaces
    #[arg(long, value_name = "IP", default_value = "127.0.0.1")]
    bind_address: IpAddr,
    /// HTTPS port; 0 means any free one
    #[arg(long, value_name = "PORT", default_value_t = 6443)]
    secure_port: u16,

    /// Serve the dashboard on this loopback address, as `IP:PORT`; off when not given
    #[cfg(feature = "dashboard")]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) dashboard_listen: Option<SocketAddr>,

    /// Serving certificate with its chain, as PEM
    #[arg(long, value_name = "FILE", requires = "tls_private_key_file")]
    tls_cert_file: Option<PathBuf>,
    /// Private key of `--tls-cert-file`, as PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert_file")]
    tls_private_key_file: Option<PathBuf>,
    /// Directory of `apiserver.crt` and `apiserver.key`, which are created if absent; `pki` in the data directory when
    /// not given
    #[arg(long, value_name = "DIR")]
    cert_dir: Option<PathBuf>,
    /// Minimum TLS version
    #[arg(long, value_name = "VERSION", default_value = "VersionTLS12")]
    tls_min_version: TlsMin,

    /// PEM bundle of authorities that sign client certificates, in addition to the server's own
    #[arg(long, value_name = "FILE")]
    client_ca_file: Option<PathBuf>,
    /// Static tokens: lines of `token,user,uid,"group1,group2"`
    #[arg(long, value_name = "FILE")]
    token_auth_file: Option<PathBuf>,
    /// Serve requests without credentials as `system:anonymous`
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value_t = true, default_missing_value = "true", action = clap::ArgAction::Set)]
    pub(crate) anonymous_auth: bool,
    /// Authorization modes, in order
    #[arg(
        long,
        value_name = "MODES",
        value_delimiter = ',',
        default_value = "RBAC"
    )]
    authorization_mode: Vec<AuthorizationMode>,

    /// Issuer of service-account tokens; may be repeated: new tokens name the first, and all are accepted
    #[arg(long, value_name = "ISSUER", default_value = DEFAULT_ISSUER)]
    service_account_issuer: Vec<String>,
    /// PEM private key (RSA, P-256, P-384 or P-521) that signs service-account tokens; the server's own when not given
    #[arg(long, value_name = "FILE")]
    service_account_signing_key_file: Option<PathBuf>,
    /// PEM public keys or certificates that verify service-account tokens; may be repeated
    #[arg(long, value_name = "FILE")]
    service_account_key_file: Vec<PathBuf>,
    /// Maximum lifetime of a service-account token; 0 means no maximum
    #[arg(long, value_name = "DURATION", default_value = "0s", value_parser = duration)]
    service_account_max_token_expiration: Duration,
    /// URI of the JSON Web Key Set in the discovery document of the issuer; that of this server when not given
    #[arg(long, value_name = "URL")]
    service_account_jwks_uri: Option<String>,
    /// Audiences of accepted service-account tokens; the issuers when not given
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    api_audiences: Vec<String>,

    #[command(flatten)]
    oidc: OidcFlags,

    /// File with the `audit.k8s.io/v1` Policy
    #[arg(long, value_name = "FILE", requires = "audit_log_path")]
    audit_policy_file: Option<PathBuf>,
    /// File of the audit log; `-` means standard output
    #[arg(long, value_name = "FILE", requires = "audit_policy_file")]
    audit_log_path: Option<PathBuf>,
    /// Maximum size of the audit log in mebibytes, before it is renamed with the time; 0 means no maximum
    #[arg(long, value_name = "MEBIBYTES", default_value_t = 100)]
    audit_log_maxsize: u32,
    /// Maximum number of renamed audit logs; 0 means no maximum
    #[arg(long, value_name = "FILES", default_value_t = 100)]
    audit_log_maxbackup: u32,
    /// Maximum age of renamed audit logs in days; 0 means no maximum
    #[arg(long, value_name = "DAYS", default_value_t = 366)]
    audit_log_maxage: u32,

    /// Admission plugins that must be on, by kube-apiserver's names; all are on unless disabled
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    enable_admission_plugins: Vec<String>,
    /// Admission plugins to switch off, by kube-apiserver's names
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    disable_admission_plugins: Vec<String>,

    /// Controllers to run, by kube-controller-manager's names: `*` means all, `-name` switches one off
    #[arg(
        long,
        value_name = "NAMES",
        default_value = "*",
        allow_hyphen_values = true
    )]
    controllers: EnabledControllers,
    /// Delay before the content of a terminating namespace is deleted, for clients that finalize it themselves
    #[arg(long, value_name = "DURATION", default_value = "0s", value_parser = duration)]
    namespace_deletion_grace: Duration,
    /// Lifetime of events after their last write; 0 means for ever
    #[arg(long, value_name = "DURATION", default_value = "1h0m0s", value_parser = duration)]
    pub(crate) event_ttl: Duration,
    /// CIDR of cluster IPs; the service `kubernetes` gets the first one
    #[arg(long, value_name = "CIDR", default_value_t = ServiceRange::default())]
    pub(crate) service_cluster_ip_range: ServiceRange,

    /// Queue requests by the stored FlowSchemas and PriorityLevelConfigurations, whose seats are the sum of the two
    /// limits below; if off, each limit holds by itself, and 0 means no limit
    #[arg(long, value_name = "BOOL", default_value_t = true, num_args = 0..=1, require_equals = true, default_missing_value = "true", action = clap::ArgAction::Set)]
    enable_priority_and_fairness: bool,
    /// Maximum number of concurrent read-only requests
    #[arg(long, value_name = "N", default_value_t = 400)]
    max_requests_inflight: usize,
    /// Maximum number of concurrent mutating requests
    #[arg(long, value_name = "N", default_value_t = 200)]
    max_mutating_requests_inflight: usize,
    /// Maximum duration of a request that is not a watch
    #[arg(long, value_name = "DURATION", default_value = "1m0s", value_parser = positive_duration)]
    request_timeout: Duration,
    /// Delay between SIGTERM and shutdown, during which `/readyz` fails
    #[arg(long, value_name = "DURATION", default_value = "0s", value_parser = duration)]
    shutdown_delay_duration: Duration,
    /// Maximum number of concurrent streams on an HTTP/2 connection
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    http2_max_streams_per_connection: u32,

    /// API versions to switch, as `GROUP/VERSION[/RESOURCE]=true|false,…`, `api/all` or `api/ga`; may be repeated
    #[arg(long, value_name = "APIS")]
    runtime_config: Vec<String>,
    #[command(flatten)]
    pub(crate) gates: ServerFlags,

    /// Print every flag with its value and its source, and exit
    #[arg(long)]
    pub(crate) print_config: bool,
    /// Log verbosity: 0 is normal, 3 logs every request, 6 everything
    #[arg(long = "v", value_name = "LEVEL", default_value_t = 0)]
    pub(crate) verbosity: u8,
    /// Format of log lines
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) logging_format: logging::Format,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum TlsMin {
    #[value(name = "VersionTLS12")]
    V12,
    #[value(name = "VersionTLS13")]
    V13,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum AuthorizationMode {
    #[value(name = "RBAC")]
    Rbac,
    #[value(name = "AlwaysAllow")]
    AlwaysAllow,
    // Nodes have the rights that RBAC gives them.
    #[value(name = "Node")]
    Node,
}

impl Arguments {
    pub(crate) fn address(&self) -> SocketAddr {
        SocketAddr::new(self.bind_address, self.secure_port)
    }

    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.data_dir.join("admin.kubeconfig")
    }

    /// The issuer whose users may log in, if there is one.
    pub(crate) fn oidc(&self) -> Result<Option<OidcSettings>, Failure> {
        self.oidc.settings(&self.service_account_issuer)
    }

    pub(crate) fn credential_files(&self, oidc: Option<OidcSettings>) -> CredentialFiles {
        let own = self.data_dir.join("pki");
        let host = rustix::system::uname();
        let host = host.nodename().to_str().ok();
        let pair = self
            .tls_cert_file
            .clone()
            .zip(self.tls_private_key_file.clone());
        CredentialFiles {
            serving: self.cert_dir.clone().unwrap_or_else(|| own.clone()),
            own,
            serving_pair: pair,
            client_authorities: self.client_ca_file.iter().cloned().collect(),
            tokens: self.token_auth_file.clone(),
            accounts: self.accounts(),
            oidc,
            kubeconfig: self.kubeconfig(),
            names: ServingNames::new(host, self.bind_address),
        }
    }

    fn accounts(&self) -> AccountSettings {
        let lifetime_max = self.service_account_max_token_expiration;
        AccountSettings {
            issuers: self.service_account_issuer.clone(),
            audiences: self.api_audiences.clone(),
            signing_key: self.service_account_signing_key_file.clone(),
            keys: self.service_account_key_file.clone(),
            lifetime_max: Some(lifetime_max).filter(|most| !most.is_zero()),
            jwks_uri: self.service_account_jwks_uri.clone(),
        }
    }

    /// Durability of writes to the embedded store.
    pub(crate) fn durability(&self) -> Durability {
        if self.unsafe_no_fsync {
            Durability::None
        } else {
            Durability::Fsync
        }
    }

    pub(crate) fn limits(&self) -> Result<Limits, Failure> {
        let seats = self
            .max_requests_inflight
            .saturating_add(self.max_mutating_requests_inflight);
        if self.enable_priority_and_fairness && seats == 0 {
            let text = "`--max-requests-inflight` and `--max-mutating-requests-inflight` must add up to something \
                        positive, because priority and fairness divides their sum";
            let failure = Failure::of_server(Exit::ServerFlags, text);
            let help = "for no limit at all, add `--enable-priority-and-fairness=false`";
            return Err(failure.with_help(help));
        }
        Ok(Limits {
            requests_inflight_max: self.max_requests_inflight,
            mutating_requests_inflight_max: self.max_mutating_requests_inflight,
            priority_and_fairness: self.enable_priority_and_fairness,
            request_timeout: self.request_timeout,
            shutdown_delay: self.shutdown_delay_duration,
            http2_streams_max: self.http2_max_streams_per_connection,
        })
    }

    /// Configuration of the controllers. Machine and data directory make up this server's identity for leader election.
    pub(crate) fn loops(&self, root_ca: String) -> LoopConfig {
        let host = rustix::system::uname();
        let host = host.nodename().to_string_lossy().into_owned();
        let data_dir = std::path::absolute(&self.data_dir);
        let data_dir = data_dir.unwrap_or_else(|_| self.data_dir.clone());
        LoopConfig {
            controllers: self.controllers.clone(),
            server: format!("{host}:{}", data_dir.display()),
            host,
            root_ca,
            namespace_grace: self.namespace_deletion_grace,
        }
    }

    /// Requested APIs: `--runtime-config` and the flags for forward compatibility.
    pub(crate) fn api_wishes(&self) -> ApiWishes {
        let forward = self.gates.forward_compatible();
        ApiWishes {
            runtime_config: self.runtime_config.clone(),
            forward_compatible: forward.emulation,
            runtime_config_forward_compatible: forward.runtime_config,
        }
    }

    pub(crate) fn tls_min(&self) -> TlsVersion {
        match self.tls_min_version {
            TlsMin::V12 => TlsVersion::V12,
            TlsMin::V13 => TlsVersion::V13,
        }
    }

    /// The audit log, if one is wanted.
    pub(crate) fn audit(&self) -> Result<Option<Audit>, Failure> {
        let Some((policy, path)) = self
            .audit_policy_file
            .as_ref()
            .zip(self.audit_log_path.as_ref())
        else {
            return Ok(None);
        };
        let wrong = |message: String| Failure::of_server(Exit::Configuration, message);
        let document = document::read(policy).map_err(|failure| wrong(failure.message))?;
        let policy = Policy::read(&document)
            .map_err(|error| wrong(format!("{}: {error}", policy.display())))?;
        let destination = match path.to_str() {
            Some("-") => Destination::StandardOutput,
            _ => Destination::File(path.clone(), self.audit_rotation()),
        };
        let sink = Sink::open(&destination);
        let sink = sink.map_err(|error| {
            wrong(format!(
                "cannot write the audit log `{}`: {error}",
                path.display()
            ))
        })?;
        Ok(Some(Audit { policy, sink }))
    }

    fn audit_rotation(&self) -> Rotation {
        Rotation {
            bytes_max: u64::from(self.audit_log_maxsize) << 20,
            backups_max: usize::try_from(self.audit_log_maxbackup).unwrap_or(usize::MAX),
            age_days_max: self.audit_log_maxage,
        }
    }

    /// Which steps of admission are on.
    pub(crate) fn plugins(&self) -> Result<Plugins, Failure> {
        let (enabled, disabled) = (
            &self.enable_admission_plugins,
            &self.disable_admission_plugins,
        );
        let read = Plugins::of_flags(enabled, disabled);
        let read = read.map_err(|error| Failure::of_server(Exit::ServerFlags, error.to_string()));
        let (plugins, ineffective) = read?;
        for told in ineffective {
            match told {
                Ineffective::AlwaysOn(plugin) => {
                    tracing::warn!(plugin, "the admission plugin is always on and stays on");
                }
                Ineffective::Absent(plugin) => tracing::warn!(
                    plugin,
                    "this server does not have the admission plugin: enabling it has no effect"
                ),
            }
        }
        Ok(plugins)
    }

    /// One mode that allows everything allows everything.
    pub(crate) fn authorizer(&self) -> Result<Authorizer, Failure> {
        let has = |mode| self.authorization_mode.contains(&mode);
        if has(AuthorizationMode::AlwaysAllow) {
            return Ok(allow_all());
        }
        if has(AuthorizationMode::Rbac) {
            return Ok(stored_rules_only());
        }
        let text = "`--authorization-mode Node` alone lets nobody in";
        let failure = Failure::of_server(Exit::ServerFlags, text);
        Err(failure.with_help("add RBAC: `--authorization-mode Node,RBAC`"))
    }
}

fn duration(text: &str) -> Result<Duration, String> {
    if text.starts_with('-') {
        return Err("must not be negative".to_owned());
    }
    Ok(go_duration(text)?.to_std().unwrap_or_default())
}

fn positive_duration(text: &str) -> Result<Duration, String> {
    go_duration(text)?
        .to_std_positive()
        .ok_or_else(|| "must be more than zero".to_owned())
}

fn go_duration(text: &str) -> Result<GoDuration, String> {
    GoDuration::parse(text).map_err(|error| error.to_string())
}
