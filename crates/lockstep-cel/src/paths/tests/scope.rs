//! Tests of mutation scopes, with every example of the sheets.

use super::env;
use crate::paths::{MutationScope, ScopeStep};

/// Scope of a mutation and its depth; `containers` has the key `name`.
fn scope(expression: &str) -> Option<(String, usize)> {
    let program = env().compile(expression).unwrap();
    let keys = |list: &MutationScope| match list.steps.last() {
        Some(ScopeStep::Field(name)) if &**name == "containers" => vec!["name".to_owned()],
        _ => Vec::new(),
    };
    let scope = program.mutation_scope(&keys, &["object"])?;
    Some((scope.to_string(), scope.depth()))
}

fn check_scopes(cases: &[(&str, &str, usize)]) {
    for (expression, expected, depth) in cases {
        let expected = Some(((*expected).to_owned(), *depth));
        assert_eq!(scope(expression), expected, "scope of {expression}");
    }
}

/// Every example of mutating-admission.md §3.2, and of the writes of cel.md §14.
#[test]
fn the_scope_of_a_mutation_is_that_of_the_table() {
    check_scopes(&[
        (
            "Object{metadata: Object.metadata{labels: {'a': 'b'}}}",
            "metadata.labels[\"a\"]",
            3,
        ),
        (
            "Object{spec: Object.spec{containers: [Object.spec.containers{name: 'x', image: 'y'}]}}",
            "spec.containers",
            2,
        ),
        (
            "Object{spec: Object.spec{containers: [Object.spec.containers{name: 'x'}] + object.spec.containers}}",
            "spec.containers",
            2,
        ),
        (
            "Object{spec: Object.spec{containers: object.spec.containers.map(c, Object.spec.containers{name: c.name, imagePullPolicy: 'Always'})}}",
            "spec.containers[*].imagePullPolicy",
            4,
        ),
        (
            "Object{spec: Object.spec{a: 1}, metadata: Object.metadata{name: 'x'}}",
            "",
            0,
        ),
        (
            "[JSONPatch{op: 'add', path: '/metadata/labels/' + object.k, value: 'v'}]",
            "metadata.labels",
            2,
        ),
        ("Object{spec: Object.spec{a: 1, ?b: object.?c}}", "spec", 1),
        (
            "Object{spec: Object.spec{containers: object.spec.containers.map(c, Object.spec.containers{name: c.name})}}",
            "spec.containers[*]",
            3,
        ),
        (
            "[JSONPatch{op: 'add', path: '/spec/x', value: 1}]",
            "spec.x",
            2,
        ),
        (
            "[JSONPatch{op: 'add', path: '/a/' + object.k, value: 1}]",
            "a",
            1,
        ),
        ("[JSONPatch{op: 'add', path: object.k, value: 1}]", "", 0),
    ]);
}

#[test]
fn a_scope_goes_as_deep_as_a_single_thing_is_set() {
    check_scopes(&[
        ("Object{}", "", 0),
        ("Object{spec: object.spec}", "spec", 1),
        ("Object{spec: Object.spec{?a: object.?b}}", "spec.a", 2),
        ("Object{spec: Object.spec{m: {object.k: 1}}}", "spec.m", 2),
        (
            "Object{spec: Object.spec{m: {'a': {'b/c': 1}}}}",
            "spec.m[\"a\"][\"b/c\"]",
            4,
        ),
        (
            "object.x ? Object{spec: Object.spec{a: 1}} : Object{spec: Object.spec{b: 1}}",
            "spec",
            1,
        ),
        (
            "object.x ? Object{spec: Object.spec{a: 1}} : Object{}",
            "",
            0,
        ),
        (
            "Object{spec: Object.spec{a: object.x ? {'k': 1} : {'k': 2}}}",
            "spec.a[\"k\"]",
            3,
        ),
    ]);
}

#[test]
fn only_a_list_mapped_onto_itself_is_entered() {
    check_scopes(&[
        (
            "Object{spec: Object.spec{items: object.spec.containers.map(c, Object.spec.items{a: 1})}}",
            "spec.items",
            2,
        ),
        (
            "Object{spec: Object.spec{items: oldObject.spec.items.map(c, Object.spec.items{a: 1})}}",
            "spec.items",
            2,
        ),
        (
            "Object{spec: Object.spec{items: object.spec.items.map(c, c.x, Object.spec.items{a: 1})}}",
            "spec.items",
            2,
        ),
        (
            "Object{spec: Object.spec{items: object.spec.items.map(c, c)}}",
            "spec.items",
            2,
        ),
        (
            "Object{spec: Object.spec{items: object['spec'].items.map(c, Object.spec.items{a: Object.spec.items.a{b: 1}})}}",
            "spec.items[*].a.b",
            5,
        ),
    ]);
}

#[test]
fn patches_have_the_scope_they_share() {
    check_scopes(&[
        (
            "[JSONPatch{op: 'add', path: '/spec/a/b', value: 1}, JSONPatch{op: 'remove', path: '/spec/a/c'}]",
            "spec.a",
            2,
        ),
        (
            "[JSONPatch{op: 'add', path: '/spec/l/-', value: 1}]",
            "spec.l",
            2,
        ),
        (
            "[JSONPatch{op: 'replace', path: '/spec/l/0', value: 1}]",
            "spec.l",
            2,
        ),
        (
            "[JSONPatch{op: 'replace', path: '/spec/l/0/a', value: 1}]",
            "spec.l[*].a",
            4,
        ),
        (
            "[JSONPatch{op: 'move', from: '/spec/a', path: '/spec/b'}]",
            "spec",
            1,
        ),
        (
            "[JSONPatch{op: object.op, from: '/a', path: '/spec/b'}]",
            "",
            0,
        ),
        (
            "[JSONPatch{op: 'copy', from: '/a', path: '/b~1c'}]",
            "[\"b/c\"]",
            1,
        ),
        ("[JSONPatch{op: 'add'}]", "", 0),
        (
            "object.l.map(k, JSONPatch{op: 'remove', path: '/spec/x'})",
            "",
            0,
        ),
        (
            "object.x ? [JSONPatch{op: 'remove', path: '/a/b'}] : [JSONPatch{op: 'remove', path: '/a/c'}]",
            "a",
            1,
        ),
    ]);
}

#[test]
fn what_is_no_mutation_has_no_scope() {
    assert_eq!(scope("object.a"), None);
    assert_eq!(scope("[1]"), None);
    assert_eq!(
        scope("Object.spec.widgets{part: 'xyz'}"),
        Some(("spec.widgets".to_owned(), 2))
    );
}

#[test]
fn scopes_are_compared_by_name() {
    let scope = |text: &str| {
        let program = env().compile(text).unwrap();
        program
            .mutation_scope(&|_| Vec::new(), &["object"])
            .unwrap()
    };
    let label = scope("Object{metadata: Object.metadata{labels: {'a': 'b'}}}");
    let patch = scope("[JSONPatch{op: 'remove', path: '/metadata/labels/a'}]");
    let labels = scope("[JSONPatch{op: 'remove', path: '/metadata/labels'}]");
    assert!(label.is_within(&patch) && patch.is_within(&label));
    assert!(label.is_within(&labels) && !labels.is_within(&label));
    assert_eq!(
        label.common(&scope("Object{spec: 1}")),
        MutationScope::default()
    );
}
