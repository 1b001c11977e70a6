//! What a new object gets from other objects, or from who makes it.

use lockstep_builtins::limits;
use lockstep_object::{Object, Status, Value};
use serde_json::json;

use super::{Api, Request};
use crate::cache::Scope;

const SCHEDULING: &str = "scheduling.k8s.io";
const CLASSES: &str = "priorityclasses";

/// A class that is taken if nobody says which.
struct Choice {
    /// The classes.
    group: &'static str,
    plural: &'static str,
    /// What marks the class.
    mark: &'static str,
    /// Where the object names its class, in its spec.
    field: &'static str,
    /// How it was named before there was a field.
    annotation: &'static str,
}

const STORAGE_CLASS: Choice = Choice {
    group: "storage.k8s.io",
    plural: "storageclasses",
    mark: "storageclass.kubernetes.io/is-default-class",
    field: "storageClassName",
    annotation: "volume.beta.kubernetes.io/storage-class",
};

const INGRESS_CLASS: Choice = Choice {
    group: "networking.k8s.io",
    plural: "ingressclasses",
    mark: "ingressclass.kubernetes.io/is-default-class",
    field: "ingressClassName",
    annotation: "kubernetes.io/ingress.class",
};

impl Api {
    /// Gives a new object what follows from others. Refuses one that names what is not there.
    pub(super) async fn admit(
        &self,
        request: &Request<'_>,
        object: &mut Object,
    ) -> Result<(), Status> {
        let resource = &request.served.resource;
        match (&*resource.group, &*resource.plural) {
            ("", "pods") => {
                self.prioritize(request, object).await?;
                let ranges = self.limit_ranges(object.namespace()).await?;
                limits::fill(object, &ranges);
                let refused = limits::check_pod(object.as_value(), &ranges);
                refuse(request, object, &refused)
            }
            ("networking.k8s.io", "ingresses") => {
                self.choose(object, &INGRESS_CLASS);
                Ok(())
            }
            ("", "persistentvolumeclaims") => {
                let ranges = self.limit_ranges(object.namespace()).await?;
                self.choose(object, &STORAGE_CLASS);
                let refused = limits::check_claim(object.as_value(), &ranges);
                refuse(request, object, &refused)
            }
            ("certificates.k8s.io", "certificatesigningrequests") => {
                sign(request, object);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// The limit ranges of a namespace, also those that were just made.
    async fn limit_ranges(&self, namespace: &str) -> Result<Vec<Value>, Status> {
        let registry = self.registry();
        let Some(resource) = registry.resource("", "limitranges") else {
            return Ok(Vec::new());
        };
        if self.cache.caught_up().await.is_err() {
            let why = "the store is not available";
            return Err(Status::service_unavailable(why).with_retry_after(1));
        }
        let snapshot = self.cache.bucket(&resource.bucket).snapshot();
        let scope = Scope::Namespace(namespace.into());
        let ranges = snapshot.objects(&scope, None);
        let ranges = ranges
            .filter_map(|stored| serde_json::from_slice(&stored.value).ok())
            .collect();
        Ok(ranges)
    }

    /// The priority of a pod is that of its class, or of the class for pods without one.
    async fn prioritize(&self, request: &Request<'_>, pod: &mut Object) -> Result<(), Status> {
        let resource = request.served.resource.group_resource();
        let name = pod.name().to_owned();
        let refused = |why: String| Err(Status::forbidden(&resource, &name, &why));
        let named = pod
            .at(&["spec", "priorityClassName"])
            .and_then(Value::as_str);
        let named = named.unwrap_or_default();
        let class = if named.is_empty() {
            self.default_class()
        } else {
            match self.read_internally(SCHEDULING, CLASSES, named).await {
                Some((class, _)) => Some(class),
                None => return refused(format!("no PriorityClass with name {named} was found")),
            }
        };
        let Some(class) = class else {
            return Ok(());
        };
        let value = class.at(&["value"]).and_then(Value::as_i64).unwrap_or(0);
        let given = pod
            .at(&["spec", "priority"])
            .and_then(Value::as_i64)
            .unwrap_or(0);
        if given != 0 && given != value {
            return refused(format!(
                "the integer value of priority ({given}) must not be provided in pod spec; priority admission controller computed {value} from the given PriorityClass name"
            ));
        }
        let policy = class.at(&["preemptionPolicy"]).cloned();
        let name = class.name().to_owned();
        if let Some(Value::Object(spec)) = pod.fields_mut().get_mut("spec") {
            spec.insert("priority".to_owned(), value.into());
            spec.insert("priorityClassName".to_owned(), name.into());
            if let Some(policy) = policy {
                spec.insert("preemptionPolicy".to_owned(), policy);
            }
        }
        Ok(())
    }

    /// Names the class that is taken if nobody says which; of several, the newest.
    fn choose(&self, object: &mut Object, choice: &Choice) {
        let is_said = object
            .at(&["spec", choice.field])
            .is_some_and(Value::is_string)
            || object.annotation(choice.annotation).is_some();
        if is_said {
            return;
        }
        let classes = self.known(choice.group, choice.plural).into_iter();
        let marked = classes.filter(|class| class.annotation(choice.mark) == Some("true"));
        let made = |class: &Object| class.creation_timestamp().to_owned();
        let newest = marked.max_by(|a, b| made(a).cmp(&made(b)).then(b.name().cmp(a.name())));
        let spec = object.fields_mut().get_mut("spec");
        if let (Some(class), Some(Value::Object(spec))) = (newest, spec) {
            spec.insert(choice.field.to_owned(), class.name().into());
        }
    }

    /// All objects of a resource at the cluster's scope, as far as they are known.
    fn known(&self, group: &str, plural: &str) -> Vec<Object> {
        let registry = self.registry();
        let Some(resource) = registry.resource(group, plural) else {
            return Vec::new();
        };
        let snapshot = self.cache.bucket(&resource.bucket).snapshot();
        let objects = snapshot.objects(&Scope::All, None);
        objects
            .filter_map(|stored| {
                let value: Value = serde_json::from_slice(&stored.value).ok()?;
                Object::from_value(value).ok()
            })
            .collect()
    }

    /// The class for pods that name none; of several, the lowest.
    fn default_class(&self) -> Option<Object> {
        let classes = self.known(SCHEDULING, CLASSES).into_iter();
        let defaults = classes.filter(|class| class.at(&["globalDefault"]) == Some(&true.into()));
        defaults.min_by_key(|class| class.at(&["value"]).and_then(Value::as_i64))
    }
}

/// 403 with everything that is wrong.
fn refuse(request: &Request<'_>, object: &Object, problems: &[String]) -> Result<(), Status> {
    let why = match problems {
        [] => return Ok(()),
        [one] => one.clone(),
        several => format!("[{}]", several.join(", ")),
    };
    let resource = request.served.resource.group_resource();
    Err(Status::forbidden(&resource, object.name(), &why))
}

/// A request for a certificate tells who asks.
fn sign(request: &Request<'_>, object: &mut Object) {
    let user = request.user;
    let spec = object
        .fields_mut()
        .entry("spec")
        .or_insert_with(|| json!({}));
    let Some(spec) = spec.as_object_mut() else {
        return;
    };
    for field in ["username", "uid", "groups", "extra"] {
        spec.remove(field);
    }
    spec.insert("username".to_owned(), (&*user.name).into());
    if !user.groups.is_empty() {
        let groups = user.groups.iter().map(|group| Value::from(&**group));
        spec.insert("groups".to_owned(), groups.collect());
    }
}
