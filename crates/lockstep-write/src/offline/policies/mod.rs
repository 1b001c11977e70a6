//! Admission policies without a server: policies, bindings, parameters, namespaces and definitions from files, and
//! requests that are evaluated against them.

pub mod cases;
mod described;
mod kinds;
pub mod lint;
mod workspace;

pub use described::{Described, Mutated};
pub use workspace::{Collection, OWN_GROUP, Rejection, Unbound, Workspace, WorkspaceError};

use lockstep_admission::api::ApiKind;
use lockstep_admission::binding::Binding;
use lockstep_admission::evaluate;
use lockstep_admission::mutate::Tracing;
use lockstep_admission::outcome::Outcome;
use lockstep_admission::request::{Operation, Request, user_info};
use lockstep_authz::{Authorizer, User};
use lockstep_catalog::Served;
use lockstep_object::metadata::StatusField;
use lockstep_object::{ApiError, GroupVersionKind, Object, Value};
use serde_json::json;

use crate::admission::authorizer::authorization;
use crate::admission::policies::{OfServed, resource_version};
use kinds::OfResource;
use workspace::RequestFacts;

/// A request to evaluate.
pub struct Review<'a> {
    /// The operation; none for a create, or an update if there is an old object.
    pub operation: Option<Operation>,
    /// The object of the request; none for a deletion.
    pub object: Option<&'a Object>,
    /// The stored object.
    pub old: Option<&'a Object>,
    /// The subresource; or empty.
    pub subresource: &'a str,
    /// The user of the request.
    pub user: &'a User,
    /// Answers the checks of expressions.
    pub authorizer: Authorizer,
    /// True for a request with `dryRun=All`.
    pub is_dry_run: bool,
    /// Whether everything that happens is recorded.
    pub tracing: Tracing,
}

/// Result of a review.
#[derive(Debug)]
pub struct Reviewed {
    /// The object after admission, also if it is denied; none for a deletion.
    pub object: Option<Object>,
    /// The object before admission, with its defaults.
    pub before: Option<Object>,
    /// The reason why the request is refused.
    pub error: Option<ApiError>,
    /// Outcome of the mutating policies.
    pub mutating: Outcome,
    /// Outcome of the validating policies.
    pub validating: Outcome,
}

impl Reviewed {
    /// Warnings for the client, in order.
    pub fn warnings(&self) -> impl Iterator<Item = &str> {
        let all = self
            .mutating
            .warnings
            .iter()
            .chain(&self.validating.warnings);
        all.map(String::as_str)
    }
}

/// The phases of a request in which policies run.
pub trait Phases {
    /// Runs mutating policies on the object.
    fn mutate(
        &self,
        request: &Request,
        object: Option<&mut Object>,
        old: Option<&Object>,
    ) -> Result<Outcome, ApiError>;

    /// Runs validating policies on the object that is to be stored.
    fn validate(
        &self,
        request: &Request,
        object: Option<&Object>,
        old: Option<&Object>,
    ) -> Result<Outcome, ApiError>;
}

/// Phases that run in this process.
struct Engine<'a> {
    workspace: &'a Workspace,
    versions: &'a OfResource,
    review: &'a Review<'a>,
}

impl Engine<'_> {
    fn facts(&self, request: &Request) -> RequestFacts<'_> {
        let authorization = authorization(self.review.authorizer.clone(), self.review.user);
        RequestFacts::new(self.workspace, &request.namespace, authorization)
    }
}

impl Phases for Engine<'_> {
    fn mutate(
        &self,
        request: &Request,
        object: Option<&mut Object>,
        old: Option<&Object>,
    ) -> Result<Outcome, ApiError> {
        let facts = self.facts(request);
        evaluate::mutate(
            self.workspace.policies(),
            request,
            &facts,
            self.versions,
            (object, old),
            self.review.tracing,
        )
    }

    fn validate(
        &self,
        request: &Request,
        object: Option<&Object>,
        old: Option<&Object>,
    ) -> Result<Outcome, ApiError> {
        let facts = self.facts(request);
        evaluate::validate(
            self.workspace.policies(),
            request,
            &facts,
            self.versions,
            (object, old),
            self.review.tracing,
        )
    }
}

impl Workspace {
    /// Evaluates a request: defaults, mutating policies, schema, validating policies. Fails if the kind is unknown.
    pub fn review(&self, review: &Review<'_>) -> Result<Reviewed, WorkspaceError> {
        self.reviewed(review, None)
    }

    /// As [`review`](Self::review), with policies that run elsewhere.
    pub fn review_by(
        &self,
        review: &Review<'_>,
        phases: &dyn Phases,
    ) -> Result<Reviewed, WorkspaceError> {
        self.reviewed(review, Some(phases))
    }

    fn reviewed(
        &self,
        review: &Review<'_>,
        elsewhere: Option<&dyn Phases>,
    ) -> Result<Reviewed, WorkspaceError> {
        let subject = review
            .object
            .or(review.old)
            .ok_or(WorkspaceError::Nothing)?;
        if ApiKind::of(subject).is_some() {
            return Ok(untouched(review));
        }
        let served = self.served(subject)?;
        let versions = OfResource::new(self.registry(), &served);
        let request = request(review, subject, &served, &versions);
        let is_namespaced = served.resource.is_namespaced();
        let mut object = review.object.cloned();
        let mut old = review.old.cloned();
        for object in [&mut object, &mut old].into_iter().flatten() {
            if is_namespaced && object.namespace().is_empty() {
                object.set_meta_text("namespace", &request.namespace);
            }
        }
        let mut reviewed = Reviewed {
            object: None,
            before: None,
            error: None,
            mutating: Outcome::default(),
            validating: Outcome::default(),
        };
        let kind = OfServed(served.clone());
        reviewed.error = decode(&kind, object.as_mut(), old.as_mut()).err();
        reviewed.before.clone_from(&object);
        if reviewed.error.is_none() {
            let engine = Engine {
                workspace: self,
                versions: &versions,
                review,
            };
            let phases = elsewhere.unwrap_or(&engine);
            let objects = (&mut object, old.as_ref());
            let admitted = self.admit(phases, &request, objects, &mut reviewed);
            reviewed.error = reviewed.error.or(admitted.err());
        }
        let is_unnamed = is_namespaced && subject.namespace().is_empty();
        for object in [&mut object, &mut reviewed.before].into_iter().flatten() {
            if is_unnamed {
                object.set_meta_text("namespace", "");
            }
        }
        reviewed.object = object;
        Ok(reviewed)
    }

    fn admit(
        &self,
        phases: &dyn Phases,
        request: &Request,
        (object, old): (&mut Option<Object>, Option<&Object>),
        reviewed: &mut Reviewed,
    ) -> Result<(), ApiError> {
        let mutated = phases.mutate(request, object.as_mut(), old)?;
        let error = mutated.error.clone();
        reviewed.mutating = mutated;
        if let Some(error) = error {
            return Err(error);
        }
        if let Some(object) = object {
            self.settle(request, object, old)?;
        }
        let validated = phases.validate(request, object.as_ref(), old)?;
        let error = validated.error.clone();
        reviewed.validating = validated;
        error.map_or(Ok(()), Err)
    }

    /// The steps of a write between the mutating and the validating phase.
    fn settle(
        &self,
        request: &Request,
        object: &mut Object,
        old: Option<&Object>,
    ) -> Result<(), ApiError> {
        if object.namespace() != request.enclosing_namespace() && !request.is_of_namespace() {
            return Err(ApiError::bad_request(
                "the namespace of the provided object does not match the namespace sent on the request",
            ));
        }
        let Ok(served) = self.served(object) else {
            return Ok(());
        };
        let strategy = &served.resource.strategy;
        if strategy.status(served.version) == StatusField::Separate {
            separate_status(&request.subresource, object, old);
            strategy.prune_and_default(served.version, object, old);
        }
        let subresource = served.resource.versions[served.version]
            .parts()
            .iter()
            .find(|part| part.name() == request.subresource);
        let valid = strategy.validate(served.version, object, old, subresource.copied());
        if valid.errors.is_empty() {
            return Ok(());
        }
        let kind = served.resource.group_kind();
        Err(ApiError::invalid(&kind, object.name(), valid.errors))
    }
}

fn request(
    review: &Review<'_>,
    subject: &Object,
    served: &Served,
    versions: &OfResource,
) -> Request {
    let operation = review.operation.unwrap_or(match review.old {
        Some(_) => Operation::Update,
        None => Operation::Create,
    });
    let requested = resource_version(served);
    let is_of_namespace = served.resource.is_namespace();
    let namespace = match (served.resource.is_namespaced(), subject.namespace()) {
        _ if is_of_namespace => subject.name(),
        (true, "") => "default",
        (true, namespace) => namespace,
        (false, _) => "",
    };
    let user = review.user;
    let options = match operation {
        Operation::Create => "CreateOptions",
        Operation::Update => "UpdateOptions",
        Operation::Delete => "DeleteOptions",
        Operation::Connect => "",
    };
    Request {
        operation,
        equivalents: versions.equivalents(&requested),
        requested,
        subresource: review.subresource.to_owned(),
        name: subject.name().to_owned(),
        namespace: namespace.to_owned(),
        user_info: user_info(&user.name, &user.uid, &user.groups, &json!(user.extra)),
        is_dry_run: review.is_dry_run,
        options: match options {
            "" => Value::Null,
            kind => json!({ "apiVersion": "meta.k8s.io/v1", "kind": kind }),
        },
    }
}

/// Policies and bindings are never judged by policies.
fn untouched(review: &Review<'_>) -> Reviewed {
    Reviewed {
        object: review.object.cloned(),
        before: review.object.cloned(),
        error: None,
        mutating: Outcome::default(),
        validating: Outcome::default(),
    }
}

/// Types and defaults of the objects, as the server reads them.
fn decode(
    kind: &OfServed,
    object: Option<&mut Object>,
    old: Option<&mut Object>,
) -> Result<(), ApiError> {
    for object in [old, object].into_iter().flatten() {
        kind.read(object).map_err(ApiError::bad_request)?;
    }
    Ok(())
}

/// Requests for the status change the status only; other requests do not change it.
fn separate_status(subresource: &str, object: &mut Object, old: Option<&Object>) {
    let stored = old.and_then(|old| old.fields().get("status").cloned());
    if subresource == "status" {
        let status = object.fields().get("status").cloned();
        if let Some(old) = old {
            *object = old.clone();
        }
        put(object, "status", status);
    } else {
        put(object, "status", stored);
    }
}

fn put(object: &mut Object, field: &str, value: Option<Value>) {
    match value {
        Some(value) => drop(object.fields_mut().insert(field.to_owned(), value)),
        None => drop(object.fields_mut().remove(field)),
    }
}

/// Bindings that apply each policy without one to everything it matches.
pub fn bindings_to_everything<'a>(policies: impl Iterator<Item = &'a str>) -> Vec<Binding> {
    policies.map(Binding::to_everything).collect()
}

/// The kind of an object, for messages: `apps/v1 Deployment`.
pub fn shown_kind(object: &Object) -> String {
    match object.gvk() {
        Some(GroupVersionKind { kind, .. }) => format!("{} {kind}", object.api_version()),
        None => "an object without apiVersion and kind".to_owned(),
    }
}
