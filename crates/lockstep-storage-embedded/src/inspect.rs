//! Read-only verification of a data directory.

use std::path::{Path, PathBuf};
use std::{fs, io};

use lockstep_mvcc::{Command, Machine, Malformed};

use crate::log::{LogError, Scan};
use crate::state::{self, Loaded, STATE_FILE, StateError};
use crate::{OpenError, lock};

/// Result of verifying a data directory.
pub struct Inspection {
    /// The index of the last command in the state.
    pub state_applied: u64,
    /// The index of the first command in the log.
    pub log_first: u64,
    /// The index of the last command in the log.
    pub applied: u64,
    /// All findings, including harmless ones.
    pub findings: Vec<Finding>,
    /// The state that opening the directory would restore; `None` if opening would fail.
    pub machine: Option<Machine>,
}

/// A finding about one file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// Severity of the finding.
    pub severity: Severity,
    /// The file.
    pub file: PathBuf,
    /// Offset in the file, if applicable.
    pub offset: Option<u64>,
    /// Description for people.
    pub what: String,
}

/// Severity of a finding.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Severity {
    /// A trace of a crash or an interrupted start; the store opens nevertheless.
    Note,
    /// Damage; the store refuses to open.
    Damage,
}

impl Inspection {
    /// Verifies the state with all rows, and every segment, frame and command of the log. Fails only if the
    /// directory contains no store or is in use.
    pub fn of(folder: &Path) -> Result<Self, OpenError> {
        check_folder(folder)?;
        let _lock = lock::look(folder)?;
        let mut findings = Vec::new();
        let loaded = match state::load(&folder.join(STATE_FILE)) {
            Ok(loaded) => Some(loaded),
            Err(errors) => {
                let file = folder.join(STATE_FILE);
                findings.extend(errors.iter().map(|error| of_state(&file, error)));
                None
            }
        };
        let state_applied = loaded.as_ref().map_or(0, |loaded| loaded.applied);
        let scan = Scan::read(folder, state_applied, 0)?;
        let log_errors = scan.errors.iter().filter(|error| {
            // Without a state, the first command that the log must contain is unknown.
            loaded.is_some() || !matches!(error, LogError::Missing { .. })
        });
        findings.extend(log_errors.map(of_log));
        findings.extend(notes(&scan));
        let first = scan.commands.first();
        let mut inspection = Self {
            state_applied,
            log_first: first.map_or(scan.next_index(), |command| command.index),
            applied: scan.next_index() - 1,
            findings,
            machine: None,
        };
        let commands = inspection.decode(&scan);
        if let Some(loaded) = loaded.filter(|_| !inspection.is_damaged()) {
            inspection.replay(folder, loaded, commands);
        }
        Ok(inspection)
    }

    /// True if a store refuses to open the directory.
    pub fn is_damaged(&self) -> bool {
        let mut findings = self.findings.iter();
        findings.any(|finding| finding.severity == Severity::Damage)
    }

    fn decode(&mut self, scan: &Scan) -> Vec<(u64, Command)> {
        let mut commands = Vec::with_capacity(scan.commands.len());
        for logged in &scan.commands {
            match Command::decode(&logged.bytes) {
                Ok(command) => commands.push((logged.index, command)),
                Err(Malformed { what, .. }) => self.findings.push(Finding {
                    severity: Severity::Damage,
                    file: scan.file(logged.sequence),
                    offset: Some(logged.offset),
                    what: format!("command {} cannot be understood: {what}", logged.index),
                }),
            }
        }
        commands
    }

    /// Applies the commands after the state to it. If the log is complete from the first command on, also rebuilds
    /// the state from nothing and compares both.
    fn replay(&mut self, folder: &Path, loaded: Loaded, commands: Vec<(u64, Command)>) {
        let mut machine = loaded.machine;
        if self.log_first == 1 && self.state_applied > 0 {
            let mut again = Machine::default();
            for (_, command) in commands.iter().take_while(|it| it.0 <= loaded.applied) {
                again.apply(command.clone());
            }
            if again.encode() != machine.encode() {
                self.findings.push(Finding {
                    severity: Severity::Damage,
                    file: folder.join(STATE_FILE),
                    offset: None,
                    what: "the state is not what the commands of the log amount to".to_owned(),
                });
                return;
            }
        }
        for (_, command) in commands.into_iter().filter(|it| it.0 > loaded.applied) {
            machine.apply(command);
        }
        self.machine = Some(machine);
    }
}

/// A directory without files of a store is more likely a wrong path than an empty store.
fn check_folder(folder: &Path) -> Result<(), OpenError> {
    let io = |source| OpenError::Io {
        folder: folder.to_owned(),
        source,
    };
    let mut names = fs::read_dir(folder).map_err(io)?;
    let is_store = names.try_fold(false, |found, entry| {
        let name = entry?.file_name();
        let name = name.to_string_lossy();
        Ok::<_, io::Error>(found || name == STATE_FILE || name.ends_with(".seg"))
    });
    if is_store.map_err(io)? {
        return Ok(());
    }
    Err(io(io::Error::new(
        io::ErrorKind::NotFound,
        "there is no store in it",
    )))
}

fn of_state(file: &Path, error: &StateError) -> Finding {
    Finding {
        severity: Severity::Damage,
        file: file.to_owned(),
        offset: error.offset(),
        what: error.to_string(),
    }
}

fn of_log(error: &LogError) -> Finding {
    let (file, offset, what) = match error {
        LogError::Damaged { file, offset, what } => (file, Some(*offset), (*what).to_owned()),
        LogError::UnknownFormat { file, found } => {
            let what = format!("log format {found}, which this program does not know");
            (file, Some(0), what)
        }
        LogError::Missing { file } => (file, None, "it is missing".to_owned()),
        LogError::Io { folder, source } => (folder, None, source.to_string()),
    };
    Finding {
        severity: Severity::Damage,
        file: file.clone(),
        offset,
        what,
    }
}

/// Traces of a crash that the next start cleans up.
fn notes(scan: &Scan) -> Vec<Finding> {
    let note = |sequence, offset, what: &str| Finding {
        severity: Severity::Note,
        file: scan.file(sequence),
        offset,
        what: what.to_owned(),
    };
    let mut notes = Vec::new();
    let aside = scan.aside.iter();
    notes.extend(aside.map(|sequence| note(*sequence, None, "it is no longer needed")));
    if let Some(last) = scan.segments.last().filter(|last| !last.is_closed) {
        let what = "the log was not closed in order; a start goes on here";
        notes.push(note(last.sequence, Some(last.end as u64), what));
    }
    let what = "its header is incomplete; the next start replaces it";
    notes.extend(
        scan.unfinished
            .map(|sequence| note(sequence, Some(0), what)),
    );
    notes
}
