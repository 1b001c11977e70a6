//! Validation of secrets by their type. Errors and warnings never contain data of the secret.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lockstep_object::field::{FieldError, FieldErrors, Path};
use lockstep_object::{Object, Value};

/// The annotation with the service account of a token.
const ACCOUNT_NAME: &str = "kubernetes.io/service-account.name";

/// Warns about TLS secrets without a PEM certificate or private key.
pub(super) fn warn_of_type(secret: &Object) -> Vec<String> {
    let is_tls = secret.at(&["type"]).and_then(Value::as_str) == Some("kubernetes.io/tls");
    let wrong = || {
        let certificate = STANDARD.decode(entry(secret, "tls.crt")?).ok()?;
        if let Some(problem) = missing_block(&certificate, "CERTIFICATE", "certificate") {
            return Some(problem);
        }
        let key = STANDARD.decode(entry(secret, "tls.key")?).ok()?;
        missing_block(&key, "PRIVATE KEY", "key")
    };
    is_tls.then(wrong).flatten().into_iter().collect()
}

/// The warning about PEM data without a block whose type ends in `wanted`, with Go's text.
fn missing_block(text: &[u8], wanted: &str, what: &str) -> Option<String> {
    let text = String::from_utf8_lossy(text);
    let begins = text.lines().filter_map(|line| {
        let kind = line.trim_end().strip_prefix("-----BEGIN ")?;
        kind.strip_suffix("-----")
    });
    let skipped: Vec<&str> = begins.collect();
    if skipped.iter().any(|kind| kind.ends_with(wanted)) {
        return None;
    }
    Some(match skipped.as_slice() {
        [] => format!("tls: failed to find any PEM data in {what} input"),
        skipped if what == "key" => format!(
            "tls: failed to find PEM block with type ending in \"{wanted}\" in {what} input after skipping PEM blocks of the following types: [{}]",
            skipped.join(" ")
        ),
        skipped => format!(
            "tls: failed to find \"{wanted}\" PEM block in {what} input after skipping PEM blocks of the following types: [{}]",
            skipped.join(" ")
        ),
    })
}

/// Checks the keys that the type of a secret requires.
pub(super) fn check_type(secret: &Object) -> FieldErrors {
    let kind = secret.at(&["type"]).and_then(Value::as_str);
    match kind.unwrap_or_default() {
        "kubernetes.io/service-account-token" => {
            let name = secret.annotation(ACCOUNT_NAME).unwrap_or_default();
            let metadata = Path::ROOT.field("metadata");
            let annotations = metadata.field("annotations");
            let missing = FieldError::required(&annotations.key(ACCOUNT_NAME), "");
            name.is_empty().then_some(missing).into_iter().collect()
        }
        "kubernetes.io/dockercfg" => check_json(secret, ".dockercfg"),
        "kubernetes.io/dockerconfigjson" => check_json(secret, ".dockerconfigjson"),
        "kubernetes.io/basic-auth" => {
            let keys = ["username", "password"];
            let is_any = keys.iter().any(|key| entry(secret, key).is_some());
            let missing = keys.iter().filter(|_| !is_any);
            missing.map(|key| required(key)).collect()
        }
        "kubernetes.io/ssh-auth" => {
            let key = entry(secret, "ssh-privatekey").unwrap_or_default();
            let missing = key.is_empty().then(|| required("ssh-privatekey"));
            missing.into_iter().collect()
        }
        "kubernetes.io/tls" => {
            let keys = ["tls.crt", "tls.key"].iter();
            let missing = keys.filter(|key| entry(secret, key).is_none());
            missing.map(|key| required(key)).collect()
        }
        _ => FieldErrors::new(),
    }
}

fn check_json(secret: &Object, key: &str) -> FieldErrors {
    let Some(text) = entry(secret, key) else {
        return [required(key)].into();
    };
    let decoded = STANDARD.decode(text.trim()).unwrap_or_default();
    let read = serde_json::from_slice::<serde_json::Map<String, Value>>(&decoded);
    let data = Path::ROOT.field("data");
    let wrong = read.err().map(|error| {
        // The error of the parser may quote the data, so its category is reported instead.
        let problem = match error.classify() {
            serde_json::error::Category::Eof => "unexpected end of JSON input",
            serde_json::error::Category::Data => "it is no JSON object",
            _ => "invalid character in JSON",
        };
        FieldError::invalid(&data.key(key), "<secret contents redacted>", problem)
    });
    wrong.into_iter().collect()
}

fn entry<'o>(secret: &'o Object, key: &str) -> Option<&'o str> {
    secret.at(&["data", key]).and_then(Value::as_str)
}

fn required(key: &str) -> FieldError {
    FieldError::required(&Path::ROOT.field("data").key(key), "")
}
