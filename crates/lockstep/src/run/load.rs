//! Objects from files, created before the command starts.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::Value;

use crate::failure::Failure;
use crate::manifests::{self, Manifest};
use crate::output;
use crate::remote::{Access, Reply};

/// Most warnings that are printed.
const WARNINGS_SHOWN_MAX: usize = 5;

/// Manifests to create, in order of creation.
pub(super) struct Objects(Vec<Manifest>);

/// Reads all manifests before the server is started, so that a bad file fails early.
pub(super) fn read(definitions: &[PathBuf], others: &[PathBuf]) -> Result<Objects, Failure> {
    let mut objects = manifests::read(definitions)?;
    objects.extend(manifests::read(others)?);
    // CRDs and namespaces come first, since other objects need them; the sort is stable and keeps all other order.
    objects.sort_by_key(|object| match object.value["kind"].as_str() {
        Some("CustomResourceDefinition") => 0,
        Some("Namespace") => 1,
        _ => 2,
    });
    Ok(Objects(objects))
}

impl Objects {
    /// Creates them one after the other, and returns the server's warnings. A definition is in force when its creation
    /// is answered.
    pub(super) fn create(&self, access: &Access) -> Result<Warnings, Failure> {
        let mut known = BTreeMap::new();
        let mut warnings = Warnings::default();
        for object in &self.0 {
            let reply = object.create(access, &mut known)?;
            let texts = reply.warnings.iter();
            warnings
                .0
                .extend(texts.map(|text| object.wrong(text).message));
        }
        Ok(warnings)
    }
}

/// Warnings of the server about objects, each with the place of its object.
#[derive(Default)]
pub(super) struct Warnings(Vec<String>);

impl Warnings {
    /// Prints the first ones and the number of the others.
    pub(super) fn tell(&self) {
        for warning in self.0.iter().take(WARNINGS_SHOWN_MAX) {
            output::tell(&format!("Warning: {warning}\n"));
        }
        if let more @ 1.. = self.0.len().saturating_sub(WARNINGS_SHOWN_MAX) {
            output::tell(&format!("Warning: {more} more warnings\n"));
        }
    }

    /// Fails if there are warnings.
    pub(super) fn refuse(&self) -> Result<(), Failure> {
        match self.0.len() {
            0 => Ok(()),
            count => Err(Failure::bad_input(format!(
                "the server has {count} warnings about the objects, and `--strict` is set"
            ))),
        }
    }
}

/// The resources of each group and version that was asked about.
type Known = BTreeMap<String, Value>;

impl Manifest {
    fn create(&self, access: &Access, known: &mut Known) -> Result<Reply, Failure> {
        let path = self.resource_path(access, known)?;
        let reply = access.post(&path, &self.value)?;
        if reply.is_done() {
            return Ok(reply);
        }
        let (code, message) = (reply.code, reply.message());
        Err(self.wrong(&format!("the server answered {code}: {message}")))
    }

    fn resource_path(&self, access: &Access, known: &mut Known) -> Result<String, Failure> {
        let text = |key: &str| self.value[key].as_str().unwrap_or_default();
        let (version, kind) = (text("apiVersion"), text("kind"));
        if version.is_empty() || kind.is_empty() {
            return Err(self.wrong(&"an object has no apiVersion or no kind"));
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
}
