//! Functions over objects of mutations: `objects.apply` and `objects.remove`.

use super::{Row, row};
use crate::cost::{self, Cost};
use crate::mutation::REMOVAL;
use crate::scope::Scope;
use crate::value::{Eval, Fault, Object, Value, of_json};
use serde_json::Value as Json;

pub(super) const ROWS: &[Row] = &[
    row(
        "objects_remove",
        "objects.remove(A) -> A",
        Cost::One,
        remove,
    ),
    row(
        "objects_apply",
        "objects.apply(A, B) -> B",
        Cost::Nodes,
        apply,
    ),
];

/// Work for each value that a merge goes over, in bytes.
const WORK_PER_MERGED_VALUE: u64 = 400;

/// Marks an element of a list for removal.
#[expect(clippy::unnecessary_wraps, reason = "the type of all functions")]
fn remove<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    let object = match args[0] {
        Value::Object(object) => *object,
        value => Object {
            type_name: REMOVAL,
            fields: scope.arena.slice(&[(REMOVAL, value)]),
            omitted: &[],
            is_removal: false,
        },
    };
    let object = Object {
        is_removal: true,
        ..object
    };
    Ok(Value::Object(scope.arena.put(object)))
}

/// Merges an object literal into a value by the schema at the position that the literal names.
fn apply<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    let Value::Object(patch) = args[1] else {
        return Err(Fault::Fixed(
            "objects.apply: the second argument must be an Object",
        ));
    };
    let Some(by_schema) = scope.merger() else {
        return Err(Fault::Fixed("objects.apply: no schema is known"));
    };
    let work = cost::nodes(args).saturating_mul(WORK_PER_MERGED_VALUE);
    scope.work(usize::try_from(work).unwrap_or(usize::MAX))?;
    let merged = by_schema.merge(&args[0], patch);
    let merged = merged.map_err(|why| scope.fault(format_args!("objects.apply: {why}")))?;
    let Json::Object(entries) = scope.arena.document(merged) else {
        return Err(Fault::Fixed(
            "objects.apply: the first argument must be a map",
        ));
    };
    let mut fields = scope.arena.vec_with(entries.len());
    fields.extend(
        entries
            .iter()
            .map(|(name, value)| (&**name, of_json(value))),
    );
    let object = Object {
        type_name: patch.type_name,
        fields: fields.into_bump_slice(),
        omitted: &[],
        is_removal: patch.is_removal,
    };
    Ok(Value::Object(scope.arena.put(object)))
}
