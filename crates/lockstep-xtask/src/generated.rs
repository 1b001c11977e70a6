//! `cargo xtask gen`: files that a program writes and git keeps.

mod kinds;
mod protobuf;

use std::fmt;
use std::path::Path;

use anyhow::Context;
use clap::Args;

use crate::workspace::Workspace;
use crate::{Outcome, process};

#[derive(Args)]
pub(crate) struct Options {
    /// Change nothing; fail if a file is not what would be written
    #[arg(long)]
    check: bool,
}

/// A generated file and its producer.
struct Generated {
    /// Told from the root of the repository.
    path: &'static str,
    source: Source,
}

/// Producer of a file.
enum Source {
    /// Its contents are what `lockstep ARGUMENTS` prints.
    Command(&'static [&'static str]),
    /// Its contents are the code of a protobuf package.
    Protobuf(&'static str),
    /// Its contents are the table of built-in kinds.
    Kinds,
    /// Its contents are all protobuf definitions as a constant.
    Descriptors,
}

/// Every generated file. A new one is a new row.
const GENERATED: &[Generated] = &[
    Generated {
        path: "crates/lockstep-kinds/data/kinds.txt",
        source: Source::Kinds,
    },
    Generated {
        path: "docs/reference/feature-gates.md",
        source: Source::Command(&["features", "docs"]),
    },
    Generated {
        path: "crates/lockstep-etcd-api/src/gen/mvccpb.rs",
        source: Source::Protobuf("mvccpb"),
    },
    Generated {
        path: "crates/lockstep-etcd-api/src/gen/authpb.rs",
        source: Source::Protobuf("authpb"),
    },
    Generated {
        path: "crates/lockstep-etcd-api/src/gen/etcdserverpb.rs",
        source: Source::Protobuf("etcdserverpb"),
    },
    Generated {
        path: "crates/lockstep-etcd-api/src/gen/descriptors.rs",
        source: Source::Descriptors,
    },
];

/// Action on a file that is stale.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mode {
    Check,
    Write,
}

/// Writes every file that is stale, or with `--check` names it.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> anyhow::Result<Outcome> {
    let mode = if options.check {
        Mode::Check
    } else {
        Mode::Write
    };
    let stale = refresh(workspace.root(), GENERATED, mode, |row| {
        produce(workspace, row)
    })?;
    for row in &stale {
        println!("{}", sentence(row, mode));
    }
    println!("gen: files {}, stale {}", GENERATED.len(), stale.len());
    let is_red = mode == Mode::Check && !stale.is_empty();
    Ok(Outcome::of(!is_red))
}

/// `cargo xtask gen --check`, as a step of `ci`.
pub(crate) fn check(workspace: &Workspace) -> anyhow::Result<Outcome> {
    run(workspace, &Options { check: true })
}

fn produce(workspace: &Workspace, row: &Generated) -> anyhow::Result<String> {
    let arguments = match row.source {
        Source::Command(arguments) => arguments,
        Source::Protobuf(package) => return protobuf::produce(workspace.root(), package),
        Source::Kinds => return kinds::produce(workspace.root(), Path::new(row.path)),
        Source::Descriptors => return protobuf::descriptors(workspace.root()),
    };
    let mut cargo = process::cargo(workspace.root());
    cargo.args(["run", "--quiet", "--locked", "--package", "lockstep", "--"]);
    process::output_of(cargo.args(arguments))
}

/// The rows whose file differs from what `produce` says, the files themselves rewritten unless
/// this is only a check.
fn refresh<'a>(
    root: &Path,
    rows: &'a [Generated],
    mode: Mode,
    produce: impl Fn(&Generated) -> anyhow::Result<String>,
) -> anyhow::Result<Vec<&'a Generated>> {
    let mut stale = Vec::new();
    for row in rows {
        let fresh = produce(row).with_context(|| format!("producing `{}`", row.path))?;
        let place = root.join(row.path);
        // A file that cannot be read is as stale as one with other contents.
        if std::fs::read_to_string(&place).is_ok_and(|present| present == fresh) {
            continue;
        }
        if mode == Mode::Write {
            write(&place, &fresh).with_context(|| format!("writing `{}`", row.path))?;
        }
        stale.push(row);
    }
    Ok(stale)
}

fn write(place: &Path, contents: &str) -> std::io::Result<()> {
    if let Some(folder) = place.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(place, contents)
}

fn sentence(row: &Generated, mode: Mode) -> String {
    let Generated { path, source } = row;
    match mode {
        Mode::Write => format!("{path}: written from {source}"),
        Mode::Check => format!("{path}: differs from what {source} gives; run `cargo xtask gen`"),
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command(arguments) => write!(f, "`lockstep {}`", arguments.join(" ")),
            Self::Protobuf(package) => {
                write!(f, "package `{package}` of `{}`", protobuf::DEFINITIONS)
            }
            Self::Kinds => f.write_str("the facts about built-in kinds"),
            Self::Descriptors => write!(f, "the packages of `{}`", protobuf::DEFINITIONS),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: &[Generated] = &[
        Generated {
            path: "docs/a.md",
            source: Source::Command(&["say", "a"]),
        },
        Generated {
            path: "b.md",
            source: Source::Protobuf("b"),
        },
    ];

    const B: &str = "from package `b` of `crates/lockstep-etcd-api/proto`";

    fn refresh_in(root: &Path, mode: Mode) -> Vec<&'static str> {
        let stale = refresh(root, ROWS, mode, |row| Ok(format!("from {}", row.source)));
        stale
            .expect("every row is produced")
            .into_iter()
            .map(|row| row.path)
            .collect()
    }

    #[test]
    fn a_check_names_stale_files_and_touches_none() {
        let root = tempfile::tempdir().expect("a temporary folder");
        std::fs::write(root.path().join("b.md"), B).expect("written");
        assert_eq!(refresh_in(root.path(), Mode::Check), ["docs/a.md"]);
        assert!(!root.path().join("docs").exists());
        std::fs::write(root.path().join("b.md"), format!("{B}\n")).expect("written");
        assert_eq!(refresh_in(root.path(), Mode::Check), ["docs/a.md", "b.md"]);
    }

    #[test]
    fn writing_makes_every_file_fresh() {
        let root = tempfile::tempdir().expect("a temporary folder");
        assert_eq!(refresh_in(root.path(), Mode::Write), ["docs/a.md", "b.md"]);
        let read = |path| std::fs::read_to_string(root.path().join(path)).expect("written");
        assert_eq!(
            (read("docs/a.md"), read("b.md")),
            ("from `lockstep say a`".to_owned(), B.to_owned())
        );
        assert_eq!(refresh_in(root.path(), Mode::Check), [""; 0]);
        assert_eq!(refresh_in(root.path(), Mode::Write), [""; 0]);
    }

    #[test]
    fn a_program_that_fails_leaves_the_file_alone_and_is_named() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let failed = refresh(root.path(), ROWS, Mode::Write, |_| {
            anyhow::bail!("no such command")
        });
        let error = failed.map(|_| ()).expect_err("nothing is produced");
        assert_eq!(
            format!("{error:#}"),
            "producing `docs/a.md`: no such command"
        );
        assert!(!root.path().join("docs").exists());
    }

    #[test]
    fn a_stale_file_is_told_with_its_source_and_the_cure() {
        assert_eq!(
            sentence(&ROWS[0], Mode::Check),
            "docs/a.md: differs from what `lockstep say a` gives; run `cargo xtask gen`"
        );
        assert_eq!(
            sentence(&ROWS[1], Mode::Write),
            "b.md: written from package `b` of `crates/lockstep-etcd-api/proto`"
        );
    }
}
