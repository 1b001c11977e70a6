//! Segments of the replicated log: their header and their frames.
//!
//! ```text
//! magic      8 bytes   "lockraft"
//! format     u32       1
//! origin     u32       0 continued, 1 after a start, 2 after a snapshot
//! sequence   u64       the number in the name
//! salt       u64       chosen at random; in the checksums of the frames
//! cluster    u64
//! member     u64
//! boot       u64       number of the process start
//! index      u64       the last entry before this segment, and its term
//! term       u64
//! hard state 3 × u64   term, vote, commit before this segment
//! checksum   u32       CRC-32C of everything before
//! frames               one behind the other
//! ```
//!
//! A frame is its length (u32, of the content), a CRC-32C of salt, sequence and content, and the content: a protobuf
//! message with batches of entries and hard states. All numbers are little-endian.

use bytes::Bytes;
use prost::Message;

use crate::entry::{EntryKind, HardState, LogEntry, Position};
use crate::node::Persist;

pub(super) const HEADER_BYTES: usize = 104;
const MAGIC: &[u8; 8] = b"lockraft";
const FORMAT: u32 = 1;
/// Bytes of a frame before its content.
const FRAME_HEAD: usize = 8;

/// The name of the file of a sequence number.
pub(super) fn name(sequence: u64) -> String {
    format!("raft-{sequence:016x}.log")
}

/// The sequence number in a name, if it is one of ours.
pub(super) fn sequence_of(name: &str) -> Option<u64> {
    let digits = name.strip_prefix("raft-")?.strip_suffix(".log")?;
    (digits.len() == 16).then(|| u64::from_str_radix(digits, 16).ok())?
}

/// Reason why a segment begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Origin {
    /// The one before is full.
    Continued,
    /// The process started: the one before may end with an incomplete frame.
    Started,
    /// A snapshot replaced the log before.
    Installed,
}

/// Header of a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Header {
    pub(super) origin: Origin,
    pub(super) sequence: u64,
    pub(super) salt: u64,
    pub(super) cluster: u64,
    pub(super) member: u64,
    pub(super) boot: u64,
    pub(super) before: Position,
    pub(super) hard_state: HardState,
}

impl Header {
    pub(super) fn encode(&self) -> Bytes {
        let mut bytes = Vec::with_capacity(HEADER_BYTES);
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&FORMAT.to_le_bytes());
        let origin: u32 = match self.origin {
            Origin::Continued => 0,
            Origin::Started => 1,
            Origin::Installed => 2,
        };
        bytes.extend_from_slice(&origin.to_le_bytes());
        let HardState { term, vote, commit } = self.hard_state;
        for number in [
            self.sequence,
            self.salt,
            self.cluster,
            self.member,
            self.boot,
            self.before.index,
            self.before.term,
            term,
            vote,
            commit,
        ] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        let checksum = crc32c::crc32c(&bytes);
        bytes.extend_from_slice(&checksum.to_le_bytes());
        // Up to an even number of words.
        bytes.resize(HEADER_BYTES, 0);
        bytes.into()
    }

    /// Decodes a header; an unknown format is told by its number.
    pub(super) fn decode(bytes: &[u8]) -> Result<Self, Option<u32>> {
        let header = bytes.get(..HEADER_BYTES).ok_or(None)?;
        let (checked, checksum) = header.split_at(96);
        let small =
            |at: usize| u32::from_le_bytes(checked[at..at + 4].try_into().expect("4 bytes"));
        let number =
            |at: usize| u64::from_le_bytes(checked[at..at + 8].try_into().expect("8 bytes"));
        if checked[..8] != *MAGIC || checksum[..4] != crc32c::crc32c(checked).to_le_bytes() {
            return Err(None);
        }
        if small(8) != FORMAT {
            return Err(Some(small(8)));
        }
        Ok(Self {
            origin: match small(12) {
                0 => Origin::Continued,
                1 => Origin::Started,
                2 => Origin::Installed,
                _ => return Err(None),
            },
            sequence: number(16),
            salt: number(24),
            cluster: number(32),
            member: number(40),
            boot: number(48),
            before: Position {
                index: number(56),
                term: number(64),
            },
            hard_state: HardState {
                term: number(72),
                vote: number(80),
                commit: number(88),
            },
        })
    }

    fn seed(&self) -> u32 {
        let salt = crc32c::crc32c(&self.salt.to_le_bytes());
        crc32c::crc32c_append(salt, &self.sequence.to_le_bytes())
    }

    /// A frame for this segment.
    pub(super) fn frame(&self, writes: &[Persist]) -> Bytes {
        let frame = WireFrame {
            batches: writes.iter().map(WireBatch::from).collect(),
        };
        let mut bytes = vec![0; FRAME_HEAD];
        frame
            .encode(&mut bytes)
            .expect("a vector has room for every message");
        let length = bytes.len() - FRAME_HEAD;
        let length = u32::try_from(length).expect("a group commit is smaller than 4 GiB");
        let checksum = crc32c::crc32c_append(self.seed(), &bytes[FRAME_HEAD..]);
        bytes[..4].copy_from_slice(&length.to_le_bytes());
        bytes[4..8].copy_from_slice(&checksum.to_le_bytes());
        bytes.into()
    }

    /// The frame at the start of `bytes` and its length, if it is whole.
    pub(super) fn read_frame(&self, bytes: &[u8]) -> Option<(Vec<Batch>, usize)> {
        let end = frame_end(bytes)?;
        let content = bytes.get(FRAME_HEAD..end)?;
        let checksum = u32::from_le_bytes(bytes[4..8].try_into().ok()?);
        if crc32c::crc32c_append(self.seed(), content) != checksum {
            return None;
        }
        let frame = WireFrame::decode(content).ok()?;
        let batches: Option<Vec<_>> = frame.batches.into_iter().map(Batch::of_wire).collect();
        Some((batches?, end))
    }
}

/// Where the frame at the start of `bytes` ends by its own word.
pub(super) fn frame_end(bytes: &[u8]) -> Option<usize> {
    let length = u32::from_le_bytes(bytes.get(..4)?.try_into().ok()?);
    let length = usize::try_from(length).ok().filter(|length| *length > 0)?;
    FRAME_HEAD.checked_add(length)
}

/// Entries that were written together, and the hard state with them.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Batch {
    pub(super) hard_state: Option<HardState>,
    pub(super) entries: Vec<LogEntry>,
}

#[derive(Clone, PartialEq, Message)]
struct WireFrame {
    #[prost(message, repeated, tag = "1")]
    batches: Vec<WireBatch>,
}

#[derive(Clone, PartialEq, Message)]
struct WireBatch {
    #[prost(message, optional, tag = "1")]
    hard_state: Option<WireHardState>,
    #[prost(message, repeated, tag = "2")]
    entries: Vec<WireEntry>,
}

#[derive(Clone, Copy, PartialEq, Message)]
struct WireHardState {
    #[prost(uint64, tag = "1")]
    term: u64,
    #[prost(fixed64, tag = "2")]
    vote: u64,
    #[prost(uint64, tag = "3")]
    commit: u64,
}

#[derive(Clone, PartialEq, Message)]
struct WireEntry {
    #[prost(uint64, tag = "1")]
    index: u64,
    #[prost(uint64, tag = "2")]
    term: u64,
    #[prost(enumeration = "EntryKind", tag = "3")]
    kind: i32,
    #[prost(bytes = "bytes", tag = "4")]
    data: Bytes,
}

impl From<&Persist> for WireBatch {
    fn from(persist: &Persist) -> Self {
        let entries = persist.entries.iter().map(|entry| WireEntry {
            index: entry.position.index,
            term: entry.position.term,
            kind: entry.kind.into(),
            data: entry.data.clone(),
        });
        Self {
            hard_state: persist.hard_state.map(|state| WireHardState {
                term: state.term,
                vote: state.vote,
                commit: state.commit,
            }),
            entries: entries.collect(),
        }
    }
}

impl Batch {
    fn of_wire(wire: WireBatch) -> Option<Self> {
        let entries = wire.entries.into_iter().map(|entry| {
            Some(LogEntry {
                position: Position {
                    index: entry.index,
                    term: entry.term,
                },
                kind: EntryKind::try_from(entry.kind).ok()?,
                data: entry.data,
            })
        });
        let entries: Option<Vec<_>> = entries.collect();
        Some(Self {
            hard_state: wire.hard_state.map(|state| HardState {
                term: state.term,
                vote: state.vote,
                commit: state.commit,
            }),
            entries: entries?,
        })
    }
}
