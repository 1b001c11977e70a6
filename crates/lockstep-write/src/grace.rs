//! Graceful deletion of pods.

use lockstep_object::metadata::Seconds;
use lockstep_object::{Object, Value};

use super::{Resource, SpecialKind};

/// Default of `terminationGracePeriodSeconds`.
const GRACE_SECONDS: i64 = 30;

/// Grace period of a deletion, in seconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Grace {
    seconds: i64,
}

/// Grace period of a deletion; `None` if the object is removed immediately. `requested` is `gracePeriodSeconds` of the
/// request.
pub(super) fn of(resource: &Resource, object: &Object, requested: Option<i64>) -> Option<Grace> {
    if resource.special != SpecialKind::Pod {
        return None;
    }
    let own = object.at(&["spec", "terminationGracePeriodSeconds"]);
    let own = own.and_then(Value::as_i64).unwrap_or(GRACE_SECONDS);
    let text = |path: &[&str]| object.at(path).and_then(Value::as_str).unwrap_or_default();
    let runs = !text(&["spec", "nodeName"]).is_empty()
        && !matches!(text(&["status", "phase"]), "Succeeded" | "Failed");
    let seconds = match requested.unwrap_or(own) {
        _ if !runs => 0,
        negative if negative < 0 => 1,
        seconds => seconds,
    };
    (seconds > 0).then_some(Grace { seconds })
}

/// Sets `deletionTimestamp` and a grace period of zero on a removed pod, for the response.
pub(super) fn end(resource: &Resource, object: &mut Object, now: Seconds) {
    if resource.special == SpecialKind::Pod {
        Grace { seconds: 0 }.put_on(object, now);
    }
}

impl Grace {
    /// Sets `deletionTimestamp` and `deletionGracePeriodSeconds`. A running grace period can be shortened, not
    /// extended.
    pub(super) fn put_on(self, object: &mut Object, now: Seconds) {
        let given = object.metadata().get("deletionGracePeriodSeconds");
        let given = given.and_then(Value::as_i64);
        let is_ending = object.deletion_timestamp().is_some();
        if is_ending && given.is_some_and(|given| given <= self.seconds) {
            return;
        }
        let Some(end) = Seconds::from_unix(now.unix().saturating_add(self.seconds)) else {
            return;
        };
        object.set_meta_text("deletionTimestamp", &end.to_string());
        let metadata = object.metadata_mut();
        metadata.insert("deletionGracePeriodSeconds".into(), self.seconds.into());
        if !is_ending && object.generation() > 0 {
            object.set_generation(object.generation() + 1);
        }
    }
}
