//! Gate settings: `--feature-gates`, environment variables, the configuration file.

use crate::StartError;

/// Source of a value, weakest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Source {
    /// The history's default.
    Default,
    /// An override of the default in code.
    Override,
    /// The `AllAlpha` group switch.
    AllAlpha,
    /// The `AllBeta` group switch.
    AllBeta,
    /// The configuration file.
    File,
    /// A `KUBE_FEATURE_` variable.
    KubeEnv,
    /// `LOCKSTEP_FEATURE_GATES`.
    EnvList,
    /// A `LOCKSTEP_FEATURE_` variable.
    Env,
    /// `--feature-gates`.
    Flag,
    /// Agreement of the cluster's members.
    Cluster,
    /// A test.
    Test,
}

impl Source {
    /// Name in tables, JSON and metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Source::Default => "default",
            Source::Override => "override",
            Source::AllAlpha => "AllAlpha",
            Source::AllBeta => "AllBeta",
            Source::File => "file",
            Source::KubeEnv | Source::EnvList | Source::Env => "env",
            Source::Flag => "flag",
            Source::Cluster => "cluster",
            Source::Test => "test",
        }
    }
}

/// A gate set by one source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Setting {
    /// As written; `None` if unqualified.
    pub(crate) component: Option<String>,
    pub(crate) name: String,
    pub(crate) value: bool,
    pub(crate) source: Source,
}

/// Settings read so far, with errors.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Settings {
    pub(crate) accepted: Vec<Setting>,
    pub(crate) errors: Vec<StartError>,
    /// Variables of client libraries with invalid values: name and value.
    pub(crate) ignored_variables: Vec<(String, String)>,
}

const VARIABLE_LIST: &str = "LOCKSTEP_FEATURE_GATES";
const VARIABLE_PREFIX: &str = "LOCKSTEP_FEATURE_";
const KUBE_VARIABLE_PREFIX: &str = "KUBE_FEATURE_";

impl Settings {
    /// Parses all uses of `--feature-gates`. The last value of a gate wins.
    pub(crate) fn read_list<'a>(&mut self, texts: impl Iterator<Item = &'a str>, source: Source) {
        let (mut bare, mut prefixed) = (false, false);
        for item in texts.flat_map(|text| text.split(',')).map(str::trim) {
            if item.is_empty() {
                continue;
            }
            let (path, value) = match item.split_once('=') {
                Some((path, value)) => (path, Some(value.trim())),
                None => (item, None),
            };
            let (component, name) = split_component(path);
            bare |= component.is_none();
            prefixed |= component == Some(crate::DEFAULT_COMPONENT);
            self.read_item(component, name, value, source);
        }
        if bare && prefixed {
            self.errors.push(StartError::MixedPrefix);
        }
    }

    fn read_item(
        &mut self,
        component: Option<&str>,
        name: &str,
        value: Option<&str>,
        source: Source,
    ) {
        let name = name.to_owned();
        let Some(text) = value else {
            return self.errors.push(StartError::MissingValue { name });
        };
        match parse_bool(text) {
            Some(value) => self.accept(component, name, value, source),
            None => self
                .errors
                .push(StartError::invalid_value(&name, &name, text)),
        }
    }

    fn accept(&mut self, component: Option<&str>, name: String, value: bool, source: Source) {
        let component = component.map(str::to_owned);
        self.accepted.push(Setting {
            component,
            name,
            value,
            source,
        });
    }

    /// Reads gate variables; ignores all others.
    pub(crate) fn read_environment<'a>(
        &mut self,
        variables: impl Iterator<Item = (&'a str, &'a str)>,
    ) {
        for (variable, text) in variables {
            if variable == VARIABLE_LIST {
                self.read_list(std::iter::once(text), Source::EnvList);
            } else if let Some(name) = variable.strip_prefix(VARIABLE_PREFIX) {
                match parse_bool(text.trim()) {
                    Some(value) => self.accept(None, name.to_owned(), value, Source::Env),
                    None => self
                        .errors
                        .push(StartError::invalid_value(name, variable, text)),
                }
            } else if let Some(name) = variable.strip_prefix(KUBE_VARIABLE_PREFIX) {
                match parse_bool(text.trim()) {
                    Some(value) => self.accept(None, name.to_owned(), value, Source::KubeEnv),
                    None => self
                        .ignored_variables
                        .push((name.to_owned(), text.to_owned())),
                }
            }
        }
    }

    /// Reads the map `featureGates` of a configuration file; `None` stands for a non-boolean.
    pub(crate) fn read_file<'a>(&mut self, entries: impl Iterator<Item = (&'a str, Option<bool>)>) {
        for (key, value) in entries {
            let (component, name) = split_component(key);
            match value {
                Some(value) => self.accept(component, name.to_owned(), value, Source::File),
                None => self.errors.push(StartError::NotABoolean {
                    key: key.to_owned(),
                }),
            }
        }
    }
}

/// `kube:A` names a component, `A` and `:A` name none.
fn split_component(path: &str) -> (Option<&str>, &str) {
    match path.split_once(':') {
        Some((component, name)) => {
            let component = component.trim();
            ((!component.is_empty()).then_some(component), name.trim())
        }
        None => (None, path.trim()),
    }
}

/// The spellings of a boolean that flags and variables accept, and no others.
fn parse_bool(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "TRUE" | "true" | "True" => Some(true),
        "0" | "f" | "F" | "FALSE" | "false" | "False" => Some(false),
        _ => None,
    }
}
