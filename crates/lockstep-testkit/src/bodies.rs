//! The bodies that cost a server most: every list and map of the built-in kinds, also the nested ones, filled up to a
//! size with empty, equal, distinct or wrong elements.
//!
//! The table of kinds is the source, so a new kind or field has its bodies at once.

use std::collections::{BTreeSet, VecDeque};
use std::fmt::Write as _;

use lockstep_kinds::{Field, Leaf, Shape, Special, Table, Type, TypeId};

/// A list or map of a kind.
pub struct Place {
    steps: Vec<Step>,
    /// The struct that has it.
    pub owner: TypeId,
    /// The list or map.
    pub field: &'static Field,
}

/// One step from an object to a struct inside.
#[derive(Clone, Copy)]
enum Step {
    Field(&'static str),
    Item(&'static str),
    Value(&'static str),
}

/// Contents of a list or map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fill {
    /// `{}`, `""`, `0`
    Empty,
    /// Elements that are valid on their own, all the same.
    Equal,
    /// Elements that differ in each text and number.
    Distinct,
    /// Elements that break rules, each in its own words.
    Wrong,
    /// Distinct elements in this and in all other lists of the struct: what is compared across lists.
    Siblings,
    /// Fields that the struct does not have, in place of the list.
    Unknown,
    /// The list again and again: duplicate fields.
    Repeated,
    /// Wrong elements below a long key, where there is a map above; otherwise one long text.
    Long,
}

impl Fill {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Empty,
        Self::Equal,
        Self::Distinct,
        Self::Wrong,
        Self::Siblings,
        Self::Unknown,
        Self::Repeated,
        Self::Long,
    ];
}

impl Place {
    /// All lists and maps of a type, each struct inside by the shortest path.
    pub fn all(id: TypeId) -> Vec<Self> {
        let table = Table::builtin();
        let mut places = Vec::new();
        let mut seen = BTreeSet::from([id]);
        let mut open = VecDeque::from([(id, Vec::new())]);
        while let Some((owner, steps)) = open.pop_front() {
            for field in &table.get(owner).json {
                let (leaf, step) = match field.shape {
                    Shape::One(leaf) => (leaf, Step::Field(field.name)),
                    Shape::List(leaf) => (leaf, Step::Item(field.name)),
                    Shape::Map(leaf) => (leaf, Step::Value(field.name)),
                };
                if is_many(field) {
                    let steps = steps.clone();
                    places.push(Self {
                        steps,
                        owner,
                        field,
                    });
                }
                if let Leaf::Struct(inside) = leaf
                    && seen.insert(inside)
                {
                    open.push_back((inside, [&*steps, &[step]].concat()));
                }
            }
        }
        places
    }

    /// The path for people: `spec.containers[].ports`.
    pub fn path(&self) -> String {
        let mut path = String::new();
        for step in &self.steps {
            match step {
                Step::Field(name) => path.push_str(name),
                Step::Item(name) => path.push_str(&format!("{name}[]")),
                Step::Value(name) => path.push_str(&format!("{name}{{}}")),
            }
            path.push('.');
        }
        path + self.field.name
    }

    /// A JSON pointer to the list.
    pub fn pointer(&self) -> String {
        let mut pointer = String::new();
        for step in &self.steps {
            match step {
                Step::Field(name) => pointer.push_str(&format!("/{name}")),
                Step::Item(name) => pointer.push_str(&format!("/{name}/0")),
                Step::Value(name) => pointer.push_str(&format!("/{name}/k")),
            }
        }
        format!("{pointer}/{}", self.field.name)
    }

    /// An object of a kind with this list of about so many bytes.
    pub fn body(&self, (api_version, kind): (&str, &str), fill: Fill, bytes: usize) -> String {
        let mut text = format!("{{\"apiVersion\":\"{api_version}\",\"kind\":\"{kind}\",");
        let is_in_metadata = matches!(self.steps.first(), Some(Step::Field("metadata")));
        if !is_in_metadata {
            text.push_str("\"metadata\":{\"name\":\"x\"},");
        }
        let has_map = self.steps.iter().any(|step| matches!(step, Step::Value(_)));
        let key = match fill {
            Fill::Long if has_map => "k".repeat(bytes / 2),
            _ => "k".to_owned(),
        };
        let mut close = String::new();
        for (at, step) in self.steps.iter().enumerate() {
            match step {
                Step::Field(name) => {
                    write!(text, "\"{name}\":{{").expect("memory");
                    close.insert(0, '}');
                }
                Step::Item(name) => {
                    write!(text, "\"{name}\":[{{").expect("memory");
                    close.insert_str(0, "}]");
                }
                Step::Value(name) => {
                    write!(text, "\"{name}\":{{\"{key}\":{{").expect("memory");
                    close.insert_str(0, "}}");
                }
            }
            if at == 0 && is_in_metadata {
                text.push_str("\"name\":\"x\",");
            }
        }
        let room = bytes.saturating_sub(text.len() + close.len());
        self.contents(fill, has_map, room, &mut text);
        text + &close + "}"
    }

    fn contents(&self, fill: Fill, has_map: bool, room: usize, text: &mut String) {
        let owner: &'static Type = Table::builtin().get(self.owner);
        match fill {
            Fill::Siblings => {
                let fields: Vec<&Field> =
                    owner.json.iter().filter(|field| is_many(field)).collect();
                for (at, field) in fields.iter().enumerate() {
                    let comma = if at == 0 { "" } else { "," };
                    text.push_str(comma);
                    filled(field, Fill::Distinct, room / fields.len(), text);
                }
            }
            Fill::Unknown => until(room, text, |index| format!("\"unknown{index}\":0")),
            Fill::Repeated => until(room, text, |_| {
                let (open, close) = brackets(self.field);
                format!("\"{}\":{open}{close}", self.field.name)
            }),
            Fill::Long if has_map => filled(self.field, Fill::Wrong, room, text),
            Fill::Long => {
                let (open, close) = brackets(self.field);
                let long = "!".repeat(room);
                let element = match self.field.shape {
                    Shape::List(Leaf::Text) => format!("\"{long}\""),
                    Shape::Map(_) => format!("\"{long}\":{}", element(self.field, Fill::Wrong, 0)),
                    _ => element(self.field, Fill::Wrong, 0),
                };
                write!(text, "\"{}\":{open}{element}{close}", self.field.name).expect("memory");
            }
            fill => filled(self.field, fill, room, text),
        }
    }
}

/// True for lists and maps.
fn is_many(field: &Field) -> bool {
    !field.name.is_empty() && matches!(field.shape, Shape::List(_) | Shape::Map(_))
}

fn brackets(field: &Field) -> (char, char) {
    match field.shape {
        Shape::Map(_) => ('{', '}'),
        _ => ('[', ']'),
    }
}

/// Elements with commas between them, until there are enough bytes.
fn until(room: usize, text: &mut String, element: impl Fn(usize) -> String) {
    let end = text.len() + room;
    let mut index = 0;
    while text.len() < end {
        if index > 0 {
            text.push(',');
        }
        text.push_str(&element(index));
        index += 1;
    }
}

fn filled(field: &Field, fill: Fill, room: usize, text: &mut String) {
    let (open, close) = brackets(field);
    write!(text, "\"{}\":{open}", field.name).expect("memory");
    until(room, text, |index| {
        let element = element(field, fill, index);
        match (field.shape, fill) {
            (Shape::Map(_), Fill::Wrong) => format!("\"!{index}\":{element}"),
            (Shape::Map(_), _) => format!("\"k{index}\":{element}"),
            _ => element,
        }
    });
    text.push(close);
}

/// An element of a list or map.
fn element(field: &Field, fill: Fill, index: usize) -> String {
    match field.shape {
        Shape::One(leaf) | Shape::List(leaf) | Shape::Map(leaf) => value(leaf, fill, index, 0),
    }
}

/// Structs inside of elements are filled so deep.
const DEPTH: usize = 2;

fn value(leaf: Leaf, fill: Fill, index: usize, depth: usize) -> String {
    let pick = |empty: &str, equal: &str, distinct: String, wrong: String| match fill {
        Fill::Empty => empty.to_owned(),
        Fill::Equal => equal.to_owned(),
        Fill::Wrong => wrong,
        _ => distinct,
    };
    match leaf {
        Leaf::Bool => "true".to_owned(),
        Leaf::Int32 | Leaf::Int64 | Leaf::Double => {
            pick("0", "1", index.to_string(), "-1".to_owned())
        }
        Leaf::Text => pick(
            "\"\"",
            "\"a\"",
            format!("\"a{index}\""),
            format!("\"!{index}\""),
        ),
        Leaf::Bytes => "\"YQ==\"".to_owned(),
        Leaf::Special(special) => match special {
            Special::Time => "\"2020-01-01T00:00:00Z\"".to_owned(),
            Special::MicroTime => "\"2020-01-01T00:00:00.000000Z\"".to_owned(),
            Special::Quantity => pick(
                "\"0\"",
                "\"1\"",
                format!("\"{index}\""),
                "\"-1\"".to_owned(),
            ),
            Special::IntOrString => pick("0", "1", index.to_string(), format!("\"!{index}\"")),
            Special::Json
            | Special::SchemaOrSchemas
            | Special::SchemaOrBool
            | Special::SchemaOrTexts => "{}".to_owned(),
            Special::Texts => pick(
                "[]",
                "[\"a\"]",
                format!("[\"a{index}\"]"),
                format!("[\"!{index}\"]"),
            ),
        },
        Leaf::Struct(_) if fill == Fill::Empty => "{}".to_owned(),
        Leaf::Struct(id) => structure(id, fill, index, depth),
    }
}

/// A struct with all of its scalars, with structs in it, and with one element in each list.
fn structure(id: TypeId, fill: Fill, index: usize, depth: usize) -> String {
    let mut text = "{".to_owned();
    for field in &Table::builtin().get(id).json {
        let value = match field.shape {
            Shape::One(Leaf::Struct(_)) if depth >= DEPTH => continue,
            Shape::One(leaf) => value(leaf, fill, index, depth + 1),
            Shape::List(Leaf::Struct(_)) | Shape::Map(Leaf::Struct(_)) => continue,
            Shape::List(leaf) => format!("[{}]", value(leaf, fill, index, depth + 1)),
            Shape::Map(leaf) => format!("{{\"k\":{}}}", value(leaf, fill, index, depth + 1)),
        };
        if text.len() > 1 {
            text.push(',');
        }
        write!(text, "\"{}\":{value}", field.name).expect("memory");
    }
    text + "}"
}

/// JSON patches of about so many bytes that change a list again and again, or let a document grow.
pub fn json_patches(pointer: &str, bytes: usize) -> Vec<(&'static str, String)> {
    let ops = |op: &dyn Fn(usize) -> String| {
        let mut text = "[".to_owned();
        until(bytes, &mut text, op);
        text + "]"
    };
    let add = |value: &str| {
        format!("{{\"op\":\"add\",\"path\":\"/metadata/annotations\",\"value\":{value}}}")
    };
    let doubling: Vec<String> = (0..40)
        .map(|at| format!("{{\"op\":\"copy\",\"from\":\"/spec\",\"path\":\"/spec/d{at}\"}}"))
        .collect();
    vec![
        (
            "json patch: add in front",
            format!(
                "[{{\"op\":\"add\",\"path\":\"{pointer}\",\"value\":[]}},{}",
                &ops(&|_| format!("{{\"op\":\"add\",\"path\":\"{pointer}/0\",\"value\":{{}}}}"))
                    [1..]
            ),
        ),
        (
            "json patch: test the whole",
            ops(&|_| "{\"op\":\"test\",\"path\":\"\",\"value\":{}}".to_owned()),
        ),
        (
            "json patch: copy the whole into itself",
            format!("[{},{}]", add("{}"), doubling.join(",")),
        ),
        (
            "json patch: unknown fields",
            ops(&|at| format!("{{\"op\":\"remove\",\"path\":\"/x{at}\",\"y{at}\":0}}")),
        ),
    ]
}

/// Custom resource definitions, and the spec of an object of each that costs much to validate, of about so many bytes.
pub fn customs(bytes: usize) -> Vec<(&'static str, serde_json::Value, String)> {
    use serde_json::json;
    let list = |items: serde_json::Value, more: serde_json::Value| {
        let mut list = json!({"type": "array", "items": items});
        if let (Some(list), Some(more)) = (list.as_object_mut(), more.as_object()) {
            list.extend(more.clone());
        }
        list
    };
    let texts = |element: &dyn Fn(usize) -> String| {
        let mut text = "{\"l\":[".to_owned();
        until(bytes, &mut text, element);
        text + "]}"
    };
    let distinct = texts(&|at| format!("\"a{at}\""));
    let equal = texts(&|_| "\"a\"".to_owned());
    let keyed = texts(&|at| format!("{{\"k\":\"a{at}\"}}"));
    let same_key = texts(&|_| "{\"k\":\"a\"}".to_owned());
    let words: Vec<String> = (0..2000).map(|at| format!("word{at}")).collect();
    let text = json!({"type": "string"});
    let pair =
        json!({"type": "object", "required": ["k"], "properties": {"k": {"type": "string"}}});
    let map = json!({"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]});
    let set = json!({"x-kubernetes-list-type": "set"});
    let rule = |rule: &str| json!({"x-kubernetes-validations": [{"rule": rule}]});
    let all = "self.all(a, self.all(b, a == b || a != b))";
    let either = json!({"type": "string", "oneOf": [{"pattern": "^(a+)+$"}, {"pattern": "^(a|a)*b$"}, {"enum": ["x"]}]});
    let bounded = json!({"maxItems": 1000, "x-kubernetes-validations": [{"rule": all}]});
    let bounded_text = json!({"type": "string", "maxLength": 10});
    let long = format!("{{\"m\":{{\"{}\":{equal}}}}}", "k".repeat(bytes));
    vec![
        (
            "set of equal texts",
            list(text.clone(), set.clone()),
            equal.clone(),
        ),
        (
            "set of distinct texts",
            list(text.clone(), set),
            distinct.clone(),
        ),
        (
            "list map of equal keys",
            list(pair.clone(), map.clone()),
            same_key,
        ),
        ("list map of distinct keys", list(pair, map), keyed.clone()),
        (
            "enum of many words",
            list(json!({"type": "string", "enum": words}), json!({})),
            distinct.clone(),
        ),
        (
            "unique items",
            list(text.clone(), json!({"uniqueItems": false})),
            distinct.clone(),
        ),
        (
            "oneOf of patterns",
            list(either, json!({})),
            distinct.clone(),
        ),
        (
            "nested all()",
            list(bounded_text, bounded),
            distinct.clone(),
        ),
        (
            "a rule for each element",
            list(
                json!({"type": "string", "maxLength": 9, "x-kubernetes-validations": [{"rule": "self == 'x'"}]}),
                json!({}),
            ),
            distinct.clone(),
        ),
        (
            "wrong type",
            list(json!({"type": "integer"}), rule("size(self) < 10")),
            distinct,
        ),
        (
            "unknown fields",
            list(json!({"type": "object", "properties": {}}), json!({})),
            keyed,
        ),
        (
            "wrong below a long key",
            list(json!({"type": "integer"}), json!({})),
            long,
        ),
    ]
}
