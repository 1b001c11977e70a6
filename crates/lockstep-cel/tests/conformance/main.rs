//! The language suite of CEL under both profiles: the npm package, and cases of ours for what it leaves out.
//!
//! `cargo xtask test` fetches the package and names it in `LOCKSTEP_TEST_CEL_SUITE`. Counts are exact because the
//! version is fixed: a truncated suite fails, as does a case that is no longer run.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test that says what it skips"
)]

mod package;

use lockstep_cel::Profile;
use lockstep_cel::conformance::{self, Deviations, Outcome};
use std::path::{Path, PathBuf};

/// Sections of the package with the number of cases that need no protobuf messages. Sections about protobuf alone
/// (`dynamic`, `enums`, `proto2`, `proto3`, `wrappers`) and `block_ext`, an optimiser's output, are not run.
const PACKAGE: [(&str, usize); 21] = [
    ("basic", 43),
    ("bindings_ext", 5),
    ("comparisons", 334),
    ("conversions", 109),
    ("encoders_ext", 4),
    ("fields", 60),
    ("fp_math", 30),
    ("integer_math", 64),
    ("lists", 39),
    ("logic", 30),
    ("macros", 44),
    ("macros2", 46),
    ("math_ext", 199),
    ("namespace", 3),
    ("optionals", 59),
    ("parse", 193),
    ("plumbing", 5),
    ("string", 51),
    ("string_ext", 206),
    ("timestamps", 75),
    ("type_deductions", 26),
];

/// Cases of ours, by section of the suite they would belong to.
const OWN: [(&str, usize); 5] = [
    ("bindings_ext", 5),
    ("namespace", 14),
    ("network_ext", 104),
    ("string_ext", 9),
    ("timestamps", 6),
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path)
        .unwrap_or_else(|error| panic!("reading {}: {error}", path.display()))
}

/// Number of required cases in a case file, all of which must pass.
fn passed(text: &str, profile: Profile) -> usize {
    let deviations =
        Deviations::from_json(&read(&folder().join("kubernetes-profile.json"))).unwrap();
    let outcomes = conformance::run(text, profile, &deviations).unwrap();
    let required: Vec<&Outcome> = outcomes.iter().filter(|outcome| outcome.required).collect();
    let failed: Vec<String> = required
        .iter()
        .filter(|outcome| !outcome.pass)
        .map(|outcome| {
            format!(
                "{} {}\n  expected {}\n  actual   {}",
                outcome.section, outcome.id, outcome.expected, outcome.actual
            )
        })
        .collect();
    assert!(
        failed.is_empty(),
        "{profile:?}: {} of {} fail:\n{}",
        failed.len(),
        required.len(),
        failed.join("\n")
    );
    required.len()
}

fn check_package(profile: Profile) {
    let Some(path) = std::env::var_os("LOCKSTEP_TEST_CEL_SUITE") else {
        println!(
            "SKIPPED: the CEL language suite is not here; `cargo xtask test` fetches it where there is npm"
        );
        return;
    };
    let sections = package::sections(&read(Path::new(&path)));
    let counts: Vec<(&str, usize)> = PACKAGE
        .iter()
        .map(|(name, _)| {
            let cases = sections
                .get(*name)
                .map_or(0, |section| passed(&section.to_string(), profile));
            (*name, cases)
        })
        .collect();
    assert_eq!(counts, PACKAGE);
}

fn check_own(profile: Profile) {
    let counts = OWN.map(|(name, _)| {
        let text = read(&folder().join(format!("{name}.json")));
        (name, passed(&text, profile))
    });
    assert_eq!(counts, OWN);
}

#[test]
fn the_specification_profile_passes_the_suite() {
    check_package(Profile::Spec);
}

#[test]
fn the_kubernetes_profile_passes_the_suite_but_for_its_deviations() {
    check_package(Profile::Kubernetes);
}

#[test]
fn the_specification_profile_passes_our_cases() {
    check_own(Profile::Spec);
}

#[test]
fn the_kubernetes_profile_passes_our_cases_but_for_its_deviations() {
    check_own(Profile::Kubernetes);
}
