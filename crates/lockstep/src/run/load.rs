//! Objects from files, created before the command starts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use lockstep_object::yaml;
use serde_json::Value;

use crate::document;
use crate::failure::{Exit, Failure};
use crate::remote::Access;

const EXTENSIONS: [&str; 3] = ["yaml", "yml", "json"];

/// What the files hold, in the order in which it is created.
pub(super) struct Objects(Vec<Object>);

struct Object {
    /// Where it stands, for the error.
    path: PathBuf,
    value: Value,
}

/// Reads everything, so that nothing is begun if something cannot be read.
pub(super) fn read(definitions: &[PathBuf], others: &[PathBuf]) -> Result<Objects, Failure> {
    let mut objects = Vec::new();
    for place in definitions.iter().chain(others) {
        for path in files(place)? {
            read_file(&path, &mut objects)?;
        }
    }
    // A stable sort: what the others are made of comes first, and no other order changes.
    objects.sort_by_key(|object| match object.value["kind"].as_str() {
        Some("CustomResourceDefinition") => 0,
        Some("Namespace") => 1,
        _ => 2,
    });
    Ok(Objects(objects))
}

fn files(place: &Path) -> Result<Vec<PathBuf>, Failure> {
    let cannot =
        |error: &std::io::Error| Failure::bad_input(format!("{}: {error}", place.display()));
    let about = std::fs::metadata(place).map_err(|error| cannot(&error))?;
    if !about.is_dir() {
        return Ok(vec![place.to_owned()]);
    }
    let mut found = Vec::new();
    for entry in std::fs::read_dir(place).map_err(|error| cannot(&error))? {
        let path = entry.map_err(|error| cannot(&error))?.path();
        let extension = path.extension().and_then(|text| text.to_str());
        if extension.is_some_and(|text| EXTENSIONS.contains(&text)) {
            found.push(path);
        }
    }
    if found.is_empty() {
        let place = place.display();
        let message = format!("{place} has no file that ends in .yaml, .yml or .json");
        return Err(Failure::bad_input(message));
    }
    found.sort();
    Ok(found)
}

fn read_file(path: &Path, objects: &mut Vec<Object>) -> Result<(), Failure> {
    let wrong =
        |what: &dyn std::fmt::Display| Failure::bad_input(format!("{}: {what}", path.display()));
    let text = document::read_text(path)?;
    for part in documents(&text) {
        let value = yaml::decode(part.as_bytes())
            .map_err(|error| wrong(&error))?
            .value;
        match value {
            Value::Null => {}
            Value::Object(_) if value["kind"] == "List" => {
                let items = value["items"].as_array().cloned().unwrap_or_default();
                objects.extend(items.into_iter().map(|value| Object {
                    path: path.to_owned(),
                    value,
                }));
            }
            Value::Object(_) => objects.push(Object {
                path: path.to_owned(),
                value,
            }),
            _ => return Err(wrong(&"expected objects")),
        }
    }
    Ok(())
}

/// The documents of a file, which lines of three dashes part.
fn documents(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    for line in text.lines() {
        if line.trim_end() == "---" || line.starts_with("--- ") {
            parts.push(String::new());
        } else if let Some(part) = parts.last_mut() {
            part.push_str(line);
            part.push('\n');
        }
    }
    parts.retain(|part| !part.trim().is_empty());
    parts
}

impl Objects {
    /// Creates them one after the other. A definition is in force when its creation is answered.
    pub(super) fn create(&self, access: &Access) -> Result<(), Failure> {
        let mut known = BTreeMap::new();
        for object in &self.0 {
            object.create(access, &mut known)?;
        }
        Ok(())
    }
}

/// The resources of each group and version that was asked about.
type Known = BTreeMap<String, Value>;

impl Object {
    fn create(&self, access: &Access, known: &mut Known) -> Result<(), Failure> {
        let path = self.resource_path(access, known)?;
        let (code, answer) = access.post(&path, &self.value)?;
        if matches!(code, 200..300) {
            return Ok(());
        }
        let said = answer["message"].as_str().unwrap_or_default();
        Err(self.wrong(&format!("the server answered {code}: {said}")))
    }

    fn resource_path(&self, access: &Access, known: &mut Known) -> Result<String, Failure> {
        let text = |key: &str| self.value[key].as_str().unwrap_or_default();
        let (version, kind) = (text("apiVersion"), text("kind"));
        if version.is_empty() || kind.is_empty() {
            return Err(self.wrong("an object has no apiVersion or no kind"));
        }
        let root = if version.contains('/') {
            format!("/apis/{version}")
        } else {
            format!("/api/{version}")
        };
        if !known.contains_key(&root) {
            let list = access.get(&root).unwrap_or_default();
            let list = serde_json::from_slice(&list).unwrap_or_default();
            known.insert(root.clone(), list);
        }
        let resources = known[&root]["resources"].as_array();
        let resource = resources.into_iter().flatten().find(|resource| {
            let is_whole = resource["name"]
                .as_str()
                .is_some_and(|name| !name.contains('/'));
            resource["kind"] == kind && is_whole
        });
        let resource = resource
            .ok_or_else(|| self.wrong(&format!("the server has no {kind} in {version}")))?;
        let name = resource["name"].as_str().unwrap_or_default();
        if resource["namespaced"] != true {
            return Ok(format!("{root}/{name}"));
        }
        let namespace = self.value["metadata"]["namespace"].as_str();
        Ok(format!(
            "{root}/namespaces/{}/{name}",
            namespace.unwrap_or("default")
        ))
    }

    fn wrong(&self, what: &str) -> Failure {
        let message = format!("{}: {what}", self.path.display());
        Failure::of_server(Exit::BadInput, message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_dashes_part_documents_and_empty_ones_are_none() {
        let parts = documents("---\na: 1\n---\n\n---\nb: |\n  ----\n--- # c\nc: 3");
        assert_eq!(parts, ["a: 1\n", "b: |\n  ----\n", "c: 3\n"]);
    }
}
