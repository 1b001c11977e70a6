//! Delete requests.

use lockstep_mvcc::{Expected, GuardedOp, GuardedOutcome, KeyValue, Revision};
use lockstep_object::field::{FieldError, Path};
use lockstep_object::metadata::Seconds;
use lockstep_object::{ApiError, GroupKind, GroupResource, Object, Success, Value};

use super::admission::Attributes;
use super::codec::{Current, encode, serve};
use super::commit::put;
use super::conversion::ServedVersion as _;
use super::conversion::decode_for_rewrite;
use super::request::{dry_run, invalid_options};
use super::update::is_free;
use super::{
    CRD_CLEANUP_FINALIZER, DryRun, InFlight, Internal, Resource, WriteAnswer, WritePath, grace,
};
use super::{SpecialKind, WriteOrigin};

const ORPHAN: &str = "orphan";
const FOREGROUND: &str = "foregroundDeletion";

/// Decoded `DeleteOptions`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct DeleteOptions {
    uid: Option<String>,
    revision: Option<String>,
    propagation: Option<Propagation>,
    /// `gracePeriodSeconds`.
    grace: Option<i64>,
    /// Status code of a deletion that is not complete yet: 202 if `orphanDependents` is false, else 200, which old
    /// clients expect.
    pending: u16,
    dry_run: DryRun,
    admission: Admission,
    /// Options as received.
    given: Value,
}

/// Whether admission runs for a deletion.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Admission {
    /// Admission runs for this deletion.
    Required,
    /// Admission already ran for the request that includes the deletion, such as an eviction.
    Done,
}

/// `propagationPolicy`: effect of a deletion on dependents.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Propagation {
    /// Dependents are deleted after their owner.
    Background,
    /// Dependents are deleted before their owner.
    Foreground,
    /// Dependents remain.
    Orphan,
}

impl WritePath<'_> {
    /// Removes an object, or sets its `deletionTimestamp` if it has finalizers.
    pub(super) async fn delete(
        &self,
        request: &InFlight<'_>,
        options: &Value,
    ) -> Result<WriteAnswer, ApiError> {
        if request.subresource()?.is_some() {
            return Err(ApiError::MethodNotAllowed);
        }
        let options = DeleteOptions::read(request, options)?;
        self.delete_by(request, &options).await
    }

    /// Variant of `delete` with options other than those of the request, and without admission.
    pub(super) async fn delete_with(
        &self,
        request: &InFlight<'_>,
        options: &Value,
    ) -> Result<WriteAnswer, ApiError> {
        check_options_types(options)?;
        let options = DeleteOptions {
            admission: Admission::Done,
            ..DeleteOptions::read(request, options)?
        };
        self.delete_by(request, &options).await
    }

    /// Runs admission for a deletion.
    async fn admit_deletion(
        &self,
        request: &InFlight<'_>,
        options: &DeleteOptions,
        stored: &KeyValue,
    ) -> Result<(), ApiError> {
        // Admission sees the stored version, so that an object whose conversion webhook fails can still be deleted.
        let (_, current) = decode_for_rewrite(&request.served.resource, stored)?;
        let old = current.object;
        let name = &request.route.name;
        let given = (options.dry_run, &options.given);
        let attributes = Attributes {
            revision: stored.mod_revision,
            ..Attributes::delete(request, name, &old, given)
        };
        self.mutate(&attributes, None).await?;
        self.validate(&attributes, None).await?;
        Ok(())
    }

    async fn delete_by(
        &self,
        request: &InFlight<'_>,
        options: &DeleteOptions,
    ) -> Result<WriteAnswer, ApiError> {
        let (resource, route) = (&request.served.resource, request.route);
        let key = resource.object_key(&route.namespace, &route.name);
        loop {
            let stored = self.newest(resource, &key).await?;
            let stored = stored.ok_or_else(|| request.not_found())?;
            if let Some(answer) = self.delete_once(request, options, &stored).await? {
                return Ok(answer);
            }
        }
    }

    /// Deletes the objects with these keys; skips those that no longer exist.
    pub(super) async fn delete_collection(
        &self,
        request: &InFlight<'_>,
        options: &Value,
        keys: &[String],
    ) -> Result<(), ApiError> {
        let options = DeleteOptions::read(request, options)?;
        let resource = &request.served.resource;
        for key in keys {
            while let Some(stored) = self.newest(resource, key).await? {
                if self
                    .delete_once(request, &options, &stored)
                    .await?
                    .is_some()
                {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Removes an object that is still at the given revision, or sets its `deletionTimestamp` if it has finalizers.
    /// No-op for an object that is already being deleted.
    pub async fn delete_internally(
        &self,
        origin: WriteOrigin,
        (group, plural, key): (&str, &str, &str),
        revision: Revision,
        propagation: Propagation,
        now: Seconds,
    ) -> Internal {
        let registry = self.registry();
        let Some(resource) = registry.resource(group, plural) else {
            return Internal::Moved;
        };
        let found = self.cached(group, plural, key);
        let Some((mut object, _)) = found.filter(|(_, seen)| *seen == revision) else {
            return Internal::Moved;
        };
        if protect(resource, &object).is_err() {
            return Internal::Done(revision);
        }
        propagation.put_on(&mut object);
        hold(resource, &mut object);
        let node = object.at(&["spec", "nodeName"]).and_then(Value::as_str);
        let has_node = node.is_some_and(|node| self.cached("", "nodes", node).is_some());
        // Without a node, no kubelet would complete the termination.
        let grace = grace::of(resource, &object, (!has_node).then_some(0));
        match grace {
            Some(grace) => grace.put_on(&mut object, now),
            None => request_deletion(resource, &mut object, now),
        }
        let is_removed = is_free(resource, &object) && grace.is_none();
        let next = (!is_removed).then_some(object);
        let expected = Expected::At(revision);
        self.write_internally(origin, group, plural, key, expected, next)
            .await
    }

    /// One attempt; `None` if the object changed in between. Conversion happens only for the response, so that an
    /// object which cannot be converted can still be deleted.
    async fn delete_once(
        &self,
        request: &InFlight<'_>,
        options: &DeleteOptions,
        stored: &KeyValue,
    ) -> Result<Option<WriteAnswer>, ApiError> {
        let served = &request.served;
        let resource = &served.resource;
        let (rewritten, current) = decode_for_rewrite(resource, stored)?;
        options.check(resource, &current)?;
        protect(resource, &current.object)?;
        if options.admission == Admission::Required {
            self.admit_deletion(request, options, stored).await?;
        }
        let Current {
            object: old,
            revision,
            value: old_value,
        } = current;
        let mut object = old.clone();
        options.propagate(&mut object);
        hold(resource, &mut object);
        let gone = Success::Deleted {
            resource: resource.group_resource(),
            name: old.name().to_owned(),
            uid: old.uid().to_owned(),
        };
        let grace = grace::of(resource, &object, options.grace);
        let is_removed = is_free(resource, &object) && grace.is_none();
        let is_rehearsal = options.dry_run == DryRun::All;
        if is_rehearsal && is_removed {
            if !resource.strategy.returns_deleted_object() {
                return Ok(Some(WriteAnswer::from(&gone)));
            }
            grace::end(resource, &mut object, request.now);
            let value = encode(resource, rewritten.version, &mut object)?;
            return Ok(Some(WriteAnswer::ok(
                served.shown(self.io, value, revision).await?,
            )));
        }
        let key = resource.object_key(old.namespace(), old.name());
        let expected = Expected::At(revision);
        if is_removed {
            let outcome = self
                .commit(resource, &key, expected, GuardedOp::Delete)
                .await?;
            let GuardedOutcome::Committed { revision } = outcome else {
                return Ok(None);
            };
            if !resource.strategy.returns_deleted_object() {
                return Ok(Some(WriteAnswer::from(&gone)));
            }
            grace::end(resource, &mut object, request.now);
            let value = encode(resource, rewritten.version, &mut object)?;
            return Ok(Some(WriteAnswer::ok(
                served.shown(self.io, value, revision).await?,
            )));
        }
        match grace {
            Some(grace) => grace.put_on(&mut object, request.now),
            None => request_deletion(resource, &mut object, request.now),
        }
        let value = encode(resource, rewritten.version, &mut object)?;
        let shown = served.converted(self.io, value.clone()).await?;
        let pending = |revision| {
            let mut body = Vec::with_capacity(shown.len() + 64);
            serve(served, &shown, revision, false, &mut body)?;
            Ok(Some(WriteAnswer {
                code: options.pending,
                ..WriteAnswer::ok(body)
            }))
        };
        if value == old_value || is_rehearsal {
            return pending(revision);
        }
        match self.commit(resource, &key, expected, put(value)).await? {
            GuardedOutcome::Committed { revision } => pending(revision),
            GuardedOutcome::ConditionFailed { .. } => Ok(None),
        }
    }
}

/// Adds the cleanup finalizer to a CRD, which stays until its custom resources are deleted.
fn hold(resource: &Resource, object: &mut Object) {
    let is_crd = resource.special == SpecialKind::CustomResourceDefinition;
    if !is_crd || object.deletion_timestamp().is_some() {
        return;
    }
    let mut finalizers: Vec<String> = object.finalizers().map(str::to_owned).collect();
    if !finalizers.iter().any(|held| held == CRD_CLEANUP_FINALIZER) {
        finalizers.push(CRD_CLEANUP_FINALIZER.to_owned());
        object.set_finalizers(finalizers);
    }
}

/// Sets the `deletionTimestamp` of an object with finalizers.
pub(super) fn request_deletion(resource: &Resource, object: &mut Object, now: Seconds) {
    if object.deletion_timestamp().is_some() {
        return;
    }
    object.set_meta_text("deletionTimestamp", &now.to_string());
    let is_namespace = resource.special == SpecialKind::Namespace;
    let is_crd = resource.special == SpecialKind::CustomResourceDefinition;
    if !is_namespace && !is_crd {
        // Upstream deletes namespaces and CRDs by code of their own, which leaves these two fields alone.
        let metadata = object.metadata_mut();
        metadata.insert("deletionGracePeriodSeconds".into(), 0.into());
        if resource.strategy.tracks_generation() {
            object.set_generation(object.generation().saturating_add(1));
        }
    }
    if is_namespace {
        let status = object.fields_mut().entry("status").or_insert(Value::Null);
        if !status.is_object() {
            *status = serde_json::json!({});
        }
        status["phase"] = "Terminating".into();
    }
}

/// Rejects the deletion of namespaces that the server requires.
fn protect(resource: &Resource, object: &Object) -> Result<(), ApiError> {
    let is_namespace = resource.special == SpecialKind::Namespace;
    if is_namespace && matches!(object.name(), "default" | "kube-system" | "kube-public") {
        return Err(ApiError::forbidden(
            &resource.group_resource(),
            object.name(),
            "this namespace may not be deleted",
        ));
    }
    Ok(())
}

impl DeleteOptions {
    fn read(request: &InFlight<'_>, body: &Value) -> Result<Self, ApiError> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let requested = body["dryRun"].as_array().map(Vec::as_slice);
        let requested = requested.unwrap_or_default().iter();
        let requested: Vec<&str> = requested.filter_map(Value::as_str).collect();
        let dry_run = dry_run(request.route.verb, &requested)?;
        Ok(Self {
            uid: text(&body["preconditions"]["uid"]),
            revision: text(&body["preconditions"]["resourceVersion"]),
            propagation: propagation(request, body)?.or_else(|| default_propagation(request)),
            grace: body["gracePeriodSeconds"].as_i64(),
            pending: if body["orphanDependents"] == false {
                202
            } else {
                200
            },
            dry_run,
            admission: Admission::Required,
            given: body.clone(),
        })
    }

    /// Checks the UID and resourceVersion preconditions; 409 if one fails.
    fn check(&self, resource: &Resource, current: &Current) -> Result<(), ApiError> {
        let failed = |what: &str, requested: &str, is: &str, how: &str| {
            let kind = GroupResource::new(&*resource.group, &*resource.kind);
            let why = format!(
                "the {what} in the precondition ({requested}) does not match the {what} in record ({is}). The object might have been {how}"
            );
            Err(ApiError::conflict(&kind, current.object.name(), why))
        };
        let (uid, revision) = (current.object.uid(), current.revision.0.to_string());
        match (&self.uid, &self.revision) {
            (Some(requested), _) if requested != uid => {
                failed("UID", requested, uid, "deleted and then recreated")
            }
            (_, Some(requested)) if *requested != revision => {
                failed("ResourceVersion", requested, &revision, "modified")
            }
            _ => Ok(()),
        }
    }

    /// Sets the finalizer of the propagation policy, and removes that of another policy.
    fn propagate(&self, object: &mut Object) {
        if let Some(policy) = self.propagation {
            policy.put_on(object);
        }
    }
}

impl Propagation {
    /// Sets the policy's finalizer, and removes that of another policy.
    fn put_on(self, object: &mut Object) {
        let others = object
            .finalizers()
            .filter(|name| ![ORPHAN, FOREGROUND].contains(name));
        let mut finalizers: Vec<String> = others.map(str::to_owned).collect();
        match self {
            Self::Background => {}
            Self::Foreground => finalizers.push(FOREGROUND.to_owned()),
            Self::Orphan => finalizers.push(ORPHAN.to_owned()),
        }
        object.set_finalizers(finalizers);
    }
}

/// Rejects options with wrong types: ignoring a malformed `dryRun` or precondition would delete an object that the
/// client meant to protect.
pub fn check_options_types(body: &Value) -> Result<(), ApiError> {
    let is_text = |value: &Value| value.is_null() || value.is_string();
    let is_texts = |value: &Value| {
        let items = value.as_array();
        value.is_null() || items.is_some_and(|items| items.iter().all(Value::is_string))
    };
    let conditions = &body["preconditions"];
    let rows = [
        ("dryRun", is_texts(&body["dryRun"])),
        ("gracePeriodSeconds", {
            let seconds = &body["gracePeriodSeconds"];
            seconds.is_null() || seconds.is_i64()
        }),
        ("orphanDependents", {
            let orphan = &body["orphanDependents"];
            orphan.is_null() || orphan.is_boolean()
        }),
        (
            "preconditions",
            conditions.is_null() || conditions.is_object(),
        ),
        (
            "preconditions.resourceVersion",
            is_text(&conditions["resourceVersion"]),
        ),
        ("preconditions.uid", is_text(&conditions["uid"])),
        ("propagationPolicy", is_text(&body["propagationPolicy"])),
    ];
    match rows.into_iter().find(|(_, is_right)| !is_right) {
        None if body.is_object() => Ok(()),
        None => Err(ApiError::bad_request("DeleteOptions must be a map")),
        Some((field, _)) => Err(ApiError::bad_request(format!(
            "DeleteOptions.{field} is of the wrong type"
        ))),
    }
}

/// Default `propagationPolicy`: `Orphan` for Jobs and ReplicationControllers, for compatibility with upstream.
fn default_propagation(request: &InFlight<'_>) -> Option<Propagation> {
    let resource = &request.served.resource;
    let keeps = resource.strategy.orphans_dependents();
    if keeps && resource.special == SpecialKind::Job {
        request.notes.warn(
            "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning",
        );
    }
    keeps.then_some(Propagation::Orphan)
}

fn propagation(request: &InFlight<'_>, body: &Value) -> Result<Option<Propagation>, ApiError> {
    let policy = body["propagationPolicy"].as_str();
    let orphan = body["orphanDependents"].as_bool();
    let invalid = |error: FieldError| {
        ApiError::invalid(&GroupKind::new("meta.k8s.io", "DeleteOptions"), "", [error])
    };
    if policy.is_some() && orphan.is_some() {
        let path = Path::ROOT.field("propagationPolicy");
        return Err(invalid(FieldError::invalid(
            &path,
            policy.unwrap_or_default(),
            "orphanDependents and deletionPropagation cannot be both set",
        )));
    }
    match (policy, orphan) {
        (None, None) => Ok(None),
        (None, Some(true)) | (Some("Orphan"), _) => Ok(Some(Propagation::Orphan)),
        (None, Some(false)) | (Some("Background"), _) => Ok(Some(Propagation::Background)),
        (Some("Foreground"), _) => Ok(Some(Propagation::Foreground)),
        (Some(other), _) => {
            let path = Path::ROOT.field("propagationPolicy");
            let supported = ["Foreground", "Background", "Orphan", "nil"];
            let error = FieldError::not_supported(&path, other, supported);
            Err(invalid_options(request.route.verb, error))
        }
    }
}
