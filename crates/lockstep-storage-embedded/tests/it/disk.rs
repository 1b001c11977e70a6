//! Full disks, read-only directories, and directories in use.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use lockstep_storage::{Store as _, WriteFailure};
use lockstep_storage_embedded::{EmbeddedStore, Faults, FileAction, Options};
use lockstep_testkit::wait::eventually_sync;
use tokio::runtime::Runtime;

use crate::process::child;
use crate::workload::{command, digest, digest_of, expected, send};

const NO_SPACE: i32 = 28;
const READ_ONLY: i32 = 30;
const WRITTEN: u64 = 5;

/// Selects the file operations that fail.
type Fails = fn(&str, &FileAction<'_>) -> bool;

/// A disk that is full from the moment that the switch says so.
fn full_disk(is_full: &Arc<AtomicBool>, fails: Fails) -> Options {
    let is_full = is_full.clone();
    let faults = Faults::default().on_files(move |file, action| {
        if is_full.load(Ordering::SeqCst) && fails(file, &action) {
            return Err(io::Error::from_raw_os_error(NO_SPACE));
        }
        Ok(())
    });
    Options {
        segment_bytes: 4096,
        state_interval: Duration::ZERO,
        retry_interval: Duration::from_millis(5),
        faults,
        ..Options::default()
    }
}

/// A store on a disk that becomes full, and its clients.
struct Filled {
    runtime: Runtime,
    store: EmbeddedStore,
    is_full: Arc<AtomicBool>,
    /// The next command. Those that were refused do not count, since they did not happen.
    next: u64,
}

impl Filled {
    fn new(folder: &Path, fails: Fails) -> Self {
        let is_full = Arc::new(AtomicBool::new(false));
        let mut filled = Self {
            runtime: Runtime::new().unwrap(),
            store: EmbeddedStore::open(folder, &full_disk(&is_full, fails)).unwrap(),
            is_full,
            next: 1,
        };
        while filled.next <= WRITTEN {
            filled.write().unwrap();
        }
        filled
    }

    fn write(&mut self) -> Result<(), WriteFailure> {
        let sent = send(&self.store, command(self.next));
        let outcome = self.runtime.block_on(sent);
        self.next += u64::from(outcome.is_ok());
        outcome
    }

    /// Fills the disk, and writes until that shows.
    fn fill(&mut self) -> WriteFailure {
        self.is_full.store(true, Ordering::SeqCst);
        loop {
            if let Err(failure) = self.write() {
                return failure;
            }
        }
    }

    /// Frees the disk, and writes until that works.
    fn free(&mut self) {
        self.is_full.store(false, Ordering::SeqCst);
        eventually_sync("writes are accepted again", || self.write());
    }

    fn digest(&self) -> String {
        digest_of(&self.store)
    }

    fn written(&self) -> String {
        digest(&expected(self.next - 1))
    }
}

const FULL: &str = "No space left on device (os error 28)";
const FULL_TO_CLIENTS: &str = "etcdserver: mvcc: database space exceeded";

fn is_log(file: &str) -> bool {
    file.starts_with("log")
}

/// The operations of the log that fail for want of space, without any fsync.
const LOG_WRITES: [Fails; 2] = [
    |file, action| is_log(file) && matches!(action, FileAction::Write { .. }),
    // Only when a new segment is needed.
    |file, action| is_log(file) && matches!(action, FileAction::Make),
];

#[test]
fn a_full_disk_under_the_log_refuses_writes_until_there_is_space_and_loses_nothing() {
    for fails in LOG_WRITES {
        let folder = tempfile::tempdir().unwrap();
        let mut filled = Filled::new(folder.path(), fails);
        for _ in 0..3 {
            assert_eq!(filled.store.write_outage(), None);
            assert_eq!(filled.fill().to_string(), FULL_TO_CLIENTS);
            // Reads continue and see all acknowledged writes, and no other.
            assert_eq!(filled.digest(), filled.written());
            let refused = filled.write().unwrap_err();
            assert_eq!(refused.to_string(), FULL_TO_CLIENTS);
            let outage = Some(format!("writing the log failed: {FULL}"));
            assert_eq!(filled.store.write_outage(), outage);
            filled.free();
            assert_eq!(filled.digest(), filled.written());
        }
        let Filled { store, next, .. } = filled;
        drop(store);
        let store = EmbeddedStore::open(folder.path(), &Options::default()).unwrap();
        assert_eq!(digest_of(&store), digest(&expected(next - 1)));
    }
}

/// A frame that could not be written is not found after a restart either, whatever follows.
#[test]
fn a_restart_on_a_full_disk_has_what_was_acknowledged() {
    for fails in LOG_WRITES {
        let folder = tempfile::tempdir().unwrap();
        let mut filled = Filled::new(folder.path(), fails);
        filled.fill();
        filled.free();
        filled.fill();
        let Filled { store, next, .. } = filled;
        drop(store);
        let store = EmbeddedStore::open(folder.path(), &Options::default()).unwrap();
        assert_eq!(digest_of(&store), digest(&expected(next - 1)));
    }
}

/// Another fsync could succeed although the data is gone, so the log goes on in a segment of its own.
#[test]
fn a_failed_fsync_of_the_log_is_uncertain_and_the_log_goes_on_elsewhere() {
    let fails: Fails = |file, action| is_log(file) && matches!(action, FileAction::Sync);
    let folder = tempfile::tempdir().unwrap();
    let mut filled = Filled::new(folder.path(), fails);
    let mut segments = vec![last_segment(folder.path())];
    for _ in 0..3 {
        let uncertain =
            format!("the outcome of the write is unknown: writing the log failed: {FULL}");
        assert_eq!(filled.fill().to_string(), uncertain);
        assert_eq!(filled.write().unwrap_err().to_string(), FULL_TO_CLIENTS);
        assert_eq!(filled.digest(), filled.written());
        filled.free();
        assert_eq!(filled.digest(), filled.written());
        segments.push(last_segment(folder.path()));
    }
    assert!(
        segments.is_sorted_by(|one, next| one < next),
        "{segments:?}"
    );
    let Filled { store, next, .. } = filled;
    drop(store);
    let store = EmbeddedStore::open(folder.path(), &Options::default()).unwrap();
    assert_eq!(digest_of(&store), digest(&expected(next - 1)));
}

/// The end of a log whose fsync failed has the frame that is uncertain, and the next segment has none of it.
#[test]
fn a_store_that_dies_after_a_failed_fsync_opens_with_all_that_was_acknowledged() {
    for is_freed in [false, true] {
        let fails: Fails = |file, action| is_log(file) && matches!(action, FileAction::Sync);
        let folder = tempfile::tempdir().unwrap();
        let mut filled = Filled::new(folder.path(), fails);
        filled.fill();
        if is_freed {
            filled.free();
        }
        let acknowledged = filled.next - 1;
        let copy = tempfile::tempdir().unwrap();
        for entry in fs::read_dir(folder.path()).unwrap() {
            let entry = entry.unwrap();
            if entry.file_name() != "lock" {
                fs::copy(entry.path(), copy.path().join(entry.file_name())).unwrap();
            }
        }
        let store = EmbeddedStore::open(copy.path(), &Options::default()).unwrap();
        let found = digest_of(&store);
        let allowed = [acknowledged, acknowledged + 1].map(|last| digest(&expected(last)));
        assert!(allowed.contains(&found), "after {acknowledged}");
    }
}

fn last_segment(folder: &Path) -> String {
    let names = fs::read_dir(folder).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let segments = names.filter(|name| name.starts_with("log-"));
    segments.max().unwrap()
}

#[test]
fn a_full_disk_under_the_state_refuses_writes_until_there_is_space_and_loses_nothing() {
    let cases: [Fails; 2] = [
        |file, action| file == "state.redb" && matches!(action, FileAction::Write { .. }),
        |file, action| file == "state.redb" && matches!(action, FileAction::Resize { .. }),
    ];
    for fails in cases {
        let folder = tempfile::tempdir().unwrap();
        let mut filled = Filled::new(folder.path(), fails);
        for _ in 0..3 {
            assert_eq!(filled.fill().to_string(), FULL_TO_CLIENTS);
            assert_eq!(filled.digest(), filled.written());
            let outage = Some(format!("writing the state failed: I/O error: {FULL}"));
            assert_eq!(filled.store.write_outage(), outage);
            filled.free();
            assert_eq!(filled.digest(), filled.written());
        }
        filled.runtime.block_on(filled.store.settle()).unwrap();
        let Filled { store, next, .. } = filled;
        drop(store);
        let store = EmbeddedStore::open(folder.path(), &Options::default()).unwrap();
        assert_eq!(digest_of(&store), digest(&expected(next - 1)));
    }
}

/// The log still has all of it, which the next start reads.
#[test]
fn a_failed_fsync_of_the_state_refuses_writes_until_a_restart() {
    let fails: Fails = |file, action| file == "state.redb" && matches!(action, FileAction::Sync);
    let folder = tempfile::tempdir().unwrap();
    let mut filled = Filled::new(folder.path(), fails);
    filled.fill();
    filled.is_full.store(false, Ordering::SeqCst);
    let outage = Some(format!("writing the state failed: I/O error: {FULL}"));
    for _ in 0..3 {
        filled.write().unwrap_err();
        assert_eq!(filled.store.write_outage(), outage);
    }
    let Filled { store, next, .. } = filled;
    drop(store);
    let store = EmbeddedStore::open(folder.path(), &Options::default()).unwrap();
    assert_eq!(digest_of(&store), digest(&expected(next - 1)));
}

#[test]
fn a_disk_that_is_full_at_the_start_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let faults = Faults::default().on_files(|_, action| match action {
        FileAction::Make => Err(io::Error::from_raw_os_error(READ_ONLY)),
        _ => Ok(()),
    });
    let options = Options {
        faults,
        ..Options::default()
    };
    let refused = EmbeddedStore::open(folder.path(), &options).err().unwrap();
    let expected = format!(
        "opening the store in `{}`: Read-only file system (os error 30)",
        folder.path().display()
    );
    assert_eq!(refused.to_string(), expected);
}

#[test]
fn a_folder_that_must_not_be_written_is_told() {
    let folder = tempfile::tempdir().unwrap();
    if fs::metadata("/proc/self").unwrap().uid() == 0 {
        println!("SKIPPED: the superuser may write everywhere");
        return;
    }
    fs::set_permissions(folder.path(), Permissions::from_mode(0o555)).unwrap();
    let refused = EmbeddedStore::open(folder.path(), &Options::default());
    let expected = format!(
        "opening the store in `{}`: Permission denied (os error 13)",
        folder.path().display()
    );
    assert_eq!(refused.err().unwrap().to_string(), expected);
}

/// The operating system refuses to grow a file (`RLIMIT_FSIZE`).
#[test]
fn a_file_that_may_not_grow_is_told_by_the_process_that_needs_it() {
    let folder = tempfile::tempdir().unwrap();
    let program = std::env::current_exe().unwrap();
    // `ulimit -f` counts blocks of 512 or 1024 bytes. The signal is ignored, so that the call fails instead.
    let script = "trap '' XFSZ; ulimit -f 1; exec \"$@\"";
    let mut shell = Command::new("sh");
    shell.args(["-c", script, "sh"]).arg(program);
    let told = refusal(&mut shell, folder.path());
    let expected = format!(
        "refused opening the store in `{}`: File too large (os error 27)",
        folder.path().display()
    );
    assert_eq!(told, expected);
}

#[test]
fn a_second_process_on_one_folder_is_told_who_has_it() {
    let folder = tempfile::tempdir().unwrap();
    let _held = EmbeddedStore::open(folder.path(), &Options::default()).unwrap();
    let told = refusal(
        &mut Command::new(std::env::current_exe().unwrap()),
        folder.path(),
    );
    let expected = format!(
        "refused the store in `{}` is in use by process {}; stop that one first",
        folder.path().display(),
        std::process::id()
    );
    assert_eq!(told, expected);
}

/// Output of a child that cannot open its directory.
fn refusal(program: &mut Command, folder: &Path) -> String {
    let Output { stdout, .. } = program
        .args(child::ARGUMENTS)
        .env(child::FOLDER, folder)
        .output()
        .unwrap();
    let stdout = String::from_utf8(stdout).unwrap();
    let mut lines = stdout.lines();
    let told = lines.find_map(|line| Some(line.split_once(child::MARK)?.1));
    told.unwrap_or_else(|| panic!("{stdout}")).to_owned()
}
