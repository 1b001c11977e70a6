//! Read-only scan of the log.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use super::frame::{self, Seed};
use super::range_sums::RangeSums;
use super::segment::{self, HEADER_BYTES, Header};

const WRONG_HEADER: &str = "the header of the segment is wrong";

/// Errors of reading the log. Nothing on disk was changed.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// An I/O error.
    #[error("reading the log in `{folder}`: {source}")]
    Io {
        /// The folder.
        folder: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// Damage in front of intact frames.
    #[error("`{file}` is damaged at byte {offset}: {what}; restore it from a backup")]
    Damaged {
        /// The file.
        file: PathBuf,
        /// Offset of the damage.
        offset: u64,
        /// Description of the damage.
        what: &'static str,
    },
    /// The log was written by a newer version.
    #[error(
        "`{file}` has log format {found}: it was written by a newer lockstep; start that version"
    )]
    UnknownFormat {
        /// The file.
        file: PathBuf,
        /// Its format.
        found: u32,
    },
    /// A required segment is missing.
    #[error("`{file}` is missing; restore it from a backup")]
    Missing {
        /// The file.
        file: PathBuf,
    },
}

/// A command of the log.
pub(crate) struct Logged {
    pub(crate) index: u64,
    pub(crate) bytes: Vec<u8>,
    /// Sequence of its segment.
    pub(crate) sequence: u64,
    /// Offset of its frame.
    pub(crate) offset: u64,
}

/// A scanned segment.
pub(crate) struct Segment {
    pub(crate) sequence: u64,
    pub(crate) first_index: u64,
    pub(crate) next_index: u64,
    /// Initial checksum value of its frames.
    pub(super) seed: Seed,
    /// Offset of the end of its last frame, or of the header if its frames were not read.
    pub(crate) end: usize,
    /// True if the last frame is a closing frame.
    pub(crate) is_closed: bool,
}

/// Header of a segment, as far as a scan needs it.
#[derive(Clone, Copy)]
struct Start {
    first_index: u64,
    seed: Seed,
}

/// Result of a scan.
pub(crate) struct Scan {
    pub(crate) folder: PathBuf,
    /// Index of the last command in the state.
    pub(crate) applied: u64,
    /// Commands after `skipped`.
    pub(crate) commands: Vec<Logged>,
    /// Segments with commands, in order.
    pub(crate) segments: Vec<Segment>,
    /// Released files kept for recycling.
    pub(crate) aside: Vec<u64>,
    /// A last segment whose creation was interrupted.
    pub(crate) unfinished: Option<u64>,
    /// All errors, in log order.
    pub(crate) errors: Vec<LogError>,
    /// Commands up to this index are not collected.
    skipped: u64,
}

impl Scan {
    /// Scans the segments. `applied` is the index of the last command in the state; only commands after `skipped` are
    /// collected, and segments that end before them are not read.
    pub(crate) fn read(folder: &Path, applied: u64, skipped: u64) -> Result<Self, LogError> {
        let io = |source| LogError::Io {
            folder: folder.to_owned(),
            source,
        };
        let sequences = sequences(folder).map_err(io)?;
        // Files before a gap are released ones.
        let first = sequences.windows(2).rposition(|two| two[0] + 1 != two[1]);
        let (aside, needed) = sequences.split_at(first.map_or(0, |gap| gap + 1));
        let mut scan = Self {
            folder: folder.to_owned(),
            applied,
            commands: Vec::new(),
            segments: Vec::new(),
            aside: aside.to_vec(),
            unfinished: None,
            errors: Vec::new(),
            skipped,
        };
        let starts = needed.iter().map(|sequence| scan.start_of(*sequence));
        let starts = starts.collect::<io::Result<Vec<_>>>().map_err(io)?;
        let is_reached =
            |start: &Option<Start>| start.is_some_and(|it| it.first_index <= skipped + 1);
        let first_read = starts.iter().rposition(is_reached).unwrap_or_default();
        for (nth, sequence) in needed.iter().enumerate() {
            if nth < first_read
                && let (Some(start), Some(next)) = (starts[nth], starts[nth + 1])
            {
                scan.pass_over(*sequence, start, next);
                continue;
            }
            let bytes = fs::read(scan.file(*sequence)).map_err(io)?;
            scan.read_segment(&bytes, *sequence, needed.last() == Some(sequence));
        }
        if scan.errors.is_empty() {
            scan.check_reach(needed.last().copied());
        }
        Ok(scan)
    }

    /// The file of a segment.
    pub(crate) fn file(&self, sequence: u64) -> PathBuf {
        self.folder.join(segment::name(sequence))
    }

    /// The index that the next command gets.
    pub(crate) fn next_index(&self) -> u64 {
        let last = self.segments.last();
        last.map_or(self.applied + 1, |segment| segment.next_index)
    }

    /// Start of a segment by its header, if that is right.
    fn start_of(&self, sequence: u64) -> io::Result<Option<Start>> {
        let mut bytes = Vec::with_capacity(HEADER_BYTES);
        let file = fs::File::open(self.file(sequence))?;
        file.take(HEADER_BYTES as u64).read_to_end(&mut bytes)?;
        Ok(match segment::read_header(&bytes, sequence) {
            Header::Right { first_index, seed } => Some(Start { first_index, seed }),
            _ => None,
        })
    }

    /// Adds a segment without reading its frames.
    fn pass_over(&mut self, sequence: u64, start: Start, next: Start) {
        self.segments.push(Segment {
            sequence,
            first_index: start.first_index,
            next_index: next.first_index,
            seed: start.seed,
            end: HEADER_BYTES,
            is_closed: false,
        });
    }

    fn damaged(&mut self, sequence: u64, offset: usize, what: &'static str) {
        self.errors.push(LogError::Damaged {
            file: self.file(sequence),
            offset: offset as u64,
            what,
        });
    }

    fn read_segment(&mut self, bytes: &[u8], sequence: u64, is_last: bool) {
        let expected = self.segments.last().map(|segment| segment.next_index);
        let (first_index, seed) = match segment::read_header(bytes, sequence) {
            Header::Right { first_index, seed } => (first_index, seed),
            Header::UnknownFormat { found } => {
                let file = self.file(sequence);
                self.errors.push(LogError::UnknownFormat { file, found });
                return;
            }
            Header::Unfinished if is_last => {
                self.unfinished = Some(sequence);
                return;
            }
            // Report the error and scan on, so that all damage is reported.
            Header::Unfinished => {
                self.damaged(sequence, 0, WRONG_HEADER);
                (
                    expected.unwrap_or(self.applied + 1),
                    Seed::without_salt(sequence),
                )
            }
            Header::Damaged { seeds } => {
                self.damaged(sequence, 0, WRONG_HEADER);
                let next_index = expected.unwrap_or(self.applied + 1);
                let mut sums = RangeSums::new(bytes);
                let mut fits =
                    |seed: &Seed| frame::find(&mut sums, HEADER_BYTES, *seed, next_index);
                let seed = seeds.into_iter().find(|seed| fits(seed).is_some());
                (next_index, seed.unwrap_or(seeds[0]))
            }
        };
        let before = self.segments.last();
        if let Some((before, end)) = before.map(|before| (before.sequence, before.end))
            && expected != Some(first_index)
        {
            self.damaged(before, end, "the last frames of the segment are damaged");
        }
        let segment = self.read_frames(bytes, sequence, first_index, seed);
        self.segments.push(segment);
    }

    /// Scans past damage to report all of it.
    fn read_frames(
        &mut self,
        bytes: &[u8],
        sequence: u64,
        first_index: u64,
        seed: Seed,
    ) -> Segment {
        let (mut at, mut next_index, mut is_closed) = (HEADER_BYTES, first_index, false);
        let mut sums = RangeSums::new(bytes);
        loop {
            while let Some(frame) = frame::read(&bytes[at.min(bytes.len())..], seed) {
                if frame.first_index != next_index {
                    self.damaged(sequence, at, "a frame has the wrong index");
                    next_index = frame.first_index;
                }
                is_closed = frame.commands.is_empty();
                for command in frame.commands {
                    self.keep(next_index, command, sequence, at);
                    next_index += 1;
                }
                at += frame.length;
            }
            let Some(intact) = frame::find(&mut sums, at + 1, seed, next_index) else {
                break;
            };
            self.damaged(sequence, at, "a frame is damaged and intact ones follow");
            (at, next_index) = intact;
        }
        Segment {
            sequence,
            first_index,
            next_index,
            seed,
            end: at,
            is_closed,
        }
    }

    fn keep(&mut self, index: u64, command: &[u8], sequence: u64, offset: usize) {
        if index > self.skipped {
            self.commands.push(Logged {
                index,
                bytes: command.to_vec(),
                sequence,
                offset: offset as u64,
            });
        }
    }

    /// Checks that no command between the state and the end of the log is missing.
    fn check_reach(&mut self, newest: Option<u64>) {
        let missing = |sequence| LogError::Missing {
            file: self.file(sequence),
        };
        match (self.segments.first(), self.segments.last()) {
            (Some(first), _) if first.first_index > self.applied + 1 => {
                self.errors.push(missing(first.sequence.saturating_sub(1)));
            }
            (_, Some(last)) if last.next_index <= self.applied => {
                let what = "the state has commands that the log has not";
                self.damaged(last.sequence, last.end, what);
            }
            (None, _) if self.applied > 0 => self.errors.push(missing(newest.unwrap_or(1))),
            _ => {}
        }
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
