//! Field paths: a linked list of borrowed segments during a walk, rendered to text on demand.

use std::fmt::{self, Write};

use super::FIELD_BYTES_MAX;
use crate::go;

/// One step down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step<'a> {
    /// A field of an object: `.name`.
    Field(&'a str),
    /// An element of a list: `[0]`.
    Index(usize),
    /// A value of a map, or an element by its key: `[key]`.
    Key(&'a str),
}

/// A place in an object. Making one costs nothing; only printing walks it.
///
/// ```
/// use lockstep_object::field::Path;
/// let spec = Path::ROOT.field("spec");
/// let ports = spec.field("ports");
/// assert_eq!(ports.index(0).field("name").to_string(), "spec.ports[0].name");
/// assert_eq!(spec.field("labels").key("a/b").to_string(), "spec.labels[a/b]");
/// assert_eq!(Path::ROOT.to_string(), "<nil>");
/// ```
#[derive(Debug, Clone, Copy)]
#[must_use]
pub struct Path<'a> {
    last: Option<(&'a Path<'a>, Step<'a>)>,
}

impl<'a> Path<'a> {
    /// The object itself.
    pub const ROOT: Path<'static> = Path { last: None };

    /// A field below this place.
    pub fn field(&'a self, name: &'a str) -> Path<'a> {
        self.then(Step::Field(name))
    }

    /// An element below this place.
    pub fn index(&'a self, index: usize) -> Path<'a> {
        self.then(Step::Index(index))
    }

    /// A map's value below this place.
    pub fn key(&'a self, key: &'a str) -> Path<'a> {
        self.then(Step::Key(key))
    }

    /// One step below this place.
    pub fn then(&'a self, step: Step<'a>) -> Path<'a> {
        Path {
            last: Some((self, step)),
        }
    }

    /// True if this is the object itself.
    pub fn is_root(&self) -> bool {
        self.last.is_none()
    }

    /// The path as errors show it: no more than [`FIELD_BYTES_MAX`](super::FIELD_BYTES_MAX) bytes, as the names in it
    /// are a client's.
    pub fn shown(&self) -> String {
        let mut start = Start(String::new());
        if write!(start, "{self}").is_err() {
            start.0.push_str(go::ELLIPSIS);
        }
        start.0
    }

    /// The steps from the object to this place.
    pub fn steps(&self) -> Vec<Step<'a>> {
        let mut steps = Vec::new();
        let mut rest = self.last;
        while let Some((parent, step)) = rest {
            steps.push(step);
            rest = parent.last;
        }
        steps.reverse();
        steps
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_root() {
            return f.write_str("<nil>");
        }
        for (at, step) in self.steps().into_iter().enumerate() {
            match step {
                Step::Field(name) if at == 0 => f.write_str(name)?,
                Step::Field(name) => write!(f, ".{name}")?,
                Step::Index(index) => write!(f, "[{index}]")?,
                Step::Key(key) => write!(f, "[{key}]")?,
            }
        }
        Ok(())
    }
}

/// Most unknown fields that are reported of one object, as upstream's decoder reports them.
pub const UNKNOWN_FIELDS_MAX: usize = 100;

/// Adds the path of an unknown field to those that are reported, as far as they are.
pub fn report_unknown(path: &Path<'_>, unknown: &mut Vec<String>) {
    if unknown.len() < UNKNOWN_FIELDS_MAX {
        unknown.push(path.shown());
    }
}

/// The start of what is written; more than [`FIELD_BYTES_MAX`] is an error, which ends the writing.
struct Start(String);

impl Write for Start {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let start = go::start_of(text, FIELD_BYTES_MAX - self.0.len());
        self.0.push_str(start);
        if start.len() < text.len() {
            return Err(fmt::Error);
        }
        Ok(())
    }
}
