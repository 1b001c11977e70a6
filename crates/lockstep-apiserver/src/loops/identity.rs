//! Identity lease of a server: a `Lease` in `kube-system` that shows the server is alive.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use lockstep_controllers::servers::{self, NAMESPACE};
use lockstep_object::Object;
use lockstep_storage::Expected;
use sha2::{Digest, Sha256};

use super::{micros, seconds};
use crate::resources::{Api, Internal};
use lockstep_write::WriteOrigin;

/// API group of leases.
pub(super) const GROUP: &str = "coordination.k8s.io";
/// Plural resource name of leases.
pub(super) const PLURAL: &str = "leases";
/// Renewal interval of the lease.
const RENEW: Duration = Duration::from_secs(10);
/// Pause after a failed renewal.
const RETRY: Duration = Duration::from_secs(1);
/// Number of digest bytes of the server name that the lease name contains.
const NAME_BYTES: usize = 16;

/// Identity lease of one server.
pub(super) struct Identity {
    api: Arc<Api>,
    name: String,
    host: String,
    holder: String,
}

impl Identity {
    /// Identity lease of a server. Its holder is unique to this process.
    pub(super) fn new(api: Arc<Api>, server: &str, host: &str) -> Self {
        let digest = Sha256::digest(server.as_bytes());
        let digest = digest.iter().take(NAME_BYTES);
        let name: String = digest.map(|byte| format!("{byte:02x}")).collect();
        let name = format!("apiserver-{name}");
        let holder = format!("{name}_{}", api.new_uid());
        Self {
            api,
            name,
            host: host.to_owned(),
            holder,
        }
    }

    /// Name of the lease.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// `holderIdentity` of the lease.
    pub(super) fn holder(&self) -> &str {
        &self.holder
    }

    fn key(&self) -> String {
        format!("{NAMESPACE}/{}", self.name)
    }

    /// Renews the lease; never returns.
    pub(super) async fn keep(&self) -> Infallible {
        loop {
            let key = self.key();
            let stored = self.api.cached(GROUP, PLURAL, &key);
            let before = stored.as_ref().map(|(lease, _)| lease);
            let lease = servers::identity(before, &self.name, &self.host, &self.holder, micros());
            let expected = match &stored {
                Some((_, revision)) => Expected::At(*revision),
                None => Expected::Absent,
            };
            let pause = match write(&self.api, &key, expected, lease).await {
                Internal::Done(_) => RENEW,
                Internal::Moved | Internal::Refused | Internal::Failed => RETRY,
            };
            tokio::time::sleep(pause).await;
        }
    }

    /// Deletes the lease at shutdown.
    pub(super) async fn remove(&self) {
        let key = self.key();
        let Some((lease, revision)) = self.api.read_internally(GROUP, PLURAL, &key).await else {
            return;
        };
        let holder = lease.at(&["spec", "holderIdentity"]);
        if holder.and_then(|holder| holder.as_str()) == Some(&*self.holder) {
            let expected = Expected::At(revision);
            self.api
                .write_internally(WriteOrigin::System, GROUP, PLURAL, &key, expected, None)
                .await;
        }
    }
}

/// Writes a lease, or creates it if `expected` is absent.
pub(super) async fn write(api: &Api, key: &str, expected: Expected, lease: Object) -> Internal {
    if expected == Expected::Absent {
        let place = (GROUP, PLURAL, key);
        return api
            .create_internally(WriteOrigin::System, place, lease, seconds())
            .await;
    }
    api.write_internally(
        WriteOrigin::System,
        GROUP,
        PLURAL,
        key,
        expected,
        Some(lease),
    )
    .await
}
