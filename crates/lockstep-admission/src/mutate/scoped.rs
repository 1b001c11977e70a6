//! Mutations with an explicit scope: they run once for each value that the scope selects.

use lockstep_cel::Arena;
use lockstep_cel::paths::Segment;
use lockstep_object::Value;

use super::run::{Context, Merging, evaluate, merged_value};
use crate::inputs::Failure;
use crate::policy::{Mutation, ScopePath, ScopePathStep};

/// A step to one value.
#[derive(Clone)]
enum Step {
    Field(String),
    Index(usize),
}

/// Runs the expression on each value, in document order, and returns the object.
pub(super) fn run(mutation: &Mutation, context: Context<'_>) -> Result<Value, Failure> {
    let mut object = context.object.as_value().clone();
    let Some(scope) = &mutation.declared_scope else {
        return Ok(object);
    };
    let mut selected = Vec::new();
    select(&object, &scope.steps, &mut Vec::new(), &mut selected);
    let type_name = scope.type_name();
    let types = Merging {
        root: context.kind.merge_type(),
    };
    for place in selected {
        let Some(own) = at(&mut object, &place).map(|value| value.clone()) else {
            continue;
        };
        let arena = Arena::new();
        let merged = {
            let result = evaluate(mutation, context, &object, Some(&own), &types, &arena)?;
            merged_value(&result, &type_name, &own, &types)?
        };
        if let Some(value) = at(&mut object, &place) {
            *value = merged;
        }
    }
    Ok(object)
}

fn select(
    value: &Value,
    steps: &[ScopePathStep],
    place: &mut Vec<Step>,
    found: &mut Vec<Vec<Step>>,
) {
    let Some((step, rest)) = steps.split_first() else {
        found.push(place.clone());
        return;
    };
    let mut within = |value: &Value, step: Step| {
        place.push(step);
        select(value, rest, place, found);
        place.pop();
    };
    match (step, value) {
        (ScopePathStep::Field(name) | ScopePathStep::Key(name), Value::Object(fields)) => {
            if let Some(value) = fields.get(&**name) {
                within(value, Step::Field(name.to_string()));
            }
        }
        (ScopePathStep::Each, Value::Array(items)) => {
            for (index, item) in items.iter().enumerate() {
                within(item, Step::Index(index));
            }
        }
        (ScopePathStep::Each, Value::Object(fields)) => {
            for (name, value) in fields {
                within(value, Step::Field(name.clone()));
            }
        }
        (ScopePathStep::With(key, wanted), Value::Array(items)) => {
            for (index, item) in items.iter().enumerate() {
                if item.get(&**key).is_some_and(|value| *value == **wanted) {
                    within(item, Step::Index(index));
                }
            }
        }
        _ => {}
    }
}

fn at<'v>(object: &'v mut Value, place: &[Step]) -> Option<&'v mut Value> {
    let mut value = object;
    for step in place {
        value = match step {
            Step::Field(name) => value.get_mut(name)?,
            Step::Index(index) => value.get_mut(*index)?,
        };
    }
    Some(value)
}

/// True if a written path lies inside a scope. Which elements a key selects is not checked.
pub(super) fn is_inside(path: &[Segment], scope: &ScopePath) -> bool {
    path.len() >= scope.steps.len()
        && path.iter().zip(&scope.steps).all(|pair| match pair {
            (Segment::Field(name), ScopePathStep::Field(field) | ScopePathStep::Key(field)) => {
                name == field
            }
            (_, ScopePathStep::Each | ScopePathStep::With(..)) => true,
            _ => false,
        })
}
