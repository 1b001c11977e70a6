//! Admission policies of a write: `MutatingAdmissionPolicy` before mutating webhooks, `ValidatingAdmissionPolicy` before
//! validating ones.
//!
//! `lockstep-admission` decides which policy runs next, and what it does; this module converts the objects to the version
//! that a policy matched, and hands in what the watch cache knows. A resource that no policy names costs one lookup.

mod access;
mod facts;
mod kinds;

use std::sync::Arc;
use std::time::Duration;

use lockstep_admission::facts::Kind;
use lockstep_admission::mutate::{self, Mutating, PassEnd, Tracing};
use lockstep_admission::outcome::{Check, Outcome, Writer};
use lockstep_admission::policy::PolicyKind;
use lockstep_admission::request::{Request, ResourceVersion};
use lockstep_admission::set::PolicySet;
use lockstep_admission::validating::Validating;
use lockstep_object::{ApiError, Object, Value};

use super::super::WritePath;
use super::super::environment::Observation;
use super::webhooks::View;
use super::{Attributes, Plugin};
use facts::RequestFacts;
pub(crate) use facts::served_kind;
use kinds::{OfBody, WithMetadata};
pub(crate) use kinds::{OfServed, resource_version};
use lockstep_catalog::{Served, Subresource};

/// Policies of one kind for one write, and everything that they look at.
pub(super) struct Prepared<'e> {
    set: Arc<PolicySet>,
    request: Request,
    facts: RequestFacts<'e>,
    /// Versions that policies may match.
    versions: Vec<(ResourceVersion, Served)>,
}

impl<'e> Prepared<'e> {
    /// The policies that name the resource; none if there are none.
    pub(super) async fn of(
        path: &WritePath<'e>,
        attributes: &Attributes<'_>,
        kind: PolicyKind,
    ) -> Result<Option<Self>, ApiError> {
        let plugin = match kind {
            PolicyKind::Mutating => Plugin::MutatingAdmissionPolicy,
            PolicyKind::Validating => Plugin::ValidatingAdmissionPolicy,
        };
        let requested = &attributes.request.served;
        if !path.env.plugins().has(plugin) {
            return Ok(None);
        }
        let set = path.env.admission_policies();
        if !set.concerns(kind, &requested.resource.plural) {
            return Ok(None);
        }
        let others = path.equivalents(requested, attributes.subresource);
        let versions = std::iter::once(requested.clone()).chain(others);
        let versions = versions.map(|served| (attributes.resource_version(&served), served));
        let versions: Vec<(ResourceVersion, Served)> = versions.collect();
        let mut request = attributes.facts();
        let equivalents = versions.iter().skip(1);
        request.equivalents = equivalents.map(|(version, _)| version.clone()).collect();
        let Some(lookups) = set.lookups(kind, &request) else {
            return Ok(None);
        };
        let facts = RequestFacts::collect(path, attributes, &lookups).await?;
        Ok(Some(Self {
            set,
            request,
            facts,
            versions,
        }))
    }

    fn served(&self, version: &ResourceVersion) -> Result<&Served, ApiError> {
        let mut versions = self.versions.iter();
        let found = versions.find(|(known, _)| known == version);
        let unknown = || ApiError::internal("a policy matched a version that is not served");
        Ok(&found.ok_or_else(unknown)?.1)
    }

    /// The mutating phase of the write.
    pub(super) fn mutating<'p>(
        &'p self,
        path: &'p WritePath<'e>,
        attributes: &'p Attributes<'p>,
    ) -> MutatingPolicies<'p, 'e> {
        let engine = Mutating::new(&self.set, &self.request, &self.facts, Tracing::Off);
        MutatingPolicies {
            path,
            attributes,
            prepared: self,
            engine,
        }
    }
}

/// The mutating phase of one write.
pub(super) struct MutatingPolicies<'p, 'e> {
    path: &'p WritePath<'e>,
    attributes: &'p Attributes<'p>,
    prepared: &'p Prepared<'e>,
    engine: Mutating<'p>,
}

/// Result of one pass.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Passed {
    /// True if a policy changed the object.
    pub(super) is_changed: bool,
    /// True if the whole chain runs once more.
    pub(super) is_again: bool,
}

impl MutatingPolicies<'_, '_> {
    /// Runs the policies on the object once.
    pub(super) async fn pass(&mut self, object: Option<&mut Object>) -> Result<Passed, ApiError> {
        let mut view = View::before_creation(self.attributes, object.as_deref());
        self.engine.begin_pass(view.object(), view.old());
        self.run_turns(&mut view).await?;
        let end = self.engine.end_pass(view.object());
        if end == PassEnd::Denied {
            let engine = std::mem::replace(&mut self.engine, self.prepared.idle());
            return Err(self.concluded(engine.conclude()).err().unwrap_or_else(|| {
                ApiError::internal("a policy denied the request without an error")
            }));
        }
        let is_changed = self.engine.is_changed();
        if let (Some(object), true) = (object, is_changed) {
            view.put_on(object);
        }
        Ok(Passed {
            is_changed,
            is_again: end == PassEnd::Again,
        })
    }

    async fn run_turns(&mut self, view: &mut View<'_>) -> Result<(), ApiError> {
        let body = self.attributes.subresource.and_then(Subresource::own_kind);
        while let Some(turn) = self.engine.next() {
            let served = self.prepared.served(turn.version())?;
            view.turn(self.path.io, served).await?;
            let began = self.path.env.elapsed();
            let (object, old, hidden) = view.parts();
            let (of_served, of_body);
            let kind: &dyn Kind = if let Some(body) = body {
                of_body = OfBody(body);
                &of_body
            } else {
                of_served = OfServed(served.clone());
                &of_served
            };
            let kind = &WithMetadata { kind, hidden };
            self.engine.run(&turn, mutate::View { object, old, kind });
            let took = self.path.env.elapsed().saturating_sub(began);
            observe_checks(self.path, "admit", &self.engine.take_checks(), took);
        }
        view.turn(self.path.io, &self.attributes.request.served)
            .await
    }

    /// Records a change by a webhook.
    pub(super) fn changed_by(&mut self, webhook: &str, before: &Value, after: &Value) {
        let writer = Writer::Webhook(webhook.into());
        self.engine.changed_by(writer, before, after);
    }

    /// Checks safety and convergence at the end of the mutating phase.
    pub(super) async fn check(mut self, object: Option<&Object>) -> Result<(), ApiError> {
        let mut view = View::before_creation(self.attributes, object);
        self.engine.begin_checks(view.object());
        self.run_turns(&mut view).await?;
        let engine = std::mem::replace(&mut self.engine, self.prepared.idle());
        self.concluded(engine.conclude())
    }

    fn concluded(&self, outcome: Outcome) -> Result<(), ApiError> {
        if !outcome.conflicts.is_empty() {
            self.path.env.observe(&Observation::PolicyConflicts {
                conflicts: &outcome.conflicts,
                resource: &self.attributes.request.served.resource.group_resource(),
                is_dry_run: self.prepared.request.is_dry_run,
            });
        }
        concluded(self.attributes, outcome)
    }
}

impl Prepared<'_> {
    /// A phase in which nothing runs.
    fn idle(&self) -> Mutating<'_> {
        Mutating::idle(&self.request, &self.facts)
    }
}

/// Judges the object that is to be stored.
pub(super) async fn validate(
    path: &WritePath<'_>,
    attributes: &Attributes<'_>,
    object: Option<&Object>,
) -> Result<(), ApiError> {
    let Some(prepared) = Prepared::of(path, attributes, PolicyKind::Validating).await? else {
        return Ok(());
    };
    let Prepared {
        set,
        request,
        facts,
        ..
    } = &prepared;
    let mut engine = Validating::new(set, request, facts, Tracing::Off);
    let mut view = View::of(attributes, object);
    engine.begin(view.object(), view.old());
    while let Some(turn) = engine.next() {
        view.turn(path.io, prepared.served(turn.version())?).await?;
        let began = path.env.elapsed();
        engine.run(&turn, view.object(), view.old());
        let took = path.env.elapsed().saturating_sub(began);
        observe_checks(path, "validating", &engine.take_checks(), took);
    }
    concluded(attributes, engine.conclude())
}

/// Hands out the warnings and annotations of a phase, and its denial.
fn concluded(attributes: &Attributes<'_>, outcome: Outcome) -> Result<(), ApiError> {
    let notes = attributes.request.notes;
    for warning in outcome.warnings {
        notes.warn(warning);
    }
    for (policy, fields) in outcome.mutated {
        notes.mutated(&policy, fields);
    }
    for annotation in &outcome.annotations {
        if annotation.is_detailed {
            notes.annotate_in_detail(&annotation.key, &annotation.value);
        } else {
            notes.annotate(&annotation.key, &annotation.value);
        }
    }
    outcome.error.map_or(Ok(()), Err)
}

/// Records checks that took this long together.
fn observe_checks(path: &WritePath<'_>, phase: &'static str, checks: &[Check], took: Duration) {
    let count = u32::try_from(checks.len()).unwrap_or(u32::MAX).max(1);
    for check in checks {
        path.env.observe(&Observation::PolicyCheck {
            phase,
            check,
            took: took / count,
        });
    }
}
