//! From an HTTP request to a [`WriteRequest`]: query and headers become options, the body becomes an object or a patch.

use lockstep_merge::managers::Force;
use lockstep_object::incoming::FieldValidation;
use lockstep_object::{ApiError, Map, Value};

use super::{Request, Subresource};
use crate::route::Verb;
use crate::views::PROTOBUF;
use lockstep_write::{
    APPLY_PATCH, DryRun, Input, WriteOptions, WriteOrigin, WriteRequest, check_delete_options,
    decode_patch, dry_run,
};

impl<'a> Request<'a> {
    /// Decodes the body and the options of a write. Options come first, so an invalid option is reported before an
    /// invalid body; only `fieldValidation` comes last, as in upstream.
    pub(super) fn write_request(&self) -> Result<WriteRequest<'a>, ApiError> {
        let verb = self.route.verb;
        if matches!(verb, Verb::Delete | Verb::DeleteCollection) {
            self.subresource()?;
            let input = Input::Delete(self.delete_options()?);
            return Ok(self.with_input(Some(input), self.options(DryRun::No, String::new())));
        }
        let is_apply = verb == Verb::Patch && self.media_type() == APPLY_PATCH;
        let has_subresource = verb != Verb::Create || self.route.is_named();
        let subresource = if has_subresource {
            self.subresource()?
        } else {
            None
        };
        let dry_run = self.dry_run()?;
        let field_manager = if is_apply {
            self.applier()?.to_owned()
        } else {
            self.field_manager()?.into_owned()
        };
        let input = self.input(is_apply, subresource)?;
        let is_forced = is_apply && self.query.flag("force");
        let options = WriteOptions {
            force: if is_forced { Force::Yes } else { Force::No },
            field_validation: self.field_validation()?,
            ..self.options(dry_run, field_manager)
        };
        Ok(self.with_input(Some(input), options))
    }

    /// Write request without a body, for admission of objects that are not stored.
    pub(crate) fn without_input(&self) -> Result<WriteRequest<'a>, ApiError> {
        let options = self.options(self.dry_run()?, String::new());
        Ok(self.with_input(None, options))
    }

    /// Decodes the body of a create, update, patch or apply.
    fn input(&self, is_apply: bool, subresource: Option<Subresource>) -> Result<Input, ApiError> {
        if is_apply {
            return Ok(Input::Apply(self.apply_configuration()?));
        }
        if self.route.verb == Verb::Patch {
            let media_type = self.media_type();
            let patch = decode_patch(&self.served, subresource, media_type, &self.body)?;
            return Ok(Input::Patch(patch));
        }
        let own = subresource.and_then(Subresource::own_kind);
        let kind = own.map_or(&*self.served.resource.kind, |[_, _, kind]| kind);
        Ok(Input::Object(self.document(kind)?))
    }

    fn options(&self, dry_run: DryRun, field_manager: String) -> WriteOptions {
        WriteOptions {
            dry_run,
            field_manager,
            force: Force::No,
            field_validation: FieldValidation::default(),
            is_protobuf: self.content_type.starts_with(PROTOBUF),
            given: self.given_options(),
        }
    }

    fn with_input(&self, input: Option<Input>, options: WriteOptions) -> WriteRequest<'a> {
        WriteRequest {
            route: self.route,
            served: self.served.clone(),
            input,
            source: self.body.clone(),
            options,
            now: self.now,
            origin: WriteOrigin::Client,
            user: self.user,
            permits: self.permits,
            notes: self.notes.written(),
        }
    }

    /// Parses `dryRun`, which is `All` or absent.
    pub(crate) fn dry_run(&self) -> Result<DryRun, ApiError> {
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
    fn delete_options(&self) -> Result<Value, ApiError> {
        if self.body.is_empty() {
            return from_query(self);
        }
        let options = self.document("DeleteOptions")?.value;
        check_options_kind(&options)?;
        check_delete_options(&options)?;
        Ok(options)
    }
}

fn from_query(request: &Request<'_>) -> Result<Value, ApiError> {
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
fn check_options_kind(body: &Value) -> Result<(), ApiError> {
    match body["kind"].as_str() {
        None | Some("" | "DeleteOptions") => Ok(()),
        Some(kind) => Err(ApiError::bad_request(format!(
            "the object provided is unrecognized (must be of type DeleteOptions): {kind}"
        ))),
    }
}
