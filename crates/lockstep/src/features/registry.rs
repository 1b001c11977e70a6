//! Which table of features a command looks at: a file, or the one built in.

use std::path::{Path, PathBuf};

use lockstep_featuregate::{
    BinaryVersion, Component, DEFAULT_COMPONENT, Errors, RegistrationError, Registry, Version, file,
};

use crate::{
    document,
    failure::{Exit, Failure},
};

/// The flags that every `features` command has.
#[derive(Debug, clap::Args)]
pub(crate) struct Source {
    /// Registry file in place of the built-in table, `-` for standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// The version to judge by, X.Y; the binary's own when not given
    #[arg(long, value_name = "VERSION", value_parser = Version::parse)]
    pub(crate) version: Option<Version>,
}

impl Source {
    /// The components, their dependencies not yet checked.
    pub(crate) fn components(&self) -> Result<Vec<Component>, Failure> {
        let components = match &self.file {
            Some(path) => read(path, self.version.unwrap_or_else(built_in_version))?,
            None => lockstep_gates::components(),
        };
        Ok(components
            .into_iter()
            .map(|component| self.at_version(component))
            .collect())
    }

    /// The components, checked.
    pub(crate) fn registry(&self) -> Result<Registry, Failure> {
        Registry::new(self.components()?).map_err(|errors| broken(self.file.as_deref(), &errors))
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

    /// Up to which version the table knows for sure which gates there are.
    pub(crate) fn known_until(&self) -> Option<Version> {
        self.version
            .or_else(|| self.file.is_none().then(built_in_version))
    }
}

/// Reads a registry file; everything wrong with it is told at once.
pub(crate) fn read(path: &Path, version: Version) -> Result<Vec<Component>, Failure> {
    let document = document::read(path)?;
    file::read_components(&document, BinaryVersion::of(version))
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
