//! Which store a server keeps its objects in.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use lockstep_storage::Store;
use lockstep_storage_embedded::{Durability, EmbeddedStore, OpenError, Options};
use lockstep_storage_etcd::{
    ConnectError, EtcdStore, IdentityFiles, Options as EtcdOptions, TlsFiles,
};

use super::directory::Directory;
use crate::failure::{Exit, Failure};

/// Time between attempts to reach an etcd cluster.
const AWAIT_INTERVAL: Duration = Duration::from_secs(1);

/// The value of `--store`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum StoreAddress {
    /// In the data directory.
    Embedded,
    /// A cluster of etcd members.
    Etcd(Vec<String>),
}

/// TLS files of an etcd cluster: its certificate authority, and the certificate of this client.
#[derive(Debug, clap::Args)]
pub(crate) struct EtcdFiles {
    /// PEM bundle of authorities for etcd's certificates; switches TLS on
    #[arg(long = "etcd-cafile", id = "etcd_ca", value_name = "FILE")]
    ca: Option<PathBuf>,
    /// Client certificate for etcd, as PEM
    #[arg(long = "etcd-certfile", id = "etcd_certificate", value_name = "FILE", requires_all = ["etcd_key", "etcd_ca"])]
    certificate: Option<PathBuf>,
    /// Private key of the client certificate for etcd, as PEM
    #[arg(
        long = "etcd-keyfile",
        id = "etcd_key",
        value_name = "FILE",
        requires = "etcd_certificate"
    )]
    key: Option<PathBuf>,
}

impl EtcdFiles {
    fn options(&self, members: &[String]) -> EtcdOptions {
        let scheme = match self.ca {
            Some(_) => "https",
            None => "http",
        };
        let endpoints = members.iter().map(|member| format!("{scheme}://{member}"));
        let identity = self.certificate.clone().zip(self.key.clone());
        EtcdOptions {
            tls: self.ca.clone().map(|authorities| TlsFiles {
                authorities,
                identity: identity.map(|(certificate, key)| IdentityFiles { certificate, key }),
            }),
            ..EtcdOptions::new(endpoints)
        }
    }
}

impl FromStr for StoreAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "embedded" {
            return Ok(Self::Embedded);
        }
        let members = text.strip_prefix("etcd://").unwrap_or_default();
        let members: Vec<String> = members.split(',').map(str::to_owned).collect();
        let good = members.iter().all(|member| {
            let port = member.rsplit_once(':').filter(|(host, _)| !host.is_empty());
            port.is_some_and(|(_, port)| port.parse::<u16>().is_ok())
        });
        if good {
            Ok(Self::Etcd(members))
        } else {
            Err("expected `embedded` or `etcd://host:port,…`".to_owned())
        }
    }
}

impl StoreAddress {
    pub(crate) fn describe(&self, data_dir: &Path) -> String {
        match self {
            StoreAddress::Embedded => format!("{} (embedded)", data_dir.display()),
            StoreAddress::Etcd(members) => format!("etcd://{}", members.join(",")),
        }
    }
}

/// A store, which may not be there yet.
pub(crate) struct Opened {
    pub(crate) store: Arc<dyn Store>,
    /// The etcd cluster, if it could not be reached.
    awaited: Option<Arc<EtcdStore>>,
}

impl Opened {
    fn now(store: impl Store) -> Self {
        Self {
            store: Arc::new(store),
            awaited: None,
        }
    }

    /// Waits until the etcd cluster can be reached. Returns only if it cannot be used.
    pub(crate) async fn unusable(&self) -> Failure {
        if let Some(etcd) = &self.awaited {
            loop {
                tokio::time::sleep(AWAIT_INTERVAL).await;
                match etcd.check().await {
                    Ok(()) => break tracing::info!("the store can be reached"),
                    Err(ConnectError::Unavailable(_)) => {}
                    Err(error) => return unusable_etcd(&error),
                }
            }
        }
        std::future::pending().await
    }
}

/// Opens the store. An etcd cluster that cannot be reached is waited for with [`Opened::unusable`].
pub(crate) async fn open(
    address: &StoreAddress,
    files: &EtcdFiles,
    durability: Durability,
    directory: &Directory,
) -> Result<Opened, Failure> {
    match address {
        StoreAddress::Embedded if files.ca.is_some() => {
            let text = "`--etcd-cafile` says how to trust etcd, but the store is embedded";
            let failure = Failure::of_server(Exit::ServerFlags, text);
            Err(failure.with_help("add `--store etcd://host:port`"))
        }
        StoreAddress::Embedded => {
            let folder = directory.path().join("store");
            let options = Options {
                durability,
                ..Options::default()
            };
            let store = EmbeddedStore::open(&folder, &options);
            Ok(Opened::now(store.map_err(|error| cannot_open(&error))?))
        }
        StoreAddress::Etcd(members) if members.iter().any(|member| member.contains('@')) => {
            let text = "`--store etcd://` takes addresses without credentials";
            Err(Failure::of_server(Exit::ServerFlags, text))
        }
        StoreAddress::Etcd(members) => {
            let store = EtcdStore::unconnected(files.options(members));
            let store = Arc::new(store.map_err(|error| unusable_etcd(&error))?);
            let awaited = match store.check().await {
                Ok(()) => None,
                Err(ConnectError::Unavailable(unavailable)) => {
                    let reason = unavailable.to_string();
                    let help = match files.ca {
                        Some(_) => "is etcd running, and is its certificate from `--etcd-cafile`?",
                        None => {
                            "is etcd running, and reachable without TLS? With TLS it needs `--etcd-cafile`"
                        }
                    };
                    tracing::error!(
                        reason,
                        "the store cannot be reached and is waited for; {help}"
                    );
                    Some(Arc::clone(&store))
                }
                Err(error) => return Err(unusable_etcd(&error)),
            };
            Ok(Opened { store, awaited })
        }
    }
}

fn unusable_etcd(error: &ConnectError) -> Failure {
    Failure::of_server(Exit::Configuration, error.to_string())
}

fn cannot_open(error: &OpenError) -> Failure {
    let exit = match error {
        OpenError::InUse { .. } => Exit::InUse,
        OpenError::Io { .. } => Exit::Configuration,
        OpenError::State { .. } | OpenError::Log(_) | OpenError::Command { .. } => Exit::Data,
    };
    Failure::of_server(exit, error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_is_embedded_or_a_list_of_members() {
        let etcd = |members: &[&str]| {
            Ok(StoreAddress::Etcd(
                members.iter().map(|&m| m.to_owned()).collect(),
            ))
        };
        let wrong = || Err("expected `embedded` or `etcd://host:port,…`".to_owned());
        for (text, expected) in [
            ("embedded", Ok(StoreAddress::Embedded)),
            ("etcd://a:2379", etcd(&["a:2379"])),
            ("etcd://a:1,[::1]:2", etcd(&["a:1", "[::1]:2"])),
            ("etcd://", wrong()),
            ("etcd://a", wrong()),
            ("etcd://a:b", wrong()),
            ("etcd://:1", wrong()),
            ("sqlite", wrong()),
        ] {
            assert_eq!(text.parse(), expected, "{text}");
        }
    }
}
