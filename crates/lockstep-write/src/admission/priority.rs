//! `Priority` admission: sets a pod's priority from its PriorityClass.

use lockstep_catalog::SpecialKind;
use lockstep_object::{ApiError, Object, Value};

use super::super::WritePath;
use super::{Attributes, classes};

const GROUP: &str = "scheduling.k8s.io";
const CLASSES: &str = "priorityclasses";
/// Default `preemptionPolicy` of pods and priority classes.
const PREEMPT: &str = "PreemptLowerPriority";

/// Sets `priority`, `priorityClassName` and `preemptionPolicy` of a new pod from its class or the global default.
pub(super) async fn resolve(
    path: &WritePath<'_>,
    attributes: &Attributes<'_>,
    pod: &mut Object,
) -> Result<(), ApiError> {
    if !attributes.creates(SpecialKind::Pod) {
        return Ok(());
    }
    let resource = attributes.request.served.resource.group_resource();
    let name = pod.name().to_owned();
    let refused = |why: String| Err(ApiError::forbidden(&resource, &name, why));
    let named = pod
        .at(&["spec", "priorityClassName"])
        .and_then(Value::as_str);
    let named = named.unwrap_or_default();
    let class = if named.is_empty() {
        default_class(path)
    } else {
        match path.read_internally(GROUP, CLASSES, named).await {
            Some((class, _)) => Some(class),
            None => return refused(format!("no PriorityClass with name {named} was found")),
        }
    };
    let value = class.as_ref().and_then(|class| class.at(&["value"]));
    let value = value.and_then(Value::as_i64).unwrap_or(0);
    let given = pod
        .at(&["spec", "priority"])
        .and_then(Value::as_i64)
        .unwrap_or(0);
    if given != 0 && given != value {
        return refused(format!(
            "the integer value of priority ({given}) must not be provided in pod spec; priority admission controller computed {value} from the given PriorityClass name"
        ));
    }
    let policy = class
        .as_ref()
        .and_then(|class| class.at(&["preemptionPolicy"]));
    let policy = policy.and_then(Value::as_str).unwrap_or(PREEMPT).to_owned();
    let given = pod
        .at(&["spec", "preemptionPolicy"])
        .and_then(Value::as_str)
        .unwrap_or_default();
    // Defaulting has already set an absent policy to `PREEMPT`.
    if ![PREEMPT, "", &policy].contains(&given) {
        return refused(format!(
            "the string value of PreemptionPolicy ({given}) must not be provided in pod spec; priority admission controller computed {policy} from the given PriorityClass name"
        ));
    }
    let Some(class) = class else {
        return Ok(());
    };
    let name = class.name().to_owned();
    if let Some(Value::Object(spec)) = pod.fields_mut().get_mut("spec") {
        spec.insert("priority".to_owned(), value.into());
        spec.insert("priorityClassName".to_owned(), name.into());
        spec.insert("preemptionPolicy".to_owned(), policy.into());
    }
    Ok(())
}

/// PriorityClass with `globalDefault`; the one with the lowest value if there are several.
fn default_class(path: &WritePath<'_>) -> Option<Object> {
    let classes = classes::known(path, GROUP, CLASSES).into_iter();
    let defaults = classes.filter(|class| class.at(&["globalDefault"]) == Some(&true.into()));
    defaults.min_by_key(|class| class.at(&["value"]).and_then(Value::as_i64))
}
