//! Gates declared in code with the [`features!`](crate::features) macro.

use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};

use crate::{
    ALL_ALPHA, ALL_BETA, Entry, Feature, Scope, cell,
    dependency::{cycle, mismatch},
    feature::is_valid_name,
    history::{Violation, violation_at},
};

/// Maximum gates of one declaration.
const DECLARATIONS_MAX: usize = 1024;
/// Maximum dependencies of one declaration.
const DEPENDENCIES_MAX: usize = 1024;

/// One gate as written in the macro.
#[derive(Debug)]
pub struct Declaration {
    /// The gate's name as users write it.
    pub name: &'static str,
    /// The name of its constant in code.
    pub constant: &'static str,
    /// The documentation comment.
    pub description: &'static str,
    /// Team or person responsible for the gate.
    pub owner: &'static str,
    /// Links to further documentation.
    pub links: &'static [&'static str],
    /// The feature adds or widens an API field.
    pub api: bool,
    /// Scope of the gate.
    pub scope: Scope,
    /// Oldest first.
    pub entries: &'static [Entry],
    /// Names of the features it depends on.
    pub after: &'static [&'static str],
}

impl Declaration {
    /// Fails compilation with the text of the first violation.
    ///
    /// # Panics
    ///
    /// When the history breaks a rule; meant to be evaluated while compiling.
    pub const fn check(&self) {
        if let Some(violation) = self.violation() {
            panic!("{}", violation.text(self.name).as_str());
        }
    }

    const fn violation(&self) -> Option<Violation> {
        if !is_valid_name(self.name) {
            return Some(Violation::InvalidName);
        }
        if same_text(self.name, ALL_ALPHA) || same_text(self.name, ALL_BETA) {
            return Some(Violation::ReservedName);
        }
        if self.entries.is_empty() {
            return Some(Violation::NoEntries);
        }
        let mut at = 0;
        while at < self.entries.len() {
            if let Some(violation) = violation_at(self.entries, at) {
                return Some(violation);
            }
            at += 1;
        }
        None
    }

    pub(crate) fn feature(&self) -> Feature {
        Feature {
            name: self.name.into(),
            entries: self.entries.to_vec(),
            description: self.description.trim().into(),
            owner: self.owner.into(),
            links: self.links.iter().map(|&link| link.into()).collect(),
            api: self.api,
            scope: self.scope,
        }
    }
}

/// Fails compilation if a dependency between declarations is invalid. Dependencies on gates of other crates are
/// checked when the component is assembled.
///
/// # Panics
///
/// When a dependency breaks a rule; meant to be evaluated while compiling.
pub const fn check_dependencies(declarations: &[Declaration]) {
    assert!(
        declarations.len() <= DECLARATIONS_MAX,
        "too many gates in one declaration"
    );
    let mut edges = [(0, 0); DEPENDENCIES_MAX];
    let mut count = 0;
    let mut from = 0;
    while from < declarations.len() {
        let feature = &declarations[from];
        let mut at = 0;
        while at < feature.after.len() {
            if let Some(to) = position(declarations, feature.after[at]) {
                check_edge(feature, &declarations[to]);
                assert!(
                    count < DEPENDENCIES_MAX,
                    "too many dependencies in one declaration"
                );
                edges[count] = (from, to);
                count += 1;
            }
            at += 1;
        }
        from += 1;
    }
    let mut alive = [false; DECLARATIONS_MAX];
    let alive = alive.split_at_mut(declarations.len()).0;
    if let Some(node) = cycle(edges.split_at(count).0, alive) {
        panic!("{}", cycle_text(declarations[node].name).as_str());
    }
}

const fn check_edge(feature: &Declaration, on: &Declaration) {
    if let Some(mismatch) = mismatch(feature.entries, on.entries) {
        panic!("{}", mismatch.text(feature.name, on.name).as_str());
    }
}

pub(crate) const fn cycle_text(name: &str) -> crate::text::Text {
    crate::text::Text::new()
        .str("cycle detected with feature ")
        .str(name)
}

const fn position(declarations: &[Declaration], name: &str) -> Option<usize> {
    let mut at = 0;
    while at < declarations.len() {
        if same_text(declarations[at].name, name) {
            return Some(at);
        }
        at += 1;
    }
    None
}

const fn same_text(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len() != b.len() {
        return false;
    }
    let mut at = 0;
    while at < a.len() {
        if a[at] != b[at] {
            return false;
        }
        at += 1;
    }
    true
}

/// The gates one crate contributes to one component. Several groups may share a component.
#[derive(Debug)]
pub struct Group {
    component: &'static str,
    declarations: &'static [Declaration],
    live: &'static [AtomicU8],
    /// Offset of this group's cells in every [`crate::Gates`]; set once, at the first registration.
    base: AtomicU32,
}

/// The group has no offset yet.
const UNPLACED: u32 = u32::MAX;
/// The next free offset.
static NEXT_BASE: AtomicU32 = AtomicU32::new(0);

impl Group {
    /// Written by the macro.
    pub const fn new(
        component: &'static str,
        declarations: &'static [Declaration],
        live: &'static [AtomicU8],
    ) -> Self {
        Self {
            component,
            declarations,
            live,
            base: AtomicU32::new(UNPLACED),
        }
    }

    /// The component these gates belong to.
    pub const fn component(&self) -> &'static str {
        self.component
    }

    /// The gates, in the order they were written.
    pub const fn declarations(&self) -> &'static [Declaration] {
        self.declarations
    }

    /// The gates, in the order they were written.
    pub fn gates(&'static self) -> impl Iterator<Item = Gate> {
        let gate = move |(index, live)| Gate {
            group: self,
            index,
            live,
        };
        self.live.iter().enumerate().map(gate)
    }

    /// Assigns the group's offset in every set of this process.
    pub(crate) fn place(&self) -> usize {
        let base = self.base.load(Ordering::Acquire);
        if base != UNPLACED {
            return base as usize;
        }
        let length = u32::try_from(self.declarations.len()).expect("a group has few gates");
        let wanted = NEXT_BASE.fetch_add(length, Ordering::AcqRel);
        match self
            .base
            .compare_exchange(UNPLACED, wanted, Ordering::AcqRel, Ordering::Acquire)
        {
            Ok(_) => wanted as usize,
            Err(placed) => placed as usize, // another thread was first; our places stay unused
        }
    }

    pub(crate) fn live(&self) -> &'static [AtomicU8] {
        self.live
    }
}

/// A declared gate. A misspelled one does not compile.
#[derive(Clone, Copy, Debug)]
pub struct Gate {
    group: &'static Group,
    index: usize,
    live: &'static AtomicU8,
}

impl Gate {
    /// Written by the macro.
    pub const fn new(group: &'static Group, index: usize, live: &'static AtomicU8) -> Self {
        Self { group, index, live }
    }

    /// The name users write.
    pub fn name(self) -> &'static str {
        self.declaration().name
    }

    /// The name of the constant that code uses.
    pub fn constant(self) -> &'static str {
        self.declaration().constant
    }

    /// The component it belongs to.
    pub fn component(self) -> &'static str {
        self.group.component
    }

    /// The declaration in the macro.
    pub fn declaration(self) -> &'static Declaration {
        &self.group.declarations[self.index]
    }

    /// The gates declared together with it.
    pub const fn group(self) -> &'static Group {
        self.group
    }

    /// The value in the process default set, as read by [`enabled!`](crate::enabled).
    ///
    /// # Panics
    ///
    /// When no set was [installed](crate::Gates::install): a value read before the flags were
    /// parsed could be wrong for the rest of the process.
    #[inline]
    pub fn is_enabled_in_process(self) -> bool {
        let value = self.live.load(Ordering::Relaxed);
        if value == cell::ABSENT {
            read_too_early(self);
        }
        value == cell::ON
    }

    /// The cell read by [`enabled!`](crate::enabled).
    pub(crate) fn live(self) -> &'static AtomicU8 {
        self.live
    }

    /// Index of the gate's cell in every set that has it.
    #[inline]
    pub(crate) fn slot(self) -> usize {
        (self.group.base.load(Ordering::Relaxed) as usize).wrapping_add(self.index)
    }
}

impl PartialEq for Gate {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.live, other.live)
    }
}

impl Eq for Gate {}

#[cold]
#[inline(never)]
fn read_too_early(gate: Gate) -> ! {
    panic!(
        "feature gate {} was read before the process default set was installed",
        gate.name()
    )
}

/// True if a gate is on in the process default set: one relaxed load at a fixed address.
///
/// Libraries and servers take a [`Gates`](crate::Gates) instead; this form is for code without access to one.
#[macro_export]
macro_rules! enabled {
    ($gate:expr) => {
        $gate.is_enabled_in_process()
    };
}
