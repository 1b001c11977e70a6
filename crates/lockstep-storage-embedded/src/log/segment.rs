//! One file of the log.
//!
//! ```text
//! magic     8 bytes  "lockslog"
//! format    u32      2
//! reserved  u32      0
//! sequence  u64      the number in the file's name
//! first     u64      the index of its first command
//! salt      u64      chosen at random; in the checksums of the frames
//! checksum  u32      CRC-32C of all bytes before
//! zeros              up to byte 64
//! frames             one behind the other; behind the last: zeros, or what the file held before
//! ```
//!
//! Format 1 has no salt, and its checksum in the place of the salt. Its segments are read and filled
//! up, never made.

use std::io;

use super::frame::{self, Seed};
use crate::disk::DiskFile;

pub(super) const HEADER_BYTES: usize = 64;
const MAGIC: &[u8; 8] = b"lockslog";
const FORMAT: u64 = 2;
/// Number of bytes covered by the checksum, which follows them.
const CHECKED_BYTES: usize = 40;
const FORMAT_WITHOUT_SALT: u64 = 1;
const CHECKED_BYTES_WITHOUT_SALT: usize = 32;

/// The name of the file of a sequence number.
pub(super) fn name(sequence: u64) -> String {
    format!("log-{sequence:016x}.seg")
}

/// The sequence number in a file's name, if it is one of ours.
pub(super) fn sequence_of(name: &str) -> Option<u64> {
    let digits = name.strip_prefix("log-")?.strip_suffix(".seg")?;
    (digits.len() == 16).then(|| u64::from_str_radix(digits, 16).ok())?
}

/// Preallocates the file with zeros, so that appending changes no metadata.
pub(super) fn fill(file: &DiskFile, bytes: u64) -> io::Result<()> {
    static PIECE: [u8; 1 << 16] = [0; 1 << 16];
    let mut at = 0;
    while at < bytes {
        let left = usize::try_from(bytes - at).unwrap_or(usize::MAX);
        let piece = &PIECE[..left.min(PIECE.len())];
        file.write(at, piece)?;
        at += piece.len() as u64;
    }
    Ok(())
}

/// Identity of a new segment.
#[derive(Clone, Copy)]
pub(super) struct NewSegment {
    pub(super) sequence: u64,
    pub(super) first_index: u64,
    pub(super) salt: u64,
}

impl NewSegment {
    pub(super) fn seed(self) -> Seed {
        Seed::new(self.salt, self.sequence)
    }
}

pub(super) fn write_header(file: &DiskFile, new_segment: NewSegment) -> io::Result<()> {
    let mut header = [0; HEADER_BYTES];
    header[0..8].copy_from_slice(MAGIC);
    header[8..16].copy_from_slice(&FORMAT.to_le_bytes());
    header[16..24].copy_from_slice(&new_segment.sequence.to_le_bytes());
    header[24..32].copy_from_slice(&new_segment.first_index.to_le_bytes());
    header[32..40].copy_from_slice(&new_segment.salt.to_le_bytes());
    let checksum = crc32c::crc32c(&header[..CHECKED_BYTES]);
    header[CHECKED_BYTES..CHECKED_BYTES + 4].copy_from_slice(&checksum.to_le_bytes());
    // Clearing the first frame head is not needed for safety, the sequence in checksums invalidates old frames; it
    // makes an empty segment obvious in a hex dump.
    file.write(0, &header)?;
    file.write(HEADER_BYTES as u64, &[0; frame::HEAD_BYTES])
}

/// Decoded header of a segment.
#[derive(PartialEq, Eq, Debug)]
pub(super) enum Header {
    /// A valid header.
    Right { first_index: u64, seed: Seed },
    /// The header of another segment or none: creation was interrupted before the first frame, because the header
    /// is fsynced before that. The header fits one sector, so it is never torn.
    Unfinished,
    /// An unknown format version.
    UnknownFormat { found: u32 },
    /// A damaged header, with the possible seeds of the frames.
    Damaged { seeds: [Seed; 2] },
}

pub(super) fn read_header(bytes: &[u8], sequence: u64) -> Header {
    if bytes.iter().all(|byte| *byte == 0) {
        return Header::Unfinished;
    }
    let damaged = Header::Damaged {
        seeds: [
            Seed::new(number_at(bytes, 32).unwrap_or_default(), sequence),
            Seed::without_salt(sequence),
        ],
    };
    let Some(header) = bytes.get(..HEADER_BYTES) else {
        return damaged;
    };
    if header[0..8] != *MAGIC {
        return damaged;
    }
    let number = |at| number_at(header, at).unwrap_or_default();
    let is_whole =
        |checked: usize| number(checked) == u64::from(crc32c::crc32c(&header[..checked]));
    // With the reserved zeros behind it.
    let format = number(8);
    let seed = match format {
        FORMAT if is_whole(CHECKED_BYTES) => Seed::new(number(32), sequence),
        FORMAT_WITHOUT_SALT if is_whole(CHECKED_BYTES_WITHOUT_SALT) => Seed::without_salt(sequence),
        FORMAT | FORMAT_WITHOUT_SALT => return damaged,
        // A newer format may have its checksum elsewhere, so either position is accepted.
        _ if is_whole(CHECKED_BYTES) || is_whole(CHECKED_BYTES_WITHOUT_SALT) => {
            let found = u32::try_from(format).unwrap_or(u32::MAX);
            return Header::UnknownFormat { found };
        }
        _ => return damaged,
    };
    if number(16) != sequence {
        return Header::Unfinished;
    }
    let first_index = number(24);
    Header::Right { first_index, seed }
}

fn number_at(bytes: &[u8], at: usize) -> Option<u64> {
    let number = bytes.get(at..at + 8)?;
    number.try_into().ok().map(u64::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Faults;
    use crate::disk::{Disk, Durability};

    #[test]
    fn a_known_header_has_these_bytes_for_ever() {
        let folder = tempfile::tempdir().unwrap();
        let file = Disk::new(folder.path(), Faults::default(), Durability::Fsync).make("segment");
        let new_segment = NewSegment {
            sequence: 3,
            first_index: 7,
            salt: 0x0123_4567_89ab_cdef,
        };
        write_header(&file.unwrap(), new_segment).unwrap();
        let bytes = std::fs::read(folder.path().join("segment")).unwrap();
        let hex: String = bytes[..48]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        assert_eq!(
            hex,
            "6c6f636b736c6f67020000000000000003000000000000000700000000000000efcdab8967452301c3785c0700000000"
        );
        assert_eq!(bytes[48..], [0; 24]);
        let right = Header::Right {
            first_index: 7,
            seed: new_segment.seed(),
        };
        assert_eq!(read_header(&bytes, 3), right);
        assert_eq!(read_header(&bytes, 4), Header::Unfinished);
    }

    #[test]
    fn a_known_header_of_format_1_is_read_for_ever() {
        let hex =
            "6c6f636b736c6f670100000000000000030000000000000007000000000000004b0404a800000000";
        let byte = |at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
        let mut bytes: Vec<_> = (0..hex.len()).step_by(2).map(byte).collect();
        bytes.resize(100, 0);
        let right = Header::Right {
            first_index: 7,
            seed: Seed::without_salt(3),
        };
        assert_eq!(read_header(&bytes, 3), right);
        assert_eq!(read_header(&bytes, 4), Header::Unfinished);
    }

    #[test]
    fn only_our_names_are_segments() {
        assert_eq!(sequence_of(&name(0x1f)), Some(0x1f));
        for other in [
            "log-1.seg",
            "log-000000000000001g.seg",
            "state.redb",
            "log-0000000000000001",
        ] {
            assert_eq!(sequence_of(other), None, "{other}");
        }
    }
}
