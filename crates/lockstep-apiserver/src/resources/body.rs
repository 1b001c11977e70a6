//! From the bytes of a request to an object of the resource.

use lockstep_object::field::{FieldError, Path};
use lockstep_object::metadata::{Malformed, check_types};
use lockstep_object::{Object, Status, Value, json};

use super::{Origin, Request, Served};

/// What objects are sent as.
const JSON: &str = "application/json";

/// How fields that nobody knows are dealt with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FieldValidation {
    /// They are errors.
    Strict,
    /// They are warned about.
    Warn,
    /// They are dropped silently.
    Ignore,
}

/// An object that came in.
pub struct Incoming {
    /// The object.
    pub object: Object,
    /// What strict field validation would complain about, in its words.
    pub complaints: Vec<String>,
}

impl Request<'_> {
    /// Reads the body as an object of the resource.
    pub fn object(&self) -> Result<Incoming, Status> {
        let media_type = self.content_type.split(';').next().unwrap_or_default();
        if !matches!(media_type.trim(), "" | JSON | "*/*") {
            return Err(Status::unsupported_media_type(&[JSON]));
        }
        let decoded = json::decode(&self.body).map_err(|error| {
            let kind = &self.served.resource.kind;
            Status::bad_request(format!(
                "the object provided is unrecognized (must be of type {kind}): couldn't get \
                 version/kind; json parse error: {error}"
            ))
        })?;
        let complaints = decoded.duplicates.iter();
        let mut complaints: Vec<String> = complaints
            .map(|path| format!("duplicate field {path:?}"))
            .collect();
        let object = accept(&self.served, decoded.value, &mut complaints)?;
        Ok(Incoming { object, complaints })
    }
}

/// Checks that a value is an object of the resource in its version, and brings its metadata into
/// shape.
pub(super) fn accept(
    served: &Served,
    value: Value,
    complaints: &mut Vec<String>,
) -> Result<Object, Status> {
    let mut object = Object::from_value(value).map_err(|_| not_a_map(served))?;
    check_kind(served, &mut object)?;
    let metadata = object
        .fields_mut()
        .entry("metadata")
        .or_insert_with(|| Value::Object(serde_json::Map::new()));
    let mut unknown = Vec::new();
    check_types(
        metadata,
        &Path::ROOT.field("metadata"),
        Malformed::Refuse,
        &mut unknown,
    )
    .map_err(|error| Status::bad_request(error.to_string()))?;
    complaints.extend(unknown.iter().map(|path| format!("unknown field {path:?}")));
    Ok(object)
}

fn not_a_map(served: &Served) -> Status {
    let kind = &served.resource.kind;
    Status::bad_request(format!(
        "the object provided is unrecognized (must be of type {kind}): couldn't get version/kind; \
         json parse error: expected an object"
    ))
}

fn check_kind(served: &Served, object: &mut Object) -> Result<(), Status> {
    let resource = &served.resource;
    let (api_version, kind) = (resource.api_version(served.version), &*resource.kind);
    let is_built_in = resource.origin == Origin::BuiltIn;
    if is_built_in && object.kind().is_empty() && object.api_version().is_empty() {
        let fields = object.fields_mut();
        fields.insert("apiVersion".into(), api_version.into());
        fields.insert("kind".into(), kind.into());
        return Ok(());
    }
    if object.kind().is_empty() {
        let text = json::encode_to_string(object.as_value());
        return Err(Status::bad_request(format!(
            "Object 'Kind' is missing in '{text}'"
        )));
    }
    if object.api_version() != api_version {
        let found = object.api_version();
        return Err(Status::bad_request(format!(
            "the API version in the data ({found}) does not match the expected API version \
             ({api_version})"
        )));
    }
    if object.kind() == kind {
        return Ok(());
    }
    if is_built_in {
        let found = object.kind();
        return Err(Status::bad_request(format!(
            "{found} in version {:?} cannot be handled as a {kind}",
            resource.versions[served.version].name
        )));
    }
    let path = Path::ROOT.field("kind");
    let error = FieldError::invalid(&path, object.kind(), format!("must be {kind}"));
    Err(Status::invalid(
        &resource.group_kind(),
        object.name(),
        &[error],
    ))
}

impl Request<'_> {
    /// `fieldValidation`.
    pub fn field_validation(&self) -> Result<FieldValidation, Status> {
        let asked = self.query.get("fieldValidation").unwrap_or_default();
        match asked {
            "Strict" => Ok(FieldValidation::Strict),
            "Warn" | "" => Ok(FieldValidation::Warn),
            "Ignore" => Ok(FieldValidation::Ignore),
            other => {
                Err(self.invalid_option("fieldValidation", other, &["Ignore", "Strict", "Warn"]))
            }
        }
    }

    /// Does with complaints what the client asked for.
    pub fn complain(&self, complaints: &[String], object: &Object) -> Result<(), Status> {
        match self.field_validation()? {
            _ if complaints.is_empty() => {}
            FieldValidation::Ignore => {}
            FieldValidation::Warn => complaints.iter().for_each(|c| self.notes.warn(c)),
            FieldValidation::Strict => {
                let kind = object.kind();
                let version = &self.served.resource.versions[self.served.version].name;
                return Err(Status::bad_request(format!(
                    "{kind} in version {version:?} cannot be handled as a {kind}: strict decoding \
                     error: {}",
                    complaints.join(", ")
                )));
            }
        }
        Ok(())
    }
}
