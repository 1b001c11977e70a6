//! What can be wrong, and how several wrongs are told at once.

use std::fmt;

/// Several errors, each once, in the order of the names they speak of.
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

/// An error that speaks of a name.
pub(crate) trait Ordered: fmt::Display {
    /// The gate or component; empty when it speaks of the whole.
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
    /// A history breaks a rule; the text is the rule's own.
    #[error("{text}")]
    History {
        /// The feature.
        feature: String,
        /// What is wrong, with the feature's name.
        text: String,
    },
    /// A registry file, or a part of it, is not shaped as one.
    #[error("{path}: {problem}")]
    Shape {
        /// Where in the file.
        path: String,
        /// What was expected there.
        problem: String,
    },
    /// Two registrations of one name disagree.
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
    /// A dependency of something nobody registered.
    #[error("cannot add dependency for unknown feature {feature}")]
    DependencyOfUnknown {
        /// The unknown feature.
        feature: String,
    },
    /// A dependency on something nobody registered.
    #[error("cannot add dependency from {feature} to unknown feature {on}")]
    DependencyOnUnknown {
        /// The feature.
        feature: String,
        /// What it wants to depend on.
        on: String,
    },
    /// A dependency breaks a rule; the text is the rule's own.
    #[error("{text}")]
    Dependency {
        /// The feature.
        feature: String,
        /// What is wrong.
        text: String,
    },
    /// Two components of one name.
    #[error("component \"{component}\" is already registered")]
    ComponentTwice {
        /// The component.
        component: String,
    },
    /// A component that is mapped from, or to, does not exist.
    #[error("component not registered: {component}")]
    ComponentUnknown {
        /// The component.
        component: String,
    },
    /// A component's version can follow only one other.
    #[error("version of {component} is already mapped from {parent}")]
    MappedTwice {
        /// The component.
        component: String,
        /// What it follows already.
        parent: String,
    },
    /// Components that follow each other in a circle.
    #[error("version mapping of {component} leads back to itself")]
    MappingLoop {
        /// One component of the circle.
        component: String,
    },
}

impl RegistrationError {
    /// The feature it is about, if it is about one.
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
