//! Applying, editing and comparing with kubectl.

use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::server::on_each_store;

const ACCOUNT: &str = r#"{"apiVersion": "v1", "kind": "ServiceAccount",
  "metadata": {"name": "a", "namespace": "default", "labels": {"x": "1"}},
  "secrets": [{"name": "one"}, {"name": "two"}]}"#;
const ACCOUNT_LATER: &str = r#"{"apiVersion": "v1", "kind": "ServiceAccount",
  "metadata": {"name": "a", "namespace": "default", "labels": {"y": "2"}},
  "secrets": [{"name": "two"}, {"name": "three"}]}"#;
const MAP: &str = r#"{"apiVersion": "v1", "kind": "ConfigMap",
  "metadata": {"name": "m", "namespace": "default"}, "data": {"color": "red", "size": "1"}}"#;
const CRD: &str = r#"{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
  "metadata": {"name": "widgets.ex.io"},
  "spec": {"group": "ex.io", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
    "versions": [{"name": "v1", "served": true, "storage": true,
      "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "size": {"type": "integer", "default": 1}, "color": {"type": "string"},
        "ports": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port"],
          "items": {"type": "object", "required": ["port"],
            "properties": {"port": {"type": "integer"}, "name": {"type": "string"}}}}}}}}}}]}}"#;
const WIDGET: &str = r#"{"apiVersion": "ex.io/v1", "kind": "Widget",
  "metadata": {"name": "w", "namespace": "default"},
  "spec": {"color": "red", "ports": [{"port": 80, "name": "web"}, {"port": 53}]}}"#;
const WIDGET_LATER: &str = r#"{"apiVersion": "ex.io/v1", "kind": "Widget",
  "metadata": {"name": "w", "namespace": "default"}, "spec": {"ports": [{"port": 80, "name": "web"}]}}"#;

/// A program that changes the file it is given, as an editor would.
fn editor(folder: &Path, change: &str) -> PathBuf {
    let path = folder.join("editor.sh");
    let mut file = std::fs::File::create(&path).unwrap();
    writeln!(file, "#!/bin/sh\nsed -i '{change}' \"$1\"").unwrap();
    drop(file);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

#[test]
fn kubectl_applies_twice_from_the_client() {
    on_each_store(|server| {
        let apply = |input| server.kubectl("apply -f -", input);
        assert_eq!(apply(ACCOUNT), "serviceaccount/a created\n");
        assert_eq!(apply(ACCOUNT), "serviceaccount/a unchanged\n");
        assert_eq!(apply(ACCOUNT_LATER), "serviceaccount/a configured\n");
        server.says(
            "get serviceaccount a -o jsonpath={.metadata.labels}{.secrets}",
            r#"{"y":"2"}[{"name":"two"},{"name":"three"}]"#,
        );
        assert_eq!(
            server.managers("serviceaccount a"),
            ["kubectl-client-side-apply"]
        );
        let (same, differences) = server.outcome("diff -f -", ACCOUNT_LATER);
        assert_eq!((same, &*differences), (true, ""));
        let (same, differences) = server.outcome("diff -f -", ACCOUNT);
        assert!(
            !same && differences.contains("\n+- name: one\n"),
            "{differences}"
        );

        assert_eq!(
            apply(CRD),
            "customresourcedefinition.apiextensions.k8s.io/widgets.ex.io created\n"
        );
        assert_eq!(apply(WIDGET), "widget.ex.io/w created\n");
        assert_eq!(apply(WIDGET), "widget.ex.io/w unchanged\n");
        assert_eq!(apply(WIDGET_LATER), "widget.ex.io/w configured\n");
        server.says(
            "get widget w -o jsonpath={.spec}",
            r#"{"ports":[{"name":"web","port":80}],"size":1}"#,
        );
    });
}

#[test]
fn kubectl_applies_with_the_server_and_meets_conflicts() {
    on_each_store(|server| {
        let apply = |options: &str, input| {
            server.outcome(&format!("apply --server-side{options} -f -"), input)
        };
        let done = |text: &str| (true, format!("{text} serverside-applied\n"));
        assert_eq!(apply("", MAP), done("configmap/m"));
        assert_eq!(apply("", MAP), done("configmap/m"));
        let other = MAP.replace("red", "blue");
        let (is_applied, said) = apply(" --field-manager=other", &other);
        assert!(!is_applied);
        let expected =
            "error: Apply failed with 1 conflict: conflict with \"kubectl\": .data.color\n";
        assert!(said.starts_with(expected), "{said}");
        let (same, differences) = server.outcome(
            "diff --server-side --force-conflicts --field-manager=other -f -",
            &other,
        );
        assert!(
            !same && differences.contains("\n-  color: red\n+  color: blue\n"),
            "{differences}"
        );
        assert_eq!(
            apply(" --field-manager=other --force-conflicts", &other),
            done("configmap/m")
        );
        server.says(
            "get configmap m -o jsonpath={.data}",
            r#"{"color":"blue","size":"1"}"#,
        );
        let managers = "get configmap m -o jsonpath={range.metadata.managedFields[*]}{.manager}={.fieldsV1};{end}";
        server.says(
            &format!("{managers}{}", server.shows_managed_fields()),
            r#"kubectl={"f:data":{"f:size":{}}};other={"f:data":{"f:color":{},"f:size":{}}};"#,
        );

        assert!(apply("", CRD).0);
        assert_eq!(apply("", WIDGET), done("widget.ex.io/w"));
        assert_eq!(apply("", WIDGET_LATER), done("widget.ex.io/w"));
        server.says(
            "get widget w -o jsonpath={.spec}",
            r#"{"ports":[{"name":"web","port":80}],"size":1}"#,
        );
        let (is_applied, said) = apply(" --validate=false", &WIDGET.replace("color", "colour"));
        assert!(
            !is_applied && said.contains(".spec.colour: field not declared in schema"),
            "{said}"
        );
    });
}

/// api-machinery.md §10/A16: server-side apply takes over the fields of client-side apply.
#[test]
fn kubectl_moves_from_the_client_to_the_server() {
    on_each_store(|server| {
        if !server.can("how to take over what was applied from the client", 26) {
            return;
        }
        assert_eq!(server.kubectl("apply -f -", MAP), "configmap/m created\n");
        let later = MAP.replace("red", "blue").replace(r#", "size": "1""#, "");
        let said = server.kubectl("apply --server-side -f -", &later);
        assert_eq!(said, "configmap/m serverside-applied\n");
        server.says("get configmap m -o jsonpath={.data}", r#"{"color":"blue"}"#);
        assert_eq!(
            server.managers("configmap m"),
            ["kubectl", "kubectl-last-applied"]
        );
    });
}

#[test]
fn kubectl_edits_and_patches() {
    on_each_store(|server| {
        assert_eq!(server.kubectl("create -f -", MAP), "configmap/m created\n");
        let editor = editor(server.folder(), "s/color: red/color: green/");
        let edit = server.with_editor("edit configmap m", &editor);
        assert_eq!(edit, "configmap/m edited\n");
        server.says("get configmap m -o jsonpath={.data.color}", "green");
        server.says(
            r#"patch configmap m -p {"data":{"size":null,"$retainKeys":["color"]}}"#,
            "configmap/m patched",
        );
        server.says(
            "get configmap m -o jsonpath={.data}",
            r#"{"color":"green"}"#,
        );
        server.says("label configmap m a=b", "configmap/m labeled");
        server.says("annotate configmap m c=d", "configmap/m annotated");
        assert_eq!(
            server.managers("configmap m"),
            [
                "kubectl-annotate",
                "kubectl-create",
                "kubectl-edit",
                "kubectl-label"
            ]
        );
    });
}
