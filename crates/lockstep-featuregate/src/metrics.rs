//! Metrics of gates and versions.

use crate::{ComponentGates, Stage};

/// One sample of a gauge in the text exposition format.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sample {
    /// The metric.
    pub name: &'static str,
    /// Label names and values, in the order they are written.
    pub labels: Vec<(&'static str, String)>,
    /// The value.
    pub value: u8,
}

impl std::fmt::Display for Sample {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let label = |(name, value): &(&str, String)| format!("{name}={}", quoted(value));
        let labels = self.labels.iter().map(label).collect::<Vec<_>>().join(",");
        write!(f, "{}{{{labels}}} {}", self.name, self.value)
    }
}

/// A label value with the escapes of the text format.
fn quoted(value: &str) -> String {
    let escaped = value
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n");
    format!("\"{escaped}\"")
}

/// Gauge with 1 for every gate that is on; the name is upstream Kubernetes'.
pub const FEATURE_ENABLED: &str = "kubernetes_feature_enabled";
/// Gauge of a store process with 1 for every gate that is on; the name is etcd's.
pub const STORE_FEATURE_ENABLED: &str = "etcd_server_feature_enabled";
/// The component of a store process.
const STORE_COMPONENT: &str = "store";
/// Gauge with the stage and source of a gate.
pub const FEATURE_INFO: &str = "lockstep_feature_info";
/// Gauge with the versions of a component.
pub const VERSION_INFO: &str = "version_info";

impl ComponentGates<'_> {
    /// The samples of this component: its versions, then each gate that exists at the emulated
    /// version, `AllAlpha` and `AllBeta` among them.
    pub fn samples(self) -> Vec<Sample> {
        let versions = self.versions();
        let component = self.component().name().to_owned();
        let mut samples = vec![Sample {
            name: VERSION_INFO,
            labels: vec![
                ("component", component.clone()),
                ("binary", self.component().binary().to_string()),
                ("emulation", versions.emulation.to_string()),
                ("min_compat", versions.min_compatibility.to_string()),
            ],
            value: 1,
        }];
        let enabled_gauge = if component == STORE_COMPONENT {
            STORE_FEATURE_ENABLED
        } else {
            FEATURE_ENABLED
        };
        let available = self
            .explanations()
            .filter(|(_, why)| why.held.stage != Stage::PreAlpha);
        for (feature, why) in available {
            let name = ("name", feature.name.to_string());
            let stage = ("stage", why.held.stage.label().to_owned());
            samples.push(Sample {
                name: enabled_gauge,
                labels: vec![name.clone(), stage.clone()],
                value: why.value.into(),
            });
            samples.push(Sample {
                name: FEATURE_INFO,
                labels: vec![
                    ("component", component.clone()),
                    name,
                    stage,
                    ("source", why.source.name().to_owned()),
                    ("locked", why.held.lock_to_default.to_string()),
                ],
                value: 1,
            });
        }
        samples
    }
}
