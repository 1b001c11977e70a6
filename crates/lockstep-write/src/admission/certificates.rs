//! `CertificateApproval` and `CertificateSigning` require the verbs `approve` and `sign` on the signer, in addition
//! to write access to the subresource. `CertificateSubjectRestriction` rejects requests for the group
//! `system:masters`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use lockstep_object::{ApiError, Object, Value};

use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::pem::parse_x509_pem;
use x509_parser::prelude::FromDer;

use super::super::WritePath;
use super::{Attributes, Operation, Plugin};
use lockstep_authz::Target;
use lockstep_catalog::{SpecialKind, Subresource};

const GROUP: &str = "certificates.k8s.io";

/// Rejects an approval or a signed certificate if the user lacks the permission for the signer.
pub(super) fn check(
    path: &WritePath<'_>,
    plugin: Plugin,
    attributes: &Attributes<'_>,
    object: &Object,
) -> Result<(), ApiError> {
    let resource = &attributes.request.served.resource;
    let Some(old) = attributes.old else {
        return Ok(());
    };
    if resource.special != SpecialKind::CertificateSigningRequest {
        return Ok(());
    }
    let verb = match (plugin, attributes.subresource) {
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
        let check = lockstep_authz::Attributes {
            user: attributes.request.user,
            verb,
            target,
        };
        path.env.authorize(&check).allowed
    };
    if may(signer) || may(&format!("{domain}/*")) {
        return Ok(());
    }
    let why = format!("user not permitted to {verb} requests with signerName {signer:?}");
    Err(ApiError::forbidden(
        &resource.group_resource(),
        old.name(),
        why,
    ))
}

/// Signer of client certificates for the API server.
const CLIENTS: &str = "kubernetes.io/kube-apiserver-client";
/// Group with unrestricted access.
const MASTERS: &str = "system:masters";

/// Rejects a new client certificate request whose subject has the organization `system:masters`.
pub(super) fn check_subject(attributes: &Attributes<'_>, object: &Object) -> Result<(), ApiError> {
    let resource = &attributes.request.served.resource;
    let is_request = resource.special == SpecialKind::CertificateSigningRequest;
    let is_new = attributes.operation == Operation::Create && attributes.subresource.is_none();
    let text = |field| object.at(&["spec", field]).and_then(Value::as_str);
    if !is_request || !is_new || text("signerName") != Some(CLIENTS) {
        return Ok(());
    }
    let refused = |why: &str| {
        Err(ApiError::forbidden(
            &resource.group_resource(),
            object.name(),
            why,
        ))
    };
    match groups(text("request").unwrap_or_default()) {
        None => refused("failed to parse CSR"),
        Some(groups) if groups.iter().any(|group| group == MASTERS) => refused(&format!(
            "use of {CLIENTS} signer with {MASTERS} group is not allowed"
        )),
        Some(_) => Ok(()),
    }
}

/// Organizations in the subject of a PEM-encoded certificate request; `None` if it cannot be parsed.
fn groups(request: &str) -> Option<Vec<String>> {
    let pem = STANDARD.decode(request).ok()?;
    let (_, pem) = parse_x509_pem(&pem).ok()?;
    let (_, request) = X509CertificationRequest::from_der(&pem.contents).ok()?;
    let subject = &request.certification_request_info.subject;
    let groups = subject.iter_organization();
    groups
        .map(|group| Some(group.as_str().ok()?.to_owned()))
        .collect()
}

/// True if the update changes the certificate or the conditions in `status`.
fn is_signed(old: &Object, object: &Object) -> bool {
    ["certificate", "conditions"]
        .iter()
        .any(|field| old.at(&["status", field]) != object.at(&["status", field]))
}
