//! `lockstep policy test`.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use lockstep_object::yaml;
use lockstep_write::offline::policies::cases;
use serde_json::{Value, json};

use crate::{
    document,
    failure::{Exit, Failure},
    output,
};

const EXTENSIONS: [&str; 3] = ["yaml", "yml", "json"];

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  lockstep policy test tests/\n  lockstep policy test tests/sidecar.yaml --fail-fast\n  lockstep policy test tests/ --run sidecar -o json\n\nEach file is a case: policies, bindings, params, crds, namespace, object, oldObject, and what is expected.\nExits with 1 if a case fails, and with 2 if a file is no case or there is none."
)]
pub(crate) struct Arguments {
    /// Case files, or directories with them
    #[arg(required = true, value_name = "DIR")]
    places: Vec<PathBuf>,
    /// Run the cases whose file or name contains this text
    #[arg(long, value_name = "TEXT")]
    run: Option<String>,
    /// Stop at the first case that fails
    #[arg(long)]
    fail_fast: bool,
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
    let mut tested = Vec::new();
    for file in &files {
        let case = read(file)?;
        let one = test(file, &case)?;
        let is_wanted = arguments
            .run
            .as_ref()
            .is_none_or(|text| one.name.contains(text) || one.file.contains(text));
        if is_wanted {
            let is_failure = !one.problems.is_empty();
            tested.push(one);
            if is_failure && arguments.fail_fast {
                break;
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

fn test(file: &Path, case: &Value) -> Result<Tested, Failure> {
    let problems = cases::run(case);
    let problems =
        problems.map_err(|error| Failure::bad_input(format!("{}: {error}", file.display())))?;
    Ok(Tested {
        file: file.display().to_string(),
        name: case["name"].as_str().unwrap_or_default().to_owned(),
        problems,
    })
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

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
