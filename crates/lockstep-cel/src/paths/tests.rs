//! Tests of read and write analysis, with every example of the sheet.

use crate::context;
use crate::{Env, Type, Version};

mod scope;

fn env() -> Env {
    Env::kubernetes(Version::LATEST)
        .with_variable("object", Type::Dyn)
        .with_variable("oldObject", Type::Dyn)
        .with_variable("params", Type::Dyn)
        .with_schema_variable("request", context::request_schema())
        .with_mutation()
}

/// Reads and writes of an expression, as text.
fn check(env: &Env, expression: &str, reads: &[&str], writes: &[&str]) {
    let program = env
        .compile(expression)
        .unwrap_or_else(|issues| panic!("{expression}: {issues:?}"));
    let paths = program.paths();
    let found: Vec<String> = paths.reads.iter().map(ToString::to_string).collect();
    assert_eq!(found, reads, "reads of {expression}");
    let found: Vec<String> = paths.writes.iter().map(ToString::to_string).collect();
    assert_eq!(found, writes, "writes of {expression}");
}

/// Presence tests before a read.
#[test]
fn has_and_optional_selections_probe() {
    let cases: &[(&str, &[&str])] = &[
        ("object.a <= 1", &[]),
        ("!has(object.a) || object.a <= 1", &["object.a"]),
        ("object.?a.orValue(0) <= 1", &["object.a"]),
        ("object.m[?'k'].hasValue()", &["object.m.k"]),
        (
            "object.l.all(e, !has(e.p) || e.p.q == 1)",
            &["object.l[*].p"],
        ),
        ("has(object.a.b) && object.c == 1", &["object.a.b"]),
    ];
    for (expression, probed) in cases {
        let program = env().compile(expression).unwrap();
        let found = program.probed_paths();
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(found, *probed, "{expression}");
    }
    let unchecked = env().compile_unchecked("has(object.a)").unwrap();
    assert_eq!(unchecked.probed_paths().len(), 0);
}

/// Every example of cel.md §14.
#[test]
fn reads_and_writes_are_those_of_the_table() {
    let cases: &[(&str, &[&str], &[&str])] = &[
        (
            "object.spec.replicas > params.max",
            &["object.spec.replicas", "params.max"],
            &[],
        ),
        (
            "object.spec.containers.all(c, has(c.image))",
            &["object.spec.containers[*].image"],
            &[],
        ),
        (
            "object.metadata.labels[\"a/b\"] == ''",
            &["object.metadata.labels[\"a/b\"]"],
            &[],
        ),
        (
            "object.metadata.labels[?\"a/b\"].hasValue()",
            &["object.metadata.labels[\"a/b\"]"],
            &[],
        ),
        (
            "object.a[object.i].b == 1",
            &["object.a[*].b", "object.i"],
            &[],
        ),
        ("object == oldObject", &["object", "oldObject"], &[]),
        ("size(object.spec) > 0", &["object.spec"], &[]),
        (
            "Object{spec: Object.spec{a: 1, ?b: object.?c}}",
            &["object.c"],
            &["spec.a", "spec.b (conditional)"],
        ),
        (
            "Object{spec: Object.spec{containers: object.spec.containers.map(c, Object.spec.containers{name: c.name})}}",
            &["object.spec.containers[*].name"],
            &["spec.containers[*].name"],
        ),
        (
            "[JSONPatch{op: 'add', path: \"/spec/x\", value: 1}]",
            &[],
            &["spec.x"],
        ),
        (
            "[JSONPatch{op: 'add', path: \"/a/\" + object.k, value: 1}]",
            &["object.k"],
            &["a.*"],
        ),
        (
            "[JSONPatch{op: 'add', path: object.k, value: 1}]",
            &["object.k"],
            &["*"],
        ),
    ];
    for (expression, reads, writes) in cases {
        check(&env(), expression, reads, writes);
    }
}

/// A chain in which each variable names the one before it ten times, and a list of patches that does.
#[test]
fn chains_of_variables_are_analyzed_once() {
    let chain = |mut env: Env, first: &str, times: usize| {
        let program = env.compile(first).unwrap();
        env = env.with_lazy_variable("v0", &program);
        for at in 1..=256 {
            let named = format!("variables.v{}", at - 1);
            let text = vec![named.as_str(); times].join(" + ");
            let program = env.compile(&text).unwrap();
            env = env.with_lazy_variable(&format!("v{at}"), &program);
        }
        env
    };
    let texts = chain(env(), "string(object.a)", 10);
    check(
        &texts,
        "Object{data: {\"r\": variables.v256}}",
        &["object.a"],
        &["data.r"],
    );
    let patch = "[JSONPatch{op: \"remove\", path: \"/a\"}]";
    let patches = chain(env(), patch, 2);
    check(&patches, "variables.v256", &[], &["a"]);
}

#[test]
fn variables_read_what_their_expressions_read() {
    let env = env();
    let spec = env.compile("object.spec").unwrap();
    let count = env.compile("size(object.items) + params.n").unwrap();
    let env = env
        .with_lazy_variable("spec", &spec)
        .with_lazy_variable("count", &count);
    check(
        &env,
        "variables.spec.replicas > 1",
        &["object.spec.replicas"],
        &[],
    );
    check(
        &env,
        "variables.count > 1",
        &["object.items", "params.n"],
        &[],
    );
}

#[test]
fn elements_are_followed_through_macros() {
    let env = env();
    let filtered = "object.spec.containers.filter(c, c.name != 'a').map(c, c.image).size() > 0";
    check(
        &env,
        filtered,
        &[
            "object.spec.containers[*].image",
            "object.spec.containers[*].name",
        ],
        &[],
    );
    check(&env, "object.a.all(x, true)", &["object.a"], &[]);
    check(
        &env,
        "object.m.all(k, v, v.w == k)",
        &["object.m[*].w"],
        &[],
    );
    check(
        &env,
        "object.a.exists(x, params.l.exists(y, y.z == x.z))",
        &["object.a[*].z", "params.l[*].z"],
        &[],
    );
    check(
        &env,
        "object.?a.optMap(x, x.b).orValue(1) == 1",
        &["object.a.b"],
        &[],
    );
    check(
        &env,
        "object.a[0].b == 1 && request.userInfo.username == ''",
        &["object.a[0].b", "request.userInfo.username"],
        &[],
    );
}

#[test]
fn patches_read_and_write_by_their_operation() {
    let env = env();
    check(
        &env,
        "[JSONPatch{op: 'move', from: '/a', path: '/b'}]",
        &["object.a"],
        &["a", "b"],
    );
    check(
        &env,
        "[JSONPatch{op: 'copy', from: '/a/0', path: '/b~1c'}]",
        &["object.a[0]"],
        &["[\"b/c\"]"],
    );
    check(
        &env,
        "[JSONPatch{op: 'test', path: '/a', value: 1}]",
        &["object.a"],
        &[],
    );
    let either = "object.x ? [JSONPatch{op: 'remove', path: '/a'}] : [JSONPatch{op: 'add', path: '/l/-', value: 1}]";
    check(
        &env,
        either,
        &["object.x"],
        &["a (conditional)", "l[*] (conditional)"],
    );
}

#[test]
fn maps_inside_objects_are_written_by_key() {
    let labels = "Object{metadata: Object.metadata{labels: {'a': 'b', ?'c/d': optional.none()}}}";
    check(
        &env(),
        labels,
        &[],
        &[
            "metadata.labels.a",
            "metadata.labels[\"c/d\"] (conditional)",
        ],
    );
    check(&env(), "Object{}", &[], &[]);
    check(&env(), "Object{spec: Object.spec{}}", &[], &["spec"]);
    check(
        &env(),
        "Object{spec: object.spec}",
        &["object.spec"],
        &["spec"],
    );
}

/// Without types, any field may be read.
#[test]
fn an_expression_that_was_not_checked_reads_and_writes_everything() {
    let paths = env().compile_unchecked("object.a").unwrap().paths();
    let reads: Vec<String> = paths.reads.iter().map(ToString::to_string).collect();
    assert_eq!(reads, ["object", "oldObject", "params", "request"]);
    let writes: Vec<String> = paths.writes.iter().map(ToString::to_string).collect();
    assert_eq!(writes, ["*"]);
}
