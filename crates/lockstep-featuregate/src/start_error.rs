//! Why a server would refuse to start.

use crate::{Version, VersionError, errors::Ordered};

/// One reason not to start. The texts are a contract: tools and people search for them.
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
        /// What was given for a boolean.
        text: String,
    },
    /// The configuration file has something else than a boolean.
    #[error("featureGates.{key}: expected a boolean")]
    NotABoolean {
        /// The key as written.
        key: String,
    },
    /// Nobody registered a gate of this name.
    #[error("unrecognized feature gate: {name}{hint}")]
    Unrecognized {
        /// The name as written.
        name: String,
        /// What the user can do about it.
        hint: Hint,
    },
    /// A locked gate set to the other value.
    #[error("cannot set feature gate {name} to {value}, feature is locked to {}", !value)]
    Locked {
        /// The gate.
        name: String,
        /// The value asked for.
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
        /// The value asked for.
        value: bool,
        /// The emulated version.
        emulation: Version,
        /// The minimum compatibility version.
        min_compatibility: Version,
    },
    /// A cluster-scoped gate among the process gates.
    #[error(
        "feature gate {name} is agreed by the whole cluster, set it with --cluster-feature-gates \
         instead of --feature-gates"
    )]
    ClusterScoped {
        /// The gate.
        name: String,
    },
    /// A component nobody registered.
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
        /// What is wrong with the text.
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
    /// One component's version given twice.
    #[error("duplicate version flag, {component}={first} and {component}={second}")]
    DuplicateVersion {
        /// The component.
        component: String,
        /// The version given first.
        first: Version,
        /// The version given again.
        second: Version,
    },
    /// A version flag for a component that follows another.
    #[error("{version} of {component} is set by mapping, cannot set it by flag")]
    MappedVersion {
        /// `EmulationVersion` or `MinCompatibilityVersion`.
        version: &'static str,
        /// The component.
        component: String,
    },
    /// A mapping has no answer for its parent's version.
    #[error("{component} has no version that goes with {parent}={version}")]
    Unmapped {
        /// The component.
        component: String,
        /// The component it follows.
        parent: String,
        /// The parent's version.
        version: Version,
    },
    /// An emulated version outside the window.
    #[error("emulation version {version} is not between [{floor}, {binary}]")]
    EmulationOutside {
        /// The component.
        component: String,
        /// The version asked for.
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
        /// The version asked for.
        version: Version,
        /// The oldest allowed.
        floor: Version,
        /// The newest allowed.
        emulation: Version,
    },
    /// A flag that makes sense only while emulating.
    #[error(
        "--{flag} cannot be set to true if the emulation version is the same as the binary version"
    )]
    NotEmulating {
        /// The flag without its dashes.
        flag: &'static str,
    },
    /// Alpha features while emulating, refused by `--strict-emulation`.
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
    /// A feature is on, and something it needs is off.
    #[error(
        "{name} is enabled, but depends on features that are disabled: [{}]", disabled.join(" ")
    )]
    DisabledDependencies {
        /// The feature.
        name: String,
        /// What it needs, sorted.
        disabled: Vec<String>,
    },
    /// Code overrides a default of something that does not exist.
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

/// What to do about a name nobody registered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Hint {
    /// Nothing comes to mind.
    None,
    /// The gate was removed.
    Removed {
        /// The first release without it.
        removed_in: Version,
        /// Since when, and to what, it was locked.
        locked: Option<(Version, bool)>,
    },
    /// A gate of Kubernetes that this binary does not have.
    Foreign,
    /// A name that looks like it.
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
            Hint::Foreign => f.write_str(" (a Kubernetes gate without effect here)"),
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
