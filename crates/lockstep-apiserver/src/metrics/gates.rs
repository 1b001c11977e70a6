//! Gauges of feature gates.

use std::collections::BTreeSet;

use lockstep_featuregate::metrics::{FEATURE_ENABLED, FEATURE_INFO, Sample, VERSION_INFO};
use lockstep_featuregate::{ComponentGates, DEFAULT_COMPONENT, Gates};
use prometheus::proto::MetricFamily;

const HELP: [(&str, &str); 3] = [
    (
        FEATURE_ENABLED,
        "[BETA] This metric records the data about the stage and enablement of a k8s feature.",
    ),
    (FEATURE_INFO, "Why a feature gate has its value."),
    (
        VERSION_INFO,
        "[ALPHA] Provides the compatibility version info of the component.",
    ),
];

/// Gauges of feature gates and versions. If two components have the same series, that of the default component is used.
pub(super) fn families(gates: &Gates) -> Vec<MetricFamily> {
    let mut components: Vec<_> = gates.components().collect();
    components.sort_by_key(|one| one.component().name() != DEFAULT_COMPONENT);
    let mut seen = BTreeSet::new();
    let mut samples: Vec<Sample> = components
        .into_iter()
        .flat_map(ComponentGates::samples)
        .filter(|sample| {
            let gate = sample.labels.first().map(|(_, gate)| gate.clone());
            sample.name != FEATURE_ENABLED || seen.insert(gate)
        })
        .collect();
    samples.sort_by(|a, b| a.labels.cmp(&b.labels));
    let family = |(family, help): (&str, &str)| {
        let own = samples.iter().filter(|sample| sample.name == family);
        let samples = own.map(|sample| {
            let labels = sample.labels.iter();
            let labels = labels.map(|(name, value)| ((*name).to_owned(), value.clone()));
            (labels.collect(), f64::from(sample.value))
        });
        super::gauges(family, help, samples.collect())
    };
    HELP.into_iter().map(family).collect()
}

#[cfg(test)]
mod tests {
    use lockstep_featuregate::Builder;

    use super::*;

    /// feature-gates.md §9/enabled-metric: each series once, although two components have `AllAlpha`.
    #[test]
    fn no_series_appears_twice_and_the_default_component_decides() {
        let gates = Builder::new(lockstep_gates::registry()).flag("kube:AllAlpha=true");
        let gates = gates.try_finish().unwrap().gates;
        let families = families(&gates);
        let enabled = families
            .iter()
            .find(|family| family.name() == FEATURE_ENABLED)
            .unwrap();
        assert!(enabled.help().contains("[BETA]"));
        let mut seen = BTreeSet::new();
        let mut all_alpha = Vec::new();
        for metric in enabled.get_metric() {
            let labels: Vec<_> = metric
                .get_label()
                .iter()
                .map(|pair| (pair.name().to_owned(), pair.value().to_owned()))
                .collect();
            assert!(seen.insert(labels.clone()), "{labels:?}");
            if labels[0].1 == "AllAlpha" {
                all_alpha.push(metric.get_gauge().get_value());
            }
        }
        assert_eq!(all_alpha, [1.0]);
    }
}
