//! Traversal of a document that collects all errors.

use serde_json::Value;

use crate::{RegistrationError, VersionError, suggestion};

/// A value with its path.
#[derive(Clone, Debug)]
pub(super) struct Node<'a> {
    path: String,
    value: &'a Value,
}

impl<'a> Node<'a> {
    pub(super) fn root(value: &'a Value) -> Self {
        Self {
            path: String::new(),
            value,
        }
    }

    pub(super) fn get(&self, key: &str) -> Option<Node<'a>> {
        let value = self.value.get(key)?;
        Some(Node {
            path: join(&self.path, key),
            value,
        })
    }
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() {
        key.to_owned()
    } else {
        format!("{path}.{key}")
    }
}

/// Reads nodes and collects errors.
#[derive(Debug, Default)]
pub(super) struct Cursor {
    pub(super) errors: Vec<RegistrationError>,
}

impl Cursor {
    pub(super) fn problem(&mut self, node: &Node<'_>, problem: String) {
        let path = if node.path.is_empty() {
            "registry".to_owned()
        } else {
            node.path.clone()
        };
        self.errors.push(RegistrationError::Shape { path, problem });
    }

    pub(super) fn expected(&mut self, node: &Node<'_>, what: &str) {
        self.problem(node, format!("expected {what}"));
    }

    /// Adds an error about a feature's history.
    pub(super) fn history(&mut self, feature: &str, rest: &str) {
        let text = format!("feature \"{feature}\" {rest}");
        self.errors.push(RegistrationError::History {
            feature: feature.to_owned(),
            text,
        });
    }

    /// Rejects unknown keys, because a misspelled one would be ignored silently.
    pub(super) fn only_keys(&mut self, node: &Node<'_>, known: &[&str]) {
        let Value::Object(map) = node.value else {
            return self.expected(node, "a map");
        };
        for key in map.keys().filter(|key| !known.contains(&key.as_str())) {
            let hint = suggestion(key, known.iter().copied());
            let hint = hint
                .map(|name| format!(", did you mean `{name}`?"))
                .unwrap_or_default();
            self.problem(node, format!("unknown key `{key}`{hint}"));
        }
    }

    pub(super) fn optional<'a, T>(
        &mut self,
        node: &Node<'a>,
        key: &str,
        read: impl FnOnce(&mut Self, &Node<'a>) -> Option<T>,
    ) -> Option<T> {
        let node = node.get(key).filter(|node| !node.value.is_null())?;
        read(self, &node)
    }

    pub(super) fn required<'a, T>(
        &mut self,
        node: &Node<'a>,
        key: &str,
        read: impl FnOnce(&mut Self, &Node<'a>) -> Option<T>,
    ) -> Option<T> {
        match node.get(key) {
            Some(node) => read(self, &node),
            None => {
                self.problem(node, format!("`{key}` is missing"));
                None
            }
        }
    }

    pub(super) fn text<'a>(&mut self, node: &Node<'a>) -> Option<&'a str> {
        let text = node.value.as_str();
        if text.is_none() {
            self.expected(node, "a string");
        }
        text
    }

    pub(super) fn bool(&mut self, node: &Node<'_>) -> Option<bool> {
        let value = node.value.as_bool();
        if value.is_none() {
            self.expected(node, "a boolean");
        }
        value
    }

    /// Reads a version, which must be quoted: as a number 1.40 would be 1.4.
    pub(super) fn version_text<'a>(&mut self, node: &Node<'a>) -> Option<&'a str> {
        if node.value.is_number() {
            self.expected(
                node,
                "a quoted version such as \"1.36\": unquoted, 1.40 reads as 1.4",
            );
            return None;
        }
        self.text(node)
    }

    pub(super) fn parsed<T>(
        &mut self,
        node: &Node<'_>,
        parse: impl FnOnce(&str) -> Result<T, VersionError>,
    ) -> Option<T> {
        match parse(self.version_text(node)?) {
            Ok(parsed) => Some(parsed),
            Err(error) => {
                self.problem(node, error.to_string());
                None
            }
        }
    }

    pub(super) fn list<'a>(&mut self, node: &Node<'a>) -> Option<Vec<Node<'a>>> {
        let Value::Array(items) = node.value else {
            self.expected(node, "a list");
            return None;
        };
        let place = |(at, value)| Node {
            path: format!("{}[{at}]", node.path),
            value,
        };
        Some(items.iter().enumerate().map(place).collect())
    }

    pub(super) fn items<'a>(&mut self, node: &Node<'a>) -> Vec<Node<'a>> {
        self.list(node).unwrap_or_default()
    }

    pub(super) fn map<'a>(&mut self, node: &Node<'a>) -> Option<Vec<(&'a str, Node<'a>)>> {
        let Value::Object(map) = node.value else {
            self.expected(node, "a map");
            return None;
        };
        let place = |(key, value): (&'a String, _)| {
            (
                key.as_str(),
                Node {
                    path: join(&node.path, key),
                    value,
                },
            )
        };
        Some(map.iter().map(place).collect())
    }

    pub(super) fn texts<'a>(&mut self, node: &Node<'a>) -> Vec<&'a str> {
        let items = self.items(node);
        items.iter().filter_map(|item| self.text(item)).collect()
    }
}
