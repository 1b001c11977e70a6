//! Availability of built-in APIs, by emulation version and `--runtime-config`.

use std::collections::BTreeSet;

use lockstep_builtins::apis::{
    Api, Emulated, Lifecycle, RuntimeConfig, RuntimeConfigError, ServingError, lifecycle, served,
};
use lockstep_featuregate::Gates;

use super::{Row, table};

/// The flags that enable or disable built-in APIs.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ApiWishes {
    /// The values of `--runtime-config`.
    pub runtime_config: Vec<String>,
    /// `--emulation-forward-compatible`
    pub forward_compatible: bool,
    /// `--runtime-config-emulation-forward-compatible`
    pub runtime_config_forward_compatible: bool,
}

/// All errors of [`ApiWishes`], in the order of the flags.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ApiErrors {
    /// `--runtime-config` cannot be parsed.
    RuntimeConfig(Vec<RuntimeConfigError>),
    /// `--runtime-config` names APIs that are unknown or not yet available.
    Serving(Vec<ServingError>),
}

/// The built-in APIs that a server serves.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Apis {
    /// Group, version and plural of the APIs that are not served.
    absent: BTreeSet<(&'static str, &'static str, &'static str)>,
}

impl Apis {
    /// All APIs, the default of a server that emulates no older version.
    pub fn all() -> Self {
        Self::default()
    }

    /// Resolves the APIs for the emulation version of `gates` and the flags.
    pub fn decide(gates: &Gates, wishes: &ApiWishes) -> Result<Self, ApiErrors> {
        let known: Vec<Api<'static>> = table().flat_map(apis).collect();
        let texts = wishes.runtime_config.iter().map(String::as_str);
        let config = RuntimeConfig::read(texts, &known).map_err(ApiErrors::RuntimeConfig)?;
        let emulated = Emulated {
            version: gates.emulation(),
            forward_compatible: wishes.forward_compatible,
            runtime_config_forward_compatible: wishes.runtime_config_forward_compatible,
        };
        let served = served(&known, &config, emulated).map_err(ApiErrors::Serving)?;
        let absent = known.iter().zip(served).filter(|(_, is_served)| !is_served);
        Ok(Self {
            absent: absent
                .map(|(api, _)| (api.group, api.version, api.plural))
                .collect(),
        })
    }

    /// True if a row is served in this version.
    pub(super) fn has(&self, row: &Row, version: &'static str) -> bool {
        !self.absent.contains(&(row.group, version, row.plural))
    }
}

impl ApiErrors {
    /// The error messages.
    pub fn texts(&self) -> Vec<String> {
        match self {
            Self::RuntimeConfig(errors) => errors.iter().map(ToString::to_string).collect(),
            Self::Serving(errors) => errors.iter().map(ToString::to_string).collect(),
        }
    }
}

fn apis(row: &'static Row) -> impl Iterator<Item = Api<'static>> {
    row.versions.iter().map(|&version| Api {
        group: row.group,
        version,
        plural: row.plural,
        lifecycle: lifecycle(row.group, version, row.kind).unwrap_or(Lifecycle::ALWAYS),
    })
}

#[cfg(test)]
mod tests {
    use lockstep_featuregate::Builder;

    use super::*;

    /// feature-gates.md §6/apis: each kind of Kubernetes has a lifecycle.
    #[test]
    fn it_is_known_when_each_kind_of_kubernetes_came() {
        let unknown: Vec<_> = table()
            .filter(|row| !row.group.ends_with("lockstep.dev"))
            .flat_map(|row| row.versions.iter().map(move |version| (row, version)))
            .filter(|(row, version)| lifecycle(row.group, version, row.kind).is_none())
            .map(|(row, version)| format!("{}/{version} {}", row.group, row.kind))
            .collect();
        assert_eq!(
            unknown, [""; 0],
            "add them to lockstep-builtins/data/lifecycles.txt"
        );
    }

    /// feature-gates.md §6/apis.
    #[test]
    fn kinds_that_came_after_the_emulated_version_are_absent() {
        let absent = |emulated: &str| {
            let builder = Builder::new(lockstep_gates::registry()).emulated_version(emulated);
            let gates = builder.try_finish().unwrap().gates;
            let apis = Apis::decide(&gates, &ApiWishes::default()).unwrap();
            let absent = apis.absent.into_iter();
            absent.map(|(_, _, plural)| plural).collect::<Vec<_>>()
        };
        let at_33 = absent("1.33");
        for plural in ["deviceclasses", "resourceclaims", "volumeattributesclasses"] {
            assert!(at_33.contains(&plural), "{plural}");
        }
        for plural in ["servicecidrs", "ipaddresses", "pods"] {
            assert!(!at_33.contains(&plural), "{plural}");
        }
        assert_eq!(absent("1.36"), [""; 0]);
    }
}
