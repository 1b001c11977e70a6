//! A component: its own version and features.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    ALL_ALPHA, ALL_BETA, BinaryVersion, EMULATED_MINORS, Entry, Feature, Group, RegistrationError,
    Stage, Version,
    declare::cycle_text,
    dependency::{cycle, mismatch},
    feature::{BEFORE_HISTORY, is_valid_name},
    history::{Violation, violation_at},
};

/// The component of a gate or version without a component name.
pub const DEFAULT_COMPONENT: &str = "kube";

/// Record of a removed gate, for error messages.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tombstone {
    /// The first release without the gate.
    pub removed_in: Version,
    /// The version it was locked in, and the locked value.
    pub locked: Option<(Version, bool)>,
}

/// A feature of a component, with the places of its value if code declares it: one for each declaring group.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Registered {
    pub(crate) feature: Feature,
    pub(crate) slots: Vec<usize>,
    /// Index among the component's features sorted by name; valid once the component is closed.
    index: usize,
}

/// A named set of features with the range of versions it can emulate.
#[derive(Clone, Debug)]
pub struct Component {
    pub(crate) name: String,
    pub(crate) binary: BinaryVersion,
    pub(crate) emulation_floor: Version,
    pub(crate) min_compatibility_floor: Version,
    pub(crate) features: BTreeMap<String, Registered>,
    pub(crate) dependencies: BTreeMap<String, BTreeSet<String>>,
    pub(crate) tombstones: BTreeMap<String, Tombstone>,
    pub(crate) foreign: BTreeSet<String>,
    pub(crate) groups: Vec<&'static Group>,
    closed: bool,
}

impl Component {
    /// A component with `AllAlpha` and `AllBeta` only. It can emulate the three releases before its own.
    pub fn new(name: impl Into<String>, binary: BinaryVersion) -> Self {
        let floor = binary.line().minus_minors(EMULATED_MINORS);
        let mut component = Self {
            name: name.into(),
            binary,
            emulation_floor: floor,
            min_compatibility_floor: floor,
            features: BTreeMap::new(),
            dependencies: BTreeMap::new(),
            tombstones: BTreeMap::new(),
            foreign: BTreeSet::new(),
            groups: Vec::new(),
            closed: false,
        };
        component.insert(group_switch(ALL_ALPHA, Stage::Alpha));
        component.insert(group_switch(ALL_BETA, Stage::Beta));
        component
    }

    /// A component with the gates that code declares for it.
    pub fn declared(
        binary: BinaryVersion,
        groups: &[&'static Group],
    ) -> Result<Self, Vec<RegistrationError>> {
        let name = groups
            .first()
            .map_or(DEFAULT_COMPONENT, |group| group.component());
        let mut component = Self::new(name, binary);
        let mut errors = Vec::new();
        for group in groups {
            errors.extend(component.add_group(group).err().into_iter().flatten());
        }
        if errors.is_empty() {
            Ok(component)
        } else {
            Err(errors)
        }
    }

    /// Replaces the binary version, and with it the range of versions to emulate.
    #[must_use]
    pub fn with_binary(mut self, binary: BinaryVersion) -> Self {
        let floor = binary.line().minus_minors(EMULATED_MINORS);
        (
            self.binary,
            self.emulation_floor,
            self.min_compatibility_floor,
        ) = (binary, floor, floor);
        self
    }

    /// Replaces the oldest version that can be emulated.
    #[must_use]
    pub fn with_emulation_floor(mut self, floor: Version) -> Self {
        self.emulation_floor = floor;
        self
    }

    /// Replaces the oldest allowed minimum compatibility version.
    #[must_use]
    pub fn with_min_compatibility_floor(mut self, floor: Version) -> Self {
        self.min_compatibility_floor = floor;
        self
    }

    /// Adds gates of another crate; rejects groups of another component.
    pub fn add_group(&mut self, group: &'static Group) -> Result<(), Vec<RegistrationError>> {
        if group.component() != self.name {
            let component = group.component().to_owned();
            return Err(vec![RegistrationError::ComponentUnknown { component }]);
        }
        let base = group.place();
        let mut errors = Vec::new();
        for (index, declaration) in group.declarations().iter().enumerate() {
            match self.add(declaration.feature()) {
                Ok(()) => {
                    self.depend(declaration.name, declaration.after.iter().copied());
                    let known = self.features.get_mut(declaration.name).expect("just added");
                    known.slots.push(base + index);
                }
                Err(refused) => errors.extend(refused),
            }
        }
        self.groups.push(group);
        if errors.is_empty() {
            Ok(())
        } else {
            Err(errors)
        }
    }

    /// Adds a feature. An identical duplicate is allowed, a different history is not. On error nothing is added,
    /// and every violation is reported.
    pub fn add(&mut self, mut feature: Feature) -> Result<(), Vec<RegistrationError>> {
        if self.closed {
            return Err(vec![RegistrationError::Closed]);
        }
        let violations = violations(&feature);
        if !violations.is_empty() {
            return Err(violations);
        }
        feature.complete();
        match self.features.get(&*feature.name) {
            Some(known) if known.feature.entries == feature.entries => Ok(()),
            Some(known) => Err(vec![RegistrationError::Different {
                feature: feature.name.into_owned(),
                existing: describe(&known.feature.entries),
            }]),
            None => {
                self.insert(feature);
                Ok(())
            }
        }
    }

    /// Adds dependencies of `feature`; repeated calls are merged. [`Component::check`] validates them when all
    /// features are known.
    pub fn depend<'a>(&mut self, feature: &str, on: impl IntoIterator<Item = &'a str>) {
        let on = on.into_iter().map(str::to_owned).collect::<BTreeSet<_>>();
        if !on.is_empty() {
            self.dependencies
                .entry(feature.to_owned())
                .or_default()
                .extend(on);
        }
    }

    /// Records a removed gate.
    pub fn add_tombstone(&mut self, name: impl Into<String>, tombstone: Tombstone) {
        self.tombstones.insert(name.into(), tombstone);
    }

    /// Names gates of other products that have no effect here.
    pub fn add_foreign<'a>(&mut self, names: impl IntoIterator<Item = &'a str>) {
        let known = &self.features;
        let foreign = names.into_iter().filter(|&name| !known.contains_key(name));
        self.foreign.extend(foreign.map(str::to_owned));
    }

    /// Closes the component for new features.
    pub fn close(&mut self) {
        for (index, known) in self.features.values_mut().enumerate() {
            known.index = index;
        }
        self.closed = true;
    }

    /// The position of a feature among the sorted features of a closed component.
    pub(crate) fn index_of(&self, name: &str) -> usize {
        debug_assert!(
            self.closed,
            "positions are fixed when the component is closed"
        );
        self.features
            .get(name)
            .expect("callers ask for features of this component")
            .index
    }

    /// Violations of dependency rules.
    pub fn check(&self) -> Vec<RegistrationError> {
        let mut errors = Vec::new();
        for (name, needed) in &self.dependencies {
            match self.feature(name) {
                Some(feature) => {
                    errors.extend(needed.iter().filter_map(|on| self.check_edge(feature, on)));
                }
                None => errors.push(RegistrationError::DependencyOfUnknown {
                    feature: name.clone(),
                }),
            }
        }
        if errors.is_empty() {
            errors.extend(self.check_cycle());
        }
        errors
    }

    fn check_edge(&self, feature: &Feature, on: &str) -> Option<RegistrationError> {
        let name = feature.name.to_string();
        let Some(target) = self.feature(on) else {
            let on = on.to_owned();
            return Some(RegistrationError::DependencyOnUnknown { feature: name, on });
        };
        let mismatch = mismatch(&feature.entries, &target.entries)?;
        let text = mismatch.text(&name, on).as_str().to_owned();
        Some(RegistrationError::Dependency {
            feature: name,
            text,
        })
    }

    fn check_cycle(&self) -> Option<RegistrationError> {
        let names: Vec<&String> = self.features.keys().collect();
        let position = |name: &String| names.binary_search(&name).expect("dependencies are known");
        let edges: Vec<(usize, usize)> = self
            .dependencies
            .iter()
            .flat_map(|(name, needed)| needed.iter().map(move |on| (name, on)))
            .map(|(name, on)| (position(name), position(on)))
            .collect();
        let node = cycle(&edges, &mut vec![false; names.len()])?;
        let feature = names[node].clone();
        let text = cycle_text(&feature).as_str().to_owned();
        Some(RegistrationError::Dependency { feature, text })
    }

    fn insert(&mut self, feature: Feature) {
        self.features.insert(
            feature.name.to_string(),
            Registered {
                feature,
                slots: Vec::new(),
                index: 0,
            },
        );
    }

    /// The component's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The version it was built as.
    pub fn binary(&self) -> BinaryVersion {
        self.binary
    }

    /// The oldest version it can emulate.
    pub fn emulation_floor(&self) -> Version {
        self.emulation_floor
    }

    /// Every feature with `AllAlpha` and `AllBeta`, sorted by name.
    pub fn features(&self) -> impl Iterator<Item = &Feature> {
        self.features.values().map(|known| &known.feature)
    }

    /// Features without `AllAlpha` and `AllBeta`, sorted by name.
    pub fn own_features(&self) -> impl Iterator<Item = &Feature> {
        self.features()
            .filter(|feature| !is_group_switch(&feature.name))
    }

    /// One feature.
    pub fn feature(&self, name: &str) -> Option<&Feature> {
        self.features.get(name).map(|known| &known.feature)
    }

    /// Dependencies of a feature, sorted.
    pub fn depends_on(&self, feature: &str) -> impl Iterator<Item = &str> {
        self.dependencies
            .get(feature)
            .into_iter()
            .flatten()
            .map(String::as_str)
    }

    /// The gates that code declares.
    pub fn groups(&self) -> impl Iterator<Item = &'static Group> {
        self.groups.iter().copied()
    }

    /// Gates that were removed, by name.
    pub fn tombstones(&self) -> &BTreeMap<String, Tombstone> {
        &self.tombstones
    }
}

/// True if the name is `AllAlpha` or `AllBeta`.
pub(crate) fn is_group_switch(name: &str) -> bool {
    name == ALL_ALPHA || name == ALL_BETA
}

fn group_switch(name: &'static str, stage: Stage) -> Feature {
    let mut feature = Feature::new(
        name,
        [Entry {
            stage,
            ..BEFORE_HISTORY
        }],
    );
    feature.description = format!("Switches every {stage} gate that is not set by name.").into();
    feature
}

/// Violations in a feature's name and history.
fn violations(feature: &Feature) -> Vec<RegistrationError> {
    let name = &*feature.name;
    let mut found = Vec::new();
    if !is_valid_name(name) {
        found.push(Violation::InvalidName);
    }
    if is_group_switch(name) {
        found.push(Violation::ReservedName);
    }
    if feature.entries.is_empty() {
        found.push(Violation::NoEntries);
    }
    found.extend((0..feature.entries.len()).filter_map(|at| violation_at(&feature.entries, at)));
    let as_error = |violation: Violation| RegistrationError::History {
        feature: name.to_owned(),
        text: violation.text(name).as_str().to_owned(),
    };
    found.into_iter().map(as_error).collect()
}

/// A history on one line: `1.30 Alpha off, 1.31 Beta on, 1.32 GA on locked`.
fn describe(entries: &[Entry]) -> String {
    let one = |entry: &Entry| {
        let value = if entry.default { "on" } else { "off" };
        let locked = if entry.lock_to_default { " locked" } else { "" };
        let min = entry
            .min_compatibility
            .map(|min| format!(" from compatibility {min}"));
        let (version, stage) = (entry.version, entry.stage);
        format!(
            "{version} {stage} {value}{locked}{}",
            min.unwrap_or_default()
        )
    };
    entries.iter().map(one).collect::<Vec<_>>().join(", ")
}
