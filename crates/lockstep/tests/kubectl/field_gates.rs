//! Gates of fields, as people meet them with kubectl: the tables, stories and scenarios of the proposal.

#[path = "../../../lockstep-fieldgate/tests/rows/definition.rs"]
mod definition;

use definition::{Moment, definition, object, rows};
use serde_json::{Value, json};

use crate::server::{Server, server_with};

const CRD: &str = "customresourcedefinition.apiextensions.k8s.io/crontabs.stable.example.com";
const KEPT: &str = "Warning: spec.replicas: not updated: feature gate istio/R (alpha) is disabled, the stored value was kept\n";

/// Runs a test on a server that looks at gates, if there is a kubectl to drive it.
fn with_server(test: impl Fn(&Server)) {
    let folder = tempfile::tempdir().unwrap();
    let gates = ["--feature-gates", "CRDFieldLevelVersioning=true"];
    if let Some(server) = server_with(folder.path(), &gates) {
        test(&server);
    }
}

/// Makes the CRD what it should be, whatever it was.
fn define(server: &Server, crd: &Value) -> String {
    let apply = "apply --server-side --force-conflicts --field-manager=author -f -";
    let (is_done, said) = server.outcome(apply, &crd.to_string());
    assert!(is_done, "{said}");
    said
}

fn crd(gates: &[&str]) -> Value {
    definition(&json!({"gates": gates}), Moment::Now)
}

fn crontab(spec: &Value) -> String {
    object("v1", spec, &Value::Null).to_string()
}

/// The spec and the generation of the object.
fn stored(server: &Server) -> (Value, String) {
    let found = server.kubectl("get crontab c -o json", "");
    let found: Value = serde_json::from_str(&found).unwrap();
    (
        found["spec"].clone(),
        found["metadata"]["generation"].to_string(),
    )
}

fn check(server: &Server, row: &Value) {
    server.kubectl("delete crontab c --ignore-not-found", "");
    if let Some(existing) = row.get("existing") {
        define(server, &definition(row, Moment::Before));
        let (is_made, said) = server.outcome("create -f -", &crontab(existing));
        assert!(is_made, "{said}");
    }
    define(server, &definition(row, Moment::Now));
    let (verb, done) = match row.get("existing") {
        Some(_) => ("put", "replaced"),
        None => ("create", "created"),
    };
    let command = if verb == "put" {
        "replace -f -"
    } else {
        "create -f -"
    };
    let said = server.kubectl(command, &crontab(&row["request"][verb]));
    let mut expected = format!("crontab.stable.example.com/c {done}\n");
    for warning in row["warnings"].as_array().into_iter().flatten() {
        expected.push_str(&format!("Warning: {}\n", warning.as_str().unwrap()));
    }
    assert_eq!(said, expected, "row {}", row["row"]);
    let expected = (row["stored"].clone(), row["generation"].to_string());
    assert_eq!(stored(server), expected, "row {}", row["row"]);
}

/// Judges rows by what kubectl prints and finds.
fn hold(numbers: &[u64]) {
    let rows = rows();
    with_server(|server| {
        for number in numbers {
            let row = rows.iter().find(|row| row["row"] == *number).unwrap();
            check(server, row);
        }
    });
}

/// field-gates.md §10/1 and field-gates.md §10/2: the create table; field-gates.md §10/23, field-gates.md §10/25,
/// field-gates.md §10/18 and field-gates.md §10/26: the update table.
#[test]
fn the_create_table_and_the_update_table_hold() {
    hold(&[1, 2, 23, 25, 18, 26]);
}

/// field-gates.md §10/9 to field-gates.md §10/15: the matrix of two gates, one inside the other.
#[test]
fn the_matrix_of_eight_rows_holds() {
    hold(&[9, 10, 11, 12, 13, 14, 15]);
    // The first row: the inner gate does not matter where the outer one is closed.
    let mut first = rows().swap_remove(8);
    assert_eq!(first["row"], 9);
    first["gates"] = json!(["F-", "Q-"]);
    with_server(|server| check(server, &first));
}

/// Both kinds of warnings: field-gates.md §10/53, field-gates.md §10/54, field-gates.md §10/56 and
/// field-gates.md §10/58 for deprecated fields, and field-gates.md §10/20,
/// field-gates.md §10/21 and field-gates.md §10/24 for what was not done.
#[test]
fn both_kinds_of_warnings_are_shown() {
    hold(&[53, 54, 56, 58, 20, 21, 24]);
    with_server(|server| {
        let mut told = definition(
            &json!({"gates": ["R+"], "gate": {"preRelease": "deprecated", "default": true}}),
            Moment::Now,
        );
        told["spec"]["customFeatureGates"]["featureGates"][0]["fieldDeprecationWarning"] =
            "spec.replicas: say \"how many\" elsewhere".into();
        define(server, &told);
        assert_eq!(
            server.kubectl("create -f -", &crontab(&json!({"replicas": 1}))),
            "crontab.stable.example.com/c created\nWarning: spec.replicas: say \"how many\" elsewhere\n"
        );
    });
}

/// field-gates.md §9/author-and-admin, story 1: an admin who does not own the CRD switches a gate by its index.
#[test]
fn story_1_an_admin_switches_a_gate() {
    with_server(|server| {
        define(server, &crd(&["R-"]));
        let switch = |value: &str| {
            let patch = format!(
                r#"[{{"op":"replace","path":"/spec/customFeatureGates/featureGates/0/enabled","value":{value}}}]"#
            );
            let words = [
                "patch",
                "crd",
                "crontabs.stable.example.com",
                "--type",
                "json",
                "--patch",
            ];
            let (_, said) = server.outcome_of_words(words.into_iter().chain([&*patch]), "");
            assert_eq!(said, format!("{CRD} patched\n"));
        };
        switch("true");
        assert_eq!(
            server.kubectl("create -f -", &crontab(&json!({"replicas": 3}))),
            "crontab.stable.example.com/c created\n"
        );
        switch("false");
        assert_eq!(
            server.kubectl("replace -f -", &crontab(&json!({"replicas": 5}))),
            format!("crontab.stable.example.com/c replaced\n{KEPT}")
        );
        assert_eq!(stored(server), (json!({"replicas": 3}), "1".to_owned()));
    });
}

/// Story 2: a new field is added together with its gate; field-gates.md §9/removal follows the tutorial.
#[test]
fn story_2_an_author_adds_a_field_behind_a_gate() {
    with_server(|server| {
        let mut before = crd(&[]);
        let schema = &mut before["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
        let spec = schema["properties"]["spec"]["properties"].as_object_mut();
        spec.unwrap().remove("replicas");
        define(server, &before);
        let wish = crontab(&json!({"image": "a"}));
        assert_eq!(
            server.kubectl("create -f -", &wish),
            "crontab.stable.example.com/c created\n"
        );
        define(server, &crd(&["R-"]));
        let wish = crontab(&json!({"image": "a", "replicas": 3}));
        assert_eq!(
            server.kubectl("replace -f -", &wish),
            "crontab.stable.example.com/c replaced\n\
             Warning: spec.replicas: dropped: feature gate istio/R (alpha) is disabled\n"
        );
        define(server, &crd(&["R+"]));
        server.kubectl("replace -f -", &wish);
        define(server, &crd(&[]));
        let expected = (json!({"image": "a", "replicas": 3}), "2".to_owned());
        assert_eq!(stored(server), expected);
    });
}

/// Scenario 1, field-gates.md §9/author-and-admin: the next release of the author leaves alone what an admin enabled.
#[test]
fn scenario_1_a_release_does_not_undo_what_an_admin_enabled() {
    with_server(|server| {
        let mut authored = crd(&["R-"]);
        let gate = authored["spec"]["customFeatureGates"]["featureGates"][0].as_object_mut();
        gate.unwrap().remove("enabled");
        let author = "apply --server-side --field-manager=author -f -";
        let applied = format!("{CRD} serverside-applied\n");
        assert_eq!(server.kubectl(author, &authored.to_string()), applied);
        let wish = json!({
            "apiVersion": authored["apiVersion"], "kind": authored["kind"], "metadata": authored["metadata"],
            "spec": {"customFeatureGates": {"featureGates": [{"name": "R", "enabled": true}]}},
        });
        // Older kubectls miss in a part what the whole requires.
        let admin = "apply --server-side --validate=false --field-manager=admin -f -";
        assert_eq!(server.kubectl(admin, &wish.to_string()), applied);
        authored["spec"]["names"]["shortNames"] = json!(["ct"]);
        assert_eq!(server.kubectl(author, &authored.to_string()), applied);
        server.says(
            "get crd crontabs.stable.example.com -o jsonpath={.spec.customFeatureGates.featureGates[0].enabled}",
            "true",
        );
    });
}

/// Scenario 2, field-gates.md §9/no-op: a controller that sets what it cannot set sees by the generation that nothing happened.
#[test]
fn scenario_2_the_generation_tells_a_controller_that_nothing_happened() {
    with_server(|server| {
        define(server, &crd(&["R+"]));
        server.kubectl(
            "create -f -",
            &crontab(&json!({"image": "a", "replicas": 3})),
        );
        define(server, &crd(&["R-"]));
        let version =
            || server.kubectl("get crontab c -o jsonpath={.metadata.resourceVersion}", "");
        let before = version();
        let reconcile = |image: &str| {
            let wish = crontab(&json!({"image": image, "replicas": 5}));
            let said = server.kubectl("replace -f -", &wish);
            assert_eq!(
                said,
                format!("crontab.stable.example.com/c replaced\n{KEPT}")
            );
            stored(server)
        };
        let spec = |image: &str| json!({"image": image, "replicas": 3});
        for _ in 0..2 {
            assert_eq!(reconcile("a"), (spec("a"), "1".to_owned()));
            assert_eq!(
                version(),
                before,
                "nothing is written, so nobody hears of it"
            );
        }
        // Another field is updated; the gated one is not, and the generation counts one change.
        assert_eq!(reconcile("b"), (spec("b"), "2".to_owned()));
    });
}

/// field-gates.md §7/default-alpha-beta and its neighbours: all validation errors of the proposal in one response.
#[test]
fn the_validation_list_is_told_at_once() {
    with_server(|server| {
        let gate = |name: &str, stage: &str, more: Value| {
            let mut gate =
                json!({"name": name, "preRelease": stage, "fieldPaths": [".spec.image"]});
            gate.as_object_mut()
                .unwrap()
                .extend(more.as_object().unwrap().clone());
            gate
        };
        let mut wrong = crd(&[]);
        wrong["spec"]["customFeatureGates"] = json!({"featureGates": [
            gate("A", "alpha", json!({"default": true})),
            gate("B", "beta", json!({"default": true, "fieldPaths": [".spec.foo"]})),
            gate("C", "stable", json!({"default": false, "fieldPaths": [".spec.mode"]})),
            gate("D", "deprecated", json!({"fieldPaths": [".spec.note"]})),
            gate("E", "alpha", json!({"fieldDeprecationWarning": "x", "fieldPaths": ["spec.replicas"]})),
            gate("F", "alpha", json!({})),
        ]});
        let said = server.kubectl("create -f -", &wrong.to_string());
        let at = "* spec.customFeatureGates.featureGates";
        let expected = [
            "The CustomResourceDefinition \"crontabs.stable.example.com\" is invalid: ".to_owned(),
            format!("{at}[0].default: Invalid value: true: must be false when preRelease is alpha"),
            format!("{at}[1].default: Invalid value: true: must be false when preRelease is beta"),
            format!(
                "{at}[2].default: Invalid value: false: must be true when preRelease is stable"
            ),
            format!("{at}[3].default: Required value: must be set when preRelease is deprecated"),
            format!(
                "{at}[4].fieldDeprecationWarning: Invalid value: \"x\": can only be set when preRelease is deprecated"
            ),
            format!(
                "{at}[4].fieldPaths[0]: Invalid value: \"spec.replicas\": must be a JSON path starting with . or ["
            ),
            format!(
                "{at}[5].fieldPaths[0]: Invalid value: \".spec.image\": already gated by \"A\" \
                 (featureGates[0].fieldPaths[0])"
            ),
        ];
        assert_eq!(said.lines().collect::<Vec<_>>(), expected);
    });
}
