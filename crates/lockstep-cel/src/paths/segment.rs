//! Field paths and their text form.

use std::fmt;

/// One step of a path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Segment {
    /// A field or map key.
    Field(Box<str>),
    /// A position in a list.
    Index(i64),
    /// Any element or key: `[*]`.
    Any,
}

/// A path below a variable: `object.spec.containers[*].image`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FieldPath {
    /// The variable.
    pub variable: Box<str>,
    /// The way from there.
    pub segments: Vec<Segment>,
}

impl FieldPath {
    pub(super) fn variable(name: &str) -> Self {
        Self {
            variable: name.into(),
            segments: Vec::new(),
        }
    }

    pub(super) fn then(&self, segment: Segment) -> Self {
        let mut longer = self.clone();
        longer.segments.push(segment);
        longer
    }

    /// True if this path is `other` or below it.
    pub fn is_within(&self, other: &Self) -> bool {
        self.variable == other.variable && self.segments.starts_with(&other.segments)
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.variable)?;
        if matches!(self.segments.first(), Some(Segment::Field(name)) if is_name(name)) {
            f.write_str(".")?;
        }
        write_segments(f, &self.segments)
    }
}

/// Formats `spec.containers[*].image`; names that are not identifiers are put in brackets.
pub(super) fn write_segments(f: &mut fmt::Formatter<'_>, segments: &[Segment]) -> fmt::Result {
    for (index, segment) in segments.iter().enumerate() {
        match segment {
            Segment::Field(name) if is_name(name) && index == 0 => f.write_str(name)?,
            Segment::Field(name) if is_name(name) => write!(f, ".{name}")?,
            Segment::Field(name) => write!(f, "[{name:?}]")?,
            Segment::Index(at) => write!(f, "[{at}]")?,
            Segment::Any => f.write_str("[*]")?,
        }
    }
    Ok(())
}

pub(super) fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic())
        && name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric())
}
