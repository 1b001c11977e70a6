//! Paths of gated fields: `.spec.replicas`, `.spec.jobs[*].probe`, `.spec['a.b']`.

use std::fmt;

/// Maximum length of a path in bytes.
pub const PATH_BYTES_MAX: usize = 512;

/// One path segment.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Segment {
    /// A struct field or a map key.
    Name(Box<str>),
    /// `[*]`: every list element or map value.
    Each,
}

/// Path of a gated field. Spellings are normalized: equal paths have one canonical form.
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

/// Errors of [`FieldPath::parse`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// The path is empty.
    #[error("must not be empty")]
    Empty,
    /// The path is longer than [`PATH_BYTES_MAX`].
    #[error("must be <= {PATH_BYTES_MAX} bytes long")]
    TooLong,
    /// The path selects the object itself.
    #[error("must not select the root")]
    Root,
    /// The path does not start with `.` or `[`.
    #[error("must be a JSON path starting with . or [")]
    Start,
    /// The path contains a list index.
    #[error("numeric list indexes are not supported; use [*]")]
    Index,
    /// Any other syntax error, at this byte position.
    #[error("not a valid field path at position {0}")]
    Malformed(usize),
}

impl FieldPath {
    /// Parses a path.
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

    /// Builds a path from segments.
    pub(crate) fn of(segments: &[Segment]) -> Self {
        Self {
            segments: segments.to_vec(),
        }
    }

    /// The segments; never empty.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// True if some object has a field that both paths select.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.segments.len() == other.segments.len() && self.meets(other)
    }

    /// True if every field that `other` selects is at or below a field that `self` selects.
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

/// True if a name can be written without quotes.
pub(crate) fn is_plain(name: &str) -> bool {
    let mut characters = name.chars();
    let first = characters.next();
    first.is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && characters.all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
}

/// A quoted segment.
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

/// Cursor over the path text. INVARIANT: `at` is a character boundary.
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

/// True if the text starts with a list index in brackets.
fn is_index(text: &str) -> bool {
    let inner = text.get(1..).and_then(|text| text.split_once(']'));
    let digits = inner.map(|(inner, _)| inner.strip_prefix('-').unwrap_or(inner));
    digits.is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
}
