//! `lockstep run`: a command with a server of its own (rows of ux.md, as §3.2/run).

use std::fs;
use std::path::Path;

use lockstep_testkit::processes::skipped;

use crate::dropin::{WIDGETS, lockstep, text};
use crate::server::Kubectl;

/// §3.2/run.
#[test]
fn run_gives_a_command_a_server_and_its_exit_code() {
    let (crds, load) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::write(crds.path().join("widgets.yaml"), WIDGETS).unwrap();
    let objects = "\
apiVersion: ex.io/v1
kind: Widget
metadata: {name: a, namespace: shop}
---
apiVersion: v1
kind: Namespace
metadata: {name: shop}
";
    fs::write(load.path().join("objects.yaml"), objects).unwrap();
    let [crds, load] = [&crds, &load].map(|folder| folder.path().to_str().unwrap().to_owned());
    let run = |script: &str| {
        let words = [
            "run", "--crds", &crds, "--load", &load, "--", "sh", "-c", script,
        ];
        lockstep(&words)
    };
    let output =
        run("echo $USE_EXISTING_CLUSTER; ls $KUBEBUILDER_ASSETS | grep -v kubectl; exit 7");
    assert_eq!(output.status.code(), Some(7));
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(said, "true\netcd\nkube-apiserver\n");
    let output = run("grep -c $KUBERNETES_MASTER $KUBECONFIG; echo heard >&2; cat");
    let heard = (output.status.code(), output.stdout, output.stderr);
    let expected = (Some(0), b"1\n".to_vec(), b"heard\n".to_vec());
    assert_eq!(heard, expected, "it inherits what it is told and tells");
    assert_eq!(run("kill -9 $$").status.code(), Some(128 + 9));
    let Some(kubectl) = Kubectl::find() else {
        skipped("kubectl is not installed, so nobody asked the server of a command");
        return;
    };
    let kubectl = kubectl.program.to_str().unwrap();
    let said = text(run(&format!(
        "{kubectl} get widgets -A -o name; test $KUBECONFIG"
    )));
    assert_eq!(said, "widget.ex.io/a\n");
}

/// §3.2/gates: they are the server's.
#[test]
fn run_gives_the_server_its_gates() {
    let gates = "CRDFieldLevelVersioning=true";
    let program = env!("CARGO_BIN_EXE_lockstep");
    let script = format!(
        "'{program}' features list --enabled --stage alpha --no-headers --kubeconfig $KUBECONFIG"
    );
    let words = ["run", "--feature-gates", gates, "--", "sh", "-c", &script];
    let listed = text(lockstep(&words));
    assert!(listed.contains(" CRDFieldLevelVersioning "), "{listed}");
    let refused = lockstep(&["run", "--feature-gates", "Nobody=true", "--", "true"]);
    let told = String::from_utf8(refused.stderr).unwrap();
    assert!(told.contains("unrecognized feature gate: Nobody"), "{told}");
}

/// §3.2/keep.
#[test]
fn run_keeps_what_a_failed_command_left_if_asked() {
    let output = lockstep(&["run", "--keep-on-failure", "--", "false"]);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    let kept = said.strip_prefix("kept ").unwrap();
    let kept = Path::new(kept.lines().next().unwrap());
    assert!(kept.join("admin.kubeconfig").exists());
    let shown = kept.display();
    let expected = format!("kept {shown}\nlook at it with: lockstep serve --data-dir {shown}\n");
    assert_eq!(said, expected);
    fs::remove_dir_all(kept).unwrap();
}

#[test]
fn run_says_what_cannot_be_loaded_and_starts_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().to_str().unwrap();
    for (content, expected) in [
        (
            None,
            format!("error: {place} has no file that ends in .yaml, .yml or .json\n"),
        ),
        (
            Some("apiVersion: ex.io/v1\nkind: Gadget\n"),
            format!("error: {place}/a.yaml: the server has no Gadget in ex.io/v1\n"),
        ),
        (
            Some("kind: Gadget\n"),
            format!("error: {place}/a.yaml: an object has no apiVersion or no kind\n"),
        ),
        (
            Some("- 1\n"),
            format!("error: {place}/a.yaml: expected objects\n"),
        ),
    ] {
        if let Some(content) = content {
            fs::write(folder.path().join("a.yaml"), content).unwrap();
        }
        let output = lockstep(&["run", "--load", place, "--", "echo", "started"]);
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8(said).unwrap();
        assert_eq!((output.status.code(), said), (Some(2), expected));
    }
}

#[test]
fn run_prints_the_first_warnings_of_the_server_and_refuses_them_if_strict() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().to_str().unwrap();
    let object = |n: u8| {
        format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: m{n}}}\nspec: unknown\n")
    };
    let objects: Vec<String> = (1..=7).map(object).collect();
    fs::write(folder.path().join("a.yaml"), objects.join("---\n")).unwrap();
    let warning = format!("Warning: {place}/a.yaml: unknown field \"spec\"\n");
    let first = format!("{}Warning: 2 more warnings\n", warning.repeat(5));
    let run = |flags: &[&str]| {
        let arguments = [&["run", "--load", place], flags, &["--", "echo", "started"]].concat();
        let output = lockstep(&arguments);
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (
            output.status.code(),
            text(output.stdout),
            text(output.stderr),
        )
    };
    assert_eq!(run(&[]), (Some(0), "started\n".to_owned(), first.clone()));
    let refused = "error: the server has 7 warnings about the objects, and `--strict` is set\n";
    let refused = format!("{first}{refused}");
    assert_eq!(run(&["--strict"]), (Some(2), String::new(), refused));
}
