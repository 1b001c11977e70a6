//! Update requests.

use lockstep_builtins::parts;
use lockstep_mvcc::{Expected, GuardedOp, GuardedOutcome};
use lockstep_object::field::{FieldError, Path};
use lockstep_object::metadata::{
    StatusField, check_namespace, check_url_name, drop_duplicate_owners, finalizer_warnings,
    next_generation, prepare_update, validate_finalizers_of_builtin, validate_update,
};
use lockstep_object::{ApiError, GroupKind, Object};

use super::admission::{Attributes, Mutated, Operation};
use super::apply::ApplyConfiguration;
use super::codec::{Current, serve};
use super::commit::put;
use super::conversion::ServedVersion as _;
use super::decode::Document;
use super::environment::Observation;
use super::field_gates::{ACTIONS, Gated};
use super::managed_fields::{FieldOwnership, take_requested_managed_fields};
use super::quota::Bill;
use super::scale::ServedScale as _;
use super::{
    DryRun, InFlight, Incoming, LastWrite, Origin, Resource, SpecialKind, Subresource, WriteAnswer,
    WritePath,
};
use lockstep_catalog::Verb;

/// Maximal number of retries of an update without resourceVersion after a conflict.
const RETRIES_MAX: usize = 5;

/// Result of admission for an update.
struct Admitted {
    gated: Gated,
    /// Quota charge of the update.
    bill: Option<Bill>,
}

/// Computation of the next state of an object.
pub(super) enum Next<'n> {
    /// A function of the current object.
    Computed(&'n (dyn Fn(&Current) -> Result<Incoming, ApiError> + Sync)),
    /// Server-side apply of a configuration.
    Applied(&'n ApplyConfiguration),
}

impl WritePath<'_> {
    /// Replaces an object, or a subresource of it, with the body.
    pub(super) async fn update(
        &self,
        request: &InFlight<'_>,
        document: Document,
    ) -> Result<WriteAnswer, ApiError> {
        let subresource = request.subresource()?;
        if subresource == Some(Subresource::Scale) {
            return self.update_scale(request, document).await;
        }
        let dry_run = request.options.dry_run;
        let mut incoming = request.object(document)?;
        check_url_name(&incoming.object, &request.route.name)?;
        let strategy = &request.served.resource.strategy;
        let may_create = subresource.is_none() && strategy.allows_create_on_update();
        if may_create && self.current(request).await?.is_none() {
            (request.permits)(Verb::Create)?;
            forget_former(request, &mut incoming.object)?;
            return self
                .create_object(request, incoming, FieldOwnership::FromChange, dry_run)
                .await;
        }
        let change = |_: &Current| Ok(incoming.clone());
        let absent = strategy.last_write();
        let next = Next::Computed(&change);
        self.change(request, subresource, dry_run, absent, next)
            .await
    }

    /// Updates an object. `next` computes the next state from the current one, and runs again after a conflict unless
    /// that state has a resourceVersion.
    pub(super) async fn change(
        &self,
        request: &InFlight<'_>,
        subresource: Option<Subresource>,
        dry_run: DryRun,
        absent: LastWrite,
        next: Next<'_>,
    ) -> Result<WriteAnswer, ApiError> {
        let warnings_before = request.notes.warning_count();
        for _ in 0..=RETRIES_MAX {
            let current = self.current(request).await?;
            let current = current.ok_or_else(|| request.not_found())?;
            let (mut next, ownership) = match next {
                Next::Computed(make) => (make(&current)?, FieldOwnership::FromChange),
                Next::Applied(configuration) => {
                    request
                        .applied(subresource, Some(&current), configuration)
                        .await?
                }
            };
            check_namespace(&next.object, &request.route.namespace)?;
            let insists = !next.object.resource_version().is_empty();
            check_moved(request, &next.object, &current)?;
            if absent == LastWrite::IsRefused && !insists {
                return Err(no_version(request));
            }
            let requested = take_requested_managed_fields(&mut next.object);
            self.keep_gates(request, &mut next.object, Some(&current.object));
            let mut next = next_state(request, subresource, next, &current, absent)?;
            request
                .set_managed_fields(subresource, &current, &mut next, requested, ownership)
                .await?;
            let admitted = self
                .admit_change(request, subresource, &current, &mut next, dry_run)
                .await?;
            match self
                .replace(request, next, &admitted, current, dry_run)
                .await?
            {
                Some(answer) => return Ok(answer),
                None => {
                    // Warnings and annotations refer to a state that is no longer current.
                    request.notes.retract(warnings_before, ACTIONS);
                    if insists {
                        break;
                    }
                    self.wait_for_allocations(&request.served.resource).await;
                }
            }
        }
        let resource = request.served.resource.group_resource();
        Err(ApiError::modified(&resource, &request.route.name))
    }

    /// Runs admission and validation for the next state. Returns the result of field gates and the quota charge.
    async fn admit_change(
        &self,
        request: &InFlight<'_>,
        subresource: Option<Subresource>,
        current: &Current,
        next: &mut Object,
        dry_run: DryRun,
    ) -> Result<Admitted, ApiError> {
        let old = &current.object;
        if subresource == Some(Subresource::Binding) {
            // Admission already ran on the `Binding`.
            let gated = self
                .finish_change(request, subresource, current, next)
                .await?;
            return Ok(Admitted { gated, bill: None });
        }
        let seen = Seen::of(request, subresource, current, next)?;
        let attributes = Attributes {
            operation: Operation::Update,
            subresource,
            old: Some(seen.old.as_ref().unwrap_or(old)),
            revision: current.revision,
            ..Attributes::create(request, &request.route.name, dry_run)
        };
        let mut changed = seen.next.clone();
        let object = changed.as_mut().unwrap_or(next);
        if self.mutate(&attributes, Some(object)).await? == Mutated::NeedsDefaulting {
            if let Some(scale) = &changed {
                request.served.take_scale(scale, next)?;
            }
            keep(request, subresource, next, old);
            let strategy = &request.served.resource.strategy;
            strategy.prune_and_default(request.served.version, next, Some(old));
        }
        let gated = self
            .finish_change(request, subresource, current, next)
            .await?;
        if gated.is_acted_upon() {
            changed = Seen::of(request, subresource, current, next)?.next;
        }
        let stored = changed.as_ref().unwrap_or(next);
        let bill = self.validate(&attributes, Some(stored)).await?;
        Ok(Admitted { gated, bill })
    }

    /// Applies field gates and server-assigned fields to the next state, and validates it.
    async fn finish_change(
        &self,
        request: &InFlight<'_>,
        subresource: Option<Subresource>,
        current: &Current,
        next: &mut Object,
    ) -> Result<Gated, ApiError> {
        let old = &current.object;
        let gated = self.gate(request, next, Some(current)).await?;
        increment_generation(request, subresource, next, old);
        self.assign(request, next, Some(old)).await?;
        self.env.observe(&Observation::BeforeValidation(next));
        let param_access = self.check_param_access(request, next, Some(old));
        check(request, subresource, (next, old), &gated, param_access)?;
        gated.warn_of_deprecated(request);
        self.check_escalation(request, next, Some(old))?;
        Ok(gated)
    }

    /// Stores the next state, or removes the object if it is being deleted and has no finalizers left. `None` on a
    /// conflict.
    async fn replace(
        &self,
        request: &InFlight<'_>,
        object: Object,
        admitted: &Admitted,
        current: Current,
        dry_run: DryRun,
    ) -> Result<Option<WriteAnswer>, ApiError> {
        let served = &request.served;
        let resource = &served.resource;
        let key = resource.object_key(&request.route.namespace, &request.route.name);
        let is_released = object.deletion_timestamp().is_some() && is_free(resource, &object);
        let value = if !is_released && request.is_unchanged_in_other_version(&object, &current) {
            request.reencoded(&current).await?
        } else {
            request.encode_gated(object, &admitted.gated).await?
        };
        // Convert for the response before storing: an object that cannot be converted back must not be stored.
        let shown = served.converted(self.io, value.clone()).await?;
        let answer = |revision| {
            let mut body = Vec::with_capacity(shown.len() + 64);
            serve(served, &shown, revision, false, &mut body)?;
            Ok(Some(WriteAnswer::ok(body)))
        };
        if dry_run == DryRun::All || (value == current.value && !is_released) {
            return answer(current.revision);
        }
        let written = if is_released {
            GuardedOp::Delete
        } else {
            put(value)
        };
        let expected = Expected::At(current.revision);
        // A removal does not increase usage.
        let bill = admitted.bill.as_ref().filter(|_| !is_released);
        let trial = self.commit_billed(bill, &[], (resource, &key), expected, written);
        match trial.await? {
            GuardedOutcome::Committed { revision } => answer(revision),
            GuardedOutcome::ConditionFailed { .. } => Ok(None),
        }
    }
}

/// Objects that admission sees for an update: the object itself, or its `Scale`.
struct Seen {
    /// `None` for the stored object itself.
    old: Option<Object>,
    /// `None` for the next state itself.
    next: Option<Object>,
}

impl Seen {
    fn of(
        request: &InFlight<'_>,
        subresource: Option<Subresource>,
        current: &Current,
        next: &Object,
    ) -> Result<Self, ApiError> {
        let (mut old, mut seen) = (None, None);
        if subresource == Some(Subresource::Scale) {
            let revision = current.revision.0.to_string();
            old = Some(request.served.scale_view(&current.object, &revision)?);
            seen = Some(request.served.scale_view(next, next.resource_version())?);
        }
        Ok(Self { old, next: seen })
    }
}

/// Computes the next state of an object: restores fields that the request cannot change, then prunes and defaults.
fn next_state(
    request: &InFlight<'_>,
    subresource: Option<Subresource>,
    incoming: Incoming,
    current: &Current,
    absent: LastWrite,
) -> Result<Object, ApiError> {
    let (served, old) = (&request.served, &current.object);
    let Incoming {
        mut object,
        duplicates,
        mut unknown,
        patched,
    } = incoming;
    keep(request, subresource, &mut object, old);
    if absent == LastWrite::Wins && object.resource_version().is_empty() {
        // An unconditional update behaves as if it had the current resourceVersion.
        object.set_meta_text("resourceVersion", &current.revision.0.to_string());
    }
    if let Some(warning) = drop_duplicate_owners(&mut object) {
        request.notes.warn(warning);
    }
    if served.resource.origin == Origin::Custom {
        for warning in finalizer_warnings(&object, Some(old)) {
            request.notes.warn(warning);
        }
    }
    let strategy = &served.resource.strategy;
    unknown.extend(strategy.prune_and_default(served.version, &mut object, Some(old)));
    request.report_fields(&duplicates, &unknown, patched.as_ref())?;
    Ok(object)
}

/// Restores fields that the request cannot change.
fn keep(
    request: &InFlight<'_>,
    subresource: Option<Subresource>,
    object: &mut Object,
    old: &Object,
) {
    let served = &request.served;
    prepare_update(object, old);
    let status = served.resource.strategy.status(served.version);
    let has_finalize = request
        .version()
        .subresources
        .contains(&Subresource::Finalize);
    // `/status` of a built-in kind also writes metadata such as labels, that of a custom resource only `status`.
    let is_built_in = served.resource.origin == Origin::BuiltIn;
    let metadata = (is_built_in && subresource == Some(Subresource::Status))
        .then(|| object.metadata().clone());
    keep_part(object, old, subresource, status);
    if let Some(metadata) = metadata {
        *object.metadata_mut() = metadata;
        let strategy = &served.resource.strategy;
        for field in strategy.reset_fields().status_metadata {
            keep_metadata(object, old, field);
        }
        strategy.preserve_status(object, old, &request.now.to_string());
    }
    if served.resource.special == SpecialKind::CertificateSigningRequest {
        match subresource {
            Some(Subresource::Status) => parts::signing_status(object, old),
            Some(_) => {}
            // `spec` of a CertificateSigningRequest is immutable.
            None => restore(object, old, "spec"),
        }
        parts::set_condition_times(object, old, &request.now.to_string());
    }
    if subresource.is_none() && has_finalize {
        restore(object, old, "spec");
    }
}

/// Restores a field of the metadata.
fn keep_metadata(object: &mut Object, old: &Object, field: &str) {
    let metadata = object.metadata_mut();
    match old.metadata().get(field) {
        Some(value) => drop(metadata.insert(field.to_owned(), value.clone())),
        None => drop(metadata.remove(field)),
    }
}

/// Increments `metadata.generation` if the update changes a tracked field.
fn increment_generation(
    request: &InFlight<'_>,
    subresource: Option<Subresource>,
    object: &mut Object,
    old: &Object,
) {
    let served = &request.served;
    let strategy = &served.resource.strategy;
    if !strategy.tracks_generation() || subresource == Some(Subresource::Binding) {
        return;
    }
    let mut generation = next_generation(object, old, strategy.status(served.version));
    let is_changed = |field: &&str| object.metadata().get(*field) != old.metadata().get(*field);
    let is_counted = subresource.is_none() && strategy.generation_metadata().iter().any(is_changed);
    if is_counted && generation == old.generation() {
        generation += 1;
    }
    object.set_generation(generation);
}

/// Validates the next state; 422 if it is invalid.
fn check(
    request: &InFlight<'_>,
    subresource: Option<Subresource>,
    (object, old): (&Object, &Object),
    gated: &Gated,
    param_access: Option<FieldError>,
) -> Result<(), ApiError> {
    let served = &request.served;
    let strategy = &served.resource.strategy;
    let mut errors = validate_update(object, old);
    if served.resource.origin == Origin::BuiltIn {
        errors.append(validate_finalizers_of_builtin(object));
    }
    errors.extend(gated.errors.iter().cloned());
    let verdict = strategy.validate(served.version, object, Some(old), subresource);
    errors.append(verdict.errors);
    errors.extend(param_access);
    if errors.is_empty() {
        // Warnings are sent only with an accepted write.
        for warning in verdict.warnings {
            request.notes.warn(warning);
        }
        return Ok(());
    }
    let kind = served.resource.group_kind();
    Err(ApiError::invalid(&kind, object.name(), errors))
}

/// True if the object has no finalizers left; of a namespace, neither in `metadata` nor in `spec`.
pub(super) fn is_free(resource: &Resource, object: &Object) -> bool {
    let holds_content = resource.special == SpecialKind::Namespace;
    let held_by_spec = object
        .at(&["spec", "finalizers"])
        .and_then(|f| f.as_array());
    let is_empty = !holds_content || held_by_spec.is_none_or(Vec::is_empty);
    object.finalizers().next().is_none() && is_empty
}

/// 409 if the UID or resourceVersion in the request differs from the current one.
fn check_moved(request: &InFlight<'_>, object: &Object, current: &Current) -> Result<(), ApiError> {
    let resource = request.served.resource.group_resource();
    let name = &request.route.name;
    let (requested, is) = (object.uid(), current.object.uid());
    // In a patch, the UID is an immutable field like others, which validation covers.
    if request.route.verb != Verb::Patch && !requested.is_empty() && requested != is {
        return Err(ApiError::precondition_failed(
            &resource, name, "UID", requested, is,
        ));
    }
    let (requested, is) = (object.resource_version(), current.revision.0.to_string());
    if !requested.is_empty() && requested != is {
        return Err(ApiError::modified(&resource, name));
    }
    Ok(())
}

/// Create on update: 409 if the body has a UID, and drops its resourceVersion.
fn forget_former(request: &InFlight<'_>, object: &mut Object) -> Result<(), ApiError> {
    if !object.uid().is_empty() {
        let resource = request.served.resource.group_resource();
        let (name, uid) = (&request.route.name, object.uid());
        return Err(ApiError::precondition_failed(
            &resource, name, "UID", uid, "",
        ));
    }
    object.set_meta_text("resourceVersion", "");
    Ok(())
}

/// 422: an update of this resource requires a resourceVersion.
fn no_version(request: &InFlight<'_>) -> ApiError {
    let metadata = Path::ROOT.field("metadata");
    let path = metadata.field("resourceVersion");
    let error = FieldError::invalid(&path, 0_i64, "must be specified for an update");
    let resource = &request.served.resource;
    let kind = GroupKind::new(&*resource.group, &*resource.plural);
    ApiError::invalid(&kind, &request.route.name, [error])
}

/// Restores the fields that an endpoint does not write: `status` for the main endpoint, all but `status` for
/// `/status`, all but finalizers and metadata for `/finalize`.
fn keep_part(
    object: &mut Object,
    old: &Object,
    subresource: Option<Subresource>,
    status: StatusField,
) {
    match subresource {
        None if status == StatusField::Separate => restore(object, old, "status"),
        // These subresources compute the complete next state themselves; there is nothing to restore.
        None
        | Some(
            Subresource::Scale | Subresource::Token | Subresource::Binding | Subresource::Eviction,
        ) => {}
        Some(Subresource::EphemeralContainers) => parts::ephemeral_containers(object, old),
        Some(Subresource::Resize) => parts::resize(object, old),
        Some(Subresource::Approval) => parts::approval(object, old),
        Some(Subresource::Status) => {
            let requested = object.resource_version().to_owned();
            let new = object.fields_mut().remove("status");
            *object = old.clone();
            match new {
                Some(status) => drop(object.fields_mut().insert("status".into(), status)),
                None => drop(object.fields_mut().remove("status")),
            }
            object.set_meta_text("resourceVersion", &requested);
        }
        Some(Subresource::Finalize) => {
            let finalizers = object.at(&["spec", "finalizers"]).cloned();
            let metadata = object.metadata().clone();
            *object = old.clone();
            *object.metadata_mut() = metadata;
            let spec = object.fields_mut().entry("spec");
            let spec = spec.or_insert_with(|| serde_json::json!({}));
            if let Some(spec) = spec.as_object_mut() {
                match finalizers {
                    Some(finalizers) => drop(spec.insert("finalizers".into(), finalizers)),
                    None => drop(spec.remove("finalizers")),
                }
            }
        }
    }
}

fn restore(object: &mut Object, old: &Object, field: &str) {
    match old.fields().get(field) {
        Some(value) => drop(object.fields_mut().insert(field.to_owned(), value.clone())),
        None => drop(object.fields_mut().remove(field)),
    }
}
