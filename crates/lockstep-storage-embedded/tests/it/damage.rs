//! Damaged files are refused with the file and offset.

use std::fs;
use std::path::{Path, PathBuf};

use lockstep_storage_embedded::{
    EmbeddedStore, Faults, Inspection, LogError, OpenError, Options, Step,
};
use tokio::runtime::Runtime;

use crate::rng::fast_folder;
use crate::workload::{command, digest, digest_of, expected, send};

const COMMANDS: u64 = 12;
const HEADER_BYTES: usize = 64;

fn options() -> Options {
    Options {
        segment_bytes: 1 << 16,
        // The state stays empty, so that everything is read from the log.
        state_interval: std::time::Duration::from_secs(3600),
        ..Options::default()
    }
}

/// A folder whose log holds the workload, and whose state is empty as after a crash.
fn filled(faults: Faults) -> tempfile::TempDir {
    let folder = fast_folder();
    let options = Options {
        faults,
        ..options()
    };
    let store = EmbeddedStore::open(folder.path(), &options).unwrap();
    let runtime = Runtime::new().unwrap();
    for index in 1..=COMMANDS {
        runtime.block_on(send(&store, command(index))).unwrap();
    }
    drop(store);
    folder
}

/// Dies when the state is about to be written for the first time, which is when it is closed.
fn crashed() -> tempfile::TempDir {
    filled(Faults::new(|step| step == Step::StateBegun))
}

fn segment(folder: &Path) -> PathBuf {
    folder.join("log-0000000000000001.seg")
}

/// Offsets of all frames, including the closing one, and the end of the last.
fn frames(bytes: &[u8]) -> Vec<usize> {
    let mut starts = vec![HEADER_BYTES];
    loop {
        let at = *starts.last().unwrap();
        let length = u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        if length == 0 {
            return starts;
        }
        starts.push(at + 8 + usize::try_from(length).unwrap());
    }
}

fn damage_of(opened: Result<EmbeddedStore, OpenError>) -> Option<(PathBuf, u64)> {
    match opened {
        Err(OpenError::Log(LogError::Damaged { file, offset, .. })) => Some((file, offset)),
        _ => None,
    }
}

#[test]
fn a_flipped_bit_in_the_middle_is_refused_with_file_and_offset() {
    let folder = crashed();
    let file = segment(folder.path());
    let intact = fs::read(&file).unwrap();
    let starts = frames(&intact);
    assert_eq!(starts.len(), usize::try_from(COMMANDS).unwrap() + 2);
    // The closing frame protects the last command too.
    for frame in starts.windows(2).take(starts.len() - 2) {
        for at in (frame[0]..frame[1]).step_by(5) {
            let mut damaged = intact.clone();
            damaged[at] ^= 0x10;
            fs::write(&file, &damaged).unwrap();
            let refused = damage_of(EmbeddedStore::open(folder.path(), &options()));
            assert_eq!(refused, Some((file.clone(), frame[0] as u64)), "byte {at}");
            assert_eq!(fs::read(&file).unwrap(), damaged, "nothing was changed");
        }
    }
    fs::write(&file, &intact).unwrap();
    let store = EmbeddedStore::open(folder.path(), &options()).unwrap();
    assert_eq!(digest_of(&store), digest(&expected(COMMANDS)));
}

#[test]
fn a_torn_tail_is_cut() {
    let folder = crashed();
    let file = segment(folder.path());
    let intact = fs::read(&file).unwrap();
    let starts = frames(&intact);
    let last = starts[starts.len() - 3]..starts[starts.len() - 2];
    for end in last.clone().step_by(3) {
        if intact[end..last.end].iter().all(|byte| *byte == 0) {
            // Zeros in place of zeros tear nothing.
            break;
        }
        // A torn write: part of the last frame, followed by the previous content.
        let mut torn = intact.clone();
        torn[end..].fill(0);
        fs::write(&file, &torn).unwrap();
        let copy = copy_of(folder.path());
        let store = EmbeddedStore::open(copy.path(), &options()).unwrap();
        assert_eq!(
            digest_of(&store),
            digest(&expected(COMMANDS - 1)),
            "cut at {end}"
        );
        assert_eq!(store.next_index(), COMMANDS);
    }
    // Nor does a shorter file matter.
    fs::write(&file, &intact[..last.start + 5]).unwrap();
    let store = EmbeddedStore::open(folder.path(), &options()).unwrap();
    assert_eq!(digest_of(&store), digest(&expected(COMMANDS - 1)));
}

/// A frame with one empty command, whose checksum begins with `seed`.
fn forged(seed: &[u8], first_index: u64) -> Vec<u8> {
    let mut content = first_index.to_le_bytes().to_vec();
    content.extend(1_u32.to_le_bytes());
    content.extend(0_u32.to_le_bytes());
    let mut frame = u32::try_from(content.len()).unwrap().to_le_bytes().to_vec();
    let checksum = crc32c::crc32c_append(crc32c::crc32c(seed), &content);
    frame.extend(checksum.to_le_bytes());
    frame.extend(content);
    frame
}

/// Writes a last command whose value is `value`, and tears its frame in front of the value.
fn torn_before(value: &[u8], folder: &Path) -> PathBuf {
    let file = segment(folder);
    let mut bytes = fs::read(&file).unwrap();
    let starts = frames(&bytes);
    let closing = starts[starts.len() - 2];
    let written = closing + 8 + 12 + 4 + 20;
    bytes[closing..].fill(0);
    bytes[closing + 9] = 1;
    bytes[written..written + value.len()].copy_from_slice(value);
    fs::write(&file, &bytes).unwrap();
    file
}

#[test]
fn a_value_that_looks_like_a_frame_does_not_stop_a_start_after_a_torn_write() {
    let folder = crashed();
    let sequence = 1_u64.to_le_bytes();
    torn_before(&forged(&sequence, COMMANDS + 1), folder.path());
    let store = EmbeddedStore::open(folder.path(), &options()).unwrap();
    assert_eq!(digest_of(&store), digest(&expected(COMMANDS)));
    drop(store);
    // A value forged with the salt from the header would pass, so the test can see the difference.
    let folder = crashed();
    let salt = &fs::read(segment(folder.path())).unwrap()[32..40];
    let seed = [salt, &sequence].concat();
    let file = torn_before(&forged(&seed, COMMANDS + 1), folder.path());
    let refused = damage_of(EmbeddedStore::open(folder.path(), &options()));
    let torn = frames_up_to(
        &fs::read(&file).unwrap(),
        usize::try_from(COMMANDS).unwrap() + 1,
    );
    assert_eq!(refused, Some((file, *torn.last().unwrap() as u64)));
}

#[test]
fn every_segment_has_a_salt_of_its_own() {
    let folder = several_segments();
    let salts = ["log-0000000000000001.seg", "log-0000000000000002.seg"].map(|name| {
        let bytes = fs::read(folder.path().join(name)).unwrap();
        bytes[32..40].to_vec()
    });
    let nothing = vec![0; 8];
    assert_ne!(salts[0], salts[1]);
    assert!(!salts.contains(&nothing));
}

fn copy_of(folder: &Path) -> tempfile::TempDir {
    let copy = fast_folder();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), copy.path().join(entry.file_name())).unwrap();
    }
    copy
}

#[test]
fn a_damaged_header_is_refused() {
    let folder = crashed();
    let file = segment(folder.path());
    let intact = fs::read(&file).unwrap();
    for at in 0..44 {
        let mut damaged = intact.clone();
        damaged[at] ^= 1;
        fs::write(&file, &damaged).unwrap();
        let refused = damage_of(EmbeddedStore::open(folder.path(), &options()));
        assert_eq!(refused, Some((file.clone(), 0)), "byte {at}");
    }
}

#[test]
fn a_log_of_a_newer_format_is_not_reported_as_damage() {
    let folder = crashed();
    let file = segment(folder.path());
    let mut later = fs::read(&file).unwrap();
    later[8] = 3;
    let checksum = crc32c::crc32c(&later[..40]);
    later[40..44].copy_from_slice(&checksum.to_le_bytes());
    fs::write(&file, &later).unwrap();
    let refused = EmbeddedStore::open(folder.path(), &options())
        .err()
        .unwrap();
    let expected = format!(
        "`{}` has log format 3: it was written by a newer lockstep; start that version",
        file.display()
    );
    assert_eq!(refused.to_string(), expected);
}

#[test]
fn a_missing_log_is_refused() {
    let folder = filled(Faults::default());
    let file = segment(folder.path());
    fs::remove_file(&file).unwrap();
    let refused = EmbeddedStore::open(folder.path(), &options())
        .err()
        .unwrap();
    let expected = format!("`{}` is missing; restore it from a backup", file.display());
    assert_eq!(refused.to_string(), expected);
}

#[test]
fn a_log_that_ends_before_the_state_is_refused() {
    let folder = filled(Faults::default());
    let file = segment(folder.path());
    let intact = fs::read(&file).unwrap();
    let starts = frames(&intact);
    let cut = starts[starts.len() - 4];
    let mut shorter = intact.clone();
    shorter[cut..].fill(0);
    fs::write(&file, &shorter).unwrap();
    let refused = damage_of(EmbeddedStore::open(folder.path(), &options()));
    assert_eq!(refused, Some((file, cut as u64)));
}

#[test]
fn a_state_that_is_none_is_refused() {
    let folder = filled(Faults::default());
    fs::write(folder.path().join("state.redb"), b"not a database").unwrap();
    let refused = EmbeddedStore::open(folder.path(), &options());
    assert!(matches!(refused.err(), Some(OpenError::State { .. })));
}

/// A folder with several segments whose state is behind them all.
fn several_segments() -> tempfile::TempDir {
    let folder = fast_folder();
    let options = Options {
        segment_bytes: 1024,
        faults: Faults::new(|step| step == Step::StateBegun),
        ..options()
    };
    let store = EmbeddedStore::open(folder.path(), &options).unwrap();
    let runtime = Runtime::new().unwrap();
    for index in 1..=40 {
        runtime.block_on(send(&store, command(index))).unwrap();
    }
    drop(store);
    folder
}

/// Positions to truncate a file at.
#[derive(Clone, Copy, Debug)]
enum Cut {
    Empty,
    InHeader,
    BehindHeader,
    InFrameHead,
    InFrame,
    BetweenFrames,
}

impl Cut {
    const ALL: [Self; 6] = [
        Self::Empty,
        Self::InHeader,
        Self::BehindHeader,
        Self::InFrameHead,
        Self::InFrame,
        Self::BetweenFrames,
    ];

    fn length(self, frames: &[usize]) -> usize {
        match self {
            Self::Empty => 0,
            Self::InHeader => 20,
            Self::BehindHeader => HEADER_BYTES,
            Self::InFrameHead => frames[1] + 3,
            Self::InFrame => frames[1] + 15,
            Self::BetweenFrames => frames[1],
        }
    }
}

/// A segment in the middle of the log is refused wherever it is cut, with the file and the byte up
/// to which it could be read.
#[test]
fn a_segment_that_is_cut_anywhere_is_refused_if_others_follow() {
    let folder = several_segments();
    let file = folder.path().join("log-0000000000000002.seg");
    let intact = fs::read(&file).unwrap();
    let frames = frames_up_to(&intact, 2);
    for cut in Cut::ALL {
        fs::write(&file, &intact[..cut.length(&frames)]).unwrap();
        let refused = damage_of(EmbeddedStore::open(folder.path(), &options()));
        let offset = match cut {
            Cut::Empty | Cut::InHeader => 0,
            Cut::BehindHeader => HEADER_BYTES,
            Cut::InFrameHead | Cut::InFrame | Cut::BetweenFrames => frames[1],
        };
        assert_eq!(refused, Some((file.clone(), offset as u64)), "{cut:?}");
    }
    fs::remove_file(&file).unwrap();
    let refused = EmbeddedStore::open(folder.path(), &options());
    let expected = format!("`{}` is missing; restore it from a backup", file.display());
    assert_eq!(refused.err().unwrap().to_string(), expected);
    fs::write(&file, &intact).unwrap();
    let store = EmbeddedStore::open(folder.path(), &options()).unwrap();
    assert_eq!(digest_of(&store), digest(&crate::workload::expected(40)));
}

#[test]
fn a_segment_that_the_state_has_overtaken_is_not_read_by_a_start() {
    let folder = fast_folder();
    let options = Options {
        segment_bytes: 1024,
        ..options()
    };
    let store = EmbeddedStore::open(folder.path(), &options).unwrap();
    let runtime = Runtime::new().unwrap();
    for index in 1..=40 {
        runtime.block_on(send(&store, command(index))).unwrap();
    }
    drop(store);
    let file = segment(folder.path());
    let mut damaged = fs::read(&file).unwrap();
    damaged[HEADER_BYTES + 9] ^= 1;
    fs::write(&file, &damaged).unwrap();
    assert!(Inspection::of(folder.path()).unwrap().is_damaged());
    let store = EmbeddedStore::open(folder.path(), &options).unwrap();
    assert_eq!(digest_of(&store), digest(&expected(40)));
    assert_eq!(store.next_index(), 41);
    runtime.block_on(send(&store, command(41))).unwrap();
    drop(store);
    let store = EmbeddedStore::open(folder.path(), &options).unwrap();
    assert_eq!(digest_of(&store), digest(&expected(41)));
}

/// The first `count` places where frames begin.
fn frames_up_to(bytes: &[u8], count: usize) -> Vec<usize> {
    let mut starts = vec![HEADER_BYTES];
    while starts.len() < count {
        let at = *starts.last().unwrap();
        let length = u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        starts.push(at + 8 + usize::try_from(length).unwrap());
    }
    starts
}
