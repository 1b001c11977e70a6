//! Type expressions of the facts, with every name told by its package.

use std::collections::BTreeMap;

use anyhow::{Context, bail};

use super::{EMPTY, Fact, PACKAGES, is_special};

/// Scope of names inside one package.
pub(super) struct Names<'a> {
    path: &'a str,
    types: &'a BTreeMap<String, Vec<Fact>>,
    aliases: &'a BTreeMap<String, String>,
}

/// Import aliases of packages.
const IMPORTS: &[(&str, &str)] = &[
    ("apiv1", "k8s.io/api/core/v1"),
    ("corev1", "k8s.io/api/core/v1"),
    ("intstr", "k8s.io/apimachinery/pkg/util/intstr"),
    ("metav1", "k8s.io/apimachinery/pkg/apis/meta/v1"),
    ("resource", "k8s.io/apimachinery/pkg/api/resource"),
    ("runtime", "k8s.io/apimachinery/pkg/runtime"),
    ("v1", "k8s.io/api/core/v1"),
];

const PLAIN: &[&str] = &["bool", "float64", "int32", "int64", "string"];

impl<'a> Names<'a> {
    pub(super) fn new(
        path: &'a str,
        types: &'a BTreeMap<String, Vec<Fact>>,
        aliases: &'a BTreeMap<String, String>,
    ) -> Self {
        Self {
            path,
            types,
            aliases,
        }
    }

    /// Names of the package for something else: a text with a meaning, a map.
    pub(super) fn scalars(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        let path = self.path;
        self.aliases.iter().filter_map(move |(name, meaning)| {
            let (package, name) = name.rsplit_once('.')?;
            let is_kept = package == path
                && !is_special(path, name)
                && !["any", "int", "uint8"].contains(&meaning.as_str())
                && !meaning.contains('*')
                && !meaning.contains("metav1.List")
                && !meaning.contains("watch.")
                && !meaning.starts_with("[]Pair")
                && meaning != "[]ObjectTyper"
                && meaning != "Serializer"
                && name.starts_with(char::is_uppercase);
            is_kept.then_some((name, meaning.as_str()))
        })
    }

    /// An expression with its names told by their packages: `[]Container`, `map[string]core/v1.Thing`.
    pub(super) fn expression(&self, text: &str) -> anyhow::Result<String> {
        if let Some(item) = text.strip_prefix("[]") {
            if item == "byte" {
                return Ok("bytes".to_owned());
            }
            return Ok(format!("[]{}", self.expression(item)?));
        }
        if let Some(rest) = text.strip_prefix("map[") {
            let (key, value) = rest.split_once(']').context("a map without an end")?;
            let (key, value) = (self.expression(key)?, self.expression(value)?);
            return Ok(format!("map[{key}]{value}"));
        }
        self.name(text)
    }

    fn name(&self, text: &str) -> anyhow::Result<String> {
        if PLAIN.contains(&text) || text == "types.UID" {
            return Ok(text.to_owned());
        }
        let Some((import, name)) = text.split_once('.') else {
            self.find(self.path, text)?;
            return Ok(text.to_owned());
        };
        let import = IMPORTS.iter().find(|(known, _)| *known == import);
        let (_, path) = import.with_context(|| format!("`{text}` is of an unknown package"))?;
        self.find(path, name)?;
        Ok(if *path == self.path {
            name.to_owned()
        } else {
            format!("{}.{name}", short(path))
        })
    }

    /// That the name will be in the table.
    fn find(&self, path: &str, name: &str) -> anyhow::Result<()> {
        let full = format!("{path}.{name}");
        let is_known = self.types.contains_key(&full) || self.aliases.contains_key(&full);
        let is_empty = EMPTY.contains(&(path, name));
        if !is_known && !is_empty && !is_special(path, name) {
            bail!("`{full}` is not known");
        }
        if !PACKAGES.iter().any(|(package, _)| *package == path) {
            bail!("package `{path}` is not in the table");
        }
        Ok(())
    }
}

/// Name of a package in the table: `core/v1`, `runtime`.
pub(super) fn short(path: &str) -> &str {
    let parts: Vec<&str> = path.rsplitn(3, '/').collect();
    match parts[..] {
        [version, name, _] if version.starts_with('v') => {
            let length = name.len() + 1 + version.len();
            &path[path.len() - length..]
        }
        [name, ..] => name,
        [] => path,
    }
}
