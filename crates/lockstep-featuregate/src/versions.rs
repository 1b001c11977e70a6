//! Emulation and minimum compatibility version of each component.

use std::collections::BTreeMap;

use crate::{
    Component, DEFAULT_COMPONENT, Registry, StartError, Version, VersionError,
    registry::VersionMapping,
};

/// The versions one component runs with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Versions {
    /// The version whose behaviour it shows.
    pub emulation: Version,
    /// The oldest version it must get along with.
    pub min_compatibility: Version,
}

impl Component {
    /// The versions when nothing is asked for, or only an emulation version.
    pub(crate) fn versions_at(&self, emulation: Version) -> Versions {
        let min_compatibility = emulation.minus_minors(1).max(self.min_compatibility_floor);
        Versions {
            emulation,
            min_compatibility,
        }
    }

    fn check_versions(&self, versions: Versions, errors: &mut Vec<StartError>) {
        let binary = self.binary.line();
        let component = || self.name.clone();
        if !(self.emulation_floor..=binary).contains(&versions.emulation) {
            let (version, floor) = (versions.emulation, self.emulation_floor);
            errors.push(StartError::EmulationOutside {
                component: component(),
                version,
                floor,
                binary,
            });
            return;
        }
        let allowed = self.min_compatibility_floor..=versions.emulation;
        if !allowed.contains(&versions.min_compatibility) {
            errors.push(StartError::MinCompatibilityOutside {
                component: component(),
                version: versions.min_compatibility,
                floor: self.min_compatibility_floor,
                emulation: versions.emulation,
            });
        }
    }
}

/// Decides the versions of every component from the two flags; nothing is decided on error.
pub(crate) fn decide(
    registry: &Registry,
    emulated: &[String],
    min_compatibility: &[String],
) -> Result<BTreeMap<String, Versions>, Vec<StartError>> {
    let mut errors = Vec::new();
    let emulated = read_flag(registry, emulated, "EmulationVersion", &mut errors);
    let min = read_flag(
        registry,
        min_compatibility,
        "MinCompatibilityVersion",
        &mut errors,
    );
    let mut decided = BTreeMap::new();
    for component in registry.components() {
        match versions_of(registry, component, &emulated, &min) {
            Ok(versions) => {
                component.check_versions(versions, &mut errors);
                decided.insert(component.name.clone(), versions);
            }
            Err(error) => errors.push(error),
        }
    }
    if errors.is_empty() {
        Ok(decided)
    } else {
        Err(errors)
    }
}

/// A component's own flags, or its parent's versions through the mapping.
fn versions_of(
    registry: &Registry,
    component: &Component,
    emulated: &BTreeMap<String, Version>,
    min: &BTreeMap<String, Version>,
) -> Result<Versions, StartError> {
    let Some((parent_name, mapping)) = registry.mapping(&component.name) else {
        let emulation = emulated.get(&component.name).copied();
        let mut versions = component.versions_at(emulation.unwrap_or(component.binary.line()));
        if let Some(&asked) = min.get(&component.name) {
            versions.min_compatibility = asked;
        }
        return Ok(versions);
    };
    let parent = registry
        .component(parent_name)
        .expect("a mapping joins registered components");
    let followed = versions_of(registry, parent, emulated, min)?;
    let mut versions =
        component.versions_at(follow(component, parent, mapping, followed.emulation)?);
    if min.contains_key(root_of(registry, parent_name)) {
        versions.min_compatibility =
            follow(component, parent, mapping, followed.min_compatibility)?;
    }
    Ok(versions)
}

fn follow(
    component: &Component,
    parent: &Component,
    mapping: VersionMapping,
    version: Version,
) -> Result<Version, StartError> {
    mapping(version).ok_or_else(|| StartError::Unmapped {
        component: component.name.clone(),
        parent: parent.name.clone(),
        version,
    })
}

/// The component at the top of a chain of mappings, whose flags decide.
fn root_of<'a>(registry: &'a Registry, component: &'a str) -> &'a str {
    match registry.mapping(component) {
        Some((parent, _)) => root_of(registry, parent),
        None => component,
    }
}

/// The component that an item of a version flag speaks of.
pub(crate) fn component_of(item: &str) -> &str {
    item.split_once('=')
        .map_or(DEFAULT_COMPONENT, |(component, _)| component.trim())
}

/// Reads all uses of `--emulated-version` or `--min-compatibility-version`.
fn read_flag(
    registry: &Registry,
    texts: &[String],
    version: &'static str,
    errors: &mut Vec<StartError>,
) -> BTreeMap<String, Version> {
    let mut read: BTreeMap<String, Version> = BTreeMap::new();
    for item in texts
        .iter()
        .filter(|text| !text.is_empty())
        .flat_map(|text| text.split(','))
    {
        let text = item.split_once('=').map_or(item, |(_, text)| text).trim();
        let component = component_of(item).to_owned();
        if registry.component(&component).is_none() {
            errors.push(StartError::UnknownComponent { component });
        } else if registry.mapping(&component).is_some() {
            errors.push(StartError::MappedVersion { version, component });
        } else {
            match Version::parse(text) {
                Ok(second) => match read.get(&component) {
                    Some(&first) => {
                        errors.push(StartError::DuplicateVersion {
                            component,
                            first,
                            second,
                        });
                    }
                    None => _ = read.insert(component, second),
                },
                Err(VersionError::Patch(text)) => {
                    errors.push(StartError::PatchVersion { component, text });
                }
                Err(error) => errors.push(StartError::Version { component, error }),
            }
        }
    }
    read
}
