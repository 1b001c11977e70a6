//! `lockstep cel test`.

use std::path::{Path, PathBuf};

use lockstep_cel::{
    Profile,
    conformance::{self, Deviations, Outcome},
};
use serde_json::json;

use super::expression::ProfileName;
use crate::{
    document,
    failure::{Exit, Failure},
    output::{self, Format},
};

/// The list of cases that end differently in the Kubernetes dialect stands beside the cases.
const DEVIATIONS_FILE: &str = "kubernetes-profile.json";

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  lockstep cel test cases.json\n  lockstep cel test basic.json macros.json --profile spec\n  lockstep cel test cases/*.json -o json"
)]
pub(crate) struct Arguments {
    /// Case files
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The language options to run the suite with
    #[arg(long, value_name = "PROFILE", default_value = "kubernetes")]
    profile: ProfileName,
    /// Cases of the suite that end differently in the `kubernetes` profile
    #[arg(long, value_name = "FILE")]
    deviations: Option<PathBuf>,
    /// Output format
    #[arg(long, short, value_name = "FORMAT", default_value = "table")]
    output: Format,
}

/// One file with what became of its cases.
struct Tested {
    file: String,
    cases: Vec<Outcome>,
    /// Cases that need what this engine leaves out on purpose, such as protobuf messages.
    skipped: usize,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let case_files = arguments.files.iter().filter(|path| !is_deviations(path));
    let tested: Vec<Tested> = case_files
        .map(|path| arguments.test(path))
        .collect::<Result<_, _>>()?;
    let cases = || tested.iter().flat_map(|file| &file.cases);
    let (passed, total) = (cases().filter(|case| case.pass).count(), cases().count());
    if total == 0 {
        return Err(Failure::bad_input("no cases to run"));
    }
    output::data(&match arguments.output {
        Format::Table => as_text(&tested, passed, total),
        format => format.render(&as_document(&tested, passed, total)),
    });
    Ok(if passed == total { Exit::Yes } else { Exit::No })
}

impl Arguments {
    fn test(&self, path: &Path) -> Result<Tested, Failure> {
        let wrong = |error: conformance::FileError| {
            Failure::bad_input(format!("{}: {error}", path.display()))
        };
        let beside = path.with_file_name(DEVIATIONS_FILE);
        let deviations = match self
            .deviations
            .as_deref()
            .or(beside.is_file().then_some(&*beside))
        {
            Some(path) => Deviations::from_json(&document::read_text(path)?).map_err(wrong)?,
            None => Deviations::default(),
        };
        let profile = match self.profile {
            ProfileName::Spec => Profile::Spec,
            ProfileName::Kubernetes => Profile::Kubernetes,
        };
        let outcomes =
            conformance::run(&document::read_text(path)?, profile, &deviations).map_err(wrong)?;
        let (cases, skipped): (Vec<_>, Vec<_>) =
            outcomes.into_iter().partition(|outcome| outcome.required);
        Ok(Tested {
            file: path.display().to_string(),
            cases,
            skipped: skipped.len(),
        })
    }
}

fn is_deviations(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == DEVIATIONS_FILE)
}

fn as_text(tested: &[Tested], passed: usize, total: usize) -> String {
    let mut text = String::new();
    for Tested {
        file,
        cases,
        skipped,
    } in tested
    {
        for case in cases.iter().filter(|case| !case.pass) {
            text.push_str(&format!(
                "✗ {file} {}\n    expected {}\n    actual   {}\n",
                case.id, case.expected, case.actual
            ));
        }
        let good = cases.iter().filter(|case| case.pass).count();
        let skipped = if *skipped > 0 {
            format!(", {skipped} skipped")
        } else {
            String::new()
        };
        text.push_str(&format!("{file}: {good}/{}{skipped}\n", cases.len()));
    }
    text.push_str(&format!("{passed} passed, {} failed\n", total - passed));
    text
}

fn as_document(tested: &[Tested], passed: usize, total: usize) -> serde_json::Value {
    let cases: Vec<_> = tested
        .iter()
        .flat_map(|Tested { file, cases, .. }| {
            cases.iter().map(move |case| {
                json!({
                    "file": file,
                    "id": case.id,
                    "pass": case.pass,
                    "expected": case.expected,
                    "actual": case.actual,
                })
            })
        })
        .collect();
    let skipped: usize = tested.iter().map(|file| file.skipped).sum();
    let fields = json!({ "passed": passed, "total": total, "skipped": skipped, "cases": cases });
    output::document("CelTest", fields)
}
