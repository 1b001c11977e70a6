//! From the bytes of a request to an object of the resource.

use lockstep_kinds::{Table, typed};
use lockstep_object::field::Path;
use lockstep_object::incoming::{FieldValidation, KindOwner, malformed, mistyped, take_object};
use lockstep_object::metadata::{Malformed, check_types};
use lockstep_object::{GroupVersionKind, Object, Status, Value, json, yaml};

use super::patch::Patched;
use super::{Origin, Request, Served};
use crate::views::{JSON, PROTOBUF, YAML, on_deep_stack};

/// A body that could be read.
pub(super) struct Document {
    /// What it says.
    pub(super) value: Value,
    /// Fields that were given twice: paths of JSON, or whole messages of YAML.
    pub(super) duplicates: Vec<String>,
}

/// An object that came in.
#[derive(Clone)]
pub struct Incoming {
    /// The object.
    pub object: Object,
    /// Fields that were given twice.
    pub duplicates: Vec<String>,
    /// Fields that nobody knows, and which are dropped.
    pub unknown: Vec<String>,
    /// What a patch made of the present object, for those who are told that it is not good.
    pub patched: Option<Patched>,
}

/// Why a value is no object of the resource.
pub(super) enum Unfit {
    /// It says that it is something else, or does not say what it is.
    Kind(Status),
    /// A field is of a wrong type.
    Type(String),
}

impl Request<'_> {
    /// Reads the body as an object of the resource.
    pub fn object(&self) -> Result<Incoming, Status> {
        let Document { value, duplicates } = self.document(&self.served.resource.kind)?;
        let mut unknown = Vec::new();
        let object = accept(&self.served, value, &self.body, &mut unknown)?;
        let unknown = json::in_document_order(&self.body, unknown);
        Ok(Incoming {
            object,
            duplicates,
            unknown,
            patched: None,
        })
    }

    /// Reads the body as an object of another kind, which the table of kinds knows.
    pub(crate) fn other(&self, gvk: &GroupVersionKind) -> Result<Object, Status> {
        let Document { value, duplicates } = self.document(&gvk.kind)?;
        let mut object = take_object(value, &self.body, gvk, KindOwner::BuiltIn)?;
        let mut unknown = Vec::new();
        let path = Path::ROOT.field("metadata");
        if let Some(metadata) = object.fields_mut().get_mut("metadata") {
            check_types(metadata, &path, Malformed::Refuse, &mut unknown)
                .map_err(|error| mistyped(gvk, &error.to_string()))?;
        }
        let table = Table::builtin();
        let id = table.kind(&gvk.group, &gvk.version, &gvk.kind);
        let id = id.ok_or_else(Status::no_such_resource)?;
        typed::read(table, id, object.fields_mut(), &mut unknown)
            .map_err(|error| mistyped(gvk, &error.to_string()))?;
        self.complain(&duplicates, &unknown)?;
        Ok(object)
    }

    /// Reads the body as its media type says. `kind` is what it should be.
    pub(super) fn document(&self, kind: &str) -> Result<Document, Status> {
        let media_type = self.content_type.split(';').next().unwrap_or_default();
        let malformed = |problem: &str| malformed(kind, &self.body, problem);
        match media_type.trim() {
            "" | JSON | "*/*" => {
                let decoded = json::decode(&self.body);
                let decoded = decoded.map_err(|error| malformed(&error.to_string()))?;
                Ok(Document {
                    value: decoded.value,
                    duplicates: decoded.duplicates,
                })
            }
            YAML => {
                let decoded = on_deep_stack(|| yaml::decode(&self.body));
                let decoded =
                    decoded.map_err(|error| Status::internal_error(&error.to_string()))?;
                let decoded = decoded.map_err(|error| malformed(&error.to_string()))?;
                Ok(Document {
                    value: decoded.value,
                    duplicates: decoded.duplicates,
                })
            }
            PROTOBUF => self.message(kind),
            _ => Err(Status::unsupported_media_type(&self.media_types())),
        }
    }

    /// `fieldValidation`.
    pub fn field_validation(&self) -> Result<FieldValidation, Status> {
        let asked = self.query.get("fieldValidation").unwrap_or_default();
        FieldValidation::named(asked).map_err(|error| self.invalid_options(error))
    }

    /// Does with duplicate and unknown fields what the client asked for.
    pub fn complain(&self, duplicates: &[String], unknown: &[String]) -> Result<(), Status> {
        self.complain_of(duplicates, unknown, None)
    }

    /// The same of what a patch made.
    pub(super) fn complain_of(
        &self,
        duplicates: &[String],
        unknown: &[String],
        patched: Option<&Patched>,
    ) -> Result<(), Status> {
        let unknown = json::in_document_order(&self.body, unknown.to_vec());
        let verdict = self.field_validation()?.judge(duplicates, &unknown);
        let warnings = verdict.map_err(|problem| match patched {
            Some(patched) => patched.refused(&problem),
            None => mistyped(&self.served.gvk(), &problem),
        })?;
        for warning in warnings {
            self.notes.warn(warning);
        }
        Ok(())
    }
}

/// Reads what somebody made of an object of the resource, or of a part that is of a kind of its own.
/// Fields that nobody knows are dropped.
pub(crate) fn refit(
    served: &Served,
    own_kind: Option<[&str; 3]>,
    value: Value,
) -> Result<Object, String> {
    let mut unknown = Vec::new();
    let Some([group, version, kind]) = own_kind else {
        return fit(served, value, &[], &mut unknown).map_err(|unfit| match unfit {
            Unfit::Kind(status) => status.message,
            Unfit::Type(problem) => problem,
        });
    };
    let gvk = GroupVersionKind::new(group, version, kind);
    let object = take_object(value, &[], &gvk, KindOwner::BuiltIn);
    let mut object = object.map_err(|status| status.message)?;
    let table = Table::builtin();
    if let Some(id) = table.kind(group, version, kind) {
        typed::read(table, id, object.fields_mut(), &mut unknown)
            .map_err(|error| error.to_string())?;
    }
    Ok(object)
}

/// Checks that a value is an object of the resource in its version, and brings its metadata into
/// shape. Unknown fields of the metadata are dropped and named.
pub(super) fn accept(
    served: &Served,
    value: Value,
    body: &[u8],
    unknown: &mut Vec<String>,
) -> Result<Object, Status> {
    fit(served, value, body, unknown).map_err(|unfit| match unfit {
        Unfit::Kind(status) => status,
        Unfit::Type(problem) => mistyped(&served.gvk(), &problem),
    })
}

/// The same for those who tell it another way.
pub(super) fn fit(
    served: &Served,
    value: Value,
    body: &[u8],
    unknown: &mut Vec<String>,
) -> Result<Object, Unfit> {
    let owner = match served.resource.origin {
        Origin::BuiltIn => KindOwner::BuiltIn,
        Origin::Custom | Origin::Own => KindOwner::Custom,
    };
    let object = take_object(value, body, &served.gvk(), owner);
    let mut object = object.map_err(Unfit::Kind)?;
    let metadata = object
        .fields_mut()
        .entry("metadata")
        .or_insert_with(|| Value::Object(serde_json::Map::new()));
    let path = Path::ROOT.field("metadata");
    check_types(metadata, &path, Malformed::Refuse, unknown)
        .map_err(|error| Unfit::Type(error.to_string()))?;
    let strategy = &served.resource.strategy;
    let checked = strategy.check_types(served.version, &mut object, unknown);
    checked.map_err(Unfit::Type)?;
    Ok(object)
}
