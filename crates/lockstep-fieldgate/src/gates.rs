//! Gates compiled for evaluation: a trie over the paths of gated fields, built once per definition.

use lockstep_object::{Object, Value};

use crate::gate::{Gate, GateList, Stage};
use crate::named::Named;
use crate::path::Segment;
use crate::place::{self, Step};

/// Description of a gate in warnings and errors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GateInfo {
    /// The gate name, as used in metrics.
    pub(crate) name: Box<str>,
    /// `component/name`
    pub(crate) reference: Box<str>,
    pub(crate) stage: Stage,
    pub(crate) warning: Option<Box<str>>,
}

/// Compiled gates of one definition: the closed gates and the open ones of deprecated fields.
///
/// Immutable; a changed definition is compiled again.
#[derive(Debug)]
pub struct Gates {
    pub(crate) nodes: Vec<Node>,
    pub(crate) info: Vec<GateInfo>,
    pub(crate) policy: crate::Policy,
}

/// Index of a node. Node 0 is the object itself.
pub(crate) type NodeId = u32;

/// A trie node: a path prefix of a gated field.
#[derive(Debug, Default)]
pub(crate) struct Node {
    /// Children by field name or map key.
    pub(crate) named: Named,
    /// Child for `[*]`: every list element or map value.
    pub(crate) each: Option<NodeId>,
    /// Key fields of an associative list.
    pub(crate) keys: Vec<Box<str>>,
    /// True if the node is a map key rather than a declared field.
    pub(crate) is_key: bool,
    /// The gate of this field.
    pub(crate) gated: Option<Gated>,
}

/// The gate of a field.
#[derive(Debug)]
pub(crate) struct Gated {
    /// Index of the gate in the definition.
    pub(crate) gate: u32,
    /// Index of the path in the gate.
    pub(crate) path: u32,
    pub(crate) effect: Effect,
}

/// Effect of a gate on its field.
#[derive(Debug)]
pub(crate) enum Effect {
    /// The field is frozen at its stored value.
    Closed,
    /// Uses are warned of, unless the value is the schema default, which the client need not have set.
    Deprecated { default: Option<Value> },
}

impl Gates {
    /// Compiles the gates of a definition; none if no gate has an effect. Invalid paths are skipped.
    pub fn compile(definition: &Object) -> Option<Self> {
        let list = GateList::of(definition);
        let (version, schema) = place::storage(definition)?;
        let mut gates = Self {
            nodes: vec![Node::default()],
            info: Vec::new(),
            policy: list.policy,
        };
        for (index, gate) in list.gates.iter().enumerate() {
            gates.info.push(GateInfo {
                name: gate.name.as_str().into(),
                reference: list.reference(gate).into(),
                stage: gate.stage,
                warning: gate.warning.as_deref().map(Into::into),
            });
            let effect = effect_of(gate);
            if effect != Doing::Nothing {
                gates.add(gate, index, effect, (version, schema));
            }
        }
        (gates.nodes.len() > 1).then_some(gates)
    }

    fn add(&mut self, gate: &Gate, index: usize, doing: Doing, (version, schema): (&str, &Value)) {
        for (nth, path) in gate.paths.iter().enumerate() {
            let Some(path) = path else { continue };
            let Ok(steps) = place::steps(schema, path, version) else {
                continue;
            };
            let (mut node, mut below) = (0, schema);
            for (segment, step) in path.segments().iter().zip(steps) {
                below = step_down(below, segment);
                node = self.step(node, segment, step);
            }
            let effect = match doing {
                Doing::Close => Effect::Closed,
                Doing::Nothing | Doing::Warn => Effect::Deprecated {
                    default: below.get("default").cloned(),
                },
            };
            let gated = Gated {
                gate: u32::try_from(index).unwrap_or(u32::MAX),
                path: u32::try_from(nth).unwrap_or(u32::MAX),
                effect,
            };
            // Validation rejects two gates for one field; if one was stored earlier, the first gate wins.
            self.nodes[node as usize].gated.get_or_insert(gated);
        }
    }

    /// The child for a segment, created if absent.
    fn step(&mut self, from: NodeId, segment: &Segment, step: Step) -> NodeId {
        let next = NodeId::try_from(self.nodes.len()).expect("paths of a definition are few");
        let node = &mut self.nodes[from as usize];
        let id = match segment {
            Segment::Each => *node.each.get_or_insert(next),
            Segment::Name(name) => node.named.get_or_insert(name, next),
        };
        let is_key = matches!(step, Step::Key | Step::EachKey);
        if let Step::EachElement(keys) = step {
            node.keys = keys;
        }
        if id == next {
            self.nodes.push(Node {
                is_key,
                ..Node::default()
            });
        }
        id
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Doing {
    Nothing,
    Close,
    Warn,
}

fn effect_of(gate: &Gate) -> Doing {
    match (gate.state().enabled, gate.stage) {
        (false, _) => Doing::Close,
        (true, Stage::Deprecated) => Doing::Warn,
        (true, _) => Doing::Nothing,
    }
}

/// The schema of a child. INVARIANT: the path was resolved in the schema before.
fn step_down<'s>(schema: &'s Value, segment: &Segment) -> &'s Value {
    match segment {
        Segment::Name(name) => place::named(schema, name).map_or(&Value::Null, |(_, below)| below),
        Segment::Each => schema
            .get("items")
            .or_else(|| schema.get("additionalProperties"))
            .unwrap_or(&Value::Null),
    }
}
