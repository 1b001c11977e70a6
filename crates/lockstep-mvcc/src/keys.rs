//! Keys and key ranges, as etcd's requests express them.

use bytes::Bytes;

use crate::RequestError;

/// A key: non-empty bytes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Key(Bytes);

impl Key {
    /// Rejects the empty key, as etcd does.
    pub fn new(bytes: impl Into<Bytes>) -> Result<Self, RequestError> {
        let bytes = bytes.into();
        if bytes.is_empty() {
            return Err(RequestError::EmptyKey);
        }
        Ok(Self(bytes))
    }

    /// The bytes, shared.
    pub fn bytes(&self) -> &Bytes {
        &self.0
    }

    pub(crate) fn into_bytes(self) -> Bytes {
        self.0
    }
}

/// A contiguous range of keys.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeyRange {
    start: Bytes,
    end: End,
}

/// End of a range.
#[derive(Clone, PartialEq, Eq, Debug)]
enum End {
    /// The range is the start key alone.
    Single,
    /// Exclusive end.
    Before(Bytes),
    /// The range is unbounded.
    Open,
}

impl KeyRange {
    /// Exactly one key.
    pub fn single(key: Key) -> Self {
        Self {
            start: key.0,
            end: End::Single,
        }
    }

    /// Every key.
    pub fn all() -> Self {
        Self {
            start: Bytes::new(),
            end: End::Open,
        }
    }

    /// All keys from `start` on.
    pub fn from(start: impl Into<Bytes>) -> Self {
        Self {
            start: start.into(),
            end: End::Open,
        }
    }

    /// Keys from `start` to before `end`; empty if `end` is not greater.
    pub fn between(start: impl Into<Bytes>, end: impl Into<Bytes>) -> Self {
        Self {
            start: start.into(),
            end: End::Before(end.into()),
        }
    }

    /// Keys with a prefix; all keys if the prefix is empty.
    pub fn prefix(prefix: impl Into<Bytes>) -> Self {
        let start = prefix.into();
        let end = match start.iter().rposition(|byte| *byte != u8::MAX) {
            Some(last) => {
                let mut end = start[..=last].to_vec();
                end[last] += 1;
                End::Before(end.into())
            }
            None => End::Open,
        };
        Self { start, end }
    }

    /// Decodes the fields `key` and `range_end` of a request: an empty end means the single key, an end of one zero
    /// byte means all keys from `key` on.
    pub fn from_wire(key: Bytes, range_end: Bytes) -> Result<Self, RequestError> {
        if key.is_empty() {
            return Err(RequestError::EmptyKey);
        }
        let end = match range_end.as_ref() {
            [] => End::Single,
            [0] => End::Open,
            _ => End::Before(range_end),
        };
        Ok(Self { start: key, end })
    }

    /// Inclusive start of the range.
    pub fn start(&self) -> &Bytes {
        &self.start
    }

    /// The key, if the range is a single key.
    pub fn as_single(&self) -> Option<&Bytes> {
        matches!(self.end, End::Single).then_some(&self.start)
    }

    /// Exclusive end, if the range is bounded.
    pub fn end(&self) -> Option<&Bytes> {
        match &self.end {
            End::Before(end) => Some(end),
            End::Single | End::Open => None,
        }
    }

    /// Encodes the range as the fields `key` and `range_end` of a request. [`KeyRange::all`] is a zero byte in
    /// both.
    pub fn to_wire(&self) -> (Bytes, Bytes) {
        const ZERO: &[u8] = &[0];
        let start = if self.start.is_empty() {
            Bytes::from_static(ZERO)
        } else {
            self.start.clone()
        };
        let end = match &self.end {
            End::Single => Bytes::new(),
            End::Before(end) => end.clone(),
            End::Open => Bytes::from_static(ZERO),
        };
        (start, end)
    }

    /// The range without the keys before `start`.
    #[must_use]
    pub fn starting_at(&self, start: Bytes) -> Self {
        if start <= self.start {
            return self.clone();
        }
        let end = match &self.end {
            End::Single => End::Before(Bytes::new()),
            end => end.clone(),
        };
        Self { start, end }
    }

    /// True if `key` is in the range.
    pub fn contains(&self, key: &[u8]) -> bool {
        match &self.end {
            End::Single => key == self.start,
            End::Before(end) => key >= self.start.as_ref() && key < end.as_ref(),
            End::Open => key >= self.start.as_ref(),
        }
    }

    /// True if the range contains no key.
    pub fn is_empty(&self) -> bool {
        matches!(&self.end, End::Before(end) if *end <= self.start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wire(key: &'static [u8], end: &'static [u8]) -> KeyRange {
        KeyRange::from_wire(Bytes::from_static(key), Bytes::from_static(end)).unwrap()
    }

    #[test]
    fn the_end_decides_the_shape_of_a_range() {
        // etcd-api.md §2/range-keys.
        let keys: [&[u8]; 5] = [b"\0", b"a", b"b", b"ba", b"c"];
        let held = |range: &KeyRange| -> Vec<&[u8]> {
            let held = keys.iter().filter(|key| range.contains(key));
            held.copied().collect()
        };
        assert_eq!(held(&wire(b"b", b"")), [b"b"]);
        assert_eq!(held(&wire(b"b", b"c")), [&b"b"[..], b"ba"]);
        assert_eq!(held(&wire(b"b", b"\0")), [&b"b"[..], b"ba", b"c"]);
        assert_eq!(held(&wire(b"\0", b"\0")), keys);
        assert_eq!(held(&wire(b"c", b"b")), [b""; 0]);
        assert_eq!(held(&wire(b"b", b"b")), [b""; 0]);
    }

    #[test]
    fn an_empty_key_names_no_range() {
        assert_eq!(
            KeyRange::from_wire(Bytes::new(), Bytes::from_static(b"z")),
            Err(RequestError::EmptyKey)
        );
        assert_eq!(Key::new(Bytes::new()), Err(RequestError::EmptyKey));
    }

    #[test]
    fn a_prefix_ends_before_its_successor() {
        assert_eq!(KeyRange::prefix("a"), KeyRange::between("a", "b"));
        assert_eq!(
            KeyRange::prefix(&b"a\xff"[..]),
            KeyRange::between(&b"a\xff"[..], "b")
        );
        assert_eq!(
            KeyRange::prefix(&b"\xff\xff"[..]),
            KeyRange::from(&b"\xff\xff"[..])
        );
        assert_eq!(KeyRange::prefix(""), KeyRange::all());
    }

    #[test]
    fn a_later_start_cuts_the_front_of_a_range() {
        let range = KeyRange::between("b", "d");
        assert_eq!(range.starting_at("a".into()), range);
        assert_eq!(range.starting_at("c".into()), KeyRange::between("c", "d"));
        let single = KeyRange::single(Key::new("b").unwrap());
        assert!(single.starting_at("c".into()).is_empty());
    }

    #[test]
    fn a_range_survives_the_wire() {
        for range in [wire(b"a", b""), wire(b"a", b"c"), wire(b"a", b"\0")] {
            let (key, end) = range.to_wire();
            assert_eq!(KeyRange::from_wire(key, end), Ok(range));
        }
        let (key, end) = KeyRange::all().to_wire();
        assert_eq!(KeyRange::from_wire(key, end), Ok(wire(b"\0", b"\0")));
    }
}
