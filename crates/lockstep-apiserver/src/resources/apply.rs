//! Server-side apply.

use lockstep_merge::managers::{Applied, ApplyError, Conflicts, Force, UpdateError, apply};
use lockstep_object::incoming::FieldValidation;
use lockstep_object::metadata::{check_namespace, check_url_name};
use lockstep_object::{Cause, Reason, Status, Value, json, yaml};

use super::body::accept;
use super::claims::{Claims, NotAtHand, Written, stored};
use super::current::Current;
use super::update::Next;
use super::{Answer, Api, DryRun, Incoming, LastWrite, Origin, Request, Served, Subresource};
use crate::route::Verb;
use crate::views::on_deep_stack;

/// How often an apply is tried again when the object came or went meanwhile.
const RETRIES_MAX: usize = 5;

/// What somebody wants of an object.
pub(super) struct Wish {
    manager: String,
    force: Force,
    object: Value,
}

impl Api {
    /// Applies the body to an object, or makes one of it.
    pub(super) async fn apply(
        &self,
        request: &Request<'_>,
        subresource: Option<Subresource>,
        dry_run: DryRun,
    ) -> Result<Answer, Status> {
        let wish = Wish::of(request)?;
        for _ in 0..=RETRIES_MAX {
            let next = Next::Applied(&wish);
            let outcome = self
                .change(request, subresource, dry_run, LastWrite::Wins, next)
                .await;
            let is_absent =
                matches!(&outcome, Err(status) if status.reason == Some(Reason::NotFound));
            if !is_absent || subresource.is_some() {
                return outcome;
            }
            let outcome = self.make(request, &wish, dry_run).await;
            let is_taken =
                matches!(&outcome, Err(status) if status.reason == Some(Reason::AlreadyExists));
            if !is_taken {
                return outcome;
            }
        }
        let resource = request.served.resource.group_resource();
        Err(Status::modified(&resource, &request.route.name))
    }

    async fn make(
        &self,
        request: &Request<'_>,
        wish: &Wish,
        dry_run: DryRun,
    ) -> Result<Answer, Status> {
        let resource = request.served.resource.group_resource();
        let name = &request.route.name;
        let (incoming, claims) = request.applied(None, None, wish).await?;
        let object = &incoming.object;
        if !object.uid().is_empty() {
            let why = format!(
                "uid mismatch: the provided object specified uid {}, and no existing object was found",
                object.uid()
            );
            return Err(Status::conflict(&resource, name, &why));
        }
        if !object.resource_version().is_empty() {
            return Err(Status::modified(&resource, name));
        }
        check_namespace(object, &request.route.namespace)?;
        (request.permits)(Verb::Create)?;
        self.create_object(request, incoming, claims, dry_run).await
    }
}

impl Wish {
    /// What the body says, and in whose name.
    fn of(request: &Request<'_>) -> Result<Self, Status> {
        let Served { resource, version } = &request.served;
        Self::of_kind(request, &resource.api_version(*version), &resource.kind)
    }

    /// The same of a body that must be of another kind than the path's.
    pub(super) fn of_kind(
        request: &Request<'_>,
        wanted_version: &str,
        wanted_kind: &str,
    ) -> Result<Self, Status> {
        let manager = request.applier()?.to_owned();
        let object = read(request)?;
        let text = |field: &str| {
            object
                .get(field)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        let (api_version, kind) = (text("apiVersion"), text("kind"));
        if api_version != wanted_version || kind != wanted_kind {
            let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
            return Err(Status::bad_request(format!(
                "invalid object type: {group}/{version}, Kind={kind}"
            )));
        }
        if object
            .pointer("/metadata/managedFields")
            .is_some_and(|managed| !managed.is_null())
        {
            return Err(Status::bad_request("metadata.managedFields must be nil"));
        }
        Ok(Self {
            manager,
            force: if request.query.flag("force") {
                Force::Yes
            } else {
                Force::No
            },
            object,
        })
    }

    /// The object that is wanted.
    pub(super) fn object(&self) -> &Value {
        &self.object
    }

    /// The same person's wish for something else.
    pub(super) fn instead(self, object: Value) -> Self {
        Self { object, ..self }
    }

    /// Where errors say it is: `namespace/name; group/version, Kind=kind`.
    fn place(&self, request: &Request<'_>) -> String {
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

/// The body, which is YAML. Most clients send the JSON among it.
fn read(request: &Request<'_>) -> Result<Value, Status> {
    let bad = |problem: &str| Status::bad_request(format!("error decoding YAML: {problem}"));
    let fast = json::decode(&request.body).ok();
    let fast = fast.filter(|decoded| decoded.duplicates.is_empty());
    let value = if let Some(decoded) = fast {
        decoded.value
    } else {
        let decoded = on_deep_stack(|| yaml::decode(&request.body));
        let decoded = decoded.map_err(|error| Status::internal_error(&error.to_string()))?;
        let decoded = decoded.map_err(|error| bad(&error.to_string()))?;
        tell_duplicates(request, &decoded.duplicates)?;
        decoded.value
    };
    if value.is_object() {
        return Ok(value);
    }
    let found = lockstep_object::incoming::type_name(&value);
    Err(bad(&format!(
        "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {found} into Go value of type map[string]interface {{}}"
    )))
}

fn tell_duplicates(request: &Request<'_>, duplicates: &[String]) -> Result<(), Status> {
    if duplicates.is_empty() {
        return Ok(());
    }
    match request.field_validation()? {
        FieldValidation::Ignore => Ok(()),
        FieldValidation::Warn => {
            for duplicate in duplicates {
                request.notes.warn(duplicate);
            }
            Ok(())
        }
        FieldValidation::Strict => Err(Status::bad_request(format!(
            "error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n  {}",
            duplicates.join("\n  ")
        ))),
    }
}

impl Request<'_> {
    /// What a wish makes of the present object, or of nothing, and the claims on it.
    pub(super) async fn applied(
        &self,
        subresource: Option<Subresource>,
        current: Option<&Current>,
        wish: &Wish,
    ) -> Result<(Incoming, Claims), Status> {
        self.field_validation()?;
        let live = current.map(|current| {
            let mut live = current.object.clone();
            live.metadata_mut().remove("managedFields");
            live.into_value()
        });
        let claimed = stored(current.map(|current| &current.object));
        let served = &self.served;
        let api_version = served.resource.api_version(served.version);
        let writer = self.writer(&wish.manager, &api_version, subresource);
        let run = |written: &Written<'_>| {
            let (live, managed) = (live.as_ref(), claimed.clone());
            apply(written, live, &wish.object, managed, &writer, wish.force)
        };
        let is_missing = |error: &ApplyError<NotAtHand>| {
            matches!(
                error,
                ApplyError::Update(UpdateError::Convert(NotAtHand::Missing))
            )
        };
        let applied = self
            .with_conversions(subresource, current, run, is_missing)
            .await?;
        let Applied { object, managed } = applied.map_err(|error| refusal(self, wish, error))?;
        let object = object.or(live).unwrap_or_else(|| wish.object.clone());
        let managed = self.without_gains(managed, &claimed, &object);
        let mut unknown = Vec::new();
        let object = accept(served, object, &self.body, &mut unknown)?;
        check_url_name(&object, &self.route.name)?;
        let incoming = Incoming {
            object,
            duplicates: Vec::new(),
            unknown,
            patched: None,
        };
        Ok((incoming, Claims::Known(managed)))
    }
}

impl Request<'_> {
    /// Whether owners are told as those of a scale.
    fn shows_scale(&self) -> bool {
        let is_built_in = self.served.resource.origin == Origin::BuiltIn;
        is_built_in && self.route.subresource == Subresource::Scale.name()
    }
}

fn refusal(request: &Request<'_>, wish: &Wish, error: ApplyError<NotAtHand>) -> Status {
    match error {
        ApplyError::Conflicts(conflicts) if request.shows_scale() => {
            conflict(&conflicts.told_in("autoscaling/v1"))
        }
        ApplyError::Conflicts(conflicts) => conflict(&conflicts),
        ApplyError::Type(errors) => Status::bad_request(format!(
            "failed to create typed patch object ({}): {errors}",
            wish.place(request)
        )),
        ApplyError::Update(error) => {
            Status::internal_error(&format!("failed to compare the objects: {error}"))
        }
    }
}

fn conflict(conflicts: &Conflicts) -> Status {
    let causes = conflicts.0.iter().map(|conflict| Cause {
        reason: "FieldManagerConflict".to_owned(),
        message: format!("conflict with {}", conflict.owner()),
        field: conflict.field(),
    });
    Status::apply_conflict(conflicts.to_string(), causes.collect())
}
