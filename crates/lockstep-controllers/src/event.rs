//! Events written by controllers.

use lockstep_object::metadata::Seconds;
use serde_json::json;

use crate::names::EVENTS;
use crate::{Action, ClusterView, Id};

/// Namespace of events about cluster-scoped objects.
const CLUSTER_EVENTS_NAMESPACE: &str = "default";

/// Contents of an event.
pub(crate) struct About<'a> {
    /// The involved object.
    pub(crate) id: &'a Id,
    pub(crate) reason: &'a str,
    pub(crate) message: &'a str,
    /// The reporting component.
    pub(crate) component: &'a str,
}

/// Creates a warning event. Its name is derived from the object, so that it is written once; none if it exists already
/// or the object is gone.
pub(crate) fn warning(
    cluster: &dyn ClusterView,
    about: &About<'_>,
    now: Seconds,
) -> Option<Action> {
    let subject = cluster.object(about.id)?.object;
    let (id, uid) = (about.id, subject.uid());
    let namespace = id.namespace().unwrap_or(CLUSTER_EVENTS_NAMESPACE);
    let suffix: String = uid
        .chars()
        .filter(char::is_ascii_hexdigit)
        .take(16)
        .collect();
    let name = format!("{}.{suffix}", id.name());
    let event = EVENTS.resource().id(&format!("{namespace}/{name}"));
    if cluster.meta(&event).is_some() {
        return None;
    }
    let object = crate::made(json!({
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": { "name": name, "namespace": namespace },
        "involvedObject": {
            "apiVersion": subject.api_version(),
            "kind": subject.kind(),
            "name": id.name(),
            "namespace": id.namespace().unwrap_or_default(),
            "uid": uid,
        },
        "reason": about.reason,
        "message": about.message,
        "type": "Warning",
        "count": 1,
        "firstTimestamp": now.to_string(),
        "lastTimestamp": now.to_string(),
        "source": { "component": about.component },
        "reportingComponent": about.component,
        "reportingInstance": "",
    }));
    Some(Action::Create { id: event, object })
}
