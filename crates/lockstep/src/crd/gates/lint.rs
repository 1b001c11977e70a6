//! `lockstep crd gates lint`.

use std::path::PathBuf;

use anstyle::AnsiColor;
use lockstep_fieldgate::{GateList, LintFinding, Severity, lint};
use lockstep_object::Object;
use serde_json::{Value, json};

use super::definition;
use crate::{
    failure::{Exit, Failure},
    output::{self, Format},
};

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  lockstep crd gates lint -f crd.yaml\n  lockstep crd gates lint -f config/crd --base release-1.2/crds.yaml\n  lockstep crd gates lint -f crd.yaml --strict -o json\n\nErrors are what a server refuses; warnings are what will surprise somebody. Ends with 1 if there are errors."
)]
pub(crate) struct Arguments {
    /// Files or directories with the definitions, `-` for standard input; may be repeated
    #[arg(long, short, value_name = "FILE", required = true)]
    filename: Vec<PathBuf>,
    /// The definitions of the release before, to judge how they grew; may be repeated
    #[arg(long, value_name = "OLD")]
    base: Vec<PathBuf>,
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

/// Lint findings, each with the CRD that it belongs to, and the totals of the summary line.
struct Report {
    definitions: usize,
    gates: usize,
    findings: Vec<(String, LintFinding)>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let definitions = definition::read(&arguments.filename)?;
    let base = match &*arguments.base {
        [] => Vec::new(),
        places => definition::read(places)?,
    };
    let report = Report::of(&definitions, &base);
    output::data(&match arguments.output {
        Format::Table => report.as_lines(),
        format => format.render(&report.as_document()),
    });
    let warnings_count = arguments.strict && report.count(Severity::Warning) > 0;
    let found = warnings_count || report.count(Severity::Error) > 0;
    Ok(if found && !arguments.exit_zero {
        Exit::No
    } else {
        Exit::Yes
    })
}

impl Report {
    fn of(definitions: &[Object], base: &[Object]) -> Self {
        let mut report = Self {
            definitions: definitions.len(),
            gates: 0,
            findings: Vec::new(),
        };
        for definition in definitions {
            let name = definition.name();
            let before = base.iter().find(|before| before.name() == name);
            report.gates += GateList::of(definition).gates.len();
            let found = lint(definition, before);
            let found = found.into_iter().map(|finding| (name.to_owned(), finding));
            report.findings.extend(found);
        }
        report
    }

    fn count(&self, severity: Severity) -> usize {
        let of_severity = self.findings.iter();
        of_severity
            .filter(|(_, finding)| finding.rule.severity() == severity)
            .count()
    }

    fn as_lines(&self) -> String {
        let line = |(name, finding): &(String, LintFinding)| {
            let severity = finding.rule.severity();
            let style = match severity {
                Severity::Error => AnsiColor::Red,
                Severity::Warning => AnsiColor::Yellow,
            };
            let (style, word) = (style.on_default(), severity.as_str());
            let (id, message) = (finding.rule.id(), &finding.message);
            format!("{style}{word}{style:#} {id} {name}: {message}\n")
        };
        let mut text: String = self.findings.iter().map(line).collect();
        let counts = [
            (self.definitions, "definition"),
            (self.gates, "gate"),
            (self.count(Severity::Error), "error"),
            (self.count(Severity::Warning), "warning"),
        ];
        let counts = counts.map(|(count, word)| output::counted(count, word));
        text.push_str(&format!("{}\n", counts.join(", ")));
        text
    }

    fn as_document(&self) -> Value {
        let item = |(name, finding): &(String, LintFinding)| {
            json!({
                "crd": name,
                "rule": finding.rule.id(),
                "severity": finding.rule.severity().as_str(),
                "message": finding.message,
            })
        };
        let items: Vec<Value> = self.findings.iter().map(item).collect();
        let summary = json!({
            "definitions": self.definitions,
            "gates": self.gates,
            "errors": self.count(Severity::Error),
            "warnings": self.count(Severity::Warning),
        });
        output::document(
            "FieldGateLint",
            json!({ "items": items, "summary": summary }),
        )
    }
}
