//! Conversion of resources to the input of the OpenAPI generator.

use std::sync::Arc;

use lockstep_catalog::VersionIndex;
use lockstep_fieldgate::{GateList, publish};
use lockstep_object::Object;
use lockstep_openapi::{Part, Resource as Described, Source};
use serde_json::Value;

use crate::cache::BucketKey;
use crate::crd::{self, Definition, FieldGates};
use crate::resources::{Api, Origin, Resource, patch_types};
use crate::route::Verb;

/// Describes resources in one version each, with the schemas of their CRDs. A resource whose CRD is already deleted is
/// omitted.
pub(super) fn describe<'a>(
    api: &Api,
    resources: &'a [(Arc<Resource>, VersionIndex)],
) -> Vec<Described<'a>> {
    let described = resources.iter().filter_map(|(resource, version)| {
        let source = match resource.origin {
            Origin::BuiltIn => Source::BuiltIn,
            Origin::Custom => Source::Custom(schema(api, resource, *version)?),
            Origin::Own => Source::Custom(resource.strategy.schema()?.clone()),
        };
        let version = &resource.versions[*version];
        let parts = version.parts().iter().map(|part| Part {
            name: part.name(),
            verbs: verbs(part.verbs()),
            kind: part.own_kind(),
        });
        Some(Described {
            group: &resource.group,
            version: &version.name,
            plural: &resource.plural,
            kind: &resource.kind,
            list_kind: &resource.list_kind,
            is_namespaced: resource.is_namespaced(),
            verbs: verbs(resource.verbs),
            parts: parts.collect(),
            patch_types: patch_types(resource.origin),
            source,
        })
    });
    described.collect()
}

fn verbs(verbs: &[Verb]) -> Vec<&'static str> {
    verbs.iter().map(|verb| verb.as_str()).collect()
}

/// OpenAPI schema of a custom resource, from its CRD.
fn schema(api: &Api, resource: &Resource, version: VersionIndex) -> Option<Value> {
    let bucket = api.cache().bucket(&BucketKey::new(crd::BUCKET));
    let name = format!("{}.{}", resource.plural, resource.group);
    let stored = bucket.snapshot().get(name.as_bytes())?.clone();
    let crd = Object::read(&stored.value)?;
    let name = &*resource.versions[version].name;
    let at = Definition::of(&crd)
        .versions()
        .position(|version| version.name() == name)?;
    let is_known =
        version == resource.encoding_version().index() || resource.strategy.converter().is_none();
    let is_gated = api.field_gates() == FieldGates::On && is_known;
    let gates = is_gated.then(|| GateList::of(&crd));
    let mut crd = crd.into_value();
    let place = format!("/spec/versions/{at}/schema/openAPIV3Schema");
    let mut schema = crd.pointer_mut(&place)?.take();
    if let Some(gates) = gates {
        publish(&mut schema, &gates, &resource.group);
    }
    schema.is_object().then_some(schema)
}
