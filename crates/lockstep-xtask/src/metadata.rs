//! Workspace metadata from `cargo metadata`, as far as chores look at it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::PathBuf;

use anyhow::Context;
use serde::Deserialize;

/// The part of `cargo metadata` that chores look at.
#[derive(Deserialize, Debug)]
pub(crate) struct Metadata {
    pub(crate) packages: Vec<Package>,
    workspace_members: BTreeSet<String>,
    workspace_root: PathBuf,
    resolve: Resolve,
}

/// One package of the graph, ours or not.
#[derive(Deserialize, Debug)]
pub(crate) struct Package {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) manifest_path: PathBuf,
    /// Registries it may go to: `None` is any, an empty list is `publish = false`.
    pub(crate) publish: Option<Vec<String>>,
    /// Dependencies of its manifest, whether or not a feature turns it on.
    pub(crate) dependencies: Vec<Declared>,
    /// Dependencies and features that each of its features turns on.
    #[serde(default)]
    features: BTreeMap<String, Vec<String>>,
}

/// A dependency as a manifest declares it.
#[derive(Deserialize, Debug)]
pub(crate) struct Declared {
    pub(crate) name: String,
    #[serde(default, deserialize_with = "null_is_normal")]
    pub(crate) kind: Kind,
    #[serde(default)]
    optional: bool,
    rename: Option<String>,
}

/// For what a dependency is there.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    #[default]
    Normal,
    Build,
    Dev,
}

fn null_is_normal<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Kind, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

#[derive(Deserialize, Debug)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize, Debug)]
struct Node {
    id: String,
    features: Vec<String>,
    deps: Vec<Edge>,
}

#[derive(Deserialize, Debug)]
struct Edge {
    pkg: String,
    dep_kinds: Vec<EdgeKind>,
}

#[derive(Deserialize, Debug)]
struct EdgeKind {
    #[serde(deserialize_with = "null_is_normal")]
    kind: Kind,
}

impl Metadata {
    /// Reads what `cargo metadata --format-version 1` printed.
    pub(crate) fn parse(printed: &str) -> anyhow::Result<Self> {
        serde_json::from_str(printed).context("reading `cargo metadata`")
    }

    /// Our own packages, in order of name.
    pub(crate) fn members(&self) -> Vec<&Package> {
        let is_member = |package: &&Package| self.workspace_members.contains(&package.id);
        let mut members: Vec<_> = self.packages.iter().filter(is_member).collect();
        members.sort_by(|a, b| a.name.cmp(&b.name));
        members
    }

    /// Whether the workspace has a crate of this name.
    pub(crate) fn has_member(&self, name: &str) -> bool {
        self.members().iter().any(|package| package.name == name)
    }

    /// The manifest's path seen from the root, with forward slashes.
    pub(crate) fn manifest_of(&self, package: &Package) -> String {
        let path = &package.manifest_path;
        let inside = path.strip_prefix(&self.workspace_root).unwrap_or(path);
        inside.to_string_lossy().replace('\\', "/")
    }

    /// Every version of `name` in the graph with its unified features.
    pub(crate) fn features_of<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a [String]> {
        let ids: BTreeSet<&str> = self
            .packages
            .iter()
            .filter(|package| package.name == name)
            .map(|package| package.id.as_str())
            .collect();
        let is_named = move |node: &&Node| ids.contains(node.id.as_str());
        self.resolve
            .nodes
            .iter()
            .filter(is_named)
            .map(|node| node.features.as_slice())
    }

    /// Everything that ends up in a build of `start` (its tests aside), each with the shortest
    /// chain of crate names that leads there, `start` first.
    pub(crate) fn chains_from(&self, start: &Package) -> BTreeMap<&str, Vec<&str>> {
        let packages: BTreeMap<&str, &Package> =
            self.packages.iter().map(|p| (p.id.as_str(), p)).collect();
        let names: BTreeMap<&str, &str> = self
            .packages
            .iter()
            .map(|p| (p.id.as_str(), p.name.as_str()))
            .collect();
        let nodes: BTreeMap<&str, &Node> = self
            .resolve
            .nodes
            .iter()
            .map(|n| (n.id.as_str(), n))
            .collect();
        let mut chains: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        let Some((&first, &name)) = names.get_key_value(start.id.as_str()) else {
            return chains;
        };
        chains.insert(name, vec![name]);
        let mut seen = BTreeSet::from([first]);
        let mut queue = VecDeque::from([(first, vec![name])]);
        while let Some((id, chain)) = queue.pop_front() {
            let Some(node) = nodes.get(id) else { continue };
            let package = packages.get(id);
            for edge in node.deps.iter().filter(|edge| edge.is_built()) {
                let id = edge.pkg.as_str();
                let Some(&name) = names.get(id) else { continue };
                let turned_on = package.is_none_or(|one| one.turns_on(name, &node.features));
                if !turned_on || !seen.insert(id) {
                    continue;
                }
                let mut longer = chain.clone();
                longer.push(name);
                chains.entry(name).or_insert_with(|| longer.clone());
                queue.push_back((id, longer));
            }
        }
        chains
    }
}

impl Package {
    /// Whether a dependency is there with these features. The graph also has edges to optional
    /// crates that only a weak feature (`name?/feature`) speaks of, which no build follows.
    fn turns_on(&self, dependency: &str, features: &[String]) -> bool {
        let mut declared = self
            .dependencies
            .iter()
            .filter(|declared| declared.name == dependency && declared.kind != Kind::Dev);
        declared.any(|declared| {
            let key = declared.rename.as_ref().unwrap_or(&declared.name);
            let by = |item: &String| {
                let item = item.strip_prefix("dep:").unwrap_or(item);
                item.split('/').next() == Some(key)
            };
            let turned_on = |feature: &String| {
                feature == key
                    || self
                        .features
                        .get(feature)
                        .is_some_and(|on| on.iter().any(by))
            };
            !declared.optional || features.iter().any(turned_on)
        })
    }
}

impl Edge {
    fn is_built(&self) -> bool {
        self.dep_kinds.iter().any(|kind| kind.kind != Kind::Dev)
    }
}

#[cfg(test)]
pub(crate) mod sample;

#[cfg(test)]
mod tests {
    use super::sample::Sample;

    #[test]
    fn chains_are_shortest_and_leave_out_what_only_tests_use() {
        let metadata = Sample::default()
            .member("ours", &["a", "b", "dev:only-tests", "build:maker"])
            .outside("a", &["b"], &[])
            .outside("b", &["c"], &[])
            .outside("c", &["a"], &[])
            .outside("maker", &[], &[])
            .outside("only-tests", &[], &[])
            .build();
        let chains: Vec<_> = metadata
            .chains_from(metadata.members()[0])
            .into_values()
            .collect();
        assert_eq!(
            chains,
            [
                vec!["ours", "a"],
                vec!["ours", "b"],
                vec!["ours", "b", "c"],
                vec!["ours", "maker"],
                vec!["ours"],
            ]
        );
    }

    #[test]
    fn an_optional_crate_counts_only_when_a_feature_turns_it_on() {
        let chains = |features: &[&str]| {
            let metadata = Sample::default()
                .member("ours", &["tls"])
                .outside("tls", &["optional:ring"], features)
                .features_of_last(&[("alloc", &["ring?/alloc"]), ("legacy", &["dep:ring"])])
                .outside("ring", &[], &[])
                .build();
            let chains = metadata.chains_from(metadata.members()[0]);
            chains.contains_key("ring")
        };
        assert_eq!(
            (chains(&["alloc"]), chains(&["alloc", "legacy"])),
            (false, true)
        );
        assert!(chains(&["ring"]));
    }

    #[test]
    fn members_are_sorted_and_manifests_are_told_from_the_root() {
        let metadata = Sample::default()
            .member("z", &["x"])
            .member("a", &[])
            .outside("x", &[], &[]);
        let metadata = metadata.build();
        let manifests: Vec<_> = metadata
            .members()
            .into_iter()
            .map(|member| metadata.manifest_of(member))
            .collect();
        assert_eq!(manifests, ["crates/a/Cargo.toml", "crates/z/Cargo.toml"]);
        assert!(metadata.has_member("z"));
        assert!(!metadata.has_member("x"));
    }

    #[test]
    fn an_answer_of_another_shape_is_an_error() {
        let error = super::Metadata::parse("{}").expect_err("no packages");
        assert_eq!(error.to_string(), "reading `cargo metadata`");
    }
}
