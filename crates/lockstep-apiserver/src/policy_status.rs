//! Keeps the `status` of mutating policies.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use lockstep_admission::api::GROUP;
use lockstep_admission::status::{Rival, updated};
use lockstep_object::Object;
use lockstep_object::metadata::Seconds;
use lockstep_storage::Expected;
use lockstep_write::WriteOrigin;

use crate::cache::{BucketKey, Scope, Snapshot};
use crate::resources::{Api, Internal};

const PLURAL: &str = "mutatingadmissionpolicies";
/// Least time between two writes of conflicts, and the time after which `Converging` is looked at again.
const PERIOD: Duration = Duration::from_secs(30);
/// Pause after a failed write.
const RETRY: Duration = Duration::from_millis(500);

/// Conflicts by policy.
type Found = BTreeMap<Box<str>, Vec<(Rival, u64)>>;

/// Follows the stored policies for ever. Every server does so: the first one's write of what follows from a spec makes
/// the others' unnecessary, and each adds the conflicts that it saw.
pub(crate) async fn keep(api: Arc<Api>, now: fn() -> Seconds) -> Infallible {
    let bucket = api.cache().bucket(&BucketKey::new(PLURAL));
    let mut due = tokio::time::Instant::now();
    loop {
        let (policies, mut changes) = bucket.snapshot_and_watch(Scope::All);
        let mut found = Found::new();
        if tokio::time::Instant::now() >= due {
            found = api.conflicts().take();
        }
        if !found.is_empty() {
            due = tokio::time::Instant::now() + PERIOD;
        }
        if !write_all(&api, &policies, found, now()).await {
            tokio::time::sleep(RETRY).await;
            continue;
        }
        let conflict = async {
            api.conflicts().arrival().await;
            tokio::time::sleep_until(due).await;
        };
        tokio::select! {
            _ = changes.next() => {}
            () = conflict => {}
            () = tokio::time::sleep(PERIOD) => {}
        }
    }
}

/// Writes each status that differs. True if all writes succeeded; conflicts of the others are counted later.
async fn write_all(api: &Api, policies: &Snapshot, mut found: Found, now: Seconds) -> bool {
    let mut are_written = true;
    for stored in policies.objects(&Scope::All, None) {
        let Some(policy) = Object::read(&stored.value) else {
            continue;
        };
        let name = policy.name().to_owned();
        let conflicts = found.remove(name.as_str()).unwrap_or_default();
        let Some(next) = updated(&policy, &conflicts, now) else {
            continue;
        };
        let (origin, expected) = (WriteOrigin::System, Expected::At(stored.revision));
        let written = api.write_internally(origin, GROUP, PLURAL, &name, expected, Some(next));
        if !matches!(written.await, Internal::Done(_)) {
            api.conflicts().give_back(conflicts);
            are_written = false;
        }
    }
    are_written
}
