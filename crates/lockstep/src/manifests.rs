//! Objects from files: files of several documents, lists, directories of both, and standard input.

use std::path::{Path, PathBuf};
use std::sync::Arc;

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
    pub(crate) source: Source,
}

/// Text of the document that an object stands in.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) text: Arc<str>,
    /// Lines of the file before the document.
    pub(crate) lines_before: usize,
    /// Position in a list of objects.
    pub(crate) item: Option<usize>,
    /// Lines of the file with a key that was given before, and what is said about it. The last one counts.
    pub(crate) duplicates: Arc<[(usize, String)]>,
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

/// The files of a place: those of a directory that have one of the extensions, or the place itself.
pub(crate) fn files(place: &Path) -> Result<Vec<PathBuf>, Failure> {
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
    for (lines_before, part) in documents(&text) {
        let decoded = yaml::decode(part.as_bytes()).map_err(|error| wrong(&error))?;
        let value = decoded.value;
        let duplicates = decoded.duplicates.iter();
        let duplicates: Arc<[_]> = duplicates.map(|text| moved(text, lines_before)).collect();
        let text: Arc<str> = part.into();
        let manifest = |value, item| Manifest {
            path: path.to_owned(),
            value,
            source: Source {
                text: Arc::clone(&text),
                lines_before,
                item,
                duplicates: Arc::clone(&duplicates),
            },
        };
        match value {
            Value::Null => {}
            Value::Object(_) if value["kind"] == "List" => {
                let items = value["items"].as_array().cloned().unwrap_or_default();
                let items = items.into_iter().enumerate();
                manifests.extend(items.map(|(at, item)| manifest(item, Some(at))));
            }
            Value::Object(_) => manifests.push(manifest(value, None)),
            _ => return Err(wrong(&"expected objects")),
        }
    }
    Ok(())
}

/// The line in the file of `line 5: key "a" already set in map`, which counts from the start of the document.
fn moved(text: &str, lines_before: usize) -> (usize, String) {
    let numbered = text
        .strip_prefix("line ")
        .and_then(|rest| rest.split_once(": "));
    let parsed = numbered.and_then(|(line, what)| Some((line.parse::<usize>().ok()?, what)));
    match parsed {
        Some((line, what)) => (line + lines_before, what.to_owned()),
        None => (lines_before + 1, text.to_owned()),
    }
}

/// The documents of a file, which lines of three dashes part, each with the number of lines before it.
pub(crate) fn documents(text: &str) -> Vec<(usize, String)> {
    let mut parts = vec![(0, String::new())];
    for (at, line) in text.lines().enumerate() {
        if line.trim_end() == "---" || line.starts_with("--- ") {
            parts.push((at + 1, String::new()));
        } else if let Some((_, part)) = parts.last_mut() {
            part.push_str(line);
            part.push('\n');
        }
    }
    parts.retain(|(_, part)| !part.trim().is_empty());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_dashes_part_documents_and_empty_ones_are_none() {
        let parts = documents("---\na: 1\n---\n\n---\nb: |\n  ----\n--- # c\nc: 3");
        let expected = [(1, "a: 1\n"), (5, "b: |\n  ----\n"), (8, "c: 3\n")];
        assert_eq!(
            parts,
            expected.map(|(before, text)| (before, text.to_owned()))
        );
    }
}
