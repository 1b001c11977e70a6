//! `lockstep crd gates` against a server (field-gates.md §12), with kubectl as the witness.

use std::path::Path;
use std::process::Stdio;

use crate::server::{Server, server_with};
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

/// Output of a `lockstep` command, without the address of the server.
fn said(server: &Server, arguments: &str) -> String {
    let words: Vec<String> = arguments.split(' ').map(str::to_owned).collect();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let said = server.lockstep_in(&root, &words);
    let words = said
        .split_inclusive(' ')
        .map(|word| match word.split_once("https://") {
            Some((before, _)) => format!("{before}URL "),
            None => word.to_owned(),
        });
    words.collect()
}

/// field-gates.md §9, server gate off: gates are not evaluated, new ones are not kept.
#[test]
fn a_server_that_lets_gates_be_is_told_of() {
    let folder = tempfile::tempdir().unwrap();
    let flags = ["--feature-gates", "CRDFieldLevelVersioning=true"];
    let definition = include_str!("../../../../examples/field-gates/crd-alpha.yaml");
    let Some(server) = server_with(folder.path(), &flags) else {
        return;
    };
    let (is_done, told) = server.outcome("create -f -", definition);
    assert!(is_done, "{told}");
    drop(server);
    let server = server_with(folder.path(), &[]).unwrap();
    let idle = "! warn   `CRDFieldLevelVersioning` is off at URL all fields are free whatever their gates\n";
    assert_eq!(
        said(&server, "crd gates list --no-headers"),
        format!(
            "{idle}crontabs.stable.example.com  istio  ReplicasFeatureGate  alpha  disabled  stage  .spec.replicas\n"
        )
    );
    assert_eq!(
        said(&server, "crd gates enable crontabs ReplicasFeatureGate"),
        format!(
            "crontabs.stable.example.com istio/ReplicasFeatureGate (alpha): disabled (stage) → enabled (enabled)\n{idle}"
        )
    );
    assert_eq!(
        said(&server, "crd gates list -q --no-headers")
            .lines()
            .count(),
        1
    );
    server.kubectl("delete crd crontabs.stable.example.com", "");
    let (is_done, told) = server.outcome("create -f -", definition);
    assert!(is_done, "{told}");
    assert_eq!(
        said(
            &server,
            "crd gates import -f examples/field-gates/gates.yaml"
        ),
        "? 1\nWarning: spec.customFeatureGates: dropped: feature gate CRDFieldLevelVersioning is disabled\n\
         CRD                          RESULT\n\
         crontabs.stable.example.com  dropped  the server did not keep them; is `CRDFieldLevelVersioning` on there?\n"
    );
}

/// ux.md §2.3: missing permission is exit status 4.
#[test]
fn who_may_not_look_is_told_with_status_4() {
    let folder = tempfile::tempdir().unwrap();
    let Some(server) = server_with(folder.path(), &[]) else {
        return;
    };
    let kubeconfig = std::fs::read_to_string(folder.path().join("data/admin.kubeconfig")).unwrap();
    let nobody: Vec<&str> = kubeconfig
        .lines()
        .filter(|line| !line.contains("client-certificate") && !line.contains("client-key"))
        .collect();
    let path = folder.path().join("nobody.kubeconfig");
    std::fs::write(&path, nobody.join("\n")).unwrap();
    for command in [
        "list",
        "enable a.b C",
        "unset a.b C",
        "scan a.b",
        "explain a.b .c",
        "export",
        "import -f examples/field-gates/gates.yaml",
    ] {
        let said = said(
            &server,
            &format!("crd gates {command} --kubeconfig {}", path.display()),
        );
        assert!(
            said.starts_with("? 4\nerror: URL answered 403: "),
            "{command}: {said}"
        );
    }
}

/// Switching a gate applies all gates that its manager set before, so concurrent switches must not undo each other.
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
