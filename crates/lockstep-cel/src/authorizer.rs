//! Authorization checks in expressions; the decision is delegated to the host.

use std::fmt;
use std::sync::Arc;

/// Decides whether a user may do something. The server implements it on its own authorizer.
pub trait Authorizer: fmt::Debug + Send + Sync {
    /// Answers one question.
    fn authorize(&self, attributes: &Attributes) -> Decision;
}

/// One question to an [`Authorizer`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Attributes {
    /// `namespace` and `name` of the checked service account; none checks the user of the request.
    pub service_account: Option<(String, String)>,
    /// The verb.
    pub verb: String,
    /// The checked resource or path.
    pub target: Target,
}

impl Attributes {
    /// User name of the checked service account, if set.
    pub fn user(&self) -> Option<String> {
        let (namespace, name) = self.service_account.as_ref()?;
        Some(format!("system:serviceaccount:{namespace}:{name}"))
    }
}

/// Target of an authorization check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A path outside the API's resources.
    Path(String),
    /// A resource, at any API version.
    Resource(ResourceAttributes),
}

impl Default for Target {
    fn default() -> Self {
        Self::Path(String::new())
    }
}

/// A resource, or all of a kind when the name is empty. Selectors are passed on as they were written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResourceAttributes {
    /// The API group.
    pub group: String,
    /// The resource.
    pub resource: String,
    /// The subresource.
    pub subresource: String,
    /// The namespace.
    pub namespace: String,
    /// The object's name.
    pub name: String,
    /// The field selector, unparsed.
    pub field_selector: Option<String>,
    /// The label selector, unparsed.
    pub label_selector: Option<String>,
}

/// The answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Decision {
    /// True if the request is explicitly allowed.
    pub allowed: bool,
    /// Reason of the decision.
    pub reason: String,
    /// Error of the authorizer.
    pub error: Option<String>,
}

/// The value of the variable `authorizer`.
#[derive(Debug, Clone)]
pub struct Authorization {
    backend: Arc<dyn Authorizer>,
    service_account: Option<(String, String)>,
}

impl Authorization {
    /// Creates an authorizer for the user of the request.
    pub fn new(backend: Arc<dyn Authorizer>) -> Self {
        Self {
            backend,
            service_account: None,
        }
    }

    pub(crate) fn as_service_account(&self, namespace: &str, name: &str) -> Self {
        Self {
            backend: Arc::clone(&self.backend),
            service_account: Some((namespace.to_owned(), name.to_owned())),
        }
    }

    fn ask(&self, verb: &str, target: Target) -> Decision {
        let service_account = self.service_account.clone();
        self.backend.authorize(&Attributes {
            service_account,
            verb: verb.to_owned(),
            target,
        })
    }

    /// The value of `authorizer.requestResource`, or of any other resource.
    pub fn resource(&self, resource: ResourceAttributes) -> ResourceCheck {
        ResourceCheck {
            authorization: self.clone(),
            resource,
        }
    }

    pub(crate) fn path(&self, path: &str) -> PathCheck {
        PathCheck {
            authorization: self.clone(),
            path: path.to_owned(),
        }
    }

    pub(crate) fn group(&self, group: &str) -> GroupCheck {
        GroupCheck {
            authorization: self.clone(),
            group: group.to_owned(),
        }
    }
}

/// `authorizer.path(p)`
#[derive(Debug, Clone)]
pub struct PathCheck {
    authorization: Authorization,
    path: String,
}

impl PathCheck {
    pub(crate) fn check(&self, verb: &str) -> Decision {
        self.authorization
            .ask(verb, Target::Path(self.path.clone()))
    }
}

/// `authorizer.group(g)`
#[derive(Debug, Clone)]
pub struct GroupCheck {
    authorization: Authorization,
    group: String,
}

impl GroupCheck {
    pub(crate) fn resource(&self, resource: &str) -> ResourceCheck {
        let group = self.group.clone();
        self.authorization.resource(ResourceAttributes {
            group,
            resource: resource.to_owned(),
            ..Default::default()
        })
    }
}

/// `authorizer.group(g).resource(r)` and what was added to it.
#[derive(Debug, Clone)]
pub struct ResourceCheck {
    authorization: Authorization,
    resource: ResourceAttributes,
}

impl ResourceCheck {
    pub(crate) fn with(&self, change: impl FnOnce(&mut ResourceAttributes)) -> Self {
        let mut changed = self.clone();
        change(&mut changed.resource);
        changed
    }

    pub(crate) fn check(&self, verb: &str) -> Decision {
        self.authorization
            .ask(verb, Target::Resource(self.resource.clone()))
    }
}
