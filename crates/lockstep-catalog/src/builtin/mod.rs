//! Built-in resources: a table of rows, and the strategy that interprets a row.

mod apis;
mod apiservices;
mod columns;
mod config;
mod events;
mod leases;
mod namespaces;
mod policies;
mod printers;
mod rbac;
mod rows;
mod secrets;
mod selectable;
mod types;
mod webhooks;

use std::sync::{Arc, LazyLock};

use lockstep_authz::validate_role;
use lockstep_builtins::parts::ResetFields;
use lockstep_builtins::{KindStrategy, WriteEndpoint, defaults};
use lockstep_merge::types::Type;
use lockstep_mvcc::Revision;
use lockstep_object::Object;
use lockstep_object::field::FieldErrors;
use lockstep_object::metadata::{Scope, StatusField};
use lockstep_object::names::NameRule;

use crate::BucketKey;
use crate::Columns;
use crate::Verb;
use crate::crd;
use crate::{
    LastWrite, Origin, Present, Resource, ScalePaths, SelectableField, SpecialKind, StoredAs,
    Strategy, Subresource, Transform, Validate, Validation, Version, VersionIndex, Versions,
};
use events::EventsApi;

pub use apis::{ApiErrors, ApiWishes, Apis};
pub use types::merge_type_of;

const VERBS: &[Verb] = &[
    Verb::Create,
    Verb::Delete,
    Verb::DeleteCollection,
    Verb::Get,
    Verb::List,
    Verb::Patch,
    Verb::Update,
    Verb::Watch,
];

/// Verbs of namespaces. There is no `deletecollection`, as upstream.
const NAMESPACE_VERBS: &[Verb] = &[
    Verb::Create,
    Verb::Delete,
    Verb::Get,
    Verb::List,
    Verb::Patch,
    Verb::Update,
    Verb::Watch,
];

/// The declaration of a built-in resource.
#[derive(Clone, Copy)]
struct Row {
    group: &'static str,
    plural: &'static str,
    singular: &'static str,
    kind: &'static str,
    short_names: &'static [&'static str],
    categories: &'static [&'static str],
    scope: Scope,
    verbs: &'static [Verb],
    subresources: &'static [Subresource],
    /// The versions in order of preference; objects are encoded in the first.
    versions: &'static [&'static str],
    /// The key range below the server's prefix, as upstream lays out etcd.
    bucket: &'static str,
    names: NameRule,
    tracks_generation: bool,
    allows_create_on_update: bool,
    last_write: LastWrite,
    expires: bool,
    /// The stored kind, if it differs from the served one.
    stored_as: Option<&'static StoredAs>,
    delete_response: DeleteResponse,
    /// The default of `propagationPolicy`.
    dependents: Dependents,
    special: SpecialKind,
    /// The deprecation warning; empty if the resource is not deprecated.
    deprecation: &'static str,
    /// Fields that the server sets on create. The creator does not own them, unless the request set them.
    server_fields: &'static [&'static [&'static str]],
    /// Normalizes an object before defaulting.
    normalize: fn(&mut Object, Option<&Object>),
    validate: fn(&Object, Option<&Object>, Compatibility) -> FieldErrors,
    /// Warnings for the client.
    warnings: fn(&Object, Option<&Object>, Compatibility) -> Vec<String>,
}

/// The response of a `DELETE` that removes the object at once.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DeleteResponse {
    /// A `Status`.
    Status,
    /// The deleted object.
    Object,
}

/// Treatment of dependents by a `DELETE` without a propagation policy.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Dependents {
    /// Deleted by the garbage collector.
    Collected,
    /// Orphaned, as upstream does for its oldest workload APIs.
    Orphaned,
}

/// The defaults of a row.
const PLAIN: Row = Row {
    group: "",
    plural: "",
    singular: "",
    kind: "",
    short_names: &[],
    categories: &[],
    scope: Scope::Namespaced,
    verbs: VERBS,
    subresources: &[],
    versions: &["v1"],
    bucket: "",
    names: NameRule::Subdomain,
    tracks_generation: false,
    allows_create_on_update: false,
    last_write: LastWrite::Wins,
    expires: false,
    stored_as: None,
    delete_response: DeleteResponse::Status,
    dependents: Dependents::Collected,
    special: SpecialKind::Plain,
    deprecation: "",
    server_fields: &[],
    normalize: |_, _| (),
    validate: |_, _, _| FieldErrors::new(),
    warnings: |_, _, _| Vec::new(),
};

/// The defaults of the RBAC resources.
const RBAC: Row = Row {
    group: "rbac.authorization.k8s.io",
    names: NameRule::PathSegment,
    allows_create_on_update: true,
    ..PLAIN
};

/// The defaults of reviews, which are create-only and never stored.
const REVIEW: Row = Row {
    scope: Scope::Cluster,
    verbs: &[Verb::Create],
    ..PLAIN
};

const TABLE: &[Row] = &[
    Row {
        plural: "namespaces",
        special: SpecialKind::Namespace,
        singular: "namespace",
        kind: "Namespace",
        short_names: &["ns"],
        scope: Scope::Cluster,
        verbs: NAMESPACE_VERBS,
        subresources: &[Subresource::Status, Subresource::Finalize],
        bucket: "namespaces",
        server_fields: &[&["spec", "finalizers"]],
        names: NameRule::Label,
        normalize: namespaces::normalize,
        validate: |namespace, _, _| namespaces::validate(namespace),
        ..PLAIN
    },
    Row {
        plural: "configmaps",
        singular: "configmap",
        kind: "ConfigMap",
        short_names: &["cm"],
        bucket: "configmaps",
        validate: |map, old, _| config::validate_config_map(map, old),
        ..PLAIN
    },
    Row {
        plural: "secrets",
        singular: "secret",
        kind: "Secret",
        bucket: "secrets",
        normalize: config::normalize_secret,
        validate: |secret, old, _| config::validate_secret(secret, old),
        warnings: |secret, _, _| secrets::warn_of_type(secret),
        ..PLAIN
    },
    Row {
        plural: "serviceaccounts",
        special: SpecialKind::ServiceAccount,
        singular: "serviceaccount",
        kind: "ServiceAccount",
        short_names: &["sa"],
        subresources: &[Subresource::Token],
        bucket: "serviceaccounts",
        delete_response: DeleteResponse::Object,
        normalize: config::normalize_account,
        ..PLAIN
    },
    Row {
        plural: "events",
        singular: "event",
        kind: "Event",
        short_names: &["ev"],
        bucket: "events",
        allows_create_on_update: true,
        expires: true,
        validate: |event, old, _| events::validate(event, old, EventsApi::Core),
        ..PLAIN
    },
    Row {
        group: "events.k8s.io",
        plural: "events",
        singular: "event",
        kind: "Event",
        short_names: &["ev"],
        bucket: "events",
        allows_create_on_update: true,
        expires: true,
        stored_as: Some(&StoredAs {
            group: "",
            version: "v1",
            write: events::store,
        }),
        normalize: |event, _| events::show(event),
        validate: |event, old, _| events::validate(event, old, EventsApi::Events),
        ..PLAIN
    },
    Row {
        group: "coordination.k8s.io",
        plural: "leases",
        singular: "lease",
        kind: "Lease",
        bucket: "leases",
        allows_create_on_update: true,
        last_write: LastWrite::IsRefused,
        normalize: leases::normalize,
        validate: |lease, _, _| leases::validate(lease),
        ..PLAIN
    },
    Row {
        plural: "roles",
        special: SpecialKind::Role,
        singular: "role",
        kind: "Role",
        bucket: "roles",
        validate: |role, _, _| validate_role(role),
        ..RBAC
    },
    Row {
        plural: "rolebindings",
        special: SpecialKind::RoleBinding,
        singular: "rolebinding",
        kind: "RoleBinding",
        bucket: "rolebindings",
        normalize: rbac::normalize_binding,
        validate: |binding, old, _| rbac::validate(binding, old),
        ..RBAC
    },
    Row {
        plural: "clusterroles",
        special: SpecialKind::Role,
        singular: "clusterrole",
        kind: "ClusterRole",
        scope: Scope::Cluster,
        bucket: "clusterroles",
        validate: |role, _, _| validate_role(role),
        ..RBAC
    },
    Row {
        plural: "clusterrolebindings",
        special: SpecialKind::RoleBinding,
        singular: "clusterrolebinding",
        kind: "ClusterRoleBinding",
        scope: Scope::Cluster,
        bucket: "clusterrolebindings",
        normalize: rbac::normalize_binding,
        validate: |binding, old, _| rbac::validate(binding, old),
        ..RBAC
    },
    Row {
        group: crd::GROUP,
        plural: crd::PLURAL,
        special: SpecialKind::CustomResourceDefinition,
        singular: "customresourcedefinition",
        kind: "CustomResourceDefinition",
        short_names: &["crd", "crds"],
        categories: &["api-extensions"],
        scope: Scope::Cluster,
        subresources: &[Subresource::Status],
        bucket: crd::BUCKET,
        tracks_generation: true,
        normalize: crd::apply_defaults,
        validate: crd::validate,
        warnings: crd::warnings,
        last_write: LastWrite::IsRefused,
        ..PLAIN
    },
    Row {
        group: "apiregistration.k8s.io",
        plural: "apiservices",
        singular: "apiservice",
        kind: "APIService",
        categories: &["api-extensions"],
        scope: Scope::Cluster,
        subresources: &[Subresource::Status],
        bucket: "apiregistration.k8s.io/apiservices",
        last_write: LastWrite::IsRefused,
        names: NameRule::PathSegment,
        normalize: apiservices::normalize,
        validate: |api, _, _| apiservices::validate(api),
        ..PLAIN
    },
    Row {
        group: "authentication.k8s.io",
        plural: "selfsubjectreviews",
        special: SpecialKind::SelfSubjectReview,
        singular: "selfsubjectreview",
        kind: "SelfSubjectReview",
        ..REVIEW
    },
    Row {
        group: "authentication.k8s.io",
        plural: "tokenreviews",
        special: SpecialKind::TokenReview,
        singular: "tokenreview",
        kind: "TokenReview",
        ..REVIEW
    },
    Row {
        group: "authorization.k8s.io",
        plural: "localsubjectaccessreviews",
        special: SpecialKind::LocalSubjectAccessReview,
        singular: "localsubjectaccessreview",
        kind: "LocalSubjectAccessReview",
        scope: Scope::Namespaced,
        ..REVIEW
    },
    Row {
        group: "authorization.k8s.io",
        plural: "selfsubjectaccessreviews",
        special: SpecialKind::SelfSubjectAccessReview,
        singular: "selfsubjectaccessreview",
        kind: "SelfSubjectAccessReview",
        ..REVIEW
    },
    Row {
        group: "authorization.k8s.io",
        plural: "selfsubjectrulesreviews",
        special: SpecialKind::SelfSubjectRulesReview,
        singular: "selfsubjectrulesreview",
        kind: "SelfSubjectRulesReview",
        ..REVIEW
    },
    Row {
        group: "authorization.k8s.io",
        plural: "subjectaccessreviews",
        special: SpecialKind::SubjectAccessReview,
        singular: "subjectaccessreview",
        kind: "SubjectAccessReview",
        ..REVIEW
    },
];

/// The stored kind of a served kind, if they differ.
pub fn stored_as(api_version: &str, kind: &str) -> Option<StoredAs> {
    let group = api_version.rsplit_once('/').map_or("", |(group, _)| group);
    let row = TABLE
        .iter()
        .find(|row| (row.group, row.kind) == (group, kind));
    row.and_then(|row| row.stored_as.copied())
}

/// The schema revision of resources with another stored kind: later than any write, so that each read converts.
const ALWAYS_CONVERTED: Revision = Revision(u64::MAX >> 16);

/// The CEL version of new expressions: the one that all compatible servers support.
type Compatibility = lockstep_cel::Version;

fn table() -> impl Iterator<Item = &'static Row> {
    TABLE.iter().chain(rows::all())
}

/// All built-in resources. Those that `apis` excludes are included with no served version, so that their stored objects
/// stay readable for garbage collection and namespace deletion.
pub fn resources(compatibility: Compatibility, apis: &Apis) -> impl Iterator<Item = Resource> {
    table().map(move |row| resource(row, compatibility, apis))
}

fn resource(row: &'static Row, compatibility: Compatibility, apis: &Apis) -> Resource {
    let texts = |texts: &[&str]| texts.iter().map(|&text| text.into()).collect();
    let versions = row.versions.iter().map(|&name| Version {
        name: name.into(),
        is_served: apis.has(row, name),
        subresources: row.subresources.to_vec(),
        deprecation: (!row.deprecation.is_empty()).then(|| row.deprecation.into()),
    });
    Resource {
        group: row.group.into(),
        plural: row.plural.into(),
        singular: row.singular.into(),
        kind: row.kind.into(),
        list_kind: format!("{}List", row.kind).into(),
        short_names: texts(row.short_names),
        categories: texts(row.categories),
        scope: row.scope,
        verbs: row.verbs,
        versions: Versions::new(versions.collect(), 0),
        bucket: BucketKey::new(row.bucket),
        origin: Origin::BuiltIn,
        special: row.special,
        schema_revision: match row.stored_as {
            None => Revision::NONE,
            Some(_) => ALWAYS_CONVERTED,
        },
        is_terminating: false,
        strategy: Arc::new(BuiltIn {
            row,
            kind_strategy: KindStrategy::of(row.group, row.kind),
            compatibility,
        }),
    }
}

/// The strategy of a built-in resource.
struct BuiltIn {
    row: &'static Row,
    kind_strategy: &'static KindStrategy,
    compatibility: Compatibility,
}

/// Endpoint of a write, which selects its validation.
fn write_endpoint(subresource: Option<Subresource>) -> WriteEndpoint {
    match subresource {
        None | Some(Subresource::Scale | Subresource::Approval) => WriteEndpoint::Main,
        Some(Subresource::EphemeralContainers) => WriteEndpoint::EphemeralContainers,
        Some(Subresource::Resize) => WriteEndpoint::Resize,
        Some(Subresource::Status) => WriteEndpoint::Status,
        Some(
            Subresource::Finalize
            | Subresource::Token
            | Subresource::Binding
            | Subresource::Eviction,
        ) => WriteEndpoint::Unchecked,
    }
}

impl BuiltIn {
    fn type_of(&self, version: &str) -> lockstep_kinds::TypeId {
        types::type_of(self.row.group, version, self.row.kind)
    }
}

impl Strategy for BuiltIn {
    fn status(&self, _version: VersionIndex) -> StatusField {
        if self.row.subresources.contains(&Subresource::Status) {
            StatusField::Separate
        } else {
            StatusField::Part
        }
    }

    fn tracks_generation(&self) -> bool {
        self.row.tracks_generation
    }

    fn generation_metadata(&self) -> &'static [&'static str] {
        self.kind_strategy.counted_metadata
    }

    fn reset_fields(&self) -> &ResetFields {
        &self.kind_strategy.reset_fields
    }

    fn preserve_status(&self, object: &mut Object, old: &Object, now: &str) {
        (self.kind_strategy.preserve_status)(object, old, now);
    }

    fn expires(&self) -> bool {
        self.row.expires
    }

    fn returns_deleted_object(&self) -> bool {
        self.row.delete_response == DeleteResponse::Object
    }

    fn orphans_dependents(&self) -> bool {
        self.row.dependents == Dependents::Orphaned
    }

    fn allows_create_on_update(&self) -> bool {
        self.row.allows_create_on_update
    }

    fn last_write(&self) -> LastWrite {
        self.row.last_write
    }
}

impl Transform for BuiltIn {
    fn stored_as(&self) -> Option<&StoredAs> {
        self.row.stored_as
    }

    fn check_types(
        &self,
        _version: VersionIndex,
        object: &mut Object,
        unknown: &mut Vec<String>,
    ) -> Result<(), String> {
        let (_, version) = object
            .api_version()
            .rsplit_once('/')
            .unwrap_or(("", object.api_version()));
        let own = self.row.versions.iter().find(|own| **own == version);
        let kind = self.type_of(own.copied().unwrap_or(self.row.versions[0]));
        types::check(kind, object, unknown).map_err(|error| error.to_string())
    }

    fn prune_and_default(
        &self,
        version: VersionIndex,
        object: &mut Object,
        old: Option<&Object>,
    ) -> Vec<String> {
        (self.row.normalize)(object, old);
        let version = self.row.versions[version.position()];
        (self.kind_strategy.convert)(object, version);
        let kind = self.type_of(version);
        defaults::fill(kind, object.fields_mut());
        match old {
            None => (self.kind_strategy.prepare_for_create)(object),
            Some(old) => (self.kind_strategy.prepare_for_update)(object, old),
        }
        let mut unknown = Vec::new();
        let printed = types::check(kind, object, &mut unknown);
        debug_assert_eq!(
            printed,
            Ok(()),
            "a normalized object has the types of its kind"
        );
        unknown
    }

    fn project_to_version(&self, version: VersionIndex, object: &mut Object) {
        (self.kind_strategy.convert)(object, self.row.versions[version.position()]);
    }

    fn has_same_schema(&self, one: VersionIndex, other: VersionIndex) -> bool {
        one == other
    }

    fn merge_type(&self, version: VersionIndex) -> Option<Type<'_>> {
        types::merge_type(self.type_of(self.row.versions.get(version.position())?))
    }

    fn server_fields(&self) -> &'static [&'static [&'static str]] {
        self.row.server_fields
    }
}

impl Validate for BuiltIn {
    fn names(&self) -> NameRule {
        self.row.names
    }

    fn validate(
        &self,
        _version: VersionIndex,
        object: &Object,
        old: Option<&Object>,
        subresource: Option<Subresource>,
    ) -> Validation {
        let mut errors = (self.row.validate)(object, old, self.compatibility);
        let warnings = (self.row.warnings)(object, old, self.compatibility);
        let old = old.map(Object::as_value);
        errors.append(self.kind_strategy.check(
            object.as_value(),
            old,
            write_endpoint(subresource),
        ));
        Validation { errors, warnings }
    }
}

impl Present for BuiltIn {
    fn selectable_fields(&self, _version: VersionIndex) -> &[SelectableField] {
        selectable::of(self.row.group, self.row.plural)
    }

    fn scale(&self, _version: VersionIndex) -> Option<&ScalePaths> {
        static PATHS: LazyLock<ScalePaths> = LazyLock::new(|| ScalePaths {
            spec_replicas: ".spec.replicas".into(),
            status_replicas: ".status.replicas".into(),
            label_selector: Some(".spec.selector".into()),
        });
        let has_scale = self.row.subresources.contains(&Subresource::Scale);
        has_scale.then_some(&*PATHS)
    }

    fn columns(&self, _version: VersionIndex) -> &Columns {
        columns::of(self.row.group, self.row.plural)
    }
}
