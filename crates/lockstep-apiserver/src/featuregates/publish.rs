//! Publishes the feature gates of a server.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use lockstep_controllers::servers::NAMESPACE;
use lockstep_featuregate::Gates;
use lockstep_object::metadata::Seconds;
use lockstep_storage::Expected;

use super::document::{Decided, Next, decided, next};
use super::{GROUP, PLURAL};
use crate::cache::Scope;
use crate::resources::{Api, Internal};
use lockstep_write::WriteOrigin;

/// Interval of the check for missing own entries and stale entries of other servers.
const LOOK: Duration = Duration::from_secs(30);
/// Pause after a failed write.
const RETRY: Duration = Duration::from_millis(500);
/// Name prefix of the identity leases of servers.
const SERVER: &str = "apiserver-";

/// Keeps the entries of one server in the `FeatureGate` objects current.
pub(crate) struct Publisher {
    api: Arc<Api>,
    id: String,
    gates: BTreeMap<String, Decided>,
}

impl Publisher {
    /// Publisher of the server whose identity lease is `id`.
    pub(crate) fn new(api: Arc<Api>, gates: &Gates, id: &str, host: &str) -> Self {
        let gates = decided(gates, id, host).into_iter();
        Self {
            api,
            id: id.to_owned(),
            gates: gates.map(|gate| (gate.name.clone(), gate)).collect(),
        }
    }

    /// Publishes forever.
    pub(crate) async fn keep(&self, now: fn() -> Seconds) -> Infallible {
        loop {
            let pause = if self.write_all(now()).await {
                LOOK
            } else {
                RETRY
            };
            tokio::time::sleep(pause).await;
        }
    }

    /// Brings all objects up to date. True if all writes succeeded.
    async fn write_all(&self, now: Seconds) -> bool {
        let living = self.living();
        let stored = self.names(GROUP, PLURAL);
        let names: BTreeSet<&String> = self.gates.keys().chain(&stored).collect();
        let mut is_done = true;
        for name in names {
            is_done &= self.write(name, &living, now).await;
        }
        is_done
    }

    async fn write(&self, name: &str, living: &BTreeSet<String>, now: Seconds) -> bool {
        let stored = self.api.cached(GROUP, PLURAL, name);
        let before = stored.as_ref().map(|(object, _)| object);
        let object = match next(before, self.gates.get(name), &self.id, living) {
            Next::Unchanged => return true,
            Next::Removed => None,
            Next::Written(object) => Some(object),
        };
        let written = match (stored, object) {
            (None, Some(object)) => {
                let place = (GROUP, PLURAL, name);
                self.api
                    .create_internally(WriteOrigin::System, place, object, now)
                    .await
            }
            (Some((_, at)), object) => {
                let expected = Expected::At(at);
                self.api
                    .write_internally(WriteOrigin::System, GROUP, PLURAL, name, expected, object)
                    .await
            }
            (None, None) => return true,
        };
        matches!(written, Internal::Done(_))
    }

    /// Names of running servers by their identity leases, including this one.
    fn living(&self) -> BTreeSet<String> {
        let prefix = format!("{NAMESPACE}/");
        let leases = self.names("coordination.k8s.io", "leases");
        let leases = leases.iter().filter_map(|key| key.strip_prefix(&prefix));
        let servers = leases.filter(|name| name.starts_with(SERVER));
        let own = std::iter::once(&*self.id);
        servers.chain(own).map(str::to_owned).collect()
    }

    /// Keys of all cached objects of a resource.
    fn names(&self, group: &str, plural: &str) -> Vec<String> {
        let registry = self.api.registry();
        let Some(resource) = registry.resource(group, plural) else {
            return Vec::new();
        };
        let snapshot = self.api.cache().bucket(&resource.bucket).snapshot();
        let objects = snapshot.objects(&Scope::All, None);
        objects
            .map(|object| String::from_utf8_lossy(&object.key).into_owned())
            .collect()
    }
}
