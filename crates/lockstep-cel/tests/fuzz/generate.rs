//! Turns bytes into an expression, data and a schema, so that a fuzzer of bytes varies all three.
//!
//! | First byte | The rest |
//! | --- | --- |
//! | [`TREE`] | choices of a grammar whose sentences all parse |
//! | [`PIECES`] | choices among pieces of expressions, in any order |
//! | any other | the bytes themselves: text, and after zero bytes data and schema as JSON |

use crate::words::{FUNCTIONS, LEAVES, METHODS, NAMES, OPERATORS, SIGNS, SUFFIXES, TEXTS};
use serde_json::{Value as Json, json};

/// Makes the bytes that follow choices of a grammar.
pub const TREE: u8 = 0xff;
/// Makes the bytes that follow choices among pieces of text.
pub const PIECES: u8 = 0xfe;

/// Nesting of generated expressions, data and schemas.
const DEPTH_MAX: usize = 6;
/// Pieces of a text that is put together from pieces.
const PIECES_MAX: usize = 32;

/// One input.
#[derive(Debug)]
pub struct Case {
    /// The expression.
    pub text: String,
    /// Value of `object` and `self`.
    pub object: Json,
    /// The structural schema of `object` and `self`, in environments that have one.
    pub schema: Json,
}

impl Case {
    /// Every sequence of bytes is a case.
    pub fn of(bytes: &[u8]) -> Self {
        match bytes.split_first() {
            Some((&TREE, rest)) => Self::chosen(Choices(rest), tree),
            Some((&PIECES, rest)) => Self::chosen(Choices(rest), pieces),
            _ => Self::written(bytes),
        }
    }

    fn chosen(mut choices: Choices<'_>, text: fn(&mut Choices<'_>) -> String) -> Self {
        let object = data(&mut choices, DEPTH_MAX);
        let schema = schema(&mut choices, DEPTH_MAX);
        let text = text(&mut choices);
        Self {
            text,
            object,
            schema,
        }
    }

    fn written(bytes: &[u8]) -> Self {
        let mut parts = bytes.splitn(3, |byte| *byte == 0);
        let text = parts.next().unwrap_or_default();
        let mut json = |otherwise: Json| {
            let part = parts
                .next()
                .and_then(|part| serde_json::from_slice(part).ok());
            part.unwrap_or(otherwise)
        };
        let object = json(json!({"a": [1, 2.5, "xyz", {"b": null}], "b": {"a": "1", "c": true}}));
        let schema = json(json!({"type": "object", "properties": {
            "a": {"type": "array", "items": {"x-kubernetes-int-or-string": true}},
            "b": {"type": "object", "additionalProperties": {"type": "string"}},
        }}));
        Self {
            text: String::from_utf8_lossy(text).into_owned(),
            object,
            schema,
        }
    }

    /// The bytes that [`Case::of`] reads as these three.
    pub fn to_bytes(text: &str, object: &Json, schema: &Json) -> Vec<u8> {
        format!("{text}\0{object}\0{schema}").into_bytes()
    }
}

/// Bytes as a sequence of choices; after the last one every choice is the first.
struct Choices<'b>(&'b [u8]);

impl Choices<'_> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        *first
    }

    fn below(&mut self, count: usize) -> usize {
        usize::from(self.byte()) % count
    }

    fn among<'t>(&mut self, table: &[&'t str]) -> &'t str {
        table[self.below(table.len())]
    }

    fn number(&mut self) -> u64 {
        (0..8).fold(0, |number, _| number << 8 | u64::from(self.byte()))
    }
}

fn tree(choices: &mut Choices<'_>) -> String {
    expression(choices, DEPTH_MAX)
}

/// A sentence of the grammar.
fn expression(choices: &mut Choices<'_>, depth: usize) -> String {
    let kind = choices.below(8);
    if depth == 0 || kind == 0 || choices.0.is_empty() {
        return leaf(choices);
    }
    let inner = expression(choices, depth - 1);
    let other = |choices: &mut Choices<'_>| expression(choices, depth - 1);
    match kind {
        1 | 2 => {
            let operator = choices.among(OPERATORS);
            format!("({inner} {operator} {})", other(choices))
        }
        3 | 4 => {
            let method = choices.among(METHODS);
            let argument = other(choices);
            format!("({inner}){}", method.replacen("{}", &argument, 1))
        }
        5 => format!("({inner}){}", choices.among(SUFFIXES)),
        6 => choices.among(FUNCTIONS).replacen("{}", &inner, 1),
        _ => format!("({inner} ? {} : {})", other(choices), other(choices)),
    }
}

fn leaf(choices: &mut Choices<'_>) -> String {
    match choices.below(4) {
        0 => choices.byte().cast_signed().to_string(),
        1 => format!("'{}'", choices.among(TEXTS)),
        _ => choices.among(LEAVES).to_owned(),
    }
}

fn pieces(choices: &mut Choices<'_>) -> String {
    let tables = [LEAVES, OPERATORS, METHODS, SUFFIXES, FUNCTIONS, SIGNS];
    let mut text = String::new();
    for _ in 0..PIECES_MAX {
        if choices.0.is_empty() {
            break;
        }
        let table = tables[choices.below(tables.len())];
        let piece = choices.among(table);
        let end = piece.find("{}").unwrap_or(piece.len());
        text.push_str(&piece[..end]);
    }
    text
}

/// JSON without a schema.
fn data(choices: &mut Choices<'_>, depth: usize) -> Json {
    let kinds = if depth == 0 { 7 } else { 10 };
    match choices.below(kinds) {
        0 => Json::Null,
        1 => choices.byte().is_multiple_of(2).into(),
        2 => choices.byte().cast_signed().into(),
        3 => choices.number().into(),
        4 => f64::from_bits(choices.number()).into(),
        5 => choices.number().cast_signed().into(),
        6 => choices.among(TEXTS).into(),
        7 => (0..choices.below(4))
            .map(|_| data(choices, depth - 1))
            .collect(),
        _ => {
            let count = choices.below(4);
            let members = (0..count).map(|_| {
                let name = choices.among(NAMES).to_owned();
                (name, data(choices, depth - 1))
            });
            Json::Object(members.collect())
        }
    }
}

/// Schemas with the fields that expressions here select.
fn schema(choices: &mut Choices<'_>, depth: usize) -> Json {
    let kinds = if depth == 0 { 8 } else { 11 };
    let nullable = choices.byte().is_multiple_of(2);
    match choices.below(kinds) {
        0 => json!({"type": "integer", "nullable": nullable}),
        1 => json!({"type": "number", "nullable": nullable}),
        2 => json!({"type": "string", "maxLength": choices.byte()}),
        3 => json!({"type": "boolean"}),
        4 => {
            json!({"type": "string", "format": choices.among(&["byte", "date", "date-time", "duration"])})
        }
        5 => json!({"x-kubernetes-int-or-string": true}),
        6 => json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
        7 => json!({"type": 1, "properties": []}),
        8 => {
            let kind = choices.among(&["atomic", "set", "map"]);
            let items = schema(choices, depth - 1);
            json!({"type": "array", "items": items, "x-kubernetes-list-type": kind, "x-kubernetes-list-map-keys": ["a"]})
        }
        9 => json!({"type": "object", "additionalProperties": schema(choices, depth - 1)}),
        _ => {
            let (a, b) = (schema(choices, depth - 1), schema(choices, depth - 1));
            json!({"type": "object", "required": ["a"], "properties": {"a": a, "b": b}})
        }
    }
}
