//! `lockstep policy test`.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use lockstep_gotext::re2;
use lockstep_object::yaml;
use lockstep_write::offline::policies::cases;
use serde_json::{Value, json};

use super::findings::escape;
use super::judge;
use super::suites::{self, Planned};
use crate::{
    document,
    failure::{Exit, Failure},
    output,
};

const EXTENSIONS: [&str; 3] = ["yaml", "yml", "json"];

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  lockstep policy test tests/\n  lockstep policy test tests/sidecar.yaml --fail-fast\n  lockstep policy test tests/ --run sidecar -o json\n\nEach file is a case: policies, bindings, params, crds, namespace, object, oldObject, and what is expected. A directory\nwith lockstep-test.yaml (PolicyTest), kyverno-test.yaml or kaptest.yaml is a suite; the tests of Kyverno must be about\npolicies of Kubernetes. Exits with 1 if a case fails, and with 2 if a file is no case or there is none."
)]
pub(crate) struct Arguments {
    /// Case files, or directories with them
    #[arg(required = true, value_name = "DIR")]
    places: Vec<PathBuf>,
    /// Run the cases whose file or name contains a match of this regular expression
    #[arg(long, value_name = "REGEX")]
    run: Option<String>,
    /// Stop at the first case that fails
    #[arg(long)]
    fail_fast: bool,
    /// Rewrite the expected objects of suites with what came out
    #[arg(long)]
    update: bool,
    /// No case at all is no error
    #[arg(long)]
    allow_empty: bool,
    /// Output format
    #[arg(long, short, value_name = "FORMAT", default_value = "table")]
    output: Format,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Format {
    Table,
    Json,
    Yaml,
    Junit,
}

/// One case and its result.
struct Tested {
    file: String,
    name: String,
    /// Differences from what is expected.
    problems: Vec<String>,
}

pub(crate) fn run(arguments: &Arguments, quiet: bool) -> Result<Exit, Failure> {
    let mut files = Vec::new();
    for place in &arguments.places {
        collect(place, &mut files)?;
    }
    let wanted = arguments
        .run
        .as_deref()
        .map(re2::Pattern::compile)
        .transpose();
    let wanted = wanted.map_err(|error| Failure::bad_input(format!("--run: {error}")))?;
    let is_wanted = |file: &Path, name: &str| {
        let is_match = |regex: &re2::Pattern| {
            regex.is_match(name) || regex.is_match(&file.display().to_string())
        };
        wanted.as_ref().is_none_or(is_match)
    };
    let mut tested = Vec::new();
    'files: for file in &files {
        let value = read(file)?;
        let cases: Vec<Case> = match suites::read(file, &value)? {
            Some(planned) => planned
                .into_iter()
                .map(Box::new)
                .map(Case::Planned)
                .collect(),
            None => vec![Case::Whole(value)],
        };
        for case in cases.iter().filter(|case| is_wanted(file, case.name())) {
            let one = arguments.test(file, case)?;
            let is_failure = !one.problems.is_empty();
            tested.push(one);
            if is_failure && arguments.fail_fast {
                break 'files;
            }
        }
    }
    if tested.is_empty() && !arguments.allow_empty {
        return Err(Failure::bad_input("no cases to run"));
    }
    let failed = tested.iter().filter(|one| !one.problems.is_empty()).count();
    output::data(&match arguments.output {
        Format::Table => table(&tested, failed, quiet),
        Format::Json => output::Format::Json.render(&as_document(&tested, failed)),
        Format::Yaml => output::Format::Yaml.render(&as_document(&tested, failed)),
        Format::Junit => junit(&tested, failed),
    });
    Ok(if failed == 0 { Exit::Yes } else { Exit::No })
}

/// All case files of a place, and of the folders in it.
fn collect(place: &Path, files: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let cannot =
        |error: std::io::Error| Failure::bad_input(format!("{}: {error}", place.display()));
    if !std::fs::metadata(place).map_err(cannot)?.is_dir() {
        files.push(place.to_owned());
        return Ok(());
    }
    let entries = std::fs::read_dir(place).map_err(cannot)?;
    let entries = entries.map(|entry| entry.map(|entry| entry.path()));
    let mut paths: Vec<PathBuf> = entries.collect::<Result<_, _>>().map_err(cannot)?;
    paths.sort();
    let is_suite = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| suites::NAMES.contains(&name))
    };
    if paths.iter().any(is_suite) {
        paths.retain(|path| is_suite(path) || path.is_dir());
    }
    for path in paths {
        let extension = path.extension().and_then(|text| text.to_str());
        if path.is_dir() || extension.is_some_and(|text| EXTENSIONS.contains(&text)) {
            collect(&path, files)?;
        }
    }
    Ok(())
}

fn read(file: &Path) -> Result<Value, Failure> {
    let text = document::read_text(file)?;
    let decoded = yaml::decode(text.as_bytes());
    let decoded =
        decoded.map_err(|error| Failure::bad_input(format!("{}: {error}", file.display())));
    Ok(decoded?.value)
}

/// A case of a suite, or a file that is one.
enum Case {
    Planned(Box<Planned>),
    Whole(Value),
}

impl Case {
    fn name(&self) -> &str {
        match self {
            Self::Planned(planned) => &planned.name,
            Self::Whole(case) => case["name"].as_str().unwrap_or_default(),
        }
    }
}

impl Arguments {
    fn test(&self, file: &Path, case: &Case) -> Result<Tested, Failure> {
        let wrong = |what: &dyn std::fmt::Display| {
            Failure::bad_input(format!("{}: {what}", file.display()))
        };
        let problems = match case {
            Case::Whole(case) => cases::run(case).map_err(|error| wrong(&error))?,
            Case::Planned(planned) => {
                let judged = judge::run(planned);
                let (problems, rewrite) = judged.map_err(|failure| wrong(&failure.message))?;
                match rewrite.filter(|_| self.update) {
                    None => problems,
                    Some((path, object)) => {
                        let text = document::to_yaml(object.as_value());
                        std::fs::write(&path, text)
                            .map_err(|error| wrong(&format!("{}: {error}", path.display())))?;
                        output::tell(&format!("updated {}\n", path.display()));
                        Vec::new()
                    }
                }
            }
        };
        Ok(Tested {
            file: file.display().to_string(),
            name: case.name().to_owned(),
            problems,
        })
    }
}

fn table(tested: &[Tested], failed: usize, quiet: bool) -> String {
    let mut text = String::new();
    for one in tested.iter().filter(|one| !one.problems.is_empty()) {
        text.push_str(&format!("✗ {}  {}\n", one.file, one.name));
        for problem in &one.problems {
            text.push_str(&format!("    {}\n", problem.replace('\n', "\n    ")));
        }
    }
    if !quiet || failed > 0 {
        let passed = tested.len() - failed;
        text.push_str(&format!(
            "{}: {passed} passed, {failed} failed\n",
            output::counted(tested.len(), "case")
        ));
    }
    text
}

fn as_document(tested: &[Tested], failed: usize) -> Value {
    let cases = tested.iter().map(|one| {
        let is_passed = one.problems.is_empty();
        json!({ "file": one.file, "name": one.name, "passed": is_passed, "problems": one.problems })
    });
    let cases: Vec<Value> = cases.collect();
    let passed = tested.len() - failed;
    output::document(
        "PolicyTestReport",
        json!({ "cases": cases, "passed": passed, "failed": failed }),
    )
}

fn junit(tested: &[Tested], failed: usize) -> String {
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite name=\"policy test\" tests=\"{}\" failures=\"{failed}\">\n",
        tested.len()
    );
    for one in tested {
        let (file, name) = (escape(&one.file), escape(&one.name));
        text.push_str(&format!("<testcase classname=\"{file}\" name=\"{name}\""));
        if one.problems.is_empty() {
            text.push_str("/>\n");
        } else {
            let problems = escape(&one.problems.join("\n"));
            text.push_str(&format!("><failure>{problems}</failure></testcase>\n"));
        }
    }
    text.push_str("</testsuite>\n</testsuites>\n");
    text
}
