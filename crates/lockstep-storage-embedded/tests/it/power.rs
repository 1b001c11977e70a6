//! Losing power: what was not made safe may be there, in parts, or not at all.
//!
//! A run is recorded: every change to a file, every wait for the disk, every acknowledgement. For
//! any moment of it, a folder is made as a disk may hold it after power was lost: what was synced is
//! there; of what was not, each sector is there or not, whatever was written before or after it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use std::{fs, io};

use lockstep_storage_embedded::{EmbeddedStore, Faults, FileAction, Inspection, Options, Step};
use parking_lot::Mutex;
use tokio::runtime::Runtime;

use crate::dice::{Dice, fast_folder, rounds};
use crate::workload::{command, digest, expected, send};

const SECTOR_BYTES: usize = 512;
const COMMANDS: u64 = 60;

/// What happened, in order.
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

/// Lives of one folder, each ended by a kill at the step that `choose` names, so that the next one
/// starts with bytes that are readable and not safe.
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
        // Whatever is there when it is opened may be shown, so it must not be lost again.
        next = store.next_index();
        record.lock().push(Moment::Acknowledged(next - 1));
        while next <= COMMANDS && runtime.block_on(send(&store, command(next))).is_ok() {
            record.lock().push(Moment::Acknowledged(next));
            next += 1;
        }
    }
    Arc::try_unwrap(record).ok().unwrap().into_inner()
}

/// A disk, with what is safe on it and what is not.
#[derive(Default)]
struct Disk {
    /// Contents, by a number that stays when a file is renamed.
    contents: Vec<Contents>,
    names: BTreeMap<String, usize>,
    safe_names: BTreeMap<String, usize>,
    /// The names after each change since they were last made safe.
    unsafe_names: Vec<BTreeMap<String, usize>>,
    acknowledged: u64,
}

#[derive(Default)]
struct Contents {
    safe: Vec<u8>,
    /// Bytes at offsets, and lengths, since the file was last made safe.
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

    /// Writes what may be left after power was lost.
    fn lose_power(&self, dice: &mut Dice, luck: Option<usize>, folder: &Path) {
        let names = match dice.below(self.unsafe_names.len() + 1) {
            0 => &self.safe_names,
            nth => &self.unsafe_names[nth - 1],
        };
        // Nothing, everything, or some of what was not safe.
        let luck = luck.unwrap_or_else(|| dice.below(3));
        for (name, number) in names {
            let contents = &self.contents[*number];
            let mut bytes = contents.safe.clone();
            for change in &contents.later {
                change.make(&mut bytes, &mut || match luck {
                    0 => false,
                    1 => true,
                    _ => dice.coin(),
                });
            }
            fs::write(folder.join(name), bytes).unwrap();
        }
    }
}

impl Change {
    /// Changes each sector that `happens` says yes to.
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

/// What is found has every acknowledged command, and at most the one that was under way.
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
    let mut dice = Dice::of_run("power", shard);
    for run in 0..rounds(1) {
        let moments = record(|| {
            let step = Step::ALL[dice.below(Step::ALL.len())];
            (step, 1 + dice.below(12))
        });
        for nth in 0..250 {
            let at = dice.below(moments.len() + 1);
            let disk = Disk::after(&moments[..at]);
            let folder = fast_folder();
            disk.lose_power(&mut dice, None, folder.path());
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

/// A store opens on what is left and goes on.
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

/// Bytes of a killed process can be read and are not safe. Once somebody was shown them, a loss of
/// power must not take them.
#[test]
fn what_a_killed_process_left_is_safe_before_it_is_shown() {
    let moments = record(|| (Step::Written, 3));
    let mut dice = Dice::new(0);
    for (at, moment) in moments.iter().enumerate() {
        let Moment::Acknowledged(index) = moment else {
            continue;
        };
        let folder = fast_folder();
        let nothing_unsafe = Some(0);
        Disk::after(&moments[..=at]).lose_power(&mut dice, nothing_unsafe, folder.path());
        check(folder.path(), *index, &format!("after moment {at}"));
    }
}

/// The test can see a bug: of a log that never waits for the disk, acknowledged writes get lost.
#[test]
fn a_store_that_does_not_wait_for_the_disk_is_found_out() {
    let mut moments = record(|| (Step::Written, 30));
    moments.retain(|moment| !matches!(moment, Moment::Sync(file) if file.starts_with("log-")));
    let folder = fast_folder();
    let disk = Disk::after(&moments);
    disk.lose_power(&mut Dice::new(0), Some(0), folder.path());
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
