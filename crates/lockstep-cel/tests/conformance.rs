//! The public suites, when they are there: counts per section, and a floor below which none may fall.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test that prints its counts"
)]

use lockstep_cel::Profile;
use lockstep_cel::conformance::{self, Deviations, Outcome};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The folder with the suites, beside the repository or where the environment says.
fn suites() -> Option<PathBuf> {
    let shared = std::env::var_os("LOCKSTEP_SHARED").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
        PathBuf::from,
    );
    Some(shared.join("conformance/cel")).filter(|folder| folder.is_dir())
}

fn read(folder: &std::path::Path, name: &str) -> String {
    std::fs::read_to_string(folder.join(name))
        .unwrap_or_else(|error| panic!("reading {name}: {error}"))
}

/// Runs one file and prints what failed.
fn run(folder: &std::path::Path, file: &str, profile: Profile) -> Vec<Outcome> {
    let deviations = Deviations::from_json(&read(folder, "kubernetes-profile.json")).unwrap();
    let outcomes = conformance::run(&read(folder, file), profile, &deviations).unwrap();
    for outcome in outcomes
        .iter()
        .filter(|outcome| !outcome.pass && outcome.required)
    {
        println!(
            "{file} {}\n  expected {}\n  actual   {}",
            outcome.id, outcome.expected, outcome.actual
        );
    }
    outcomes
}

/// Passed and total required cases per section.
fn counts(outcomes: &[Outcome]) -> BTreeMap<&str, (usize, usize)> {
    let mut counts = BTreeMap::new();
    for outcome in outcomes.iter().filter(|outcome| outcome.required) {
        let (passed, total) = counts.entry(outcome.section.as_str()).or_insert((0, 0));
        *passed += usize::from(outcome.pass);
        *total += 1;
    }
    counts
}

/// Sections every build must pass in full.
const MUST: [&str; 19] = [
    "basic",
    "comparisons",
    "conversions",
    "fields",
    "fp_math",
    "integer_math",
    "lists",
    "logic",
    "macros",
    "macros2",
    "namespace",
    "network_ext",
    "optionals",
    "parse",
    "plumbing",
    "string",
    "string_ext",
    "timestamps",
    "type_deductions",
];
const SHOULD: [&str; 3] = ["bindings_ext", "encoders_ext", "math_ext"];

fn check(profile: Profile, sections: &[&str], floor: usize) {
    let Some(folder) = suites() else {
        println!("SKIPPED: the conformance suites are not beside the repository");
        return;
    };
    let mut passed = 0;
    for section in sections {
        let outcomes = run(&folder, &format!("{section}.json"), profile);
        for (name, (good, total)) in counts(&outcomes) {
            println!("{profile:?} {name}: {good}/{total}");
            passed += good;
        }
    }
    println!("{profile:?}: {passed} passed");
    assert!(passed >= floor, "{passed} cases pass, {floor} did before");
}

#[test]
fn the_specification_profile_passes_the_suite() {
    check(Profile::Spec, &MUST, 1506);
}

#[test]
fn the_specification_profile_passes_optional_libraries() {
    check(Profile::Spec, &SHOULD, 211);
}

#[test]
fn the_kubernetes_profile_ends_as_recorded() {
    check(
        Profile::Kubernetes,
        &[&MUST[..], &SHOULD[..]].concat(),
        1717,
    );
}

#[test]
fn kubernetes_cases_hold_in_value_type_cost_and_position() {
    check(Profile::Kubernetes, &["kubernetes"], 626);
}
