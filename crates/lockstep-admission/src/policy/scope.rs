//! Explicit `scope` of a mutation: a path below the root of the object.

use std::fmt;

use lockstep_cel::paths::{MutationScope, ScopeStep};

/// One step of a path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ScopePathStep {
    /// A field: `spec`.
    Field(Box<str>),
    /// A key of a map: `["app"]`.
    Key(Box<str>),
    /// Each element of a list: `[*]`.
    Each,
    /// The elements of a list with a value in a field: `[name="a"]`.
    With(Box<str>, Box<str>),
}

/// A parsed `scope`, such as `spec.containers[*].image`. The empty path is the root.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ScopePath {
    /// Steps from the root.
    pub steps: Vec<ScopePathStep>,
}

/// Errors of [`ScopePath::parse`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ScopePathError {
    /// A step cannot be read.
    #[error(
        "must be a path such as spec.containers[*].image, metadata.labels[\"key\"] or spec.ports[name=\"web\"]"
    )]
    Grammar,
    /// A list position.
    #[error("must not have a list index; elements are selected by [*] or [key=\"value\"]")]
    Index,
    /// More steps than `SCOPE_STEPS_MAX`.
    #[error("must have at most {SCOPE_STEPS_MAX} steps")]
    TooDeep,
}

/// Largest number of steps of a scope.
const SCOPE_STEPS_MAX: usize = 32;

impl ScopePath {
    /// Parses a path.
    pub fn parse(text: &str) -> Result<Self, ScopePathError> {
        let mut steps = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            if steps.len() == SCOPE_STEPS_MAX {
                return Err(ScopePathError::TooDeep);
            }
            let (step, after) = match rest.strip_prefix('[') {
                Some(inside) => bracket(inside)?,
                None => field(rest, steps.is_empty())?,
            };
            steps.push(step);
            rest = after;
        }
        Ok(Self { steps })
    }

    /// The scope for order and comparison, where every selection of elements is `[*]`.
    pub fn scope(&self) -> MutationScope {
        let step = |step: &ScopePathStep| match step {
            ScopePathStep::Field(name) => ScopeStep::Field(name.clone()),
            ScopePathStep::Key(key) => ScopeStep::Key(key.clone()),
            ScopePathStep::Each | ScopePathStep::With(..) => ScopeStep::Each,
        };
        MutationScope {
            steps: self.steps.iter().map(step).collect(),
        }
    }

    /// Name of the object type of the values at the path: `Object.spec.widgets`.
    pub fn type_name(&self) -> String {
        let mut name = "Object".to_owned();
        for step in &self.steps {
            if let ScopePathStep::Field(field) = step {
                name.push('.');
                name.push_str(field);
            }
        }
        name
    }
}

fn field(text: &str, is_first: bool) -> Result<(ScopePathStep, &str), ScopePathError> {
    let text = match text.strip_prefix('.') {
        Some(rest) if !is_first => rest,
        None if is_first => text,
        _ => return Err(ScopePathError::Grammar),
    };
    let end = text
        .find(|c: char| c != '_' && c != '-' && !c.is_ascii_alphanumeric())
        .unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    if name.is_empty() {
        return Err(ScopePathError::Grammar);
    }
    Ok((ScopePathStep::Field(name.into()), rest))
}

fn bracket(inside: &str) -> Result<(ScopePathStep, &str), ScopePathError> {
    if let Some(rest) = inside.strip_prefix("*]") {
        return Ok((ScopePathStep::Each, rest));
    }
    if inside.starts_with(|c: char| c == '-' || c.is_ascii_digit()) {
        return Err(ScopePathError::Index);
    }
    let (key, value) = match inside.split_once('=') {
        Some((key, value)) if !inside.starts_with('"') => (Some(key), value),
        _ => (None, inside),
    };
    let (value, rest) = quoted(value).ok_or(ScopePathError::Grammar)?;
    let rest = rest.strip_prefix(']').ok_or(ScopePathError::Grammar)?;
    Ok(match key {
        Some("") => return Err(ScopePathError::Grammar),
        Some(key) => (ScopePathStep::With(key.into(), value.into()), rest),
        None => (ScopePathStep::Key(value.into()), rest),
    })
}

/// A JSON string at the start of a text, and what follows it.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<String>();
    let value = values.next()?.ok()?;
    Some((value, &text[values.byte_offset()..]))
}

impl fmt::Display for ScopePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, step) in self.steps.iter().enumerate() {
            match step {
                ScopePathStep::Field(name) if at == 0 => f.write_str(name)?,
                ScopePathStep::Field(name) => write!(f, ".{name}")?,
                ScopePathStep::Key(key) => write!(f, "[{key:?}]")?,
                ScopePathStep::Each => f.write_str("[*]")?,
                ScopePathStep::With(key, value) => write!(f, "[{key}={value:?}]")?,
            }
        }
        Ok(())
    }
}
