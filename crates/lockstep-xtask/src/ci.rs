//! `cargo xtask ci`: everything a change has to pass, cheapest first.
//!
//! All steps share one profile and one target folder: clippy and rustdoc reuse each other's
//! checked dependencies, tests and doc tests each other's built ones.

use std::time::Duration;

use clap::Args;

use crate::workspace::Workspace;
use crate::{Outcome, generated, process, test, tidy, ui};

#[derive(Args)]
pub(crate) struct Options {
    /// Leave out the tests and doc tests, for when `cargo xtask test` has just run them
    #[arg(long)]
    without_tests: bool,
    /// Run the remaining steps after one has failed
    #[arg(long)]
    keep_going: bool,
}

/// One check.
struct Step {
    name: &'static str,
    action: Action,
    /// Advice for when it fails.
    remedy: &'static str,
}

enum Action {
    /// `cargo` with these arguments and this variable.
    Cargo(
        &'static [&'static str],
        Option<(&'static str, &'static str)>,
    ),
    /// Another chore of this program.
    Chore(fn(&Workspace) -> anyhow::Result<Outcome>),
    /// Nothing, and why.
    Skip(&'static str),
}

/// Inputs of the plan.
struct Choice {
    has_deny: bool,
    without_tests: bool,
}

/// Result of a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Verdict {
    Passed,
    Failed,
    Skipped(&'static str),
    NotReached,
}

/// One line of the closing table.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Report {
    name: &'static str,
    verdict: Verdict,
    took: Duration,
    remedy: &'static str,
}

/// Runs the steps, up to the first failure unless told to keep going.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Outcome {
    let has_deny = process::has_cargo_subcommand(workspace.root(), "deny");
    let steps = plan(&Choice {
        has_deny,
        without_tests: options.without_tests,
    });
    let reports = drive(&steps, options.keep_going, |step| execute(workspace, step));
    print!("\n{}", summary(&reports));
    let is_red = reports
        .iter()
        .any(|report| report.verdict == Verdict::Failed);
    Outcome::of(!is_red)
}

fn plan(choice: &Choice) -> Vec<Step> {
    let step = |name, action, remedy| Step {
        name,
        action,
        remedy,
    };
    let unless_left_out = |action| {
        if choice.without_tests {
            Action::Skip("left out by --without-tests")
        } else {
            action
        }
    };
    let deny = if choice.has_deny {
        Action::Cargo(&["deny", "--locked", "check"], None)
    } else {
        Action::Skip("cargo-deny is not installed; `cargo install --locked cargo-deny`")
    };
    let warnings_are_errors = Some(("RUSTDOCFLAGS", "-D warnings"));
    vec![
        step(
            "fmt",
            Action::Cargo(&["fmt", "--all", "--check"], None),
            "run `cargo fmt`",
        ),
        step(
            "tidy",
            Action::Chore(tidy::run),
            "each line above says what to do",
        ),
        step(
            "clippy",
            Action::Cargo(CLIPPY, None),
            "put right what the lint says, or `#[expect(…, reason = \"…\")]` it",
        ),
        step(
            "tests",
            unless_left_out(Action::Chore(|workspace| test::run_tests(workspace, &[]))),
            "run one test alone with `cargo xtask test -- NAME`",
        ),
        step(
            "doc tests",
            unless_left_out(Action::Cargo(test::DOC_TESTS, None)),
            "run those of one crate with `cargo test --doc -p CRATE`",
        ),
        step(
            "rustdoc",
            Action::Cargo(RUSTDOC, warnings_are_errors),
            "put right the doc comment named above",
        ),
        step(
            "gen",
            Action::Chore(generated::check),
            "run `cargo xtask gen` and commit what it writes",
        ),
        step(
            "ui",
            Action::Chore(ui::check),
            "run `npm ci && npm run build` in ui/ and commit ui/dist; never merge it by hand",
        ),
        step(
            "deny",
            deny,
            "drop the crate, or add a dated exception with its reason to deny.toml",
        ),
    ]
}

const CLIPPY: &[&str] = &[
    "clippy",
    "--workspace",
    "--all-targets",
    "--locked",
    "--",
    "-D",
    "warnings",
];

const RUSTDOC: &[&str] = &["doc", "--workspace", "--no-deps", "--locked"];

/// Runs `execute` on the steps in order and reports on all of them.
fn drive(
    steps: &[Step],
    keep_going: bool,
    mut execute: impl FnMut(&Step) -> (Verdict, Duration),
) -> Vec<Report> {
    let mut reports = Vec::new();
    let mut has_failed = false;
    for step in steps {
        let (verdict, took) = if has_failed && !keep_going {
            (Verdict::NotReached, Duration::ZERO)
        } else {
            execute(step)
        };
        has_failed |= verdict == Verdict::Failed;
        reports.push(Report {
            name: step.name,
            verdict,
            took,
            remedy: step.remedy,
        });
    }
    reports
}

fn execute(workspace: &Workspace, step: &Step) -> (Verdict, Duration) {
    println!("\n== {}", step.name);
    let (result, took) = process::timed(|| act(workspace, &step.action));
    // A step that could not run at all has failed like any other, and the table still follows.
    let verdict = result.unwrap_or_else(|error| {
        println!("{error:#}");
        Verdict::Failed
    });
    let seconds = took.as_secs_f64();
    match verdict {
        Verdict::Failed => {
            println!(
                "-- {} FAILED after {seconds:.1} s: {}",
                step.name, step.remedy
            );
        }
        Verdict::Skipped(why) => println!("-- {} SKIPPED: {why}", step.name),
        Verdict::Passed | Verdict::NotReached => println!("-- {} ok, {seconds:.1} s", step.name),
    }
    (verdict, took)
}

fn act(workspace: &Workspace, action: &Action) -> anyhow::Result<Verdict> {
    match action {
        Action::Cargo(arguments, variable) => {
            let mut cargo = process::cargo(workspace.root());
            process::succeeds(cargo.args(*arguments).envs(*variable)).map(verdict_of)
        }
        Action::Chore(chore) => chore(workspace).map(|it| verdict_of(it == Outcome::Green)),
        Action::Skip(why) => Ok(Verdict::Skipped(why)),
    }
}

fn verdict_of(is_success: bool) -> Verdict {
    if is_success {
        Verdict::Passed
    } else {
        Verdict::Failed
    }
}

/// The closing table: a line a step, then what to do next.
fn summary(reports: &[Report]) -> String {
    let mut lines: Vec<String> = reports.iter().map(summary_line).collect();
    let failed: Vec<_> = reports
        .iter()
        .filter(|it| it.verdict == Verdict::Failed)
        .collect();
    let total: Duration = reports.iter().map(|report| report.took).sum();
    lines.push(match failed.as_slice() {
        [] => format!("ci: green in {:.0} s", total.as_secs_f64()),
        [one] => format!("ci: {} failed: {}", one.name, one.remedy),
        many => {
            let names: Vec<_> = many.iter().map(|report| report.name).collect();
            format!("ci: {} steps failed: {}", many.len(), names.join(", "))
        }
    });
    lines.join("\n") + "\n"
}

fn summary_line(report: &Report) -> String {
    let seconds = report.took.as_secs_f64();
    let (mark, rest) = match report.verdict {
        Verdict::Passed => ("ok", format!("{seconds:7.1} s")),
        Verdict::Failed => ("FAILED", format!("{seconds:7.1} s  {}", report.remedy)),
        Verdict::Skipped(why) => ("skipped", format!("           {why}")),
        Verdict::NotReached => ("-", "           not reached".to_owned()),
    };
    format!("{:<10} {mark:<8}{rest}", report.name)
}

#[cfg(test)]
mod tests;
