//! A resource: one row of the catalog, built in or defined by a CRD.

use std::sync::Arc;

use bytes::Bytes;
use lockstep_mvcc::{BucketKey, Revision};
use lockstep_object::metadata::Scope;
use lockstep_object::{GroupKind, GroupResource};

use crate::{EncodingVersion, Strategy, Verb, VersionIndex, Versions};

/// A resource in all its versions.
pub struct Resource {
    /// The group; empty for the core group.
    pub group: Box<str>,
    /// The plural, which is the path segment.
    pub plural: Box<str>,
    /// The singular name.
    pub singular: Box<str>,
    /// The kind of the objects.
    pub kind: Box<str>,
    /// The kind of lists.
    pub list_kind: Box<str>,
    /// Short names for the command line.
    pub short_names: Vec<Box<str>>,
    /// Categories, such as `all`.
    pub categories: Vec<Box<str>>,
    /// Whether objects are namespaced.
    pub scope: Scope,
    /// Supported verbs.
    pub verbs: &'static [Verb],
    /// The versions, in order of preference.
    pub versions: Versions,
    /// The key range of the objects below the server's prefix.
    pub bucket: BucketKey,
    /// The definition that the resource comes from.
    pub origin: Origin,
    /// Behaviour of one built-in resource that generic code has to branch on.
    pub special: SpecialKind,
    /// Objects written after this revision have been pruned and defaulted by the current schema; older ones are
    /// pruned and defaulted when they are read.
    pub schema_revision: Revision,
    /// True if the CRD is being deleted, so that no objects may be created.
    pub is_terminating: bool,
    /// Kind-specific behaviour.
    pub strategy: Arc<dyn Strategy>,
}

/// The definition that a resource comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// A row of the built-in table.
    BuiltIn,
    /// A CRD.
    Custom,
    /// A resource that only the server writes; [`Present::schema`](crate::Present::schema) describes its objects.
    Own,
}

/// Built-in resources with behaviour that no strategy can express, because it is part of a generic handler.
///
/// A handler compares this value instead of group and plural, so a custom resource with the same plural is never
/// mistaken for the built-in one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SpecialKind {
    /// No special behaviour.
    #[default]
    Plain,
    /// Namespaces: contained in themselves, and deleted after their content.
    Namespace,
    /// Custom resource definitions.
    CustomResourceDefinition,
    /// Webhook configurations.
    AdmissionConfiguration,
    /// Flow schemas and priority levels.
    FlowControl,
    /// Roles and cluster roles: users cannot grant permissions that they do not have.
    Role,
    /// Role bindings and cluster role bindings: users cannot bind roles whose permissions they do not have.
    RoleBinding,
    /// Pods: graceful deletion, streaming subresources and the admission steps of pods.
    Pod,
    /// `bindings`, a create-only resource that assigns a pod to a node.
    Binding,
    /// Services: cluster IPs and node ports are allocated with the write.
    Service,
    /// Nodes: streaming subresources.
    Node,
    /// Jobs: deletion warns that pods are preserved by default.
    Job,
    /// Ingresses: the default ingress class is set on create.
    Ingress,
    /// Persistent volume claims: the default storage class is set on create, and limit ranges apply.
    PersistentVolumeClaim,
    /// Service accounts: the `token` subresource returns a credential.
    ServiceAccount,
    /// Certificate signing requests: the signer's permissions are checked.
    CertificateSigningRequest,
    /// `componentstatuses`: computed at each read.
    ComponentStatus,
    /// `TokenReview`: answered by authentication.
    TokenReview,
    /// `SelfSubjectReview`: answers with the user of the request.
    SelfSubjectReview,
    /// `SubjectAccessReview`: answered by authorization.
    SubjectAccessReview,
    /// `LocalSubjectAccessReview`: limited to one namespace, so that its administrator may be allowed to create it.
    LocalSubjectAccessReview,
    /// `SelfSubjectAccessReview`: answered by authorization for the user of the request.
    SelfSubjectAccessReview,
    /// `SelfSubjectRulesReview`: lists the rules of the user of the request.
    SelfSubjectRulesReview,
}

/// Group and plural of Leases, for code that sees the path of a request before its resource is known.
pub const LEASES: (&str, &str) = ("coordination.k8s.io", "leases");
/// Group and plural of Secrets, for code that sees the path of a request before its resource is known.
pub const SECRETS: (&str, &str) = ("", "secrets");

/// Part of the server that the objects of a resource configure. A write to such a resource returns when it is in force.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Configures {
    /// The served resources.
    Registry,
    /// Admission.
    Admission,
    /// Authorization.
    Authorization,
    /// Which requests are served now and which wait.
    FlowControl,
}

impl SpecialKind {
    /// The part of the server that objects of the kind configure, if any.
    pub fn configures(self) -> Option<Configures> {
        match self {
            Self::CustomResourceDefinition => Some(Configures::Registry),
            Self::AdmissionConfiguration => Some(Configures::Admission),
            Self::FlowControl => Some(Configures::FlowControl),
            Self::Role | Self::RoleBinding => Some(Configures::Authorization),
            _ => None,
        }
    }
}

impl Resource {
    /// The version that objects are encoded in when they are written to the store.
    ///
    /// This is the only place that decides it: no other code may derive an encoding version.
    pub fn encoding_version(&self) -> EncodingVersion {
        self.versions.encoding()
    }

    /// True for the built-in `namespaces`.
    pub fn is_namespace(&self) -> bool {
        self.special == SpecialKind::Namespace
    }

    /// True for the built-in `customresourcedefinitions`.
    pub fn is_crd(&self) -> bool {
        self.special == SpecialKind::CustomResourceDefinition
    }

    /// Group and plural, for errors.
    pub fn group_resource(&self) -> GroupResource {
        GroupResource::new(&*self.group, &*self.plural)
    }

    /// Group and kind, for validation errors. A kind that is stored as another one is validated as that.
    pub fn group_kind(&self) -> GroupKind {
        match self.strategy.stored_as() {
            Some(stored) => GroupKind::new(stored.group, &*self.kind),
            None => GroupKind::new(&*self.group, &*self.kind),
        }
    }

    /// The `apiVersion` of a version: `group/version`, or the bare version in the core group.
    pub fn api_version(&self, version: VersionIndex) -> String {
        let name = &self.versions[version].name;
        match &*self.group {
            "" => name.to_string(),
            group => format!("{group}/{name}"),
        }
    }

    /// The index of the version with a name, if it is served.
    pub fn served_version(&self, name: &str) -> Option<VersionIndex> {
        self.versions
            .find(|version| version.is_served && *version.name == *name)
    }

    /// The index of the version with an `apiVersion`, served or not.
    pub fn version_of(&self, api_version: &str) -> Option<VersionIndex> {
        let name = match &*self.group {
            "" => api_version,
            group => api_version.strip_prefix(group)?.strip_prefix('/')?,
        };
        self.versions.find(|version| *version.name == *name)
    }

    /// True if objects are stored. Others, such as reviews, are answered when they are created.
    pub fn is_stored(&self) -> bool {
        self.verbs.contains(&Verb::List)
    }

    /// True if objects are namespaced.
    pub fn is_namespaced(&self) -> bool {
        self.scope == Scope::Namespaced
    }

    /// The key of an object inside the bucket: `[namespace/]name`.
    pub fn object_key(&self, namespace: &str, name: &str) -> String {
        if self.is_namespaced() {
            format!("{namespace}/{name}")
        } else {
            name.to_owned()
        }
    }

    /// The key of an object in the store.
    pub fn store_key(&self, prefix: &[u8], object_key: &str) -> Bytes {
        [prefix, self.bucket.name(), b"/", object_key.as_bytes()]
            .concat()
            .into()
    }
}
