//! The project's own cases, one file for each section of cel.md; every case names the row it stands for.

#![expect(clippy::unwrap_used, reason = "a missing case file is a failure")]

use lockstep_cel::Profile;
use lockstep_cel::conformance::{self, Deviations};
use std::path::Path;

/// Runs one file; everything a case states must hold.
fn check(file: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let text = std::fs::read_to_string(folder.join(file)).unwrap();
    let outcomes = conformance::run(&text, Profile::Kubernetes, &Deviations::default()).unwrap();
    let failed: Vec<String> = outcomes
        .iter()
        .filter(|outcome| !outcome.pass)
        .map(|outcome| {
            format!(
                "{}\n  expected {}\n  actual   {}",
                outcome.id, outcome.expected, outcome.actual
            )
        })
        .collect();
    assert!(!outcomes.is_empty(), "{file} has no case");
    assert!(
        failed.is_empty(),
        "{} of {} fail in {file}:\n{}",
        failed.len(),
        outcomes.len(),
        failed.join("\n")
    );
}

macro_rules! sections {
    ($($name:ident: $file:literal,)*) => {
        $(#[test]
        fn $name() {
            check($file);
        })*

        #[test]
        fn every_case_file_is_run() {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
            let mut found: Vec<String> = std::fs::read_dir(folder)
                .unwrap()
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect();
            found.sort();
            let mut run = vec![$($file.to_owned()),*];
            run.sort();
            assert_eq!(found, run);
        }
    };
}

sections! {
    limits_have_names_and_errors: "limits.json",
    tokens_are_those_of_the_table: "lexis.json",
    values_have_the_types_of_the_table: "types.json",
    operators_have_the_overloads_of_the_table: "operators.json",
    errors_are_absorbed_as_the_table_says: "errors.json",
    macros_and_optionals_mean_what_the_table_says: "macros.json",
    functions_get_the_hard_cases_right: "functions.json",
    kubernetes_libraries_get_the_edge_cases_right: "libraries.json",
    features_arrive_with_their_version: "versions.json",
    the_checker_says_what_the_table_says: "checking.json",
    mutations_build_objects_and_patches: "mutation.json",
    running_costs_what_the_table_says: "cost.json",
    estimates_follow_the_schema: "estimate.json",
    rules_of_a_crd_cost_what_the_table_says: "rules.json",
    values_that_fit_no_overload_are_told_so: "dispatch.json",
}
