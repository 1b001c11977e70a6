//! The `scale` subresource, which maps `Scale` to the replicas fields of built-in kinds and custom resources.

use std::sync::LazyLock;

use lockstep_object::field::{FieldError, Path, report_unknown};
use lockstep_object::incoming::{KindOrigin, check_body_kind, mistyped, type_name};
use lockstep_object::metadata::{Malformed, check_namespace, check_url_name, normalize_metadata};
use lockstep_object::selector::from_label_selector;
use lockstep_object::table::ColumnType;
use lockstep_object::{ApiError, GroupVersionKind, Object, Value};
use serde_json::{Map, json};

use super::apply::ApplyConfiguration;
use super::codec::Current;
use super::decode::{Document, Unfit};
use super::patch::Patch;
use super::update::Next;
use super::{
    InFlight, Incoming, LastWrite, Origin, ScalePaths, Served, Subresource, WriteAnswer, WritePath,
};
use lockstep_catalog::{Cell, Column, Columns};

/// Metadata that a scale copies from its object.
const SHARED_METADATA: [&str; 5] = [
    "name",
    "namespace",
    "uid",
    "resourceVersion",
    "creationTimestamp",
];

impl WritePath<'_> {
    /// Updates the replicas from the `Scale` in the body.
    pub(super) async fn update_scale(
        &self,
        request: &InFlight<'_>,
        document: Document,
    ) -> Result<WriteAnswer, ApiError> {
        let Document { value, duplicates } = document;
        let scale = accept(request, value, &duplicates)?;
        check_url_name(&scale, &request.route.name)?;
        check_namespace(&scale, &request.route.namespace)?;
        self.change_scale(request, |_| Ok(scale.clone())).await
    }

    /// Patches the scale.
    pub(super) async fn patch_scale(
        &self,
        request: &InFlight<'_>,
        patch: Patch,
    ) -> Result<WriteAnswer, ApiError> {
        self.change_scale(request, |scale| patched(request, &patch, scale))
            .await
    }

    /// Server-side apply of a `Scale`. The field manager becomes the owner of the replicas field in the object
    /// itself.
    pub(super) async fn apply_scale(
        &self,
        request: &InFlight<'_>,
        applied: Value,
    ) -> Result<WriteAnswer, ApiError> {
        let dry_run = request.options.dry_run;
        let gvk = gvk();
        let configuration =
            ApplyConfiguration::of_kind(request, applied, "autoscaling/v1", &gvk.kind)?;
        let (mut scale, unknown) =
            read(configuration.object().clone(), &request.source).map_err(|unfit| match unfit {
                Unfit::Kind(status) => status,
                Unfit::Type(problem) => mistyped(&gvk, &problem),
            })?;
        if let Some(unknown) = unknown.first() {
            let place = format!("{}/{}", scale.namespace(), scale.name());
            return Err(ApiError::bad_request(format!(
                "failed to create typed patch object ({place}; autoscaling/v1, Kind=Scale): .{unknown}: field not declared in schema"
            )));
        }
        if scale.name().is_empty() {
            scale.set_meta_text("name", &request.route.name);
        }
        check_url_name(&scale, &request.route.name)?;
        check_namespace(&scale, &request.route.namespace)?;
        if scale.at(&["spec", "replicas"]).is_none_or(Value::is_null) {
            // An apply without `spec.replicas` leaves the replicas as they are.
            return self.change_scale(request, Ok).await;
        }
        let configuration = configuration.with_object(request.served.scaled(&scale)?.into_value());
        let subresource = Some(Subresource::Scale);
        let next = Next::Applied(&configuration);
        let answer = self.change(request, subresource, dry_run, LastWrite::Wins, next);
        request.served.written_scale_of(&answer.await?)
    }

    /// Updates the replicas from the scale that `change` computes from the current one.
    async fn change_scale(
        &self,
        request: &InFlight<'_>,
        change: impl Fn(Object) -> Result<Object, ApiError> + Sync,
    ) -> Result<WriteAnswer, ApiError> {
        let dry_run = request.options.dry_run;
        let paths = request.served.scale_paths()?;
        let next = |current: &Current| {
            let revision = current.revision.0.to_string();
            let scale = change(paths.view(&current.object, &revision)?)?;
            let mut object = current.object.clone();
            paths.set_replicas(&mut object, request.served.replicas(&scale)?)?;
            object.set_meta_text("resourceVersion", scale.resource_version());
            if !scale.uid().is_empty() {
                object.set_meta_text("uid", scale.uid());
            }
            Ok(Incoming {
                object,
                duplicates: Vec::new(),
                unknown: Vec::new(),
                patched: None,
            })
        };
        let subresource = Some(Subresource::Scale);
        let next = Next::Computed(&next);
        let answer = self.change(request, subresource, dry_run, LastWrite::Wins, next);
        request.served.written_scale_of(&answer.await?)
    }
}

/// The `scale` subresource of objects of a served version.
pub trait ServedScale {
    /// Object with the replicas of a scale and its identity, for an apply.
    fn scaled(&self, scale: &Object) -> Result<Object, ApiError>;

    /// Scale of an object.
    fn scale_view(&self, object: &Object, revision: &str) -> Result<Object, ApiError>;

    /// Sets the replicas of an object to those of a scale.
    fn take_scale(&self, scale: &Object, object: &mut Object) -> Result<(), ApiError>;

    /// Paths of the replicas; 404 if the version has no `scale`.
    fn scale_paths(&self) -> Result<&ScalePaths, ApiError>;

    /// `spec.replicas` of a scale.
    fn replicas(&self, scale: &Object) -> Result<i64, ApiError>;

    /// Scale of the object in a response.
    fn scale_of(&self, answer: &WriteAnswer) -> Result<WriteAnswer, ApiError>;

    /// Scale of an object that was written.
    fn written_scale_of(&self, answer: &WriteAnswer) -> Result<WriteAnswer, ApiError>;

    /// Prints the scale of an object.
    fn shown_scale(&self, answer: &WriteAnswer, object: &Object) -> Result<WriteAnswer, ApiError>;
}

impl ServedScale for Served {
    /// Partial object with the replicas and the identifying metadata of a scale.
    fn scaled(&self, scale: &Object) -> Result<Object, ApiError> {
        let metadata = scale.metadata().iter();
        let metadata = metadata.filter(|(field, _)| SHARED_METADATA.contains(&field.as_str()));
        let metadata: Map<String, Value> = metadata.map(|(f, v)| (f.clone(), v.clone())).collect();
        let mut object =
            Object::from_map(Map::from_iter([("metadata".to_owned(), metadata.into())]));
        object.set_gvk(&self.gvk());
        self.take_scale(scale, &mut object)?;
        Ok(object)
    }

    fn scale_view(&self, object: &Object, revision: &str) -> Result<Object, ApiError> {
        self.scale_paths()?.view(object, revision)
    }

    fn take_scale(&self, scale: &Object, object: &mut Object) -> Result<(), ApiError> {
        let replicas = self.replicas(scale)?;
        self.scale_paths()?.set_replicas(object, replicas)
    }

    fn scale_paths(&self) -> Result<&ScalePaths, ApiError> {
        let paths = self.resource.strategy.scale(self.version);
        paths.ok_or(ApiError::NoSuchResource)
    }

    /// `spec.replicas` of a scale; zero if absent, as in upstream's Go type. For a custom resource, validation of the
    /// object itself covers negative values.
    fn replicas(&self, scale: &Object) -> Result<i64, ApiError> {
        let replicas = scale.at(&["spec", "replicas"]).and_then(Value::as_i64);
        let replicas = replicas.unwrap_or(0);
        if replicas >= 0 || self.resource.origin == Origin::Custom {
            return Ok(replicas);
        }
        let spec = Path::ROOT.field("spec");
        let path = spec.field("replicas");
        let error = FieldError::invalid(&path, replicas, "must be greater than or equal to 0");
        Err(ApiError::invalid(
            &gvk().group_kind(),
            scale.name(),
            [error],
        ))
    }

    /// Scale of the object in a response.
    fn scale_of(&self, answer: &WriteAnswer) -> Result<WriteAnswer, ApiError> {
        let object = answer.object()?;
        let paths = self.scale_paths()?;
        if paths.replicas(&object)?.is_none() {
            let path = &paths.spec_replicas;
            let why = format!("the spec replicas field {path:?} does not exist");
            return Err(ApiError::internal(why));
        }
        self.shown_scale(answer, &object)
    }

    /// Scale of an object that was written. If a field gate removed the replicas, they count as zero.
    fn written_scale_of(&self, answer: &WriteAnswer) -> Result<WriteAnswer, ApiError> {
        let mut object = answer.object()?;
        let paths = self.scale_paths()?;
        if paths.replicas(&object)?.is_none() {
            paths.set_replicas(&mut object, 0)?;
        }
        self.shown_scale(answer, &object)
    }

    fn shown_scale(&self, answer: &WriteAnswer, object: &Object) -> Result<WriteAnswer, ApiError> {
        let mut scale = self
            .scale_paths()?
            .view(object, object.resource_version())?;
        let is_built_in = self.resource.origin == Origin::BuiltIn;
        if is_built_in && scale.at(&["spec", "replicas"]) == Some(&json!(0)) {
            // The Go type omits zero replicas.
            scale.fields_mut().insert("spec".to_owned(), json!({}));
        }
        Ok(WriteAnswer {
            code: answer.code,
            ..WriteAnswer::ok(lockstep_object::json::encode(scale.as_value()))
        })
    }
}

/// Table columns of scales.
pub fn columns() -> &'static Columns {
    static COLUMNS: LazyLock<Columns> = LazyLock::new(|| {
        let number = |name: &str, description: &str, path: &str| Column {
            column_type: "integer".into(),
            cell: Cell::Path(
                path.parse().expect("the path is a good one"),
                ColumnType::Integer,
            ),
            ..Column::computed(name, description, |_, _| Value::Null)
        };
        Columns::new(vec![
            Column::name(),
            Column {
                column_type: "integer".into(),
                ..Column::computed("Desired", "How many are wanted.", |scale, _| {
                    let replicas = scale.at(&["spec", "replicas"]).cloned();
                    replicas.unwrap_or_else(|| json!(0))
                })
            },
            number("Available", "How many there are.", ".status.replicas"),
            Column::age(),
        ])
    });
    &COLUMNS
}

/// Access to the replicas of an object by the paths of its resource.
trait Replicas {
    /// Builds the `Scale` of an object. `spec.replicas` is absent if the object has none.
    fn view(&self, object: &Object, resource_version: &str) -> Result<Object, ApiError>;

    /// Desired number of replicas.
    fn replicas(&self, object: &Object) -> Result<Option<i64>, ApiError>;

    /// Sets the desired number of replicas.
    fn set_replicas(&self, object: &mut Object, replicas: i64) -> Result<(), ApiError>;
}

impl Replicas for ScalePaths {
    fn view(&self, object: &Object, resource_version: &str) -> Result<Object, ApiError> {
        let shared = object.metadata().iter();
        let shared = shared.filter(|(field, _)| SHARED_METADATA.contains(&field.as_str()));
        let metadata: Map<String, Value> = shared.map(|(f, v)| (f.clone(), v.clone())).collect();
        let mut status = json!({ "replicas": number(object, &self.status_replicas)?.unwrap_or(0) });
        let selector = self
            .label_selector
            .as_deref()
            .and_then(|path| at(object, path));
        if let Some(selector) = selector.and_then(selector_text) {
            status["selector"] = selector.into();
        }
        let mut spec = json!({});
        if let Some(replicas) = self.replicas(object)? {
            spec["replicas"] = replicas.into();
        }
        let mut scale = Object::from_map(Map::from_iter([
            ("metadata".to_owned(), metadata.into()),
            ("spec".to_owned(), spec),
            ("status".to_owned(), status),
        ]));
        scale.set_gvk(&gvk());
        scale.set_meta_text("resourceVersion", resource_version);
        Ok(scale)
    }

    fn replicas(&self, object: &Object) -> Result<Option<i64>, ApiError> {
        number(object, &self.spec_replicas)
    }

    fn set_replicas(&self, object: &mut Object, replicas: i64) -> Result<(), ApiError> {
        let Some((parents, last)) = names(&self.spec_replicas).rsplit_once('.') else {
            return Err(wrong_type(&self.spec_replicas));
        };
        let mut map = object.fields_mut();
        for name in parents.split('.') {
            let inside = map.entry(name).or_insert_with(|| json!({}));
            let Some(inside) = inside.as_object_mut() else {
                return Err(wrong_type(&self.spec_replicas));
            };
            map = inside;
        }
        map.insert(last.to_owned(), replicas.into());
        Ok(())
    }
}

/// Formats a selector; `None` if it is invalid or empty.
fn selector_text(selector: &Value) -> Option<String> {
    let text = match selector {
        Value::String(text) => text.clone(),
        Value::Object(fields) => {
            let is_plain = fields.values().all(Value::is_string);
            let selector = if is_plain {
                from_label_selector(&json!({ "matchLabels": fields }))
            } else {
                from_label_selector(selector)
            };
            selector.ok()?.to_string()
        }
        _ => return None,
    };
    (!text.is_empty()).then_some(text)
}

fn gvk() -> GroupVersionKind {
    GroupVersionKind::new("autoscaling", "v1", "Scale")
}

/// Strips the leading dot of a path.
fn names(path: &str) -> &str {
    path.strip_prefix('.').unwrap_or(path)
}

fn at<'o>(object: &'o Object, path: &str) -> Option<&'o Value> {
    let mut names = names(path).split('.');
    names.try_fold(object.as_value(), |value, name| value.get(name))
}

/// Integer at a path.
fn number(object: &Object, path: &str) -> Result<Option<i64>, ApiError> {
    match at(object, path) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => value.as_i64().map(Some).ok_or_else(|| wrong_type(path)),
    }
}

fn wrong_type(path: &str) -> ApiError {
    ApiError::internal(format!("the field {path:?} is of another type"))
}

fn patched(request: &InFlight<'_>, patch: &Patch, scale: Object) -> Result<Object, ApiError> {
    let had_replicas = scale.at(&["spec", "replicas"]).is_some();
    let revision = scale.resource_version().to_owned();
    let mut value = scale.into_value();
    patch.apply(&mut value)?;
    let shown = patch.shown(value.clone());
    let (mut scale, unknown) = read(value, &request.source).map_err(|unfit| match unfit {
        Unfit::Kind(error) => shown.refused(&error.to_string()),
        Unfit::Type(problem) => shown.refused(&problem),
    })?;
    request.report_fields(&patch.complaints, &unknown, Some(&shown))?;
    if scale.resource_version() == revision {
        // An unchanged resourceVersion stems from the current scale, not from the patch, and is no precondition.
        scale.set_meta_text("resourceVersion", "");
    }
    check_url_name(&scale, &request.route.name)?;
    if !had_replicas && scale.at(&["spec", "replicas"]).is_none_or(Value::is_null) {
        let place = &request.served.scale_paths()?.spec_replicas;
        let why = format!("the spec replicas field {place:?} cannot be empty");
        return Err(ApiError::bad_request(why));
    }
    Ok(scale)
}

/// Checks that a value is a `Scale`, and applies field validation to unknown and duplicate fields.
fn accept(request: &InFlight<'_>, value: Value, duplicates: &[String]) -> Result<Object, ApiError> {
    let gvk = gvk();
    let (scale, unknown) = read(value, &request.source).map_err(|unfit| match unfit {
        Unfit::Kind(status) => status,
        Unfit::Type(problem) => mistyped(&gvk, &problem),
    })?;
    let warnings = request.options.field_validation.judge(duplicates, &unknown);
    for warning in warnings.map_err(|problem| mistyped(&gvk, &problem))? {
        request.notes.warn(warning);
    }
    Ok(scale)
}

/// Decodes a `Scale` and collects unknown fields.
fn read(value: Value, body: &[u8]) -> Result<(Object, Vec<String>), Unfit> {
    let scale = check_body_kind(value, body, &gvk(), KindOrigin::BuiltIn);
    let mut scale = scale.map_err(Unfit::Kind)?;
    let mut unknown = Vec::new();
    let metadata = scale.fields_mut().entry("metadata");
    let metadata = metadata.or_insert_with(|| json!({}));
    let path = Path::ROOT.field("metadata");
    normalize_metadata(metadata, &path, Malformed::Refuse, &mut unknown)
        .map_err(|error| Unfit::Type(error.to_string()))?;
    check_fields(&scale, &mut unknown).map_err(Unfit::Type)?;
    Ok((scale, unknown))
}

/// Rejects fields of the wrong type, and collects unknown fields.
fn check_fields(scale: &Object, unknown: &mut Vec<String>) -> Result<(), String> {
    let known = ["apiVersion", "kind", "metadata", "spec", "status"];
    let foreign = scale
        .fields()
        .keys()
        .filter(|name| !known.contains(&name.as_str()));
    for name in foreign {
        report_unknown(&Path::ROOT.field(name), unknown);
    }
    let wrong = |found: &Value, place: &str, wanted: &str| {
        let found = type_name(found);
        Err(format!(
            "json: cannot unmarshal {found} into Go struct field {place} of type {wanted}"
        ))
    };
    let spec = match scale.at(&["spec"]) {
        None | Some(Value::Null) => return Ok(()),
        Some(Value::Object(spec)) => spec,
        Some(other) => return wrong(other, "Scale.spec", "v1.ScaleSpec"),
    };
    let foreign = spec.keys().filter(|name| *name != "replicas");
    let path = Path::ROOT.field("spec");
    for name in foreign {
        report_unknown(&path.field(name), unknown);
    }
    match spec.get("replicas") {
        None | Some(Value::Null) => Ok(()),
        Some(value) if value.as_i64().is_some_and(|n| i32::try_from(n).is_ok()) => Ok(()),
        Some(other) => wrong(other, "ScaleSpec.spec.replicas", "int32"),
    }
}
