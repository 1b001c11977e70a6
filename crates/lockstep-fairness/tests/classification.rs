//! Which flow schema a request belongs to.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::time::Duration;

use lockstep_authz::{Attributes, Target, User};
use lockstep_fairness::{Classifier, FlowSchema, Machine, PriorityLevel};
use lockstep_object::Object;
use serde_json::{Value, json};

fn object(name: &str, spec: &Value) -> Object {
    let object =
        json!({ "metadata": { "name": name, "uid": format!("uid-{name}") }, "spec": spec });
    Object::from_value(object).unwrap()
}

fn level(name: &str) -> Arc<PriorityLevel> {
    let spec = json!({ "type": "Limited", "limited": { "limitResponse": { "type": "Reject" } } });
    Arc::new(PriorityLevel::parse(&object(name, &spec)).unwrap())
}

fn schema(name: &str, precedence: i64, level: &str, rules: &Value) -> Arc<FlowSchema> {
    let spec = json!({
        "priorityLevelConfiguration": { "name": level },
        "matchingPrecedence": precedence,
        "rules": rules,
    });
    Arc::new(FlowSchema::parse(&object(name, &spec)).unwrap())
}

fn classifier(schemas: &[Arc<FlowSchema>], levels: &[Arc<PriorityLevel>]) -> Classifier {
    let mut machine = Machine::<()>::new(600, Duration::ZERO);
    Classifier::configure(&mut machine, schemas, levels, Duration::ZERO).0
}

/// Name of the schema of a request by alice of the group `system:authenticated`.
fn class<'a>(classifier: &'a Classifier, user: &User, verb: &str, target: Target<'_>) -> &'a str {
    let attributes = Attributes { user, verb, target };
    let flow = &classifier.flows()[classifier.classify(&attributes)];
    &flow.schema.name
}

fn resource<'a>(group: &'a str, namespace: &'a str, resource: &'a str) -> Target<'a> {
    let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
    Target::Resource {
        group,
        version: "v1",
        namespace,
        resource,
        subresource,
        name: "",
    }
}

/// api-machinery.md §14/in-flight.
#[test]
fn rules_match_verbs_groups_resources_scopes_and_paths() {
    let user = |name: &str| json!([{ "kind": "User", "user": { "name": name } }]);
    let all = json!(["*"]);
    let on_resources = |verbs: &Value, groups: &Value, resources: &Value, more: Value| {
        let mut rule = json!({ "verbs": verbs, "apiGroups": groups, "resources": resources });
        rule.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        json!([{ "subjects": user("alice"), "resourceRules": [rule] }])
    };
    let on_paths = |verbs: Value, paths: Value| {
        let rule = json!({ "verbs": verbs, "nonResourceURLs": paths });
        json!([{ "subjects": user("alice"), "nonResourceRules": [rule] }])
    };
    let (cluster, inside) = (
        json!({ "clusterScope": true }),
        json!({ "namespaces": ["a"] }),
    );
    let everywhere = json!({ "namespaces": ["*"] });
    let (get, core, pods) = (json!(["get"]), json!([""]), json!(["pods"]));
    let in_a = resource("", "a", "pods");
    for (rules, verb, target, matches) in [
        (
            on_resources(&get, &core, &pods, inside.clone()),
            "get",
            in_a,
            true,
        ),
        (
            on_resources(&get, &core, &pods, inside.clone()),
            "list",
            in_a,
            false,
        ),
        (
            on_resources(&get, &json!(["apps"]), &pods, inside.clone()),
            "get",
            in_a,
            false,
        ),
        (
            on_resources(&get, &core, &json!(["nodes"]), inside.clone()),
            "get",
            in_a,
            false,
        ),
        (
            on_resources(&get, &core, &pods, inside.clone()),
            "get",
            resource("", "b", "pods"),
            false,
        ),
        (
            on_resources(&get, &core, &pods, inside.clone()),
            "get",
            resource("", "", "pods"),
            false,
        ),
        (
            on_resources(&get, &core, &pods, cluster.clone()),
            "get",
            resource("", "", "pods"),
            true,
        ),
        (
            on_resources(&get, &core, &pods, cluster),
            "get",
            in_a,
            false,
        ),
        (
            on_resources(&all, &all, &all, everywhere.clone()),
            "patch",
            resource("x", "b", "y/z"),
            true,
        ),
        (
            on_resources(&get, &core, &pods, inside.clone()),
            "get",
            resource("", "a", "pods/log"),
            false,
        ),
        (
            on_resources(&get, &core, &json!(["pods/log"]), inside.clone()),
            "get",
            resource("", "a", "pods/log"),
            true,
        ),
        (
            on_resources(&get, &core, &json!(["pods/log"]), inside),
            "get",
            in_a,
            false,
        ),
        (
            on_resources(&all, &all, &all, everywhere),
            "get",
            Target::Path("/healthz"),
            false,
        ),
        (
            on_paths(get.clone(), json!(["/healthz"])),
            "get",
            Target::Path("/healthz"),
            true,
        ),
        (
            on_paths(get.clone(), json!(["/healthz"])),
            "get",
            Target::Path("/healthz/ping"),
            true,
        ),
        (
            on_paths(get.clone(), json!(["/healthz/*"])),
            "get",
            Target::Path("/healthz/ping"),
            true,
        ),
        (
            on_paths(get.clone(), json!(["/healthz"])),
            "get",
            Target::Path("/healthzz"),
            false,
        ),
        (
            on_paths(get.clone(), json!(["/healthz"])),
            "post",
            Target::Path("/healthz"),
            false,
        ),
        (on_paths(get, json!(["*"])), "get", in_a, false),
        (
            on_paths(json!(["*"]), json!(["*"])),
            "post",
            Target::Path("/x"),
            true,
        ),
    ] {
        let schemas = [schema("mine", 10, "mine", &rules)];
        let classifier = classifier(&schemas, &[level("mine")]);
        let alice = User::new("alice", ["system:authenticated"]);
        let expected = if matches { "mine" } else { "catch-all" };
        assert_eq!(
            class(&classifier, &alice, verb, target),
            expected,
            "{rules} {verb} {target:?}"
        );
        let bob = User::new("bob", ["system:authenticated"]);
        assert_eq!(class(&classifier, &bob, verb, target), "catch-all");
    }
}

fn everything_of(subject: &Value) -> Value {
    json!([{ "subjects": [subject], "nonResourceRules": [{ "verbs": ["*"], "nonResourceURLs": ["*"] }] }])
}

#[test]
fn subjects_are_users_groups_and_service_accounts() {
    let account = |namespace: &str, name: &str| json!({ "kind": "ServiceAccount", "serviceAccount": { "namespace": namespace, "name": name } });
    let group = |name: &str| json!({ "kind": "Group", "group": { "name": name } });
    let user = |name: &str| json!({ "kind": "User", "user": { "name": name } });
    for (subject, name, matches) in [
        (user("alice"), "alice", true),
        (user("alice"), "bob", false),
        (user("*"), "bob", true),
        (group("devs"), "alice", true),
        (group("ops"), "alice", false),
        (group("*"), "alice", true),
        (account("a", "b"), "system:serviceaccount:a:b", true),
        (account("a", "*"), "system:serviceaccount:a:c", true),
        (account("a", "b"), "system:serviceaccount:a:c", false),
        (account("a", "*"), "system:serviceaccount:ab:c", false),
        (account("a", "*"), "a:b", false),
        (json!({ "kind": "Robot" }), "alice", false),
    ] {
        let schemas = [schema("mine", 10, "mine", &everything_of(&subject))];
        let classifier = classifier(&schemas, &[level("mine")]);
        let user = User::new(name, ["devs"]);
        let expected = if matches { "mine" } else { "catch-all" };
        let found = class(&classifier, &user, "get", Target::Path("/x"));
        assert_eq!(found, expected, "{subject} {name}");
    }
}

#[test]
fn the_lowest_precedence_wins_then_the_name() {
    let anyone = || everything_of(&json!({ "kind": "User", "user": { "name": "*" } }));
    let mut schemas = vec![
        schema("c", 20, "mine", &anyone()),
        schema("b", 20, "mine", &anyone()),
        schema("z", 10, "missing", &anyone()),
    ];
    let found = |schemas: &[Arc<FlowSchema>]| {
        let classifier = classifier(schemas, &[level("mine")]);
        let user = User::new("alice", [""; 0]);
        class(&classifier, &user, "get", Target::Path("/x")).to_owned()
    };
    assert_eq!(
        found(&schemas),
        "b",
        "a schema without its level is not asked"
    );
    schemas.push(schema("d", 5, "mine", &anyone()));
    assert_eq!(found(&schemas), "d");
}

#[test]
fn requests_always_have_a_flow() {
    let nobody = User::new("nobody", [""; 0]);
    let masters = User::new("admin", ["system:masters"]);
    let empty = classifier(&[], &[]);
    assert_eq!(
        class(&empty, &nobody, "get", Target::Path("/x")),
        "catch-all"
    );
    assert_eq!(class(&empty, &masters, "get", Target::Path("/x")), "exempt");
    let lost = schema("catch-all", 10_000, "missing", &json!([]));
    let lost = classifier(&[lost], &[]);
    assert_eq!(
        class(&lost, &nobody, "get", Target::Path("/x")),
        "catch-all"
    );
}
