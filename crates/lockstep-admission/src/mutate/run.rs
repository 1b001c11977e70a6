//! One run of one mutation: expression, merge or patch, defaults.

use std::collections::BTreeSet;
use std::fmt;

use lockstep_cel::mutation::{Merger, TypeNameError, check_type_names, check_type_names_within};
use lockstep_cel::paths::Segment;
use lockstep_cel::{Arena, List, Object as CelObject, Value as CelValue};
use lockstep_merge::types::Type;
use lockstep_merge::{JsonPatch, JsonPatchError};
use lockstep_object::{Map, Object, Value};

use super::{draft, scoped};
use crate::diff;
use crate::facts::Kind;
use crate::inputs::{self, Failure, Inputs};
use crate::policy::{Common, Dialect, Form, Mutation};

/// Result of one run.
pub(crate) struct Ran {
    /// The object afterwards; none if it is unchanged.
    pub(crate) object: Option<Object>,
    /// Changed paths.
    pub(crate) writes: BTreeSet<Vec<Segment>>,
    /// True if a `test` of a JSON patch failed, so that the mutation did not apply.
    pub(crate) is_untested: bool,
}

/// The `apply` dialect.
const APPLY: Dialect = Dialect {
    removes_unset: true,
    replaces_atomics: true,
};

/// Everything that a run needs.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub(crate) common: &'a Common,
    pub(crate) inputs: Inputs<'a>,
    pub(crate) object: &'a Object,
    pub(crate) old: Option<&'a Object>,
    pub(crate) kind: &'a dyn Kind,
}

/// Runs a mutation on the object.
pub(crate) fn run(mutation: &Mutation, context: Context<'_>) -> Result<Ran, Failure> {
    let unchanged = |is_untested| Ran {
        object: None,
        writes: BTreeSet::new(),
        is_untested,
    };
    let Some(value) = mutated(mutation, context)? else {
        return Ok(unchanged(true));
    };
    let Ok(mut object) = Object::from_value(value) else {
        return Err(Failure::invalid("the result is not an object"));
    };
    if object.gvk() != context.object.gvk() {
        return Err(Failure::invalid(
            "JSON Patch: apiVersion and kind of the object may not be changed",
        ));
    }
    let before = context.object.as_value();
    if object.as_value() == before {
        return Ok(unchanged(false));
    }
    let merged = diff::changed_paths(before, object.as_value());
    let writes = if keeps_defaults(mutation, &merged) {
        merged
    } else {
        let defaulted = context.kind.prune_and_default(&mut object, context.old);
        defaulted.map_err(Failure::invalid)?;
        diff::changed_paths(before, object.as_value())
    };
    if let Some(declared) = &mutation.declared_scope
        && let Some(outside) = writes
            .iter()
            .find(|path| !scoped::is_inside(path, declared))
    {
        return Err(Failure::invalid(format!(
            "the mutation has the scope {declared} and may not write {}",
            diff::shown(outside)
        )));
    }
    Ok(Ran {
        object: (!writes.is_empty()).then_some(object),
        writes,
        is_untested: false,
    })
}

/// True if the object has its defaults after a merge as it had before: labels and annotations were added, and their
/// types are those of the schema. Defaulting a large object takes longer than everything else.
fn keeps_defaults(mutation: &Mutation, writes: &BTreeSet<Vec<Segment>>) -> bool {
    let only_adds = matches!(
        mutation.form,
        Form::ApplyConfiguration(Dialect {
            removes_unset: false,
            ..
        })
    );
    let is_plain = |path: &[Segment]| {
        let name = |at: usize| match path.get(at) {
            Some(Segment::Field(name)) => &**name,
            _ => "",
        };
        name(0) == "metadata" && ["labels", "annotations"].contains(&name(1))
    };
    only_adds && writes.iter().all(|path| is_plain(path))
}

/// The object after the mutation, without defaults; none if a `test` of a patch failed.
fn mutated(mutation: &Mutation, context: Context<'_>) -> Result<Option<Value>, Failure> {
    if mutation.is_per_value {
        return scoped::run(mutation, context).map(Some);
    }
    let types = Merging {
        root: context.kind.merge_type(),
    };
    let arena = Arena::new();
    let result = evaluate(
        mutation,
        context,
        context.inputs.object,
        None,
        &types,
        &arena,
    )?;
    match mutation.form {
        Form::JsonPatch => patched(&result, context.object.as_value()),
        Form::Apply => merged(&result, mutation, APPLY, context, &types).map(Some),
        Form::ApplyConfiguration(dialect) => {
            merged(&result, mutation, dialect, context, &types).map(Some)
        }
    }
}

/// Evaluates the expression of a mutation on an object, with `own` as `self`.
pub(super) fn evaluate<'a>(
    mutation: &'a Mutation,
    context: Context<'a>,
    object: &'a Value,
    own: Option<&'a Value>,
    types: &'a Merging<'a>,
    arena: &'a Arena,
) -> Result<CelValue<'a>, Failure> {
    let mut inputs = Inputs {
        object,
        ..context.inputs
    };
    let stored = inputs.old;
    if mutation.form == Form::Apply {
        inputs.old = object;
    }
    let mut activation = inputs.activation(context.common).with_merger(types);
    if mutation.form == Form::Apply {
        activation = activation.with_json("storedObject", stored);
    }
    if let Some(own) = own {
        activation = activation.with_json("self", own);
    }
    inputs::evaluate(&mutation.program, &activation, arena, &mut inputs::budget())
}

fn type_mismatch(error: &TypeNameError) -> Failure {
    Failure::invalid(format!("type mismatch: {error}"))
}

fn merged(
    result: &CelValue<'_>,
    mutation: &Mutation,
    dialect: Dialect,
    context: Context<'_>,
    types: &Merging<'_>,
) -> Result<Value, Failure> {
    check_type_names(result).map_err(|error| type_mismatch(&error))?;
    let Some(root) = types.root else {
        return Err(Failure::invalid(NO_SCHEMA));
    };
    let live = context.object.as_value();
    let merged = draft::merge(root, live, result, dialect, &mutation.complete);
    merged.map_err(|error| Failure::invalid(format!("error applying patch: {error}")))
}

const NO_SCHEMA: &str = "error applying patch: the kind has no schema";

/// Merges the result of a per-value mutation into the value at its position.
pub(super) fn merged_value(
    result: &CelValue<'_>,
    type_name: &str,
    live: &Value,
    types: &Merging<'_>,
) -> Result<Value, Failure> {
    let CelValue::Object(object) = result else {
        return Err(Failure::invalid("the result is not an object"));
    };
    check_type_names_within(result).map_err(|error| type_mismatch(&error))?;
    if object.type_name != type_name {
        let error = TypeNameError {
            found: object.type_name.to_owned(),
            expected: type_name.to_owned(),
        };
        return Err(type_mismatch(&error));
    }
    let ty = types
        .at(type_name)
        .ok_or_else(|| Failure::invalid(NO_SCHEMA))?;
    let merged = draft::merge(ty, live, result, APPLY, &BTreeSet::new());
    merged.map_err(|error| Failure::invalid(format!("error applying patch: {error}")))
}

/// Applies a list of `JSONPatch` objects; none if a `test` fails.
fn patched(result: &CelValue<'_>, object: &Value) -> Result<Option<Value>, Failure> {
    let CelValue::List(list) = result else {
        return Err(Failure::invalid("the result is not a list"));
    };
    let operations = operations(*list)?;
    let patch = JsonPatch::from_expression(&operations);
    let patch = patch.map_err(|error| Failure::invalid(format!("JSON Patch: {error}")))?;
    let mut patched = object.clone();
    match patch.apply(&mut patched) {
        Ok(()) => Ok(Some(patched)),
        Err(JsonPatchError::TestFailed { .. }) => Ok(None),
        Err(error) => Err(Failure::invalid(format!("JSON Patch: {error}"))),
    }
}

fn operations(list: List<'_>) -> Result<Value, Failure> {
    let mut operations: Vec<Value> = Vec::with_capacity(list.len());
    for element in list.elements() {
        let element = element.map_err(|error| Failure::invalid(error.to_string()))?;
        let CelValue::Object(patch) = element else {
            return Err(Failure::invalid("the result is not a list of JSONPatch"));
        };
        let text = |name: &str| match patch.field(name) {
            Some(CelValue::String(text)) => text,
            _ => "",
        };
        let mut operation = Map::new();
        operation.insert("op".to_owned(), text("op").into());
        operation.insert("path".to_owned(), text("path").into());
        if !text("from").is_empty() {
            operation.insert("from".to_owned(), text("from").into());
        }
        if let Some(value) = patch.field("value") {
            check_type_names_within(&value).map_err(|error| type_mismatch(&error))?;
            let unfit = |why: &dyn fmt::Display| {
                Failure::invalid(format!(
                    "JSONPath valueExpression evaluated to a type that could not marshal to JSON: {why}"
                ))
            };
            if let Some(name) = opaque(&value) {
                return Err(unfit(&name));
            }
            let value = value.to_json().map_err(|error| unfit(&error))?;
            operation.insert("value".to_owned(), value);
        }
        operations.push(operation.into());
    }
    Ok(operations.into())
}

/// The type of a value without JSON form, such as a quantity, inside another value.
fn opaque<'v>(value: &CelValue<'v>) -> Option<&'v str> {
    match value {
        CelValue::Opaque(_) => Some(value.type_name()),
        CelValue::Optional(Some(value)) => opaque(value),
        CelValue::Object(object) => object.fields.iter().find_map(|(_, value)| opaque(value)),
        CelValue::List(list) => list.elements().flatten().find_map(|value| opaque(&value)),
        CelValue::Map(map) => map.pairs().find_map(|(_, value)| opaque(&value.ok()?)),
        _ => None,
    }
}

/// Merge types of the kind, for the merge and for `objects.apply`.
#[derive(Clone, Copy)]
pub(super) struct Merging<'t> {
    pub(super) root: Option<Type<'t>>,
}

impl fmt::Debug for Merging<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Merging")
    }
}

impl<'t> Merging<'t> {
    /// Type at the position that an object type names, such as `Object.spec.containers`; lists are stepped into.
    pub(super) fn at(&self, type_name: &str) -> Option<Type<'t>> {
        let mut ty = self.root?;
        let mut is_item = false;
        for name in type_name.split('.').skip(1) {
            ty = match ty.field_type(name) {
                Some(field) => field.of,
                None if name == "item" && is_item => continue,
                None => return None,
            };
            is_item = ty.list_relation().is_some() && ty.map_relation().is_none();
            if is_item {
                ty = ty.item_type()?;
            }
        }
        Some(ty)
    }
}

impl Merger for Merging<'_> {
    fn merge(&self, base: &CelValue<'_>, patch: &CelObject<'_>) -> Result<Value, String> {
        let base = base.to_json().map_err(|error| error.to_string())?;
        let ty = self.at(patch.type_name);
        let ty = ty.ok_or_else(|| format!("the kind has no type {}", patch.type_name))?;
        draft::merge(ty, &base, &CelValue::Object(patch), APPLY, &BTreeSet::new())
    }
}
