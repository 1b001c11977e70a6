//! Everyday kubectl commands on the real binary: built-in kinds and a custom resource.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::Child;

use serde_json::json;

use crate::server::{Server, on_each_store, row};

const CRD: &str = r#"{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
  "metadata": {"name": "widgets.ex.io"},
  "spec": {"group": "ex.io", "scope": "Namespaced",
    "names": {"plural": "widgets", "kind": "Widget", "shortNames": ["wd"]},
    "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
      "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object",
        "properties": {"size": {"type": "integer", "maximum": 5, "default": 1}}}}}}}]}}"#;
const WIDGET: &str =
    r#"{"apiVersion": "ex.io/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {}}"#;

/// Shown by columns of its own, and scaled.
const SET_CRD: &str = r#"{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
  "metadata": {"name": "sets.ex.io"},
  "spec": {"group": "ex.io", "scope": "Namespaced", "names": {"plural": "sets", "kind": "Set"},
    "versions": [{"name": "v1", "served": true, "storage": true,
      "subresources": {"status": {},
        "scale": {"specReplicasPath": ".spec.count", "statusReplicasPath": ".status.count"}},
      "additionalPrinterColumns": [
        {"name": "Count", "type": "integer", "jsonPath": ".spec.count"},
        {"name": "Ready", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Ready\")].status"},
        {"name": "Note", "type": "string", "jsonPath": ".spec.note", "priority": 1},
        {"name": "Made", "type": "date", "jsonPath": ".metadata.creationTimestamp"}],
      "schema": {"openAPIV3Schema": {"type": "object", "properties": {
        "spec": {"type": "object", "properties": {"count": {"type": "integer"}, "note": {"type": "string"}}},
        "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}}}]}}"#;
const SET: &str = r#"{"apiVersion": "ex.io/v1", "kind": "Set", "metadata": {"name": "s"},
  "spec": {"count": 1, "note": "small"}}"#;
const EVENT: &str = r#"{"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e", "namespace": "default"},
  "involvedObject": {"apiVersion": "ex.io/v1", "kind": "Set", "namespace": "default", "name": "s", "uid": "UID"},
  "type": "Normal", "reason": "Grown", "message": "It has grown.", "source": {"component": "gardener"}}"#;

#[test]
fn kubectl_works_on_namespaces_and_on_a_custom_resource() {
    on_each_store(|server| {
        let create = "create --validate=false -f -";

        let (_, namespaces) = server.outcome("get namespaces -o name", "");
        let expected = "namespace/default\nnamespace/kube-node-lease\nnamespace/kube-public\nnamespace/kube-system\n";
        assert_eq!(namespaces, expected);
        server.says("delete namespace default", "Error from server (Forbidden): namespaces \"default\" is forbidden: this namespace may not be deleted");

        let (_, said) = server.outcome(create, CRD);
        assert_eq!(
            said,
            "customresourcedefinition.apiextensions.k8s.io/widgets.ex.io created\n"
        );
        let (_, said) = server.outcome(create, WIDGET);
        assert_eq!(
            said, "widget.ex.io/w created\n",
            "a CRD is served when its write returns"
        );
        server.says("get wd w -o jsonpath={.spec}", r#"{"size":1}"#);
        let established = "wait --for condition=established --timeout=20s crd/widgets.ex.io";
        server.says(
            established,
            "customresourcedefinition.apiextensions.k8s.io/widgets.ex.io condition met",
        );
        server.says(
        r#"patch widget w --type=merge -p {"spec":{"size":9}}"#,
        "The Widget \"w\" is invalid: spec.size: Invalid value: 9: spec.size in body should be less than or equal to 5",
    );
        server.says(
            r#"patch widget w --type=merge -p {"spec":{"size":4}}"#,
            "widget.ex.io/w patched",
        );
        server.says(
            r#"patch widget w --type=json -p [{"op":"replace","path":"/spec/size","value":5}]"#,
            "widget.ex.io/w patched",
        );
        server.says("label widget w a=b", "widget.ex.io/w labeled");
        server.says("annotate widget w c=d", "widget.ex.io/w annotated");
        server.says("get widgets -l a=b -o name", "widget.ex.io/w");
        server.says("get widgets -l a!=b -o name", "");
        let (_, described) = server.outcome("describe widget w", "");
        assert!(
            described.contains("Size:  5") && described.contains("Events:  <none>"),
            "{described}"
        );
        server.says("delete widget w", "widget.ex.io \"w\" deleted");
        server.says(
            "get widget w",
            "Error from server (NotFound): widgets.ex.io \"w\" not found",
        );
        server.says(
            "delete crd widgets.ex.io",
            "customresourcedefinition.apiextensions.k8s.io \"widgets.ex.io\" deleted",
        );
        let (worked, said) = server.outcome("get widgets", "");
        assert!(!worked, "{said}");
    });
}

const SET_PATH: &str = "/apis/ex.io/v1/namespaces/default/sets/s";

/// Gives a server a set and an event about it.
fn make_a_set(server: &Server) {
    let create = |object: &str| {
        let (worked, said) = server.outcome("create --validate=false -f -", object);
        assert!(worked, "{said}");
    };
    create(SET_CRD);
    create(SET);
    let (_, uid) = server.outcome("get set s -o jsonpath={.metadata.uid}", "");
    create(&EVENT.replace("UID", &uid));
}

/// api-machinery.md §3.1/built-in, §3.1/custom, §15: columns of `kubectl get`.
#[test]
fn kubectl_shows_the_columns_of_each_kind_and_follows_them() {
    on_each_store(|server| {
        make_a_set(server);

        let namespaces = ["NAME STATUS AGE", "default Active AGE"];
        server.shows("get namespace default", &namespaces);
        let (_, crds) = server.outcome("get crds", "");
        let titles = crds.lines().next().map(row);
        assert_eq!(titles.as_deref(), Some("NAME CREATED AT"));
        server.shows("get sets", &["NAME COUNT READY MADE", "s 1 AGE"]);
        server.shows(
            "get sets -o wide",
            &["NAME COUNT READY NOTE MADE", "s 1 small AGE"],
        );
        server.shows(
            "get sets -A",
            &["NAMESPACE NAME COUNT READY MADE", "default s 1 AGE"],
        );
        server.shows("get set s --show-labels --no-headers", &["s 1 AGE <none>"]);
        server.shows(
            "get events",
            &[
                "LAST SEEN TYPE REASON OBJECT MESSAGE",
                "<unknown> Normal Grown set/s It has grown.",
            ],
        );
        server.says("get secrets", "No resources found in default namespace.");
        let (_, yaml) = server.outcome("get set s -o yaml", "");
        assert!(
            yaml.contains("\nspec:\n  count: 1\n  note: small\n"),
            "{yaml}"
        );

        let mut following = server.run("get sets -w --request-timeout=60s");
        let mut lines = BufReader::new(following.stdout.take().unwrap()).lines();
        let mut next = || lines.next().map(|line| row(&line.unwrap()));
        assert_eq!(next().as_deref(), Some("NAME COUNT READY MADE"));
        assert_eq!(next().as_deref(), Some("s 1 AGE"));
        server.says("scale set s --replicas=3", "set.ex.io/s scaled");
        assert_eq!(next().as_deref(), Some("s 3 AGE"));
        let ready = json!({"count": 2, "conditions": [{"type": "Ready", "status": "True"}]});
        server.set_status(SET_PATH, &ready);
        assert_eq!(next().as_deref(), Some("s 3 True AGE"));
        following.kill().unwrap();
        following.wait().unwrap();
    });
}

/// api-machinery.md §6/scale, §15: `scale`, `describe`.
#[test]
fn kubectl_scales_and_describes_a_custom_resource() {
    on_each_store(|server| {
        make_a_set(server);
        server.says("scale set s --replicas=3", "set.ex.io/s scaled");
        server.says(
            "scale set s --replicas=4 --current-replicas=3",
            "set.ex.io/s scaled",
        );
        server.says(
            "scale set s --replicas=5 --current-replicas=3",
            "error: Expected replicas to be 3, was 4",
        );
        if server.can("the flag `--subresource`", 24) {
            server.shows(
                "get set s --subresource=scale",
                &["NAME DESIRED AVAILABLE AGE", "s 4 0 AGE"],
            );
        }
        server.says("get set s -o jsonpath={.metadata.generation}", "3");
        let (is_scaled, said) = server.outcome("scale set none --replicas=1", "");
        // 1.28 finds nothing to scale and does not say why.
        let found_nothing = said == "error: no objects passed to scale\n";
        assert!(
            !is_scaled && (found_nothing || said.ends_with("sets.ex.io \"none\" not found\n")),
            "{said}"
        );

        let (_, described) = server.outcome("describe set s", "");
        let described: Vec<String> = described.lines().map(row).collect();
        for line in [
            "Name: s",
            "Kind: Set",
            "Count: 4",
            "Type Reason Age From Message",
            "Normal Grown <unknown> gardener It has grown.",
        ] {
            assert!(
                described.iter().any(|found| found == line),
                "{line}: {described:#?}"
            );
        }
    });
}

/// api-machinery.md §15: `wait`.
#[test]
fn kubectl_waits_for_a_value_a_condition_and_the_end_of_a_custom_resource() {
    on_each_store(|server| {
        make_a_set(server);
        if server.can("`wait --for=jsonpath`", 23) {
            server.says(
                "wait --for=jsonpath={.spec.count}=1 set/s --timeout=60s",
                "set.ex.io/s condition met",
            );
        }
        let mut waiting = server.run("wait --for=condition=Ready set/s --timeout=60s");
        let ready = json!({"conditions": [{"type": "Ready", "status": "True"}]});
        server.set_status(SET_PATH, &ready);
        assert_eq!(printed(&mut waiting), "set.ex.io/s condition met\n");
        server.says(
            "wait --for=condition=Gone set/s --timeout=1s",
            "error: timed out waiting for the condition on sets/s",
        );

        server.says(
            r#"patch set s --type=merge -p {"metadata":{"finalizers":["ex.io/hold"]}}"#,
            "set.ex.io/s patched",
        );
        server.says("delete set s --wait=false", "set.ex.io \"s\" deleted");
        let mut waiting = server.run("wait --for=delete set/s --timeout=60s");
        server.says(
            r#"patch set s --type=merge -p {"metadata":{"finalizers":null}}"#,
            "set.ex.io/s patched",
        );
        // Newer ones say nothing about an object that was gone before they looked, older ones one of two things.
        let said = printed(&mut waiting);
        let gone = "Error from server (NotFound): sets.ex.io \"s\" not found\n";
        let none = "error: no matching resources found\n";
        assert!(
            ["", "set.ex.io/s condition met\n", gone, none].contains(&&*said),
            "{said}"
        );
        server.says(
            "get set s",
            "Error from server (NotFound): sets.ex.io \"s\" not found",
        );
    });
}

/// Everything that a program prints until its end.
fn printed(child: &mut Child) -> String {
    let mut text = String::new();
    let (mut out, mut errors) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    out.read_to_string(&mut text).unwrap();
    errors.read_to_string(&mut text).unwrap();
    child.wait().unwrap();
    text
}
