//! Paths of gated fields: `.spec.replicas`, `.spec.jobs[*].probe`, `.spec['a.b']`.

use std::fmt;

/// Longest path, in bytes.
pub const PATH_BYTES_MAX: usize = 512;

/// One step down.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Segment {
    /// A field of a struct, or a key of a map.
    Name(Box<str>),
    /// Every element of a list, or every value of a map.
    Each,
}

/// Where a gated field lies. Two texts for one place are one path: only the canonical form is kept.
///
/// ```
/// use lockstep_fieldgate::FieldPath;
/// let path = FieldPath::parse("['spec'][\"a.b\"].x-y[*]['0']")?;
/// assert_eq!(path.to_string(), ".spec['a.b'].x-y[*]['0']");
/// # Ok::<(), lockstep_fieldgate::PathError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FieldPath {
    segments: Vec<Segment>,
}

/// Why a text is no path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// Nothing.
    #[error("must not be empty")]
    Empty,
    /// Longer than [`PATH_BYTES_MAX`].
    #[error("must be <= {PATH_BYTES_MAX} bytes long")]
    TooLong,
    /// The object itself.
    #[error("must not select the root")]
    Root,
    /// A first character that no path has.
    #[error("must be a JSON path starting with . or [")]
    Start,
    /// An element by its number.
    #[error("numeric list indexes are not supported; use [*]")]
    Index,
    /// Anything else, from this byte on.
    #[error("not a valid field path at position {0}")]
    Malformed(usize),
}

impl FieldPath {
    /// Reads a path.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        match text {
            "" => return Err(PathError::Empty),
            "." => return Err(PathError::Root),
            text if text.len() > PATH_BYTES_MAX => return Err(PathError::TooLong),
            text if !text.starts_with(['.', '[']) => return Err(PathError::Start),
            _ => {}
        }
        let mut reader = Reader { text, at: 0 };
        let mut segments = Vec::new();
        while reader.at < text.len() {
            segments.push(reader.segment()?);
        }
        Ok(Self { segments })
    }

    /// The path of these steps.
    pub(crate) fn of(segments: &[Segment]) -> Self {
        Self {
            segments: segments.to_vec(),
        }
    }

    /// The steps from the object down; at least one.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// Whether some object has a place that both paths select.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.segments.len() == other.segments.len() && self.meets(other)
    }

    /// Whether every place that the other selects lies at or below one that this selects.
    pub fn covers(&self, other: &Self) -> bool {
        let pairs = self.segments.iter().zip(&other.segments);
        self.segments.len() <= other.segments.len()
            && pairs
                .into_iter()
                .all(|(own, other)| own == other || *own == Segment::Each)
    }

    fn meets(&self, other: &Self) -> bool {
        let mut pairs = self.segments.iter().zip(&other.segments);
        pairs.all(|(one, other)| one == other || *one == Segment::Each || *other == Segment::Each)
    }
}

/// Whether a name needs no quotes in a path.
pub(crate) fn is_plain(name: &str) -> bool {
    let mut characters = name.chars();
    let first = characters.next();
    first.is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && characters.all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
}

/// A name in quotes.
pub(crate) fn quoted(name: &str) -> String {
    let mut text = String::from("['");
    for character in name.chars() {
        if matches!(character, '\'' | '\\') {
            text.push('\\');
        }
        text.push(character);
    }
    text.push_str("']");
    text
}

impl fmt::Display for FieldPath {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for segment in &self.segments {
            match segment {
                Segment::Each => out.write_str("[*]")?,
                Segment::Name(name) if is_plain(name) => write!(out, ".{name}")?,
                Segment::Name(name) => out.write_str(&quoted(name))?,
            }
        }
        Ok(())
    }
}

/// A text that is read from left to right. INVARIANT: `at` is between two characters.
struct Reader<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Reader<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn malformed<T>(&self) -> Result<T, PathError> {
        Err(PathError::Malformed(self.at))
    }

    fn segment(&mut self) -> Result<Segment, PathError> {
        let rest = self.rest();
        if rest.starts_with("[*]") {
            self.at += "[*]".len();
            return Ok(Segment::Each);
        }
        match rest.as_bytes() {
            [b'.', ..] => self.name(),
            [b'[', quote @ (b'\'' | b'"'), ..] => self.quoted(char::from(*quote)),
            [b'[', ..] if is_index(rest) => Err(PathError::Index),
            _ => self.malformed(),
        }
    }

    fn name(&mut self) -> Result<Segment, PathError> {
        self.at += 1;
        let rest = self.rest();
        let end = rest.find(['.', '[']).unwrap_or(rest.len());
        let name = &rest[..end];
        let foreign = |c: char| c.is_whitespace() || r#"]'"*$@?(){}"#.contains(c);
        if let Some(bad) = name.find(foreign) {
            self.at += bad;
            return self.malformed();
        }
        if name.is_empty() {
            return self.malformed();
        }
        self.at += end;
        Ok(Segment::Name(name.into()))
    }

    fn quoted(&mut self, quote: char) -> Result<Segment, PathError> {
        let mut name = String::new();
        let mut characters = self.rest().char_indices().skip(2);
        while let Some((at, character)) = characters.next() {
            if character == quote {
                let closed = self.rest()[at + 1..].starts_with(']');
                if closed && !name.is_empty() {
                    self.at += at + 2;
                    return Ok(Segment::Name(name.into()));
                }
                self.at += at + usize::from(!closed);
                return self.malformed();
            }
            if character != '\\' {
                name.push(character);
                continue;
            }
            match characters.next() {
                Some((_, escaped @ ('\'' | '"' | '\\'))) => name.push(escaped),
                _ => {
                    self.at += at;
                    return self.malformed();
                }
            }
        }
        self.at = self.text.len();
        self.malformed()
    }
}

/// Whether a text begins with a number in brackets.
fn is_index(text: &str) -> bool {
    let inner = text.get(1..).and_then(|text| text.split_once(']'));
    let digits = inner.map(|(inner, _)| inner.strip_prefix('-').unwrap_or(inner));
    digits.is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
}
