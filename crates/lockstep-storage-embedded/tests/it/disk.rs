//! Full disks, read-only directories, and directories in use.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use lockstep_storage::WriteFailure;
use lockstep_storage_embedded::{EmbeddedStore, Faults, FileAction, Options};
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
        faults,
        ..Options::default()
    }
}

/// Writes until the disk is full; returns the errors of the last write and of the one after it.
fn fill(folder: &Path, fails: Fails) -> (u64, [String; 2]) {
    let runtime = Runtime::new().unwrap();
    let is_full = Arc::new(AtomicBool::new(false));
    let store = EmbeddedStore::open(folder, &full_disk(&is_full, fails)).unwrap();
    let mut next = 1;
    while next <= WRITTEN {
        runtime.block_on(send(&store, command(next))).unwrap();
        next += 1;
    }
    is_full.store(true, Ordering::SeqCst);
    let failure = loop {
        match runtime.block_on(send(&store, command(next))) {
            Ok(()) => next += 1,
            Err(failure) => break failure,
        }
    };
    // Reads continue and see all acknowledged writes.
    let is_uncertain = matches!(failure, WriteFailure::Uncertain { .. });
    let seen = [next - 1, next].map(|last| digest(&expected(last)));
    assert!(seen[..=usize::from(is_uncertain)].contains(&digest_of(&store)));
    let after = runtime.block_on(send(&store, command(next + 1)));
    (
        next - 1,
        [failure.to_string(), after.unwrap_err().to_string()],
    )
}

/// Once there is space again, the store opens with everything it acknowledged.
fn check_after(folder: &Path, acknowledged: u64) {
    let store = EmbeddedStore::open(folder, &Options::default()).unwrap();
    let found = digest_of(&store);
    let allowed = [acknowledged, acknowledged + 1].map(|last| digest(&expected(last)));
    assert!(allowed.contains(&found), "after {acknowledged}");
}

const FULL: &str = "No space left on device (os error 28)";

fn is_log(file: &str) -> bool {
    file.starts_with("log-")
}

#[test]
fn a_full_disk_under_the_log_is_told_to_writers_and_loses_nothing() {
    let cases: [Fails; 3] = [
        |file, action| is_log(file) && matches!(action, FileAction::Write { .. }),
        |file, action| is_log(file) && matches!(action, FileAction::Sync),
        // Only when a new segment is needed.
        |file, action| is_log(file) && matches!(action, FileAction::Make),
    ];
    for fails in cases {
        let folder = tempfile::tempdir().unwrap();
        let (acknowledged, told) = fill(folder.path(), fails);
        let expected = [
            format!("the outcome of the write is unknown: writing the log failed: {FULL}"),
            format!("the store is unavailable: writing the log failed: {FULL}"),
        ];
        assert_eq!(told, expected);
        check_after(folder.path(), acknowledged);
    }
}

#[test]
fn a_full_disk_under_the_state_is_told_to_writers_and_loses_nothing() {
    let cases: [Fails; 3] = [
        |file, action| file == "state.redb" && matches!(action, FileAction::Write { .. }),
        |file, action| file == "state.redb" && matches!(action, FileAction::Sync),
        |file, action| file == "state.redb" && matches!(action, FileAction::Resize { .. }),
    ];
    for fails in cases {
        let folder = tempfile::tempdir().unwrap();
        let (acknowledged, told) = fill(folder.path(), fails);
        let expected = format!("writing the state failed: I/O error: {FULL}");
        for told in told {
            assert!(told.ends_with(&expected), "{told}");
        }
        check_after(folder.path(), acknowledged);
    }
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
