//! Ledger of changes to the process default set, with their undo information.

use std::{
    collections::BTreeMap,
    io::Write,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    thread::{self, ThreadId},
};

use super::{
    guard::Emulated,
    matrix::{emulating, of_group},
    plan::{Place, Refusal, find, plan, replace},
};
use crate::{
    Component, DEFAULT_COMPONENT, Gate, Gates, Registry, StartError, decide::Decision, process,
};

/// Errors of taking or dropping a guard. The texts are a contract.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub(super) enum Conflict {
    #[error("Detected parallel setting of a feature gate by both {holder:?} and {asking:?}")]
    Parallel { holder: String, asking: String },
    #[error("the emulated version cannot change while {0} is set: take it before the gate")]
    GateHeld(String),
    #[error("a turn must be taken before {0} is set: two tests could wait for each other")]
    TurnTooLate(String),
    #[error("the guard of {dropped} was dropped before the guard of {alive}, which is younger")]
    OutOfOrder { dropped: String, alive: String },
    #[error("no process default set is installed, so it has no version to change")]
    NothingInstalled,
    #[error("{0}")]
    Refused(#[from] Refusal),
}

/// A live guard.
struct Entry {
    id: u64,
    thread: ThreadId,
    test: String,
    /// Description of the held gates for messages.
    what: String,
    undo: Undo,
}

/// Undo information of an entry.
enum Undo {
    Turn,
    Versions(Gates),
    Gates(BTreeMap<Place, Decision>),
    /// Another set was installed since; leave it unchanged.
    Nothing,
}

struct Ledger {
    next_id: u64,
    entries: Vec<Entry>,
    /// The set before the first entry, and the set after the last change.
    original: Option<Gates>,
    current: Option<Gates>,
}

static LEDGER: Mutex<Ledger> = Mutex::new(Ledger {
    next_id: 0,
    entries: Vec::new(),
    original: None,
    current: None,
});
static RELEASED: Condvar = Condvar::new();

/// Switches gates; returns the entry, and the names of dependent gates that were switched off.
pub(super) fn set(asked: &[(Gate, bool)]) -> Result<(u64, Vec<String>), Conflict> {
    let mut ledger = lock();
    let base = process::installed().unwrap_or_else(|| {
        let group = asked.first().map(|(gate, _)| of_group(gate.group()));
        let set = group.expect("a test asks for a gate");
        set.install();
        set
    });
    ledger.adopt(&base);
    let mut places = Vec::new();
    for (gate, _) in asked {
        let (component, _) = find(&base, gate.component(), gate.name())?;
        places.push((component.name().to_owned(), component.index_of(gate.name())));
    }
    ledger.check_places(&places.iter().collect::<Vec<_>>())?;
    let wanted = asked.iter();
    let wanted = wanted.map(|&(gate, value)| (gate.component(), gate.name(), value));
    let plan = plan(&base, wanted)?;
    ledger.check_places(&plan.changes.keys().collect::<Vec<_>>())?;
    plan.tell();
    let names: Vec<&str> = asked.iter().map(|(gate, _)| gate.name()).collect();
    let undo = Undo::Gates(plan.before(&base));
    ledger.put(plan.apply(&base));
    let followers = plan.followers.into_iter().map(|one| one.name).collect();
    Ok((ledger.enter(names.join(", "), undo), followers))
}

/// Changes the versions of one component, or of the default one.
pub(super) fn emulate(component: Option<&str>, asked: Emulated) -> Result<u64, Conflict> {
    let mut ledger = lock();
    let base = process::installed().ok_or(Conflict::NothingInstalled)?;
    ledger.adopt(&base);
    let me = thread::current().id();
    let gate = ledger.of_thread(me).find(|entry| entry.is_gate());
    if let Some(gate) = gate {
        return Err(Conflict::GateHeld(gate.what.clone()));
    }
    ledger.check_parallel(|entry| entry.thread != me)?;
    let registry = base.registry();
    let component = match component {
        Some(name) => find_component(registry, name)?,
        None => registry
            .component(DEFAULT_COMPONENT)
            .or_else(|| registry.components().next())
            .ok_or(Conflict::NothingInstalled)?,
    };
    let min = asked.min_compatibility.unwrap_or_else(|| {
        let default = component.versions_at(asked.emulation);
        default.min_compatibility
    });
    let name = component.name().to_owned();
    let set = emulating(&base, &name, asked.emulation, min)?;
    ledger.put(set);
    let what = format!("version {} of {name}", asked.emulation);
    Ok(ledger.enter(what, Undo::Versions(base)))
}

fn find_component<'a>(registry: &'a Registry, name: &str) -> Result<&'a Component, Refusal> {
    let component = name.to_owned();
    let unknown = || Refusal::Start(StartError::UnknownComponent { component });
    registry.component(name).ok_or_else(unknown)
}

/// Waits for exclusive access.
pub(super) fn take_turn() -> Result<u64, Conflict> {
    let mut ledger = lock();
    let me = thread::current().id();
    loop {
        if let Some(held) = ledger.of_thread(me).find(|entry| !entry.is_turn()) {
            return Err(Conflict::TurnTooLate(held.what.clone()));
        }
        if ledger.entries.iter().all(|entry| entry.thread == me) {
            return Ok(ledger.enter("a turn".to_owned(), Undo::Turn));
        }
        ledger = RELEASED
            .wait(ledger)
            .unwrap_or_else(PoisonError::into_inner);
    }
}

/// Undoes an entry. After a wrong drop order everything is restored nevertheless.
pub(super) fn release(id: u64) -> Result<(), Conflict> {
    let released = lock().release(id);
    RELEASED.notify_all();
    released
}

fn lock() -> MutexGuard<'static, Ledger> {
    LEDGER.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Entry {
    fn is_turn(&self) -> bool {
        matches!(self.undo, Undo::Turn)
    }

    fn is_gate(&self) -> bool {
        matches!(self.undo, Undo::Gates(_))
    }

    /// True if the entry excludes all other tests.
    fn is_exclusive(&self) -> bool {
        matches!(self.undo, Undo::Turn | Undo::Versions(_))
    }

    fn holds(&self, place: &Place) -> bool {
        matches!(&self.undo, Undo::Gates(before) if before.contains_key(place))
    }
}

impl Ledger {
    fn of_thread(&self, thread: ThreadId) -> impl Iterator<Item = &Entry> {
        self.entries
            .iter()
            .filter(move |entry| entry.thread == thread)
    }

    fn check_parallel(&self, conflicts: impl Fn(&Entry) -> bool) -> Result<(), Conflict> {
        match self.entries.iter().find(|&entry| conflicts(entry)) {
            Some(entry) => Err(Conflict::Parallel {
                holder: entry.test.clone(),
                asking: test_name(),
            }),
            None => Ok(()),
        }
    }

    /// Fails if another test holds one of the gates, or all of them.
    fn check_places(&self, places: &[&Place]) -> Result<(), Conflict> {
        let me = thread::current().id();
        self.check_parallel(|entry| {
            let held = entry.is_exclusive() || places.iter().any(|place| entry.holds(place));
            entry.thread != me && held
        })
    }

    /// Detects a set installed by other code: the saved values of the previous set do not apply to it.
    fn adopt(&mut self, installed: &Gates) {
        let ours = self.current.as_ref();
        if ours.is_some_and(|ours| ours.is_same_set(installed)) {
            return;
        }
        for entry in self.entries.iter_mut().filter(|entry| !entry.is_turn()) {
            entry.undo = Undo::Nothing;
        }
        self.original = Some(installed.clone());
        self.current = Some(installed.clone());
    }

    fn put(&mut self, set: Gates) {
        set.install();
        self.current = Some(set);
    }

    fn enter(&mut self, what: String, undo: Undo) -> u64 {
        WATCH.with(|_| {}); // from here on the end of this thread is watched
        self.next_id += 1;
        self.entries.push(Entry {
            id: self.next_id,
            thread: thread::current().id(),
            test: test_name(),
            what,
            undo,
        });
        self.next_id
    }

    fn release(&mut self, id: u64) -> Result<(), Conflict> {
        if let Some(installed) = process::installed() {
            self.adopt(&installed);
        }
        let at = self.entries.iter().position(|entry| entry.id == id);
        let mut entry = self.entries.remove(at.expect("a guard has one entry"));
        let undo = std::mem::replace(&mut entry.undo, Undo::Nothing);
        let is_younger = |other: &&mut Entry| other.thread == entry.thread && other.id > id;
        let younger: Vec<&mut Entry> = self.entries.iter_mut().filter(is_younger).collect();
        let alive = younger.last().map(|entry| entry.what.clone());
        if let Some(set) = restored(undo, younger, self.current.as_ref()) {
            self.put(set);
        }
        if self.entries.is_empty() {
            self.close();
        }
        match alive {
            Some(alive) => Err(Conflict::OutOfOrder {
                dropped: entry.what,
                alive,
            }),
            None => Ok(()),
        }
    }

    /// Restores the original set itself, so that its cluster switch has effect again.
    fn close(&mut self) {
        self.current = None;
        if let Some(original) = self.original.take() {
            original.install();
        }
    }
}

/// The set after undoing one entry. Gates that a younger entry of the same test also changed stay, and that entry
/// inherits the undo.
fn restored(undo: Undo, younger: Vec<&mut Entry>, current: Option<&Gates>) -> Option<Gates> {
    match undo {
        Undo::Turn | Undo::Nothing => None,
        Undo::Gates(mut before) => {
            for other in younger {
                if let Undo::Gates(theirs) = &mut other.undo {
                    before.retain(|place, ours| match theirs.get_mut(place) {
                        Some(their) => {
                            *their = *ours;
                            false
                        }
                        None => true,
                    });
                }
            }
            current.map(|current| replace(current, &before))
        }
        Undo::Versions(before) => {
            for other in younger {
                match &mut other.undo {
                    Undo::Versions(theirs) => {
                        *theirs = before;
                        return None;
                    }
                    undo => *undo = Undo::Nothing,
                }
            }
            Some(before)
        }
    }
}

/// The test's name: the harness names threads after tests.
fn test_name() -> String {
    let thread = thread::current();
    thread.name().unwrap_or("unnamed thread").to_owned()
}

thread_local! {
    static WATCH: Watch = Watch { thread: thread::current().id() };
}

/// Aborts the process when a test's thread ends before its guards: leaked values would affect later tests.
struct Watch {
    thread: ThreadId,
}

impl Drop for Watch {
    fn drop(&mut self) {
        let ledger = lock();
        let Some(leaked) = ledger.of_thread(self.thread).next() else {
            return;
        };
        let (test, what) = (&leaked.test, &leaked.what);
        let message = format!(
            "feature gate guard leaked: test {test:?} ended while {what} was still set, and the \
             process default set cannot be trusted any more\n"
        );
        // Written directly: the harness would capture the message of a finished test.
        std::io::stderr().write_all(message.as_bytes()).ok();
        std::process::abort();
    }
}
