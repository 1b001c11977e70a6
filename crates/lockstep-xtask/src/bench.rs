//! `cargo xtask bench`: the benchmarks of the crates that have some.

mod instructions;
mod versus;

use std::path::PathBuf;

use clap::Args;

use crate::metadata::Metadata;
use crate::programs::install::{self, Means};
use crate::programs::{self, Program, Purpose};
use crate::workspace::Workspace;
use crate::{Outcome, process};

#[derive(Args)]
pub(crate) struct Options {
    /// Which benchmarks to run; all of them when left out
    name: Option<String>,
    /// Arguments for the benchmark program, for example a part of a benchmark's name
    #[arg(last = true)]
    arguments: Vec<String>,
}

/// A crate with benchmarks and the short name that people call them by.
#[derive(PartialEq, Eq, Debug)]
struct Bench {
    name: &'static str,
    package: &'static str,
    /// Whether our program runs beside others.
    is_versus: bool,
    /// Arguments that choose a part of the package's benchmarks.
    arguments: &'static [&'static str],
}

const BENCHES: &[Bench] = &[
    Bench::alone("featuregate", "lockstep-featuregate"),
    Bench::alone("cel", "lockstep-cel"),
    Bench::alone("fieldgate", "lockstep-fieldgate"),
    Bench::alone("writes", "lockstep-apiserver"),
    Bench::alone("admission", "lockstep-write"),
    Bench::versus("admission", "lockstep-testkit", &["--only", "policies"]),
    Bench::alone("mvcc", "lockstep-mvcc"),
    Bench::alone("embedded", "lockstep-storage-embedded"),
    Bench::alone("bodies", "lockstep-kinds"),
    Bench::alone("openapi", "lockstep-openapi"),
    Bench::versus("api", "lockstep-testkit", &[]),
    Bench::versus("store", "lockstep-store", &[]),
];

impl Bench {
    const fn alone(name: &'static str, package: &'static str) -> Self {
        Self {
            name,
            package,
            is_versus: false,
            arguments: &[],
        }
    }

    const fn versus(
        name: &'static str,
        package: &'static str,
        arguments: &'static [&'static str],
    ) -> Self {
        Self {
            name,
            package,
            is_versus: true,
            arguments,
        }
    }
}

const HOW_TO_READ: &str = "\
bench: `time: [low mid high]` is the range that holds the true mean with 95 % confidence;
bench: `change:` compares with the run before, kept under target/criterion. A shared machine
bench: is noisy: trust a change that shows twice, and quote the machine with the number.";

/// Runs the chosen benchmarks one crate after the other.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> anyhow::Result<Outcome> {
    let metadata = workspace.metadata()?;
    let has_benches = |package: &str| has_benches(&metadata, package);
    for bench in choose(options.name.as_deref(), has_benches)? {
        println!("\n== {} ({})", bench.name, bench.package);
        announce_programs(workspace, Purpose::Benches, bench.package)?;
        let mut cargo = process::cargo(workspace.root());
        if bench.is_versus {
            versus::prepare(workspace, bench.package, &mut cargo)?;
        }
        // By `--benches` cargo would also start the unit tests, which know none of the arguments.
        cargo.args(["bench", "--locked", "--bench", "*"]);
        cargo.args(["--package", bench.package, "--"]);
        cargo.args(bench.arguments);
        if !process::succeeds(cargo.args(&options.arguments))? {
            return Ok(Outcome::Red);
        }
        let folder = folder_of(&metadata, bench.package);
        instructions::run(
            workspace,
            bench.package,
            &folder.expect("it was chosen by its folder"),
        )?;
    }
    println!("\n{HOW_TO_READ}");
    Ok(Outcome::Green)
}

/// Says where the programs of a package are, and returns those places; benchmarks install nothing.
fn announce_programs(
    workspace: &Workspace,
    purpose: Purpose,
    package: &str,
) -> anyhow::Result<Vec<(&'static Program, Option<PathBuf>)>> {
    let mut places = Vec::new();
    for program in programs::needed(purpose, |name| name == package) {
        let found = install::find(program, &workspace.tools())?;
        let decision = install::decide(program, found.clone(), Means::Nothing);
        println!("bench: {}", install::sentence(program, &decision));
        places.push((program, found));
    }
    Ok(places)
}

/// The rows that `name` means, an error with the names there are if it means none.
fn choose(
    name: Option<&str>,
    has_benches: impl Fn(&str) -> bool,
) -> anyhow::Result<Vec<&'static Bench>> {
    let runnable: Vec<_> = BENCHES
        .iter()
        .filter(|bench| has_benches(bench.package))
        .collect();
    let mut names: Vec<_> = runnable.iter().map(|bench| bench.name).collect();
    names.dedup();
    let there_are = match names.as_slice() {
        [] => "no crate has benchmarks yet".to_owned(),
        names => format!("there are: {}", names.join(", ")),
    };
    let Some(name) = name else {
        anyhow::ensure!(!runnable.is_empty(), "{there_are}");
        return Ok(runnable);
    };
    let chosen: Vec<_> = runnable
        .into_iter()
        .filter(|bench| bench.name == name)
        .collect();
    anyhow::ensure!(
        !chosen.is_empty(),
        "no benchmarks called `{name}`; {there_are}"
    );
    Ok(chosen)
}

fn has_benches(metadata: &Metadata, package: &str) -> bool {
    folder_of(metadata, package).is_some_and(|folder| folder.join("benches").is_dir())
}

fn folder_of(metadata: &Metadata, package: &str) -> Option<PathBuf> {
    let mut members = metadata.members().into_iter();
    let member = members.find(|member| member.name == package)?;
    member.manifest_path.parent().map(Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(name: Option<&str>, existing: &[&str]) -> Result<Vec<&'static str>, String> {
        let rows = choose(name, |package| existing.contains(&package));
        let packages = rows.map(|rows| rows.into_iter().map(|row| row.package).collect());
        packages.map_err(|error| error.to_string())
    }

    #[test]
    fn a_name_means_its_rows_and_no_name_means_all() {
        let existing = ["lockstep-cel", "lockstep-featuregate"];
        assert_eq!(chosen(Some("cel"), &existing), Ok(vec!["lockstep-cel"]));
        assert_eq!(
            chosen(None, &existing),
            Ok(vec!["lockstep-featuregate", "lockstep-cel"])
        );
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_names_there_are() {
        let existing = ["lockstep-cel", "lockstep-featuregate"];
        let expected = "no benchmarks called `store`; there are: featuregate, cel";
        assert_eq!(chosen(Some("store"), &existing), Err(expected.to_owned()));
        let expected = "no benchmarks called `x`; no crate has benchmarks yet";
        assert_eq!(chosen(Some("x"), &[]), Err(expected.to_owned()));
        assert_eq!(
            chosen(None, &[]),
            Err("no crate has benchmarks yet".to_owned())
        );
    }
}
