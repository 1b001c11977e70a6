//! A builder of small `cargo metadata` answers.

use serde_json::{Value, json};

use super::Metadata;

/// A workspace in the making.
#[derive(Default)]
pub(crate) struct Sample {
    packages: Vec<Value>,
    members: Vec<String>,
    nodes: Vec<Value>,
}

impl Sample {
    /// Adds a crate of ours. A dependency `x` is normal, `dev:x` and `build:x` are not.
    pub(crate) fn member(mut self, name: &str, dependencies: &[&str]) -> Self {
        self.members.push(name.to_owned());
        self.package(name, dependencies, &[], &json!([]))
    }

    /// Adds a crate of ours that could be published.
    pub(crate) fn publishable_member(mut self, name: &str) -> Self {
        self.members.push(name.to_owned());
        self.package(name, &[], &[], &Value::Null)
    }

    /// Adds a crate from outside of the workspace.
    pub(crate) fn outside(self, name: &str, dependencies: &[&str], features: &[&str]) -> Self {
        self.package(name, dependencies, features, &Value::Null)
    }

    /// Says what the features of the crate that was added last turn on.
    pub(crate) fn features_of_last(mut self, features: &[(&str, &[&str])]) -> Self {
        let last = self.packages.last_mut().expect("a crate was added");
        for (name, on) in features {
            last["features"][*name] = json!(on);
        }
        self
    }

    fn package(
        mut self,
        name: &str,
        dependencies: &[&str],
        features: &[&str],
        publish: &Value,
    ) -> Self {
        let split = |dependency: &&str| match dependency.split_once(':') {
            Some(("optional", name)) => (Value::Null, name.to_owned(), true),
            Some((kind, name)) => (Value::from(kind), name.to_owned(), false),
            None => (Value::Null, (*dependency).to_owned(), false),
        };
        let dependencies: Vec<_> = dependencies.iter().map(split).collect();
        let declared: Vec<_> = dependencies
            .iter()
            .map(|(kind, to, optional)| json!({"name": to, "kind": kind, "optional": optional}))
            .collect();
        let edges: Vec<_> = dependencies
            .iter()
            .map(|(kind, to, _)| json!({"pkg": to, "dep_kinds": [{"kind": kind}]}))
            .collect();
        self.packages.push(json!({
            "id": name,
            "name": name,
            "manifest_path": format!("/r/crates/{name}/Cargo.toml"),
            "publish": publish,
            "dependencies": declared,
        }));
        self.nodes
            .push(json!({"id": name, "features": features, "deps": edges}));
        self
    }

    /// The finished answer, read back as a chore would.
    pub(crate) fn build(self) -> Metadata {
        let answer = json!({
            "packages": self.packages,
            "workspace_members": self.members,
            "workspace_root": "/r",
            "resolve": {"nodes": self.nodes},
        });
        Metadata::parse(&answer.to_string()).expect("the sample has the shape of metadata")
    }
}
