//! Modules of a crate and the paths that their files name, judged on tokens.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use crate::tidy::SourceFile;
use crate::tidy::rust::{attribute_at, is_punct, marks_a_test};

/// Path of a module below the crate's root.
pub(super) type Path = Vec<String>;

/// A path of one file that leads into a module.
pub(super) struct Import {
    pub(super) from: Path,
    pub(super) to: Path,
    /// `path:line` of the file.
    pub(super) place: String,
}

/// Modules of one crate without its tests.
pub(super) struct Modules {
    lines: BTreeMap<Path, usize>,
    imports: Vec<Import>,
}

/// Re-exports followed one after the other, against exports that name each other.
const EXPORTS_FOLLOWED_MAX: usize = 4;

/// A path as a file names it, made absolute.
struct Named {
    path: Path,
    line: usize,
    is_export: bool,
}

impl Modules {
    pub(super) fn of(krate: &str, files: &[&SourceFile]) -> Self {
        let root = format!("crates/{krate}/src/");
        let mut lines = BTreeMap::new();
        let mut named = Vec::new();
        for file in files {
            let inside = file.path.strip_prefix(&root);
            let Some(module) = inside.and_then(module_of) else {
                continue;
            };
            lines.insert(module.clone(), file.text.lines().count());
            let found = named_in(&file.text, &module);
            named.extend(found.into_iter().map(|one| (module.clone(), *file, one)));
        }
        let exports: BTreeMap<(Path, String), Path> = named
            .iter()
            .filter(|(_, _, one)| one.is_export)
            .filter_map(|(module, _, one)| {
                let name = one.path.last()?.clone();
                Some(((module.clone(), name), one.path.clone()))
            })
            .collect();
        let resolve = |(from, file, one): &(Path, &SourceFile, Named)| Import {
            from: from.clone(),
            to: resolved(&one.path, &lines, &exports),
            place: format!("{}:{}", file.path, one.line),
        };
        let imports = named.iter().map(resolve).collect();
        Self { lines, imports }
    }

    /// Folders that hold modules, the root first.
    pub(super) fn folders(&self) -> BTreeSet<Path> {
        let parents = self.lines.keys().filter(|path| !path.is_empty());
        parents
            .map(|path| path[..path.len() - 1].to_vec())
            .collect()
    }

    /// Modules of a folder with the lines of all their files.
    pub(super) fn children(&self, folder: &[String]) -> BTreeMap<String, usize> {
        let mut children = BTreeMap::new();
        for (path, lines) in &self.lines {
            if let Some(child) = path.strip_prefix(folder).and_then(<[_]>::first) {
                *children.entry(child.clone()).or_default() += lines;
            }
        }
        children
    }

    pub(super) fn imports(&self) -> &[Import] {
        &self.imports
    }
}

/// The module of a file below `src`; tests and other programs have none.
fn module_of(inside: &str) -> Option<Path> {
    let mut path: Path = inside
        .strip_suffix(".rs")?
        .split('/')
        .map(str::to_owned)
        .collect();
    if path.iter().any(|part| part == "tests" || part == "bin") {
        return None;
    }
    let is_root = path.len() == 1 && matches!(path[0].as_str(), "lib" | "main");
    if is_root || path.last().is_some_and(|last| last == "mod") {
        path.pop();
    }
    Some(path)
}

/// The longest module that a path leads into, through re-exports of the modules on its way.
fn resolved(
    path: &Path,
    lines: &BTreeMap<Path, usize>,
    exports: &BTreeMap<(Path, String), Path>,
) -> Path {
    let mut path = path.clone();
    for _ in 0..EXPORTS_FOLLOWED_MAX {
        let known = (0..=path.len())
            .rev()
            .find(|length| lines.contains_key(&path[..*length]));
        let module = path[..known.unwrap_or(0)].to_vec();
        let Some(name) = path.get(module.len()).cloned() else {
            return module;
        };
        match exports.get(&(module.clone(), name)) {
            Some(target) if *target != path => path.clone_from(target),
            _ => return module,
        }
    }
    path
}

/// Paths that begin with `crate`, `self` or `super`, and re-exports of children, outside of tests.
fn named_in(text: &str, module: &[String]) -> Vec<Named> {
    let mut found = Vec::new();
    if let Ok(tokens) = TokenStream::from_str(text) {
        walk(tokens, module, &mut found);
    }
    found
}

fn walk(tokens: TokenStream, module: &[String], found: &mut Vec<Named>) {
    let trees: Vec<TokenTree> = tokens.into_iter().collect();
    let mut is_test = false;
    let mut index = 0;
    while index < trees.len() {
        is_test |= attribute_at(&trees[index..]).is_some_and(|it| marks_a_test(&it));
        match &trees[index] {
            TokenTree::Group(group) => {
                if !is_test {
                    walk(group.stream(), module, found);
                }
                is_test &= group.delimiter() != Delimiter::Brace;
            }
            TokenTree::Punct(punct) => is_test &= punct.as_char() != ';',
            TokenTree::Ident(word) if !is_test => {
                let is_first = index == 0 || !is_punct(&trees[index - 1], ':');
                let word = word.to_string();
                let is_use = word == "use";
                let is_anchor = is_first && matches!(word.as_str(), "crate" | "self" | "super");
                if is_use {
                    let end = trees[index..].iter().position(|tree| is_punct(tree, ';'));
                    let end = index + end.unwrap_or(trees.len() - index);
                    let is_export = index > 0 && is_visibility(&trees[index - 1]);
                    tree(&trees[index + 1..end], &[], module, is_export, found);
                    index = end;
                    continue;
                }
                if is_anchor {
                    index = tree(&trees[index..], &[], module, false, found).max(1) + index;
                    continue;
                }
            }
            _ => {}
        }
        index += 1;
    }
}

/// `pub` or the bracket of `pub(crate)`.
fn is_visibility(tree: &TokenTree) -> bool {
    match tree {
        TokenTree::Ident(word) => word == "pub",
        TokenTree::Group(group) => group.delimiter() == Delimiter::Parenthesis,
        _ => false,
    }
}

/// Reads `a::b`, `a::{b, c::d}` behind `before`; returns the number of tokens read.
fn tree(
    trees: &[TokenTree],
    before: &[String],
    module: &[String],
    is_export: bool,
    found: &mut Vec<Named>,
) -> usize {
    let mut path = before.to_vec();
    let mut index = 0;
    let mut line = 0;
    while index < trees.len() {
        match &trees[index] {
            TokenTree::Ident(word) => {
                path.push(word.to_string());
                line = word.span().start().line;
            }
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace && index > 0 => {
                let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                for part in inner.split(|tree| is_punct(tree, ',')) {
                    tree_of_group(part, &path, module, is_export, found);
                }
                return index + 1;
            }
            _ => break,
        }
        let is_longer = trees.get(index + 1).is_some_and(|tree| is_punct(tree, ':'))
            && trees.get(index + 2).is_some_and(|tree| is_punct(tree, ':'));
        if !is_longer {
            index += 1;
            break;
        }
        index += 3;
    }
    if let Some(path) = absolute(&path, module, is_export) {
        found.push(Named {
            path,
            line,
            is_export,
        });
    }
    index
}

fn tree_of_group(
    part: &[TokenTree],
    before: &[String],
    module: &[String],
    is_export: bool,
    found: &mut Vec<Named>,
) {
    if !part.is_empty() {
        tree(part, before, module, is_export, found);
    }
}

/// The path from the crate's root; none for a path into another crate.
fn absolute(path: &[String], module: &[String], is_export: bool) -> Option<Path> {
    let mut base = module.to_vec();
    let mut rest = path;
    match path.first()?.as_str() {
        "crate" => {
            base.clear();
            rest = &path[1..];
        }
        "self" => rest = &path[1..],
        "super" => {
            while rest.first().is_some_and(|word| word == "super") {
                base.pop();
                rest = &rest[1..];
            }
        }
        // A re-export of a child; a crate of that name is no module, so it resolves to the parent.
        _ if is_export => {}
        _ => return None,
    }
    let rest = rest.iter().filter(|word| *word != "self");
    Some(base.into_iter().chain(rest.cloned()).collect())
}
