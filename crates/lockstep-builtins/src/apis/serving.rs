//! The decision which APIs are served.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use lockstep_featuregate::Version;
use lockstep_object::compare_versions;

use super::{Api, Maturity, RuntimeConfig, maturity};

/// Whose APIs a server shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Emulated {
    /// The version that is emulated.
    pub version: Version,
    /// `--emulation-forward-compatible`: a resource that is served in one version is served in
    /// newer stable ones too.
    pub forward_compatible: bool,
    /// `--runtime-config-emulation-forward-compatible`: APIs enabled by name are served even if introduced after the
    /// emulated version.
    pub runtime_config_forward_compatible: bool,
}

/// An API enabled by name does not exist in the emulated version.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, thiserror::Error)]
pub enum ServingError {
    /// A resource.
    #[error(
        "cannot enable resource {api}, Resource={plural} in runtime-config because it is introduced at {introduced} after the current version {emulated}. Consider setting --runtime-config-emulation-forward-compatible=true"
    )]
    Resource {
        /// Group and version.
        api: String,
        /// The resource.
        plural: String,
        /// Version of introduction.
        introduced: Version,
        /// The emulated version.
        emulated: Version,
    },
    /// A version of a group.
    #[error(
        "cannot enable version {api} in runtime-config because all the resources have been introduced after the current version {emulated}. Consider setting --runtime-config-emulation-forward-compatible=true"
    )]
    Version {
        /// Group and version.
        api: String,
        /// The emulated version.
        emulated: Version,
    },
}

/// Decides for each API whether it is served; fails with all APIs that are enabled by name but unavailable.
pub fn served(
    apis: &[Api<'_>],
    config: &RuntimeConfig,
    emulated: Emulated,
) -> Result<Vec<bool>, Vec<ServingError>> {
    let mut order: Vec<usize> = (0..apis.len()).collect();
    // Least stable versions first: what they decide counts for the more stable ones.
    order.sort_by(|&a, &b| newest_last(&apis[a], &apis[b]));
    let mut is_served = vec![false; apis.len()];
    let mut lower: BTreeSet<(&str, &str)> = BTreeSet::new();
    let mut errors = BTreeSet::new();
    for index in order {
        let api = &apis[index];
        let resource = (api.group, api.plural);
        if !config.wants(api) || api.lifecycle.is_over(emulated.version) {
            continue;
        }
        match exists(api, config, emulated, lower.contains(&resource)) {
            Ok(exists) => is_served[index] = exists,
            Err(error) => {
                errors.insert(error);
            }
        }
        if is_served[index] && maturity(api.version) != Maturity::Alpha {
            lower.insert(resource);
        }
    }
    errors.extend(versions_without_resources(
        apis, &is_served, config, emulated,
    ));
    if errors.is_empty() {
        Ok(is_served)
    } else {
        Err(errors.into_iter().collect())
    }
}

fn newest_last(a: &Api<'_>, b: &Api<'_>) -> Ordering {
    compare_versions(b.version, a.version)
}

/// True if the API exists in the emulated version, or forward compatibility allows it.
fn exists(
    api: &Api<'_>,
    config: &RuntimeConfig,
    emulated: Emulated,
    is_served_in_lower: bool,
) -> Result<bool, ServingError> {
    let introduced = api.lifecycle.introduced;
    if introduced <= emulated.version || (emulated.forward_compatible && is_served_in_lower) {
        return Ok(true);
    }
    let is_named = config.of_resource(api) == Some(true);
    if emulated.runtime_config_forward_compatible {
        return Ok(is_named || config.of_version(api) == Some(true));
    }
    if is_named {
        return Err(ServingError::Resource {
            api: api.group_version(),
            plural: api.plural.to_owned(),
            introduced,
            emulated: emulated.version,
        });
    }
    Ok(false)
}

/// Enabled group versions that would have no resources, because all were introduced after the emulated version.
fn versions_without_resources<'a>(
    apis: &'a [Api<'_>],
    is_served: &'a [bool],
    config: &'a RuntimeConfig,
    emulated: Emulated,
) -> impl Iterator<Item = ServingError> + 'a {
    let is_empty = move |named: &Api<'_>| {
        let mut all = apis.iter().zip(is_served);
        !all.any(|(api, served)| {
            *served && (api.group, api.version) == (named.group, named.version)
        })
    };
    let named = apis.iter().filter(move |api| {
        config.of_version(api) == Some(true) && api.lifecycle.introduced > emulated.version
    });
    named
        .filter(move |api| is_empty(api))
        .map(move |api| ServingError::Version {
            api: api.group_version(),
            emulated: emulated.version,
        })
}
