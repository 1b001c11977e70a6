//! Admission webhooks as kubectl shows them: patches, warnings and refusals.

use lockstep_testkit::webhook::Say;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::review::{answer, begin, patch};
use crate::world::World;

/// Path of kubectl, from `LOCKSTEP_TEST_KUBECTL` or else the search path.
fn program() -> Option<PathBuf> {
    if let Some(path) = std::env::var_os("LOCKSTEP_TEST_KUBECTL") {
        return Some(path.into());
    }
    let found = Command::new("kubectl")
        .args(["version", "--client"])
        .output();
    found
        .is_ok_and(|output| output.status.success())
        .then(|| "kubectl".into())
}

/// Adds a label to new objects, and refuses those that say so, with a warning.
fn say() -> Say {
    Box::new(|review| {
        let object = &review["request"]["object"];
        let is_new = object["metadata"]["uid"].is_null();
        let more = match (is_new, object["data"]["color"].as_str()) {
            (true, _) => {
                let labels =
                    json!([{ "op": "add", "path": "/metadata/labels", "value": { "by": "hook" } }]);
                let mut more = patch(&labels);
                more["warnings"] = json!(["labelled"]);
                more
            }
            (false, Some("blue")) => {
                json!({ "allowed": false, "status": { "message": "not blue", "reason": "Forbidden", "code": 403 } })
            }
            (false, _) => json!({}),
        };
        Some(answer(&review, &more).into())
    })
}

/// Runs kubectl with this input and returns its output, on a blocking thread: the server needs this one.
async fn kubectl(program: &Path, world: &World, arguments: &str, input: &str) -> String {
    let mut command = Command::new(program);
    command
        .arg("--kubeconfig")
        .arg(world.server.path("admin.kubeconfig"))
        .args(arguments.split(' '))
        .env("HOME", world.server.folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let input = input.to_owned();
    let ended = tokio::task::spawn_blocking(move || {
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(input.as_bytes()).unwrap();
        drop(stdin);
        child.wait_with_output().unwrap()
    });
    let output = ended.await.unwrap();
    let said = [output.stderr, output.stdout].concat();
    String::from_utf8(said).unwrap().trim_end().to_owned()
}

/// api-machinery.md §12/webhook-denials: output of kubectl.
#[tokio::test]
async fn kubectl_shows_what_webhooks_change_warn_of_and_refuse() {
    let Some(program) = program() else {
        println!("SKIPPED: kubectl is not installed, so nobody met a webhook as users do");
        return;
    };
    let world = begin(say()).await;
    let configuration = |kind: &str, name: &str| -> Value {
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind,
            "metadata": { "name": name },
            "webhooks": [world.webhook(&json!({ "name": format!("{name}.b.io") }))],
        })
    };
    let mutating = configuration("MutatingWebhookConfiguration", "labels").to_string();
    let validating = configuration("ValidatingWebhookConfiguration", "colors").to_string();
    let rows = [
        (
            "create -f -",
            mutating.as_str(),
            "mutatingwebhookconfiguration.admissionregistration.k8s.io/labels created",
        ),
        (
            "apply -f -",
            &validating,
            "validatingwebhookconfiguration.admissionregistration.k8s.io/colors created",
        ),
        (
            "create configmap a -n n --from-literal=color=red",
            "",
            "Warning: labelled\nconfigmap/a created",
        ),
        (
            "get configmap a -n n -o jsonpath={.metadata.labels}",
            "",
            r#"{"by":"hook"}"#,
        ),
        (
            "create -f -",
            r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b","namespace":"n"},"data":{"color":"blue"}}"#,
            "Warning: labelled\nError from server (Forbidden): error when creating \"STDIN\": admission webhook \"colors.b.io\" denied the request: not blue",
        ),
        (
            "patch configmap a -n n -p {\"data\":{\"color\":\"blue\"}}",
            "",
            "Error from server (Forbidden): admission webhook \"labels.b.io\" denied the request: not blue",
        ),
        (
            "delete mutatingwebhookconfiguration labels",
            "",
            "mutatingwebhookconfiguration.admissionregistration.k8s.io \"labels\" deleted",
        ),
        (
            "create configmap c -n n --from-literal=color=red",
            "",
            "configmap/c created",
        ),
    ];
    for (arguments, input, expected) in rows {
        let said = kubectl(&program, &world, arguments, input).await;
        assert_eq!(said, expected, "kubectl {arguments}");
    }
}
