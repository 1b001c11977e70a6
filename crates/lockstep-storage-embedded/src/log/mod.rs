//! Write-ahead log: a command is durable here before its effect becomes visible.

mod frame;
mod range_sums;
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
use segment::{HEADER_BYTES, NewSegment};

use crate::disk::{Disk, DiskFile};
use crate::faults::{Step, is_stopped};
use crate::histogram::Histogram;
use crate::queue::Clock;

/// Bucket bounds of disk latencies: doubling from one millisecond to eight seconds.
pub(crate) const TIMES_MICROS: &[u64] = &[
    1000, 2000, 4000, 8000, 16_000, 32_000, 64_000, 128_000, 256_000, 512_000, 1_024_000,
    2_048_000, 4_096_000, 8_192_000,
];

/// Name of a segment that is made after a failed fsync.
const UNFINISHED_FILE: &str = "log.new";

/// Released segment files kept for recycling: one is enough, since a segment is released a second after it is full. With
/// it, the log of a store of any age takes twice the disk of a new one.
const SPARE_FILES_MAX: usize = 1;

/// Errors of [`Log::append`].
#[derive(Debug)]
pub(crate) enum AppendError {
    /// The frame is not in the log, and a later one takes its place.
    NotWritten(io::Error),
    /// The frame is written and may not be durable. Another fsync could succeed although the kernel has dropped the
    /// data, so nothing more may be appended to this segment: see [`Log::start_over`].
    NotSynced(io::Error),
    /// A test stopped the store.
    Stopped(io::Error),
}

impl AppendError {
    pub(crate) fn into_source(self) -> io::Error {
        match self {
            Self::NotWritten(error) | Self::NotSynced(error) | Self::Stopped(error) => error,
        }
    }

    pub(crate) fn source(&self) -> &io::Error {
        match self {
            Self::NotWritten(error) | Self::NotSynced(error) | Self::Stopped(error) => error,
        }
    }

    fn of_write(error: io::Error) -> Self {
        if is_stopped(&error) {
            Self::Stopped(error)
        } else {
            Self::NotWritten(error)
        }
    }
}

/// A log that can be appended to.
pub(crate) struct Log {
    disk: Disk,
    segment_bytes: u64,
    file: DiskFile,
    /// The length of the file.
    file_bytes: u64,
    seed: Seed,
    sequence: u64,
    /// Offset of the next frame.
    offset: u64,
    next_index: u64,
    /// True if the next frame needs a new segment, although a small one might fit into this one: a segment with its
    /// first index may exist already.
    is_full: bool,
    /// Full segments not yet covered by the state: sequence and last index, oldest first.
    finished: VecDeque<(u64, u64)>,
    /// Released segment files, by sequence.
    spare: Vec<u64>,
    /// Fsync durations of frames.
    sync_times: Arc<Histogram>,
}

impl Log {
    /// Continues after the last frame of an undamaged log, and removes leftovers of a crash.
    pub(crate) fn resume(scan: &Scan, disk: &Disk, segment_bytes: u64) -> io::Result<Self> {
        for sequence in scan.aside.iter().chain(&scan.unfinished) {
            disk.remove(&segment::name(*sequence))?;
        }
        let next_index = scan.next_index();
        let (sequence, offset, seed, file) = match scan.segments.last() {
            Some(last) => {
                let file = disk.open(&segment::name(last.sequence))?;
                // Data of a killed process may be readable without being durable.
                file.sync()?;
                (last.sequence, last.end, last.seed, file)
            }
            None => {
                let new_segment = new_segment(1, next_index);
                let file = open_segment(disk, new_segment, segment_bytes, None)?;
                (new_segment.sequence, HEADER_BYTES, new_segment.seed(), file)
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
            is_full: false,
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

    /// Appends a frame and fsyncs it.
    ///
    /// A frame that could not be written whole leaves the log as it was: its checksum cannot match, and the next
    /// frame is written over it.
    pub(crate) fn append(&mut self, frame: &mut FrameBuilder) -> Result<(), AppendError> {
        let length = frame.len() as u64;
        self.is_full |= self.offset + length > self.file_bytes;
        if self.is_full {
            self.rotate(length).map_err(AppendError::of_write)?;
        }
        self.write(frame).map_err(AppendError::of_write)?;
        let (synced, took) = Clock::timed(|| self.file.sync());
        synced.map_err(AppendError::NotSynced)?;
        self.sync_times.observe(took);
        let faults = &self.disk.faults;
        faults.reach(Step::Synced).map_err(AppendError::Stopped)?;
        self.offset += length;
        self.next_index = frame.next_index();
        Ok(())
    }

    fn write(&self, frame: &mut FrameBuilder) -> io::Result<()> {
        let bytes = frame.seal(self.seed);
        self.disk.faults.reach(Step::BeforeWrite)?;
        if self.disk.faults.is_reached(Step::HalfWritten) {
            self.file.write(self.offset, &bytes[..bytes.len() / 2])?;
        }
        self.disk.faults.reach(Step::HalfWritten)?;
        self.file.write(self.offset, bytes)?;
        self.disk.faults.reach(Step::Written)
    }

    /// Abandons the segment after a failed fsync and starts another one. The state must have all commands.
    ///
    /// The new segment leaves a gap in the sequence, by which a start knows that all files before are released. It gets
    /// its name last, when it is complete: without it, the old segment is still the end of the log.
    pub(crate) fn start_over(&mut self) -> io::Result<()> {
        let new_segment = new_segment(self.sequence + 2, self.next_index);
        let name = segment::name(new_segment.sequence);
        let file = self.disk.make(UNFINISHED_FILE)?;
        segment::fill(&file, self.segment_bytes)?;
        segment::write_header(&file, new_segment)?;
        file.sync()?;
        drop(file);
        self.disk.rename(UNFINISHED_FILE, &name)?;
        self.disk.sync_names()?;
        let abandoned = self.sequence;
        self.enter(new_segment, self.disk.open(&name)?)?;
        // A start removes the file if it stays now.
        drop(self.disk.remove(&segment::name(abandoned)));
        Ok(())
    }

    /// Appends a closing frame, so that later damage to the last frame is not mistaken for a torn write.
    pub(crate) fn close(&mut self) -> Result<(), AppendError> {
        let mut frame = FrameBuilder::default();
        frame.begin(self.next_index);
        self.append(&mut frame)
    }

    /// Releases segments whose commands are all covered by the state. One that cannot be removed is tried again with
    /// the next frame.
    pub(crate) fn release(&mut self, applied: u64) {
        while let Some((sequence, last_index)) = self.finished.front().copied() {
            if last_index > applied {
                break;
            }
            if self.spare.len() < SPARE_FILES_MAX {
                self.spare.push(sequence);
            } else if self.disk.remove(&segment::name(sequence)).is_err() {
                break;
            }
            self.finished.pop_front();
        }
    }

    /// Starts a new segment with room for a frame of `length`.
    fn rotate(&mut self, length: u64) -> io::Result<()> {
        let finished = (self.sequence, self.next_index - 1);
        let bytes = self.segment_bytes.max(HEADER_BYTES as u64 + length);
        let new_segment = new_segment(self.sequence + 1, self.next_index);
        let spare = if bytes == self.segment_bytes {
            self.spare.pop()
        } else {
            None
        };
        let opened = open_segment(&self.disk, new_segment, bytes, spare);
        let file = opened.inspect_err(|error| {
            if !is_stopped(error) {
                // An unfinished segment would take the space that others need, and the next attempt makes it again.
                drop(self.disk.remove(&segment::name(new_segment.sequence)));
            }
        })?;
        self.enter(new_segment, file)?;
        self.finished.push_back(finished);
        Ok(())
    }

    /// Appends to a new segment from now on.
    fn enter(&mut self, new_segment: NewSegment, file: DiskFile) -> io::Result<()> {
        self.file_bytes = file.len()?;
        self.file = file;
        self.sequence = new_segment.sequence;
        self.seed = new_segment.seed();
        self.offset = HEADER_BYTES as u64;
        self.is_full = false;
        Ok(())
    }
}

/// Header of a new segment with an unpredictable salt.
fn new_segment(sequence: u64, first_index: u64) -> NewSegment {
    // The standard library keys every hasher from the system's randomness.
    let salt = RandomState::new().hash_one(sequence);
    NewSegment {
        sequence,
        first_index,
        salt,
    }
}

/// Creates a segment, recycling an old file if there is one.
fn open_segment(
    disk: &Disk,
    new_segment: NewSegment,
    bytes: u64,
    spare: Option<u64>,
) -> io::Result<DiskFile> {
    let name = segment::name(new_segment.sequence);
    let file = match spare {
        Some(spare) => {
            disk.rename(&segment::name(spare), &name)?;
            // The rename must be durable first: the old name must never refer to the new header.
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
    segment::write_header(&file, new_segment)?;
    file.sync()?;
    if spare.is_none() {
        disk.sync_names()?;
    }
    disk.faults.reach(Step::SegmentReady)?;
    Ok(file)
}
