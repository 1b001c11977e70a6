//! Builder of a set of gates, from flags, environment, file and code.

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    ClusterSwitch, DEFAULT_COMPONENT, Errors, Gates, Options, Registry, Source, Stage, StartError,
    Versions, Warning,
    decide::{Decided, check_dependencies, decide},
    errors,
    requested::Placed,
    settings::{Setting, Settings},
    versions,
};

/// Collects the settings of all sources. Values do not exist before [`Builder::try_finish`] resolves all settings
/// together, so the order of calls does not matter.
///
/// ```compile_fail,E0599
/// # use lockstep_featuregate::*;
/// # features! { kube { Example { "1.36": Alpha } } }
/// # fn main() {
/// let kube = Component::declared(BinaryVersion::of(v(1, 36)), &[&KUBE]).expect("it fits");
/// let registry = Registry::new([kube]).expect("it fits");
/// Builder::new(registry).enabled(EXAMPLE); // a builder cannot be asked
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Builder {
    registry: Arc<Registry>,
    inputs: Inputs,
}

#[derive(Clone, Debug, Default)]
struct Inputs {
    flags: Vec<String>,
    environment: Vec<(String, String)>,
    file: Vec<(String, Option<bool>)>,
    overrides: BTreeMap<String, BTreeMap<String, bool>>,
    emulated: Vec<String>,
    min_compatibility: Vec<String>,
    options: Options,
}

/// Result of a successful start.
#[derive(Debug)]
pub struct Started {
    /// The values.
    pub gates: Gates,
    /// The only handle that can change cluster-scoped gates.
    pub cluster_switch: ClusterSwitch,
}

impl Builder {
    /// Creates a builder without settings.
    pub fn new(registry: Registry) -> Self {
        Self {
            registry: Arc::new(registry),
            inputs: Inputs::default(),
        }
    }

    /// Adds one use of `--feature-gates`.
    #[must_use]
    pub fn flag(mut self, text: impl Into<String>) -> Self {
        self.inputs.flags.push(text.into());
        self
    }

    /// Adds environment variables; those that do not concern gates are ignored.
    #[must_use]
    pub fn environment(mut self, variables: impl IntoIterator<Item = (String, String)>) -> Self {
        self.inputs.environment.extend(variables);
        self
    }

    /// Adds the map `featureGates` of the configuration file; `None` stands for a non-boolean.
    #[must_use]
    pub fn file(mut self, entries: impl IntoIterator<Item = (String, Option<bool>)>) -> Self {
        self.inputs.file.extend(entries);
        self
    }

    /// Overrides a default from code.
    #[must_use]
    pub fn override_default(mut self, component: &str, name: &str, value: bool) -> Self {
        let overrides = self
            .inputs
            .overrides
            .entry(component.to_owned())
            .or_default();
        overrides.insert(name.to_owned(), value);
        self
    }

    /// The overridden default of a gate.
    pub(crate) fn overridden_default(&self, component: &str, name: &str) -> Option<bool> {
        self.inputs.overrides.get(component)?.get(name).copied()
    }

    /// Adds one use of `--emulated-version`.
    #[must_use]
    pub fn emulated_version(mut self, text: impl Into<String>) -> Self {
        self.inputs.emulated.push(text.into());
        self
    }

    /// Adds one use of `--min-compatibility-version`.
    #[must_use]
    pub fn min_compatibility_version(mut self, text: impl Into<String>) -> Self {
        self.inputs.min_compatibility.push(text.into());
        self
    }

    /// Replaces the strictness options.
    #[must_use]
    pub fn options(mut self, options: Options) -> Self {
        self.inputs.options = options;
        self
    }

    /// A copy of the settings with one component at other versions.
    #[cfg(feature = "testing")]
    pub(crate) fn at_versions(
        mut self,
        component: &str,
        emulation: crate::Version,
        min: crate::Version,
    ) -> Self {
        let replace = |texts: &mut Vec<String>, version: crate::Version| {
            let items = texts.iter().flat_map(|text| text.split(','));
            let others = items.filter(|item| versions::component_of(item) != component);
            let mut replaced: Vec<String> = others.map(str::to_owned).collect();
            replaced.push(format!("{component}={version}"));
            *texts = replaced;
        };
        replace(&mut self.inputs.emulated, emulation);
        replace(&mut self.inputs.min_compatibility, min);
        self
    }

    /// The components whose gates this builder sets.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Validates the settings without building a set.
    pub fn check(&self) -> Result<(), Errors<StartError>> {
        self.decide().map(|_| ())
    }

    /// Resolves versions first, then gates. Returns either the whole set or all errors.
    pub fn try_finish(self) -> Result<Started, Errors<StartError>> {
        let decided = self.decide()?;
        Ok(Gates::start(self, decided))
    }

    pub(crate) fn shared_registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    fn decide(&self) -> Result<BTreeMap<String, (Versions, Decided)>, Errors<StartError>> {
        let settings = self.read_settings();
        let mut errors = settings.errors;
        let mut requested = Placed::default();
        for (component, overrides) in &self.inputs.overrides {
            if self.registry.component(component).is_none() {
                errors.push(StartError::UnknownComponent {
                    component: component.clone(),
                });
            }
            requested.of(component).overrides.clone_from(overrides);
        }
        for (name, value) in settings.ignored_variables {
            requested.ignore_variable(&self.registry, name, value);
        }
        for setting in settings.accepted {
            requested.place(&self.registry, self.inputs.options, setting, &mut errors);
        }
        let versions = versions::decide(
            &self.registry,
            &self.inputs.emulated,
            &self.inputs.min_compatibility,
        );
        let versions = versions.unwrap_or_else(|wrong| {
            errors.extend(wrong);
            BTreeMap::new()
        });
        let mut decided = BTreeMap::new();
        for (name, versions) in versions {
            let component = self
                .registry
                .component(&name)
                .expect("versions are of known components");
            let mut result = decide(component, versions, requested.of(&name));
            result.warnings.extend(requested.take_warnings(&name));
            errors.append(&mut result.errors);
            decided.insert(name, (versions, result));
        }
        self.check_emulation(&mut decided, &mut errors);
        if errors.is_empty() {
            errors.extend(self.registry.components().flat_map(|component| {
                let (_, decided) = &decided[component.name()];
                check_dependencies(component, decided)
            }));
        }
        errors::check(errors).map(|()| decided)
    }

    /// Every gate that is set, known or not, with the value of the strongest source.
    pub(crate) fn merged_settings(&self) -> (BTreeMap<(String, String), bool>, Vec<StartError>) {
        let settings = self.read_settings();
        let mut strongest: BTreeMap<(String, String), (Source, bool)> = BTreeMap::new();
        for Setting {
            component,
            name,
            value,
            source,
        } in settings.accepted
        {
            let home = component.or_else(|| Some(self.registry.home_of(&name)?.name().to_owned()));
            let key = (home.unwrap_or_else(|| DEFAULT_COMPONENT.to_owned()), name);
            let known = strongest.entry(key).or_insert((source, value));
            if source >= known.0 {
                *known = (source, value);
            }
        }
        let values = strongest
            .into_iter()
            .map(|(key, (_, value))| (key, value))
            .collect();
        (values, settings.errors)
    }

    fn read_settings(&self) -> Settings {
        let mut settings = Settings::default();
        settings.read_list(self.inputs.flags.iter().map(String::as_str), Source::Flag);
        let variables = self.inputs.environment.iter();
        settings.read_environment(variables.map(|(name, value)| (name.as_str(), value.as_str())));
        settings.read_file(
            self.inputs
                .file
                .iter()
                .map(|(key, value)| (key.as_str(), *value)),
        );
        settings
    }

    fn check_emulation(
        &self,
        decided: &mut BTreeMap<String, (Versions, Decided)>,
        errors: &mut Vec<StartError>,
    ) {
        let options = self.inputs.options;
        let mut emulating = false;
        for (name, (versions, result)) in &mut *decided {
            let component = self
                .registry
                .component(name)
                .expect("decided components are known");
            if versions.emulation >= component.binary().line() {
                continue;
            }
            emulating = true;
            let on = result
                .decisions
                .iter()
                .map(|decision| decision.value && decision.held.stage == Stage::Alpha);
            let names = component.features().map(|feature| feature.name.to_string());
            let features: Vec<String> = names
                .zip(on)
                .filter_map(|(name, on)| on.then_some(name))
                .collect();
            if features.is_empty() {
                continue;
            }
            if options.strict_emulation {
                errors.push(StartError::AlphaUnderEmulation {
                    component: name.clone(),
                    features,
                });
            } else {
                result
                    .warnings
                    .push(Warning::AlphaUnderEmulation { features });
            }
        }
        let decided_at_all = !decided.is_empty();
        for (set, flag) in [
            (
                options.emulation_forward_compatible,
                "emulation-forward-compatible",
            ),
            (
                options.runtime_config_emulation_forward_compatible,
                "runtime-config-emulation-forward-compatible",
            ),
        ] {
            if set && decided_at_all && !emulating {
                errors.push(StartError::NotEmulating { flag });
            }
        }
    }
}
