//! One group commit in a segment.
//!
//! ```text
//! length       u32   of everything behind the checksum
//! checksum     u32   CRC-32C of the segment's salt and sequence number (u64 each) and everything behind
//! first index  u64   of the first command
//! count        u32   of commands; 0 closes a log in order
//! commands           each: length u32, bytes
//! ```
//!
//! Each frame is durable before the next is written, so an unreadable frame is either the last one, torn by a
//! crash, or damaged. The sequence number in the checksum invalidates old frames of a recycled file. The salt does
//! so for values that look like frames: a torn frame may expose one, and a client that wrote the value cannot know
//! the salt.

/// Bytes before the length counts.
pub(super) const HEAD_BYTES: usize = 8;
/// The shortest content: index and count.
const CONTENT_BYTES_MIN: usize = 12;

/// Initial checksum value of a segment's frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Seed(u32);

impl Seed {
    pub(super) fn new(salt: u64, sequence: u64) -> Self {
        let salt = crc32c::crc32c(&salt.to_le_bytes());
        Self(crc32c::crc32c_append(salt, &sequence.to_le_bytes()))
    }

    /// Seed of a format 1 segment, which has no salt.
    pub(super) fn without_salt(sequence: u64) -> Self {
        Self(crc32c::crc32c(&sequence.to_le_bytes()))
    }

    fn checksum(self, content: &[u8]) -> u32 {
        crc32c::crc32c_append(self.0, content)
    }
}

/// A frame that was read.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct Frame<'a> {
    pub(super) first_index: u64,
    pub(super) commands: Vec<&'a [u8]>,
    /// Length including the head.
    pub(super) length: usize,
}

/// Frame buffer, reused between frames.
#[derive(Default)]
pub(crate) struct FrameBuilder {
    bytes: Vec<u8>,
    first_index: u64,
    count: u32,
}

impl FrameBuilder {
    /// Starts a frame whose first command gets this index.
    pub(crate) fn begin(&mut self, first_index: u64) {
        self.bytes.clear();
        self.bytes.resize(HEAD_BYTES + CONTENT_BYTES_MIN, 0);
        self.first_index = first_index;
        self.count = 0;
    }

    /// Adds a command, which gets [`FrameBuilder::next_index`].
    pub(crate) fn push(&mut self, encode: impl FnOnce(&mut Vec<u8>)) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&[0; 4]);
        encode(&mut self.bytes);
        let length = length_of(self.bytes.len() - start - 4);
        self.bytes[start..start + 4].copy_from_slice(&length.to_le_bytes());
        self.count += 1;
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// The index after the last command.
    pub(crate) fn next_index(&self) -> u64 {
        self.first_index + u64::from(self.count)
    }

    /// The bytes for a segment.
    pub(super) fn seal(&mut self, seed: Seed) -> &[u8] {
        let length = length_of(self.bytes.len() - HEAD_BYTES);
        self.bytes[8..16].copy_from_slice(&self.first_index.to_le_bytes());
        self.bytes[16..20].copy_from_slice(&self.count.to_le_bytes());
        let checksum = seed.checksum(&self.bytes[HEAD_BYTES..]);
        self.bytes[0..4].copy_from_slice(&length.to_le_bytes());
        self.bytes[4..8].copy_from_slice(&checksum.to_le_bytes());
        &self.bytes
    }
}

fn length_of(bytes: usize) -> u32 {
    u32::try_from(bytes).expect("a group commit is smaller than 4 GiB")
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at.checked_add(4)?)?;
    bytes.try_into().ok().map(u32::from_le_bytes)
}

fn usize_at(bytes: &[u8], at: usize) -> Option<usize> {
    u32_at(bytes, at).and_then(|number| usize::try_from(number).ok())
}

/// Range of indexes in which a frame after damage is searched: far more than a segment holds.
const INDEXES_AHEAD_MAX: u64 = 1 << 24;

/// Cheap test whether `bytes` may start with a frame whose first index is at least `next_index`.
pub(super) fn may_begin(bytes: &[u8], next_index: u64) -> bool {
    let index = bytes.get(HEAD_BYTES..HEAD_BYTES + 8);
    let index = index.and_then(|index| index.try_into().ok().map(u64::from_le_bytes));
    let ahead = index.and_then(|index| index.checked_sub(next_index));
    ahead.is_some_and(|ahead| ahead < INDEXES_AHEAD_MAX)
}

/// Decodes the frame at the start of `bytes`, if it is complete and its checksum matches.
pub(super) fn read(bytes: &[u8], seed: Seed) -> Option<Frame<'_>> {
    let length = usize_at(bytes, 0).filter(|length| *length >= CONTENT_BYTES_MIN)?;
    let content = bytes.get(HEAD_BYTES..HEAD_BYTES.checked_add(length)?)?;
    if u32_at(bytes, 4)? != seed.checksum(content) {
        return None;
    }
    let (index, mut rest) = content.split_first_chunk()?;
    let count = u32_at(rest, 0)?;
    rest = &rest[4..];
    let mut commands = Vec::new();
    for _ in 0..count {
        let length = usize_at(rest, 0)?;
        commands.push(rest.get(4..4_usize.checked_add(length)?)?);
        rest = &rest[4 + length..];
    }
    rest.is_empty().then_some(Frame {
        first_index: u64::from_le_bytes(*index),
        commands,
        length: HEAD_BYTES + length,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sealed(seed: Seed) -> Vec<u8> {
        let mut builder = FrameBuilder::default();
        builder.begin(7);
        builder.push(|bytes| bytes.extend_from_slice(b"one"));
        builder.push(|_| {});
        assert_eq!(builder.next_index(), 9);
        builder.seal(seed).to_vec()
    }

    #[test]
    fn a_known_frame_has_these_bytes_for_ever() {
        let hex = |seed| -> String {
            let bytes = sealed(seed);
            bytes.iter().map(|byte| format!("{byte:02x}")).collect()
        };
        assert_eq!(
            hex(Seed::without_salt(3)),
            "1700000000ea88ca070000000000000002000000030000006f6e6500000000"
        );
        assert_eq!(
            hex(Seed::new(0x0123_4567_89ab_cdef, 3)),
            "17000000afc448a6070000000000000002000000030000006f6e6500000000"
        );
    }

    #[test]
    fn a_frame_comes_back_only_from_its_own_segment_and_whole() {
        let seed = Seed::new(99, 3);
        let bytes = sealed(seed);
        let frame = Frame {
            first_index: 7,
            commands: vec![b"one", b""],
            length: bytes.len(),
        };
        assert_eq!(read(&bytes, seed), Some(frame));
        for other in [Seed::new(99, 4), Seed::new(98, 3), Seed::without_salt(3)] {
            assert_eq!(read(&bytes, other), None);
        }
        for end in 0..bytes.len() {
            assert_eq!(read(&bytes[..end], seed), None, "cut at {end}");
            for bit in 0..8 {
                let mut flipped = bytes.clone();
                flipped[end] ^= 1 << bit;
                assert_eq!(read(&flipped, seed), None, "bit {bit} of byte {end}");
            }
        }
        assert_eq!(read(&[0; 100], seed), None);
        assert_eq!(read(&[0xff; 100], seed), None);
    }
}
