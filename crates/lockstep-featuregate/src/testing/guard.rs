//! Guards that change the process default set and restore it.

use std::marker::PhantomData;

use super::ledger;
use crate::{Gate, Version};

/// An entry in the ledger. It belongs to the thread that created it.
#[derive(Debug)]
struct Held {
    id: u64,
    /// Not `Send`: the thread's name is the test's name, and its end is the test's end.
    _stays: PhantomData<*const ()>,
}

impl Held {
    #[track_caller]
    fn new(entry: Result<u64, ledger::Conflict>) -> Self {
        match entry {
            Ok(id) => Self {
                id,
                _stays: PhantomData,
            },
            Err(conflict) => panic!("{conflict}"),
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let released = ledger::release(self.id);
        // A second panic would abort the process before the first is reported.
        if let Err(conflict) = released
            && !std::thread::panicking()
        {
            panic!("{conflict}");
        }
    }
}

/// Keeps gates of the process default set at the values set by a test.
///
/// Dropping it, also while panicking, restores each value with its source.
///
/// ```compile_fail,E0277
/// # use lockstep_featuregate::testing::GateGuard;
/// fn hand_over(guard: GateGuard) {
///     std::thread::spawn(move || drop(guard)); // it belongs to the test that took it
/// }
/// ```
///
/// # Panics
///
/// On drop, when a guard taken after it on the same thread still lives.
#[derive(Debug)]
#[must_use = "the gates are restored when the guard is dropped"]
pub struct GateGuard {
    _held: Held,
    also_disabled: Vec<String>,
}

impl GateGuard {
    /// Gates that were switched off because they depend on a named one, in order.
    pub fn also_disabled(&self) -> &[String] {
        &self.also_disabled
    }
}

/// Switches one gate of the process default set for a test; see [`set_all_for_test`].
///
/// # Panics
///
/// As [`set_all_for_test`] does.
#[track_caller]
pub fn set_for_test(gate: Gate, value: bool) -> GateGuard {
    set_all_for_test([(gate, value)])
}

/// Switches gates of the process default set for a test. Gates that depend on one that is switched off are switched
/// off as well, unless they are named too; each is printed to standard error.
///
/// When no set is installed, one with the gates declared together with the first is installed, at
/// the newest version they declare; it stays.
///
/// # Panics
///
/// When another test thread holds one of the gates, or another version, or its [`serial`] turn; and
/// whenever [`Gates::with_all`](crate::Gates::with_all) would.
#[track_caller]
pub fn set_all_for_test(asked: impl IntoIterator<Item = (Gate, bool)>) -> GateGuard {
    let asked: Vec<(Gate, bool)> = asked.into_iter().collect();
    match ledger::set(&asked) {
        Ok((id, also_disabled)) => GateGuard {
            _held: Held::new(Ok(id)),
            also_disabled,
        },
        Err(conflict) => panic!("{conflict}"),
    }
}

/// An emulation version for a test, with a matching minimum compatibility version unless one is given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Emulated {
    pub(super) emulation: Version,
    pub(super) min_compatibility: Option<Version>,
}

impl From<Version> for Emulated {
    fn from(emulation: Version) -> Self {
        Self {
            emulation,
            min_compatibility: None,
        }
    }
}

impl From<(Version, Version)> for Emulated {
    fn from((emulation, min): (Version, Version)) -> Self {
        Self {
            emulation,
            min_compatibility: Some(min),
        }
    }
}

/// Keeps the process default set at other versions. Dropping it restores both.
///
/// # Panics
///
/// On drop, when a guard taken after it on the same thread still lives.
#[derive(Debug)]
#[must_use = "the versions are restored when the guard is dropped"]
pub struct EmulationGuard {
    _held: Held,
}

/// Lets the default component of the process default set emulate `v`, or `(v, min)`, for a test.
///
/// # Panics
///
/// While this thread holds a gate, whose value would mean nothing at another version; while another
/// test thread holds anything; when a server could not be started at that version; when no process
/// default set is installed.
#[track_caller]
pub fn emulate_for_test(versions: impl Into<Emulated>) -> EmulationGuard {
    EmulationGuard {
        _held: Held::new(ledger::emulate(None, versions.into())),
    }
}

/// [`emulate_for_test`] for another component than the default one.
///
/// # Panics
///
/// As [`emulate_for_test`] does.
#[track_caller]
pub fn emulate_component_for_test(
    component: &str,
    versions: impl Into<Emulated>,
) -> EmulationGuard {
    EmulationGuard {
        _held: Held::new(ledger::emulate(Some(component), versions.into())),
    }
}

/// The right to be the only test that changes the process default set.
///
/// # Panics
///
/// On drop, when a guard taken after it on the same thread still lives.
#[derive(Debug)]
#[must_use = "the turn ends when the guard is dropped"]
pub struct Turn {
    _held: Held,
}

/// Waits until no other test thread holds a guard, and keeps others from taking one: those that call
/// this too wait, those that do not panic.
///
/// # Panics
///
/// While this thread holds a guard: two tests could wait for each other.
#[track_caller]
pub fn serial() -> Turn {
    Turn {
        _held: Held::new(ledger::take_turn()),
    }
}
