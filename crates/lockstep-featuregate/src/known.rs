//! Gate lines of `--help`.

use crate::{ComponentGates, Entry, Feature, Stage, component::is_group_switch, resolve};

impl ComponentGates<'_> {
    /// `A=true|false (ALPHA - default=false)` for every gate that users may set, sorted. GA and deprecated gates
    /// are omitted: they are not for new configurations.
    pub fn known(self) -> Vec<String> {
        let lines = self
            .component()
            .features()
            .filter_map(|feature| self.help_line(feature));
        let mut lines: Vec<String> = lines.collect();
        lines.sort_unstable();
        lines
    }

    fn help_line(self, feature: &Feature) -> Option<String> {
        let versions = self.versions();
        let held = resolve(
            &feature.entries,
            versions.emulation,
            versions.min_compatibility,
        );
        let newest = resolve(&feature.entries, versions.emulation, versions.emulation);
        let plain = option(
            feature,
            Entry {
                default: self.effective_default(feature, held),
                ..held
            },
        );
        if held == newest || is_group_switch(&feature.name) {
            return plain;
        }
        let conditional = option(feature, newest).map(|line| match newest.min_compatibility {
            Some(min) => format!("{line} if --min-compatibility-version>={min}"),
            None => line,
        });
        match (plain, conditional) {
            (Some(plain), Some(conditional)) => Some(format!("{plain}, or {conditional}")),
            (plain, conditional) => plain.or(conditional),
        }
    }

    fn effective_default(self, feature: &Feature, held: Entry) -> bool {
        let component = self.component().name();
        let builder = self.gates.builder();
        builder
            .overridden_default(component, &feature.name)
            .unwrap_or(held.default)
    }
}

fn option(feature: &Feature, held: Entry) -> Option<String> {
    let (name, label, default) = (&feature.name, held.stage.label(), held.default);
    matches!(held.stage, Stage::Alpha | Stage::Beta)
        .then(|| format!("{name}=true|false ({label} - default={default})"))
}
