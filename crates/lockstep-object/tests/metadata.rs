//! Rules of metadata that are easier told in code than in data.

use lockstep_object::metadata::{self, Creation, Seconds};
use lockstep_object::{Object, Value};
use serde_json::json;

fn object(value: Value) -> Object {
    Object::from_value(value).expect("it is a map")
}

/// api-machinery.md §6/server-fields and §6/generate-name
#[test]
fn a_new_object_has_what_the_server_says_and_nothing_of_what_clients_cannot_set() {
    let mut created = object(json!({"metadata": {
        "generateName": "a-", "uid": "mine", "selfLink": "/x", "generation": 7, "namespace": "n",
        "creationTimestamp": "2001-01-01T00:00:00Z", "deletionTimestamp": "2001-01-01T00:00:00Z",
        "deletionGracePeriodSeconds": 3, "labels": {"a": "b"}
    }}));
    let creation = Creation {
        namespace: "n",
        uid: "u",
        now: Seconds::from_unix(0).expect("1970 can be written"),
        generated_name: "a-bcdfg",
        generation: 1,
    };
    metadata::prepare_create(&mut created, &creation);
    let expected = json!({"metadata": {
        "generateName": "a-", "name": "a-bcdfg", "uid": "u", "generation": 1, "namespace": "n",
        "creationTimestamp": "1970-01-01T00:00:00Z", "labels": {"a": "b"}
    }});
    assert_eq!(created.into_value(), expected);
}

/// api-machinery.md §6/generate-name: base cut to 58
#[test]
fn a_long_base_is_cut_so_that_the_suffix_fits() {
    let base = "é".repeat(40);
    let name = metadata::generated_name(&base, [0; 5]);
    assert_eq!(name, format!("{}bbbbb", "é".repeat(29)));
    let name = metadata::generated_name(&"x".repeat(80), [25; 5]);
    assert_eq!(name, format!("{}88888", "x".repeat(58)));
}

/// api-machinery.md §6/finalizers: built-ins refuse unqualified, CRs warn only
#[test]
fn a_finalizer_without_a_domain_is_refused_by_built_ins_and_warned_of_by_custom_resources() {
    let object = object(json!({"metadata": {"finalizers": ["orphan", "mine", "ex.io/mine"]}}));
    let errors = metadata::validate_finalizers_of_builtin(&object);
    let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
    let expected = "metadata.finalizers[1]: Invalid value: \"mine\": name is neither a standard finalizer name nor is it \
                    fully qualified";
    assert_eq!(errors, [expected]);
    let stored = |finalizers: Value| self::object(json!({"metadata": {"finalizers": finalizers}}));
    let dotted = stored(json!(["orphan", "mine", "ex.io", "ex.io/mine"]));
    let expected = [
        "metadata.finalizers: \"ex.io\": prefer a domain-qualified finalizer name including a path (/) to avoid \
         accidental conflicts with other finalizer writers",
        "metadata.finalizers: \"mine\": prefer a domain-qualified finalizer name to avoid accidental conflicts with \
         other finalizer writers",
    ];
    assert_eq!(metadata::finalizer_warnings(&dotted, None), expected);
    let known = stored(json!(["mine"]));
    assert_eq!(
        metadata::finalizer_warnings(&dotted, Some(&known)),
        expected[..1]
    );
}

/// api-machinery.md §6/owners: duplicates dropped with a warning
#[test]
fn an_owner_named_twice_is_dropped_with_a_warning() {
    let owner = |uid: &str| json!({"apiVersion": "v1", "kind": "K", "name": "n", "uid": uid});
    let mut twice =
        object(json!({"metadata": {"ownerReferences": [owner("a"), owner("b"), owner("a")]}}));
    let warning = metadata::drop_duplicate_owners(&mut twice);
    assert_eq!(twice.owner_references(), [owner("a"), owner("b")]);
    assert_eq!(
        warning.as_deref(),
        Some(
            ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and \
             may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: a"
        )
    );
    assert_eq!(metadata::drop_duplicate_owners(&mut twice), None);
}
