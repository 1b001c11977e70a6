//! Objects that a token is bound to.

use jiff::{SignedDuration, Timestamp};

use super::claims::{Bound, Claims};
use crate::Host;

/// Time for which a token outlives the deletion timestamp of a bound object, as upstream grants it.
const TERMINATING_SECONDS: i64 = 60;

/// State of a bound object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Found {
    Present,
    /// Being deleted, while tokens are still valid.
    Terminating,
    /// Absent, replaced by another object of the same name, or being deleted for too long.
    Gone,
}

/// Finds one object of the core group in the watch cache.
pub(super) fn find(host: &impl Host, plural: &str, key: &str, uid: &str, now: Timestamp) -> Found {
    let Some(object) = host.cached(plural, key) else {
        return Found::Gone;
    };
    if object.uid() != uid {
        return Found::Gone;
    }
    let Some(deleted) = object.deletion_timestamp() else {
        return Found::Present;
    };
    let deleted: Option<Timestamp> = deleted.parse().ok();
    let grace = SignedDuration::from_secs(TERMINATING_SECONDS);
    let ends = deleted.and_then(|deleted| deleted.checked_add(grace).ok());
    match ends {
        Some(ends) if ends >= now => Found::Terminating,
        _ => Found::Gone,
    }
}

/// True if the token is bound to no object, or to one that exists.
pub(super) fn exists(host: &impl Host, claims: &Claims, now: Timestamp) -> bool {
    let in_namespace = |name: &str| format!("{}/{name}", claims.namespace);
    let (plural, key, uid) = match &claims.bound {
        None => return true,
        Some(Bound::Pod(pod, _)) => ("pods", in_namespace(&pod.name), &pod.uid),
        Some(Bound::Secret(secret)) => ("secrets", in_namespace(&secret.name), &secret.uid),
        Some(Bound::Node(node)) => ("nodes", node.name.clone(), &node.uid),
    };
    find(host, plural, &key, uid, now) != Found::Gone
}
