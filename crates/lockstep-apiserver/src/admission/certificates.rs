//! `CertificateApproval` and `CertificateSigning`: who may say yes for a signer, and who may sign for it. Whoever may write
//! these parts of requests for certificates may not do so for every signer.

use lockstep_object::{Object, Status, Value};

use super::{Attributes, Plugin};
use crate::authz::{self, Target};
use crate::resources::{Api, Subresource};

const GROUP: &str = "certificates.k8s.io";
const PLURAL: &str = "certificatesigningrequests";

/// Refuses an approval, or a certificate, by somebody who may not give it in the name of the signer.
pub(super) fn check(
    api: &Api,
    plugin: Plugin,
    attributes: &Attributes<'_>,
    object: &Object,
) -> Result<(), Status> {
    let resource = &attributes.request.served.resource;
    let Some(old) = attributes.old else {
        return Ok(());
    };
    if &*resource.group != GROUP || &*resource.plural != PLURAL {
        return Ok(());
    }
    let verb = match (plugin, attributes.part) {
        (Plugin::CertificateApproval, Some(Subresource::Approval)) => "approve",
        (Plugin::CertificateSigning, Some(Subresource::Status)) if is_signed(old, object) => "sign",
        _ => return Ok(()),
    };
    let signer = old.at(&["spec", "signerName"]).and_then(Value::as_str);
    let signer = signer.unwrap_or_default();
    let domain = signer.split_once('/').map_or(signer, |(domain, _)| domain);
    let may = |name: &str| {
        let target = Target::Resource {
            group: GROUP,
            version: "*",
            namespace: "",
            resource: "signers",
            subresource: "",
            name,
        };
        let asked = authz::Attributes {
            user: attributes.request.caller,
            verb,
            target,
        };
        (api.authorizer())(&asked).allowed
    };
    if may(signer) || may(&format!("{domain}/*")) {
        return Ok(());
    }
    let why = format!("user not permitted to {verb} requests with signerName {signer:?}");
    Err(Status::forbidden(
        &resource.group_resource(),
        old.name(),
        &why,
    ))
}

/// Whether a status says more about the certificate than it did.
fn is_signed(old: &Object, object: &Object) -> bool {
    ["certificate", "conditions"]
        .iter()
        .any(|field| old.at(&["status", field]) != object.at(&["status", field]))
}
