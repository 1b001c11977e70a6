//! Credentials that a program gives: `exec` of a user in a kubeconfig, run as other clients run it.

use std::io::{IsTerminal as _, Read as _};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::files::Entry;
use crate::failure::Failure;

/// Versions of the `ExecCredential` API that are supported.
const V1: &str = "client.authentication.k8s.io/v1";
const V1BETA1: &str = "client.authentication.k8s.io/v1beta1";
/// Environment variable that passes the `ExecCredential` request to the plugin.
const INFO: &str = "KUBERNETES_EXEC_INFO";
/// Upper bound on the size of a plugin's output.
const ANSWER_BYTES_MAX: u64 = 1 << 20;

/// Credentials that an exec plugin returned.
#[derive(Default)]
pub(super) struct Given {
    pub(super) token: Option<String>,
    pub(super) certificate: Option<(Vec<u8>, Vec<u8>)>,
}

/// Runs the exec plugin of a user. It inherits the terminal, so that it can prompt and print errors.
/// `cluster` is the information about the server that it may get.
pub(super) fn run(user: &Entry<'_>, exec: &Value, cluster: &Value) -> Result<Given, Failure> {
    let version = exec["apiVersion"].as_str().unwrap_or_default();
    if ![V1, V1BETA1].contains(&version) {
        let told = format!("exec: apiVersion `{version}` is not understood; it is `{V1}`");
        return Err(user.wrong(&told));
    }
    let name = exec["command"].as_str().unwrap_or_default();
    let mut spec = json!({ "interactive": is_interactive(user, exec, version)? });
    if exec["provideClusterInfo"] == true {
        spec["cluster"] = cluster.clone();
    }
    let stdin = if spec["interactive"] == true {
        Stdio::inherit()
    } else {
        Stdio::null()
    };
    let info = json!({ "apiVersion": version, "kind": "ExecCredential", "spec": spec });
    let mut command = Command::new(user.program(name));
    command.env(INFO, info.to_string()).stdin(stdin);
    let texts = |key: &str| exec[key].as_array().into_iter().flatten();
    command.args(texts("args").filter_map(Value::as_str));
    for row in texts("env") {
        if let (Some(name), Some(value)) = (row["name"].as_str(), row["value"].as_str()) {
            command.env(name, value);
        }
    }
    let answer = answer(&mut command).map_err(|why| {
        let failure = user.wrong(&format!("exec: `{name}` {why}"));
        match exec["installHint"].as_str() {
            Some(hint) => failure.with_help(hint.trim()),
            None => failure,
        }
    })?;
    given(&answer, version).map_err(|why| user.wrong(&format!("exec: `{name}` {why}")))
}

fn is_interactive(user: &Entry<'_>, exec: &Value, version: &str) -> Result<bool, Failure> {
    let is_terminal = std::io::stdin().is_terminal();
    match exec["interactiveMode"].as_str() {
        Some("Never") => Ok(false),
        Some("IfAvailable") => Ok(is_terminal),
        None if version == V1BETA1 => Ok(is_terminal),
        Some("Always") if is_terminal => Ok(true),
        Some("Always") => Err(user.wrong("exec: the program asks a person, and nobody is there")),
        _ => Err(user.wrong("exec: interactiveMode is not one of Never, IfAvailable, Always")),
    }
}

fn answer(command: &mut Command) -> Result<Vec<u8>, String> {
    let started = command.stdout(Stdio::piped()).spawn();
    let mut child = started.map_err(|error| format!("cannot be run: {error}"))?;
    let mut answer = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        let read = stdout.take(ANSWER_BYTES_MAX).read_to_end(&mut answer);
        read.map_err(|error| format!("cannot be read: {error}"))?;
    }
    let ended = child.wait().map_err(|error| error.to_string())?;
    if ended.success() {
        Ok(answer)
    } else {
        Err(format!("failed: {ended}"))
    }
}

/// Parses the `ExecCredential` that a plugin printed. Errors never quote it, because it holds secrets.
fn given(answer: &[u8], version: &str) -> Result<Given, String> {
    let answer: Value = serde_json::from_slice(answer).map_err(|_| "gave no JSON".to_owned())?;
    if answer["kind"] != "ExecCredential" || answer["apiVersion"] != version {
        return Err(format!("gave no ExecCredential of {version}"));
    }
    let text = |key: &str| {
        let text = answer["status"][key].as_str();
        text.filter(|text| !text.is_empty()).map(str::to_owned)
    };
    let (certificate, key) = (text("clientCertificateData"), text("clientKeyData"));
    match (text("token"), certificate, key) {
        (None, None, None) => Err("gave neither a token nor a certificate".to_owned()),
        (_, Some(_), None) | (_, None, Some(_)) => {
            Err("gave a certificate or a key, and not both".to_owned())
        }
        (token, certificate, key) => Ok(Given {
            token,
            certificate: certificate
                .zip(key)
                .map(|(certificate, key)| (certificate.into_bytes(), key.into_bytes())),
        }),
    }
}
