//! Requestor identity in CertificateSigningRequests.

use lockstep_object::{Object, Value};
use serde_json::json;

use super::{InFlight, SpecialKind};

/// Overwrites the requestor fields of a new CertificateSigningRequest with the identity of the user.
pub(super) fn set_requestor(request: &InFlight<'_>, object: &mut Object) {
    let resource = &request.served.resource;
    if resource.special != SpecialKind::CertificateSigningRequest {
        return;
    }
    let user = request.user;
    let spec = object
        .fields_mut()
        .entry("spec")
        .or_insert_with(|| json!({}));
    let Some(spec) = spec.as_object_mut() else {
        return;
    };
    for field in ["username", "uid", "groups", "extra"] {
        spec.remove(field);
    }
    spec.insert("username".to_owned(), (&*user.name).into());
    let caller = request.user;
    if !caller.uid.is_empty() {
        spec.insert("uid".to_owned(), caller.uid.clone().into());
    }
    if !caller.extra.is_empty() {
        spec.insert("extra".to_owned(), json!(caller.extra));
    }
    if !user.groups.is_empty() {
        let groups = user.groups.iter().map(|group| Value::from(&**group));
        spec.insert("groups".to_owned(), groups.collect());
    }
}
