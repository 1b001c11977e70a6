//! `lockstep policy lint`.

use std::path::PathBuf;

use lockstep_write::offline::policies::WorkspaceError;
use lockstep_write::offline::policies::lint::{self, RULES, Severity};
use serde_json::json;

use super::findings::{Finding, Format, Report, Rule};
use super::{input, locate};
use crate::failure::{Exit, Failure};
use crate::manifests::{Manifest, Source};
use crate::output;

/// Comment that allows a finding: `# lockstep: allow LP003 the webhook sets it`.
const ALLOW: &str = "# lockstep: allow ";

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  lockstep policy lint policies/\n  lockstep policy lint policies/ --crds crds/ -o sarif > lint.sarif\n  lockstep policy lint policies/ -o github --strict\n\nErrors are what a server refuses or fails at; warnings are what will surprise. Each id has a section in\ndocs/reference/policy-lint.md. A comment `# lockstep: allow LP003 REASON` on the line, on the line above, or at the\nstart of a document allows a finding. Ends with 1 if there are errors."
)]
pub(crate) struct Arguments {
    /// Files or directories with policies and bindings, `-` for standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Files or directories with custom resource definitions; may be repeated
    #[arg(long, value_name = "FILE")]
    crds: Vec<PathBuf>,
    /// Warnings count as errors
    #[arg(long)]
    strict: bool,
    /// Exit with 0 also when something was found
    #[arg(long)]
    exit_zero: bool,
    /// Output format
    #[arg(long, short, value_name = "FORMAT", default_value = "table")]
    output: Format,
}

pub(crate) fn run(arguments: &Arguments, quiet: bool) -> Result<Exit, Failure> {
    let mut manifests = input::read(&arguments.files)?;
    manifests.extend(input::read(&arguments.crds)?);
    let objects = input::objects(&manifests)?;
    let is_policy = |object| lockstep_admission::api::ApiKind::of(object).is_some();
    let policies = objects.iter().filter(|object| is_policy(object)).count();
    if policies == 0 {
        return Err(Failure::bad_input(
            "the files have no policy and no binding",
        ));
    }
    let found = lint::lint(&objects)
        .map_err(|error: WorkspaceError| Failure::bad_input(error.to_string()))?;
    let mut findings: Vec<Finding> = found
        .into_iter()
        .map(|finding| located(&manifests[finding.index], &finding))
        .collect();
    findings.extend(duplicates(&manifests));
    let all = findings.len();
    findings.retain(|finding| {
        let own = |manifest: &&Manifest| shown(manifest) == finding.path;
        let sources = manifests
            .iter()
            .filter(own)
            .map(|manifest| &manifest.source);
        !sources
            .into_iter()
            .any(|source| is_allowed(source, finding))
    });
    let allowed = all - findings.len();
    findings.sort_by(|one, other| {
        let place = |finding: &Finding| (finding.path.clone(), finding.line, finding.column);
        place(one).cmp(&place(other))
    });
    let count = |severity: Severity| {
        let of_severity = findings.iter();
        of_severity
            .filter(|finding| finding.severity == severity.as_str())
            .count()
    };
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    let notes = count(Severity::Note);
    let report = Report {
        kind: "PolicyLint",
        suite: "policy lint",
        rules: rules(),
        summary: json!({
            "objects": policies, "errors": errors, "warnings": warnings, "notes": notes, "allowed": allowed,
        }),
        total: format!(
            "{}: {}, {}, {}, {allowed} allowed",
            output::counted(policies, "object"),
            output::counted(errors, "error"),
            output::counted(warnings, "warning"),
            output::counted(notes, "note"),
        ),
        findings,
    };
    if arguments.output != Format::Table || !quiet || !report.findings.is_empty() {
        output::data(&report.render(arguments.output));
    }
    let is_found = errors > 0 || arguments.strict && warnings > 0;
    Ok(if is_found && !arguments.exit_zero {
        Exit::No
    } else {
        Exit::Yes
    })
}

fn rules() -> Vec<Rule> {
    let rules = RULES.iter().map(|rule| Rule {
        id: rule.id.to_owned(),
        title: rule.title.to_owned(),
        help: format!("docs/reference/policy-lint.md, section {}", rule.id),
    });
    rules.collect()
}

fn shown(manifest: &Manifest) -> String {
    manifest.path.display().to_string()
}

fn located(manifest: &Manifest, finding: &lint::Finding) -> Finding {
    let (message, inside) = input::summary(&finding.message, &finding.message);
    let place = locate::find(&manifest.source, &finding.field, inside);
    let (line, column) = match place {
        Some(place) => (place.line, place.column),
        None => (manifest.source.lines_before + 1, 1),
    };
    Finding {
        rule: finding.rule.id.to_owned(),
        severity: finding.rule.severity.as_str(),
        path: shown(manifest),
        line,
        column,
        subject: finding.field.clone(),
        message,
    }
}

/// A finding for each key that is given twice.
fn duplicates(manifests: &[Manifest]) -> Vec<Finding> {
    let mut found: Vec<Finding> = Vec::new();
    for manifest in manifests {
        for (line, what) in manifest.source.duplicates.iter() {
            let path = shown(manifest);
            let is_known = found
                .iter()
                .any(|known| known.path == path && known.line == *line);
            if !is_known {
                found.push(Finding {
                    rule: "LP014".to_owned(),
                    severity: Severity::Warning.as_str(),
                    path,
                    line: *line,
                    column: 1,
                    subject: "a mapping".to_owned(),
                    message: format!("{what}; the last one counts"),
                });
            }
        }
    }
    found
}

/// True if a comment with a reason allows a finding: on its line, above it, or at the start of its document.
fn is_allowed(source: &Source, finding: &Finding) -> bool {
    let lines: Vec<&str> = source.text.lines().collect();
    let Some(own) = finding.line.checked_sub(source.lines_before + 1) else {
        return false;
    };
    if own >= lines.len() {
        return false;
    }
    let is_comment = |line: &&&str| line.trim_start().starts_with('#') || line.trim().is_empty();
    let head = lines.iter().take_while(is_comment);
    let above = lines[..own].iter().rev().take_while(is_comment);
    let mut near = head.chain(above).chain(std::iter::once(&lines[own]));
    near.any(|line| {
        let allowed = line.split_once(ALLOW).map(|(_, rest)| rest);
        allowed.is_some_and(|rest| {
            let (id, reason) = rest.split_once(' ').unwrap_or((rest, ""));
            id == finding.rule && !reason.trim().is_empty()
        })
    })
}
