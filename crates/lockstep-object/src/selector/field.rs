//! Field selectors: `metadata.name=a,status.phase!=Running`.

use std::fmt;
use std::str::FromStr;

/// One requirement on one field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldRequirement {
    /// `metadata.name`
    pub field: Box<str>,
    /// The value the field has, or has not.
    pub value: Box<str>,
    /// True for `!=`.
    pub negated: bool,
}

/// Field selector: all requirements must match. An empty selector matches everything.
///
/// The supported fields depend on the kind: callers inspect [`Self::requirements`] and reject the others.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FieldSelector {
    requirements: Vec<FieldRequirement>,
}

/// Errors of parsing a field selector, in upstream's wording.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FieldSelectorError {
    /// A term without an operator.
    #[error("invalid selector: '{selector}'; can't understand '{term}'")]
    Term {
        /// The whole text.
        selector: String,
        /// The term.
        term: String,
    },
    /// A backslash before anything but `\`, `,` and `=`.
    #[error("invalid field selector: invalid escape sequence: {0}")]
    Escape(String),
    /// `,` or `=` in a value without a backslash.
    #[error("invalid field selector: unescaped character in value: {}", u32::from(*.0))]
    Unescaped(char),
}

impl FieldSelector {
    /// The requirements, in the order of their text.
    pub fn requirements(&self) -> &[FieldRequirement] {
        &self.requirements
    }

    /// True for the empty selector.
    pub fn is_everything(&self) -> bool {
        self.requirements.is_empty()
    }

    /// True if all requirements match. An absent field is compared as the empty string.
    pub fn matches<'v>(&self, lookup: impl Fn(&str) -> Option<&'v str>) -> bool {
        self.requirements.iter().all(|requirement| {
            let found = lookup(&requirement.field).unwrap_or_default();
            (found == &*requirement.value) != requirement.negated
        })
    }

    /// Adds an equality requirement.
    #[must_use]
    pub fn and(mut self, field: &str, value: &str) -> Self {
        self.requirements.push(FieldRequirement {
            field: field.into(),
            value: value.into(),
            negated: false,
        });
        self
    }

    /// The value that a field must equal, if required: `metadata.name=x` lists a single object.
    pub fn exact_value(&self, field: &str) -> Option<&str> {
        let mut requirements = self.requirements.iter();
        let found =
            requirements.find(|requirement| !requirement.negated && *requirement.field == *field);
        found.map(|requirement| &*requirement.value)
    }
}

impl FromStr for FieldSelector {
    type Err = FieldSelectorError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut terms = split_terms(text);
        terms.sort_unstable();
        let terms = terms.into_iter().filter(|term| !term.is_empty());
        let requirements = terms.map(|term| parse_term(text, term));
        Ok(Self {
            requirements: requirements.collect::<Result<_, _>>()?,
        })
    }
}

/// Splits at commas that are not escaped with a backslash.
fn split_terms(text: &str) -> Vec<&str> {
    let mut terms = Vec::new();
    let (mut start, mut escaped) = (0, false);
    for (at, character) in text.char_indices() {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ',' => {
                terms.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    terms.push(&text[start..]);
    terms
}

fn parse_term(selector: &str, term: &str) -> Result<FieldRequirement, FieldSelectorError> {
    let operators = ["!=", "==", "="];
    let found = term.char_indices().find_map(|(at, _)| {
        let operator = operators
            .iter()
            .find(|operator| term[at..].starts_with(**operator))?;
        Some((&term[..at], *operator, &term[at + operator.len()..]))
    });
    let Some((field, operator, value)) = found else {
        return Err(FieldSelectorError::Term {
            selector: selector.to_owned(),
            term: term.to_owned(),
        });
    };
    Ok(FieldRequirement {
        field: field.into(),
        value: unescape(value)?.into(),
        negated: operator == "!=",
    })
}

fn unescape(value: &str) -> Result<String, FieldSelectorError> {
    let mut text = String::with_capacity(value.len());
    let mut characters = value.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some(escaped @ ('\\' | ',' | '=')) => text.push(escaped),
                Some(other) => return Err(FieldSelectorError::Escape(format!("\\{other}"))),
                None => return Err(FieldSelectorError::Escape("\\".to_owned())),
            },
            ',' | '=' => return Err(FieldSelectorError::Unescaped(character)),
            other => text.push(other),
        }
    }
    Ok(text)
}

impl fmt::Display for FieldSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (
            at,
            FieldRequirement {
                field,
                value,
                negated,
            },
        ) in self.requirements.iter().enumerate()
        {
            let comma = if at > 0 { "," } else { "" };
            let operator = if *negated { "!=" } else { "=" };
            write!(f, "{comma}{field}{operator}")?;
            for character in value.chars() {
                if matches!(character, '\\' | ',' | '=') {
                    f.write_str("\\")?;
                }
                write!(f, "{character}")?;
            }
        }
        Ok(())
    }
}
