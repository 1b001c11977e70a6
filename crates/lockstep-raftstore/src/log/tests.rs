//! Tests of the log: what it wrote comes back, and damage is told apart from a torn write.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::*;
use crate::entry::{EntryKind, LogEntry};

const IDENTITY: Identity = Identity {
    cluster_id: ClusterId(7),
    id: MemberId(9),
};

type Files = BTreeMap<String, Bytes>;

fn perform(files: &mut Files, ops: Vec<FileOp>) {
    for op in ops {
        match op {
            FileOp::Create { name } => {
                files.insert(name, Bytes::new());
            }
            FileOp::Write {
                name,
                offset,
                bytes,
            } => {
                let mut content = files[&name].to_vec();
                let offset = usize::try_from(offset).expect("files are small");
                content.truncate(offset);
                content.resize(offset, 0);
                content.extend_from_slice(&bytes);
                files.insert(name, content.into());
            }
            FileOp::Remove { name } => {
                files.remove(&name);
            }
            FileOp::Sync { .. } | FileOp::SyncNames | FileOp::Rename { .. } => {}
        }
    }
}

fn at(index: u64, term: u64) -> Position {
    Position { index, term }
}

fn entry(index: u64, term: u64) -> LogEntry {
    LogEntry {
        position: at(index, term),
        kind: EntryKind::Normal,
        data: Bytes::from(format!("{index}/{term}")),
    }
}

fn write(entries: Vec<LogEntry>, term: u64) -> Persist {
    let hard_state = HardState {
        term,
        vote: 9,
        commit: 0,
    };
    Persist {
        ticket: 1,
        install: None,
        hard_state: Some(hard_state),
        entries,
    }
}

fn open(files: &mut Files, segment_bytes: u64) -> Log {
    let found = read(files).expect("the log is whole");
    let (log, ops) = Log::resume(IDENTITY, found.boot + 1, 5, segment_bytes, &found);
    perform(files, ops);
    log
}

fn read(files: &Files) -> Result<Recovered, LogDamaged> {
    recover(Some(IDENTITY), files, Checkpointed::Own(at(0, 0)))
}

#[test]
fn what_was_written_comes_back_over_segments_and_restarts() {
    for segment_bytes in [1, 200, 1 << 20] {
        let mut files = Files::new();
        let mut log = open(&mut files, segment_bytes);
        let ops = log.append(&[
            write(vec![entry(1, 1), entry(2, 1)], 1),
            write(vec![entry(3, 1)], 1),
        ]);
        perform(&mut files, ops);
        let ops = log.append(&[write(vec![entry(2, 2)], 2)]);
        perform(&mut files, ops);
        let mut log = open(&mut files, segment_bytes);
        let ops = log.append(&[write(vec![entry(3, 3)], 3)]);
        perform(&mut files, ops);
        let found = read(&files).expect("the log is whole");
        assert_eq!(found.entries, [entry(1, 1), entry(2, 2), entry(3, 3)]);
        assert_eq!((found.hard_state.term, found.boot), (3, 2));
    }
}

#[test]
fn a_frame_cut_anywhere_is_as_if_it_was_never_written_and_stays_so() {
    let mut files = Files::new();
    let mut log = open(&mut files, 1 << 20);
    let ops = log.append(&[write(vec![entry(1, 1)], 1)]);
    perform(&mut files, ops);
    let safe = files["raft-0000000000000001.log"].len();
    let ops = log.append(&[write(vec![entry(2, 1)], 1)]);
    perform(&mut files, ops);
    let whole = files["raft-0000000000000001.log"].clone();
    for end in safe..whole.len() {
        let mut torn = files.clone();
        torn.insert("raft-0000000000000001.log".to_owned(), whole.slice(..end));
        let mut log = open(&mut torn, 1 << 20);
        let ops = log.append(&[write(vec![entry(2, 2)], 2)]);
        perform(&mut torn, ops);
        // The rest of the frame shows up after all: it was replaced.
        torn.insert("raft-0000000000000001.log".to_owned(), whole.clone());
        let found = read(&torn).expect("the log is whole");
        assert_eq!(found.entries, [entry(1, 1), entry(2, 2)]);
    }
}

#[test]
fn damage_to_what_was_safe_is_refused() {
    let mut files = Files::new();
    let mut log = open(&mut files, 1 << 20);
    for index in 1..=3 {
        let ops = log.append(&[write(vec![entry(index, 1)], 1)]);
        perform(&mut files, ops);
    }
    let name = "raft-0000000000000001.log";
    let mut content = files[name].to_vec();
    content[HEADER_BYTES + 12] ^= 1;
    files.insert(name.to_owned(), content.clone().into());
    assert_eq!(
        read(&files),
        Err(LogDamaged::Damaged {
            file: name.to_owned(),
            offset: HEADER_BYTES,
            what: "a frame has a wrong checksum and intact ones follow"
        })
    );
    content[3] ^= 1;
    files.insert(name.to_owned(), content.into());
    let Err(LogDamaged::Damaged { offset: 0, .. }) = read(&files) else {
        panic!("a damaged header was read");
    };
}

#[test]
fn a_lost_segment_is_noticed_by_the_next_one() {
    let mut files = Files::new();
    let mut log = open(&mut files, 1);
    for index in 1..=4 {
        let ops = log.append(&[write(vec![entry(index, 1)], 1)]);
        perform(&mut files, ops);
    }
    files.remove("raft-0000000000000003.log");
    let gap = recover(Some(IDENTITY), &files, Checkpointed::Own(at(1, 1)));
    assert_eq!(gap, Err(LogDamaged::Gap { index: 1 }));
}

#[test]
fn an_entry_before_the_oldest_segment_replaces_what_its_header_tells() {
    let mut files = Files::new();
    let mut log = open(&mut files, 1);
    for (index, term) in [(1, 1), (2, 1), (3, 1), (2, 2), (3, 2), (4, 2)] {
        let ops = log.append(&[write(vec![entry(index, term)], term)]);
        perform(&mut files, ops);
    }
    // The header of the oldest segment that is left has entry 3 of term 1.
    for sequence in 1..=4 {
        files.remove(&segment::name(sequence));
    }
    let found = recover(Some(IDENTITY), &files, Checkpointed::Own(at(3, 2)));
    let found = found.expect("the log is whole");
    assert_eq!((found.base, found.last()), (at(2, 2), at(4, 2)));
    assert_eq!(found.entries, [entry(3, 2), entry(4, 2)]);
}

#[test]
fn a_log_of_another_member_and_one_of_a_newer_version_are_refused() {
    let mut files = Files::new();
    let _log = open(&mut files, 1 << 20);
    let other = Identity {
        id: MemberId(10),
        ..IDENTITY
    };
    let file = "raft-0000000000000001.log".to_owned();
    assert_eq!(
        recover(Some(other), &files, Checkpointed::Own(at(0, 0))),
        Err(LogDamaged::Foreign { file: file.clone() })
    );
    let mut content = files[&file].to_vec();
    content[8] = 2;
    let checksum = crc32c::crc32c(&content[..96]).to_le_bytes();
    content[96..100].copy_from_slice(&checksum);
    files.insert(file.clone(), content.into());
    assert_eq!(
        read(&files),
        Err(LogDamaged::UnknownFormat { file, found: 2 })
    );
}

#[test]
fn a_snapshot_replaces_the_log_also_if_its_installation_was_interrupted() {
    let mut files = Files::new();
    let mut log = open(&mut files, 1 << 20);
    let ops = log.append(&[write(vec![entry(1, 1), entry(2, 1)], 1)]);
    perform(&mut files, ops);
    let received = Checkpointed::Received(at(9, 3));
    let interrupted = recover(Some(IDENTITY), &files, received).expect("the log is whole");
    assert_eq!(
        (interrupted.last(), interrupted.entries.len()),
        (at(9, 3), 0)
    );
    let own = recover(Some(IDENTITY), &files, Checkpointed::Own(at(9, 3)));
    assert_eq!(own, Err(LogDamaged::Gap { index: 9 }));
    let ops = log.install(
        at(9, 3),
        HardState {
            term: 4,
            vote: 0,
            commit: 9,
        },
    );
    perform(&mut files, ops);
    let ops = log.append(&[write(vec![entry(10, 4)], 4)]);
    perform(&mut files, ops);
    let found = recover(Some(IDENTITY), &files, received).expect("the log is whole");
    assert_eq!((found.base, found.entries), (at(9, 3), vec![entry(10, 4)]));
}

#[test]
fn a_known_segment_has_these_bytes_for_ever() {
    let mut files = Files::new();
    let mut log = open(&mut files, 1 << 20);
    let ops = log.append(&[write(vec![entry(1, 1)], 1)]);
    perform(&mut files, ops);
    let bytes = &files["raft-0000000000000001.log"];
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(hex, include_str!("segment-1.hex").trim_end());
}
