//! The flags of a server that concern gates and versions, declared once for every command that
//! takes them.

use std::path::PathBuf;

use clap::ValueEnum;
use lockstep_featuregate::{Builder, ForeignGates, Options, RemovedGates};
use serde_json::Value;

use crate::{document, failure::Failure};

/// Gates by name, as a user types them.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct GateSettings {
    /// Gates to switch, as `[component:]Name=true|false,…`; may be repeated
    #[arg(long, value_name = "GATES")]
    pub(crate) feature_gates: Vec<String>,
    /// Configuration file with a map `featureGates`
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

/// Everything a server takes.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ServerFlags {
    #[command(flatten)]
    pub(crate) settings: GateSettings,
    /// Behave like this version, as `[component=]X.Y,…`; may be repeated
    #[arg(long, alias = "emulation-version", value_name = "VERSIONS")]
    emulated_version: Vec<String>,
    /// Stay compatible with peers of this version, as `[component=]X.Y,…`; may be repeated
    #[arg(long, value_name = "VERSIONS")]
    min_compatibility_version: Vec<String>,
    /// Refuse alpha features while emulating an earlier version
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true", action = clap::ArgAction::Set)]
    strict_emulation: bool,
    /// Treatment of gates that were removed
    #[arg(long, value_name = "WHAT", default_value = "fail")]
    removed_feature_gates: Removed,
    /// Treatment of Kubernetes gates that have no effect here
    #[arg(long, value_name = "WHAT", default_value = "fail")]
    foreign_feature_gates: Foreign,
    /// Serve newer versions of APIs that are on at the emulated version
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true", action = clap::ArgAction::Set)]
    emulation_forward_compatible: bool,
    /// Let the runtime configuration enable APIs introduced after the emulated version
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_value_t = false, default_missing_value = "true", action = clap::ArgAction::Set)]
    runtime_config_emulation_forward_compatible: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Removed {
    Fail,
    Warn,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Foreign {
    Fail,
    Ignore,
}

impl GateSettings {
    /// Hands the flags and the file to the builder.
    pub(crate) fn apply(&self, mut builder: Builder) -> Result<Builder, Failure> {
        for text in &self.feature_gates {
            builder = builder.flag(text.as_str());
        }
        match &self.config {
            Some(path) => Ok(builder.file(feature_gates_of(path, &document::read(path)?)?)),
            None => Ok(builder),
        }
    }
}

/// Whether APIs are served that the emulated version does not have.
pub(crate) struct ForwardCompatible {
    /// Newer versions of what it has.
    pub(crate) emulation: bool,
    /// True if the runtime configuration may enable APIs introduced after the emulated version.
    pub(crate) runtime_config: bool,
}

impl ServerFlags {
    pub(crate) fn forward_compatible(&self) -> ForwardCompatible {
        ForwardCompatible {
            emulation: self.emulation_forward_compatible,
            runtime_config: self.runtime_config_emulation_forward_compatible,
        }
    }

    /// Hands everything to the builder.
    pub(crate) fn apply(&self, builder: Builder) -> Result<Builder, Failure> {
        let mut builder = self.settings.apply(builder)?.options(Options {
            strict_emulation: self.strict_emulation,
            removed: match self.removed_feature_gates {
                Removed::Fail => RemovedGates::Fail,
                Removed::Warn => RemovedGates::Warn,
            },
            foreign: match self.foreign_feature_gates {
                Foreign::Fail => ForeignGates::Fail,
                Foreign::Ignore => ForeignGates::Ignore,
            },
            emulation_forward_compatible: self.emulation_forward_compatible,
            runtime_config_emulation_forward_compatible: self
                .runtime_config_emulation_forward_compatible,
        });
        for text in &self.emulated_version {
            builder = builder.emulated_version(text.as_str());
        }
        for text in &self.min_compatibility_version {
            builder = builder.min_compatibility_version(text.as_str());
        }
        Ok(builder)
    }
}

/// The map `featureGates` of a configuration file; other keys are not for gates.
fn feature_gates_of(
    path: &std::path::Path,
    document: &Value,
) -> Result<Vec<(String, Option<bool>)>, Failure> {
    let wrong = |what: &str| Failure::bad_input(format!("{}: {what}", path.display()));
    let gates = match document {
        Value::Null => return Ok(Vec::new()),
        Value::Object(keys) => keys.get("featureGates"),
        _ => return Err(wrong("expected a map")),
    };
    match gates {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Object(gates)) => Ok(gates
            .iter()
            .map(|(name, value)| (name.clone(), value.as_bool()))
            .collect()),
        Some(_) => Err(wrong("featureGates: expected a map of names to booleans")),
    }
}
