//! Authorization requests: verb and resource or path attributes.

use crate::user::User;
use lockstep_object::go::quote;

/// The target of a request: a resource or a non-resource path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// Objects of the API.
    Resource {
        /// The group, empty for core.
        group: Box<str>,
        /// `pods`
        resource: Box<str>,
        /// `log`, or nothing.
        subresource: Box<str>,
        /// The namespace, or nothing for the whole cluster.
        namespace: Box<str>,
        /// The object, or nothing. Lists and watches of one object (`fieldSelector=metadata.name=x`) name it too;
        /// creates never do.
        name: Box<str>,
    },
    /// Anything else, by its path.
    Path(Box<str>),
}

/// A verb and its target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// `get`, `list`, `impersonate`, …
    pub verb: Box<str>,
    /// The target of the request.
    pub target: Target,
}

impl Request {
    /// A verb on all objects of a resource in the cluster.
    pub fn resource(verb: &str, group: &str, resource: &str) -> Self {
        Self {
            verb: verb.into(),
            target: Target::Resource {
                group: group.into(),
                resource: resource.into(),
                subresource: "".into(),
                namespace: "".into(),
                name: "".into(),
            },
        }
    }

    /// A verb, the HTTP method in lower case, on a path.
    pub fn path(verb: &str, path: &str) -> Self {
        Self {
            verb: verb.into(),
            target: Target::Path(path.into()),
        }
    }

    /// In one namespace. Paths have none.
    #[must_use]
    pub fn in_namespace(mut self, wanted: &str) -> Self {
        if let Target::Resource { namespace, .. } = &mut self.target {
            *namespace = wanted.into();
        }
        self
    }

    /// On one object. Paths have none.
    #[must_use]
    pub fn named(mut self, wanted: &str) -> Self {
        if let Target::Resource { name, .. } = &mut self.target {
            *name = wanted.into();
        }
        self
    }

    /// On a subresource. Paths have none.
    #[must_use]
    pub fn at_subresource(mut self, wanted: &str) -> Self {
        if let Target::Resource { subresource, .. } = &mut self.target {
            *subresource = wanted.into();
        }
        self
    }

    /// The namespace the decision is made in.
    pub fn namespace(&self) -> &str {
        match &self.target {
            Target::Resource { namespace, .. } => namespace,
            Target::Path(_) => "",
        }
    }

    /// Message of a denial, with the authorizer's reason if there is one.
    pub fn denial(&self, user: &User, reason: &str) -> String {
        let who = quote(&user.name);
        let verb = &self.verb;
        let mut text = match &self.target {
            Target::Path(path) => format!("User {who} cannot {verb} path {}", quote(path)),
            Target::Resource {
                group,
                resource,
                subresource,
                namespace,
                ..
            } => {
                let resource = match &**subresource {
                    "" => resource.to_string(),
                    subresource => format!("{resource}/{subresource}"),
                };
                let place = match &**namespace {
                    "" => "at the cluster scope".to_owned(),
                    namespace => format!("in the namespace {}", quote(namespace)),
                };
                let (resource, group) = (quote(&resource), quote(group));
                format!("User {who} cannot {verb} resource {resource} in API group {group} {place}")
            }
        };
        if !reason.is_empty() {
            text.push_str(": ");
            text.push_str(reason);
        }
        text
    }
}
