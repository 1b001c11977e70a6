//! Settings grouped by component and gate.

use std::collections::BTreeMap;

use crate::{
    Component, ForeignGates, Options, Registry, RemovedGates, Source, StartError, Warning,
    settings::Setting,
};

/// Settings of one component. For each gate the strongest comes first.
#[derive(Clone, Debug, Default)]
pub(crate) struct RequestedGates {
    pub(crate) settings: BTreeMap<String, Vec<(Source, bool)>>,
    pub(crate) overrides: BTreeMap<String, bool>,
}

/// Requested gates and early warnings, by component.
#[derive(Default)]
pub(crate) struct Placed {
    requested: BTreeMap<String, RequestedGates>,
    warnings: BTreeMap<String, Vec<Warning>>,
}

impl Placed {
    /// Finds the component a setting is meant for, or the reason there is none.
    pub(crate) fn place(
        &mut self,
        registry: &Registry,
        options: Options,
        setting: Setting,
        errors: &mut Vec<StartError>,
    ) {
        let Setting {
            component,
            name,
            value,
            source,
        } = setting;
        let home = match &component {
            Some(component) => registry.component(component),
            None => registry.home_of(&name),
        };
        let Some(home) = home else {
            if source != Source::KubeEnv {
                errors.push(match component {
                    Some(component) => StartError::UnknownComponent { component },
                    None => StartError::Unrecognized {
                        hint: registry.hint(None, &name),
                        name,
                    },
                });
            }
            return;
        };
        if home.feature(&name).is_some() {
            self.add(home.name(), name, source, value);
        } else if source != Source::KubeEnv {
            match tolerate(home, options, &name, value) {
                Some(warning) => self.warn(home.name(), warning),
                None => errors.push(StartError::Unrecognized {
                    hint: registry.hint(Some(home), &name),
                    name,
                }),
            }
        }
    }

    pub(crate) fn of(&mut self, component: &str) -> &mut RequestedGates {
        self.requested.entry(component.to_owned()).or_default()
    }

    /// Keeps the strongest source first; within one source the later setting wins.
    fn add(&mut self, component: &str, name: String, source: Source, value: bool) {
        let asked = self.of(component).settings.entry(name).or_default();
        asked.retain(|(other, _)| *other != source);
        let at = asked.partition_point(|(other, _)| *other > source);
        asked.insert(at, (source, value));
    }

    /// Warnings of a component from before its gates are resolved.
    pub(crate) fn take_warnings(&mut self, component: &str) -> Vec<Warning> {
        self.warnings.remove(component).unwrap_or_default()
    }

    fn warn(&mut self, component: &str, warning: Warning) {
        self.warnings
            .entry(component.to_owned())
            .or_default()
            .push(warning);
    }

    pub(crate) fn ignore_variable(&mut self, registry: &Registry, name: String, value: String) {
        let home = registry
            .home_of(&name)
            .filter(|home| home.feature(&name).is_some());
        if let Some(home) = home {
            let reason = "not a boolean".to_owned();
            self.warn(
                home.name(),
                Warning::VariableIgnored {
                    name,
                    value,
                    reason,
                },
            );
        }
    }
}

/// The warning that stands in for an error, if the options allow it.
fn tolerate(home: &Component, options: Options, name: &str, value: bool) -> Option<Warning> {
    let Options {
        removed, foreign, ..
    } = options;
    let (name, tombstone) = (name.to_owned(), home.tombstones.get(name));
    match tombstone {
        Some(tombstone) if removed == RemovedGates::Warn => {
            let same = tombstone.locked.is_some_and(|(_, locked)| locked == value);
            let removed_in = tombstone.removed_in;
            same.then_some(Warning::RemovedIgnored {
                name,
                value,
                removed_in,
            })
        }
        None if foreign == ForeignGates::Ignore && home.foreign.contains(&name) => {
            Some(Warning::ForeignIgnored { name, value })
        }
        _ => None,
    }
}
