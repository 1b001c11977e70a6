//! Import cycles between modules of a crate.
//!
//! The modules of one folder are compared with each other: `a` uses `b` if a file of `a` names a path into `b`.
//! Parents and children may use each other, and tests do not count. A cycle may span so many lines that a reader
//! can hold it at once; past that the finding lists the imports to cut.

mod paths;

use std::collections::{BTreeMap, BTreeSet};

use super::SourceFile;
use super::finding::Finding;

/// Lines that the modules of one cycle may have together.
const CYCLE_LINES_MAX: usize = 3_000;

/// Room below the bound of an exception before a note asks to lower it.
const SLACK_LINES: usize = 500;

/// Imports to cut that a finding lists at most.
const CUTS_SHOWN: usize = 12;

/// File that holds the table of exceptions.
const HERE: &str = "crates/lockstep-xtask/src/tidy/cycles.rs";

/// Cycles that are being cut. The bound may only shrink.
struct Exception {
    krate: &'static str,
    /// Folder whose modules form the cycle, from `src`; empty for the top.
    folder: &'static str,
    lines_max: usize,
    reason: &'static str,
}

const EXCEPTIONS: &[Exception] = &[
    Exception {
        krate: "lockstep-store",
        folder: "",
        lines_max: 5_450,
        reason: "services share the member, which starts them",
    },
    Exception {
        krate: "lockstep-write",
        folder: "",
        lines_max: 7_600,
        reason: "stages are methods of one `WritePath`, and an update may become a create",
    },
];

/// Cycles of all crates.
pub(super) fn check(files: &[SourceFile]) -> Vec<Finding> {
    check_with(files, EXCEPTIONS)
}

fn check_with(files: &[SourceFile], exceptions: &[Exception]) -> Vec<Finding> {
    let mut crates: BTreeMap<&str, Vec<&SourceFile>> = BTreeMap::new();
    for file in files.iter().filter(|file| file.has_extension(&["rs"])) {
        let inside = file.path.strip_prefix("crates/");
        if let Some((krate, _)) = inside.and_then(|inside| inside.split_once("/src/")) {
            crates.entry(krate).or_default().push(file);
        }
    }
    let mut findings = Vec::new();
    let mut met = BTreeSet::new();
    for (krate, files) in crates {
        for cycle in cycles(&paths::Modules::of(krate, &files)) {
            let row = exceptions
                .iter()
                .position(|row| row.krate == krate && row.folder == cycle.folder);
            met.extend(row);
            findings.extend(cycle.finding(krate, row.map(|row| &exceptions[row])));
        }
    }
    for (index, row) in exceptions.iter().enumerate() {
        if !met.contains(&index) {
            let what = format!("`{}` has no cycle in `src/{}`", row.krate, row.folder);
            findings.push(Finding::note(HERE, 1, what, "remove the exception"));
        }
    }
    findings
}

/// Modules of one folder that use each other, directly or through others.
struct Cycle {
    folder: String,
    /// Names and lines, in order of name.
    modules: BTreeMap<String, usize>,
    /// Imports between them.
    edges: BTreeMap<(String, String), Edge>,
}

/// Imports from one module into another.
#[derive(Clone, Default)]
struct Edge {
    count: usize,
    /// First place, as `path:line`.
    place: String,
}

/// Cycles past the limit, in order of folder.
fn cycles(modules: &paths::Modules) -> Vec<Cycle> {
    let mut found = Vec::new();
    for folder in modules.folders() {
        let lines = modules.children(&folder);
        let edges = edges_between(modules, &folder, &lines);
        for component in components(&lines, &edges) {
            let total: usize = component.iter().map(|name| lines[name]).sum();
            if component.len() < 2 || total <= CYCLE_LINES_MAX {
                continue;
            }
            let is_inner =
                |(from, to): &(String, String)| component.contains(from) && component.contains(to);
            found.push(Cycle {
                folder: folder.join("/"),
                modules: component
                    .iter()
                    .map(|name| (name.clone(), lines[name]))
                    .collect(),
                edges: edges
                    .iter()
                    .filter(|(pair, _)| is_inner(pair))
                    .map(|(pair, edge)| (pair.clone(), edge.clone()))
                    .collect(),
            });
        }
    }
    found
}

fn edges_between(
    modules: &paths::Modules,
    folder: &[String],
    lines: &BTreeMap<String, usize>,
) -> BTreeMap<(String, String), Edge> {
    let mut edges: BTreeMap<(String, String), Edge> = BTreeMap::new();
    for import in modules.imports() {
        let child = |path: &[String]| path.strip_prefix(folder)?.first().cloned();
        let (Some(from), Some(to)) = (child(&import.from), child(&import.to)) else {
            continue;
        };
        if from == to || !lines.contains_key(&from) || !lines.contains_key(&to) {
            continue;
        }
        let edge = edges.entry((from, to)).or_default();
        edge.count += 1;
        if edge.place.is_empty() {
            edge.place.clone_from(&import.place);
        }
    }
    edges
}

/// Strongly connected components: modules that reach each other.
fn components(
    lines: &BTreeMap<String, usize>,
    edges: &BTreeMap<(String, String), Edge>,
) -> Vec<BTreeSet<String>> {
    let reach = |start: &String, is_forward: bool| {
        let mut seen = BTreeSet::from([start.clone()]);
        let mut queue = vec![start.clone()];
        while let Some(at) = queue.pop() {
            for (from, to) in edges.keys() {
                let (here, next) = if is_forward { (from, to) } else { (to, from) };
                if *here == at && seen.insert(next.clone()) {
                    queue.push(next.clone());
                }
            }
        }
        seen
    };
    let mut left: BTreeSet<String> = lines.keys().cloned().collect();
    let mut found = Vec::new();
    while let Some(start) = left.first().cloned() {
        let component: BTreeSet<String> = &reach(&start, true) & &reach(&start, false);
        left = &left - &component;
        found.push(component);
    }
    found
}

impl Cycle {
    fn lines(&self) -> usize {
        self.modules.values().sum()
    }

    fn finding(&self, krate: &str, exception: Option<&Exception>) -> Option<Finding> {
        let lines = self.lines();
        if let Some(row) = exception.filter(|row| lines <= row.lines_max) {
            let what = format!(
                "the cycle in `{krate}/src/{}` has {lines} lines, {} are allowed ({})",
                self.folder, row.lines_max, row.reason
            );
            let is_slack = lines + SLACK_LINES <= row.lines_max;
            return is_slack.then(|| Finding::note(HERE, 1, what, "lower the bound"));
        }
        let path = format!("crates/{krate}/src/{}", self.folder);
        let names: Vec<_> = self.modules.keys().map(String::as_str).collect();
        let what = format!(
            "{} modules with {lines} lines import each other: {}",
            names.len(),
            names.join(", ")
        );
        let max = exception.map_or(CYCLE_LINES_MAX, |row| row.lines_max);
        let cuts: Vec<_> = self.cuts().into_iter().take(CUTS_SHOWN).collect();
        let remedy = format!("{max} lines are allowed; cut {}", cuts.join(", "));
        Some(Finding::problem(
            path.trim_end_matches('/'),
            1,
            what,
            remedy,
        ))
    }

    /// Imports that point up when modules are ordered by how much they use and are used, fewest first.
    fn cuts(&self) -> Vec<String> {
        let rank = self.order();
        let is_up = |(from, to): &&(String, String)| rank[from.as_str()] > rank[to.as_str()];
        let mut up: Vec<_> = self.edges.iter().filter(|(pair, _)| is_up(pair)).collect();
        up.sort_by_key(|(pair, edge)| (edge.count, (*pair).clone()));
        let shown = up.into_iter().map(|((from, to), edge)| {
            format!("`{from} -> {to}` ({} imports, {})", edge.count, edge.place)
        });
        shown.collect()
    }

    /// Users first: the heuristic of Eades, Lin and Smyth, which leaves few edges that point back.
    fn order(&self) -> BTreeMap<&str, usize> {
        let mut left: BTreeSet<&str> = self.modules.keys().map(String::as_str).collect();
        let (mut first, mut last) = (Vec::new(), Vec::new());
        while !left.is_empty() {
            let weigh = |name: &str| {
                let (mut imports, mut importers) = (0_i64, 0_i64);
                for ((from, to), edge) in &self.edges {
                    let count = i64::try_from(edge.count).unwrap_or(i64::MAX);
                    let is_left = left.contains(from.as_str()) && left.contains(to.as_str());
                    imports += if is_left && from == name { count } else { 0 };
                    importers += if is_left && to == name { count } else { 0 };
                }
                (imports, importers)
            };
            let weights: Vec<_> = left.iter().map(|name| (*name, weigh(name))).collect();
            let sink = weights.iter().find(|(_, (uses, _))| *uses == 0);
            let source = weights.iter().max_by_key(|(_, (uses, used))| uses - used);
            match (sink, source) {
                (Some((name, _)), _) => {
                    last.push(*name);
                    left.remove(name);
                }
                (None, Some((name, _))) => {
                    first.push(*name);
                    left.remove(name);
                }
                (None, None) => break,
            }
        }
        last.reverse();
        let order = first.into_iter().chain(last);
        order.enumerate().map(|(rank, name)| (name, rank)).collect()
    }
}

#[cfg(test)]
mod tests;
