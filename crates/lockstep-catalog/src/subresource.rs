//! Subresources: endpoints below an object.

use crate::Verb;

/// A subresource.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Subresource {
    /// `status`
    Status,
    /// `finalize`, of namespaces.
    Finalize,
    /// `scale`, of resources with replicas.
    Scale,
    /// `token`, of service accounts.
    Token,
    /// `binding`: assigns a pod to a node.
    Binding,
    /// `eviction`: deletes a pod if its disruption budgets allow that.
    Eviction,
    /// `ephemeralcontainers`, of pods.
    EphemeralContainers,
    /// `resize`: container resources of a pod.
    Resize,
    /// `approval`, of certificate signing requests.
    Approval,
}

impl Subresource {
    /// The path segment.
    pub fn name(self) -> &'static str {
        match self {
            Self::Status => "status",
            Self::Finalize => "finalize",
            Self::Scale => "scale",
            Self::Token => "token",
            Self::Binding => "binding",
            Self::Eviction => "eviction",
            Self::EphemeralContainers => "ephemeralcontainers",
            Self::Resize => "resize",
            Self::Approval => "approval",
        }
    }

    /// Group, version and kind of the body; none if the body is the object itself.
    pub fn own_kind(self) -> Option<[&'static str; 3]> {
        match self {
            Self::Scale => Some(["autoscaling", "v1", "Scale"]),
            Self::Token => Some(["authentication.k8s.io", "v1", "TokenRequest"]),
            Self::Binding => Some(["", "v1", "Binding"]),
            Self::Eviction => Some(["policy", "v1", "Eviction"]),
            Self::Status
            | Self::Finalize
            | Self::EphemeralContainers
            | Self::Resize
            | Self::Approval => None,
        }
    }

    /// Verbs that the endpoint supports.
    pub fn verbs(self) -> &'static [Verb] {
        match self {
            Self::Status
            | Self::Scale
            | Self::EphemeralContainers
            | Self::Resize
            | Self::Approval => &[Verb::Get, Verb::Patch, Verb::Update],
            Self::Finalize => &[Verb::Update],
            Self::Token | Self::Binding | Self::Eviction => &[Verb::Create],
        }
    }
}
