//! Objects from files: files of several documents, lists, directories of both, and standard input.

use std::path::{Path, PathBuf};

use lockstep_object::yaml;
use serde_json::Value;

use crate::document;
use crate::failure::Failure;

const EXTENSIONS: [&str; 3] = ["yaml", "yml", "json"];

/// An object, and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Manifest {
    pub(crate) path: PathBuf,
    pub(crate) value: Value,
}

impl Manifest {
    /// A failure that names the file.
    pub(crate) fn wrong(&self, what: &dyn std::fmt::Display) -> Failure {
        Failure::bad_input(format!("{}: {what}", self.path.display()))
    }
}

/// The objects of files, and of the files in directories; `-` is standard input.
pub(crate) fn read(places: &[PathBuf]) -> Result<Vec<Manifest>, Failure> {
    let mut manifests = Vec::new();
    for place in places {
        for path in files(place)? {
            read_file(&path, &mut manifests)?;
        }
    }
    Ok(manifests)
}

fn files(place: &Path) -> Result<Vec<PathBuf>, Failure> {
    let cannot =
        |error: &std::io::Error| Failure::bad_input(format!("{}: {error}", place.display()));
    if place == Path::new("-") {
        return Ok(vec![place.to_owned()]);
    }
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

fn read_file(path: &Path, manifests: &mut Vec<Manifest>) -> Result<(), Failure> {
    let wrong =
        |what: &dyn std::fmt::Display| Failure::bad_input(format!("{}: {what}", path.display()));
    let text = document::read_text(path)?;
    for part in documents(&text) {
        let value = yaml::decode(part.as_bytes())
            .map_err(|error| wrong(&error))?
            .value;
        let manifest = |value| Manifest {
            path: path.to_owned(),
            value,
        };
        match value {
            Value::Null => {}
            Value::Object(_) if value["kind"] == "List" => {
                let items = value["items"].as_array().cloned().unwrap_or_default();
                manifests.extend(items.into_iter().map(manifest));
            }
            Value::Object(_) => manifests.push(manifest(value)),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_dashes_part_documents_and_empty_ones_are_none() {
        let parts = documents("---\na: 1\n---\n\n---\nb: |\n  ----\n--- # c\nc: 3");
        assert_eq!(parts, ["a: 1\n", "b: |\n  ----\n", "c: 3\n"]);
    }
}
