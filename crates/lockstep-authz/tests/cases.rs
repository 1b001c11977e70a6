//! The rules as data. Every case names its row.

#![expect(
    clippy::unwrap_used,
    reason = "a case file that does not fit its check is a failure"
)]

use lockstep_authz::{
    Attributes, Decision, Policies, Reconciled, Target, User, aggregated_rules,
    check_binding_write, check_role_write, default_objects, reconciled, validate_binding,
    validate_binding_update, validate_role,
};
use lockstep_object::Object;
use lockstep_testkit::cases::CaseFile;
use serde_json::{Value, json};

/// Compares what `judge` makes of each case of a file with its `result`.
fn run(file: &str, judge: impl Fn(&Value, &Value) -> Value) {
    CaseFile::read(file).results("result", |case| judge(case.shared, case.own));
}

fn object(value: &Value) -> Object {
    Object::from_value(value.clone()).unwrap()
}

fn policies(document: &Value) -> Policies {
    let mut policies = Policies::default();
    for value in document["objects"].as_array().unwrap() {
        policies.put(&object(value));
    }
    policies
}

fn user(case: &Value) -> User {
    let groups = case["groups"].as_array().into_iter().flatten();
    User::new(
        case["user"].as_str().unwrap(),
        groups.map(|group| group.as_str().unwrap()),
    )
}

fn attributes<'a>(user: &'a User, case: &'a Value) -> Attributes<'a> {
    let text = |field: &str| case[field].as_str().unwrap_or_default();
    let target = if case.get("path").is_some() {
        Target::Path(text("path"))
    } else {
        Target::resource(text("group"), text("resource"))
            .at_subresource(text("subresource"))
            .in_namespace(text("namespace"))
            .named(text("object"))
    };
    let verb = text("verb");
    Attributes { user, verb, target }
}

fn list<'a>(user: &'a User, group: &'a str, resource: &'a str) -> Attributes<'a> {
    Attributes {
        user,
        verb: "list",
        target: Target::resource(group, resource),
    }
}

#[test]
fn rules_give_a_verdict_with_a_reason() {
    run("verdicts.yaml", |document, case| {
        let user = user(case);
        let attributes = attributes(&user, case);
        let decision = policies(document).authorize(&attributes);
        if decision.allowed {
            json!({ "allowed": decision.reason })
        } else {
            json!({ "denied": attributes.denial(&decision.reason) })
        }
    });
}

#[test]
fn nobody_gives_what_they_do_not_have() {
    run("escalation.yaml", |document, case| {
        let (policies, user, written) = (policies(document), user(case), object(&case["write"]));
        let stored = case.get("stored").map(object);
        let check = if written.kind().ends_with("Binding") {
            check_binding_write
        } else {
            check_role_write
        };
        match check(&policies, &user, &written, stored.as_ref()) {
            Ok(()) => json!("fine"),
            Err(error) => Value::from(error.to_string()),
        }
    });
}

#[test]
fn roles_and_bindings_keep_their_shape() {
    run("validation.yaml", |_, case| {
        let written = object(&case["write"]);
        let errors = match (written.kind().ends_with("Binding"), case.get("stored")) {
            (true, Some(stored)) => validate_binding_update(&written, &object(stored)),
            (true, None) => validate_binding(&written),
            (false, _) => validate_role(&written),
        };
        errors
            .iter()
            .map(|error| Value::from(error.to_string()))
            .collect()
    });
}

#[test]
fn aggregated_roles_gather_the_rules_of_others() {
    run("aggregation.yaml", |document, case| {
        let roles: Vec<Object> = document["objects"]
            .as_array()
            .unwrap()
            .iter()
            .map(object)
            .collect();
        aggregated_rules(&object(&case["role"]), &roles).map_or(Value::Null, Value::from)
    });
}

#[test]
fn default_roles_open_what_they_should_and_nothing_else() {
    run("defaults.yaml", |document, case| {
        let mut policies = policies(document);
        for object in default_objects() {
            policies.put(&object);
        }
        let may = |groups: &Value| {
            let groups = groups.as_array().unwrap().iter();
            let groups: Vec<&str> = groups.map(|group| group.as_str().unwrap()).collect();
            let name = groups.iter().find_map(|group| group.strip_prefix("user:"));
            let user = User::new(name.unwrap_or("somebody"), groups.iter().copied());
            policies.authorize(&attributes(&user, case)).allowed
        };
        let people = document["people"].as_object().unwrap();
        let allowed = people.iter().filter(|(_, groups)| may(groups));
        let mut allowed: Vec<&str> = allowed.map(|(name, _)| name.as_str()).collect();
        allowed.sort_unstable();
        json!(allowed)
    });
}

#[test]
fn default_roles_and_bindings_are_sound_and_have_their_marks() {
    let mut names = std::collections::BTreeSet::new();
    for object in default_objects() {
        let name = (
            object.kind().to_owned(),
            object.namespace().to_owned(),
            object.name().to_owned(),
        );
        let errors = if object.kind().ends_with("Binding") {
            validate_binding(&object)
        } else {
            validate_role(&object)
        };
        assert_eq!(errors.as_slice(), [], "{name:?}");
        assert_eq!(
            object.annotation("rbac.authorization.kubernetes.io/autoupdate"),
            Some("true"),
            "{name:?}"
        );
        assert_eq!(
            object.label("kubernetes.io/bootstrapping"),
            Some("rbac-defaults"),
            "{name:?}"
        );
        assert_eq!(reconciled(&object, &object), Reconciled::Unchanged);
        assert!(names.insert(name.clone()), "{name:?} is there twice");
    }
}

#[test]
fn viewers_of_a_cluster_read_feature_gates_and_do_not_change_them() {
    let mut policies = Policies::default();
    let binding = json!({
        "kind": "ClusterRoleBinding", "metadata": { "name": "viewers" },
        "roleRef": { "kind": "ClusterRole", "name": "view" },
        "subjects": [{ "kind": "Group", "name": "viewers" }],
    });
    for object in default_objects().into_iter().chain([object(&binding)]) {
        policies.put(&object);
    }
    let user = User::new("somebody", ["viewers"]);
    let may = |verb: &str| {
        let case = json!({ "verb": verb, "group": "lockstep.dev", "resource": "featuregates" });
        policies.authorize(&attributes(&user, &case)).allowed
    };
    assert_eq!(
        ["get", "list", "watch", "update"].map(may),
        [true, true, true, false]
    );
}

/// api-machinery.md §12/start: the number of default roles and bindings, and the only binding without subjects.
#[test]
fn every_default_role_of_kubernetes_is_there() {
    let mut all = default_objects();
    let own = all.extract_if(.., |object| object.name().starts_with("lockstep:"));
    assert_eq!(own.count(), 1);
    let count = |kind: &str| all.iter().filter(|object| object.kind() == kind).count();
    let kinds = ["ClusterRole", "Role", "ClusterRoleBinding", "RoleBinding"];
    assert_eq!(kinds.map(count), [69, 7, 50, 7]);
    let nobody = all
        .iter()
        .filter(|object| object.kind().ends_with("Binding") && object.at(&["subjects"]).is_none());
    let nobody: Vec<&str> = nobody.map(lockstep_object::Object::name).collect();
    assert_eq!(nobody, ["system:node"]);
}

#[test]
fn default_roles_are_repaired_and_never_cut() {
    run("reconcile.yaml", |_, case| {
        match reconciled(&object(&case["expected"]), &object(&case["stored"])) {
            Reconciled::Unchanged => "unchanged".into(),
            Reconciled::Replaced => "replaced".into(),
            Reconciled::Changed(object) => object.into_value(),
        }
    });
}

/// api-machinery.md §13: deny is absence, so what is removed is denied at once
#[test]
fn a_binding_that_is_removed_or_changed_allows_nothing_any_more() {
    let file = CaseFile::read("verdicts.yaml");
    let document = file.document();
    let alice = User::new("alice", [""; 0]);
    let eve = User::new("eve", [""; 0]);
    let mut policies = policies(document);
    let may = |policies: &Policies, user| policies.authorize(&list(user, "ex.io", "widgets"));
    assert!(may(&policies, &alice).allowed);
    let objects = document["objects"].as_array().unwrap().iter().map(object);
    let mut binding = objects
        .clone()
        .find(|object| object.name() == "viewers")
        .unwrap();
    binding.fields_mut().insert(
        "subjects".to_owned(),
        json!([{"kind": "User", "name": "eve"}]),
    );
    let before = policies.clone();
    policies.put(&binding);
    assert_eq!(may(&policies, &alice), Decision::deny(""));
    assert!(may(&policies, &eve).allowed);
    assert!(may(&before, &alice).allowed);
    for object in objects {
        policies.remove(&object);
    }
    assert_eq!(may(&policies, &eve), Decision::deny(""));
}

/// A role or binding without the namespace it needs must not hold in the whole cluster.
#[test]
fn a_binding_that_lost_its_namespace_allows_nothing() {
    let mut policies = Policies::default();
    for value in [
        json!({"kind": "ClusterRole", "metadata": {"name": "all", "namespace": "ns"},
            "rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]}),
        json!({"kind": "RoleBinding", "metadata": {"name": "x", "namespace": false},
            "roleRef": {"kind": "ClusterRole", "name": "all"}, "subjects": [{"kind": "User", "name": "eve"}]}),
    ] {
        policies.put(&object(&value));
    }
    let eve = User::new("eve", [""; 0]);
    let mut pods = list(&eve, "", "pods");
    assert_eq!(policies.authorize(&pods), Decision::deny(""));
    pods.target = pods.target.in_namespace("ns");
    assert_eq!(policies.authorize(&pods), Decision::deny(""));
}
