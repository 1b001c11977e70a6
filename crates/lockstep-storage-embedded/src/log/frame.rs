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

use super::range_sums::RangeSums;

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
/// Offset of the last byte of the first index.
const INDEX_LAST: usize = HEAD_BYTES + 7;

/// Offset and first index of the next valid frame at or after `from` whose first index is at least `next_index`.
///
/// The search covers everything behind the end of the log: zeros, or what a recycled file held before. It takes time
/// linear in that, whatever it is: a place that looks like a frame costs no more if its length is large.
pub(super) fn find(
    sums: &mut RangeSums<'_>,
    from: usize,
    seed: Seed,
    next_index: u64,
) -> Option<(usize, u64)> {
    let bytes = sums.bytes();
    let step = step_max(next_index);
    let mut at = from;
    while let Some(last) = bytes.get(at + INDEX_LAST) {
        if *last != 0 && step > 0 {
            at += step;
        } else if bytes[at..].starts_with(&ZEROS) {
            // No frame starts with zeros, since no first index is zero.
            at += ZEROS.len() - INDEX_LAST;
        } else {
            if may_begin(&bytes[at..], next_index)
                && let Some(frame) = read_at(sums, at, seed)
            {
                return Some((at, frame.first_index));
            }
            at += 1;
        }
    }
    None
}

static ZEROS: [u8; 64] = [0; 64];

/// Number of highest bytes that are zero in every index that is searched. Where such a byte is expected and another
/// is found, no frame begins in as many places.
fn step_max(next_index: u64) -> usize {
    let highest = next_index.saturating_add(INDEXES_AHEAD_MAX);
    (highest.leading_zeros() / u8::BITS) as usize
}

/// Cheap test whether `bytes` may start with a frame whose first index is at least `next_index`.
fn may_begin(bytes: &[u8], next_index: u64) -> bool {
    let index = bytes.get(HEAD_BYTES..HEAD_BYTES + 8);
    let index = index.and_then(|index| index.try_into().ok().map(u64::from_le_bytes));
    let ahead = index.and_then(|index| index.checked_sub(next_index));
    ahead.is_some_and(|ahead| ahead < INDEXES_AHEAD_MAX)
}

/// Decodes the frame at an offset, like [`read`], and reads no more than its head if its checksum does not match.
fn read_at<'a>(sums: &mut RangeSums<'a>, at: usize, seed: Seed) -> Option<Frame<'a>> {
    let bytes = &sums.bytes()[at..];
    let length = content_length(bytes)?;
    let checksum = sums.append(seed.0, at + HEAD_BYTES, length);
    if u32_at(bytes, 4)? != checksum {
        return None;
    }
    read(bytes, seed)
}

/// Length behind the head of the frame at the start of `bytes`, if they are long enough.
fn content_length(bytes: &[u8]) -> Option<usize> {
    let room = bytes.len().checked_sub(HEAD_BYTES)?;
    usize_at(bytes, 0).filter(|length| (CONTENT_BYTES_MIN..=room).contains(length))
}

/// Decodes the frame at the start of `bytes`, if it is complete and its checksum matches.
pub(super) fn read(bytes: &[u8], seed: Seed) -> Option<Frame<'_>> {
    let length = content_length(bytes)?;
    let content = &bytes[HEAD_BYTES..HEAD_BYTES + length];
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
    use crate::log::range_sums::STRIDE_BYTES;

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

    /// An intact frame behind `bytes`, and the number of bytes that a search for it reads.
    fn searched(mut bytes: Vec<u8>, next_index: u64) -> (usize, usize) {
        let seed = Seed::new(99, 3);
        let mut builder = FrameBuilder::default();
        builder.begin(next_index + 1);
        builder.push(|bytes| bytes.extend_from_slice(b"intact"));
        let expected = bytes.len();
        bytes.extend_from_slice(builder.seal(seed));
        bytes.resize(bytes.len() + 100, 0);
        let mut sums = RangeSums::new(&bytes);
        let found = find(&mut sums, 1, seed, next_index);
        assert_eq!(found, Some((expected, next_index + 1)));
        (bytes.len(), sums.read_bytes)
    }

    #[test]
    fn a_search_reads_a_segment_a_bounded_number_of_times_whatever_looks_like_a_frame() {
        // Every eighth byte begins a frame of a quarter of the bytes, by its length and its index.
        let number = 1_u64 << 18;
        let frames = 1 << 17;
        let (length, read) = searched(number.to_le_bytes().repeat(frames), number);
        let read_each = 2 * STRIDE_BYTES;
        assert!(read > frames, "the frames were not checked: {read}");
        assert!(read <= 2 * length + frames * read_each, "{read} bytes");
    }

    #[test]
    fn a_search_reads_frames_of_a_recycled_segment_a_bounded_number_of_times() {
        // The checksum's last byte and the index make a larger index, and the length a larger length.
        let mut old = Vec::new();
        for index in 40_000..41_000 {
            let mut builder = FrameBuilder::default();
            builder.begin(index);
            builder.push(|bytes| bytes.extend_from_slice(&[b'x'; 500]));
            old.extend_from_slice(builder.seal(Seed::new(98, 2)));
        }
        let (length, read) = searched(old, 50_000);
        assert!(read <= 2 * length, "{read} of {length} bytes");
    }

    #[test]
    fn a_search_finds_an_intact_frame_at_every_offset_and_behind_all_bytes() {
        for next_index in [1, 1 << 20, 1 << 40, (1 << 56) - 1] {
            for filler in [0, 1, b'x', 0xff] {
                for length in 0..150 {
                    searched(vec![filler; 1 + length], next_index);
                }
            }
        }
    }
}
