//! The log: every command that was accepted, safe on disk before anybody sees its effect.

mod frame;
mod scan;
mod segment;

use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::sync::Arc;

pub(crate) use frame::FrameBuilder;
use frame::Seed;
pub use scan::LogError;
pub(crate) use scan::Scan;
use segment::{Birth, HEADER_BYTES};

use crate::disk::{Disk, DiskFile};
use crate::faults::Step;
use crate::histogram::Histogram;
use crate::queue::Clock;

/// What durations of the disk are told apart by: doubling from a millisecond to eight seconds.
pub(crate) const TIMES_MICROS: &[u64] = &[
    1000, 2000, 4000, 8000, 16_000, 32_000, 64_000, 128_000, 256_000, 512_000, 1_024_000,
    2_048_000, 4_096_000, 8_192_000,
];

/// How many files that are no longer needed are kept for use as new ones.
const SPARE_FILES_MAX: usize = 2;

/// A log that can be appended to.
pub(crate) struct Log {
    disk: Disk,
    segment_bytes: u64,
    file: DiskFile,
    /// The length of the file.
    file_bytes: u64,
    seed: Seed,
    sequence: u64,
    /// Where the next frame goes.
    offset: u64,
    next_index: u64,
    /// Finished segments that may still be needed: sequence and last index, oldest first.
    finished: VecDeque<(u64, u64)>,
    /// Files of segments that are no longer needed, by their sequence.
    spare: Vec<u64>,
    /// How long the disk took for each frame.
    sync_times: Arc<Histogram>,
}

impl Log {
    /// Goes on behind the last frame of a log without damage; what was left lying about by a crash
    /// is removed.
    pub(crate) fn resume(scan: &Scan, disk: &Disk, segment_bytes: u64) -> io::Result<Self> {
        for sequence in scan.aside.iter().chain(&scan.unfinished) {
            disk.remove(&segment::name(*sequence))?;
        }
        let next_index = scan.next_index();
        let (sequence, offset, seed, file) = match scan.segments.last() {
            Some(last) => {
                let file = disk.open(&segment::name(last.sequence))?;
                // What a process wrote before it was killed is readable and may not be safe.
                file.sync()?;
                (last.sequence, last.end, last.seed, file)
            }
            None => {
                let birth = birth(1, next_index);
                let file = open_segment(disk, birth, segment_bytes, None)?;
                (birth.sequence, HEADER_BYTES, birth.seed(), file)
            }
        };
        let finished = scan.segments.iter().rev().skip(1).rev();
        Ok(Self {
            disk: disk.clone(),
            segment_bytes,
            file_bytes: file.len()?,
            file,
            seed,
            sequence,
            offset: offset as u64,
            next_index,
            finished: finished
                .map(|segment| (segment.sequence, segment.next_index - 1))
                .collect(),
            spare: Vec::new(),
            sync_times: Arc::new(Histogram::new(TIMES_MICROS)),
        })
    }

    /// The index that the next command gets.
    pub(crate) fn next_index(&self) -> u64 {
        self.next_index
    }

    pub(crate) fn sync_times(&self) -> &Arc<Histogram> {
        &self.sync_times
    }

    /// Writes a frame and waits until it is safe. After an error the log must not be used: what is
    /// on disk is unknown.
    pub(crate) fn append(&mut self, frame: &mut FrameBuilder) -> io::Result<()> {
        let length = frame.len() as u64;
        if self.offset + length > self.file_bytes {
            self.rotate(length)?;
        }
        let bytes = frame.seal(self.seed);
        self.disk.faults.reach(Step::BeforeWrite)?;
        if self.disk.faults.is_reached(Step::HalfWritten) {
            self.file.write(self.offset, &bytes[..bytes.len() / 2])?;
        }
        self.disk.faults.reach(Step::HalfWritten)?;
        self.file.write(self.offset, bytes)?;
        self.disk.faults.reach(Step::Written)?;
        let (synced, took) = Clock::timed(|| self.file.sync());
        synced?;
        self.sync_times.observe(took);
        self.disk.faults.reach(Step::Synced)?;
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
                self.disk.remove(&segment::name(sequence))?;
            }
        }
        Ok(())
    }

    /// Goes on in a new segment with room for a frame of `length`.
    fn rotate(&mut self, length: u64) -> io::Result<()> {
        let finished = (self.sequence, self.next_index - 1);
        let bytes = self.segment_bytes.max(HEADER_BYTES as u64 + length);
        let birth = birth(self.sequence + 1, self.next_index);
        let spare = if bytes == self.segment_bytes {
            self.spare.pop()
        } else {
            None
        };
        self.file = open_segment(&self.disk, birth, bytes, spare)?;
        self.file_bytes = self.file.len()?;
        self.finished.push_back(finished);
        self.sequence = birth.sequence;
        self.seed = birth.seed();
        self.offset = HEADER_BYTES as u64;
        Ok(())
    }
}

/// A segment with a salt that nobody knows before it is made.
fn birth(sequence: u64, first_index: u64) -> Birth {
    // The standard library keys every hasher from the system's randomness.
    let salt = RandomState::new().hash_one(sequence);
    Birth {
        sequence,
        first_index,
        salt,
    }
}

/// Makes a segment ready for its first frame, out of an old file if there is one.
fn open_segment(disk: &Disk, birth: Birth, bytes: u64, spare: Option<u64>) -> io::Result<DiskFile> {
    let name = segment::name(birth.sequence);
    let file = match spare {
        Some(spare) => {
            disk.rename(&segment::name(spare), &name)?;
            // Under its old name, the file must never be found with a new header.
            disk.sync_names()?;
            disk.faults.reach(Step::SegmentRenamed)?;
            disk.open(&name)?
        }
        None => {
            let file = disk.make(&name)?;
            segment::fill(&file, bytes)?;
            file
        }
    };
    disk.faults.reach(Step::SegmentMade)?;
    segment::write_header(&file, birth)?;
    file.sync()?;
    if spare.is_none() {
        disk.sync_names()?;
    }
    disk.faults.reach(Step::SegmentReady)?;
    Ok(file)
}
