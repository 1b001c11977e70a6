//! `lockstep crd gates` against a server (field-gates.md §12), with kubectl as the witness.

use std::process::Stdio;

use crate::server::server_with;
use crate::tutorials::run;

#[test]
fn gates_are_listed_and_switched() {
    run("crates/lockstep/tests/kubectl/crd-gates/switch.md");
}

#[test]
fn what_others_switched_is_theirs() {
    run("crates/lockstep/tests/kubectl/crd-gates/owners.md");
}

#[test]
fn fields_are_explained_and_counted() {
    run("crates/lockstep/tests/kubectl/crd-gates/fields.md");
}

#[test]
fn gates_are_carried_away_and_put_back() {
    run("crates/lockstep/tests/kubectl/crd-gates/transfer.md");
}

#[test]
fn the_guide_to_gates_of_fields_does_what_it_says() {
    run("docs/how-to/switch-gates-of-fields.md");
}

/// Who switches a gate applies all that was switched before, so that two at once must not undo each other.
#[test]
fn many_switches_at_once_lose_none() {
    const GATES: usize = 6;
    let folder = tempfile::tempdir().unwrap();
    let flags = ["--feature-gates", "CRDFieldLevelVersioning=true"];
    let Some(server) = server_with(folder.path(), &flags) else {
        return;
    };
    let gates: Vec<String> = (0..GATES)
        .map(|at| {
            format!(r#"{{"name":"G{at}","preRelease":"alpha","fieldPaths":[".spec.f{at}"]}}"#)
        })
        .collect();
    let fields: Vec<String> = (0..GATES)
        .map(|at| format!(r#""f{at}":{{"type":"integer"}}"#))
        .collect();
    let definition = format!(
        r#"{{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{{"name":"things.example.com"}},
        "spec":{{"group":"example.com","scope":"Cluster","names":{{"plural":"things","kind":"Thing"}},
        "versions":[{{"name":"v1","served":true,"storage":true,"schema":{{"openAPIV3Schema":{{"type":"object","properties":{{
        "spec":{{"type":"object","properties":{{{}}}}}}}}}}}}}],"customFeatureGates":{{"featureGates":[{}]}}}}}}"#,
        fields.join(","),
        gates.join(",")
    );
    let (is_done, told) = server.outcome("create -f -", &definition);
    assert!(is_done, "{told}");
    let running = (0..GATES).map(|at| {
        let words = ["crd", "gates", "enable", "things.example.com"].map(str::to_owned);
        let words = [words.to_vec(), vec![format!("G{at}")]].concat();
        let mut command = server.lockstep(&words);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    });
    let running: Vec<_> = running.collect();
    for (at, child) in running.into_iter().enumerate() {
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        let expected =
            format!("things.example.com G{at} (alpha): disabled (stage) → enabled (enabled)\n");
        assert_eq!(said, expected);
    }
    let states = server.kubectl(
        "get crd things.example.com -o jsonpath={.status.customFeatureGates[*].enabled}",
        "",
    );
    assert_eq!(states, ["true"; GATES].join(" "));
}
