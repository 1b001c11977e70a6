//! Evaluation of variables and selections.

use super::Machine;
use super::overload::no_qualifier;
use crate::activation::{Binding, Lazy};
use crate::dialect::Profile;
use crate::plan::{Attribute, Key, Root};
use crate::schema::Schema;
use crate::value::{Eval, Fault, List, Map, Value, of_json, of_typed};
use lockstep_gotext::number_text::double_text;

/// The outcome of one selection.
enum Found<'a> {
    Value(Value<'a>),
    /// There is nothing: an error, or an empty optional.
    Missing(Fault<'a>),
    /// The qualifier itself is invalid.
    Refused(Fault<'a>),
}

impl<'a> Machine<'a, '_, '_> {
    #[inline(never)]
    pub(super) fn attribute(&mut self, attribute: &'a Attribute) -> Eval<'a> {
        if let Some(value) = self.plain_field(attribute)? {
            return Ok(value);
        }
        let outcome = self.resolve(attribute);
        if attribute.test {
            self.budget.refund(1);
        }
        outcome
    }

    /// The common case, a field of a loop variable that is there, without the rest of the rules.
    #[inline]
    fn plain_field(&mut self, attribute: &'a Attribute) -> Result<Option<Value<'a>>, Fault<'a>> {
        let (Root::Local(slot), [qualifier], false) =
            (&attribute.root, &*attribute.steps, attribute.test)
        else {
            return Ok(None);
        };
        let (Key::Field(name), false) = (&qualifier.key, qualifier.optional) else {
            return Ok(None);
        };
        let Value::Map(Map::Json(entries)) = self.locals[*slot] else {
            return Ok(None);
        };
        let Some(found) = entries.get(&**name) else {
            return Ok(None);
        };
        self.budget.charge(1 + u64::from(attribute.charged))?;
        Ok(Some(of_json(found)))
    }

    fn resolve(&mut self, attribute: &'a Attribute) -> Eval<'a> {
        let mut value = self.root(attribute)?;
        let mut optional = false;
        let last = attribute.steps.len();
        for (index, qualifier) in attribute.steps.iter().enumerate() {
            match value {
                Value::Optional(Some(inner)) => {
                    value = *inner;
                    optional = true;
                }
                Value::Optional(None) => return Ok(none(attribute.test)),
                _ => {}
            }
            optional |= qualifier.optional;
            let test = attribute.test && index + 1 == last;
            match self.select(value, &qualifier.key, optional || test)? {
                Found::Value(_) if test => {
                    self.budget.charge(1)?;
                    return Ok(Value::Bool(true));
                }
                Found::Missing(_) if test => {
                    self.budget.charge(1)?;
                    return Ok(Value::Bool(false));
                }
                Found::Value(found) => {
                    self.budget.charge(1)?;
                    value = found;
                }
                Found::Missing(_) if optional => {
                    return Ok(none(attribute.test));
                }
                Found::Missing(fault) | Found::Refused(fault) => {
                    self.budget.charge(u64::from(!optional))?;
                    return Err(fault);
                }
            }
        }
        Ok(if optional {
            self.scope.some(value)
        } else {
            value
        })
    }

    fn root(&mut self, attribute: &'a Attribute) -> Eval<'a> {
        let charge = u64::from(attribute.charged);
        match &attribute.root {
            Root::Local(slot) => {
                self.budget.charge(charge)?;
                Ok(self.locals[*slot])
            }
            Root::Variable(name, schema, optional) => {
                self.budget.charge(charge)?;
                self.variable(name, schema.as_deref(), *optional)
            }
            Root::Lazy(name) => {
                self.budget.charge(charge + 1)?;
                self.lazy(name)
            }
            Root::Value(step) => {
                let value = self.step(*step);
                self.budget.charge(charge)?;
                value
            }
        }
    }

    fn variable(&mut self, name: &'a str, schema: Option<&'a Schema>, optional: bool) -> Eval<'a> {
        match (self.activation.find(name), schema) {
            (Some(Binding::Json(json)), Some(schema)) if optional => {
                let value = self.scope.settle(of_typed(json, schema))?;
                Ok(self.scope.some(value))
            }
            (Some(Binding::Json(json)), Some(_)) if json.is_null() => Ok(Value::Null),
            (Some(Binding::Json(json)), Some(schema)) => self.scope.settle(of_typed(json, schema)),
            (Some(Binding::Json(json)), None) => Ok(of_json(json)),
            (Some(Binding::Value(value)), _) => Ok(value),
            (Some(Binding::Absent), _) => Ok(Value::Optional(None)),
            (None, _) if name == "variables" && !self.activation.lazies().is_empty() => {
                self.all_lazies()
            }
            (None, _) => Err(self
                .scope
                .fault(format_args!("no such attribute(s): {name}"))),
        }
    }

    fn lazy(&mut self, name: &'a str) -> Eval<'a> {
        match self.activation.lazy(name) {
            Some(lazy) => self.force(lazy),
            None => Err(self
                .scope
                .fault(format_args!("no such attribute(s): variables.{name}"))),
        }
    }

    /// The value of a lazy variable, computed on first use.
    fn force(&mut self, lazy: &Lazy<'a>) -> Eval<'a> {
        if let Some(outcome) = lazy.outcome.get() {
            return *outcome;
        }
        let plan = lazy.plan;
        let before = self.budget.begin_variable();
        let outcome = super::run(
            plan,
            self.activation,
            self.arena(),
            self.budget,
            self.nested_depth,
        );
        self.budget.end_variable(before);
        let outcome = match outcome {
            Err(fault) if !fault.is_final() => {
                let name = lazy.name;
                Err(self.scope.fault(format_args!(
                    "composited variable \"{name}\" fails to evaluate: {fault}"
                )))
            }
            other => other,
        };
        *lazy.outcome.get_or_init(|| outcome)
    }

    fn all_lazies(&mut self) -> Eval<'a> {
        let mut entries = self.arena().vec();
        for lazy in self.activation.lazies() {
            let value = self.force(lazy)?;
            entries.push((Value::String(lazy.name), value));
        }
        let map = super::build_map(self.arena(), &mut entries, &[], self.plan.profile)?;
        Ok(map)
    }

    fn select(
        &mut self,
        value: Value<'a>,
        key: &'a Key,
        present: bool,
    ) -> Result<Found<'a>, Fault<'a>> {
        match key {
            Key::Field(name) => self.field(value, name, present),
            Key::Constant(constant) => self.index(value, constant.view(), present),
            Key::Computed(step) => {
                let key = match self.step(*step) {
                    Err(fault) if !fault.is_final() => return Ok(Found::Refused(fault)),
                    key => key?,
                };
                match key {
                    Value::String(name) => self.field(value, name, present),
                    Value::Bool(_) | Value::Int(_) | Value::Uint(_) | Value::Double(_) => {
                        self.index(value, key, present)
                    }
                    _ if self.plan.profile == Profile::Spec => self.index(value, key, present),
                    _ => Ok(Found::Refused(no_qualifier(&self.scope, &key))),
                }
            }
        }
    }

    #[inline]
    fn field(
        &mut self,
        value: Value<'a>,
        name: &'a str,
        present: bool,
    ) -> Result<Found<'a>, Fault<'a>> {
        let missing = || Found::Missing(Fault::NoSuchKey(Value::String(name)));
        match value {
            Value::Map(map) => match map.field(name) {
                Some(Ok(found)) => Ok(Found::Value(found)),
                Some(Err(fault)) => self.scope.settle(Err(fault)).map(Found::Value),
                None => Ok(missing()),
            },
            Value::Object(object) => {
                match object.field(name) {
                    Some(found) => Ok(Found::Value(found)),
                    None if present => Ok(missing()),
                    None => Ok(crate::mutation::absent_field(object, name)
                        .map_or_else(missing, Found::Value)),
                }
            }
            Value::List(_) => Ok(Found::Refused(Fault::UnsupportedIndex("string"))),
            _ if present && self.plan.profile == Profile::Spec => {
                Err(Fault::NoSuchKey(Value::String(name)))
            }
            _ => Ok(missing()),
        }
    }

    fn index(
        &mut self,
        value: Value<'a>,
        key: Value<'a>,
        present: bool,
    ) -> Result<Found<'a>, Fault<'a>> {
        let missing = || Found::Missing(Fault::NoSuchKey(key));
        match value {
            Value::List(list) => self.element(list, key),
            Value::Map(map) => match map.get(&key) {
                Some(found) => self.scope.settle(found).map(Found::Value),
                None => Ok(missing()),
            },
            _ if present && self.plan.profile == Profile::Spec => Err(Fault::NoSuchKey(key)),
            _ => Ok(missing()),
        }
    }

    fn element(&mut self, list: List<'a>, key: Value<'a>) -> Result<Found<'a>, Fault<'a>> {
        let index = match key {
            Value::Int(index) => index,
            Value::Uint(index) => i64::try_from(index).unwrap_or(i64::MAX),
            Value::Double(index) => match whole(index) {
                Some(index) => index,
                None => {
                    let shown = double_text(index);
                    let text = format_args!("unsupported index value {shown} in list");
                    return Ok(Found::Refused(self.scope.fault(text)));
                }
            },
            other => {
                return Ok(Found::Refused(Fault::UnsupportedIndex(other.type_name())));
            }
        };
        match usize::try_from(index) {
            Ok(at) if at < list.len() => self.scope.settle(list.at(at)).map(Found::Value),
            _ => Ok(Found::Missing(Fault::IndexOutOfBounds(index))),
        }
    }
}

fn none<'a>(test: bool) -> Value<'a> {
    if test {
        Value::Bool(false)
    } else {
        Value::Optional(None)
    }
}

/// A double that is an index.
fn whole(index: f64) -> Option<i64> {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the value is compared with the original"
    )]
    let truncated = index as i64;
    #[expect(clippy::cast_precision_loss, reason = "a loss shows as a difference")]
    let back = truncated as f64;
    (back.to_bits() == index.to_bits()).then_some(truncated)
}
