//! Errors of gate settings that prevent a start.

use crate::{Version, VersionError, errors::Ordered};

/// A reason not to start. The texts are a contract: tools and people search for them.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum StartError {
    /// `A` instead of `A=true`.
    #[error("missing bool value for {name}")]
    MissingValue {
        /// The gate.
        name: String,
    },
    /// Not one of the spellings of a boolean.
    #[error("invalid value of {written}={text}")]
    InvalidValue {
        /// The gate.
        name: String,
        /// The gate or the variable, as written.
        written: String,
        /// The invalid value.
        text: String,
    },
    /// A value in the configuration file is not a boolean.
    #[error("featureGates.{key}: expected a boolean")]
    NotABoolean {
        /// The key as written.
        key: String,
    },
    /// The gate is not registered.
    #[error("unrecognized feature gate: {name}{hint}")]
    Unrecognized {
        /// The name as written.
        name: String,
        /// Hint for the user.
        hint: Hint,
    },
    /// A locked gate set to the other value.
    #[error("cannot set feature gate {name} to {value}, feature is locked to {}", !value)]
    Locked {
        /// The gate.
        name: String,
        /// The requested value.
        value: bool,
    },
    /// A gate that does not exist yet at the emulated version.
    #[error(
        "cannot set feature gate {name} to {value}, feature is PreAlpha at emulated version \
         {emulation}, min compatibility version {min_compatibility}"
    )]
    PreAlpha {
        /// The gate.
        name: String,
        /// The requested value.
        value: bool,
        /// The emulated version.
        emulation: Version,
        /// The minimum compatibility version.
        min_compatibility: Version,
    },
    /// A cluster-scoped gate is set as a process gate.
    #[error(
        "feature gate {name} is agreed by the whole cluster, set it with --cluster-feature-gates \
         instead of --feature-gates"
    )]
    ClusterScoped {
        /// The gate.
        name: String,
    },
    /// The component is not registered.
    #[error("component not registered: {component}")]
    UnknownComponent {
        /// The component as written.
        component: String,
    },
    /// `kube:A=true,B=true`.
    #[error(
        "set kube feature gates with default empty prefix or kube: prefix consistently, \
         do not mix use"
    )]
    MixedPrefix,
    /// A version flag that is not a version.
    #[error("{error}")]
    Version {
        /// The component.
        component: String,
        /// The parse error.
        error: VersionError,
    },
    /// A version flag with a patch number.
    #[error("patch version not allowed, got: {component}={text}")]
    PatchVersion {
        /// The component.
        component: String,
        /// The version as written.
        text: String,
    },
    /// A component's version is set twice.
    #[error("duplicate version flag, {component}={first} and {component}={second}")]
    DuplicateVersion {
        /// The component.
        component: String,
        /// The version given first.
        first: Version,
        /// The version given again.
        second: Version,
    },
    /// A version flag for a component whose version is mapped from another.
    #[error("{version} of {component} is set by mapping, cannot set it by flag")]
    MappedVersion {
        /// `EmulationVersion` or `MinCompatibilityVersion`.
        version: &'static str,
        /// The component.
        component: String,
    },
    /// The version mapping has no result for the parent's version.
    #[error("{component} has no version that goes with {parent}={version}")]
    Unmapped {
        /// The component.
        component: String,
        /// The component it is mapped from.
        parent: String,
        /// The parent's version.
        version: Version,
    },
    /// An emulated version outside the window.
    #[error("emulation version {version} is not between [{floor}, {binary}]")]
    EmulationOutside {
        /// The component.
        component: String,
        /// The requested version.
        version: Version,
        /// The oldest allowed.
        floor: Version,
        /// The newest allowed.
        binary: Version,
    },
    /// A compatibility version outside the window.
    #[error("minCompatibilityVersion version {version} is not between [{floor}, {emulation}]")]
    MinCompatibilityOutside {
        /// The component.
        component: String,
        /// The requested version.
        version: Version,
        /// The oldest allowed.
        floor: Version,
        /// The newest allowed.
        emulation: Version,
    },
    /// A flag that is valid only while emulating.
    #[error(
        "--{flag} cannot be set to true if the emulation version is the same as the binary version"
    )]
    NotEmulating {
        /// The flag without its dashes.
        flag: &'static str,
    },
    /// Alpha features while emulating, rejected by `--strict-emulation`.
    #[error(
        "component has alpha features enabled in emulated version, this is unsupported: \
         features=[{}]", features.join(" ")
    )]
    AlphaUnderEmulation {
        /// The component.
        component: String,
        /// The alpha features that are on, sorted.
        features: Vec<String>,
    },
    /// A feature is on while a dependency is off.
    #[error(
        "{name} is enabled, but depends on features that are disabled: [{}]", disabled.join(" ")
    )]
    DisabledDependencies {
        /// The feature.
        name: String,
        /// The disabled dependencies, sorted.
        disabled: Vec<String>,
    },
    /// Code overrides the default of an unknown feature.
    #[error("cannot override default: feature \"{name}\" is not registered")]
    OverrideUnregistered {
        /// The feature.
        name: String,
    },
    /// Code overrides a locked default.
    #[error("cannot override default: feature \"{name}\" default is locked to {default}")]
    OverrideLocked {
        /// The feature.
        name: String,
        /// The locked value.
        default: bool,
    },
    /// Code overrides a default before the feature exists.
    #[error("cannot override default: feature \"{name}\" is not available before version {first}")]
    OverrideTooEarly {
        /// The feature.
        name: String,
        /// Its first version.
        first: Version,
    },
}

/// Hint about an unregistered gate name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Hint {
    /// No hint.
    None,
    /// The gate was removed.
    Removed {
        /// The first release without it.
        removed_in: Version,
        /// The version it was locked in, and the locked value.
        locked: Option<(Version, bool)>,
    },
    /// A gate of Kubernetes that this binary does not have.
    Foreign,
    /// A similar known name.
    DidYouMean(String),
}

impl std::fmt::Display for Hint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Hint::None => Ok(()),
            Hint::Removed {
                removed_in,
                locked: Some((since, value)),
            } => write!(
                f,
                " (removed in {removed_in}; it was locked to {value} since {since}; \
                 delete it from the configuration)"
            ),
            Hint::Removed {
                removed_in,
                locked: None,
            } => {
                write!(
                    f,
                    " (removed in {removed_in}; delete it from the configuration)"
                )
            }
            Hint::Foreign => f.write_str(
                " (a Kubernetes gate without effect here; `--foreign-feature-gates=ignore` skips it)",
            ),
            Hint::DidYouMean(name) => write!(f, " (did you mean \"{name}\"?)"),
        }
    }
}

impl StartError {
    pub(crate) fn invalid_value(name: &str, written: &str, text: &str) -> Self {
        let (name, written, text) = (name.to_owned(), written.to_owned(), text.to_owned());
        Self::InvalidValue {
            name,
            written,
            text,
        }
    }
}

impl Ordered for StartError {
    fn about(&self) -> &str {
        match self {
            Self::MissingValue { name }
            | Self::InvalidValue { name, .. }
            | Self::Unrecognized { name, .. }
            | Self::Locked { name, .. }
            | Self::PreAlpha { name, .. }
            | Self::ClusterScoped { name }
            | Self::DisabledDependencies { name, .. }
            | Self::OverrideUnregistered { name }
            | Self::OverrideLocked { name, .. }
            | Self::OverrideTooEarly { name, .. } => name,
            Self::NotABoolean { key } => key,
            Self::MixedPrefix
            | Self::NotEmulating { .. }
            | Self::UnknownComponent { .. }
            | Self::Version { .. }
            | Self::PatchVersion { .. }
            | Self::DuplicateVersion { .. }
            | Self::MappedVersion { .. }
            | Self::Unmapped { .. }
            | Self::EmulationOutside { .. }
            | Self::MinCompatibilityOutside { .. }
            | Self::AlphaUnderEmulation { .. } => "",
        }
    }
}
