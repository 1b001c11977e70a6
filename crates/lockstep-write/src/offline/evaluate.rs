//! Evaluation of one write of a custom resource: `lockstep crd gates eval`.

use bytes::Bytes;
use lockstep_authz::User;
use lockstep_catalog::Verb;
use lockstep_catalog::crd::CustomError;
use lockstep_merge::managers::Force;
use lockstep_mvcc::Revision;
use lockstep_object::incoming::FieldValidation;
use lockstep_object::metadata::Seconds;
use lockstep_object::{ApiError, Map, Object, Value, json};
use lockstep_schema::is_storage_version;
use serde_json::json;

use super::{Offline, compile};
use crate::{
    Document, DryRun, Input, Notes, ResourceRoute, WriteOptions, WriteOrigin, WriteRequest, stored,
};

/// Metadata that the server assigns. Shown only if the input has it, because its values mean nothing offline.
const ASSIGNED: [&str; 4] = [
    "uid",
    "creationTimestamp",
    "managedFields",
    "resourceVersion",
];

/// A write to evaluate.
#[derive(Clone, Copy, Debug)]
pub struct Evaluation<'a> {
    /// The CRD, which must be valid.
    pub definition: &'a Object,
    /// The object in the request, in the version that objects are stored in.
    pub new: &'a Object,
    /// The object in the store; without it the request is a create.
    pub old: Option<&'a Object>,
    /// The subresource, empty for the object itself.
    pub subresource: &'a str,
    /// Treatment of unknown fields.
    pub field_validation: FieldValidation,
}

/// Result of an evaluation.
#[derive(Debug)]
pub struct Evaluated {
    /// The object that is stored, or that would be if it were valid; none if the request cannot be decoded.
    pub object: Option<Object>,
    /// True if the write is accepted and increments `metadata.generation`.
    pub is_new_generation: bool,
    /// Warnings for the client.
    pub warnings: Vec<String>,
    /// Actions of field gates.
    pub actions: Vec<GateAction>,
    /// Reason of a rejection.
    pub error: Option<ApiError>,
}

/// Action of a field gate.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GateAction {
    /// Name of the gate.
    pub gate: String,
    /// `spec.jobs[name="web"].probe`
    pub path: String,
    /// Effect on the field.
    pub action: &'static str,
}

/// Errors of the input of an evaluation.
#[derive(Debug, thiserror::Error)]
pub enum EvaluationError {
    /// The CRD cannot be served.
    #[error(transparent)]
    Definition(#[from] CustomError),
    /// The CRD does not serve the version of the object.
    #[error("the definition does not serve {0}")]
    NotServed(String),
    /// The stored object has no `apiVersion`, `kind` or `metadata`.
    #[error("the stored object has no apiVersion, kind or metadata")]
    NotAnObject,
}

impl Evaluation<'_> {
    /// Evaluates the write.
    ///
    /// The stored object is older than the CRD, so that it is pruned and defaulted when it is read. The request is
    /// based on it: preconditions of the request are not evaluated.
    pub fn run(&self) -> Result<Evaluated, EvaluationError> {
        let now = Seconds::from_unix(0).expect("the epoch is a time");
        let mut offline = Offline::default();
        let route = self.route();
        let mut new = self.new.clone();
        let mut generation = 0;
        let definition = self.servable_definition();
        if let Some(old) = self.old {
            let mut old = old.clone();
            old.set_meta_text("namespace", &route.namespace);
            old.set_meta_text("name", &route.name);
            old.set_generation(old.generation().max(1));
            generation = old.generation();
            let value = stored::encode(old.fields(), json::encode_into);
            let value = value.map_err(|_| EvaluationError::NotAnObject)?;
            let resource = compile(&definition, Revision::NONE)?;
            let key = resource.object_key(&route.namespace, &route.name);
            let at = offline.put(&resource, &key, value.into());
            new.set_meta_text("uid", old.uid());
            new.set_meta_text("resourceVersion", &at.0.to_string());
        }
        offline.serve(&definition, now)?;
        let served = offline.registry.find(&route);
        let served =
            served.ok_or_else(|| EvaluationError::NotServed(self.new.api_version().to_owned()))?;
        if served.resource.is_namespaced() {
            offline.create_namespace(&route.namespace, now);
        }
        let notes = Notes::default();
        let source = Bytes::from(json::encode(new.as_value()));
        let mut request = WriteRequest {
            route: &route,
            served,
            input: Some(Input::Object(Document {
                value: new.into_value(),
                duplicates: Vec::new(),
            })),
            source,
            options: WriteOptions {
                dry_run: DryRun::No,
                field_manager: "eval".to_owned(),
                force: Force::No,
                field_validation: self.field_validation,
                is_protobuf: false,
                given: Map::new(),
            },
            now,
            origin: WriteOrigin::Client,
            user: &User::default(),
            permits: &|_| Ok(()),
            notes: &notes,
        };
        let written = offline.write(&mut request);
        let trace = offline.trace.into_inner();
        let (object, error) = match written.and_then(|answer| answer.object()) {
            Ok(object) => (Some(object), None),
            Err(error) => (trace.before_validation, Some(error)),
        };
        let is_new_generation = |object: &Object| object.generation() != generation;
        Ok(Evaluated {
            is_new_generation: error.is_none() && object.as_ref().is_some_and(is_new_generation),
            object: object.map(|object| self.without_assigned(object)),
            warnings: notes.warnings(),
            actions: trace.actions,
            error,
        })
    }

    /// The CRD as a server could serve it: it has no namespace, and the version that objects are stored in is served,
    /// because requests are evaluated in it.
    fn servable_definition(&self) -> Object {
        let mut definition = self.definition.clone();
        definition.set_meta_text("namespace", "");
        let spec = definition.fields_mut().get_mut("spec");
        let versions = spec.and_then(|spec| spec.get_mut("versions"));
        let versions = versions.and_then(Value::as_array_mut);
        for version in versions.into_iter().flatten() {
            if is_storage_version(version) {
                version["served"] = true.into();
            }
        }
        definition
    }

    fn route(&self) -> ResourceRoute {
        let text = |path: &[&str]| {
            let text = self.definition.at(path).and_then(|text| text.as_str());
            text.unwrap_or_default().to_owned()
        };
        // Either file may leave out name and namespace, which `kubectl -n` gives too.
        let name = match self.old.map(Object::name) {
            None => "",
            Some("") => self.new.name(),
            Some(name) => name,
        };
        let own = self
            .old
            .map(Object::namespace)
            .filter(|name| !name.is_empty());
        let version = self.new.api_version().rsplit('/').next();
        let is_namespaced = text(&["spec", "scope"]) == "Namespaced";
        let namespace = match own.unwrap_or(self.new.namespace()) {
            _ if !is_namespaced => "",
            "" => "default",
            namespace => namespace,
        };
        ResourceRoute {
            verb: if self.old.is_some() {
                Verb::Update
            } else {
                Verb::Create
            },
            group: text(&["spec", "group"]),
            version: version.unwrap_or_default().to_owned(),
            namespace: namespace.to_owned(),
            resource: text(&["spec", "names", "plural"]),
            name: name.to_owned(),
            subresource: self.subresource.to_owned(),
        }
    }

    /// Removes what the server assigned and the input does not have.
    fn without_assigned(&self, mut object: Object) -> Object {
        let given = self.old.unwrap_or(self.new);
        let given = given.at(&["metadata"]).cloned().unwrap_or_default();
        let metadata = object.metadata_mut();
        for field in ASSIGNED {
            match given.get(field) {
                Some(value) => drop(metadata.insert(field.to_owned(), value.clone())),
                None => drop(metadata.remove(field)),
            }
        }
        if self.new.namespace().is_empty() && given.get("namespace").is_none() {
            metadata.remove("namespace");
        }
        object
    }
}

impl Offline {
    fn create_namespace(&self, name: &str, now: Seconds) {
        let namespace = json!({
            "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name},
        });
        let namespace = Object::from_value(namespace).expect("a map");
        self.create(
            WriteOrigin::System,
            ("", "namespaces", name),
            namespace,
            now,
        );
    }
}
