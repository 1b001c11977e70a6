//! `DefaultStorageClass` and `DefaultIngressClass`: set the default class on objects that name none.

use lockstep_catalog::SpecialKind;
use lockstep_object::{Object, Value};

use super::super::WritePath;
use super::{Attributes, Plugin};

/// Kind whose objects get a default class.
struct Choice {
    /// Kind of the objects.
    of: SpecialKind,
    /// Group and plural of the class resource.
    classes: (&'static str, &'static str),
    /// Annotation that marks the default class.
    mark: &'static str,
    /// Field of `spec` that names the class.
    field: &'static str,
    /// Legacy annotation that names the class in place of the field.
    annotation: &'static str,
}

const STORAGE_CLASS: Choice = Choice {
    of: SpecialKind::PersistentVolumeClaim,
    classes: ("storage.k8s.io", "storageclasses"),
    mark: "storageclass.kubernetes.io/is-default-class",
    field: "storageClassName",
    annotation: "volume.beta.kubernetes.io/storage-class",
};

const INGRESS_CLASS: Choice = Choice {
    of: SpecialKind::Ingress,
    classes: ("networking.k8s.io", "ingressclasses"),
    mark: "ingressclass.kubernetes.io/is-default-class",
    field: "ingressClassName",
    annotation: "kubernetes.io/ingress.class",
};

/// Sets the default class on a new object; the newest one if several are marked as default.
pub(super) fn choose(
    path: &WritePath<'_>,
    plugin: Plugin,
    attributes: &Attributes<'_>,
    object: &mut Object,
) {
    let choice = match plugin {
        Plugin::DefaultIngressClass => &INGRESS_CLASS,
        _ => &STORAGE_CLASS,
    };
    if !attributes.creates(choice.of) {
        return;
    }
    let is_said = object
        .at(&["spec", choice.field])
        .is_some_and(Value::is_string)
        || object.annotation(choice.annotation).is_some();
    if is_said {
        return;
    }
    let classes = known(path, choice.classes.0, choice.classes.1).into_iter();
    let marked = classes.filter(|class| class.annotation(choice.mark) == Some("true"));
    let made = |class: &Object| class.creation_timestamp().to_owned();
    let newest = marked.max_by(|a, b| made(a).cmp(&made(b)).then(b.name().cmp(a.name())));
    let spec = object.fields_mut().get_mut("spec");
    if let (Some(class), Some(Value::Object(spec))) = (newest, spec) {
        spec.insert(choice.field.to_owned(), class.name().into());
    }
}

/// All cached objects of a cluster-scoped resource.
pub(super) fn known(path: &WritePath<'_>, group: &str, plural: &str) -> Vec<Object> {
    let registry = path.registry();
    let Some(resource) = registry.resource(group, plural) else {
        return Vec::new();
    };
    let objects = path.env.cached_list(&resource.bucket, None).into_iter();
    objects.filter_map(|stored| stored.object()).collect()
}
