//! Object literals as patches: the JSON that is merged, and what is removed or replaced after the merge.

use std::collections::BTreeSet;

use lockstep_cel::mutation::REMOVAL;
use lockstep_cel::paths::Segment;
use lockstep_cel::{List, Value as CelValue};
use lockstep_merge::fields::Element;
use lockstep_merge::types::{ListRelation, MapRelation, Type};
use lockstep_object::{Map, Value};

use crate::policy::Dialect;

/// A change of the merged object that no merge can express.
pub(super) struct Afterwards {
    path: Vec<Place>,
    change: Change,
}

#[derive(Clone)]
enum Place {
    Field(String),
    Item(Element),
}

enum Change {
    Remove,
    /// The value of a set that is complete.
    SetTo(Vec<Value>),
}

/// Largest number of values of a literal.
const VALUES_MAX: usize = 1 << 18;

/// Merges a literal into a value of a type.
///
/// `complete` are the fields whose lists, if they are sets, replace the whole set. Fails with all errors of the
/// literal.
pub(super) fn merge(
    ty: Type<'_>,
    live: &Value,
    literal: &CelValue<'_>,
    dialect: Dialect,
    complete: &BTreeSet<Vec<Segment>>,
) -> Result<Value, String> {
    let mut builder = Builder {
        dialect,
        complete,
        errors: Vec::new(),
        values_left: VALUES_MAX,
        atomics: Vec::new(),
        afterwards: Vec::new(),
        at: Position::default(),
    };
    let wanted = builder.value(literal, Some(ty), Some(live), Reach::Checked);
    let mut wanted = wanted.unwrap_or_else(|| Value::Object(Map::new()));
    if let Some(fields) = wanted.as_object_mut() {
        fields.remove("apiVersion");
        fields.remove("kind");
    }
    let Builder {
        errors,
        atomics,
        afterwards,
        ..
    } = builder;
    if !errors.is_empty() {
        let errors = errors.join(", ");
        return Err(format!(
            "failed to convert patch object to typed object: {errors}"
        ));
    }
    let merged = ty.merge(live, &wanted);
    if merged.is_ok() && !atomics.is_empty() {
        let atomics = atomics.join(", ");
        return Err(format!(
            "invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: {atomics}"
        ));
    }
    let merged = merged
        .map_err(|errors| format!("failed to convert patch object to typed object: {errors}"));
    let mut merged = merged?;
    for change in afterwards {
        change.apply(&mut merged, ty);
    }
    Ok(merged)
}

/// Whether atomic values are an error here. Below keys of maps, and below fields that no schema describes, they are
/// replaced silently, as upstream.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    Checked,
    Unchecked,
    /// Inside a value that is replaced as a whole.
    Replaced,
}

#[derive(Default)]
struct Position {
    text: String,
    places: Vec<Place>,
    segments: Vec<Segment>,
}

struct Builder<'a> {
    dialect: Dialect,
    complete: &'a BTreeSet<Vec<Segment>>,
    errors: Vec<String>,
    /// Values that may still be visited: lists that are in others many times make few bytes many values.
    values_left: usize,
    atomics: Vec<String>,
    afterwards: Vec<Afterwards>,
    at: Position,
}

impl Builder<'_> {
    fn error(&mut self, problem: &str) {
        self.errors.push(format!("{}: {problem}", self.at.text));
    }

    /// The JSON to merge for a value; none if there is nothing to merge.
    fn value(
        &mut self,
        value: &CelValue<'_>,
        ty: Option<Type<'_>>,
        live: Option<&Value>,
        reach: Reach,
    ) -> Option<Value> {
        self.values_left = self.values_left.checked_sub(1)?;
        if self.values_left == 0 {
            self.error(&format!("the result has more than {VALUES_MAX} values"));
        }
        match value {
            CelValue::Optional(Some(value)) => self.value(value, ty, live, reach),
            CelValue::Null | CelValue::Optional(None) => {
                let expected = ty.map_or("a value", Type::expected);
                self.error(&format!("expected {expected}, got null"));
                None
            }
            CelValue::Bool(_) | CelValue::Int(_) | CelValue::String(_) => value.to_json().ok(),
            CelValue::Double(number) => {
                Some(whole(*number).unwrap_or_else(|| Value::from(*number)))
            }
            CelValue::Object(object) => {
                let fields = object.fields.iter().map(|(name, value)| (*name, *value));
                let omitted = object.omitted.iter().copied();
                Some(self.map(fields, omitted, ty, live, reach))
            }
            CelValue::Map(map) => Some(self.plain_map(*map, ty, live, reach)),
            CelValue::List(list) => self.list(*list, ty, live, reach),
            CelValue::Uint(_)
            | CelValue::Bytes(_)
            | CelValue::Timestamp(_)
            | CelValue::Duration(_)
            | CelValue::Type(_)
            | CelValue::Opaque(_) => {
                let name = value.type_name();
                self.error(&format!("a value of type {name} is not supported here"));
                None
            }
        }
    }

    fn plain_map(
        &mut self,
        map: lockstep_cel::Map<'_>,
        ty: Option<Type<'_>>,
        live: Option<&Value>,
        reach: Reach,
    ) -> Value {
        let mut fields = Vec::with_capacity(map.len());
        for (key, value) in map.pairs() {
            match (key, value) {
                (CelValue::String(key), Ok(value)) => fields.push((key, value)),
                (CelValue::String(_), Err(error)) => self.error(&error.to_string()),
                (other, _) => {
                    let name = other.type_name();
                    self.error(&format!("map key of type {name}, only strings are allowed"));
                }
            }
        }
        let omitted = map.omitted().iter().filter_map(|key| match key {
            CelValue::String(key) => Some(*key),
            _ => None,
        });
        self.map(fields.into_iter(), omitted, ty, live, reach)
    }

    fn map<'v>(
        &mut self,
        fields: impl Iterator<Item = (&'v str, CelValue<'v>)>,
        omitted: impl Iterator<Item = &'v str>,
        ty: Option<Type<'_>>,
        live: Option<&Value>,
        reach: Reach,
    ) -> Value {
        let is_atomic = ty.and_then(Type::map_relation) == Some(MapRelation::Atomic);
        let inside = self.enter(is_atomic, reach);
        let live = live.filter(|_| inside != Reach::Replaced);
        if self.dialect.removes_unset && inside != Reach::Replaced {
            for name in omitted {
                let mut path = self.at.places.clone();
                path.push(Place::Field(name.to_owned()));
                let change = Change::Remove;
                self.afterwards.push(Afterwards { path, change });
            }
        }
        let mut entries = Map::new();
        for (name, value) in fields {
            let field = ty.and_then(|ty| ty.field_type(name));
            let reach = match (inside, field) {
                (Reach::Checked, Some(field)) if field.is_declared => Reach::Checked,
                (Reach::Checked, _) => Reach::Unchecked,
                (inside, _) => inside,
            };
            let live = live.and_then(|live| live.get(name));
            let length = self.at.text.len();
            self.at.text.push('.');
            self.at.text.push_str(name);
            self.at.places.push(Place::Field(name.to_owned()));
            self.at.segments.push(Segment::Field(name.into()));
            let made = self.value(&value, field.map(|field| field.of), live, reach);
            self.at.segments.pop();
            self.at.places.pop();
            self.at.text.truncate(length);
            if let Some(made) = made {
                entries.insert(name.to_owned(), made);
            }
        }
        entries.into()
    }

    /// Notes an atomic value, and returns the reach below it.
    fn enter(&mut self, is_atomic: bool, reach: Reach) -> Reach {
        if !is_atomic {
            return reach;
        }
        if self.dialect.replaces_atomics {
            return Reach::Replaced;
        }
        if reach == Reach::Checked {
            self.atomics.push(self.at.text.clone());
            return Reach::Checked;
        }
        Reach::Replaced
    }

    fn list(
        &mut self,
        list: List<'_>,
        ty: Option<Type<'_>>,
        live: Option<&Value>,
        reach: Reach,
    ) -> Option<Value> {
        let relation = ty.and_then(Type::list_relation);
        let has_maps = ty.and_then(Type::map_relation).is_some();
        if self.dialect.replaces_atomics && relation.is_none() && has_maps {
            return self.kept_keys(list, ty, live);
        }
        let inside = self.enter(relation == Some(ListRelation::Atomic), reach);
        let is_merged = matches!(relation, Some(ListRelation::Set | ListRelation::Keys))
            && inside != Reach::Replaced;
        let mut items = Vec::with_capacity(list.len());
        for (index, element) in list.elements().enumerate() {
            match element {
                Ok(element) => items.extend(self.item(&element, index, ty, inside, is_merged)),
                Err(error) => self.error(&error.to_string()),
            }
        }
        let is_complete = relation == Some(ListRelation::Set)
            && is_merged
            && self.complete.contains(&self.at.segments);
        if is_complete {
            let path = self.at.places.clone();
            let change = Change::SetTo(items);
            self.afterwards.push(Afterwards { path, change });
            return None;
        }
        // Nothing is ever taken out of a merged list, so that an empty one says nothing.
        (!is_merged || !items.is_empty()).then_some(items.into())
    }

    /// One item of a list; none if it is to be removed.
    fn item(
        &mut self,
        element: &CelValue<'_>,
        index: usize,
        ty: Option<Type<'_>>,
        reach: Reach,
        is_merged: bool,
    ) -> Option<Value> {
        let (value, is_removal) = match element {
            CelValue::Object(object) if object.is_removal => match object.field(REMOVAL) {
                Some(scalar) if object.type_name == REMOVAL => (scalar, true),
                _ => (*element, true),
            },
            element => (*element, false),
        };
        let length = self.at.text.len();
        self.at.text.push_str(&format!("[{index}]"));
        let depth = self.at.places.len();
        let mark = self.afterwards.len();
        // The identity of the item is known once its fields are.
        let unknown = Element::Index(i64::try_from(index).unwrap_or(i64::MAX));
        self.at.places.push(Place::Item(unknown));
        self.at.segments.push(Segment::Any);
        let item_type = ty.and_then(Type::item_type);
        let made = self.value(&value, item_type, None, reach);
        self.at.segments.pop();
        self.at.places.pop();
        let identity = match (&made, ty) {
            (Some(made), Some(ty)) if is_merged => ty.item_identity(made),
            _ => None,
        };
        match identity {
            Some(identity) if is_removal => {
                self.afterwards.truncate(mark);
                let mut path = self.at.places.clone();
                path.push(Place::Item(identity));
                let change = Change::Remove;
                self.afterwards.push(Afterwards { path, change });
            }
            Some(identity) => {
                for change in &mut self.afterwards[mark..] {
                    change.path[depth] = Place::Item(identity.clone());
                }
            }
            None if is_removal && is_merged => {
                self.error("objects.remove needs the fields that identify the item");
            }
            None => self.afterwards.truncate(mark),
        }
        self.at.text.truncate(length);
        made.filter(|_| !is_removal)
    }

    /// A list that is assigned to a map: the keys that stay.
    fn kept_keys(
        &mut self,
        list: List<'_>,
        ty: Option<Type<'_>>,
        live: Option<&Value>,
    ) -> Option<Value> {
        let empty = Map::new();
        let live = live.and_then(Value::as_object).unwrap_or(&empty);
        let mut kept = Map::new();
        for element in list.elements() {
            match element {
                Ok(CelValue::String(key)) => match live.get(key) {
                    Some(value) => drop(kept.insert(key.to_owned(), value.clone())),
                    None => self.error(&format!("key {key:?} is to be kept, but does not exist")),
                },
                Ok(other) => {
                    let name = other.type_name();
                    self.error(&format!(
                        "expected map or a list of keys, got a list of {name}"
                    ));
                }
                Err(error) => self.error(&error.to_string()),
            }
        }
        if ty.and_then(Type::map_relation) == Some(MapRelation::Granular) {
            for name in live.keys().filter(|name| !kept.contains_key(*name)) {
                let mut path = self.at.places.clone();
                path.push(Place::Field(name.clone()));
                let change = Change::Remove;
                self.afterwards.push(Afterwards { path, change });
            }
            return None;
        }
        Some(kept.into())
    }
}

/// A number without fraction as an integer: `5.0` fits where integers are expected.
fn whole(number: f64) -> Option<Value> {
    /// Larger numbers have gaps between integers.
    const EXACT_MAX: f64 = 9_007_199_254_740_992.0;
    #[expect(clippy::cast_possible_truncation, reason = "it is whole and exact")]
    let integer = (number.fract() == 0.0 && number.abs() <= EXACT_MAX).then_some(number as i64);
    integer.map(Value::from)
}

impl Afterwards {
    /// Changes the merged value; a path that does not exist is left alone.
    fn apply(self, merged: &mut Value, ty: Type<'_>) {
        let Some((last, before)) = self.path.split_last() else {
            return;
        };
        let (mut value, mut ty) = (merged, Some(ty));
        for place in before {
            let found = match place {
                Place::Field(name) => {
                    ty = ty.and_then(|ty| ty.field_type(name)).map(|field| field.of);
                    value.get_mut(name)
                }
                Place::Item(element) => {
                    let position = position(value, ty, element);
                    ty = ty.and_then(Type::item_type);
                    position.and_then(|at| value.get_mut(at))
                }
            };
            match found {
                Some(found) => value = found,
                None => return,
            }
        }
        match (last, self.change) {
            (Place::Field(name), Change::Remove) => {
                if let Some(fields) = value.as_object_mut() {
                    fields.remove(name);
                }
            }
            (Place::Field(name), Change::SetTo(items)) => {
                if let Some(fields) = value.as_object_mut() {
                    fields.insert(name.clone(), items.into());
                }
            }
            (Place::Item(element), _) => {
                while let Some(at) = position(value, ty, element) {
                    value.as_array_mut().map(|items| items.remove(at));
                }
            }
        }
    }
}

fn position(list: &Value, ty: Option<Type<'_>>, element: &Element) -> Option<usize> {
    let ty = ty?;
    let mut items = list.as_array()?.iter();
    items.position(|item| ty.item_identity(item).as_ref() == Some(element))
}
