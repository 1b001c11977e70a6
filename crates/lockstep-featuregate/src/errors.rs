//! Registration errors, and lists of errors.

use std::fmt;

/// Several distinct errors, sorted by the name they concern.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Errors<E>(Vec<E>);

/// `Ok` when there is nothing to report.
pub(crate) fn check<E: Ordered>(mut errors: Vec<E>) -> Result<(), Errors<E>> {
    if errors.is_empty() {
        return Ok(());
    }
    errors.sort_by_cached_key(|error| (error.about().to_owned(), error.to_string()));
    errors.dedup_by_key(|error| error.to_string());
    Err(Errors(errors))
}

impl<E> Errors<E> {
    /// Each error, sorted.
    pub fn iter(&self) -> impl Iterator<Item = &E> {
        self.0.iter()
    }
}

/// An error with a sort key.
pub(crate) trait Ordered: fmt::Display {
    /// The gate or component; empty if it concerns neither.
    fn about(&self) -> &str;
}

impl<E: fmt::Display> fmt::Display for Errors<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [only] = &self.0[..] {
            return only.fmt(f);
        }
        f.write_str("[")?;
        for (at, error) in self.0.iter().enumerate() {
            let separator = if at == 0 { "" } else { ", " };
            write!(f, "{separator}{error}")?;
        }
        f.write_str("]")
    }
}

impl<E: fmt::Debug + fmt::Display> std::error::Error for Errors<E> {}

/// A feature or component that cannot be registered.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RegistrationError {
    /// A history violates a rule.
    #[error("{text}")]
    History {
        /// The feature.
        feature: String,
        /// The violation, with the feature's name.
        text: String,
    },
    /// A registry file has an invalid structure.
    #[error("{path}: {problem}")]
    Shape {
        /// Path in the file.
        path: String,
        /// The expected structure.
        problem: String,
    },
    /// Two registrations of one name differ.
    #[error("feature gate \"{feature}\" with different spec already exists: {existing}")]
    Different {
        /// The feature.
        feature: String,
        /// The history registered first.
        existing: String,
    },
    /// The set of features is closed once its flags exist.
    #[error("cannot add a feature gate after adding it to the flag set")]
    Closed,
    /// The feature of a dependency is not registered.
    #[error("cannot add dependency for unknown feature {feature}")]
    DependencyOfUnknown {
        /// The unknown feature.
        feature: String,
    },
    /// The target of a dependency is not registered.
    #[error("cannot add dependency from {feature} to unknown feature {on}")]
    DependencyOnUnknown {
        /// The feature.
        feature: String,
        /// The unknown target.
        on: String,
    },
    /// A dependency violates a rule.
    #[error("{text}")]
    Dependency {
        /// The feature.
        feature: String,
        /// The violation.
        text: String,
    },
    /// Two components have the same name.
    #[error("component \"{component}\" is already registered")]
    ComponentTwice {
        /// The component.
        component: String,
    },
    /// A component of a version mapping does not exist.
    #[error("component not registered: {component}")]
    ComponentUnknown {
        /// The component.
        component: String,
    },
    /// A component's version is mapped from two others.
    #[error("version of {component} is already mapped from {parent}")]
    MappedTwice {
        /// The component.
        component: String,
        /// The component it is already mapped from.
        parent: String,
    },
    /// Version mappings form a cycle.
    #[error("version mapping of {component} leads back to itself")]
    MappingLoop {
        /// One component of the cycle.
        component: String,
    },
}

impl RegistrationError {
    /// The feature concerned, if there is one.
    pub fn feature(&self) -> Option<&str> {
        match self {
            Self::History { feature, .. }
            | Self::Different { feature, .. }
            | Self::DependencyOfUnknown { feature }
            | Self::DependencyOnUnknown { feature, .. }
            | Self::Dependency { feature, .. } => Some(feature),
            Self::ComponentTwice { .. }
            | Self::ComponentUnknown { .. }
            | Self::MappedTwice { .. }
            | Self::MappingLoop { .. }
            | Self::Shape { .. }
            | Self::Closed => None,
        }
    }
}

impl Ordered for RegistrationError {
    fn about(&self) -> &str {
        match self {
            Self::ComponentTwice { component }
            | Self::ComponentUnknown { component }
            | Self::MappedTwice { component, .. }
            | Self::MappingLoop { component } => component,
            Self::Shape { path, .. } => path,
            other => other.feature().unwrap_or_default(),
        }
    }
}
