//! Definitions in files.

use std::path::PathBuf;

use lockstep_cel::Version;
use lockstep_fieldgate::check_gates;
use lockstep_object::Object;
use lockstep_schema::{check_definition, default_definition};

use crate::failure::{Exit, Failure};
use crate::manifests::{self, Manifest};

/// The definitions in files, in their order; what else is in there is left out.
pub(super) fn read(places: &[PathBuf]) -> Result<Vec<Object>, Failure> {
    let manifests = manifests::read(places)?;
    let definitions = manifests.into_iter().filter(is_definition);
    let definitions: Vec<Object> = definitions
        .filter_map(|manifest| Object::from_value(manifest.value).ok())
        .collect();
    if definitions.is_empty() {
        let places: Vec<String> = places
            .iter()
            .map(|place| place.display().to_string())
            .collect();
        let message = format!("{}: no CustomResourceDefinition in it", places.join(", "));
        return Err(Failure::bad_input(message));
    }
    Ok(definitions)
}

fn is_definition(manifest: &Manifest) -> bool {
    let is_group = manifest.value["apiVersion"] == "apiextensions.k8s.io/v1";
    is_group && manifest.value["kind"] == "CustomResourceDefinition"
}

/// Defaults and validates a CRD as the API server does on create; returns its errors as one failure.
pub(super) fn refusal(definition: &Object) -> Option<Failure> {
    let mut filled = definition.clone();
    default_definition(&mut filled);
    let mut errors = check_definition(&filled, None, Version::LATEST);
    errors.append(check_gates(&filled, None));
    let causes: Vec<String> = errors.iter().map(ToString::to_string).collect();
    let told = match &*causes {
        [] => return None,
        [one] => one.clone(),
        several => format!("[{}]", several.join(", ")),
    };
    let message = format!("{} is not a valid definition: {told}", definition.name());
    Some(
        Failure::of_causes(Exit::BadInput, &message, causes)
            .with_help("`lockstep crd gates lint -f FILE` shows all that is wrong, line by line"),
    )
}
