//! Properties of field sets and of server-side apply.

#![expect(
    clippy::unwrap_used,
    reason = "a property that does not hold is a failure"
)]

use lockstep_merge::fields::{Datum, Element, FIELDS_DEPTH_MAX, FieldsError, Set};
use lockstep_merge::managers::{
    Applied, ApplyError, Endpoint, Force, ManagedFields, Writer, apply, update,
};
use lockstep_merge::types::{Type, Types};
use lockstep_object::metadata::Seconds;
use lockstep_schema::Schema;
use proptest::prelude::*;
use serde_json::{Value, json};

fn element() -> impl Strategy<Value = Element> {
    let datum = prop_oneof![
        (0_i64..3).prop_map(Value::from),
        "[ab]".prop_map(Value::from),
        any::<bool>().prop_map(Value::from)
    ]
    .prop_map(Datum);
    prop_oneof![
        "[abc.]".prop_map(|name| Element::field(&name)),
        ("[ab]", datum.clone()).prop_map(|(key, value)| Element::keys(vec![(key.into(), value)])),
        datum.prop_map(Element::Value),
        (0_i64..2).prop_map(Element::Index),
    ]
}

fn set() -> impl Strategy<Value = Set> {
    let path = prop::collection::vec(element(), 1..4);
    prop::collection::vec(path, 0..8).prop_map(|paths| {
        let mut set = Set::default();
        for path in &paths {
            set.insert(path);
        }
        set
    })
}

proptest! {
    #[test]
    fn sets_are_sets(a in set(), b in set(), c in set()) {
        prop_assert_eq!(a.union(&b), b.union(&a));
        prop_assert_eq!(a.intersection(&b), b.intersection(&a));
        prop_assert_eq!(a.union(&b).union(&c), a.union(&b.union(&c)));
        prop_assert_eq!(a.difference(&b).union(&a.intersection(&b)), a.clone());
        prop_assert_eq!(a.difference(&b).intersection(&b), Set::default());
        prop_assert_eq!(a.difference(&a), Set::default());
        prop_assert!(a.without(&b).difference(&a).is_empty());
        prop_assert_eq!(a.count(), a.difference(&b).count() + a.intersection(&b).count());
        prop_assert!(a.difference(&a.union(&b)).is_empty());
    }

    #[test]
    fn what_is_written_is_read(a in set()) {
        prop_assert_eq!(Set::from_fields(&a.to_fields()), Ok(a));
    }

    #[test]
    fn nothing_that_is_read_panics(text in "([fkvi.]:?[a{}\":0-9]{0,5}){1,3}") {
        let _: Result<Set, FieldsError> = Set::from_fields(&json!({ text: {} }));
    }
}

#[test]
fn deep_sets_are_refused() {
    let mut fields = json!({});
    for _ in 0..FIELDS_DEPTH_MAX {
        fields = json!({"f:a": fields});
    }
    assert_eq!(Set::from_fields(&fields), Err(FieldsError::Depth));
    assert_eq!(
        Set::from_fields(&json!({"f:a": 1})),
        Err(FieldsError::NotAMap)
    );
    let wrong = Set::from_fields(&json!({"k:1": {}})).unwrap_err();
    assert_eq!(
        wrong.to_string(),
        "parsing key as path element: k:1 is not a path element"
    );
    let unknown = Set::from_fields(&json!({"z:1": {}, "f:a": {}})).unwrap();
    assert_eq!(unknown, Set::of_fields(&[&["a"]]));
}

/// A kind with maps, lists by keys, sets and what is one value.
struct Things(Types);

impl Things {
    fn new() -> Self {
        let text = json!({"type": "string"});
        let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
            "a": text, "b": text,
            "map": {"type": "object", "additionalProperties": text},
            "set": {"type": "array", "items": text, "x-kubernetes-list-type": "set"},
            "whole": {"type": "array", "items": text},
            "list": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                "items": {"type": "object", "properties": {"name": text, "value": text, "other": text}}},
        }}}});
        Self(Types::custom(&Schema::compile(&schema).unwrap()))
    }
}

impl Endpoint for Things {
    type Error = String;

    fn type_of(&self, api_version: &str) -> Option<Type<'_>> {
        (api_version == "v1").then(|| self.0.object())
    }

    fn convert(&self, _: &Value, api_version: &str) -> Result<Value, String> {
        Err(api_version.to_owned())
    }

    fn owned(&self, _: &str, fields: Set) -> Set {
        fields
    }
}

fn writer(manager: &str) -> Writer<'_> {
    Writer {
        manager,
        api_version: "v1",
        subresource: "",
        now: Seconds::from_unix(1).unwrap(),
    }
}

/// An apply configuration; `names` are the elements and keys that it may contain.
fn wish(
    names: &'static [&'static str],
    fields: &'static [&'static str],
) -> impl Strategy<Value = Value> {
    let value = prop::sample::select(vec!["1", "2"]);
    let some = prop::collection::btree_map(prop::sample::select(names), value.clone(), 0..3);
    let list = prop::collection::btree_map(prop::sample::select(names), value.clone(), 0..3);
    let set = prop::collection::btree_set(prop::sample::select(names), 0..3);
    let scalars = prop::collection::btree_map(prop::sample::select(fields), value, 0..2);
    (some, list, set, scalars).prop_map(|(map, list, set, scalars)| {
        let mut spec = json!({});
        for (name, value) in scalars {
            spec[name] = if name == "whole" {
                json!([value])
            } else {
                value.into()
            };
        }
        if !map.is_empty() {
            spec["map"] = json!(map);
        }
        if !set.is_empty() {
            spec["set"] = json!(set);
        }
        if !list.is_empty() {
            let items = list
                .iter()
                .map(|(name, value)| json!({"name": name, "value": value}));
            spec["list"] = items.collect();
        }
        json!({"apiVersion": "v1", "kind": "Thing", "spec": spec})
    })
}

#[derive(Clone, Default, Debug, PartialEq)]
struct State {
    live: Option<Value>,
    managed: ManagedFields,
}

impl State {
    fn apply(&self, manager: &str, wish: &Value, force: Force) -> Result<Self, ApplyError<String>> {
        let live = self.live.as_ref();
        let applied = apply(
            &Things::new(),
            live,
            wish,
            self.managed.clone(),
            &writer(manager),
            force,
        )?;
        let Applied { object, managed } = applied;
        let live = object.or(self.live.clone());
        Ok(Self { live, managed })
    }

    fn fields(&self, manager: &str) -> Set {
        let entry = self
            .managed
            .entries()
            .find(|(owner, _)| owner.manager == manager);
        entry.map_or_else(Set::default, |(_, entry)| entry.fields.clone())
    }

    /// The object with the order of its lists forgotten.
    fn unordered(&self) -> Value {
        let mut live = self.live.clone().unwrap_or_default();
        for list in ["set", "list"] {
            if let Some(items) = live["spec"].get_mut(list).and_then(Value::as_array_mut) {
                items.sort_by_key(ToString::to_string);
            }
        }
        live
    }
}

const ALL: &[&str] = &["x", "y", "z"];
const FIELDS: &[&str] = &["a", "b", "whole"];

proptest! {
    #[test]
    fn to_apply_twice_is_to_apply_once(first in wish(ALL, FIELDS), other in wish(ALL, FIELDS), again in wish(ALL, FIELDS)) {
        let state = State::default().apply("one", &first, Force::Yes).unwrap();
        let state = state.apply("two", &other, Force::Yes).unwrap();
        let once = state.apply("one", &again, Force::Yes).unwrap();
        let twice = once.apply("one", &again, Force::No).unwrap();
        prop_assert_eq!(twice, once);
    }

    #[test]
    fn managers_with_nothing_in_common_commute(one in wish(&["x"], &["a"]), two in wish(&["y", "z"], &["b", "whole"])) {
        let both = |first: (&str, &Value), second: (&str, &Value)| {
            let state = State::default().apply(first.0, first.1, Force::No).unwrap();
            state.apply(second.0, second.1, Force::No).unwrap()
        };
        let (ahead, behind) = (both(("one", &one), ("two", &two)), both(("two", &two), ("one", &one)));
        prop_assert_eq!(ahead.unordered(), behind.unordered());
        prop_assert_eq!(ahead.fields("one"), behind.fields("one"));
        prop_assert_eq!(ahead.fields("two"), behind.fields("two"));
    }

    #[test]
    fn force_takes_exactly_what_conflicts(one in wish(ALL, FIELDS), two in wish(ALL, FIELDS)) {
        let state = State::default().apply("one", &one, Force::No).unwrap();
        let mut conflicting = Set::default();
        match state.apply("two", &two, Force::No) {
            Ok(_) => {}
            Err(ApplyError::Conflicts(conflicts)) => {
 for fields in conflicts.fields() {
 conflicting = conflicting.union(fields);
 }
 },
            Err(other) => prop_assert!(false, "{other}"),
        }
        let forced = state.apply("two", &two, Force::Yes).unwrap();
        prop_assert_eq!(forced.fields("one"), state.fields("one").difference(&conflicting));
        prop_assert!(conflicting.difference(&forced.fields("two")).is_empty());
    }

    #[test]
    fn nobody_owns_what_is_not_there(one in wish(ALL, FIELDS), two in wish(ALL, FIELDS), three in wish(ALL, FIELDS)) {
        let state = State::default().apply("one", &one, Force::Yes).unwrap();
        let state = state.apply("two", &two, Force::Yes).unwrap();
        let things = Things::new();
        let managed = update(&things, state.live.as_ref(), &three, state.managed.clone(), &writer("three")).unwrap();
        let there = things.0.object().compare(&json!({}), &three).unwrap().added;
        for (owner, entry) in managed.entries() {
            let lost = entry.fields.difference(&there);
            prop_assert!(lost.is_empty(), "{owner:?} {lost:?}");
        }
    }
}

/// As deep as documents may be, on the stack that a test has.
#[test]
fn deep_objects_are_applied_changed_and_compared() {
    let anything = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let schema = json!({"type": "object", "properties": {"spec": anything}});
    let things = Things(Types::custom(&Schema::compile(&schema).unwrap()));
    let deep = |leaf: &str| {
        let mut value = json!(leaf);
        for _ in 0..lockstep_object::json::DEPTH_MAX - 1 {
            value = json!({ "a": value });
        }
        json!({"apiVersion": "v1", "kind": "Thing", "spec": value})
    };
    let (one, two) = (deep("1"), deep("2"));
    let first = apply(
        &things,
        None,
        &one,
        ManagedFields::default(),
        &writer("one"),
        Force::No,
    )
    .unwrap();
    let live = first.object.unwrap();
    let changed = update(&things, Some(&live), &two, first.managed, &writer("two")).unwrap();
    let entries = changed.write();
    assert_eq!(entries.len(), 2);
    let refused = ManagedFields::read(&entries).map(|_| ());
    assert!(refused.is_err(), "deeper than what is read: {refused:?}");
    let again = apply(
        &things,
        Some(&two),
        &one,
        changed,
        &writer("one"),
        Force::Yes,
    )
    .unwrap();
    assert_eq!(again.object, Some(one));
}
