//! The pod subresources `binding` and `eviction`, which are created but not stored.

use lockstep_mvcc::Expected;
use lockstep_object::field::{FieldError, FieldErrors, Path};
use lockstep_object::incoming::{KindOrigin, check_body_kind, mistyped};
use lockstep_object::metadata::{Malformed, check_namespace, check_url_name, normalize_metadata};
use lockstep_object::selector::from_label_selector;
use lockstep_object::{
    ApiError, GroupKind, GroupResource, GroupVersionKind, Object, Success, Value,
};
use serde_json::json;

use super::admission::Attributes;
use super::codec::Current;
use super::decode::Document;
use super::update::Next;
use super::{DryRun, InFlight, Incoming, Internal, LastWrite, Subresource, WriteAnswer, WritePath};
use super::{WriteOrigin, WriteRequest};
use crate::route::ResourceRoute;

/// `Retry-After` of a rejected eviction.
const RETRY_SECONDS: u32 = 10;
/// Maximal number of attempts to update a PodDisruptionBudget or pod under concurrent changes.
const TRIES_MAX: usize = 20;

impl WritePath<'_> {
    /// Creates a subresource of an object.
    pub(super) async fn create_part(
        &self,
        request: &InFlight<'_>,
        document: Document,
    ) -> Result<WriteAnswer, ApiError> {
        match request.subresource()? {
            Some(Subresource::Binding) => self.bind(request, document).await,
            Some(Subresource::Eviction) => self.evict(request, document).await,
            _ => Err(ApiError::method_not_supported(
                &request.served.resource.group_resource(),
                request.route.verb.as_str(),
            )),
        }
    }

    /// Runs admission for the created body of a subresource.
    pub async fn admit_part(
        &self,
        request: &InFlight<'_>,
        subresource: Subresource,
        mut created: Object,
        dry_run: DryRun,
    ) -> Result<Object, ApiError> {
        let attributes = Attributes {
            subresource: Some(subresource),
            ..Attributes::create(request, &request.route.name, dry_run)
        };
        created.set_meta_text("namespace", &request.route.namespace);
        self.mutate(&attributes, Some(&mut created)).await?;
        self.validate(&attributes, Some(&created)).await?;
        Ok(created)
    }

    /// Binds a pod to a node.
    async fn bind(
        &self,
        request: &InFlight<'_>,
        document: Document,
    ) -> Result<WriteAnswer, ApiError> {
        let dry_run = request.options.dry_run;
        let binding = accept(request, document, &["", "v1", "Binding"])?;
        check_namespace(&binding, &request.route.namespace)?;
        if binding.name() != &*request.route.name {
            return Err(ApiError::bad_request(
                "name in URL does not match name in Binding object",
            ));
        }
        let binding = self
            .admit_part(request, Subresource::Binding, binding, dry_run)
            .await?;
        self.place_on_node(request, &binding, dry_run).await
    }

    /// Legacy `bindings` endpoint: binds the pod that the body names.
    pub(super) async fn bind_named(
        &self,
        request: &InFlight<'_>,
        document: Document,
    ) -> Result<WriteAnswer, ApiError> {
        let route = request.route;
        let dry_run = request.options.dry_run;
        let mut binding = accept(request, document, &["", "v1", "Binding"])?;
        check_namespace(&binding, &route.namespace)?;
        binding.set_meta_text("namespace", &route.namespace);
        let name = binding.name().to_owned();
        let attributes = Attributes::create(request, &name, dry_run);
        self.mutate(&attributes, Some(&mut binding)).await?;
        self.validate(&attributes, Some(&binding)).await?;
        if name.is_empty() {
            return Err(ApiError::bad_request("Name parameter required."));
        }
        let pod = ResourceRoute {
            resource: "pods".to_owned(),
            name,
            subresource: "binding".to_owned(),
            ..route.clone()
        };
        let served = self.registry().find(&pod);
        let request = WriteRequest {
            route: &pod,
            served: served.ok_or(ApiError::NoSuchResource)?,
            input: None,
            source: request.source.clone(),
            options: request.options.clone(),
            ..**request
        };
        let request = InFlight::new(&request, self.io);
        self.place_on_node(&request, &binding, dry_run).await
    }

    async fn place_on_node(
        &self,
        request: &InFlight<'_>,
        binding: &Object,
        dry_run: DryRun,
    ) -> Result<WriteAnswer, ApiError> {
        check_binding(binding)?;
        let node = binding.at(&["target", "name"]).and_then(Value::as_str);
        let node = node.unwrap_or_default().to_owned();
        let resource = GroupResource::new("", "pods/binding");
        let next = |current: &Current| {
            let mut pod = current.object.clone();
            if pod.deletion_timestamp().is_some() {
                let why = format!(
                    "pod {} is being deleted, cannot be assigned to a host",
                    pod.name()
                );
                return Err(ApiError::conflict(&resource, pod.name(), why));
            }
            let has = pod.at(&["spec", "nodeName"]).and_then(Value::as_str);
            if let Some(has) = has.filter(|has| !has.is_empty()) {
                let why = format!("pod {} is already assigned to node {has:?}", pod.name());
                return Err(ApiError::conflict(&resource, pod.name(), why));
            }
            let now = request.now.to_string();
            place(&mut pod, binding, &node, &now);
            Ok(Incoming {
                object: pod,
                duplicates: Vec::new(),
                unknown: Vec::new(),
                patched: None,
            })
        };
        let subresource = Some(Subresource::Binding);
        let changed = self.change(
            request,
            subresource,
            dry_run,
            LastWrite::Wins,
            Next::Computed(&next),
        );
        changed.await?;
        Ok(WriteAnswer::from(&Success::Created))
    }

    /// Deletes a pod if its PodDisruptionBudget allows that.
    async fn evict(
        &self,
        request: &InFlight<'_>,
        document: Document,
    ) -> Result<WriteAnswer, ApiError> {
        let eviction = accept(request, document, &["policy", "v1", "Eviction"])?;
        check_namespace(&eviction, &request.route.namespace)?;
        let mut name = eviction.clone();
        if name.name().is_empty() {
            name.set_meta_text("name", &request.route.name);
        }
        check_url_name(&name, &request.route.name)?;
        let dry_run = request.options.dry_run;
        let eviction = self
            .admit_part(request, Subresource::Eviction, eviction, dry_run)
            .await?;
        let mut options = eviction
            .at(&["deleteOptions"])
            .cloned()
            .unwrap_or_else(|| json!({}));
        if !options.is_object() {
            options = json!({});
        }
        if dry_run == DryRun::All {
            options["dryRun"] = json!(["All"]);
        }
        let pod = self.current(request).await?;
        let pod = pod.ok_or_else(|| request.not_found())?.object;
        if !ignores_budgets(&pod) && options["dryRun"].is_null() {
            self.take_from_budget(request, &pod).await?;
        }
        if options["dryRun"].is_null() {
            self.set_disruption_condition(request, &mut options).await?;
        }
        self.delete_with(request, &options).await?;
        Ok(WriteAnswer::from(&Success::Created))
    }

    /// Sets the `DisruptionTarget` condition on a pod, if it matches the preconditions.
    async fn set_disruption_condition(
        &self,
        request: &InFlight<'_>,
        options: &mut Value,
    ) -> Result<(), ApiError> {
        let route = request.route;
        let key = format!("{}/{}", route.namespace, route.name);
        for _ in 0..TRIES_MAX {
            let found = self.read_internally("", "pods", &key).await;
            let (mut pod, revision) = found.ok_or_else(|| request.not_found())?;
            let wanted = |field: &str| options["preconditions"][field].as_str();
            let is_other = |field, is: &str| wanted(field).is_some_and(|wanted| wanted != is);
            if is_other("uid", pod.uid()) || is_other("resourceVersion", &revision.to_string()) {
                // The deletion reports the failed precondition.
                return Ok(());
            }
            if !set_condition(&mut pod, &request.now.to_string()) {
                return Ok(());
            }
            let expected = Expected::At(revision);
            let written =
                self.write_internally(WriteOrigin::System, "", "pods", &key, expected, Some(pod));
            match written.await {
                Internal::Done(revision) => {
                    if wanted("resourceVersion").is_some() {
                        options["preconditions"]["resourceVersion"] = revision.to_string().into();
                    }
                    return Ok(());
                }
                Internal::Moved => {}
                Internal::Refused | Internal::Failed => {
                    return Err(ApiError::service_unavailable(
                        "the store is not available",
                        0,
                    ));
                }
            }
        }
        let what = request.served.resource.group_resource();
        Err(ApiError::modified(&what, &route.name))
    }

    /// Records a disruption in the PodDisruptionBudget of a pod; 429 if it allows none.
    async fn take_from_budget(&self, request: &InFlight<'_>, pod: &Object) -> Result<(), ApiError> {
        for _ in 0..TRIES_MAX {
            let budgets = self.budgets_of(pod).await?;
            let [(budget, _)] = budgets.as_slice() else {
                if budgets.is_empty() {
                    return Ok(());
                }
                let why = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";
                return Err(ApiError::internal(why));
            };
            let key = format!("{}/{}", pod.namespace(), budget);
            let found = self
                .read_internally("policy", "poddisruptionbudgets", &key)
                .await;
            let Some((mut budget, revision)) = found else {
                continue;
            };
            if is_unready(pod) && may_lose_unready(&budget) {
                return Ok(());
            }
            check_budget(&budget)?;
            count_as_gone(&mut budget, pod.name(), &request.now.to_string());
            let written = self
                .write_internally(
                    WriteOrigin::System,
                    "policy",
                    "poddisruptionbudgets",
                    &key,
                    Expected::At(revision),
                    Some(budget),
                )
                .await;
            match written {
                Internal::Done(_) => return Ok(()),
                Internal::Moved => {}
                Internal::Refused | Internal::Failed => {
                    return Err(ApiError::service_unavailable(
                        "the store is not available",
                        0,
                    ));
                }
            }
        }
        let what = GroupResource::new("policy", "poddisruptionbudgets");
        Err(ApiError::modified(&what, pod.name()))
    }

    /// PodDisruptionBudgets whose selector matches a pod, with their names.
    async fn budgets_of(&self, pod: &Object) -> Result<Vec<(String, Object)>, ApiError> {
        let registry = self.registry();
        let Some(resource) = registry.resource("policy", "poddisruptionbudgets") else {
            return Ok(Vec::new());
        };
        if !self.io.catch_up().await {
            return Err(ApiError::service_unavailable(
                "the store is not available",
                0,
            ));
        }
        let stored = self
            .env
            .cached_list(&resource.bucket, Some(pod.namespace()));
        let mut found = Vec::new();
        for stored in stored {
            let Some(budget) = stored.object() else {
                continue;
            };
            let selector = budget.at(&["spec", "selector"]).filter(|s| s.is_object());
            let selector = selector.and_then(|selector| from_label_selector(selector).ok());
            if selector.is_some_and(|selector| selector.matches(pod.labels())) {
                found.push((budget.name().to_owned(), budget));
            }
        }
        Ok(found)
    }
}

/// Decodes the body as an object of the subresource's kind.
fn accept(
    request: &InFlight<'_>,
    document: Document,
    kind: &[&str; 3],
) -> Result<Object, ApiError> {
    let [group, version, kind] = *kind;
    let gvk = GroupVersionKind::new(group, version, kind);
    let Document { value, duplicates } = document;
    let mut object = check_body_kind(value, &request.source, &gvk, KindOrigin::BuiltIn)?;
    let mut unknown = Vec::new();
    let metadata = object.fields_mut().entry("metadata");
    let metadata = metadata.or_insert_with(|| json!({}));
    let path = Path::ROOT.field("metadata");
    normalize_metadata(metadata, &path, Malformed::Refuse, &mut unknown)
        .map_err(|error| mistyped(&gvk, &error.to_string()))?;
    let table = lockstep_kinds::Table::builtin();
    if let Some(id) = table.kind(group, version, kind) {
        lockstep_kinds::typed::read(table, id, object.fields_mut(), &mut unknown)
            .map_err(|error| mistyped(&gvk, &error.to_string()))?;
    }
    let warnings = request
        .options
        .field_validation
        .judge(&duplicates, &unknown);
    for warning in warnings.map_err(|problem| mistyped(&gvk, &problem))? {
        request.notes.warn(warning);
    }
    Ok(object)
}

fn check_binding(binding: &Object) -> Result<(), ApiError> {
    let text = |field| {
        binding
            .at(&["target", field])
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let target = Path::ROOT.field("target");
    let mut errors = FieldErrors::new();
    if !matches!(text("kind"), "" | "Node") {
        let supported = ["Node", "<empty>"];
        errors.push(FieldError::not_supported(
            &target.field("kind"),
            text("kind"),
            supported,
        ));
    }
    if text("name").is_empty() {
        errors.push(FieldError::required(&target.field("name"), ""));
    }
    if errors.is_empty() {
        return Ok(());
    }
    Err(ApiError::invalid(
        &GroupKind::new("", "Binding"),
        binding.name(),
        errors,
    ))
}

/// Sets the node of a pod, and copies labels and annotations of the binding.
fn place(pod: &mut Object, binding: &Object, node: &str, now: &str) {
    for field in ["labels", "annotations"] {
        let given = binding.metadata().get(field).and_then(Value::as_object);
        if let Some(given) = given.filter(|given| !given.is_empty()) {
            let given = given.clone();
            let own = pod.metadata_mut().entry(field).or_insert_with(|| json!({}));
            if let Some(own) = own.as_object_mut() {
                own.extend(given);
            }
        }
    }
    let fields = pod.fields_mut();
    if let Some(Value::Object(spec)) = fields.get_mut("spec") {
        spec.insert("nodeName".to_owned(), node.into());
    }
    let status = fields.entry("status").or_insert_with(|| json!({}));
    let Some(status) = status.as_object_mut() else {
        return;
    };
    status.remove("nominatedNodeName");
    let conditions = status.entry("conditions").or_insert_with(|| json!([]));
    let scheduled = json!({
        "type": "PodScheduled",
        "status": "True",
        "lastProbeTime": null,
        "lastTransitionTime": now,
    });
    if let Some(conditions) = conditions.as_array_mut() {
        match conditions
            .iter_mut()
            .find(|condition| condition["type"] == "PodScheduled")
        {
            Some(condition) if condition["status"] == "True" => {}
            Some(condition) => *condition = scheduled,
            None => conditions.push(scheduled),
        }
    }
}

/// True if disruption budgets do not count the pod: it is pending, completed or being deleted.
fn ignores_budgets(pod: &Object) -> bool {
    let phase = pod.at(&["status", "phase"]).and_then(Value::as_str);
    let runs = !matches!(phase, Some("Succeeded" | "Failed" | "Pending"));
    !runs || pod.deletion_timestamp().is_some()
}

fn is_unready(pod: &Object) -> bool {
    let conditions = pod.at(&["status", "conditions"]).and_then(Value::as_array);
    let mut conditions = conditions.into_iter().flatten();
    !conditions.any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
}

fn number(budget: &Object, field: &str) -> i64 {
    let number = budget.at(&["status", field]).and_then(Value::as_i64);
    number.unwrap_or_default()
}

/// True if a pod that is not ready may be evicted without using the budget (`unhealthyPodEvictionPolicy`).
fn may_lose_unready(budget: &Object) -> bool {
    let policy = budget.at(&["spec", "unhealthyPodEvictionPolicy"]);
    if policy.and_then(Value::as_str) == Some("AlwaysAllow") {
        return true;
    }
    let wanted = number(budget, "desiredHealthy");
    number(budget, "currentHealthy") >= wanted && wanted > 0
}

/// 429 if a budget allows no disruption.
fn check_budget(budget: &Object) -> Result<(), ApiError> {
    let refused = |why: String, retry_after_seconds: u32| {
        Err(ApiError::DisruptionNotAllowed {
            why,
            retry_after_seconds,
        })
    };
    let name = budget.name();
    if number(budget, "observedGeneration") < budget.generation() {
        let why = format!("The disruption budget {name} is still being processed by the server.");
        return refused(why, RETRY_SECONDS);
    }
    if number(budget, "disruptionsAllowed") < 0 {
        let resource = GroupResource::new("policy", "poddisruptionbudgets");
        return Err(ApiError::forbidden(
            &resource,
            name,
            "pdb disruptions allowed is negative",
        ));
    }
    if number(budget, "disruptionsAllowed") == 0 {
        let (wanted, is) = (
            number(budget, "desiredHealthy"),
            number(budget, "currentHealthy"),
        );
        let why = if is <= wanted {
            format!(
                "The disruption budget {name} needs {wanted} healthy pods and has {is} currently"
            )
        } else {
            format!("The disruption budget {name} does not allow evicting pods currently")
        };
        return refused(why, 0);
    }
    Ok(())
}

/// Sets the `DisruptionTarget` condition. Returns whether the status changed.
fn set_condition(pod: &mut Object, now: &str) -> bool {
    let condition = json!({
        "type": "DisruptionTarget",
        "status": "True",
        "lastProbeTime": null,
        "lastTransitionTime": now,
        "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting",
    });
    let status = pod.fields_mut().entry("status").or_insert(Value::Null);
    if !status.is_object() {
        *status = json!({});
    }
    if !status["conditions"].is_array() {
        status["conditions"] = json!([]);
    }
    let Some(conditions) = status["conditions"].as_array_mut() else {
        return false;
    };
    let has = |one: &Value| one["type"] == condition["type"];
    match conditions.iter_mut().find(|one| has(one)) {
        Some(old) if old["status"] == condition["status"] => return false,
        Some(old) => *old = condition,
        None => conditions.push(condition),
    }
    true
}

fn count_as_gone(budget: &mut Object, pod: &str, now: &str) {
    let left = number(budget, "disruptionsAllowed") - 1;
    let status = budget
        .fields_mut()
        .entry("status")
        .or_insert_with(|| json!({}));
    if !status.is_object() {
        *status = json!({});
    }
    status["disruptionsAllowed"] = left.into();
    if !status["disruptedPods"].is_object() {
        status["disruptedPods"] = json!({});
    }
    status["disruptedPods"][pod] = now.into();
}
