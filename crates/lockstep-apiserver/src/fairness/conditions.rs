//! Keeps the condition `Dangling` of flow schemas, and the objects that must exist.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use lockstep_fairness::{dangling, with_condition};
use lockstep_object::metadata::Seconds;
use lockstep_object::{Object, Value};
use lockstep_storage::Expected;
use lockstep_write::WriteOrigin;

use super::{LEVELS, SCHEMAS};
use crate::cache::{BucketKey, Scope, Snapshot};
use crate::resources::{Api, Internal};
use crate::standard::make_mandatory_flow_control;

/// Group of the configuration kinds.
const GROUP: &str = "flowcontrol.apiserver.k8s.io";
/// Pause after a failed write.
const RETRY: Duration = Duration::from_millis(500);

/// Follows the stored objects for ever. Every server does so; the first one's write makes the others' unnecessary.
pub(crate) async fn keep_conditions(api: Arc<Api>, now: fn() -> Seconds) -> Infallible {
    let bucket = |name: &'static str| api.cache().bucket(&BucketKey::new(name));
    let (schemas, levels) = (bucket(SCHEMAS), bucket(LEVELS));
    loop {
        let (of_schemas, mut schema_changes) = schemas.snapshot_and_watch(Scope::All);
        let (of_levels, mut level_changes) = levels.snapshot_and_watch(Scope::All);
        let is_made = make_mandatory_flow_control(&api, now()).await;
        let is_written = write_all(&api, &of_schemas, &of_levels, now()).await;
        if !(is_made && is_written) {
            tokio::time::sleep(RETRY).await;
            continue;
        }
        tokio::select! {
            _ = schema_changes.next() => {}
            _ = level_changes.next() => {}
        }
    }
}

/// Writes the conditions that differ. True if all writes succeeded.
async fn write_all(api: &Api, schemas: &Snapshot, levels: &Snapshot, now: Seconds) -> bool {
    let names = levels.objects(&Scope::All, None);
    let names: BTreeSet<&[u8]> = names.map(|level| &*level.key).collect();
    let mut are_written = true;
    for stored in schemas.objects(&Scope::All, None) {
        let value: Option<Value> = serde_json::from_slice(&stored.value).ok();
        let Some(schema) = value.and_then(|value| Object::from_value(value).ok()) else {
            continue;
        };
        let level = schema.at(&["spec", "priorityLevelConfiguration", "name"]);
        let level = level.and_then(Value::as_str).unwrap_or_default();
        let condition = dangling(level, names.contains(level.as_bytes()));
        let Some(next) = with_condition(&schema, &condition, now) else {
            continue;
        };
        let (origin, expected) = (WriteOrigin::System, Expected::At(stored.revision));
        let name = schema.name();
        let written = api.write_internally(origin, GROUP, SCHEMAS, name, expected, Some(next));
        are_written &= matches!(written.await, Internal::Done(_));
    }
    are_written
}
