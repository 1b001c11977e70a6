//! The objects that a token depends on.

use jiff::{SignedDuration, Timestamp};

use super::claims::{Bound, Claims};
use crate::resources::Api;

/// How long a token outlives the request to delete what it depends on.
const LEAVING_SECONDS: i64 = 60;

/// What became of an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Found {
    There,
    /// On its way out, and a token counts for a while.
    Leaving,
    /// Not there, another one of the same name, or on its way out for too long.
    Gone,
}

/// Looks for one object of the core group, as this server knows it.
pub(super) fn look(api: &Api, plural: &str, key: &str, uid: &str, now: Timestamp) -> Found {
    let Some((object, _)) = api.cached("", plural, key) else {
        return Found::Gone;
    };
    if object.uid() != uid {
        return Found::Gone;
    }
    let Some(deleted) = object.deletion_timestamp() else {
        return Found::There;
    };
    let deleted: Option<Timestamp> = deleted.parse().ok();
    let leaving = SignedDuration::from_secs(LEAVING_SECONDS);
    let ends = deleted.and_then(|deleted| deleted.checked_add(leaving).ok());
    match ends {
        Some(ends) if ends >= now => Found::Leaving,
        _ => Found::Gone,
    }
}

/// Whether what a token is bound to is there.
pub(super) fn holds(api: &Api, claims: &Claims, now: Timestamp) -> bool {
    let in_namespace = |name: &str| format!("{}/{name}", claims.namespace);
    let (plural, key, uid) = match &claims.bound {
        None => return true,
        Some(Bound::Pod(pod, _)) => ("pods", in_namespace(&pod.name), &pod.uid),
        Some(Bound::Secret(secret)) => ("secrets", in_namespace(&secret.name), &secret.uid),
        Some(Bound::Node(node)) => ("nodes", node.name.clone(), &node.uid),
    };
    look(api, plural, &key, uid, now) != Found::Gone
}
