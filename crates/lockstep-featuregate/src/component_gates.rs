//! The gates of one component in a set, with their descriptions.

use std::fmt;

use crate::{Component, Explanation, Feature, Gates, Source, Versions, Warning};

/// The gates of one component.
#[derive(Clone, Copy, Debug)]
pub struct ComponentGates<'a> {
    pub(crate) gates: &'a Gates,
    pub(crate) component: &'a Component,
}

impl<'a> ComponentGates<'a> {
    /// The component itself.
    pub fn component(self) -> &'a Component {
        self.component
    }

    /// The effective versions.
    pub fn versions(self) -> Versions {
        self.gates.state(self.component).versions
    }

    /// Warnings to log at startup.
    pub fn warnings(self) -> &'a [Warning] {
        &self.gates.state(self.component).warnings
    }

    /// Log line of a server's start: its versions, and every gate that is not at its default with the source of its
    /// value.
    pub fn start_line(self) -> String {
        let Versions {
            emulation,
            min_compatibility,
        } = self.versions();
        let changed: Vec<String> = self
            .explanations()
            .filter(|(_, why)| why.value != why.held.default)
            .map(|(feature, why)| format!("{}={} ({})", feature.name, why.value, why.source.name()))
            .collect();
        let gates = if changed.is_empty() {
            "all gates at default".to_owned()
        } else {
            changed.join(", ")
        };
        let (name, binary) = (self.component.name(), self.component.binary());
        format!(
            "{name} {binary} emulates {emulation}, compatible with {min_compatibility}: {gates}"
        )
    }

    /// Every gate with the reason for its value, sorted by name.
    pub fn explanations(self) -> impl Iterator<Item = (&'a Feature, Explanation)> {
        let explain =
            move |feature: &'a Feature| (feature, self.gates.explanation(self.component, feature));
        self.component.features().map(explain)
    }
}

/// Gates that are set, by name or through `AllAlpha` and `AllBeta`, sorted: `A=true,B=false`.
impl fmt::Display for ComponentGates<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unset = [Source::Default, Source::Override, Source::Cluster];
        let mut separator = "";
        for (feature, why) in self
            .explanations()
            .filter(|(_, why)| !unset.contains(&why.source))
        {
            write!(f, "{separator}{}={}", feature.name, why.value)?;
            separator = ",";
        }
        Ok(())
    }
}
