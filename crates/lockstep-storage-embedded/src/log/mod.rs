//! The log: every command that was accepted, safe on disk before anybody sees its effect.

mod frame;
mod scan;
mod segment;

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

pub(crate) use frame::FrameBuilder;
pub use scan::LogError;
pub(crate) use scan::Scan;
use segment::HEADER_BYTES;

use crate::faults::{Faults, Step};

/// How many files that are no longer needed are kept for use as new ones.
const SPARE_FILES_MAX: usize = 2;

/// A log that can be appended to.
pub(crate) struct Log {
    folder: PathBuf,
    segment_bytes: u64,
    file: File,
    sequence: u64,
    /// Where the next frame goes.
    offset: u64,
    next_index: u64,
    /// Finished segments that may still be needed: sequence and last index, oldest first.
    finished: VecDeque<(u64, u64)>,
    /// Files of segments that are no longer needed, by their sequence.
    spare: Vec<u64>,
    faults: Faults,
}

impl Log {
    /// Goes on behind the last frame of a log without damage; what was left lying about by a crash
    /// is removed.
    pub(crate) fn resume(scan: &Scan, segment_bytes: u64, faults: &Faults) -> io::Result<Self> {
        let folder = &scan.folder;
        for sequence in scan.aside.iter().chain(&scan.unfinished) {
            fs::remove_file(segment::path(folder, *sequence))?;
        }
        let next_index = scan.next_index();
        let (sequence, offset, file) = match scan.segments.last() {
            Some(last) => {
                let path = segment::path(folder, last.sequence);
                let file = File::options().read(true).write(true).open(path)?;
                // What a process wrote before it was killed is readable and may not be safe.
                file.sync_all()?;
                (last.sequence, last.end, file)
            }
            None => {
                let place = (1, next_index);
                let file = open_segment(folder, place, segment_bytes, None, faults)?;
                (1, HEADER_BYTES, file)
            }
        };
        let finished = scan.segments.iter().rev().skip(1).rev();
        Ok(Self {
            folder: folder.clone(),
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

    /// The index that the next command gets.
    pub(crate) fn next_index(&self) -> u64 {
        self.next_index
    }

    /// Writes a frame and waits until it is safe. After an error the log must not be used: what is
    /// on disk is unknown.
    pub(crate) fn append(&mut self, frame: &mut FrameBuilder) -> io::Result<()> {
        let length = frame.len() as u64;
        if self.offset + length > self.capacity()? {
            self.rotate(length)?;
        }
        let bytes = frame.seal(self.sequence);
        self.faults.reach(Step::BeforeWrite)?;
        if self.faults.is_reached(Step::HalfWritten) {
            self.file
                .write_all_at(&bytes[..bytes.len() / 2], self.offset)?;
        }
        self.faults.reach(Step::HalfWritten)?;
        self.file.write_all_at(bytes, self.offset)?;
        self.faults.reach(Step::Written)?;
        self.file.sync_data()?;
        self.faults.reach(Step::Synced)?;
        self.offset += length;
        self.next_index = frame.next_index();
        Ok(())
    }

    /// Marks that the log was closed in order, so that damage to its last frame cannot be taken
    /// for the trace of a crash.
    pub(crate) fn close(&mut self) -> io::Result<()> {
        let mut frame = FrameBuilder::default();
        frame.begin(self.next_index);
        self.append(&mut frame)
    }

    /// Lets go of segments whose commands are all in the state up to `applied`.
    pub(crate) fn release(&mut self, applied: u64) -> io::Result<()> {
        while let Some((sequence, last_index)) = self.finished.front().copied() {
            if last_index > applied {
                break;
            }
            self.finished.pop_front();
            if self.spare.len() < SPARE_FILES_MAX {
                self.spare.push(sequence);
            } else {
                fs::remove_file(segment::path(&self.folder, sequence))?;
            }
        }
        Ok(())
    }

    fn capacity(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    /// Goes on in a new segment with room for a frame of `length`.
    fn rotate(&mut self, length: u64) -> io::Result<()> {
        let finished = (self.sequence, self.next_index - 1);
        let bytes = self.segment_bytes.max(HEADER_BYTES as u64 + length);
        let sequence = self.sequence + 1;
        let spare = if bytes == self.segment_bytes {
            self.spare.pop()
        } else {
            None
        };
        let place = (sequence, self.next_index);
        self.file = open_segment(&self.folder, place, bytes, spare, &self.faults)?;
        self.finished.push_back(finished);
        self.sequence = sequence;
        self.offset = HEADER_BYTES as u64;
        Ok(())
    }
}

/// Makes a segment ready for its first frame, out of an old file if there is one.
fn open_segment(
    folder: &Path,
    (sequence, first_index): (u64, u64),
    bytes: u64,
    spare: Option<u64>,
    faults: &Faults,
) -> io::Result<File> {
    let path = segment::path(folder, sequence);
    let file = match spare {
        Some(spare) => {
            fs::rename(segment::path(folder, spare), &path)?;
            faults.reach(Step::SegmentRenamed)?;
            File::options().read(true).write(true).open(&path)?
        }
        None => segment::create(&path, bytes)?,
    };
    faults.reach(Step::SegmentMade)?;
    segment::write_header(&file, sequence, first_index)?;
    file.sync_all()?;
    File::open(folder)?.sync_all()?;
    faults.reach(Step::SegmentReady)?;
    Ok(file)
}
