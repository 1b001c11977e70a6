//! Warnings at startup.

use std::fmt;

use crate::Version;

/// A warning to log; the server starts nevertheless.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Warning {
    /// A GA gate is set.
    SettingGa {
        /// The gate.
        name: String,
        /// Its value.
        value: bool,
        /// Release in which the gate may be removed, once it is locked.
        remove_in: Option<Version>,
    },
    /// A deprecated gate is set.
    SettingDeprecated {
        /// The gate.
        name: String,
        /// Its value.
        value: bool,
        /// Release in which the gate may be removed, once it is locked.
        remove_in: Option<Version>,
    },
    /// Code replaces the default of a gate that is GA or deprecated.
    OverridingFinished {
        /// The gate.
        name: String,
        /// Its value.
        value: bool,
        /// `GA` or `deprecated`.
        stage: &'static str,
    },
    /// Alpha features while emulating: outside what emulation promises.
    AlphaUnderEmulation {
        /// The alpha features that are on, sorted.
        features: Vec<String>,
    },
    /// A removed gate, tolerated because its value is the one it was locked to.
    RemovedIgnored {
        /// The gate.
        name: String,
        /// Its value.
        value: bool,
        /// The first release without it.
        removed_in: Version,
    },
    /// A gate of Kubernetes without effect here, tolerated on request.
    ForeignIgnored {
        /// The gate.
        name: String,
        /// Its value.
        value: bool,
    },
    /// A `KUBE_FEATURE_` variable that cannot be followed.
    VariableIgnored {
        /// The gate.
        name: String,
        /// The variable's value.
        value: String,
        /// The reason.
        reason: String,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Warning::SettingGa {
                name,
                value,
                remove_in,
            } => {
                f.write_str(
                    "Warning: setting GA feature gate. It will be removed in a future release.",
                )?;
                gate_fields(f, name, *value, *remove_in)
            }
            Warning::SettingDeprecated {
                name,
                value,
                remove_in,
            } => {
                f.write_str(
                    "Warning: setting deprecated feature gate. It will be removed in a future release.",
                )?;
                gate_fields(f, name, *value, *remove_in)
            }
            Warning::OverridingFinished { name, value, stage } => {
                write!(
                    f,
                    "Warning: overriding default of {stage} feature gate. \
                     It will be removed in a future release."
                )?;
                gate_fields(f, name, *value, None)
            }
            Warning::AlphaUnderEmulation { features } => write!(
                f,
                "component has alpha features enabled in emulated version, \
                 this is unsupported: features=[{}]",
                features.join(" ")
            ),
            Warning::RemovedIgnored {
                name,
                value,
                removed_in,
            } => {
                write!(
                    f,
                    "ignoring feature gate removed in {removed_in}, delete it from the configuration"
                )?;
                gate_fields(f, name, *value, None)
            }
            Warning::ForeignIgnored { name, value } => {
                f.write_str("ignoring Kubernetes feature gate without effect here")?;
                gate_fields(f, name, *value, None)
            }
            Warning::VariableIgnored {
                name,
                value,
                reason,
            } => {
                write!(
                    f,
                    "ignoring environment variable KUBE_FEATURE_{name}={value}: {reason}"
                )
            }
        }
    }
}

fn gate_fields(
    f: &mut fmt::Formatter<'_>,
    name: &str,
    value: bool,
    remove_in: Option<Version>,
) -> fmt::Result {
    write!(f, " featureGate={name} value={value}")?;
    remove_in.map_or(Ok(()), |version| write!(f, " removeIn={version}"))
}
