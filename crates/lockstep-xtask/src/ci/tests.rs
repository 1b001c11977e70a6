//! Which steps there are, when they stop, and how the end reads.

use super::*;

const ALL: Choice = Choice {
    has_deny: true,
    without_tests: false,
};

fn names_and_actions(steps: &[Step]) -> Vec<String> {
    let shown = |step: &Step| match &step.action {
        Action::Cargo(arguments, None) => arguments.join(" "),
        Action::Cargo(arguments, Some((name, value))) => {
            format!("{name}={value} {}", arguments.join(" "))
        }
        Action::Chore(_) => "chore".to_owned(),
        Action::Skip(why) => format!("skip: {why}"),
    };
    steps
        .iter()
        .map(|step| format!("{}: {}", step.name, shown(step)))
        .collect()
}

/// feature-gates.md §12/examples: doc tests are a step of their own.
#[test]
fn the_cheap_steps_come_first_and_nothing_is_left_out() {
    assert_eq!(
        names_and_actions(&plan(&ALL)),
        [
            "fmt: fmt --all --check",
            "tidy: chore",
            "clippy: clippy --workspace --all-targets --locked -- -D warnings",
            "tests: chore",
            "doc tests: test --doc --workspace --locked",
            "rustdoc: RUSTDOCFLAGS=-D warnings doc --workspace --no-deps --locked",
            "gen: chore",
            "ui: chore",
            "deny: deny --locked check",
        ]
    );
}

#[test]
fn a_machine_without_cargo_deny_says_what_it_skips() {
    let steps = names_and_actions(&plan(&Choice {
        has_deny: false,
        ..ALL
    }));
    assert_eq!(
        steps[8],
        "deny: skip: cargo-deny is not installed; `cargo install --locked cargo-deny`"
    );
}

#[test]
fn without_tests_skips_both_kinds_of_tests_and_nothing_else() {
    let with = names_and_actions(&plan(&ALL));
    let without = names_and_actions(&plan(&Choice {
        without_tests: true,
        ..ALL
    }));
    let differing: Vec<_> = with
        .iter()
        .zip(&without)
        .filter(|(a, b)| a != b)
        .map(|(_, b)| b)
        .collect();
    assert_eq!(
        differing,
        [
            "tests: skip: left out by --without-tests",
            "doc tests: skip: left out by --without-tests",
        ]
    );
}

fn four_steps() -> [Step; 4] {
    ["a", "b", "c", "d"].map(|name| Step {
        name,
        action: Action::Skip(""),
        remedy: "run `x`",
    })
}

fn drive_with_failing_b(keep_going: bool) -> Vec<Report> {
    let verdict = |step: &Step| verdict_of(step.name != "b");
    drive(&four_steps(), keep_going, |step| {
        (verdict(step), Duration::from_millis(1500))
    })
}

fn verdicts(reports: &[Report]) -> Vec<Verdict> {
    reports.iter().map(|report| report.verdict).collect()
}

#[test]
fn the_first_failure_ends_the_run() {
    use Verdict::{Failed, NotReached, Passed};
    assert_eq!(
        verdicts(&drive_with_failing_b(false)),
        [Passed, Failed, NotReached, NotReached]
    );
    assert_eq!(
        verdicts(&drive_with_failing_b(true)),
        [Passed, Failed, Passed, Passed]
    );
}

#[test]
fn the_end_names_the_failure_and_what_to_do() {
    assert_eq!(
        summary(&drive_with_failing_b(false)),
        "a          ok          1.5 s\n\
         b          FAILED      1.5 s  run `x`\n\
         c          -                  not reached\n\
         d          -                  not reached\n\
         ci: b failed: run `x`\n"
    );
}

#[test]
fn several_failures_are_counted_and_none_is_green() {
    let report = |name, verdict| Report {
        name,
        verdict,
        took: Duration::from_secs(2),
        remedy: "",
    };
    let failed = [report("a", Verdict::Failed), report("b", Verdict::Failed)];
    assert_eq!(
        summary(&failed).lines().last(),
        Some("ci: 2 steps failed: a, b")
    );
    let green = [
        report("a", Verdict::Passed),
        report("b", Verdict::Skipped("why")),
    ];
    assert_eq!(
        summary(&green),
        "a          ok          2.0 s\n\
         b          skipped            why\n\
         ci: green in 4 s\n"
    );
}
