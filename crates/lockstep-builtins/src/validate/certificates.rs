//! Validation of requests for certificates.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lockstep_object::field::{FieldError, Path};
use lockstep_object::{Value, names};
use x509_parser::certificate::X509Certificate;
use x509_parser::pem::Pem;
use x509_parser::prelude::FromDer as _;

use super::{Errors, immutable_field, push_problems};
use crate::look::{list, number, text};

/// Minimum requested lifetime of a certificate.
const EXPIRATION_SECONDS_MIN: i64 = 600;

pub(crate) fn signing_request(request: &Value, errors: &mut Errors) {
    let (spec, path) = (&request["spec"], Path::ROOT.field("spec"));
    let asked = text(spec, "request");
    if let Err(why) = check_request(asked) {
        errors.push_with(|| FieldError::invalid(&path.field("request"), asked, why));
    }
    usages(list(spec, "usages"), &path.field("usages"), errors);
    let signer = text(spec, "signerName");
    let place = path.field("signerName");
    match signer.split_once('/') {
        _ if signer.is_empty() => errors.push_with(|| FieldError::required(&place, "")),
        Some((domain, rest)) if !rest.is_empty() => {
            push_problems(names::dns1123_subdomain(domain), domain, &place, errors);
        }
        _ => {
            let why =
                "must be a fully qualified domain and path of the form 'example.com/signer-name'";
            errors.push_with(|| FieldError::invalid(&place, signer, why));
        }
    }
    let seconds = number(spec, "expirationSeconds");
    if let Some(seconds) = seconds.filter(|seconds| *seconds < EXPIRATION_SECONDS_MIN) {
        let why = format!(
            "may not specify a duration less than {EXPIRATION_SECONDS_MIN} seconds (10 minutes)"
        );
        errors.push_with(|| FieldError::invalid(&path.field("expirationSeconds"), seconds, why));
    }
}

/// Key usages of certificates.
const USAGES: [&str; 23] = [
    "any",
    "cert sign",
    "client auth",
    "code signing",
    "content commitment",
    "crl sign",
    "data encipherment",
    "decipher only",
    "digital signature",
    "email protection",
    "encipher only",
    "ipsec end system",
    "ipsec tunnel",
    "ipsec user",
    "key agreement",
    "key encipherment",
    "microsoft sgc",
    "netscape sgc",
    "ocsp signing",
    "s/mime",
    "server auth",
    "signing",
    "timestamping",
];

fn usages(usages: &[Value], path: &Path<'_>, errors: &mut Errors) {
    if usages.is_empty() {
        errors.push_with(|| FieldError::required(path, ""));
    }
    let words = || {
        let words = usages
            .iter()
            .map(|usage| usage.as_str().unwrap_or_default());
        words.enumerate()
    };
    for (index, usage) in words().filter(|(_, usage)| !USAGES.contains(usage)) {
        let path = path.index(index);
        errors.push_with(|| FieldError::not_supported(&path, usage, USAGES));
    }
    let mut seen = BTreeSet::new();
    for (index, usage) in words().filter(|(_, usage)| !seen.insert(*usage)) {
        errors.push_with(|| FieldError::duplicate(&path.index(index), usage));
    }
}

/// PEM markers of a certificate request.
const REQUEST_START: &str = "-----BEGIN CERTIFICATE REQUEST-----";
const REQUEST_END: &str = "-----END CERTIFICATE REQUEST-----";
/// ASN.1 tag of a sequence.
const SEQUENCE: u8 = 0x30;

/// Rejects base64 that is not a PEM certificate request. The signature is verified by the signer.
fn check_request(encoded: &str) -> Result<(), &'static str> {
    let no_block = "PEM block type must be CERTIFICATE REQUEST";
    let decoded = STANDARD.decode(encoded).unwrap_or_default();
    let text = String::from_utf8(decoded).map_err(|_| no_block)?;
    let body = text.trim_start().strip_prefix(REQUEST_START);
    let (body, _) = body
        .and_then(|body| body.split_once(REQUEST_END))
        .ok_or(no_block)?;
    let body: String = body.split_whitespace().collect();
    let bytes = STANDARD.decode(body).map_err(|_| no_block)?;
    match sequence_length(&bytes) {
        Some(length) if length == bytes.len() => Ok(()),
        Some(length) if length < bytes.len() => Err("asn1: syntax error: trailing data"),
        Some(_) => Err("asn1: syntax error: data truncated"),
        None => Err("asn1: structure error: it is no sequence"),
    }
}

/// Total length of the leading ASN.1 sequence, including its header.
fn sequence_length(bytes: &[u8]) -> Option<usize> {
    let (SEQUENCE, [first, rest @ ..]) = bytes.split_first().map(|(tag, rest)| (*tag, rest))?
    else {
        return None;
    };
    if *first < 0x80 {
        return Some(2 + usize::from(*first));
    }
    let count = usize::from(first & 0x7f);
    let digits = rest
        .get(..count)
        .filter(|digits| (1..=4).contains(&digits.len()))?;
    let length = digits
        .iter()
        .fold(0, |length, digit| length << 8 | usize::from(*digit));
    length.checked_add(2 + count)
}

/// Conditions that stay once they are there.
const LASTING: [&str; 3] = ["Approved", "Denied", "Failed"];
/// Conditions that only the approval endpoint changes.
const DECISIONS: [&str; 2] = ["Approved", "Denied"];
/// PEM label of a certificate.
const CERTIFICATE: &str = "CERTIFICATE";

/// An update of the request or of its approval.
pub(crate) fn signing_request_update(new: &Value, old: &Value, errors: &mut Errors) {
    immutable_field(new, old, "spec", &Path::ROOT, errors);
    conditions(new, old, errors);
}

/// An update of the status: conditions that do not decide, and the certificate, once.
pub(crate) fn signing_request_status(new: &Value, old: &Value, errors: &mut Errors) {
    conditions(new, old, errors);
    let path = Path::ROOT.field("status");
    for decision in DECISIONS {
        let (before, after) = (conditions_of(old, decision), conditions_of(new, decision));
        let change = match before.len().cmp(&after.len()) {
            std::cmp::Ordering::Less => "add",
            std::cmp::Ordering::Equal if before != after => "modify",
            std::cmp::Ordering::Equal | std::cmp::Ordering::Greater => continue,
        };
        let why = format!("updates may not {change} a condition of type \"{decision}\"");
        errors.push_with(|| FieldError::forbidden(&path.field("conditions"), why));
    }
    let issued = |request: &Value| text(&request["status"], "certificate").to_owned();
    let (before, after) = (issued(old), issued(new));
    if before == after {
        return;
    }
    let path = path.field("certificate");
    if let Err(why) = check_certificate(&after) {
        errors.push_with(|| FieldError::invalid(&path, "<certificate data>", why));
    }
    if !before.is_empty() {
        let why = "updates may not modify existing certificate content";
        errors.push_with(|| FieldError::forbidden(&path, why));
    }
}

fn conditions_of<'v>(request: &'v Value, kind: &str) -> Vec<&'v Value> {
    let conditions = list(&request["status"], "conditions").iter();
    conditions
        .filter(|condition| text(condition, "type") == kind)
        .collect()
}

/// Validates `status.conditions`.
fn conditions(new: &Value, old: &Value, errors: &mut Errors) {
    let path = Path::ROOT.field("status");
    let path = path.field("conditions");
    let has = |request: &Value, kind: &str| !conditions_of(request, kind).is_empty();
    let was_both = has(old, "Approved") && has(old, "Denied");
    if has(new, "Approved") && has(new, "Denied") && !was_both {
        let why = "Approved and Denied conditions are mutually exclusive";
        let value = &new["status"]["conditions"];
        errors.push_with(|| FieldError::invalid(&path, value, why));
    }
    for lasting in LASTING {
        if conditions_of(new, lasting).len() < conditions_of(old, lasting).len() {
            let why = format!("updates may not remove a condition of type \"{lasting}\"");
            errors.push_with(|| FieldError::forbidden(&path, why));
        }
    }
}

/// Rejects base64 that holds anything but certificates in PEM.
fn check_certificate(encoded: &str) -> Result<(), String> {
    const NONE: &str = "must contain at least one CERTIFICATE PEM block";
    let decoded = STANDARD.decode(encoded).unwrap_or_default();
    if decoded.is_empty() {
        return Ok(());
    }
    let mut count = 0;
    for block in Pem::iter_from_buffer(&decoded) {
        let block = block.map_err(|_| NONE.to_owned())?;
        if block.label != CERTIFICATE {
            let found = lockstep_gotext::print::quote(&block.label);
            return Err(format!(
                "only CERTIFICATE PEM blocks are allowed, found {found}"
            ));
        }
        let (rest, _) = X509Certificate::from_der(&block.contents)
            .map_err(|_| "x509: malformed certificate".to_owned())?;
        if !rest.is_empty() {
            return Err("x509: trailing data".to_owned());
        }
        count += 1;
    }
    if count == 0 {
        return Err(NONE.to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A certificate for nothing, with a key that was thrown away.
    const ISSUED: &str = concat!(
        "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUJiVENDQVJPZ0F3SUJBZ0lVTWpRUzJMOTZHR0pDRllDQVdsdl",
        "RnSGN3dGhVd0NnWUlLb1pJemowRUF3SXcKRERFS01BZ0dBMVVFQXd3QllUQWVGdzB5TmpFeE1Ua3dNVFUzTURsYUZ3",
        "MHpOakV4TVRZd01UVTNNRGxhTUF3eApDakFJQmdOVkJBTU1BV0V3V1RBVEJnY3Foa2pPUFFJQkJnZ3Foa2pPUFFNQk",
        "J3TkNBQVRhcTV1K1k1ZFEybHF3CjhNOFl0MnNZcWk3VDBtK01UNitBUitvdDNaSnlSNmE5dDdMRk9pQzYrL3Q5bEZt",
        "a1gxeXlJS3BpNmhVVUdwTXMKWlhtVU92RWtvMU13VVRBZEJnTlZIUTRFRmdRVUNXM2hWc0E2QXNvZERRdFNLcXBlWk",
        "9vRjhtMHdId1lEVlIwagpCQmd3Rm9BVUNXM2hWc0E2QXNvZERRdFNLcXBlWk9vRjhtMHdEd1lEVlIwVEFRSC9CQVV3",
        "QXdFQi96QUtCZ2dxCmhrak9QUVFEQWdOSUFEQkZBaUVBMWFvRElzR2tETkwxWUduWkFQaUdYNjVKZGRmdmdyTncyZV",
        "kwS0xSenA0b0MKSUZpZEhEbkxnL3lYcEs5MFNpNU5GTVg5eWI4QTlRdXhxWGYrekdVWnRBbXYKLS0tLS1FTkQgQ0VS",
        "VElGSUNBVEUtLS0tLQo=",
    );

    fn faults(check: fn(&Value, &Value, &mut Errors), old: &Value, new: &Value) -> Vec<String> {
        let mut errors = Errors::default();
        let request = |status: &Value| json!({ "spec": {}, "status": status });
        check(&request(new), &request(old), &mut errors);
        errors.iter().map(ToString::to_string).collect()
    }

    fn pem(label: &str, content: &str) -> Value {
        let text = format!("-----BEGIN {label}-----\n{content}\n-----END {label}-----\n");
        json!({ "certificate": STANDARD.encode(text) })
    }

    fn condition(kind: &str) -> Value {
        json!({ "conditions": [{ "type": kind, "status": "True" }] })
    }

    /// api-machinery.md §12/tier-2, CertificateSigningRequest.
    #[test]
    fn only_certificates_are_issued_and_they_stay() {
        let status = |old: &Value, new: &Value| faults(signing_request_status, old, new);
        let (none, issued) = (json!({}), json!({ "certificate": ISSUED }));
        let none_found = "must contain at least one CERTIFICATE PEM block";
        for (new, why) in [
            (
                json!({ "certificate": STANDARD.encode("hello") }),
                none_found,
            ),
            (pem("CERTIFICATE", "AAAA"), "x509: malformed certificate"),
            (
                pem("PRIVATE KEY", "AAAA"),
                "only CERTIFICATE PEM blocks are allowed, found \"PRIVATE KEY\"",
            ),
        ] {
            let expected =
                format!("status.certificate: Invalid value: \"<certificate data>\": {why}");
            assert_eq!(status(&none, &new), [expected]);
            assert_eq!(status(&new, &new), Vec::<String>::new());
        }
        assert_eq!(status(&none, &issued), Vec::<String>::new());
        let kept =
            "status.certificate: Forbidden: updates may not modify existing certificate content";
        assert_eq!(status(&issued, &none), [kept]);
    }

    /// api-machinery.md §12/tier-2, CertificateSigningRequest.
    #[test]
    fn conditions_are_decided_at_the_approval_endpoint_and_last() {
        let forbidden =
            |what: &str| format!("status.conditions: Forbidden: updates may not {what}");
        let (none, approved) = (json!({}), condition("Approved"));
        let failed = condition("Failed");
        let removed = forbidden("remove a condition of type \"Approved\"");
        for check in [signing_request_update, signing_request_status] {
            assert_eq!(
                faults(check, &approved, &none),
                std::slice::from_ref(&removed)
            );
            assert_eq!(faults(check, &none, &failed), Vec::<String>::new());
        }
        let added = forbidden("add a condition of type \"Approved\"");
        assert_eq!(faults(signing_request_status, &none, &approved), [added]);
        assert_eq!(
            faults(signing_request_update, &none, &approved),
            Vec::<String>::new()
        );
        let mut changed = approved.clone();
        changed["conditions"][0]["reason"] = "Other".into();
        let modified = forbidden("modify a condition of type \"Approved\"");
        assert_eq!(
            faults(signing_request_status, &approved, &changed),
            [modified]
        );
    }
}
