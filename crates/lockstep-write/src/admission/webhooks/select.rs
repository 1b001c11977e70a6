//! Matches a webhook against a write, and selects the version of the resource to send.

use lockstep_admission::conditions::{Bindings, MatchResult};
use lockstep_admission::rules::{self, MatchedVersion, Target};
use lockstep_cel::Opaque;
use lockstep_cel::authorizer::ResourceAttributes;
use lockstep_object::{ApiError, GroupResource, Map, Object, Value};

use super::super::super::WritePath;
use super::super::super::environment::Observation;
use super::super::authorizer::authorization;
use super::super::{Attributes, Operation};
use super::hook::{FailurePolicy, Hook};
use super::review::Phase;
use super::view::{View, is_of_namespace};
use lockstep_catalog::Served;

/// Version of the resource to send to the webhook; `None` if it does not match.
pub(super) async fn select(
    path: &WritePath<'_>,
    hook: &Hook,
    phase: Phase,
    view: &mut View<'_>,
) -> Result<Option<Served>, ApiError> {
    let attributes = view.attributes();
    let Some(matched_version) = matched(path, hook, attributes) else {
        return Ok(None);
    };
    let internal = |why: String| ApiError::internal(why);
    if hook.namespaces.is_selective() {
        let labels = namespace_labels(path, view).await?;
        let is_selected = |labels| hook.namespaces.selects(labels);
        if !labels
            .as_ref()
            .map_or(Ok(true), is_selected)
            .map_err(internal)?
        {
            return Ok(None);
        }
    }
    let is_selected = hook.objects.selects_objects(view.object(), view.old());
    if !is_selected.map_err(internal)? {
        return Ok(None);
    }
    if hook.conditions.is_empty() {
        return Ok(Some(matched_version));
    }
    view.turn(path.io, &matched_version).await?;
    let is_called = meets_conditions(path, hook, phase, view)?;
    Ok(is_called.then_some(matched_version))
}

/// Version of the resource that a rule matches: the requested one, else an equivalent one under `matchPolicy:
/// Equivalent`.
fn matched(path: &WritePath<'_>, hook: &Hook, attributes: &Attributes<'_>) -> Option<Served> {
    let requested = &attributes.request.served;
    let mut others = Vec::new();
    let matched = rules::matched_version(
        &hook.rules,
        hook.match_policy,
        &target(attributes, requested),
        || {
            others = path.equivalents(requested, attributes.subresource);
            others
                .iter()
                .map(|served| target(attributes, served))
                .collect()
        },
    );
    match matched? {
        MatchedVersion::Requested => Some(requested.clone()),
        MatchedVersion::Equivalent(index) => others.get(index).cloned(),
    }
}

fn target<'t>(attributes: &'t Attributes<'_>, served: &'t Served) -> Target<'t> {
    let request = attributes.request;
    Target {
        operation: attributes.operation.as_str(),
        group: &served.resource.group,
        version: &served.resource.versions[served.version].name,
        resource: &served.resource.plural,
        subresource: &request.route.subresource,
        name: attributes.name,
        is_namespaced: !is_of_namespace(request) && !request.route.namespace.is_empty(),
    }
}

/// Labels of the request's namespace, or of the Namespace object itself. `None` for cluster-scoped resources.
async fn namespace_labels(
    path: &WritePath<'_>,
    view: &View<'_>,
) -> Result<Option<Map<String, Value>>, ApiError> {
    let attributes = view.attributes();
    let request = attributes.request;
    let is_whole = attributes.subresource.is_none() && attributes.operation != Operation::Delete;
    if let Some(object) = view
        .object()
        .filter(|_| is_of_namespace(request) && is_whole)
    {
        return Ok(Some(object.labels().clone()));
    }
    let name = attributes.namespace();
    if name.is_empty() {
        return Ok(None);
    }
    let labels = |namespace: (Object, _)| Some(namespace.0.labels().clone());
    if let Some(known) = path.cached("", "namespaces", name) {
        return Ok(labels(known));
    }
    let stored = path.read_internally("", "namespaces", name).await;
    let resource = GroupResource::new("", "namespaces");
    let stored = stored.ok_or_else(|| ApiError::not_found(&resource, name))?;
    Ok(labels(stored))
}

/// True if all match conditions hold. On an evaluation error, `failurePolicy` decides between 403 and skipping the
/// webhook.
fn meets_conditions(
    path: &WritePath<'_>,
    hook: &Hook,
    phase: Phase,
    view: &View<'_>,
) -> Result<bool, ApiError> {
    let attributes = view.attributes();
    let request = attributes.request;
    let resource = &request.served.resource;
    let authorization = authorization(path.env.authorizer().clone(), request.user);
    let began = path.env.elapsed();
    let check = authorization.resource(ResourceAttributes {
        group: resource.group.to_string(),
        resource: resource.plural.to_string(),
        subresource: request.route.subresource.clone(),
        namespace: attributes.namespace().to_owned(),
        name: attributes.name.to_owned(),
        ..ResourceAttributes::default()
    });
    let evaluation = hook.conditions.evaluate(&Bindings {
        object: view.value(),
        old_object: view.old_value(),
        request: &view.request(),
        namespace: &Value::Null,
        params: &Value::Null,
        authorizer: &Opaque::Authorizer(authorization.clone()),
        check: &Opaque::ResourceCheck(check),
    });
    let took = path.env.elapsed().saturating_sub(began);
    let (name, operation) = (&*hook.name, attributes.operation.as_str());
    path.env.observe(&Observation::MatchConditions {
        name,
        phase: phase.label(),
        operation,
        errors: evaluation.errors,
        took,
    });
    match evaluation.result {
        MatchResult::Matches => return Ok(true),
        MatchResult::Error(why) if hook.failure_policy == FailurePolicy::Fail => {
            let resource = resource.group_resource();
            return Err(ApiError::forbidden(&resource, attributes.name, why));
        }
        MatchResult::DoesNotMatch(_) | MatchResult::Error(_) => {}
    }
    path.env.observe(&Observation::Excluded {
        name,
        phase: phase.label(),
        operation,
    });
    Ok(false)
}
