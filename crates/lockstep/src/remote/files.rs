//! Kubeconfig files as one: of two entries with one name the first counts, as kubectl has it.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::Value;

use crate::{document, failure::Failure};

/// The files that are there.
pub(super) struct Files(Vec<File>);

struct File {
    path: PathBuf,
    document: Value,
}

/// An entry, and the file that has it.
pub(super) struct Entry<'a> {
    file: &'a File,
    value: &'a Value,
}

impl Files {
    /// One file, which must be there.
    pub(super) fn one(path: &Path) -> Result<Self, Failure> {
        File::read(path).map(|file| Self(vec![file]))
    }

    /// The files that a list like `$KUBECONFIG` names, of which some may be missing, or else `~/.kube/config`. None if
    /// nothing is named and that is not there.
    pub(super) fn listed(listed: &OsStr, home: Option<OsString>) -> Result<Option<Self>, Failure> {
        let named = std::env::split_paths(listed).filter(|path| !path.as_os_str().is_empty());
        let mut named: Vec<PathBuf> = named.collect();
        if named.is_empty() {
            let home = home.map(|home| PathBuf::from(home).join(".kube/config"));
            named.extend(home.filter(|path| path.exists()));
        }
        if named.len() > 1 && named.iter().any(|path| path.exists()) {
            named.retain(|path| path.exists());
        }
        if named.is_empty() {
            return Ok(None);
        }
        let files: Result<Vec<File>, Failure> = named.iter().map(|path| File::read(path)).collect();
        files.map(|files| Some(Self(files)))
    }

    pub(super) fn current_context(&self) -> Option<&str> {
        let mut named = self
            .0
            .iter()
            .filter_map(|file| file.document["current-context"].as_str());
        named.find(|name| !name.is_empty())
    }

    /// The entry of a list by its name.
    pub(super) fn named(&self, list: &str, key: &str, name: &str) -> Result<Entry<'_>, Failure> {
        for file in &self.0 {
            let entries = file.document[list].as_array().into_iter().flatten();
            let mut named = entries.filter(|entry| entry["name"] == name);
            if let Some(entry) = named.next() {
                let value = &entry[key];
                return Ok(Entry { file, value });
            }
        }
        Err(self.wrong(&format!("{list} has no `{name}`")))
    }

    pub(super) fn wrong(&self, what: &str) -> Failure {
        let paths = self.0.iter().map(|file| file.path.display().to_string());
        let paths: Vec<String> = paths.collect();
        Failure::bad_input(format!("{}: {what}", paths.join(", ")))
    }
}

impl File {
    fn read(path: &Path) -> Result<Self, Failure> {
        let file = Self {
            path: path.to_owned(),
            document: document::read(path)?,
        };
        let keys = ["clusters", "contexts", "users", "current-context"];
        let is_kubeconfig = match &file.document {
            // `kubectl config` reads an empty file as one without entries.
            Value::Null => true,
            Value::Object(fields) => keys.iter().any(|key| fields.contains_key(*key)),
            _ => false,
        };
        if is_kubeconfig {
            Ok(file)
        } else {
            let path = path.display();
            let message = format!("{path} is not a kubeconfig: it has no clusters and no contexts");
            Err(Failure::bad_input(message))
        }
    }
}

impl<'a> Entry<'a> {
    pub(super) fn text(&self, key: &str) -> Option<&'a str> {
        self.value[key].as_str()
    }

    /// Value of a field; `None` if it is absent, empty or false.
    pub(super) fn set(&self, key: &str) -> Option<&'a Value> {
        let is_empty = |value: &Value| match value {
            Value::Null | Value::Bool(false) => true,
            Value::String(text) => text.is_empty(),
            Value::Array(items) => items.is_empty(),
            Value::Object(entries) => entries.is_empty(),
            _ => false,
        };
        self.value.get(key).filter(|value| !is_empty(value))
    }

    /// Fails if one of these fields is set, since this client does not implement it.
    pub(super) fn refuse(&self, keys: &[&str]) -> Result<(), Failure> {
        match keys.iter().find(|key| self.set(key).is_some()) {
            None => Ok(()),
            Some(key) => Err(self.wrong(&format!("`{key}` is not understood here"))),
        }
    }

    pub(super) fn wrong(&self, what: &str) -> Failure {
        Failure::bad_input(format!("{}: {what}", self.file.path.display()))
    }

    /// Decodes the base64 of `KEY-data`, or else reads the file named by `KEY`.
    pub(super) fn bytes(&self, key: &str) -> Result<Option<Vec<u8>>, Failure> {
        let data = format!("{key}-data");
        if let Some(text) = self.text(&data) {
            let bytes = BASE64_STANDARD.decode(text);
            return bytes
                .map(Some)
                .map_err(|_| self.wrong(&format!("{data} is not base64")));
        }
        let Some(path) = self.text(key) else {
            return Ok(None);
        };
        self.file_at(path).map(Some)
    }

    /// Reads a file that an entry names; relative paths start at the kubeconfig's directory.
    pub(super) fn file_at(&self, path: &str) -> Result<Vec<u8>, Failure> {
        let path = self.beside(path);
        let bytes = std::fs::read(&path);
        bytes.map_err(|error| self.wrong(&format!("cannot read {}: {error}", path.display())))
    }

    /// Path of an exec plugin: relative to the kubeconfig if it contains a slash, else searched in `PATH`.
    pub(super) fn program(&self, name: &str) -> PathBuf {
        if name.contains('/') {
            self.beside(name)
        } else {
            name.into()
        }
    }

    fn beside(&self, path: &str) -> PathBuf {
        self.file.path.parent().unwrap_or(Path::new("")).join(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(folder: &Path, names: &[&str]) -> Result<Option<Files>, Failure> {
        let paths = names.iter().map(|name| folder.join(name));
        Files::listed(&std::env::join_paths(paths).unwrap(), None)
    }

    /// kubectl's rule: the first file that says something is believed, and missing ones are passed over.
    #[test]
    fn files_are_merged_and_the_first_counts() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        let first = "current-context: ''\nclusters: [{name: a, cluster: {server: https://one, certificate-authority: ca.pem}}]\n";
        let second = "current-context: here\nclusters: [{name: a, cluster: {server: https://two}}, {name: b, cluster: {server: https://b}}]\n";
        std::fs::write(path.join("first"), first).unwrap();
        std::fs::write(path.join("second"), second).unwrap();
        std::fs::write(path.join("ca.pem"), "trusted").unwrap();
        let files = listed(path, &["first", "missing", "second"])
            .unwrap()
            .unwrap();
        let server = |name: &str| {
            let entry = files.named("clusters", "cluster", name).ok()?;
            entry.text("server").map(str::to_owned)
        };
        assert_eq!(files.current_context(), Some("here"));
        assert_eq!(server("a").as_deref(), Some("https://one"));
        assert_eq!(server("b").as_deref(), Some("https://b"));
        assert_eq!(server("c"), None);
        let entry = files.named("clusters", "cluster", "a").ok().unwrap();
        let authority = entry.bytes("certificate-authority").ok().flatten();
        assert_eq!(authority.as_deref(), Some(&b"trusted"[..]));
    }

    #[test]
    fn a_file_without_contexts_and_clusters_is_no_kubeconfig() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("other.yaml");
        for text in ["kind: ConfigMap\ndata: {}\n", "[]", "words"] {
            std::fs::write(&path, text).unwrap();
            let refused = Files::one(&path).err().unwrap();
            let expected = format!(
                "{} is not a kubeconfig: it has no clusters and no contexts",
                path.display()
            );
            assert_eq!(refused.message, expected, "{text}");
        }
        std::fs::write(&path, "").unwrap();
        assert_eq!(Files::one(&path).ok().unwrap().current_context(), None);
    }

    #[test]
    fn nothing_named_and_nothing_at_home_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let none = Files::listed(OsStr::new(""), Some(folder.path().into())).ok();
        assert!(matches!(none, Some(None)));
        let missing = listed(folder.path(), &["missing"]).err().unwrap();
        assert!(
            missing.message.starts_with("cannot read "),
            "{}",
            missing.message
        );
    }
}
