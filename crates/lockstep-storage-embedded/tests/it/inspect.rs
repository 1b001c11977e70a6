//! Inspection finds all damage and changes nothing.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use lockstep_storage_embedded::{
    EmbeddedStore, Faults, Finding, Inspection, Options, Severity, Step,
};
use redb::{Database, ReadableTable, TableDefinition};
use tokio::runtime::Runtime;

use crate::rng::fast_folder;
use crate::workload::{command, digest, expected, send};

const COMMANDS: u64 = 60;

fn options(faults: Faults) -> Options {
    Options {
        segment_bytes: 4096,
        // The state is written at the end, however slow the machine is.
        state_interval: Duration::from_secs(3600),
        faults,
        ..Options::default()
    }
}

/// A folder whose log begins with the first command and has several segments.
fn filled(faults: Faults) -> tempfile::TempDir {
    let folder = fast_folder();
    let store = EmbeddedStore::open(folder.path(), &options(faults)).unwrap();
    let runtime = Runtime::new().unwrap();
    for index in 1..=COMMANDS {
        runtime.block_on(send(&store, command(index))).unwrap();
    }
    drop(store);
    folder
}

/// Every byte of every file, and when it was last changed.
fn bytes_of(folder: &Path) -> BTreeMap<String, (Vec<u8>, std::time::SystemTime)> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| {
        let path = entry.unwrap().path();
        let changed = fs::metadata(&path).unwrap().modified().unwrap();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        (name, (fs::read(path).unwrap(), changed))
    });
    entries.collect()
}

/// Looks into a folder and makes sure that nothing in it moved.
fn inspect(folder: &Path) -> Inspection {
    let before = bytes_of(folder);
    let inspection = Inspection::of(folder).unwrap();
    assert!(bytes_of(folder) == before, "looking changes nothing");
    inspection
}

fn digest_found(inspection: &Inspection) -> Option<String> {
    inspection.machine.as_ref().map(digest)
}

fn damages(inspection: &Inspection) -> Vec<(String, Option<u64>, &str)> {
    let damages = inspection.findings.iter();
    let damages = damages.filter(|finding| finding.severity == Severity::Damage);
    damages
        .map(
            |Finding {
                 file, offset, what, ..
             }| {
                let name = file.file_name().unwrap().to_str().unwrap();
                (name.to_owned(), *offset, what.as_str())
            },
        )
        .collect()
}

#[test]
fn a_folder_closed_in_order_has_nothing_to_tell() {
    let folder = filled(Faults::default());
    let inspection = inspect(folder.path());
    assert_eq!(inspection.findings, []);
    assert_eq!(digest_found(&inspection), Some(digest(&expected(COMMANDS))));
    assert_eq!(
        (inspection.state_applied, inspection.applied),
        (COMMANDS, COMMANDS)
    );
}

#[test]
fn a_folder_after_a_crash_is_usable_and_says_where_a_start_goes_on() {
    for step in Step::ALL {
        let folder = filled_until_crash(step);
        let inspection = inspect(folder.path());
        assert_eq!(damages(&inspection), [], "{step:?}");
        let store = EmbeddedStore::open(folder.path(), &options(Faults::default())).unwrap();
        let opened = store.live().inspect(digest);
        assert_eq!(digest_found(&inspection), Some(opened), "{step:?}");
        assert_eq!(inspection.applied + 1, store.next_index(), "{step:?}");
    }
}

fn filled_until_crash(step: Step) -> tempfile::TempDir {
    let folder = fast_folder();
    let options = Options {
        state_interval: Duration::ZERO,
        ..options(Faults::dies_at(step, 2))
    };
    let runtime = Runtime::new().unwrap();
    if let Ok(store) = EmbeddedStore::open(folder.path(), &options) {
        for index in 1..=COMMANDS {
            if runtime.block_on(send(&store, command(index))).is_err() {
                break;
            }
        }
    }
    folder
}

#[test]
fn every_damaged_frame_is_told_with_file_and_offset() {
    let folder = filled(Faults::new(|step| step == Step::StateBegun));
    let mut wanted = Vec::new();
    for name in ["log-0000000000000001.seg", "log-0000000000000002.seg"] {
        let file = folder.path().join(name);
        let mut bytes = fs::read(&file).unwrap();
        let mut at = 64;
        for nth in 0..6 {
            let length = u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
            let length = usize::try_from(length).unwrap();
            if nth % 3 == 1 {
                bytes[at + 8 + length / 2] ^= 1;
                let what = "a frame is damaged and intact ones follow";
                wanted.push((name.to_owned(), Some(at as u64), what));
            }
            at += 8 + length;
        }
        fs::write(file, bytes).unwrap();
    }
    let inspection = inspect(folder.path());
    assert_eq!(damages(&inspection), wanted);
    assert!(inspection.machine.is_none());
}

#[test]
fn every_damaged_row_is_told_with_its_revision_and_offset() {
    const PAIRS: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("pairs");
    let folder = filled(Faults::default());
    let file = folder.path().join("state.redb");
    // Rows that were wrong before they were written: no checksum of a page can tell.
    let state = Database::open(&file).unwrap();
    let write = state.begin_write().unwrap();
    let mut wanted = Vec::new();
    {
        let mut pairs = write.open_table(PAIRS).unwrap();
        let rows = pairs.iter().unwrap().map(|row| {
            let (key, value) = row.unwrap();
            (key.value().to_vec(), value.value().to_vec())
        });
        for (key, mut value) in rows.collect::<Vec<_>>().into_iter().take(2) {
            let last = value.len() - 5;
            value[last] ^= 1;
            pairs.insert(&key[..], &value[..]).unwrap();
            let revision = u64::from_be_bytes(key[..8].try_into().unwrap());
            let sub = u32::from_be_bytes(key[8..].try_into().unwrap());
            wanted.push((revision, sub, value));
        }
    }
    write.commit().unwrap();
    drop(state);
    let bytes = fs::read(&file).unwrap();
    let wanted: Vec<_> = wanted
        .into_iter()
        .map(|(revision, sub, value)| {
            let at = bytes.windows(value.len()).position(|some| some == value);
            let what = format!(
                "the row of revision {revision}.{sub} is damaged: its checksum does not match"
            );
            ("state.redb".to_owned(), at.map(|at| at as u64), what)
        })
        .collect();
    assert!(wanted.iter().all(|(_, at, _)| at.is_some()));
    let inspection = inspect(folder.path());
    let found: Vec<_> = damages(&inspection)
        .into_iter()
        .map(|(file, at, what)| (file, at, what.to_owned()))
        .collect();
    assert_eq!(found, wanted);
}

/// A flipped bit anywhere in the state is refused, or changes nothing of what is read.
#[test]
fn no_flipped_bit_in_the_state_changes_what_is_read() {
    let folder = filled(Faults::default());
    let file = folder.path().join("state.redb");
    let intact = fs::read(&file).unwrap();
    let right = digest(&expected(COMMANDS));
    // Every byte of the header, and places all over the pages.
    let places = (0..320).step_by(3).chain((320..intact.len()).step_by(6131));
    let mut refused = 0;
    for at in places {
        let mut damaged = intact.clone();
        damaged[at] ^= 0x20;
        fs::write(&file, &damaged).unwrap();
        let inspection = Inspection::of(folder.path()).unwrap();
        match digest_found(&inspection) {
            Some(found) => assert_eq!(found, right, "byte {at}"),
            None => refused += 1,
        }
    }
    assert!(refused > 10, "{refused} flips were seen");
}

#[test]
fn a_cut_state_is_refused() {
    let folder = filled(Faults::default());
    let file = folder.path().join("state.redb");
    let intact = fs::read(&file).unwrap();
    for length in [1, 100, 4096, intact.len() / 2, intact.len() - 1] {
        fs::write(&file, &intact[..length]).unwrap();
        let inspection = inspect(folder.path());
        assert!(inspection.is_damaged(), "{length} bytes are left");
        assert!(EmbeddedStore::open(folder.path(), &options(Faults::default())).is_err());
        assert_eq!(
            fs::read(&file).unwrap().len(),
            length,
            "nothing was changed"
        );
    }
}

#[test]
fn a_directory_without_a_store_is_reported_and_left_unchanged() {
    let parent = fast_folder();
    let told = |folder: &Path| Inspection::of(folder).err().unwrap().to_string();
    let folder = parent.path().join("missing");
    let expected = format!(
        "opening the store in `{}`: No such file or directory (os error 2)",
        folder.display()
    );
    assert_eq!(told(&folder), expected);
    assert!(!folder.exists());
    let expected = format!(
        "opening the store in `{}`: there is no store in it",
        parent.path().display()
    );
    assert_eq!(told(parent.path()), expected);
    assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
}

#[test]
fn a_folder_in_use_is_not_looked_into() {
    let folder = filled(Faults::default());
    let store = EmbeddedStore::open(folder.path(), &options(Faults::default())).unwrap();
    let expected = format!(
        "the store in `{}` is in use by process {}; stop that one first",
        folder.path().display(),
        std::process::id()
    );
    let told = Inspection::of(folder.path()).err().unwrap().to_string();
    assert_eq!(told, expected);
    drop(store);
    assert!(!inspect(folder.path()).is_damaged());
}

#[test]
fn a_folder_that_cannot_be_written_can_be_looked_into() {
    let folder = filled(Faults::default());
    let make = |mode, dir_mode| {
        for entry in fs::read_dir(folder.path()).unwrap() {
            fs::set_permissions(entry.unwrap().path(), Permissions::from_mode(mode)).unwrap();
        }
        fs::set_permissions(folder.path(), Permissions::from_mode(dir_mode)).unwrap();
    };
    make(0o444, 0o555);
    let inspection = inspect(folder.path());
    assert_eq!(digest_found(&inspection), Some(digest(&expected(COMMANDS))));
    make(0o644, 0o755);
}

#[test]
fn a_state_that_contradicts_the_log_is_damage() {
    let folder = filled(Faults::default());
    let other = fast_folder();
    let store = EmbeddedStore::open(other.path(), &options(Faults::default())).unwrap();
    let runtime = Runtime::new().unwrap();
    for index in 1..=COMMANDS {
        // Another history of the same length.
        let sent = send(&store, command(if index == 3 { 7 } else { index }));
        runtime.block_on(sent).unwrap();
    }
    drop(store);
    fs::copy(
        other.path().join("state.redb"),
        folder.path().join("state.redb"),
    )
    .unwrap();
    let inspection = inspect(folder.path());
    let what = "the state is not what the commands of the log amount to";
    assert_eq!(
        damages(&inspection),
        [("state.redb".to_owned(), None, what)]
    );
}
