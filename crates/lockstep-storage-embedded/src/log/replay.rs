//! Reading a log back after a start.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::segment::{self, HEADER_BYTES, Header};
use super::{Log, frame, open_segment};
use crate::faults::Faults;

/// Why a log cannot be read back. Nothing was changed on disk.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The system said so.
    #[error("reading the log in `{folder}`")]
    Io {
        /// The folder.
        folder: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Bytes in front of intact ones are damaged.
    #[error("`{file}` is damaged at byte {offset}: {what}; restore it from a backup")]
    Damaged {
        /// The file.
        file: PathBuf,
        /// Where in it.
        offset: u64,
        /// What is wrong.
        what: &'static str,
    },
    /// A later version of the program wrote it.
    #[error("`{file}` has log format {found}, which this program does not know")]
    UnknownFormat {
        /// The file.
        file: PathBuf,
        /// Its format.
        found: u32,
    },
    /// A file that has to be there is not.
    #[error("`{file}` is missing; restore it from a backup")]
    Missing {
        /// The file.
        file: PathBuf,
    },
}

/// A log that was read back.
pub(crate) struct Replay {
    pub(crate) log: Log,
    /// The commands behind the state, with their indexes.
    pub(crate) commands: Vec<(u64, Vec<u8>)>,
}

impl Replay {
    /// Reads every command after the index `applied`, up to which the state has them.
    pub(crate) fn open(
        folder: &Path,
        applied: u64,
        segment_bytes: u64,
        faults: &Faults,
    ) -> Result<Self, LogError> {
        let io = |source| LogError::Io {
            folder: folder.to_owned(),
            source,
        };
        let sequences = sequences(folder).map_err(io)?;
        // Files in front of a gap were set aside for use as new ones.
        let first = sequences.windows(2).rposition(|two| two[0] + 1 != two[1]);
        let (aside, needed) = sequences.split_at(first.map_or(0, |gap| gap + 1));
        let mut reader = Reader::new(folder, applied);
        for sequence in needed {
            reader.read(*sequence, needed.last() == Some(sequence))?;
        }
        reader.check_reach(needed.last().copied())?;
        let unfinished = reader.unfinished.iter();
        for sequence in aside.iter().chain(unfinished) {
            fs::remove_file(segment::path(folder, *sequence)).map_err(io)?;
        }
        let log = reader.log(segment_bytes, faults).map_err(io)?;
        Ok(Self {
            log,
            commands: reader.commands,
        })
    }
}

fn sequences(folder: &Path) -> io::Result<Vec<u64>> {
    let mut sequences = Vec::new();
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        sequences.extend(name.to_str().and_then(segment::sequence_of));
    }
    sequences.sort_unstable();
    Ok(sequences)
}

/// Reads segments in their order.
struct Reader<'a> {
    folder: &'a Path,
    applied: u64,
    commands: Vec<(u64, Vec<u8>)>,
    /// The segments that were read.
    segments: Vec<Segment>,
    /// A last segment that was not yet used.
    unfinished: Option<u64>,
}

struct Segment {
    sequence: u64,
    first_index: u64,
    next_index: u64,
    /// Where its last frame ends.
    end: usize,
}

impl<'a> Reader<'a> {
    fn new(folder: &'a Path, applied: u64) -> Self {
        Self {
            folder,
            applied,
            commands: Vec::new(),
            segments: Vec::new(),
            unfinished: None,
        }
    }

    fn damaged(&self, sequence: u64, offset: usize, what: &'static str) -> LogError {
        LogError::Damaged {
            file: segment::path(self.folder, sequence),
            offset: offset as u64,
            what,
        }
    }

    fn read(&mut self, sequence: u64, is_last: bool) -> Result<(), LogError> {
        let file = segment::path(self.folder, sequence);
        let bytes = fs::read(&file).map_err(|source| LogError::Io {
            folder: self.folder.to_owned(),
            source,
        })?;
        let expected = self.segments.last().map(|segment| segment.next_index);
        let first_index = match segment::read_header(&bytes, sequence) {
            Header::Right { first_index } => first_index,
            Header::UnknownFormat { found } => return Err(LogError::UnknownFormat { file, found }),
            // Without frames behind it, nobody can have relied on what a half written header says.
            Header::Unfinished | Header::Damaged => {
                let next_index = expected.unwrap_or(self.applied + 1);
                if !is_last || holds_frame(&bytes, HEADER_BYTES, sequence, next_index) {
                    return Err(self.damaged(sequence, 0, "the header of the segment is wrong"));
                }
                self.unfinished = Some(sequence);
                return Ok(());
            }
        };
        if let Some(before) = self.segments.last()
            && before.next_index != first_index
        {
            let what = "the last frames of the segment are damaged";
            return Err(self.damaged(before.sequence, before.end, what));
        }
        let segment = self.read_frames(&bytes, sequence, first_index)?;
        self.segments.push(segment);
        Ok(())
    }

    fn read_frames(
        &mut self,
        bytes: &[u8],
        sequence: u64,
        first_index: u64,
    ) -> Result<Segment, LogError> {
        let (mut at, mut next_index) = (HEADER_BYTES, first_index);
        while let Some(frame) = frame::read(&bytes[at..], sequence) {
            if frame.first_index != next_index {
                return Err(self.damaged(sequence, at, "a frame has the wrong index"));
            }
            for command in frame.commands {
                if next_index > self.applied {
                    self.commands.push((next_index, command.to_vec()));
                }
                next_index += 1;
            }
            at += frame.length;
        }
        if holds_frame(bytes, at + 1, sequence, next_index) {
            let what = "a frame is damaged and intact ones follow";
            return Err(self.damaged(sequence, at, what));
        }
        Ok(Segment {
            sequence,
            first_index,
            next_index,
            end: at,
        })
    }

    /// Everything between the state and the end of the log has to be in the log.
    fn check_reach(&self, newest: Option<u64>) -> Result<(), LogError> {
        let missing = |sequence| LogError::Missing {
            file: segment::path(self.folder, sequence),
        };
        match (self.segments.first(), self.segments.last()) {
            (Some(first), _) if first.first_index > self.applied + 1 => {
                Err(missing(first.sequence.saturating_sub(1)))
            }
            (_, Some(last)) if last.next_index <= self.applied => {
                let what = "the state has commands that the log has not";
                Err(self.damaged(last.sequence, last.end, what))
            }
            (None, _) if self.applied > 0 => Err(missing(newest.unwrap_or(1))),
            _ => Ok(()),
        }
    }

    /// The log, ready to go on behind its last frame.
    fn log(&self, segment_bytes: u64, faults: &Faults) -> io::Result<Log> {
        let (sequence, next_index, offset, file) = match self.segments.last() {
            Some(last) => {
                let path = segment::path(self.folder, last.sequence);
                let file = File::options().read(true).write(true).open(path)?;
                (last.sequence, last.next_index, last.end, file)
            }
            None => {
                let place = (1, self.applied + 1);
                let file = open_segment(self.folder, place, segment_bytes, None, faults)?;
                (1, self.applied + 1, HEADER_BYTES, file)
            }
        };
        let finished = self.segments.iter().rev().skip(1).rev();
        Ok(Log {
            folder: self.folder.to_owned(),
            segment_bytes,
            file,
            sequence,
            offset: offset as u64,
            next_index,
            finished: finished
                .map(|segment| (segment.sequence, segment.next_index - 1))
                .collect(),
            spare: Vec::new(),
            faults: faults.clone(),
        })
    }
}

/// Whether a whole frame of this segment begins at or behind `from`.
fn holds_frame(bytes: &[u8], from: usize, sequence: u64, next_index: u64) -> bool {
    (from..bytes.len()).any(|at| {
        let rest = &bytes[at..];
        frame::may_begin(rest, next_index) && frame::read(rest, sequence).is_some()
    })
}
