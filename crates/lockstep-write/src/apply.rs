//! Server-side apply.

use lockstep_merge::managers::{Applied, ApplyError, Conflicts, Force, UpdateError, apply};
use lockstep_object::metadata::{check_namespace, check_url_name};
use lockstep_object::{ApiError, Cause, Value};

use super::codec::Current;
use super::decode::accept;
use super::managed_fields::{
    ConversionError, FieldOwnership, RequestEndpoint, stored_managed_fields,
};
use super::update::Next;
use super::{
    DryRun, InFlight, Incoming, LastWrite, Origin, Served, Subresource, WriteAnswer, WritePath,
};
use lockstep_catalog::Verb;

/// Maximal number of retries if the object was created or deleted by another client in between.
const RETRIES_MAX: usize = 5;

/// Apply configuration of a server-side apply, with its field manager.
pub(super) struct ApplyConfiguration {
    manager: String,
    force: Force,
    object: Value,
}

impl WritePath<'_> {
    /// Applies the body to an object, or creates the object if it does not exist.
    pub(super) async fn apply(
        &self,
        request: &InFlight<'_>,
        applied: Value,
    ) -> Result<WriteAnswer, ApiError> {
        let subresource = request.subresource()?;
        if subresource == Some(Subresource::Scale) {
            return self.apply_scale(request, applied).await;
        }
        let dry_run = request.options.dry_run;
        let configuration = ApplyConfiguration::of(request, applied)?;
        for _ in 0..=RETRIES_MAX {
            let next = Next::Applied(&configuration);
            let outcome = self
                .change(request, subresource, dry_run, LastWrite::Wins, next)
                .await;
            let is_absent = matches!(&outcome, Err(error) if error.is_not_found());
            if !is_absent || subresource.is_some() {
                return outcome;
            }
            let outcome = self.create_applied(request, &configuration, dry_run).await;
            let is_taken = matches!(&outcome, Err(error) if error.is_already_exists());
            if !is_taken {
                return outcome;
            }
        }
        let resource = request.served.resource.group_resource();
        Err(ApiError::modified(&resource, &request.route.name))
    }

    async fn create_applied(
        &self,
        request: &InFlight<'_>,
        configuration: &ApplyConfiguration,
        dry_run: DryRun,
    ) -> Result<WriteAnswer, ApiError> {
        let resource = request.served.resource.group_resource();
        let name = &request.route.name;
        let (incoming, ownership) = request.applied(None, None, configuration).await?;
        let object = &incoming.object;
        if !object.uid().is_empty() {
            let why = format!(
                "uid mismatch: the provided object specified uid {}, and no existing object was found",
                object.uid()
            );
            return Err(ApiError::conflict(&resource, name, why));
        }
        if !object.resource_version().is_empty() {
            return Err(ApiError::modified(&resource, name));
        }
        check_namespace(object, &request.route.namespace)?;
        (request.permits)(Verb::Create)?;
        self.create_object(request, incoming, ownership, dry_run)
            .await
    }
}

impl ApplyConfiguration {
    /// Reads the apply configuration in the body, with the field manager of the request.
    fn of(request: &InFlight<'_>, object: Value) -> Result<Self, ApiError> {
        let Served { resource, version } = &request.served;
        Self::of_kind(
            request,
            object,
            &resource.api_version(*version),
            &resource.kind,
        )
    }

    /// Reads an apply configuration that must have the given `apiVersion` and `kind`, such as a `Scale`.
    pub(super) fn of_kind(
        request: &InFlight<'_>,
        object: Value,
        wanted_version: &str,
        wanted_kind: &str,
    ) -> Result<Self, ApiError> {
        let manager = request.options.field_manager.clone();
        let text = |field: &str| {
            object
                .get(field)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        let (api_version, kind) = (text("apiVersion"), text("kind"));
        if api_version != wanted_version || kind != wanted_kind {
            let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
            return Err(ApiError::bad_request(format!(
                "invalid object type: {group}/{version}, Kind={kind}"
            )));
        }
        if object
            .pointer("/metadata/managedFields")
            .is_some_and(|managed| !managed.is_null())
        {
            return Err(ApiError::bad_request("metadata.managedFields must be nil"));
        }
        Ok(Self {
            manager,
            force: request.options.force,
            object,
        })
    }

    /// Apply configuration.
    pub(super) fn object(&self) -> &Value {
        &self.object
    }

    /// Replaces the apply configuration; field manager and `force` stay.
    pub(super) fn with_object(self, object: Value) -> Self {
        Self { object, ..self }
    }

    /// Reference to the object in error messages: `namespace/name; group/version, Kind=kind`.
    fn place(&self, request: &InFlight<'_>) -> String {
        let text = |field: &str| {
            let value = self.object.pointer(&format!("/metadata/{field}"));
            value.and_then(Value::as_str).unwrap_or_default()
        };
        let gvk = request.served.gvk();
        format!(
            "{}/{}; {}/{}, Kind={}",
            text("namespace"),
            text("name"),
            gvk.group,
            gvk.version,
            gvk.kind
        )
    }
}

impl InFlight<'_> {
    /// Merges an apply configuration into the live object, or into none, and computes the resulting `managedFields`.
    pub(super) async fn applied(
        &self,
        subresource: Option<Subresource>,
        current: Option<&Current>,
        configuration: &ApplyConfiguration,
    ) -> Result<(Incoming, FieldOwnership), ApiError> {
        let live = current.map(|current| {
            let mut live = current.object.clone();
            live.metadata_mut().remove("managedFields");
            live.into_value()
        });
        let owned_before = stored_managed_fields(current.map(|current| &current.object));
        let served = &self.served;
        let api_version = served.resource.api_version(served.version);
        let writer = self.writer(&configuration.manager, &api_version, subresource);
        let run = |endpoint: &RequestEndpoint<'_>| {
            let (live, managed) = (live.as_ref(), owned_before.clone());
            apply(
                endpoint,
                live,
                &configuration.object,
                managed,
                &writer,
                configuration.force,
            )
        };
        let is_missing = |error: &ApplyError<ConversionError>| {
            matches!(
                error,
                ApplyError::Update(UpdateError::Convert(ConversionError::WebhookNeeded))
            )
        };
        let applied = self
            .with_conversions(subresource, current, run, is_missing)
            .await?;
        let Applied { object, managed } =
            applied.map_err(|error| apply_error(self, configuration, error))?;
        let object = object
            .or(live)
            .unwrap_or_else(|| configuration.object.clone());
        let managed = self.with_stored_ownership(managed, &owned_before, &object);
        let mut unknown = Vec::new();
        let object = accept(served, object, &self.source, &mut unknown)?;
        check_url_name(&object, &self.route.name)?;
        let incoming = Incoming {
            object,
            duplicates: Vec::new(),
            unknown,
            patched: None,
        };
        Ok((incoming, FieldOwnership::FromApply(managed)))
    }
}

impl InFlight<'_> {
    /// True if conflicts name `autoscaling/v1` as the version of every owner, as upstream does for built-in kinds.
    fn shows_scale(&self) -> bool {
        let is_built_in = self.served.resource.origin == Origin::BuiltIn;
        is_built_in && self.route.subresource == Subresource::Scale.name()
    }
}

fn apply_error(
    request: &InFlight<'_>,
    configuration: &ApplyConfiguration,
    error: ApplyError<ConversionError>,
) -> ApiError {
    match error {
        ApplyError::Conflicts(conflicts) if request.shows_scale() => {
            conflict(&conflicts.reported_in_version("autoscaling/v1"))
        }
        ApplyError::Conflicts(conflicts) => conflict(&conflicts),
        ApplyError::Type(errors) => ApiError::bad_request(format!(
            "failed to create typed patch object ({}): {errors}",
            configuration.place(request)
        )),
        ApplyError::Update(error) => {
            ApiError::internal(format!("failed to compare the objects: {error}"))
        }
    }
}

fn conflict(conflicts: &Conflicts) -> ApiError {
    let shown = conflicts.shown().into_iter();
    let causes = shown.map(|conflict| Cause {
        reason: "FieldManagerConflict".to_owned(),
        message: format!("conflict with {}", conflict.owner),
        field: conflict.field,
    });
    let rest = (conflicts.more() > 0).then(|| Cause {
        message: format!("{} more conflicts", conflicts.more()),
        ..Cause::default()
    });
    ApiError::apply_conflict(conflicts.to_string(), causes.chain(rest).collect())
}
