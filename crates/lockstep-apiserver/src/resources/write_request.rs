//! From an HTTP request to a [`WriteRequest`]: query and headers become options, the body becomes an object or a patch.

use lockstep_merge::managers::Force;
use lockstep_object::incoming::FieldValidation;
use lockstep_object::{Map, Status, Value};

use super::{Request, Subresource};
use crate::route::Verb;
use crate::views::PROTOBUF;
use crate::write::{
    APPLY_PATCH, DryRun, Input, WriteOptions, WriteOrigin, WriteRequest, check_delete_options,
    decode_patch, dry_run,
};

impl<'a> Request<'a> {
    /// Decodes the body and the options of a write.
    pub(super) fn write_request(&self) -> Result<WriteRequest<'a>, Status> {
        let verb = self.route.verb;
        let is_apply = verb == Verb::Patch && self.media_type() == APPLY_PATCH;
        let has_subresource = verb != Verb::Create || self.route.is_named();
        let subresource = if has_subresource {
            self.subresource()?
        } else {
            None
        };
        let is_deletion = matches!(verb, Verb::Delete | Verb::DeleteCollection);
        let (dry_run, field_manager) = if is_deletion {
            (DryRun::No, String::new())
        } else {
            let dry_run = self.dry_run()?;
            let manager = if is_apply {
                self.applier()?.to_owned()
            } else {
                self.field_manager()?.into_owned()
            };
            (dry_run, manager)
        };
        let input = if is_deletion {
            Input::Delete(self.delete_options()?)
        } else if is_apply {
            Input::Apply(self.apply_configuration()?)
        } else if verb == Verb::Patch {
            let media_type = self.media_type();
            Input::Patch(decode_patch(
                &self.served,
                subresource,
                media_type,
                &self.body,
            )?)
        } else {
            let own = subresource.and_then(Subresource::own_kind);
            let kind = own.map_or(&*self.served.resource.kind, |[_, _, kind]| kind);
            Input::Object(self.document(kind)?)
        };
        let field_validation = if is_deletion {
            FieldValidation::default()
        } else {
            self.field_validation()?
        };
        let is_forced = is_apply && self.query.flag("force");
        Ok(WriteRequest {
            route: self.route,
            served: self.served.clone(),
            input: Some(input),
            source: self.body.clone(),
            options: WriteOptions {
                dry_run,
                field_manager,
                force: if is_forced { Force::Yes } else { Force::No },
                field_validation,
                is_protobuf: self.content_type.starts_with(PROTOBUF),
                given: self.given_options(),
            },
            now: self.now,
            origin: WriteOrigin::Client,
            user: self.user,
            caller: self.caller,
            permits: self.permits,
            notes: self.notes.written(),
        })
    }

    /// Write request without a body, for admission of objects that are not stored.
    pub(crate) fn without_input(&self) -> Result<WriteRequest<'a>, Status> {
        Ok(WriteRequest {
            route: self.route,
            served: self.served.clone(),
            input: None,
            source: self.body.clone(),
            options: WriteOptions {
                dry_run: self.dry_run()?,
                field_manager: String::new(),
                force: Force::No,
                field_validation: self.field_validation()?,
                is_protobuf: false,
                given: self.given_options(),
            },
            now: self.now,
            origin: WriteOrigin::Client,
            user: self.user,
            caller: self.caller,
            permits: self.permits,
            notes: self.notes.written(),
        })
    }

    /// Parses `dryRun`, which is `All` or absent.
    pub(crate) fn dry_run(&self) -> Result<DryRun, Status> {
        let given: Vec<&str> = self.query.all("dryRun").collect();
        dry_run(self.route.verb, &given)
    }

    fn media_type(&self) -> &'a str {
        let media_type = self.content_type.split(';').next();
        media_type.unwrap_or_default().trim()
    }

    /// Options as sent, in the form of `CreateOptions`, `UpdateOptions` or `PatchOptions`.
    fn given_options(&self) -> Map<String, Value> {
        let mut options = Map::new();
        let dry_run: Vec<Value> = self.query.all("dryRun").map(Value::from).collect();
        if !dry_run.is_empty() {
            options.insert("dryRun".to_owned(), dry_run.into());
        }
        for field in ["fieldManager", "fieldValidation"] {
            if let Some(text) = self.query.get(field).filter(|text| !text.is_empty()) {
                options.insert(field.to_owned(), text.into());
            }
        }
        options
    }

    /// `DeleteOptions` from the body, or from the query if the body is empty.
    fn delete_options(&self) -> Result<Value, Status> {
        if self.body.is_empty() {
            return from_query(self);
        }
        let options = self.document("DeleteOptions")?.value;
        check_options_kind(&options)?;
        check_delete_options(&options)?;
        Ok(options)
    }
}

fn from_query(request: &Request<'_>) -> Result<Value, Status> {
    let query = request.query;
    let mut body = serde_json::json!({});
    if let Some(seconds) = request.number("gracePeriodSeconds")? {
        body["gracePeriodSeconds"] = seconds.into();
    }
    if let Some(policy) = query.get("propagationPolicy") {
        body["propagationPolicy"] = policy.into();
    }
    if query.get("orphanDependents").is_some() {
        body["orphanDependents"] = query.flag("orphanDependents").into();
    }
    for name in ["uid", "resourceVersion"] {
        // On `deletecollection`, `resourceVersion` is an option of the list and not a precondition.
        let is_of_list = name == "resourceVersion" && request.route.verb == Verb::DeleteCollection;
        let asked = query.get(name).filter(|asked| !asked.is_empty());
        if let Some(asked) = asked.filter(|_| !is_of_list) {
            body["preconditions"][name] = asked.into();
        }
    }
    let dry_run: Vec<Value> = query.all("dryRun").map(Value::from).collect();
    if !dry_run.is_empty() {
        body["dryRun"] = dry_run.into();
    }
    Ok(body)
}

/// Rejects kinds other than `DeleteOptions`; its apiVersion is not checked.
fn check_options_kind(body: &Value) -> Result<(), Status> {
    match body["kind"].as_str() {
        None | Some("" | "DeleteOptions") => Ok(()),
        Some(kind) => Err(Status::bad_request(format!(
            "the object provided is unrecognized (must be of type DeleteOptions): {kind}"
        ))),
    }
}
