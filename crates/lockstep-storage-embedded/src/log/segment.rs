//! One file of the log.
//!
//! ```text
//! magic     8 bytes  "lockslog"
//! format    u32      1
//! reserved  u32      0
//! sequence  u64      the number in the file's name
//! first     u64      the index of its first command
//! checksum  u32      CRC-32C of all bytes before
//! zeros              up to byte 64
//! frames             one behind the other; behind the last: zeros, or what the file held before
//! ```

use std::io;

use super::frame;
use crate::disk::DiskFile;

pub(super) const HEADER_BYTES: usize = 64;
const CHECKED_BYTES: usize = 32;
const MAGIC: &[u8; 8] = b"lockslog";
const FORMAT: u32 = 1;

/// The name of the file of a sequence number.
pub(super) fn name(sequence: u64) -> String {
    format!("log-{sequence:016x}.seg")
}

/// The sequence number in a file's name, if it is one of ours.
pub(super) fn sequence_of(name: &str) -> Option<u64> {
    let digits = name.strip_prefix("log-")?.strip_suffix(".seg")?;
    (digits.len() == 16).then(|| u64::from_str_radix(digits, 16).ok())?
}

/// Writes `bytes` zeros, so that all of the file is really there and appending changes no size.
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

pub(super) fn write_header(file: &DiskFile, sequence: u64, first_index: u64) -> io::Result<()> {
    let mut header = [0; HEADER_BYTES];
    header[0..8].copy_from_slice(MAGIC);
    header[8..12].copy_from_slice(&FORMAT.to_le_bytes());
    header[16..24].copy_from_slice(&sequence.to_le_bytes());
    header[24..32].copy_from_slice(&first_index.to_le_bytes());
    let checksum = crc32c::crc32c(&header[..CHECKED_BYTES]);
    header[CHECKED_BYTES..CHECKED_BYTES + 4].copy_from_slice(&checksum.to_le_bytes());
    // The first frame of a recycled file must not be mistaken while the new one is not there yet;
    // its checksum takes care of that. Zeros make it plain to people.
    file.write(0, &header)?;
    file.write(HEADER_BYTES as u64, &[0; frame::HEAD_BYTES])
}

/// What the header of a segment says.
#[derive(PartialEq, Eq, Debug)]
pub(super) enum Header {
    /// It is the one that belongs there.
    Right { first_index: u64 },
    /// It is of another segment or was never finished: making this one was interrupted.
    Unfinished,
    /// It is of a format that this program does not know.
    UnknownFormat { found: u32 },
    /// It is damaged.
    Damaged,
}

pub(super) fn read_header(bytes: &[u8], sequence: u64) -> Header {
    let Some(header) = bytes.get(..HEADER_BYTES) else {
        return Header::Unfinished;
    };
    if header.iter().all(|byte| *byte == 0) {
        return Header::Unfinished;
    }
    let number = |at: usize| -> u64 {
        let mut number = [0; 8];
        number.copy_from_slice(&header[at..at + 8]);
        u64::from_le_bytes(number)
    };
    let checksum = crc32c::crc32c(&header[..CHECKED_BYTES]);
    if header[0..8] != *MAGIC || number(CHECKED_BYTES) != u64::from(checksum) {
        return Header::Damaged;
    }
    // Format and the reserved zeros behind it.
    match u32::try_from(number(8)) {
        Ok(FORMAT) => {}
        found => {
            let found = found.unwrap_or(u32::MAX);
            return Header::UnknownFormat { found };
        }
    }
    if number(16) == sequence {
        let first_index = number(24);
        Header::Right { first_index }
    } else {
        Header::Unfinished
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Faults;
    use crate::disk::{Disk, Waiting};

    #[test]
    fn a_known_header_has_these_bytes_for_ever() {
        let folder = tempfile::tempdir().unwrap();
        let file = Disk::new(folder.path(), Faults::default(), Waiting::ForDisk).make("segment");
        write_header(&file.unwrap(), 3, 7).unwrap();
        let bytes = std::fs::read(folder.path().join("segment")).unwrap();
        let hex: String = bytes[..40]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        assert_eq!(
            hex,
            "6c6f636b736c6f670100000000000000030000000000000007000000000000004b0404a800000000"
        );
        assert_eq!(bytes[40..], [0; 32]);
        assert_eq!(read_header(&bytes, 3), Header::Right { first_index: 7 });
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
