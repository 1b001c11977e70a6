//! Create requests.

use lockstep_mvcc::{Expected, Fence, GuardedOutcome, Revision};
use lockstep_object::field::FieldError;
use lockstep_object::metadata::{
    Creation, GENERATE_NAME_RETRIES_MAX, GENERATE_NAME_SUFFIX_BYTES, check_create, check_namespace,
    drop_duplicate_owners, finalizer_warnings, generated_name, prepare_create, validate_create,
    validate_finalizers_of_builtin,
};
use lockstep_object::{ApiError, Object};

use super::admission::{Attributes, Mutated};
use super::codec::{parse, serve};
use super::commit::put;
use super::conversion::ServedVersion as _;
use super::conversion::decode_for_rewrite;
use super::decode::Document;
use super::environment::Observation;
use super::fences::CrdCheck;
use super::field_gates::Gated;
use super::managed_fields::{FieldOwnership, take_requested_managed_fields};
use super::quota::Bill;
use super::signing::set_requestor;
use super::{DryRun, InFlight, Incoming, Origin, Served, WriteAnswer, WritePath};

/// Revision of an object that is not stored yet; higher than any schema revision.
const NEWEST: Revision = Revision(u64::MAX);

/// Result of one attempt to create an object.
enum Created {
    /// The object was created.
    Done(WriteAnswer),
    /// The name is taken by another object.
    NameTaken(String),
    /// A fence failed: the namespace or the CRD changed in between.
    FenceFailed,
}

impl WritePath<'_> {
    /// Creates the object of the body, or a subresource.
    pub(super) async fn create(
        &self,
        request: &InFlight<'_>,
        document: Document,
    ) -> Result<WriteAnswer, ApiError> {
        if request.route.is_named() {
            return self.create_part(request, document).await;
        }
        let dry_run = request.options.dry_run;
        let incoming = request.object(document)?;
        self.create_object(request, incoming, FieldOwnership::FromChange, dry_run)
            .await
    }

    /// Creates a decoded object.
    pub(super) async fn create_object(
        &self,
        request: &InFlight<'_>,
        incoming: Incoming,
        ownership: FieldOwnership,
        dry_run: DryRun,
    ) -> Result<WriteAnswer, ApiError> {
        let Incoming {
            mut object,
            duplicates,
            unknown,
            patched: _,
        } = incoming;
        // Reported last, and only for a real write: a dry run accepts a copy of a stored object, with its
        // resourceVersion.
        let versioned = check_create(&object);
        object.set_meta_text("resourceVersion", "");
        check_namespace(&object, &request.route.namespace)?;
        let requested = take_requested_managed_fields(&mut object);
        let given = object.name().to_owned();
        let is_generated = given.is_empty() && !object.generate_name().is_empty();
        let mut fences = self
            .fence_namespace_and_crd(request, &given, CrdCheck::AsServed)
            .await?;
        let uid = self.new_uid();
        self.keep_gates(request, &mut object, None);
        let mut draft = object.clone();
        let pruned = self.prepare(request, &mut draft, &uid);
        let unknown: Vec<String> = unknown.iter().chain(&pruned).cloned().collect();
        request.report_fields(&duplicates, &unknown, None)?;
        request
            .set_managed_fields_of_new(&object, &mut draft, &requested, &ownership)
            .await?;
        let attributes = Attributes::create(request, &given, dry_run);
        if self.mutate(&attributes, Some(&mut draft)).await? == Mutated::NeedsDefaulting {
            check_namespace(&draft, &request.route.namespace)?;
            self.prepare(request, &mut draft, &uid);
        }
        set_requestor(request, &mut draft);
        let gated = self.gate(request, &mut draft, None).await?;
        let mut tries = 0;
        loop {
            let mut made = draft.clone();
            if tries > 0 {
                made.set_meta_text("name", "");
                self.prepare(request, &mut made, &uid);
            }
            self.assign(request, &mut made, None).await?;
            self.env.observe(&Observation::BeforeValidation(&made));
            check(
                request,
                &made,
                &gated,
                self.check_param_access(request, &made, None),
            )?;
            gated.warn_of_deprecated(request);
            self.check_escalation(request, &made, None)?;
            let named = Attributes::create(request, made.name(), dry_run);
            let bill = self.validate(&named, Some(&made)).await?;
            if dry_run == DryRun::No {
                versioned.clone()?;
            }
            let trial = self.create_once(request, made, &gated, dry_run, &fences, bill.as_ref());
            match trial.await? {
                Created::Done(answer) => return Ok(answer),
                Created::FenceFailed => self.wait_for_allocations(&request.served.resource).await,
                Created::NameTaken(_) if is_generated && tries < GENERATE_NAME_RETRIES_MAX => {
                    tries += 1;
                }
                Created::NameTaken(name) => {
                    let resource = request.served.resource.group_resource();
                    if is_generated {
                        return Err(ApiError::generated_name_taken(&resource, &name));
                    }
                    return Err(self.taken(request, &name).await?);
                }
            }
            fences = self
                .fence_namespace_and_crd(request, &given, CrdCheck::FromStore)
                .await?;
        }
    }

    /// 409 `AlreadyExists`; the message says so if the existing object is being deleted.
    async fn taken(&self, request: &InFlight<'_>, name: &str) -> Result<ApiError, ApiError> {
        let resource = &request.served.resource;
        let key = resource.object_key(&request.route.namespace, name);
        if let Some(stored) = self.newest(resource, &key).await? {
            let (_, current) = decode_for_rewrite(resource, &stored)?;
            if current.object.deletion_timestamp().is_some() {
                return Ok(ApiError::being_deleted(&resource.group_resource(), name));
            }
        }
        Ok(ApiError::already_exists(&resource.group_resource(), name))
    }

    /// Sets the metadata of a new object, then prunes and defaults it. Returns the unknown fields.
    fn prepare(&self, request: &InFlight<'_>, object: &mut Object, uid: &str) -> Vec<String> {
        let served = &request.served;
        let strategy = &served.resource.strategy;
        let random = self.env.random_u128();
        let letters: [u32; GENERATE_NAME_SUFFIX_BYTES] = std::array::from_fn(|at| {
            u32::try_from((random >> (at * 24)) & 0x00ff_ffff).unwrap_or(0)
        });
        let name = generated_name(object.generate_name(), letters);
        let creation = Creation {
            namespace: &request.route.namespace,
            uid,
            now: request.now,
            generated_name: &name,
            generation: i64::from(strategy.tracks_generation()),
        };
        let is_namespaced = served.resource.is_namespaced();
        prepare_create(
            object,
            &Creation {
                namespace: if is_namespaced {
                    creation.namespace
                } else {
                    ""
                },
                ..creation
            },
        );
        if strategy.status(served.version) == lockstep_object::metadata::StatusField::Separate {
            object.fields_mut().remove("status");
        }
        if let Some(warning) = drop_duplicate_owners(object) {
            request.notes.warn(warning);
        }
        if served.resource.origin == Origin::Custom {
            for warning in finalizer_warnings(object, None) {
                request.notes.warn(warning);
            }
        }
        strategy.prune_and_default(served.version, object, None)
    }

    /// One attempt to create the object.
    async fn create_once(
        &self,
        request: &InFlight<'_>,
        object: Object,
        gated: &Gated,
        dry_run: DryRun,
        fences: &[Fence],
        bill: Option<&Bill>,
    ) -> Result<Created, ApiError> {
        let served = &request.served;
        let key = served
            .resource
            .object_key(object.namespace(), object.name());
        let name = object.name().to_owned();
        let value = request.encode_gated(object, gated).await?;
        // Convert for the response before storing: an object that cannot be converted back must not be stored.
        let shown = served.converted(self.io, value.clone()).await?;
        if dry_run == DryRun::All {
            if self.newest(&served.resource, &key).await?.is_some() {
                return Ok(Created::NameTaken(name));
            }
            let object = parse(served, &shown, NEWEST)?;
            let body = lockstep_object::json::encode(object.as_value());
            return Ok(Created::Done(WriteAnswer::created(body)));
        }
        let written = put(value);
        let outcome = self
            .commit_billed(
                bill,
                fences,
                (&served.resource, &key),
                Expected::Absent,
                written,
            )
            .await?;
        Ok(match outcome {
            GuardedOutcome::Committed { revision } => {
                let mut body = Vec::with_capacity(shown.len() + 64);
                serve(served, &shown, revision, false, &mut body)?;
                Created::Done(WriteAnswer::created(body))
            }
            GuardedOutcome::ConditionFailed { current: None, .. } => Created::FenceFailed,
            GuardedOutcome::ConditionFailed { .. } => Created::NameTaken(name),
        })
    }
}

/// Validates a new object; 422 if it is invalid.
fn check(
    request: &InFlight<'_>,
    object: &Object,
    gated: &Gated,
    param_access: Option<FieldError>,
) -> Result<(), ApiError> {
    let Served { resource, version } = &request.served;
    let mut errors = validate_create(object, resource.strategy.names(), resource.scope);
    if resource.origin == Origin::BuiltIn {
        errors.append(validate_finalizers_of_builtin(object));
    }
    errors.extend(gated.errors.iter().cloned());
    let verdict = resource.strategy.validate(*version, object, None, None);
    errors.append(verdict.errors);
    errors.extend(param_access);
    if errors.is_empty() {
        // Warnings are sent only with an accepted write.
        for warning in verdict.warnings {
            request.notes.warn(warning);
        }
        return Ok(());
    }
    Err(ApiError::invalid(
        &resource.group_kind(),
        object.name(),
        errors,
    ))
}
