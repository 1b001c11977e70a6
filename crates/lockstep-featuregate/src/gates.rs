//! The resolved set of gates.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
};

use crate::{
    Builder, ClusterSwitch, Component, ComponentGates, DEFAULT_COMPONENT, Entry, Feature, Gate,
    Group, Registry, Scope, Source, Started, Version, Versions, Warning, cell,
    decide::{Decided, Decision},
    process,
};

/// The values of all gates of one server. Cheap to clone; process gates never change.
#[derive(Clone, Debug)]
pub struct Gates {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    builder: Builder,
    components: BTreeMap<String, State>,
    /// Cells of gates declared in code, at the same index in every set.
    cells: Box<[AtomicU8]>,
    /// Cells of gates not declared in code; their indexes follow those above.
    others: Box<[AtomicU8]>,
    /// Gates declared by several groups: the first index and each further one.
    doubles: Box<[(u32, u32)]>,
}

#[derive(Clone, Debug)]
pub(crate) struct State {
    pub(crate) versions: Versions,
    decisions: Box<[Decision]>,
    /// Index of each feature's cell.
    cells: Box<[u32]>,
    pub(crate) warnings: Vec<Warning>,
}

/// Explanation of a gate's value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Explanation {
    /// On or off.
    pub value: bool,
    /// The entry of its history in effect: stage, default, lock and version.
    pub held: Entry,
    /// Source of the value.
    pub source: Source,
    /// Release in which a locked gate may be removed.
    pub remove_in: Option<Version>,
    /// Dependencies, sorted.
    pub depends_on: Vec<String>,
}

impl Gates {
    pub(crate) fn start(
        builder: Builder,
        decided: BTreeMap<String, (Versions, Decided)>,
    ) -> Started {
        let registry = Arc::clone(builder.shared_registry());
        let placed = registry
            .components()
            .flat_map(|component| &component.groups);
        let declared = placed
            .map(|group| group.place() + group.declarations().len())
            .max();
        let declared = declared.unwrap_or(0);
        let mut values = vec![cell::ABSENT; declared];
        let mut doubles = Vec::new();
        let mut components = BTreeMap::new();
        for (name, (versions, result)) in decided {
            let component = registry
                .component(&name)
                .expect("decided components are known");
            let cells = place_cells(component, &result.decisions, &mut values, &mut doubles);
            let (decisions, warnings) = (result.decisions.into(), result.warnings);
            components.insert(
                name,
                State {
                    versions,
                    decisions,
                    cells,
                    warnings,
                },
            );
        }
        let others = values.split_off(declared);
        let gates = Self {
            inner: Arc::new(Inner {
                builder,
                components,
                cells: values.into_iter().map(AtomicU8::new).collect(),
                others: others.into_iter().map(AtomicU8::new).collect(),
                doubles: doubles.into(),
            }),
        };
        Started {
            cluster_switch: ClusterSwitch::new(gates.clone()),
            gates,
        }
    }

    /// True if a gate is on: one relaxed load. A gate of a component that is not in this set is off.
    #[inline]
    pub fn enabled(&self, gate: Gate) -> bool {
        match self.inner.cells.get(gate.slot()) {
            Some(value) => cell::is_on(value),
            None => false,
        }
    }

    /// A gate by name, for tools: `Name`, or `component:Name`. `None` if unknown.
    pub fn get(&self, name: &str) -> Option<bool> {
        let (component, name) = self.locate(name)?;
        Some(self.value(component, component.index_of(name)))
    }

    /// Explains a gate's value. `None` if unknown.
    pub fn explain(&self, name: &str) -> Option<Explanation> {
        let (component, name) = self.locate(name)?;
        Some(self.explanation(component, component.feature(name)?))
    }

    /// Emulation version of the default component.
    pub fn emulation(&self) -> Version {
        self.default_versions().emulation
    }

    /// Minimum compatibility version of the default component.
    pub fn min_compatibility(&self) -> Version {
        self.default_versions().min_compatibility
    }

    fn default_versions(&self) -> Versions {
        let components = &self.inner.components;
        let default = components
            .get(DEFAULT_COMPONENT)
            .or_else(|| components.values().next());
        default.map_or_else(
            || Versions {
                emulation: Version::ZERO,
                min_compatibility: Version::ZERO,
            },
            |state| state.versions,
        )
    }

    /// Each component with its versions and gates, sorted by name.
    pub fn components(&self) -> impl Iterator<Item = ComponentGates<'_>> {
        self.registry()
            .components()
            .map(|component| ComponentGates {
                gates: self,
                component,
            })
    }

    /// One component.
    pub fn component(&self, name: &str) -> Option<ComponentGates<'_>> {
        let component = self.registry().component(name)?;
        Some(ComponentGates {
            gates: self,
            component,
        })
    }

    /// The features these gates belong to.
    pub fn registry(&self) -> &Registry {
        self.inner.builder.registry()
    }

    /// Makes this the process default set that [`enabled!`](crate::enabled) reads.
    pub fn install(&self) {
        process::install(self);
    }

    /// Copies every value to the cells read by [`enabled!`](crate::enabled).
    pub(crate) fn fill_live(&self) {
        for component in self.registry().components() {
            for group in &component.groups {
                let base = group.place();
                for (index, live) in group.live().iter().enumerate() {
                    let value = self.inner.cells[base + index].load(Ordering::Relaxed);
                    live.store(value, Ordering::Relaxed);
                }
            }
        }
    }

    /// True if both are handles of one set.
    pub(crate) fn is_same_set(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    /// A copy with other decisions, without validation.
    #[cfg(feature = "testing")]
    pub(crate) fn replacing<'a>(
        &self,
        decisions: impl IntoIterator<Item = (&'a str, usize, Decision)>,
    ) -> Self {
        let inner = &*self.inner;
        let copy = |cells: &[AtomicU8]| {
            let values = cells.iter().map(|value| value.load(Ordering::Relaxed));
            values.map(AtomicU8::new).collect()
        };
        let mut changed = Inner {
            builder: inner.builder.clone(),
            components: inner.components.clone(),
            cells: copy(&inner.cells),
            others: copy(&inner.others),
            doubles: inner.doubles.clone(),
        };
        for (component, index, decision) in decisions {
            let state = changed.components.get_mut(component);
            let state = state.expect("decisions are of this set's components");
            state.decisions[index] = decision;
            let place = state.cells[index];
            cell::switch(changed.cells_at(place), decision.value);
        }
        Self {
            inner: Arc::new(changed),
        }
    }

    /// The decision of a gate with its current value.
    #[cfg(feature = "testing")]
    pub(crate) fn decision(&self, component: &Component, index: usize) -> Decision {
        Decision {
            value: self.value(component, index),
            ..self.state(component).decisions[index]
        }
    }

    pub(crate) fn builder(&self) -> &Builder {
        &self.inner.builder
    }

    fn locate<'a>(&self, name: &'a str) -> Option<(&Component, &'a str)> {
        let (component, name) = match name.split_once(':') {
            Some((component, name)) => (self.registry().component(component)?, name),
            None => (self.registry().home_of(name)?, name),
        };
        component.feature(name).map(|_| (component, name))
    }

    pub(crate) fn state(&self, component: &Component) -> &State {
        self.inner
            .components
            .get(component.name())
            .expect("a set has a state for each component")
    }

    fn value(&self, component: &Component, index: usize) -> bool {
        let place = self.state(component).cells[index];
        cell::is_on(self.inner.cell(place))
    }

    /// Changes a cluster-scoped gate that is not locked; otherwise returns `false`.
    pub(crate) fn move_gate(&self, component: &Component, feature: &Feature, value: bool) -> bool {
        let index = component.index_of(&feature.name);
        let state = self.state(component);
        let moves = feature.scope == Scope::Cluster && !state.decisions[index].held.lock_to_default;
        if moves {
            cell::switch(self.inner.cells_at(state.cells[index]), value);
            let declared = component.groups().flat_map(Group::gates);
            let live = declared.filter(|gate| gate.name() == feature.name);
            process::while_installed(self, || cell::switch(live.map(Gate::live), value));
        }
        moves
    }

    pub(crate) fn explanation(&self, component: &Component, feature: &Feature) -> Explanation {
        let index = component.index_of(&feature.name);
        let Decision { held, source, .. } = self.state(component).decisions[index];
        Explanation {
            value: self.value(component, index),
            held,
            source,
            remove_in: feature.remove_in().filter(|_| held.lock_to_default),
            depends_on: component
                .depends_on(&feature.name)
                .map(str::to_owned)
                .collect(),
        }
    }
}

impl Inner {
    fn cell(&self, place: u32) -> &AtomicU8 {
        let place = place as usize;
        match place.checked_sub(self.cells.len()) {
            Some(place) => &self.others[place],
            None => &self.cells[place],
        }
    }

    /// All cells of the gate with this first index.
    fn cells_at(&self, first: u32) -> impl Iterator<Item = &AtomicU8> {
        let doubles = self.doubles.iter().filter(move |double| double.0 == first);
        std::iter::once(first)
            .chain(doubles.map(|double| double.1))
            .map(|place| self.cell(place))
    }
}

/// Assigns the cells of every feature and returns the first index of each; gates not declared in code follow the
/// others.
fn place_cells(
    component: &Component,
    decisions: &[Decision],
    values: &mut Vec<u8>,
    doubles: &mut Vec<(u32, u32)>,
) -> Box<[u32]> {
    let place = |at: usize| u32::try_from(at).expect("a process has few gates");
    let slots = component.features.values().map(|known| &known.slots);
    let fill = |(slots, decision): (&Vec<usize>, &Decision)| {
        let value = cell::of(decision.value);
        for &slot in slots {
            values[slot] = value;
        }
        let first = slots.first().copied().unwrap_or_else(|| {
            values.push(value);
            values.len() - 1
        });
        let others = slots.iter().skip(1);
        doubles.extend(others.map(|&other| (place(first), place(other))));
        place(first)
    };
    slots.zip(decisions).map(fill).collect()
}

/// Gates that are set in every component; those outside the default component are prefixed with it.
impl fmt::Display for Gates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut pieces = Vec::new();
        for component in self.components() {
            let name = component.component().name();
            let prefix = if name == DEFAULT_COMPONENT {
                String::new()
            } else {
                format!("{name}:")
            };
            let text = component.to_string();
            pieces.extend(
                text.split(',')
                    .filter(|one| !one.is_empty())
                    .map(|one| format!("{prefix}{one}")),
            );
        }
        f.write_str(&pieces.join(","))
    }
}
