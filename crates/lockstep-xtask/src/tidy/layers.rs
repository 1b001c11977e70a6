//! Which crate of ours may use which: arrows point down, and only where the table says.

use super::finding::Finding;
use super::{SourceFile, manifest};
use crate::metadata::{Kind, Metadata, Package};

/// Where a crate stands. The order is the order of the layers, lowest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Layer {
    /// Terms that everybody shares.
    Words,
    /// Pure decisions: no clock, socket, file or task.
    Rules,
    /// Transports.
    Wires,
    /// Storage.
    Stores,
    /// Connections to other servers, and the identity of clients.
    Edges,
    /// Servers.
    Servers,
    /// The program that people start.
    Binary,
    /// Never shipped.
    Dev,
}

/// One crate's place.
struct Row {
    name: &'static str,
    layer: Layer,
    may_use: MayUse,
}

/// Dependencies that a crate may have.
enum MayUse {
    /// Exactly these.
    Only(&'static [&'static str]),
    /// These and every word.
    Words(&'static [&'static str]),
    /// Words, every rule, and these.
    Rules(&'static [&'static str]),
    /// Everything that ships.
    Shipped,
    /// Everything.
    Anything,
}

const TABLE: &[Row] = &[
    row("lockstep-gotext", Layer::Words, MayUse::Only(&[])),
    row(
        "lockstep-object",
        Layer::Words,
        MayUse::Only(&["lockstep-gotext"]),
    ),
    row(
        "lockstep-featuregate-macros",
        Layer::Words,
        MayUse::Only(&[]),
    ),
    row(
        "lockstep-featuregate",
        Layer::Words,
        MayUse::Only(&["lockstep-featuregate-macros"]),
    ),
    row(
        "lockstep-gates",
        Layer::Words,
        MayUse::Only(&["lockstep-featuregate"]),
    ),
    row("lockstep-cel", Layer::Rules, MayUse::Words(&[])),
    row(
        "lockstep-schema",
        Layer::Rules,
        MayUse::Words(&["lockstep-cel"]),
    ),
    row("lockstep-kinds", Layer::Rules, MayUse::Words(&[])),
    row(
        "lockstep-builtins",
        Layer::Rules,
        MayUse::Words(&["lockstep-kinds"]),
    ),
    row(
        "lockstep-openapi",
        Layer::Rules,
        MayUse::Words(&["lockstep-kinds"]),
    ),
    row(
        "lockstep-merge",
        Layer::Rules,
        MayUse::Words(&["lockstep-kinds", "lockstep-schema"]),
    ),
    row(
        "lockstep-fieldgate",
        Layer::Rules,
        MayUse::Words(&["lockstep-cel", "lockstep-schema", "lockstep-merge"]),
    ),
    row(
        "lockstep-admission",
        Layer::Rules,
        MayUse::Words(&[
            "lockstep-builtins",
            "lockstep-cel",
            "lockstep-merge",
            "lockstep-schema",
        ]),
    ),
    row("lockstep-authz", Layer::Rules, MayUse::Words(&[])),
    row(
        "lockstep-fairness",
        Layer::Rules,
        MayUse::Words(&["lockstep-authz"]),
    ),
    row(
        "lockstep-controllers",
        Layer::Rules,
        MayUse::Words(&["lockstep-authz", "lockstep-builtins"]),
    ),
    row("lockstep-mvcc", Layer::Rules, MayUse::Words(&[])),
    row(
        "lockstep-catalog",
        Layer::Rules,
        MayUse::Words(&[
            "lockstep-admission",
            "lockstep-authz",
            "lockstep-builtins",
            "lockstep-cel",
            "lockstep-fieldgate",
            "lockstep-kinds",
            "lockstep-merge",
            "lockstep-mvcc",
            "lockstep-schema",
        ]),
    ),
    row("lockstep-write", Layer::Rules, MayUse::Rules(&[])),
    row("lockstep-gather", Layer::Wires, MayUse::Only(&[])),
    row(
        "lockstep-storage",
        Layer::Stores,
        MayUse::Words(&["lockstep-mvcc"]),
    ),
    row(
        "lockstep-watchcache",
        Layer::Stores,
        MayUse::Words(&["lockstep-storage"]),
    ),
    row(
        "lockstep-etcd-api",
        Layer::Stores,
        MayUse::Words(&["lockstep-mvcc"]),
    ),
    row(
        "lockstep-storage-embedded",
        Layer::Stores,
        MayUse::Words(&["lockstep-storage", "lockstep-mvcc"]),
    ),
    row(
        "lockstep-raftstore",
        Layer::Stores,
        MayUse::Only(&["lockstep-mvcc"]),
    ),
    row(
        "lockstep-storage-etcd",
        Layer::Stores,
        MayUse::Words(&["lockstep-storage", "lockstep-etcd-api"]),
    ),
    row("lockstep-callout", Layer::Edges, MayUse::Words(&[])),
    row(
        "lockstep-authn",
        Layer::Edges,
        MayUse::Words(&["lockstep-authz", "lockstep-callout"]),
    ),
    row(
        "lockstep-apiserver",
        Layer::Servers,
        MayUse::Rules(&[
            "lockstep-storage",
            "lockstep-watchcache",
            "lockstep-gather",
            "lockstep-callout",
            "lockstep-authn",
        ]),
    ),
    row(
        "lockstep-store",
        Layer::Servers,
        MayUse::Words(&[
            "lockstep-mvcc",
            "lockstep-storage",
            "lockstep-etcd-api",
            "lockstep-storage-embedded",
            "lockstep-gather",
        ]),
    ),
    row(
        "lockstep-dashboard",
        Layer::Servers,
        MayUse::Words(&["lockstep-callout"]),
    ),
    row(
        "lockstep-policy-webhook",
        Layer::Servers,
        MayUse::Rules(&["lockstep-callout", "lockstep-authn"]),
    ),
    row("lockstep-openfeature", Layer::Servers, MayUse::Words(&[])),
    row("lockstep", Layer::Binary, MayUse::Shipped),
    row(
        "lockstep-testenv",
        Layer::Binary,
        MayUse::Words(&["lockstep-apiserver", "lockstep-storage"]),
    ),
    row("lockstep-sim", Layer::Dev, MayUse::Anything),
    row("lockstep-testkit", Layer::Dev, MayUse::Anything),
    row("lockstep-xtask", Layer::Dev, MayUse::Anything),
];

/// The file to change when a crate is added.
const HERE: &str = "crates/lockstep-xtask/src/tidy/layers.rs";

const fn row(name: &'static str, layer: Layer, may_use: MayUse) -> Row {
    Row {
        name,
        layer,
        may_use,
    }
}

/// The layer of a crate of ours, if the table knows it.
pub(super) fn layer_of(name: &str) -> Option<Layer> {
    find(name).map(|row| row.layer)
}

/// Every crate without a row, every row without a crate, and every edge that the table does not allow.
pub(super) fn check(metadata: &Metadata, files: &[SourceFile]) -> Vec<Finding> {
    let mut findings = crates_and_edges(metadata, files);
    let names = TABLE.iter().map(|row| row.name);
    findings.extend(rows_without_a_crate(metadata, names));
    findings
}

/// A row is added with its crate, so that the table describes the workspace as it is.
fn rows_without_a_crate<'a>(
    metadata: &'a Metadata,
    names: impl Iterator<Item = &'a str> + 'a,
) -> impl Iterator<Item = Finding> + 'a {
    let absent = names.filter(|name| !metadata.has_member(name));
    absent.map(|name| {
        let what = format!("`{name}` has a layer but is not a crate of the workspace");
        Finding::problem(HERE, 1, what, "remove its row")
    })
}

fn crates_and_edges(metadata: &Metadata, files: &[SourceFile]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in metadata.members() {
        let path = metadata.manifest_of(package);
        let Some(row) = find(&package.name) else {
            let what = format!("`{}` has no layer", package.name);
            findings.push(Finding::problem(
                &path,
                1,
                what,
                format!("add its row to {HERE}"),
            ));
            continue;
        };
        let text = files
            .iter()
            .find(|file| file.path == path)
            .map_or("", |file| &file.text);
        findings.extend(check_edges(metadata, package, row, &path, text));
    }
    findings
}

fn check_edges<'a>(
    metadata: &'a Metadata,
    package: &'a Package,
    row: &'a Row,
    path: &'a str,
    text: &'a str,
) -> impl Iterator<Item = Finding> + 'a {
    let ours = |name: &str| metadata.has_member(name);
    let used = package
        .dependencies
        .iter()
        .filter(move |used| ours(&used.name));
    // A crate without a row has been reported by its own name.
    let known = used.filter_map(|used| find(&used.name).map(|target| (used, target)));
    known
        .filter(|(used, target)| !row.allows(target, used.kind))
        .map(move |(used, target)| {
            let line = manifest::line_of_dependency(text, &used.name);
            let what = format!(
                "`{}` ({:?}) must not use `{}` ({:?})",
                row.name, row.layer, target.name, target.layer
            );
            Finding::problem(
                path,
                line,
                what,
                format!("move the code, or argue for the arrow in {HERE}"),
            )
        })
}

fn find(name: &str) -> Option<&'static Row> {
    TABLE.iter().find(|row| row.name == name)
}

impl Row {
    /// Tests may use dev crates, their own crate with other features, and the crate whose macros they
    /// are about, besides what the crate itself may use.
    fn allows(&self, target: &Row, kind: Kind) -> bool {
        let own = self.name.strip_suffix("-macros").unwrap_or(self.name);
        let own = target.name == self.name || target.name == own;
        if kind == Kind::Dev && (target.layer == Layer::Dev || own) {
            return true;
        }
        match self.may_use {
            MayUse::Only(names) => names.contains(&target.name),
            MayUse::Words(names) => target.layer == Layer::Words || names.contains(&target.name),
            MayUse::Rules(names) => target.layer <= Layer::Rules || names.contains(&target.name),
            MayUse::Shipped => target.layer < Layer::Binary,
            MayUse::Anything => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::sample::Sample;
    use crate::tidy::{file, shown};

    fn check_sample(sample: Sample) -> Vec<String> {
        shown(crates_and_edges(&sample.build(), &[]))
    }

    #[test]
    fn an_arrow_that_the_table_has_is_allowed() {
        let sample = Sample::default()
            .member("lockstep-object", &[])
            .member(
                "lockstep-cel",
                &["lockstep-object", "dev:lockstep-testkit", "serde"],
            )
            .member("lockstep-schema", &["lockstep-cel", "dev:lockstep-schema"])
            .member("lockstep-storage", &[])
            .member(
                "lockstep-apiserver",
                &["lockstep-schema", "lockstep-storage"],
            )
            .member("lockstep", &["lockstep-apiserver", "lockstep-cel"])
            .member("lockstep-testkit", &["lockstep-apiserver"])
            .outside("serde", &[], &[]);
        assert_eq!(check_sample(sample), [""; 0]);
    }

    #[test]
    fn an_arrow_up_is_forbidden_and_found_on_its_line() {
        let metadata = Sample::default()
            .member("lockstep-cel", &["lockstep-schema"])
            .member("lockstep-schema", &[])
            .build();
        let text = "[package]\nname = \"lockstep-cel\"\n[dependencies]\nlockstep-schema.workspace = true\n";
        let files = [file("crates/lockstep-cel/Cargo.toml", text)];
        assert_eq!(
            shown(crates_and_edges(&metadata, &files)),
            [
                "crates/lockstep-cel/Cargo.toml:4: `lockstep-cel` (Rules) must not use \
              `lockstep-schema` (Rules); move the code, or argue for the arrow in \
              crates/lockstep-xtask/src/tidy/layers.rs"
            ]
        );
    }

    #[test]
    fn an_arrow_inside_a_layer_needs_the_table_too() {
        let sample = Sample::default()
            .member("lockstep-featuregate", &["lockstep-object"])
            .member("lockstep-object", &[])
            .member("lockstep-dashboard", &["lockstep-apiserver"])
            .member("lockstep-apiserver", &["lockstep-storage-etcd"])
            .member("lockstep-storage-etcd", &[]);
        assert_eq!(check_sample(sample).len(), 3);
    }

    #[test]
    fn only_the_tests_of_macros_use_the_crate_they_write_for() {
        let uses = |used: &str| {
            let sample = Sample::default().member("lockstep-featuregate", &[]);
            check_sample(sample.member("lockstep-featuregate-macros", &[used])).len()
        };
        assert_eq!(uses("dev:lockstep-featuregate"), 0);
        assert_eq!(uses("lockstep-featuregate"), 1);
    }

    #[test]
    fn dev_crates_never_ship() {
        let shipped = Sample::default().member("lockstep", &["lockstep-xtask"]);
        assert_eq!(check_sample(shipped.member("lockstep-xtask", &[])).len(), 1);
        let built = Sample::default().member("lockstep", &["build:lockstep-xtask"]);
        assert_eq!(check_sample(built.member("lockstep-xtask", &[])).len(), 1);
    }

    #[test]
    fn a_crate_without_a_row_is_told_where_to_add_one() {
        assert_eq!(
            check_sample(Sample::default().member("lockstep-utils", &[])),
            [
                "crates/lockstep-utils/Cargo.toml:1: `lockstep-utils` has no layer; add its row to \
              crates/lockstep-xtask/src/tidy/layers.rs"
            ]
        );
    }

    #[test]
    fn a_row_without_a_crate_is_found() {
        let metadata = Sample::default().member("lockstep-cel", &[]).build();
        let names = ["lockstep-cel", "lockstep-dream"].into_iter();
        assert_eq!(
            shown(rows_without_a_crate(&metadata, names)),
            [
                "crates/lockstep-xtask/src/tidy/layers.rs:1: `lockstep-dream` has a layer but is not a crate of \
                 the workspace; remove its row"
            ]
        );
    }

    #[test]
    fn the_table_points_down_and_names_only_its_own_rows() {
        for (index, row) in TABLE.iter().enumerate() {
            let (MayUse::Only(names) | MayUse::Words(names) | MayUse::Rules(names)) = row.may_use
            else {
                continue;
            };
            for name in names {
                let target = TABLE.iter().position(|row| row.name == *name);
                assert!(
                    target.is_some_and(|target| target < index),
                    "{} -> {name}",
                    row.name
                );
                assert!(layer_of(name) <= Some(row.layer), "{} -> {name}", row.name);
            }
        }
    }
}
