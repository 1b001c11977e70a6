//! The text a quantity was read from, without a heap allocation for any text people write.

/// Longest text that is kept in place: a sign, eighteen digits, a point, a suffix.
const INLINE_BYTES: usize = 22;

/// A short text in place, a long one on the heap.
#[derive(Clone, Debug)]
pub(super) enum Written {
    Inline {
        length: u8,
        bytes: [u8; INLINE_BYTES],
    },
    Heap(Box<str>),
}

impl Written {
    pub(super) fn new(text: &str) -> Self {
        let mut bytes = [0; INLINE_BYTES];
        match (bytes.get_mut(..text.len()), u8::try_from(text.len())) {
            (Some(place), Ok(length)) => {
                place.copy_from_slice(text.as_bytes());
                Self::Inline { length, bytes }
            }
            _ => Self::Heap(text.into()),
        }
    }

    pub(super) fn as_str(&self) -> &str {
        match self {
            Self::Inline { length, bytes } => std::str::from_utf8(&bytes[..usize::from(*length)])
                .expect("the bytes were copied from a text"),
            Self::Heap(text) => text,
        }
    }
}
