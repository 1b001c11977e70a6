//! Keys and ranges of keys, in the shapes that etcd's requests can name.

use bytes::Bytes;

use crate::RequestError;

/// A key: any bytes, at least one.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Key(Bytes);

impl Key {
    /// Refuses the empty key, which no store can hold.
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

/// A set of neighbouring keys.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeyRange {
    start: Bytes,
    end: End,
}

/// Where a range stops.
#[derive(Clone, PartialEq, Eq, Debug)]
enum End {
    /// The start is the only key.
    Single,
    /// Before this key.
    Before(Bytes),
    /// Nowhere.
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

    /// From `start` on, without end.
    pub fn from(start: impl Into<Bytes>) -> Self {
        Self {
            start: start.into(),
            end: End::Open,
        }
    }

    /// From `start` to before `end`; holds nothing if `end` is not greater.
    pub fn between(start: impl Into<Bytes>, end: impl Into<Bytes>) -> Self {
        Self {
            start: start.into(),
            end: End::Before(end.into()),
        }
    }

    /// Every key that begins with `prefix`; every key if the prefix is empty.
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

    /// The range that a request names by `key` and `range_end`: an empty end means the key alone,
    /// an end of one zero byte means everything from the key on.
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

    /// The first key that may be in the range.
    pub fn start(&self) -> &Bytes {
        &self.start
    }

    /// The key, if the range can hold no other.
    pub fn as_single(&self) -> Option<&Bytes> {
        matches!(self.end, End::Single).then_some(&self.start)
    }

    /// The first key behind a range that stops before a key.
    pub fn end(&self) -> Option<&Bytes> {
        match &self.end {
            End::Before(end) => Some(end),
            End::Single | End::Open => None,
        }
    }

    /// `key` and `range_end` as a request spells them. Every key is spelt as two zero bytes apart.
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

    /// The same range without the keys before `start`.
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

    /// Whether `key` is in the range.
    pub fn contains(&self, key: &[u8]) -> bool {
        match &self.end {
            End::Single => key == self.start,
            End::Before(end) => key >= self.start.as_ref() && key < end.as_ref(),
            End::Open => key >= self.start.as_ref(),
        }
    }

    /// Whether no key can be in the range.
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
