//! `--runtime-config`: enables or disables APIs.

use std::collections::{BTreeMap, BTreeSet};

use super::{Api, Maturity, maturity};

/// Keys that select sets of APIs, in order of application.
const SETS: [(&str, Option<Maturity>); 4] = [
    ("api/all", None),
    ("api/ga", Some(Maturity::Stable)),
    ("api/beta", Some(Maturity::Beta)),
    ("api/alpha", Some(Maturity::Alpha)),
];
/// A former key that is accepted and ignored.
const LEGACY: &str = "api/legacy";
/// The core group, where keys name groups.
const CORE: &str = "api";

/// Settings by set (`api/all`), by group version and by resource. The most specific one wins.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RuntimeConfig {
    sets: [Option<bool>; SETS.len()],
    versions: BTreeMap<(String, String), bool>,
    resources: BTreeMap<(String, String, String), bool>,
}

/// Errors of parsing `--runtime-config`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, thiserror::Error)]
pub enum RuntimeConfigError {
    /// Neither a set, nor a version, nor a resource.
    #[error("runtime-config invalid key {0}")]
    Key(String),
    /// A set is neither `true` nor `false`.
    #[error("invalid value {key}={value}")]
    SetValue {
        /// The set.
        key: String,
        /// The given value.
        value: String,
    },
    /// Neither `true` nor `false`, nor one of their short forms.
    #[error(
        "invalid value of {key}: {value}, err: strconv.ParseBool: parsing \"{value}\": invalid syntax"
    )]
    Value {
        /// The key.
        key: String,
        /// The given value.
        value: String,
    },
    /// A resource in capitals.
    #[error(
        "invalid key {key}: group/version/resource and resource is always lowercase plural, not \"{resource}\""
    )]
    Resource {
        /// The whole key.
        key: String,
        /// Its last part.
        resource: String,
    },
    /// Unknown API groups.
    #[error("unknown api groups {}", .0.join(","))]
    UnknownGroups(Vec<String>),
    /// A known group does not have the version.
    #[error("group version {0} that has not been registered")]
    UnknownVersion(String),
    /// Nothing would be left.
    #[error("invalid runtime-config with only api/all=false")]
    Nothing,
}

impl RuntimeConfig {
    /// Parses `key=value,…` arguments; the last value of a key wins. Only APIs in `known` can be named.
    pub fn read<'a>(
        texts: impl IntoIterator<Item = &'a str>,
        known: &[Api<'_>],
    ) -> Result<Self, Vec<RuntimeConfigError>> {
        let items = texts.into_iter().flat_map(|text| text.split(','));
        let items = items.filter(|item| !item.trim().is_empty()).map(|item| {
            let (key, value) = item.split_once('=').unwrap_or((item, ""));
            (key.trim(), value.trim())
        });
        let items: BTreeMap<&str, &str> = items.collect();
        let mut config = Self::default();
        let mut errors = BTreeSet::new();
        let mut unknown = Vec::new();
        for (&key, &value) in &items {
            match config.add(key, value, known) {
                Ok(()) => {}
                Err(RuntimeConfigError::UnknownGroups(groups)) => unknown.extend(groups),
                Err(error) => {
                    errors.insert(error);
                }
            }
        }
        if !unknown.is_empty() {
            errors.insert(RuntimeConfigError::UnknownGroups(unknown));
        }
        if items.len() == 1 && items.get("api/all") == Some(&"false") {
            errors.insert(RuntimeConfigError::Nothing);
        }
        if errors.is_empty() {
            Ok(config)
        } else {
            Err(errors.into_iter().collect())
        }
    }

    fn add(&mut self, key: &str, value: &str, known: &[Api<'_>]) -> Result<(), RuntimeConfigError> {
        if let Some(set) = SETS.iter().position(|(name, _)| *name == key) {
            self.sets[set] = Some(match value {
                "true" => true,
                "false" => false,
                _ => {
                    let (key, value) = (key.to_owned(), value.to_owned());
                    return Err(RuntimeConfigError::SetValue { key, value });
                }
            });
            return Ok(());
        }
        let words: Vec<&str> = key.split('/').collect();
        let (group, version, resource) = match words[..] {
            [_, _] if key == LEGACY => return Ok(()),
            [version @ "v1"] | [CORE, version] => ("", version, None),
            [CORE, version, resource] => ("", version, Some(resource)),
            [group, version] => (group, version, None),
            [group, version, resource] => (group, version, Some(resource)),
            _ => return Err(RuntimeConfigError::Key(key.to_owned())),
        };
        let name = || format!("{group}/{version}");
        let mut of_group = known.iter().filter(|api| api.group == group).peekable();
        if of_group.peek().is_none() {
            return Err(RuntimeConfigError::UnknownGroups(vec![name()]));
        }
        if !of_group.any(|api| api.version == version) {
            return Err(RuntimeConfigError::UnknownVersion(name()));
        }
        let value = switch(key, value)?;
        let (group, version) = (group.to_owned(), version.to_owned());
        match resource {
            None => self.versions.insert((group, version), value),
            Some(resource) if resource != resource.to_lowercase() => {
                let (key, resource) = (key.to_owned(), resource.to_owned());
                return Err(RuntimeConfigError::Resource { key, resource });
            }
            Some(resource) => {
                let resource = (group, version, resource.to_owned());
                self.resources.insert(resource, value)
            }
        };
        Ok(())
    }

    /// Setting for a resource, by name.
    pub(super) fn of_resource(&self, api: &Api<'_>) -> Option<bool> {
        let key = (api.group.into(), api.version.into(), api.plural.into());
        self.resources.get(&key).copied()
    }

    /// Setting for a group version, by name.
    pub(super) fn of_version(&self, api: &Api<'_>) -> Option<bool> {
        let key = (api.group.into(), api.version.into());
        self.versions.get(&key).copied()
    }

    /// True if the API is enabled by the sets; the default is enabled.
    pub(super) fn wants(&self, api: &Api<'_>) -> bool {
        let sets = SETS.iter().zip(self.sets).rev();
        let of_sets =
            sets.filter(|((_, only), _)| only.is_none_or(|only| only == maturity(api.version)));
        let of_sets = of_sets.map(|(_, value)| value).find_map(|value| value);
        let exact = self.of_resource(api).or_else(|| self.of_version(api));
        exact.or(of_sets).unwrap_or(true)
    }
}

/// A switch without a value is on.
fn switch(key: &str, value: &str) -> Result<bool, RuntimeConfigError> {
    match value {
        "" | "1" | "t" | "T" | "TRUE" | "true" | "True" => Ok(true),
        "0" | "f" | "F" | "FALSE" | "false" | "False" => Ok(false),
        _ => Err(RuntimeConfigError::Value {
            key: key.to_owned(),
            value: value.to_owned(),
        }),
    }
}
