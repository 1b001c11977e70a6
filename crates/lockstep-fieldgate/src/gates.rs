//! Gates in the form that requests are judged by: a tree of the steps to gated fields, made once for each definition.

use lockstep_object::{Object, Value};

use crate::gate::{Gate, GateList, Stage};
use crate::named::Named;
use crate::path::Segment;
use crate::place::{self, Step};

/// How a gate is told about in warnings and errors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Told {
    /// The name alone, for metrics.
    pub(crate) name: Box<str>,
    /// `component/name`
    pub(crate) reference: Box<str>,
    pub(crate) stage: Stage,
    pub(crate) warning: Option<Box<str>>,
}

/// The gates of one definition that do something: those that are closed, and open ones of deprecated fields.
///
/// Never changes; a definition that changes gets another one.
#[derive(Debug)]
pub struct Gates {
    pub(crate) nodes: Vec<Node>,
    pub(crate) told: Vec<Told>,
    pub(crate) policy: crate::Policy,
}

/// Which node. The first is the object.
pub(crate) type NodeId = u32;

/// A place on the way to gated fields.
#[derive(Debug, Default)]
pub(crate) struct Node {
    /// Steps down by name.
    pub(crate) named: Named,
    /// The step to every element of a list or value of a map.
    pub(crate) each: Option<NodeId>,
    /// The fields that tell elements apart, if it is a list.
    pub(crate) keys: Vec<Box<str>>,
    /// Whether it is reached by a key of a map.
    pub(crate) is_key: bool,
    /// The gate of the field.
    pub(crate) gated: Option<Gated>,
}

/// A gated field.
#[derive(Debug)]
pub(crate) struct Gated {
    /// Which gate, in the order of the definition.
    pub(crate) gate: u32,
    /// Which of its paths.
    pub(crate) path: u32,
    pub(crate) effect: Effect,
}

/// What a gate does.
#[derive(Debug)]
pub(crate) enum Effect {
    /// Nobody can change the field.
    Closed,
    /// Users are warned, unless the field is what nobody asked for.
    Deprecated { default: Option<Value> },
}

impl Gates {
    /// The gates of a definition; none if they do nothing. Paths that are wrong gate nothing.
    pub fn compile(definition: &Object) -> Option<Self> {
        let list = GateList::of(definition);
        let (version, schema) = place::storage(definition)?;
        let mut gates = Self {
            nodes: vec![Node::default()],
            told: Vec::new(),
            policy: list.policy,
        };
        for (index, gate) in list.gates.iter().enumerate() {
            gates.told.push(Told {
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
            // Of two gates for one field, which no definition has that was checked, the first counts.
            self.nodes[node as usize].gated.get_or_insert(gated);
        }
    }

    /// The node below another, made if it is not there.
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

/// The schema one step below another. INVARIANT: the path was found in the schema.
fn step_down<'s>(schema: &'s Value, segment: &Segment) -> &'s Value {
    match segment {
        Segment::Name(name) => place::named(schema, name).map_or(&Value::Null, |(_, below)| below),
        Segment::Each => schema
            .get("items")
            .or_else(|| schema.get("additionalProperties"))
            .unwrap_or(&Value::Null),
    }
}
