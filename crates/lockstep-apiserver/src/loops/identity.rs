//! The lease by which a server says that it lives.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use lockstep_controllers::servers::{self, NAMESPACE};
use lockstep_object::Object;
use lockstep_storage::Expected;
use sha2::{Digest, Sha256};

use super::{micros, seconds};
use crate::resources::{Api, Internal};
use crate::write::WriteOrigin;

/// The group of leases.
pub(super) const GROUP: &str = "coordination.k8s.io";
/// The resource.
pub(super) const PLURAL: &str = "leases";
/// How often the lease is renewed.
const RENEW: Duration = Duration::from_secs(10);
/// How long a failure waits.
const RETRY: Duration = Duration::from_secs(1);
/// How much of the digest of a server's name is in that of its lease.
const NAME_BYTES: usize = 16;

/// One server's lease.
pub(super) struct Identity {
    api: Arc<Api>,
    name: String,
    host: String,
    holder: String,
}

impl Identity {
    /// The lease of a server, with a holder that no other process is.
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

    /// Its name.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Who holds it.
    pub(super) fn holder(&self) -> &str {
        &self.holder
    }

    fn key(&self) -> String {
        format!("{NAMESPACE}/{}", self.name)
    }

    /// Renews the lease as long as the server runs.
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

    /// Says that the server lives no longer.
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

/// Writes a lease, or makes it if it is to be absent before.
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
