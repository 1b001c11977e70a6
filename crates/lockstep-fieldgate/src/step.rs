//! The gate step of a write: restores fields of closed gates and reports the actions.

use std::collections::{BTreeMap, BTreeSet};

use lockstep_object::Value;

use crate::action::{Action, Kind, Part};
use crate::gates::{Effect, Gated, Gates, NodeId};
use crate::named::Named;
use crate::same::same;

impl Gates {
    /// Applies the gates to an object in the storage version. `stored` is the object that it replaces, if any.
    ///
    /// Afterwards each field of a closed gate has its stored value, or is absent if it is not stored; all other fields
    /// are unchanged. The step is idempotent.
    pub fn apply(&self, object: &mut Value, stored: Option<&Value>) -> Vec<Action> {
        let mut walk = Walk {
            gates: self,
            actions: Vec::new(),
        };
        walk.value(&[0], object, stored);
        let mut actions = walk.actions;
        for action in &mut actions {
            action.parts.reverse();
        }
        actions.sort_by_cached_key(|action| (action.gate, action.path, action.place()));
        actions
    }
}

struct Walk<'g> {
    gates: &'g Gates,
    /// Actions so far; their path elements are in reverse order until the walk ends.
    actions: Vec<Action>,
}

impl<'g> Walk<'g> {
    fn value(&mut self, nodes: &[NodeId], new: &mut Value, old: Option<&Value>) {
        match new {
            Value::Object(_) => self.map(nodes, new, old),
            Value::Array(elements) => {
                for node in nodes {
                    let node = &self.gates.nodes[*node as usize];
                    if let (Some(each), false) = (node.each, node.keys.is_empty()) {
                        self.list(each, &node.keys, elements, old);
                    }
                }
            }
            _ => {}
        }
    }

    fn map(&mut self, nodes: &[NodeId], new: &mut Value, old: Option<&Value>) {
        let gates = self.gates;
        let each: Vec<NodeId> = nodes
            .iter()
            .map(|node| &gates.nodes[*node as usize])
            .filter(|node| node.keys.is_empty())
            .filter_map(|node| node.each)
            .collect();
        if let ([node], []) = (nodes, &*each) {
            return self.fields(&gates.nodes[*node as usize].named, new, old);
        }
        for (at, node) in nodes.iter().enumerate() {
            for (name, _) in gates.nodes[*node as usize].named.iter() {
                if let [first, _, ..] = nodes
                    && first != node
                    && nodes[..at]
                        .iter()
                        .any(|other| self.child(*other, name).is_some())
                {
                    continue;
                }
                let mut children = each.clone();
                children.extend(nodes.iter().filter_map(|node| self.child(*node, name)));
                self.field(&children, name, new, old);
            }
        }
        let Value::Object(entries) = new else { return };
        if each.is_empty() {
            return;
        }
        for (key, value) in entries {
            let is_named = nodes.iter().any(|node| self.child(*node, key).is_some());
            if !is_named {
                let from = self.actions.len();
                self.value(&each, value, old.and_then(|old| old.get(key)));
                self.prepend_element(from, || Part::Key(key.as_str().into()));
            }
        }
    }

    /// Visits the named children that have a single trie node, iterating over the smaller of the gated names and the
    /// present keys.
    fn fields(&mut self, named: &Named, new: &mut Value, old: Option<&Value>) {
        let keys = |value: &Value| value.as_object().map_or(0, lockstep_object::Map::len);
        if named.len() <= keys(new) + old.map_or(0, keys) {
            for (name, child) in named.iter() {
                self.field(&[*child], name, new, old);
            }
            return;
        }
        let maps = [Some(&*new), old].into_iter().flatten();
        let present = maps.filter_map(Value::as_object).flat_map(|map| map.keys());
        let mut found: Vec<usize> = present.filter_map(|key| named.place(key).ok()).collect();
        found.sort_unstable();
        found.dedup();
        for place in found {
            let (name, child) = named.at(place);
            self.field(&[*child], name, new, old);
        }
    }

    fn child(&self, node: NodeId, name: &str) -> Option<NodeId> {
        self.gates.nodes[node as usize].named.get(name)
    }

    /// Visits one named child. INVARIANT: `new` is a map.
    fn field(&mut self, nodes: &[NodeId], name: &str, new: &mut Value, old: Option<&Value>) {
        let Value::Object(entries) = new else { return };
        let gates = self.gates;
        let old = old.and_then(|old| old.get(name));
        let gate_of = |node: &NodeId| gates.nodes[*node as usize].gated.as_ref();
        let part = || {
            let is_key = nodes.iter().all(|node| gates.nodes[*node as usize].is_key);
            if is_key {
                Part::Key(name.into())
            } else {
                Part::Field(name.into())
            }
        };
        let closed = nodes.iter().filter_map(gate_of);
        let mut closed = closed.filter(|gated| matches!(gated.effect, Effect::Closed));
        if let Some(closed) = closed.next() {
            let kind = match (entries.get(name), old) {
                (None, None) => return,
                (None, Some(_)) => Some(Kind::RemovalRefused),
                (Some(_), None) => Some(Kind::Dropped),
                (Some(new), Some(old)) if new == old => return,
                // A different spelling of an equal value needs no warning, but the stored spelling is restored.
                (Some(new), Some(old)) => (!same(new, old)).then_some(Kind::Kept),
            };
            match old {
                None => drop(entries.remove(name)),
                Some(old) => drop(entries.insert(name.to_owned(), old.clone())),
            }
            self.record(kind, closed, part());
            return;
        }
        let Some(value) = entries.get_mut(name) else {
            return;
        };
        let from = self.actions.len();
        self.value(nodes, value, old);
        self.prepend_element(from, part);
        for gated in nodes.iter().filter_map(gate_of) {
            if let Effect::Deprecated { default } = &gated.effect {
                let is_used = match old {
                    Some(old) => !same(value, old),
                    None => default.as_ref().is_none_or(|default| !same(value, default)),
                };
                self.record(is_used.then_some(Kind::DeprecatedUsed), gated, part());
            }
        }
    }

    fn list(&mut self, each: NodeId, keys: &[Box<str>], new: &mut [Value], old: Option<&Value>) {
        let old = old.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let is_touched =
            |elements: &[Value]| elements.iter().any(|element| self.touches(each, element));
        if !is_touched(new) && !is_touched(old) {
            return;
        }
        let mut index = None;
        let mut found = 0;
        for (at, element) in new.iter_mut().enumerate() {
            // Fast path: most writes leave most elements unchanged and in place.
            if old.get(at) == Some(element) {
                found += 1;
                continue;
            }
            let beside = old.get(at).filter(|old| has_same_keys(keys, element, old));
            let before = beside.or_else(|| {
                let index = index.get_or_insert_with(|| by_keys(keys, old));
                index.get(&identity(keys, element)).copied()
            });
            found += usize::from(before.is_some());
            let from = self.actions.len();
            self.value(&[each], element, before);
            self.prepend_element(from, || Part::Element(present_keys(keys, element)));
        }
        if found < old.len() {
            self.removed_elements(each, keys, new, old);
        }
    }

    /// Records the fields of closed gates that went away with list elements.
    fn removed_elements(&mut self, each: NodeId, keys: &[Box<str>], new: &[Value], old: &[Value]) {
        let left: BTreeSet<Vec<String>> =
            new.iter().map(|element| identity(keys, element)).collect();
        for element in old {
            if !left.contains(&identity(keys, element)) {
                let from = self.actions.len();
                self.removed(each, element);
                self.prepend_element(from, || Part::Element(present_keys(keys, element)));
            }
        }
    }

    /// Records the fields of closed gates below a removed value.
    fn removed(&mut self, node: NodeId, value: &Value) {
        let gates = self.gates;
        let node = &gates.nodes[node as usize];
        match value {
            Value::Object(entries) => {
                for (name, value) in entries {
                    let child = node.named.get(name);
                    let is_each = node.keys.is_empty() && child.is_none();
                    let Some(child) = child.or_else(|| node.each.filter(|_| is_each)) else {
                        continue;
                    };
                    let target = &gates.nodes[child as usize];
                    let part = if target.is_key || is_each {
                        Part::Key(name.as_str().into())
                    } else {
                        Part::Field(name.as_str().into())
                    };
                    let closed = target.gated.as_ref();
                    let closed = closed.filter(|gated| matches!(gated.effect, Effect::Closed));
                    if let Some(closed) = closed {
                        self.record(Some(Kind::ElementRemoved), closed, part);
                        continue;
                    }
                    let from = self.actions.len();
                    self.removed(child, value);
                    self.prepend_element(from, || part.clone());
                }
            }
            Value::Array(elements) => {
                if let (Some(each), false) = (node.each, node.keys.is_empty()) {
                    for element in elements {
                        let from = self.actions.len();
                        self.removed(each, element);
                        let keys = &node.keys;
                        self.prepend_element(from, || Part::Element(present_keys(keys, element)));
                    }
                }
            }
            _ => {}
        }
    }

    /// True if a value contains a prefix of a gated path.
    fn touches(&self, node: NodeId, value: &Value) -> bool {
        let node = &self.gates.nodes[node as usize];
        let mut names = node.named.iter();
        node.each.is_some() || names.any(|(name, _)| value.get(&**name).is_some())
    }

    /// Adds a path element to the actions recorded below it.
    fn prepend_element(&mut self, from: usize, part: impl Fn() -> Part) {
        if let Some(done) = self.actions.get_mut(from..)
            && !done.is_empty()
        {
            let part = part();
            for action in done {
                action.parts.push(part.clone());
            }
        }
    }

    fn record(&mut self, kind: Option<Kind>, gated: &'g Gated, part: Part) {
        if let Some(kind) = kind {
            self.actions.push(Action {
                gate: gated.gate,
                path: gated.path,
                kind,
                parts: vec![part],
            });
        }
    }
}

fn has_same_keys(keys: &[Box<str>], one: &Value, other: &Value) -> bool {
    keys.iter()
        .all(|key| match (one.get(&**key), other.get(&**key)) {
            (Some(one), Some(other)) => same(one, other),
            (None, None) => true,
            _ => false,
        })
}

/// Indexes list elements by key; of duplicates the first wins.
fn by_keys<'o>(keys: &[Box<str>], elements: &'o [Value]) -> BTreeMap<Vec<String>, &'o Value> {
    let mut index = BTreeMap::new();
    for element in elements {
        index.entry(identity(keys, element)).or_insert(element);
    }
    index
}

/// The key fields of an element as text: keys are scalars, and numeric keys are integers.
fn identity(keys: &[Box<str>], element: &Value) -> Vec<String> {
    let keys = keys.iter().map(|key| element.get(&**key));
    keys.map(|value| value.map(Value::to_string).unwrap_or_default())
        .collect()
}

fn present_keys(keys: &[Box<str>], element: &Value) -> Vec<(Box<str>, Value)> {
    let keys = keys.iter();
    let keys = keys.filter_map(|key| Some((key.clone(), element.get(&**key)?.clone())));
    keys.collect()
}
