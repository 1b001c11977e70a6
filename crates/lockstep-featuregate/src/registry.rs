//! All components of one binary.

use std::collections::BTreeMap;

use crate::{
    Component, DEFAULT_COMPONENT, Errors, Hint, RegistrationError, Version, errors,
    suggestion::suggestion,
};

/// Mapping of one component's version to another's; `None` if there is none.
pub type VersionMapping = fn(Version) -> Option<Version>;

/// The components of one binary with their version mappings.
#[derive(Clone, Debug)]
pub struct Registry {
    components: BTreeMap<String, Component>,
    /// Child to parent and the function between them.
    mappings: BTreeMap<String, (String, VersionMapping)>,
}

impl Registry {
    /// Closes the components and validates their dependencies; returns all errors.
    pub fn new(
        components: impl IntoIterator<Item = Component>,
    ) -> Result<Self, Errors<RegistrationError>> {
        let mut registry = Self {
            components: BTreeMap::new(),
            mappings: BTreeMap::new(),
        };
        let mut errors = Vec::new();
        for mut component in components {
            component.close();
            errors.extend(component.check());
            let name = component.name.clone();
            if registry
                .components
                .insert(name.clone(), component)
                .is_some()
            {
                errors.push(RegistrationError::ComponentTwice { component: name });
            }
        }
        errors::check(errors).map(|()| registry)
    }

    /// Derives the versions of `to` from those of `from`; version flags of `to` are rejected.
    pub fn map_version(
        &mut self,
        from: &str,
        to: &str,
        mapping: VersionMapping,
    ) -> Result<(), RegistrationError> {
        for component in [from, to] {
            if !self.components.contains_key(component) {
                let component = component.to_owned();
                return Err(RegistrationError::ComponentUnknown { component });
            }
        }
        let component = to.to_owned();
        if let Some((parent, _)) = self.mappings.get(to) {
            return Err(RegistrationError::MappedTwice {
                component,
                parent: parent.clone(),
            });
        }
        if from == to || self.ancestors(from).any(|ancestor| ancestor == to) {
            return Err(RegistrationError::MappingLoop { component });
        }
        self.mappings.insert(component, (from.to_owned(), mapping));
        Ok(())
    }

    fn ancestors<'a>(&'a self, component: &'a str) -> impl Iterator<Item = &'a str> {
        let parent = |of: &&'a str| self.mappings.get(*of).map(|(parent, _)| parent.as_str());
        std::iter::successors(Some(component), parent).skip(1)
    }

    /// The component whose version this one follows.
    pub(crate) fn mapping(&self, component: &str) -> Option<(&str, VersionMapping)> {
        self.mappings
            .get(component)
            .map(|(parent, mapping)| (parent.as_str(), *mapping))
    }

    /// The components, sorted by name.
    pub fn components(&self) -> impl Iterator<Item = &Component> {
        self.components.values()
    }

    /// One component.
    pub fn component(&self, name: &str) -> Option<&Component> {
        self.components.get(name)
    }

    /// Hint for the error about an unknown gate.
    pub(crate) fn hint(&self, home: Option<&Component>, name: &str) -> Hint {
        if let Some(tombstone) = home.and_then(|home| home.tombstones.get(name)) {
            return Hint::Removed {
                removed_in: tombstone.removed_in,
                locked: tombstone.locked,
            };
        }
        if home.is_some_and(|home| home.foreign.contains(name)) {
            return Hint::Foreign;
        }
        let known = self.components().flat_map(Component::features);
        let names = known.map(|feature| &*feature.name);
        suggestion(name, names).map_or(Hint::None, |name| Hint::DidYouMean(name.to_owned()))
    }

    /// The component of an unqualified gate name: the default one, or the only other one that has it.
    pub(crate) fn home_of(&self, gate: &str) -> Option<&Component> {
        let default = self.components.get(DEFAULT_COMPONENT);
        if default.is_some_and(|kube| kube.features.contains_key(gate)) {
            return default;
        }
        let mut knowing = self
            .components
            .values()
            .filter(|c| c.features.contains_key(gate));
        match (knowing.next(), knowing.next()) {
            (Some(only), None) => Some(only),
            _ => default,
        }
    }
}
