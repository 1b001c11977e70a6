//! Properties of policies: the order of creation decides nothing, and no input makes the engine panic.

use std::path::Path;
use std::sync::Arc;

use lockstep_admission::mutate::Tracing;
use lockstep_authz::{Decision, User};
use lockstep_object::{Object, Value, yaml};
use lockstep_write::offline::policies::{Review, Reviewed, Unbound, Workspace, cases, lint};
use proptest::prelude::*;
use serde_json::json;

fn object(value: Value) -> Object {
    Object::from_value(value).expect("it is a map")
}

/// Expressions that read and write the same few keys, so that policies interact.
const EXPRESSIONS: [&str; 8] = [
    r#"Object{data: {"a": object.data.a + "1"}}"#,
    r#"Object{data: {"b": object.data.a + "2"}}"#,
    r#"Object{data: {"a": object.data.b + "3"}}"#,
    r#"Object{data: {"a": "x", "b": "y"}}"#,
    r#"Object{metadata: Object.metadata{labels: {"a": "1"}}}"#,
    r#"Object{metadata: Object.metadata{labels: {"a": object.data.a}}}"#,
    r#"Object{data: {"c": string(size(object.data.a))}}"#,
    r#"has(object.metadata.labels) ? Object{data: {"d": "1"}} : Object{}"#,
];

#[derive(Clone, Debug)]
struct Drawn {
    mutations: Vec<(usize, bool)>,
    reinvocation: &'static str,
    failure: &'static str,
}

fn drawn() -> impl Strategy<Value = Drawn> {
    let mutations = prop::collection::vec((0..EXPRESSIONS.len(), any::<bool>()), 1..4);
    let reinvocation = prop::sample::select(vec!["Never", "IfNeeded", "IfAffected"]);
    let failure = prop::sample::select(vec!["Fail", "Ignore"]);
    (mutations, reinvocation, failure).prop_map(|(mutations, reinvocation, failure)| Drawn {
        mutations,
        reinvocation,
        failure,
    })
}

fn manifests(name: &str, drawn: &Drawn) -> [Object; 2] {
    let mutations = drawn.mutations.iter().map(|(expression, is_apply)| {
        let expression = EXPRESSIONS[*expression];
        if *is_apply {
            json!({ "apply": expression, "safety": { "mode": "Overwritable" } })
        } else {
            json!({ "patchType": "ApplyConfiguration", "applyConfiguration": { "expression": expression } })
        }
    });
    let api = "admissionregistration.k8s.io/v1";
    let policy = json!({
        "apiVersion": api, "kind": "MutatingAdmissionPolicy", "metadata": { "name": name },
        "spec": {
            "matchConstraints": { "resourceRules": [{
                "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"],
            }] },
            "failurePolicy": drawn.failure,
            "reinvocationPolicy": drawn.reinvocation,
            "mutations": mutations.collect::<Vec<_>>(),
        },
    });
    let binding = json!({
        "apiVersion": api, "kind": "MutatingAdmissionPolicyBinding", "metadata": { "name": name },
        "spec": { "policyName": name },
    });
    [object(policy), object(binding)]
}

fn reviewed(workspace: &Workspace, new: &Object) -> Reviewed {
    let user = User::new("admin", ["system:masters"]);
    let review = Review {
        operation: None,
        object: Some(new),
        old: None,
        subresource: "",
        user: &user,
        authorizer: Arc::new(|_| Decision::allow("")),
        is_dry_run: false,
        tracing: Tracing::On,
    };
    workspace.review(&review).expect("config maps are known")
}

fn result(objects: &[Object]) -> (Option<Object>, Option<String>) {
    let workspace = Workspace::new(objects, Unbound::Inert).expect("the policies are valid");
    let map = object(json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "c" }, "data": { "a": "", "b": "" },
    }));
    let reviewed = reviewed(&workspace, &map);
    (
        reviewed.object,
        reviewed.error.map(|error| error.to_string()),
    )
}

proptest! {
    /// mutating-admission.md §3.2, §2.11/D1
    #[test]
    fn the_order_of_creation_decides_nothing(
        set in prop::collection::vec(drawn(), 1..5),
        seed in any::<u64>(),
    ) {
        let objects: Vec<Object> = set
            .iter()
            .enumerate()
            .flat_map(|(at, drawn)| manifests(&format!("p{at}"), drawn))
            .collect();
        let mut shuffled = objects.clone();
        let count = shuffled.len() as u64;
        for at in (1..shuffled.len()).rev() {
            let other = seed.rotate_left(u32::try_from(at).unwrap_or(0)) % count;
            shuffled.swap(at, usize::try_from(other).unwrap_or(0) % (at + 1));
        }
        prop_assert_eq!(result(&objects), result(&shuffled));
    }
}

/// All cases of the specification, as seeds.
fn seeds() -> Vec<Value> {
    fn collect(folder: &Path, seeds: &mut Vec<Value>) {
        let entries = std::fs::read_dir(folder).expect("the folder can be read");
        let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        for path in paths {
            if path.is_dir() {
                collect(&path, seeds);
            } else if let Ok(text) = std::fs::read(&path) {
                seeds.extend(yaml::decode(&text).map(|document| document.value));
            }
        }
    }
    let mut seeds = Vec::new();
    collect(Path::new("../lockstep-admission/tests/cases"), &mut seeds);
    assert!(!seeds.is_empty(), "there are no cases");
    seeds
}

/// Changes the value at a position of a document, in the order of a walk.
fn mutate(value: &mut Value, at: &mut usize, change: u8, other: &Value) {
    if *at == 0 {
        *at = usize::MAX;
        *value = match (change, &*value) {
            (0, _) => Value::Null,
            (1, _) => other.clone(),
            (2, Value::String(text)) => {
                let end = text
                    .char_indices()
                    .nth(text.chars().count() / 2)
                    .map_or(0, |(end, _)| end);
                text[..end].into()
            }
            (3, Value::String(text)) => format!("{text}{text}").into(),
            (4, Value::String(text)) => text.replace("object", "oldObject").into(),
            (5, _) => json!({}),
            (6, _) => json!([]),
            (7, _) => json!(-1),
            (_, same) => same.clone(),
        };
        return;
    }
    if *at == usize::MAX {
        return;
    }
    *at -= 1;
    match value {
        Value::Array(items) => items
            .iter_mut()
            .for_each(|item| mutate(item, at, change, other)),
        Value::Object(fields) => {
            fields
                .values_mut()
                .for_each(|field| mutate(field, at, change, other));
        }
        _ => {}
    }
}

/// Number of values in a document.
fn values(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(values).sum(),
        Value::Object(fields) => fields.values().map(values).sum(),
        _ => 0,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// mutating-admission.md §4, with values of its cases replaced by others: whatever comes out, nothing panics, and
    /// the second run ends as the first.
    #[test]
    fn no_case_makes_the_engine_panic(
        seed in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), 0..8u8, any::<prop::sample::Index>()), 1..4),
    ) {
        thread_local! {
            static SEEDS: Vec<Value> = seeds();
        }
        SEEDS.with(|seeds| {
            let mut case = seed.get(seeds).clone();
            for (at, change, other) in changes {
                let other = other.get(seeds);
                let other = other["object"].clone();
                let mut at = at.index(values(&case));
                mutate(&mut case, &mut at, change, &other);
            }
            prop_assert_eq!(cases::run(&case), cases::run(&case));
            Ok(())
        })?;
    }
}

/// The objects of a case that lint reads.
fn objects_of(case: &Value) -> Vec<Object> {
    let fields = ["crds", "params", "policies", "bindings"].iter();
    let values = fields.flat_map(|field| case[field].as_array().into_iter().flatten());
    values
        .filter_map(|value| Object::from_value(value.clone()).ok())
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// ux.md §5: whatever the policies are, lint ends with findings or an error.
    #[test]
    fn no_policy_makes_the_lint_panic(
        seed in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), 0..8u8, any::<prop::sample::Index>()), 0..4),
    ) {
        thread_local! {
            static SEEDS: Vec<Value> = seeds();
        }
        SEEDS.with(|seeds| {
            let mut case = seed.get(seeds).clone();
            for (at, change, other) in changes {
                let other = other.get(seeds);
                let mut at = at.index(values(&case));
                mutate(&mut case, &mut at, change, &other["object"]);
            }
            let objects = objects_of(&case);
            prop_assert_eq!(lint::lint(&objects), lint::lint(&objects));
            Ok(())
        })?;
    }
}

/// Expressions that cost as much as their size allows: they are refused or evaluated, without a panic.
#[test]
fn large_and_deep_expressions_are_refused_or_run() {
    let text = "x".repeat(1 << 20);
    let deep = |open: &str, inner: &str, close: &str, depth: usize| {
        format!("{}{inner}{}", open.repeat(depth), close.repeat(depth))
    };
    let value = |expression: String| format!(r#"Object{{data: {{"a": {expression}}}}}"#);
    let expressions = [
        value(format!("\"{text}\"")),
        value(deep("(", "\"a\"", ")", 20_000)),
        value(format!("string({})", deep("[", "1", "]", 20_000))),
        value(format!("string({}1)", "1 + ".repeat(100_000))),
        value(deep("string(", "1", ")", 5_000)),
        value(r"string([1,2,3].map(a, [1,2,3].map(b, [1,2,3].map(c, [a,b,c]))))".repeat(50)),
        "!".repeat(200_000),
        deep("Object{data: ", "{}", "}", 5_000),
        "\u{0}\u{feff}\u{202e}".to_owned(),
    ];
    let map = object(json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "c" }, "data": { "a": "" },
    }));
    for expression in expressions {
        let drawn = Drawn {
            mutations: vec![(0, false)],
            reinvocation: "Never",
            failure: "Fail",
        };
        let [mut policy, binding] = manifests("p", &drawn);
        policy.fields_mut()["spec"]["mutations"][0]["applyConfiguration"]["expression"] =
            expression.into();
        let objects = [policy, binding];
        // Either outcome is sound; that there is one is what counts.
        if let Ok(workspace) = Workspace::new(&objects, Unbound::Inert) {
            let reviewed = reviewed(&workspace, &map);
            assert!(reviewed.error.is_some() || reviewed.object.is_some());
        }
        assert!(lint::lint(&objects).is_ok());
    }
}
