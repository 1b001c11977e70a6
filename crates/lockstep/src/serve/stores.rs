//! Which store a server keeps its objects in.

use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use lockstep_storage::Store;
use lockstep_storage_embedded::{EmbeddedStore, OpenError, Options};
use lockstep_storage_etcd::{EtcdStore, Options as EtcdOptions};

use super::directory::Directory;
use crate::failure::{Exit, Failure};

/// The value of `--store`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum StoreAddress {
    /// In the data directory.
    Embedded,
    /// A cluster of etcd members.
    Etcd(Vec<String>),
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

/// Opens the store.
pub(crate) async fn open(
    address: &StoreAddress,
    directory: &Directory,
) -> Result<Arc<dyn Store>, Failure> {
    match address {
        StoreAddress::Embedded => {
            let folder = directory.path().join("store");
            let store = EmbeddedStore::open(&folder, &Options::default());
            Ok(Arc::new(store.map_err(|error| cannot_open(&error))?))
        }
        StoreAddress::Etcd(members) if members.iter().any(|member| member.contains('@')) => {
            let text = "`--store etcd://` takes addresses without credentials";
            Err(Failure::of_server(Exit::ServerFlags, text))
        }
        StoreAddress::Etcd(members) => {
            let endpoints = members.iter().map(|member| format!("http://{member}"));
            let store = EtcdStore::connect(EtcdOptions::new(endpoints)).await;
            Ok(Arc::new(store.map_err(|error| {
                let failure = Failure::of_server(Exit::Configuration, error.to_string());
                failure.with_help("is etcd running, and reachable without TLS at these addresses?")
            })?))
        }
    }
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
