//! `cargo xtask test`: all tests, with the outside programs they talk to.

mod skips;

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;

use crate::programs::install::{self, Decision, Means};
use crate::programs::{self, PROGRAMS, Program, Purpose};
use crate::workspace::Workspace;
use crate::{Outcome, process};

#[derive(Args)]
pub(crate) struct Options {
    /// Do not fetch missing programs; the tests that need them skip aloud
    #[arg(long)]
    no_install: bool,
    /// Print the table of outside programs and stop
    #[arg(long)]
    list_programs: bool,
    /// Arguments for the test runner, for example a part of a test's name
    #[arg(last = true)]
    arguments: Vec<OsString>,
}

/// The arguments that run every doc test.
pub(crate) const DOC_TESTS: &[&str] = &["test", "--doc", "--workspace", "--locked"];

/// Fetches what is missing, then runs the tests.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> anyhow::Result<Outcome> {
    if options.list_programs {
        print!("{}", programs::table());
        return Ok(Outcome::Green);
    }
    provide(workspace, options.no_install)?;
    if run_tests(workspace, &options.arguments)? == Outcome::Red {
        return Ok(Outcome::Red);
    }
    if !options.arguments.is_empty() {
        println!("test: doc tests are left out when the runner gets arguments");
        return Ok(Outcome::Green);
    }
    let is_green = process::succeeds(process::cargo(workspace.root()).args(DOC_TESTS))?;
    Ok(Outcome::of(is_green))
}

/// Runs all tests except doc tests, then repeats what they said that they skipped.
pub(crate) fn run_tests(workspace: &Workspace, arguments: &[OsString]) -> anyhow::Result<Outcome> {
    let has_nextest = process::has_cargo_subcommand(workspace.root(), "nextest");
    if !has_nextest {
        println!("test: cargo-nextest is not installed; using `cargo test`");
    }
    for stale in skips::reports(workspace.root()) {
        std::fs::remove_file(&stale).with_context(|| format!("removing `{}`", stale.display()))?;
    }
    let mut tests = process::cargo(workspace.root());
    tests
        .args(runner(has_nextest, arguments))
        .envs(environment(workspace)?);
    let is_green = process::succeeds(&mut tests)?;
    for report in skips::reports(workspace.root()) {
        let junit = std::fs::read_to_string(&report)
            .with_context(|| format!("reading `{}`", report.display()))?;
        for skipped in skips::skipped_in(&junit) {
            println!("test: {skipped}");
        }
    }
    Ok(Outcome::of(is_green))
}

/// The arguments of cargo that run what a person asked for, by nextest where it is installed.
///
/// Cargo takes `--workspace` to mean more than any `--package` beside it, so the one goes when
/// the other is there. The plain runner is asked to show what passing tests print, since that is
/// where they say what they skip; for nextest, its report tells.
fn runner(has_nextest: bool, arguments: &[OsString]) -> Vec<OsString> {
    let names_a_package = arguments.iter().any(|argument| {
        let argument = argument.to_string_lossy();
        let is_long = argument == "--package" || argument.starts_with("--package=");
        is_long || argument.starts_with("-p")
    });
    let own: &[&str] = if has_nextest {
        &["nextest", "run"]
    } else {
        &["test", "--tests"]
    };
    let scope: &[&str] = if names_a_package {
        &[]
    } else {
        &["--workspace"]
    };
    let has_tail = has_nextest || arguments.iter().any(|argument| argument == "--");
    let tail: &[&str] = if has_tail {
        &[]
    } else {
        &["--", "--show-output"]
    };
    let strings = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
    [
        strings(own),
        strings(&["--locked"]),
        strings(scope),
        arguments.to_vec(),
        strings(tail),
    ]
    .concat()
}

/// The variables that tell tests where the programs at hand are.
pub(crate) fn environment(workspace: &Workspace) -> anyhow::Result<Vec<(&'static str, PathBuf)>> {
    let mut variables = Vec::new();
    for program in PROGRAMS {
        let found = install::find(program, &workspace.tools())?;
        variables.extend(program.variable.zip(found));
    }
    Ok(variables)
}

/// Says of each program that a crate of the workspace needs whether it is there, fetches it if
/// it can, and says what will be skipped if it cannot.
fn provide(workspace: &Workspace, no_install: bool) -> anyhow::Result<()> {
    let metadata = workspace.metadata()?;
    let needed = programs::needed(Purpose::Tests, |name| metadata.has_member(name));
    if needed.is_empty() {
        println!("test: no crate here needs an outside program");
        return Ok(());
    }
    let means = Means::of_this_machine(no_install);
    for program in needed {
        let decision = install::decide(program, install::find(program, &workspace.tools())?, means);
        announce(program, &decision);
        if !matches!(decision, Decision::Install(_)) {
            continue;
        }
        // A machine that cannot fetch a program can still run every other test.
        if let Err(error) = install::fetch(program, &workspace.tools()) {
            announce(program, &Decision::Missing(format!("{error:#}")));
        }
    }
    Ok(())
}

fn announce(program: &Program, decision: &Decision) {
    println!("test: {}", install::sentence(program, decision));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runner_with(has_nextest: bool, arguments: &[&str]) -> String {
        let arguments: Vec<_> = arguments.iter().map(OsString::from).collect();
        let all = runner(has_nextest, &arguments);
        all.join(&OsString::from(" "))
            .to_string_lossy()
            .into_owned()
    }

    #[test]
    fn a_part_of_a_name_is_looked_for_in_the_whole_workspace() {
        assert_eq!(runner_with(true, &[]), "nextest run --locked --workspace");
        assert_eq!(
            runner_with(true, &["part"]),
            "nextest run --locked --workspace part"
        );
        assert_eq!(
            runner_with(true, &["--profile", "ci"]),
            "nextest run --locked --workspace --profile ci"
        );
    }

    #[test]
    fn a_package_is_tested_alone() {
        for package in [
            &["-p", "x"][..],
            &["-px"],
            &["--package", "x"],
            &["--package=x"],
        ] {
            let expected = format!("nextest run --locked {}", package.join(" "));
            assert_eq!(runner_with(true, package), expected);
        }
    }

    #[test]
    fn without_nextest_the_plain_runner_shows_what_passing_tests_say() {
        assert_eq!(
            runner_with(false, &[]),
            "test --tests --locked --workspace -- --show-output"
        );
        assert_eq!(
            runner_with(false, &["-p", "x", "--", "part"]),
            "test --tests --locked -p x -- part"
        );
    }
}
