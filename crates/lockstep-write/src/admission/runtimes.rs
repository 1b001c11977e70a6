//! `RuntimeClass` admission: copies the class's pod overhead and scheduling constraints into pods that name it.

use lockstep_catalog::SpecialKind;
use lockstep_object::{ApiError, Map, Object, Value};

use super::super::WritePath;
use super::Attributes;

const GROUP: &str = "node.k8s.io";
const CLASSES: &str = "runtimeclasses";
const DIFFERS: &str = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead";
const ALONE: &str =
    "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead";

/// Applies the RuntimeClass of a new pod: overhead, node selector and tolerations.
pub(super) async fn fill(
    path: &WritePath<'_>,
    attributes: &Attributes<'_>,
    pod: &mut Object,
) -> Result<(), ApiError> {
    let Some(class) = class_of(path, attributes, pod).await? else {
        return Ok(());
    };
    let name = pod.name().to_owned();
    let refused = |why: &str| refusal(attributes, &name, why);
    let Some(Value::Object(spec)) = pod.fields_mut().get_mut("spec") else {
        return Ok(());
    };
    if let Some(costs) = overhead(&class) {
        let own = spec.get("overhead").filter(|own| !is_empty(own));
        if own.is_some_and(|own| own != costs) {
            return Err(refused(DIFFERS));
        }
        spec.insert("overhead".to_owned(), costs.clone());
    }
    let selector = class.at(&["scheduling", "nodeSelector"]);
    if let Some(Value::Object(selector)) = selector {
        select(spec, selector).map_err(|why| refused(&why))?;
    }
    let tolerations = class.at(&["scheduling", "tolerations"]);
    if let Some(Value::Array(more)) = tolerations {
        let all = spec.entry("tolerations").or_insert(Value::Null);
        let own = all.as_array().cloned().unwrap_or_default();
        let more = more.iter().filter(|more| !own.contains(more));
        *all = own.iter().chain(more).cloned().collect();
    }
    Ok(())
}

/// Rejects a new pod whose `overhead` differs from that of its RuntimeClass.
pub(super) async fn check(
    path: &WritePath<'_>,
    attributes: &Attributes<'_>,
    pod: &Object,
) -> Result<(), ApiError> {
    if !attributes.creates(SpecialKind::Pod) {
        return Ok(());
    }
    let class = class_of(path, attributes, pod).await?;
    let own = pod.at(&["spec", "overhead"]).filter(|own| !own.is_null());
    let why = match (class.as_ref().and_then(overhead), own) {
        (Some(costs), own) if own != Some(costs) => DIFFERS,
        (None, Some(_)) => ALONE,
        _ => return Ok(()),
    };
    Err(refusal(attributes, pod.name(), why))
}

/// RuntimeClass named by a new pod.
async fn class_of(
    path: &WritePath<'_>,
    attributes: &Attributes<'_>,
    pod: &Object,
) -> Result<Option<Object>, ApiError> {
    let named = pod.at(&["spec", "runtimeClassName"]);
    let Some(named) = named.and_then(Value::as_str) else {
        return Ok(None);
    };
    if !attributes.creates(SpecialKind::Pod) {
        return Ok(None);
    }
    match path.read_internally(GROUP, CLASSES, named).await {
        Some((class, _)) => Ok(Some(class)),
        None => {
            let why = format!("pod rejected: RuntimeClass {named:?} not found");
            Err(refusal(attributes, pod.name(), &why))
        }
    }
}

fn overhead(class: &Object) -> Option<&Value> {
    class
        .at(&["overhead", "podFixed"])
        .filter(|costs| costs.is_object())
}

fn is_empty(value: &Value) -> bool {
    value.as_object().is_none_or(Map::is_empty)
}

/// Merges the class's node selector into the pod's; conflicting values are an error.
fn select(spec: &mut Map<String, Value>, selector: &Map<String, Value>) -> Result<(), String> {
    let own = spec.entry("nodeSelector").or_insert(Value::Null);
    if !own.is_object() {
        *own = Value::Object(Map::new());
    }
    for (key, value) in selector {
        let other = own.get(key).filter(|own| *own != value);
        if let Some(other) = other.and_then(Value::as_str) {
            let value = value.as_str().unwrap_or_default();
            return Err(format!(
                "conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}; pod.spec.nodeSelector[{key}] = {other}"
            ));
        }
        own[key] = value.clone();
    }
    Ok(())
}

fn refusal(attributes: &Attributes<'_>, name: &str, why: &str) -> ApiError {
    let resource = attributes.request.served.resource.group_resource();
    ApiError::forbidden(&resource, name, why)
}
