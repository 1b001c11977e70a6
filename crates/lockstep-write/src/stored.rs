//! Stored bytes of objects: their layout, and serving them without parsing.
//!
//! A stored object is compact JSON that starts with `{"apiVersion":"…","kind":"…","metadata":{` and
//! has no `resourceVersion`: that is the revision of its key. Serving one is three copies: the bytes
//! up to the first field of the metadata, the `resourceVersion`, and the rest.

use std::io::Write as _;

use lockstep_mvcc::Revision;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

const METADATA: &[u8] = br#"","metadata":{"#;
/// Initial buffer size, enough for most objects.
const WRITTEN_BYTES: usize = 4096;

/// Positions of the parts of a stored object, found from its first bytes only.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout<'a> {
    /// The version it is stored in.
    pub api_version: &'a str,
    /// Its kind.
    pub kind: &'a str,
    /// Everything behind the brace that opens the metadata.
    inside: &'a [u8],
    /// The metadata and everything behind it, from the opening brace on.
    metadata: &'a [u8],
}

/// `apiVersion` and `kind` that an object is served with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TypeMeta<'a> {
    /// Those that it is stored with.
    Stored,
    /// These.
    Served {
        /// The group; empty for the core group.
        group: &'a str,
        /// The version.
        version: &'a str,
        /// The kind.
        kind: &'a str,
    },
    /// None, as in lists of built-in kinds.
    Omitted,
}

/// Bytes in the store that are not laid out as an object of ours.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the stored bytes do not start as an object does")]
pub struct NotAnObject;

impl<'a> Layout<'a> {
    /// Reads the first bytes of a stored object.
    #[inline]
    pub fn of(stored: &'a [u8]) -> Result<Self, NotAnObject> {
        let rest = stored.strip_prefix(br#"{"apiVersion":""#.as_slice());
        let (api_version, rest) = rest.and_then(plain_text).ok_or(NotAnObject)?;
        let rest = rest.strip_prefix(br#"","kind":""#.as_slice());
        let (kind, rest) = rest.and_then(plain_text).ok_or(NotAnObject)?;
        let inside = rest.strip_prefix(METADATA).ok_or(NotAnObject)?;
        Ok(Self {
            api_version,
            kind,
            inside,
            metadata: &rest[METADATA.len() - 1..],
        })
    }

    /// Writes the object as clients see it.
    #[inline]
    pub fn serve(&self, type_meta: TypeMeta<'_>, revision: Revision, out: &mut Vec<u8>) {
        let (api_version, kind) = match type_meta {
            TypeMeta::Stored => (["", self.api_version], self.kind),
            TypeMeta::Served {
                group,
                version,
                kind,
            } => ([group, version], kind),
            TypeMeta::Omitted => {
                out.extend_from_slice(br#"{"metadata":{"#);
                return self.serve_inside(revision, out);
            }
        };
        let [group, version] = api_version;
        out.extend_from_slice(br#"{"apiVersion":""#);
        out.extend_from_slice(group.as_bytes());
        out.extend_from_slice(if group.is_empty() { b"" } else { b"/" });
        out.extend_from_slice(version.as_bytes());
        out.extend_from_slice(br#"","kind":""#);
        out.extend_from_slice(kind.as_bytes());
        out.extend_from_slice(METADATA);
        self.serve_inside(revision, out);
    }

    /// Writes only the metadata, as clients see it. Returns false, and writes nothing, if it is not valid JSON.
    pub fn serve_metadata(&self, revision: Revision, out: &mut Vec<u8>) -> bool {
        let values = serde_json::Deserializer::from_slice(self.metadata);
        let Some(Ok(metadata)) = values.into_iter::<&RawValue>().next() else {
            return false;
        };
        out.push(b'{');
        let inside = &metadata.get().as_bytes()[1..];
        Self { inside, ..*self }.serve_inside(revision, out);
        true
    }

    #[inline]
    fn serve_inside(&self, revision: Revision, out: &mut Vec<u8>) {
        out.extend_from_slice(br#""resourceVersion":""#);
        write!(out, "{}", revision.0).expect("memory does not fail to be written");
        let is_last = self.inside.first() == Some(&b'}');
        out.extend_from_slice(if is_last { br#"""# } else { br#"","# });
        out.extend_from_slice(self.inside);
    }
}

/// Splits a string without escapes from the rest, which starts with its closing quote.
#[inline]
fn plain_text(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let end = bytes.iter().position(|&b| matches!(b, b'"' | b'\\'))?;
    let (text, rest) = bytes.split_at(end);
    (rest.first() == Some(&b'"'))
        .then(|| std::str::from_utf8(text).ok())
        .flatten()
        .map(|text| (text, rest))
}

/// Encodes an object for storage: `apiVersion`, `kind` and `metadata` first, without `resourceVersion`. `encode`
/// prints a value.
///
/// Fails with [`NotAnObject`] if one of the three fields is missing.
pub fn encode(
    object: &Map<String, Value>,
    mut encode: impl FnMut(&Value, &mut Vec<u8>),
) -> Result<Vec<u8>, NotAnObject> {
    let text = |field| object.get(field).and_then(Value::as_str).ok_or(NotAnObject);
    let (api_version, kind) = (text("apiVersion")?, text("kind")?);
    let metadata = object.get("metadata").and_then(Value::as_object);
    let metadata = metadata.ok_or(NotAnObject)?;
    if [api_version, kind]
        .iter()
        .any(|text| text.contains(['"', '\\']) || text.contains(char::is_control))
    {
        return Err(NotAnObject);
    }
    let mut out = Vec::with_capacity(WRITTEN_BYTES);
    out.extend_from_slice(br#"{"apiVersion":""#);
    out.extend_from_slice(api_version.as_bytes());
    out.extend_from_slice(br#"","kind":""#);
    out.extend_from_slice(kind.as_bytes());
    out.extend_from_slice(METADATA);
    let written = metadata
        .iter()
        .filter(|(field, _)| *field != "resourceVersion");
    fields(written, &mut encode, &mut out);
    out.push(b'}');
    let rest = object
        .iter()
        .filter(|(field, _)| !matches!(field.as_str(), "apiVersion" | "kind" | "metadata"));
    let before = out.len();
    out.push(b',');
    fields(rest, &mut encode, &mut out);
    if out.len() == before + 1 {
        out.pop();
    }
    out.push(b'}');
    // The watch cache keeps the bytes for long, and their unused capacity with them.
    out.shrink_to_fit();
    Ok(out)
}

fn fields<'v>(
    fields: impl Iterator<Item = (&'v String, &'v Value)>,
    encode: &mut impl FnMut(&Value, &mut Vec<u8>),
    out: &mut Vec<u8>,
) {
    for (at, (field, value)) in fields.enumerate() {
        if at > 0 {
            out.push(b',');
        }
        encode(&Value::String(field.clone()), out);
        out.push(b':');
        encode(value, out);
    }
}
