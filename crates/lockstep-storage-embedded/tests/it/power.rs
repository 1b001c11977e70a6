//! Power loss: data that was not fsynced may be present completely, in part, or not at all.
//!
//! A run records every modification of a file, every fsync and every acknowledgement. For any point of it, the test
//! creates a directory as a disk may hold it after power loss: fsynced data is present; of the rest, each sector is
//! present or not, independently of the order of writes.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use std::{fs, io};

use lockstep_storage_embedded::{EmbeddedStore, Faults, FileAction, Inspection, Options, Step};
use parking_lot::Mutex;
use tokio::runtime::Runtime;

use crate::rng::{Rng, fast_folder, rounds};
use crate::workload::{command, digest, expected, send};

const SECTOR_BYTES: usize = 512;
const COMMANDS: u64 = 60;

/// Recorded event of a run.
#[derive(Clone)]
enum Moment {
    Make(String),
    Resize(String, usize),
    Write(String, usize, Vec<u8>),
    Sync(String),
    Rename(String, String),
    Remove(String),
    SyncFolder,
    /// The command with this index was acknowledged.
    Acknowledged(u64),
}

type Record = Arc<Mutex<Vec<Moment>>>;

fn recorded(file: &str, action: &FileAction<'_>) -> Moment {
    let file = file.to_owned();
    let size = |number: u64| usize::try_from(number).unwrap();
    match *action {
        FileAction::Make => Moment::Make(file),
        FileAction::Resize { length } => Moment::Resize(file, size(length)),
        FileAction::Write { offset, bytes } => Moment::Write(file, size(offset), bytes.to_vec()),
        FileAction::Sync => Moment::Sync(file),
        FileAction::Rename { to } => Moment::Rename(file, to.to_owned()),
        FileAction::Remove => Moment::Remove(file),
        FileAction::SyncFolder => Moment::SyncFolder,
    }
}

/// Records several runs on one directory, each killed at the step that `choose` returns, so that the next one
/// starts with data that is readable and not durable.
fn record(mut choose: impl FnMut() -> (Step, usize)) -> Vec<Moment> {
    let record = Record::default();
    let folder = fast_folder();
    let runtime = Runtime::new().unwrap();
    let mut next = 1;
    while next <= COMMANDS {
        let (step, nth) = choose();
        let seen = record.clone();
        let faults = Faults::dies_at(step, nth).on_files(move |file, action| {
            seen.lock().push(recorded(file, &action));
            Ok::<_, io::Error>(())
        });
        let options = Options {
            segment_bytes: 2048,
            state_interval: Duration::ZERO,
            faults,
            ..Options::default()
        };
        let Ok(store) = EmbeddedStore::open(folder.path(), &options) else {
            continue;
        };
        // Everything present after opening may be read by clients, so it must not be lost later.
        next = store.next_index();
        record.lock().push(Moment::Acknowledged(next - 1));
        while next <= COMMANDS && runtime.block_on(send(&store, command(next))).is_ok() {
            record.lock().push(Moment::Acknowledged(next));
            next += 1;
        }
    }
    Arc::try_unwrap(record).ok().unwrap().into_inner()
}

/// A simulated disk with durable and volatile content.
#[derive(Default)]
struct Disk {
    /// Contents, by a number that is stable across renames.
    contents: Vec<Contents>,
    names: BTreeMap<String, usize>,
    safe_names: BTreeMap<String, usize>,
    /// The names after each change since the last directory fsync.
    unsafe_names: Vec<BTreeMap<String, usize>>,
    acknowledged: u64,
}

#[derive(Default)]
struct Contents {
    safe: Vec<u8>,
    /// Writes and truncations since the last fsync of the file.
    later: Vec<Change>,
}

enum Change {
    Write(usize, Vec<u8>),
    Length(usize),
}

impl Disk {
    fn after(moments: &[Moment]) -> Self {
        let mut disk = Self::default();
        for moment in moments {
            disk.happen(moment);
        }
        disk
    }

    fn happen(&mut self, moment: &Moment) {
        match moment {
            Moment::Make(name) => {
                self.contents.push(Contents::default());
                self.names.insert(name.clone(), self.contents.len() - 1);
                self.unsafe_names.push(self.names.clone());
            }
            Moment::Rename(from, to) => {
                let number = self.names.remove(from).unwrap();
                self.names.insert(to.clone(), number);
                self.unsafe_names.push(self.names.clone());
            }
            Moment::Remove(name) => {
                self.names.remove(name);
                self.unsafe_names.push(self.names.clone());
            }
            Moment::SyncFolder => {
                self.safe_names = self.names.clone();
                self.unsafe_names.clear();
            }
            Moment::Resize(name, length) => self.later(name, Change::Length(*length)),
            Moment::Write(name, offset, bytes) => {
                self.later(name, Change::Write(*offset, bytes.clone()));
            }
            Moment::Sync(name) => {
                let contents = &mut self.contents[self.names[name]];
                for change in std::mem::take(&mut contents.later) {
                    change.make(&mut contents.safe, &mut || true);
                }
            }
            Moment::Acknowledged(index) => self.acknowledged = *index,
        }
    }

    fn later(&mut self, name: &str, change: Change) {
        self.contents[self.names[name]].later.push(change);
    }

    /// Writes the directory as it may be after power loss.
    fn lose_power(&self, rng: &mut Rng, luck: Option<usize>, folder: &Path) {
        let names = match rng.below(self.unsafe_names.len() + 1) {
            0 => &self.safe_names,
            nth => &self.unsafe_names[nth - 1],
        };
        // None, all, or some of the volatile data.
        let luck = luck.unwrap_or_else(|| rng.below(3));
        for (name, number) in names {
            let contents = &self.contents[*number];
            let mut bytes = contents.safe.clone();
            for change in &contents.later {
                change.make(&mut bytes, &mut || match luck {
                    0 => false,
                    1 => true,
                    _ => rng.coin(),
                });
            }
            fs::write(folder.join(name), bytes).unwrap();
        }
    }
}

impl Change {
    /// Applies the change to each sector that `happens` selects.
    fn make(&self, bytes: &mut Vec<u8>, happens: &mut impl FnMut() -> bool) {
        match self {
            Self::Length(length) => {
                if happens() {
                    bytes.resize(*length, 0);
                }
            }
            Self::Write(offset, new) => {
                let (mut at, end) = (*offset, offset + new.len());
                while at < end {
                    let next = end.min((at / SECTOR_BYTES + 1) * SECTOR_BYTES);
                    if happens() {
                        if bytes.len() < next {
                            bytes.resize(next, 0);
                        }
                        bytes[at..next].copy_from_slice(&new[at - offset..next - offset]);
                    }
                    at = next;
                }
            }
        }
    }
}

/// The directory contains every acknowledged command, and at most the one under way.
fn check(folder: &Path, acknowledged: u64, what: &str) {
    let empty = fs::read_dir(folder).unwrap().next().is_none();
    if empty {
        assert_eq!(acknowledged, 0, "{what}: everything is gone");
        return;
    }
    let inspection = Inspection::of(folder).unwrap_or_else(|error| panic!("{what}: {error}"));
    let Some(machine) = inspection.machine else {
        panic!("{what}: {:?}", inspection.findings);
    };
    let allowed = [acknowledged, acknowledged + 1];
    assert!(
        allowed.contains(&inspection.applied),
        "{what}: {} commands after {acknowledged} were acknowledged",
        inspection.applied
    );
    let right = digest(&expected(inspection.applied));
    assert_eq!(digest(&machine), right, "{what}");
}

fn lose_power_often(shard: u64) {
    let mut rng = Rng::of_run("power", shard);
    for run in 0..rounds(1) {
        let moments = record(|| {
            let step = Step::ALL[rng.below(Step::ALL.len())];
            (step, 1 + rng.below(12))
        });
        for nth in 0..250 {
            let at = rng.below(moments.len() + 1);
            let disk = Disk::after(&moments[..at]);
            let folder = fast_folder();
            disk.lose_power(&mut rng, None, folder.path());
            let what = format!(
                "run {run}, loss {nth} after moment {at} of {}",
                moments.len()
            );
            check(folder.path(), disk.acknowledged, &what);
            if nth % 40 == 0 {
                go_on(folder.path(), &what);
            }
        }
    }
}

/// The store opens on the remaining data and accepts writes.
fn go_on(folder: &Path, what: &str) {
    let store = EmbeddedStore::open(
        folder,
        &Options {
            segment_bytes: 2048,
            ..Options::default()
        },
    );
    let store = store.unwrap_or_else(|error| panic!("{what}: {error}"));
    let next = store.next_index();
    Runtime::new()
        .unwrap()
        .block_on(send(&store, command(next)))
        .unwrap();
    assert_eq!(
        store.live().inspect(digest),
        digest(&expected(next)),
        "{what}"
    );
}

/// Data of a killed process is readable and not durable. Once clients could read it, power loss must not remove it.
#[test]
fn what_a_killed_process_left_is_safe_before_it_is_shown() {
    let moments = record(|| (Step::Written, 3));
    let mut rng = Rng::new(0);
    for (at, moment) in moments.iter().enumerate() {
        let Moment::Acknowledged(index) = moment else {
            continue;
        };
        let folder = fast_folder();
        let nothing_unsafe = Some(0);
        Disk::after(&moments[..=at]).lose_power(&mut rng, nothing_unsafe, folder.path());
        check(folder.path(), *index, &format!("after moment {at}"));
    }
}

/// Self-test: the check finds lost writes in a log that never fsyncs.
#[test]
fn a_store_that_does_not_wait_for_the_disk_is_found_out() {
    let mut moments = record(|| (Step::Written, 30));
    moments.retain(|moment| !matches!(moment, Moment::Sync(file) if file.starts_with("log-")));
    let folder = fast_folder();
    let disk = Disk::after(&moments);
    disk.lose_power(&mut Rng::new(0), Some(0), folder.path());
    let inspection = Inspection::of(folder.path());
    let found = inspection
        .ok()
        .and_then(|found| Some(digest(&found.machine?)));
    assert_ne!(found, Some(digest(&expected(disk.acknowledged))));
}

#[test]
fn a_loss_of_power_takes_nothing_that_was_acknowledged() {
    lose_power_often(1);
}

#[test]
fn a_loss_of_power_after_other_kills_takes_nothing_that_was_acknowledged() {
    lose_power_often(2);
}
