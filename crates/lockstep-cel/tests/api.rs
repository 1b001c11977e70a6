//! Promises of the public API beyond the value of one expression.

#![expect(clippy::unwrap_used, reason = "a test's helper fails the test")]

use lockstep_cel::authorizer::{
    Attributes, Authorization, Authorizer, Decision, ResourceAttributes, Target,
};
use lockstep_cel::mutation::{TypeNameError, check_type_names, omitted_paths};
use lockstep_cel::schema::{Resource, Schema};
use lockstep_cel::{Activation, Arena, Budget, ConversionError, Env, Opaque, Type, Version};
use serde_json::json;
use std::sync::Arc;

fn env() -> Env {
    Env::kubernetes(Version::LATEST)
        .with_variable("object", Type::Dyn)
        .with_mutation()
}

/// The value of a program as JSON.
macro_rules! run {
    ($program:expr, $activation:expr) => {{
        let arena = Arena::new();
        let activation = $activation;
        let value = $program.evaluate(&activation, &arena, &mut Budget::default());
        value
            .map(|value| value.to_json().unwrap())
            .map_err(|error| error.to_string())
    }};
}

/// cel.md §11/crd-rule: `oldSelf` is optional with `optionalOldSelf`.
#[test]
fn an_optional_old_self_may_be_absent() {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    let schema = Arc::new(Schema::from_structural(&schema, "selfType", Resource::Part).unwrap());
    let env = Env::kubernetes(Version::LATEST)
        .with_schema_variable("self", Arc::clone(&schema))
        .with_optional_schema_variable("oldSelf", schema);
    let program = env
        .compile("oldSelf.optMap(o, o.n < self.n).orValue(true)")
        .unwrap();
    let (new, old) = (json!({"n": 1}), json!({"n": 2}));
    let created = Activation::new()
        .with_json("self", &new)
        .with_absent("oldSelf");
    assert_eq!(run!(program, created), Ok(json!(true)));
    let updated = Activation::new()
        .with_json("self", &new)
        .with_json("oldSelf", &old);
    assert_eq!(run!(program, updated), Ok(json!(false)));
    assert!(program.uses_variable("oldSelf") && !program.uses_variable("object"));
}

/// cel.md §11/embedded: a resource's root has `apiVersion`, `kind` and two fields of `metadata`.
#[test]
fn the_root_of_a_resource_has_a_name() {
    let schema = json!({"type": "object", "properties": {"metadata": {"type": "object"}}});
    let schema = Arc::new(Schema::from_structural(&schema, "selfType", Resource::Root).unwrap());
    let env = Env::kubernetes(Version::LATEST).with_schema_variable("self", schema);
    let program = env.compile("self.kind + '/' + self.metadata.name").unwrap();
    let object = json!({"kind": "Pod", "metadata": {"name": "p"}});
    assert_eq!(
        run!(program, Activation::new().with_json("self", &object)),
        Ok(json!("Pod/p"))
    );
    let issues = env.compile("self.metadata.labels").unwrap_err();
    assert_eq!(issues[0].message, "undefined field 'labels'");
}

#[derive(Debug)]
struct Echo;

impl Authorizer for Echo {
    fn authorize(&self, attributes: &Attributes) -> Decision {
        let Target::Resource(resource) = &attributes.target else {
            return Decision::default();
        };
        let reason = format!(
            "{:?} {} {}",
            attributes.user(),
            attributes.verb,
            resource.resource
        );
        Decision {
            allowed: true,
            reason,
            error: Some("half".to_owned()),
        }
    }
}

/// cel.md §9, §11/authorizer: `authorizer.requestResource` is one dotted variable.
#[test]
fn the_request_resource_is_a_variable_of_its_own() {
    let authorization = Authorization::new(Arc::new(Echo));
    let pods = ResourceAttributes {
        resource: "pods".to_owned(),
        ..Default::default()
    };
    let check = Opaque::ResourceCheck(authorization.resource(pods));
    let authorizer = Opaque::Authorizer(authorization);
    let env = env()
        .with_variable(
            "authorizer",
            Type::opaque("kubernetes.authorization.Authorizer"),
        )
        .with_variable(
            "authorizer.requestResource",
            Type::opaque("kubernetes.authorization.ResourceCheck"),
        );
    let program = env
        .compile("authorizer.requestResource.check('get').reason()")
        .unwrap();
    let activation = Activation::new()
        .with_opaque("authorizer", &authorizer)
        .with_opaque("authorizer.requestResource", &check);
    assert_eq!(run!(program, activation), Ok(json!("None get pods")));
    let text = "[authorizer.serviceAccount('ns', 'bot').group('').resource('x').check('get')]\
                .map(d, [d.reason(), d.error(), string(d.errored())])";
    let program = env.compile(text).unwrap();
    let expected = json!([[
        "Some(\"system:serviceaccount:ns:bot\") get x",
        "half",
        "true"
    ]]);
    let activation = Activation::new().with_opaque("authorizer", &authorizer);
    assert_eq!(run!(program, activation), Ok(expected));
}

fn with_value<T>(text: &str, look: impl FnOnce(&lockstep_cel::Value<'_>) -> T) -> T {
    let program = env().compile(text).unwrap();
    let arena = Arena::new();
    let activation = Activation::new();
    let value = program
        .evaluate(&activation, &arena, &mut Budget::default())
        .unwrap();
    look(&value)
}

/// cel.md §12, type names
#[test]
fn objects_carry_the_name_of_their_place() {
    let check = |text: &str| with_value(text, check_type_names);
    assert_eq!(
        check("Object{spec: Object.spec{l: [Object.spec.l{a: 1}], m: {'k': Object.spec.m{}}}}"),
        Ok(())
    );
    let wrong = TypeNameError {
        found: "Object.status".to_owned(),
        expected: "Object.spec".to_owned(),
    };
    assert_eq!(check("Object{spec: Object.status{}}"), Err(wrong.clone()));
    let text = "unexpected type name \"Object.status\", expected \"Object.spec\", which matches field name path from \
                root Object type";
    assert_eq!(wrong.to_string(), text);
}

/// cel.md §12, `?f: optional.none()`
#[test]
fn omitted_fields_and_keys_are_remembered() {
    let omitted = |text: &str| {
        let paths = with_value(text, omitted_paths);
        paths
            .into_iter()
            .map(|path| path.join("/"))
            .collect::<Vec<_>>()
    };
    let none = "optional.none()";
    let text = format!(
        "Object{{?a: {none}, spec: Object.spec{{?n: {none}, labels: {{?'x/y': {none}, 'z': 1}}, l: [Object.spec.l{{?q: {none}}}]}}}}"
    );
    assert_eq!(
        omitted(&text),
        ["a", "spec/n", "spec/l/0/q", "spec/labels/x/y"]
    );
}

/// cel.md §12, result conversion
#[test]
fn only_string_keys_and_plain_types_become_json() {
    #[expect(
        clippy::redundant_closure_for_method_calls,
        reason = "the method's path is not general enough over lifetimes"
    )]
    let json = |text: &str| with_value(text, |value| value.to_json());
    assert_eq!(json("{1: 2}"), Err(ConversionError::Key("int".to_owned())));
    assert_eq!(json("int"), Err(ConversionError::Type("type".to_owned())));
    assert_eq!(
        json("double('NaN')"),
        Err(ConversionError::Type("double".to_owned()))
    );
    let mixed = "[dyn(b'hi'), dyn(timestamp(0)), dyn(duration('90s')), dyn(1u)]";
    assert_eq!(
        json(mixed),
        Ok(json!(["aGk=", "1970-01-01T00:00:00Z", "90s", 1]))
    );
}

/// cel.md §11/variables: variables are evaluated lazily and at most once, also over several expressions.
#[test]
fn a_variable_is_paid_for_once() {
    let env = env();
    let slow = env.compile("object.l.map(x, x * 2)").unwrap();
    let env = env.with_lazy_variable("doubled", &slow);
    let first = env.compile("variables.doubled.size() == 3").unwrap();
    let second = env.compile("variables.doubled[0] == 2").unwrap();
    let object = json!({"l": [1, 2, 3]});
    let arena = Arena::new();
    let activation = Activation::new()
        .with_json("object", &object)
        .with_lazy("doubled", &slow);
    for (program, expected) in [(&first, 4 + 2 + 3 * 14 + 1), (&second, 4)] {
        let mut budget = Budget::default();
        let value = program.evaluate(&activation, &arena, &mut budget);
        let value = value.map(|value| value.to_json());
        assert_eq!((value, budget.spent()), (Ok(Ok(json!(true))), expected));
    }
}
