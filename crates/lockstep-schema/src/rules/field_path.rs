//! The `fieldPath` of a rule: `.spec.foo`, `.spec['a.b'].c`.

use crate::keywords::{entries, schema as subschema};
use serde_json::Value;

/// Errors of a `fieldPath`, in upstream's wording.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FieldPathError {
    #[error("does not refer to a valid field")]
    NoField,
    #[error("unexpected end of JSON path")]
    End,
    #[error("expected [ or . but got: {0}")]
    Start(String),
    #[error("expected single quoted string but got {0}")]
    Quote(String),
    #[error("invalid string literal: invalid escape char {0}")]
    Escape(String),
    #[error("array notation is not allowed")]
    Brackets,
    #[error("expected ] but got {0}")]
    Close(String),
}

/// The normalized path as errors print it; none for an empty path.
pub(crate) fn normalised(path: &str, schema: &Value) -> Result<Option<String>, FieldPathError> {
    let walk = walk(path, schema, Brackets::Allowed)?;
    Ok((!walk.shown.is_empty()).then_some(walk.shown))
}

/// The path of a selectable field as it is compared, and the schema it leads to. It has no brackets.
pub(crate) fn selectable_path<'a>(
    path: &str,
    schema: &'a Value,
) -> Result<(String, Option<&'a Value>), FieldPathError> {
    let walk = walk(path, schema, Brackets::Refused)?;
    Ok((walk.shown, walk.schema))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Brackets {
    Allowed,
    Refused,
}

fn walk<'a>(path: &str, schema: &'a Value, brackets: Brackets) -> Result<Walk<'a>, FieldPathError> {
    let mut walk = Walk {
        schema: Some(schema),
        shown: String::new(),
    };
    let mut tokens = Tokens(path);
    while let Some(token) = tokens.next() {
        match token {
            "." => {
                let name = tokens.next().ok_or(FieldPathError::End)?;
                walk.step(name)?;
            }
            "[" if brackets == Brackets::Refused => return Err(FieldPathError::Brackets),
            "[" => {
                let quoted = tokens.next().ok_or(FieldPathError::End)?;
                walk.step(&unquoted(quoted)?)?;
                match tokens.next() {
                    Some("]") => {}
                    Some(other) => return Err(FieldPathError::Close(other.to_owned())),
                    None => return Err(FieldPathError::End),
                }
            }
            other => return Err(FieldPathError::Start(other.to_owned())),
        }
    }
    Ok(walk)
}

struct Walk<'a> {
    schema: Option<&'a Value>,
    shown: String,
}

impl Walk<'_> {
    fn step(&mut self, name: &str) -> Result<(), FieldPathError> {
        let schema = self.schema.ok_or(FieldPathError::NoField)?;
        if subschema(schema, "properties").is_some() {
            let mut properties = entries(schema, "properties");
            let (_, property) = properties
                .find(|(known, _)| *known == name)
                .ok_or(FieldPathError::NoField)?;
            self.schema = Some(property);
            if !self.shown.is_empty() {
                self.shown.push('.');
            }
            self.shown.push_str(name);
            return Ok(());
        }
        let additional = schema
            .get("additionalProperties")
            .ok_or(FieldPathError::NoField)?;
        self.schema = additional.is_object().then_some(additional);
        self.shown.push_str(&format!("[{name}]"));
        Ok(())
    }
}

/// Cuts a path at dots and brackets; quoted text is one piece with its quotes.
struct Tokens<'a>(&'a str);

impl<'a> Tokens<'a> {
    fn next(&mut self) -> Option<&'a str> {
        let bytes = self.0.as_bytes();
        let length = match bytes.first()? {
            b'\'' => {
                let closing = |at: &usize| bytes[*at] == b'\'' && bytes[*at - 1] != b'\\';
                (1..bytes.len())
                    .find(closing)
                    .map_or(bytes.len(), |at| at + 1)
            }
            b'.' | b'[' | b']' => 1,
            _ => self.0.find(['.', '[', ']']).unwrap_or(bytes.len()),
        };
        let (token, rest) = self.0.split_at(length);
        self.0 = rest;
        Some(token)
    }
}

fn unquoted(token: &str) -> Result<String, FieldPathError> {
    let inside = token
        .strip_prefix('\'')
        .and_then(|rest| rest.strip_suffix('\''));
    let inside = inside.ok_or_else(|| FieldPathError::Quote(token.to_owned()))?;
    let mut text = String::with_capacity(inside.len());
    let mut characters = inside.chars();
    while let Some(character) = characters.next() {
        if character != '\\' {
            text.push(character);
            continue;
        }
        text.push(match characters.next() {
            Some('a') => '\x07',
            Some('b') => '\x08',
            Some('f') => '\x0c',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('v') => '\x0b',
            Some(same @ ('\'' | '\\')) => same,
            Some(other) => return Err(FieldPathError::Escape(format!("\\{other}"))),
            None => return Err(FieldPathError::Escape("\\".to_owned())),
        });
    }
    Ok(text)
}
