//! Which table of features a command looks at: a file, or the one built in.

use std::path::{Path, PathBuf};

use lockstep_featuregate::{
    BinaryVersion, Builder, Component, DEFAULT_COMPONENT, Errors, Gates, RegistrationError,
    Registry, StartError, Version, file, listing::Row,
};

use serde_json::Value;

use crate::{
    document,
    failure::{Exit, Failure},
    gate_flags::GateSettings,
};

/// The flags that every `features` command has.
#[derive(Debug, clap::Args)]
pub(crate) struct Source {
    /// Registry file in place of the built-in table, `-` for standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Version X.Y to report on; the binary's own when not given
    #[arg(long, value_name = "VERSION", value_parser = Version::parse)]
    pub(crate) version: Option<Version>,
}

/// A table of features with the settings to look at it under.
#[derive(Debug, clap::Args)]
pub(crate) struct Preview {
    #[command(flatten)]
    source: Source,
    #[command(flatten)]
    settings: GateSettings,
    /// Show the gates as they are when emulating this version
    #[arg(long, value_name = "VERSIONS")]
    emulated_version: Vec<String>,
}

impl Preview {
    /// Whether anything was asked for that a running server has decided already.
    pub(crate) fn is_given(&self) -> bool {
        let source = self.source.file.is_some() || self.source.version.is_some();
        let settings = !self.settings.feature_gates.is_empty() || self.settings.config.is_some();
        source || settings || !self.emulated_version.is_empty()
    }

    /// The parts of the expression language, which are no part of a registry in a file.
    pub(crate) fn expressions(&self, gates: &Gates) -> Vec<Row> {
        match self.source.file {
            Some(_) => Vec::new(),
            None => lockstep_apiserver::expressions::rows(gates),
        }
    }

    /// The gates as a server would have them.
    pub(crate) fn gates(&self) -> Result<Gates, Failure> {
        let mut builder = self.settings.apply(Builder::new(self.source.registry()?))?;
        for text in &self.emulated_version {
            builder = builder.emulated_version(text.as_str());
        }
        let started = builder.try_finish().map_err(|errors| refused(&errors))?;
        Ok(started.gates)
    }
}

/// Settings no server would start with are broken input to a tool.
pub(crate) fn refused(errors: &Errors<StartError>) -> Failure {
    let causes = errors.iter().map(ToString::to_string).collect();
    Failure::of_causes(Exit::BadInput, errors, causes)
}

/// A table of features, and how far it can be trusted.
pub(crate) struct Table {
    /// The components, their dependencies not yet checked.
    pub(crate) components: Vec<Component>,
    /// Up to which version the table knows for sure which gates there are: the release it is of.
    pub(crate) known_until: Option<Version>,
    path: Option<PathBuf>,
}

impl Source {
    /// Reads the table.
    pub(crate) fn table(&self) -> Result<Table, Failure> {
        let (components, stated) = match &self.file {
            Some(path) => {
                let document = document::read(path)?;
                let stated = &document["components"][DEFAULT_COMPONENT]["binaryVersion"];
                let stated = stated
                    .as_str()
                    .and_then(|text| BinaryVersion::parse(text).ok());
                let version = self.version.unwrap_or_else(built_in_version);
                (
                    parse(path, &document, version)?,
                    stated.map(BinaryVersion::line),
                )
            }
            None => (lockstep_gates::components(), Some(built_in_version())),
        };
        let components = components
            .into_iter()
            .map(|component| self.at_version(component));
        Ok(Table {
            components: components.collect(),
            known_until: self.version.or(stated),
            path: self.file.clone(),
        })
    }

    /// The components, checked.
    pub(crate) fn registry(&self) -> Result<Registry, Failure> {
        self.table()?.registry()
    }

    /// `--version` speaks of the default component; others keep the version they say.
    fn at_version(&self, component: Component) -> Component {
        match self.version {
            Some(version) if component.name() == DEFAULT_COMPONENT => {
                component.with_binary(BinaryVersion::of(version))
            }
            _ => component,
        }
    }
}

impl Table {
    /// The version of the default component.
    pub(crate) fn version(&self) -> Version {
        let default = self
            .components
            .iter()
            .find(|one| one.name() == DEFAULT_COMPONENT);
        default.map_or_else(built_in_version, |component| component.binary().line())
    }

    /// The components, checked.
    pub(crate) fn registry(self) -> Result<Registry, Failure> {
        Registry::new(self.components).map_err(|errors| broken(self.path.as_deref(), &errors))
    }
}

/// Reads a registry file; all its errors are reported at once.
pub(crate) fn read(path: &Path, version: Version) -> Result<Vec<Component>, Failure> {
    parse(path, &document::read(path)?, version)
}

fn parse(path: &Path, document: &Value, version: Version) -> Result<Vec<Component>, Failure> {
    file::read_components(document, BinaryVersion::of(version))
        .map_err(|errors| broken(Some(path), &errors))
}

/// The release line of the built-in table's default component.
pub(crate) fn built_in_version() -> Version {
    let version = BinaryVersion::parse(lockstep_gates::KUBE_VERSION);
    version.expect("the API level is a version").line()
}

pub(crate) fn broken(path: Option<&Path>, errors: &Errors<RegistrationError>) -> Failure {
    let place = path.map_or_else(
        || "built-in registry".to_owned(),
        |path| path.display().to_string(),
    );
    let causes = errors.iter().map(ToString::to_string).collect();
    Failure::of_causes(Exit::BadInput, &format_args!("{place}: {errors}"), causes)
}
