//! Every feature gate of Lockstep. To add one, add a line to [`features!`] below: help, documentation,
//! metrics, lint and `lockstep features` read this table.
//!
//! Gates are in alphabetical order, each with an owner and one sentence for users.
//! `docs/concepts/life-of-a-gate.md` describes the life of a gate from here to its removal.

mod foreign;
mod removed;

use lockstep_featuregate::{BinaryVersion, Component, Registry, features, v};

/// The Kubernetes API level the server presents, as release line and in full.
pub const KUBE_VERSION: &str = "1.36.4";
/// The release of Lockstep itself.
pub const LOCKSTEP_VERSION: &str = "0.1.0";

features! {
    kube {
        /// Servers of an HA set publish a lease with their identity.
        APIServerIdentity { "1.20": Alpha, "1.26": Beta on, owner: "apiserver" },
        /// `/flagz` shows the flags a server runs with.
        ComponentFlagz { "1.32": Alpha, "1.36": Beta on, owner: "apiserver" },
        /// `/statusz` shows versions and uptime of a server.
        ComponentStatusz { "1.32": Alpha, "1.36": Beta on, owner: "apiserver" },
        /// Single fields of a custom resource have gates of their own.
        CRDFieldLevelVersioning { "1.36": Alpha, api, owner: "fieldgate" },
        /// Mutating admission policies run.
        MutatingAdmissionPolicy { "1.32": Alpha, "1.34": Beta, "1.36": GA on, owner: "admission" },
        /// Mutations have an `apply` dialect, which can remove fields and replace atomic values.
        MutationApplyDialect { "1.35": Alpha, "1.36": Beta on, api, owner: "admission" },
        /// Mutating policies that undo the changes of one another are found.
        MutationConvergence { "1.35": Alpha, "1.36": Beta on, api, owner: "admission" },
        /// Bindings of mutating policies can be dry runs.
        MutationDryRunBinding { "1.35": Alpha, "1.36": Beta on, api, owner: "admission" },
        /// Mutating policies run again only after writes to what they read or write.
        MutationPreciseReinvocation { "1.35": Alpha, "1.36": Beta on, api, owner: "admission" },
        /// Mutations can demand that they are not undone.
        MutationSafety { "1.35": Alpha, "1.36": Beta on, api, owner: "admission" },
        /// Mutations have a scope, and mutating policies run in the order of its depth.
        MutationScopes { "1.35": Alpha, "1.36": Beta on, api, owner: "admission" },
        /// A watch can begin with the objects that exist.
        WatchList { "1.27": Alpha, "1.32": Beta on, "1.33": Beta, "1.34": Beta on, owner: "apiserver" },
    }
}

/// The components of the binary with their gates, removed gates and known gates of others.
///
/// # Panics
///
/// Never: the table is checked by the compiler and by a test of this crate.
pub fn components() -> Vec<Component> {
    let kube = BinaryVersion::parse(KUBE_VERSION).expect("the API level is a version");
    let lockstep = BinaryVersion::parse(LOCKSTEP_VERSION).expect("the release is a version");
    let mut kube = Component::declared(kube, &[&KUBE]).expect("the table follows the rules");
    kube.add_foreign(foreign::KUBERNETES_GATES.iter().copied());
    for (name, tombstone) in removed::KUBE {
        kube.add_tombstone(*name, tombstone.clone());
    }
    vec![
        kube,
        Component::new("lockstep", lockstep).with_emulation_floor(v(0, 1)),
    ]
}

/// The validated registry of all components.
///
/// # Panics
///
/// Never: see [`components`].
pub fn registry() -> Registry {
    Registry::new(components()).expect("the table follows the rules")
}

#[cfg(test)]
mod tests {
    use lockstep_featuregate::{
        Builder, Stage,
        lint::{Lint, Severity},
    };

    use super::*;

    #[test]
    fn the_table_of_gates_has_no_lint_errors() {
        let components = components();
        let report = Lint {
            components: &components,
            base: None,
            version: None,
        }
        .run();
        let errors = report
            .findings
            .iter()
            .filter(|finding| finding.severity == Severity::Error);
        assert_eq!(
            errors.map(ToString::to_string).collect::<Vec<_>>(),
            Vec::<String>::new()
        );
        let style = report
            .findings
            .iter()
            .filter(|finding| finding.rule == "FG115");
        assert_eq!(
            style.map(ToString::to_string).collect::<Vec<_>>(),
            Vec::<String>::new()
        );
    }

    /// One line of the table is enough: nothing else lists gates.
    #[test]
    fn every_gate_of_the_table_is_in_help_documentation_metrics_and_the_count_of_lint() {
        let components = components();
        let report = Lint {
            components: &components,
            base: None,
            version: None,
        }
        .run();
        assert_eq!(report.gates, KUBE.declarations().len());
        let table = lockstep_featuregate::docs::markdown(&components);
        let started = Builder::new(registry()).try_finish().unwrap();
        let kube = started.gates.component("kube").unwrap();
        let (lines, samples) = (kube.known(), kube.samples());
        for gate in KUBE.gates() {
            let name = gate.name();
            let row = format!("| `{name}` | kube |");
            assert!(table.contains(&row), "{table}");
            let label = ("name", name.to_owned());
            let own = samples.iter().filter(|one| one.labels.contains(&label));
            let gauges: Vec<&str> = own.map(|one| one.name).collect();
            assert_eq!(
                gauges,
                ["kubernetes_feature_enabled", "lockstep_feature_info"]
            );
            let held = started.gates.explain(name).unwrap().held;
            let is_expected = matches!(held.stage, Stage::Alpha | Stage::Beta);
            let start = format!("{name}=true|false (");
            let is_told = lines.iter().any(|known| known.starts_with(&start));
            assert_eq!(is_told, is_expected, "{name}");
        }
    }

    /// feature-gates.md §11.
    #[test]
    fn the_first_values_are_those_of_the_api_level() {
        let gates = Builder::new(registry()).try_finish().unwrap().gates;
        for (gate, on) in [
            (CRD_FIELD_LEVEL_VERSIONING, false),
            (API_SERVER_IDENTITY, true),
            (COMPONENT_FLAGZ, true),
            (COMPONENT_STATUSZ, true),
            (WATCH_LIST, true),
            (MUTATING_ADMISSION_POLICY, true),
            (MUTATION_SCOPES, true),
        ] {
            assert_eq!(gates.enabled(gate), on, "{}", gate.name());
        }
    }

    /// feature-gates.md §11, §4/removed, §4/tolerated: the feature is always on, so its gate is gone.
    #[test]
    fn a_gate_that_was_locked_on_at_every_emulated_version_is_removed() {
        use lockstep_featuregate::{Options, RemovedGates};
        let options = Options {
            removed: RemovedGates::Warn,
            ..Options::default()
        };
        for (gate, locked) in [
            ("CRDValidationRatcheting", "1.33"),
            ("CustomResourceFieldSelectors", "1.32"),
        ] {
            let refused = |value: bool| {
                let builder = Builder::new(registry()).flag(format!("{gate}={value}"));
                let strict = builder.clone().check().unwrap_err().to_string();
                (strict, builder.options(options).check().is_err())
            };
            let reason = format!(
                "unrecognized feature gate: {gate} (removed in 1.36; it was locked to true since {locked}; delete it \
                 from the configuration)"
            );
            assert_eq!(refused(true), (reason.clone(), false));
            assert_eq!(refused(false), (reason, true));
        }
    }

    /// feature-gates.md §11, last row but one.
    #[test]
    fn a_kubernetes_gate_without_effect_is_refused_by_name_and_can_be_ignored() {
        use lockstep_featuregate::{ForeignGates, Options};
        for gate in ["ManifestBasedAdmissionControlConfig", "StorageVersionAPI"] {
            let refused = Builder::new(registry())
                .flag(format!("{gate}=true"))
                .check();
            assert_eq!(
                refused.unwrap_err().to_string(),
                format!(
                    "unrecognized feature gate: {gate} (a Kubernetes gate without effect here; `--foreign-feature-gates=ignore` skips it)"
                )
            );
        }
        let builder = Builder::new(registry()).flag("DynamicResourceAllocation=true");
        assert_eq!(
            builder.check().unwrap_err().to_string(),
            "unrecognized feature gate: DynamicResourceAllocation (a Kubernetes gate without effect here; `--foreign-feature-gates=ignore` skips it)"
        );
        let options = Options {
            foreign: ForeignGates::Ignore,
            ..Options::default()
        };
        let started = builder.options(options).try_finish().unwrap();
        let warnings = started.gates.component("kube").unwrap().warnings();
        assert_eq!(
            warnings.iter().map(ToString::to_string).collect::<Vec<_>>(),
            [
                "ignoring Kubernetes feature gate without effect here featureGate=DynamicResourceAllocation value=true"
            ]
        );
    }

    #[test]
    fn no_gate_of_ours_is_called_foreign() {
        let ours: Vec<&str> = KUBE
            .declarations()
            .iter()
            .map(|declared| declared.name)
            .collect();
        let both: Vec<&&str> = foreign::KUBERNETES_GATES
            .iter()
            .filter(|name| ours.contains(name))
            .collect();
        assert_eq!(both, Vec::<&&str>::new());
    }
}
