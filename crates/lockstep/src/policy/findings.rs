//! Findings in files, in the formats of people, of code hosts and of CI systems.

use anstyle::AnsiColor;
use clap::ValueEnum;
use serde_json::{Value, json};

use crate::output;

/// Output format of commands that find something.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(super) enum Format {
    Table,
    Json,
    Yaml,
    Sarif,
    Github,
    Junit,
}

/// A finding, and its place.
#[derive(Clone, Debug)]
pub(super) struct Finding {
    pub(super) rule: String,
    /// `error`, `warning` or `note`
    pub(super) severity: &'static str,
    pub(super) path: String,
    pub(super) line: usize,
    pub(super) column: usize,
    /// The field, or the object.
    pub(super) subject: String,
    pub(super) message: String,
}

/// A rule that findings may have.
pub(super) struct Rule {
    pub(super) id: String,
    pub(super) title: String,
    pub(super) help: String,
}

/// All findings of a run.
pub(super) struct Report {
    /// Kind of the document in JSON and YAML.
    pub(super) kind: &'static str,
    /// Name of the suite in JUnit.
    pub(super) suite: &'static str,
    pub(super) findings: Vec<Finding>,
    pub(super) rules: Vec<Rule>,
    /// Totals, for JSON.
    pub(super) summary: Value,
    /// Totals, for people.
    pub(super) total: String,
}

impl Report {
    pub(super) fn render(&self, format: Format) -> String {
        match format {
            Format::Table => self.as_lines(),
            Format::Json => output::Format::Json.render(&self.as_document()),
            Format::Yaml => output::Format::Yaml.render(&self.as_document()),
            Format::Sarif => output::Format::Json.render(&self.as_sarif()),
            Format::Github => self.findings.iter().map(annotation).collect(),
            Format::Junit => self.as_junit(),
        }
    }

    fn as_lines(&self) -> String {
        let lines = self.findings.iter().map(|finding| {
            let color = match finding.severity {
                "error" => AnsiColor::Red,
                "warning" => AnsiColor::Yellow,
                _ => AnsiColor::Cyan,
            };
            let style = color.on_default();
            let Finding {
                rule,
                severity,
                path,
                line,
                column,
                subject,
                message,
            } = finding;
            format!(
                "{style}{severity}{style:#} {rule}: {message}\n  --> {path}:{line}:{column}   {subject}\n"
            )
        });
        let mut text: String = lines.collect();
        text.push_str(&self.total);
        text.push('\n');
        text
    }

    fn as_document(&self) -> Value {
        let items = self.findings.iter().map(|finding| {
            json!({
                "rule": finding.rule,
                "severity": finding.severity,
                "file": finding.path,
                "line": finding.line,
                "column": finding.column,
                "subject": finding.subject,
                "message": finding.message,
            })
        });
        let items: Vec<Value> = items.collect();
        output::document(
            self.kind,
            json!({ "items": items, "summary": self.summary }),
        )
    }

    /// Version 2.1.0, as code scanning reads it.
    fn as_sarif(&self) -> Value {
        let rules = self.rules.iter().map(|rule| {
            json!({
                "id": rule.id,
                "shortDescription": { "text": rule.title },
                "help": { "text": rule.help },
            })
        });
        let results = self.findings.iter().map(|finding| {
            json!({
                "ruleId": finding.rule,
                "level": finding.severity,
                "message": { "text": format!("{}: {}", finding.subject, finding.message) },
                "locations": [{ "physicalLocation": {
                    "artifactLocation": { "uri": finding.path },
                    "region": { "startLine": finding.line, "startColumn": finding.column },
                } }],
            })
        });
        json!({
            "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
            "version": "2.1.0",
            "runs": [{
                "tool": { "driver": {
                    "name": "lockstep",
                    "version": env!("CARGO_PKG_VERSION"),
                    "rules": rules.collect::<Vec<_>>(),
                } },
                "results": results.collect::<Vec<_>>(),
            }],
        })
    }

    fn as_junit(&self) -> String {
        let is_failure = |finding: &&Finding| finding.severity == "error";
        let (tests, failures) = (
            self.findings.len(),
            self.findings.iter().filter(is_failure).count(),
        );
        let mut text = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite name=\"{}\" tests=\"{tests}\" failures=\"{failures}\">\n",
            self.suite
        );
        for finding in &self.findings {
            let class = escape(&finding.path);
            let name = escape(&format!("{} {}", finding.rule, finding.subject));
            let (line, message) = (finding.line, escape(&finding.message));
            let element = if is_failure(&finding) {
                "failure"
            } else {
                "system-out"
            };
            text.push_str(&format!(
                "<testcase classname=\"{class}\" name=\"{name}\"><{element}>line {line}: {message}</{element}></testcase>\n"
            ));
        }
        text.push_str("</testsuite>\n</testsuites>\n");
        text
    }
}

/// A workflow command, which GitHub shows beside the line.
fn annotation(finding: &Finding) -> String {
    let level = match finding.severity {
        "note" => "notice",
        other => other,
    };
    let data = |text: &str| {
        text.replace('%', "%25")
            .replace('\r', "%0D")
            .replace('\n', "%0A")
    };
    let property = |text: &str| data(text).replace(':', "%3A").replace(',', "%2C");
    format!(
        "::{level} file={},line={},col={},title={}::{}\n",
        property(&finding.path),
        finding.line,
        finding.column,
        property(&finding.rule),
        data(&format!("{}: {}", finding.subject, finding.message))
    )
}

/// Text in XML. Control characters, which XML does not have, are left out.
pub(super) fn escape(text: &str) -> String {
    let kept = text
        .chars()
        .filter(|c| !c.is_control() || matches!(c, '\n' | '\t'));
    kept.collect::<String>()
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_cannot_break_out_of_their_format() {
        let finding = Finding {
            rule: "LP001".to_owned(),
            severity: "error",
            path: "a,b:c.yaml".to_owned(),
            line: 3,
            column: 5,
            subject: "spec".to_owned(),
            message: "100 %\n::error::x <b> \u{1b}[31m".to_owned(),
        };
        assert_eq!(
            annotation(&finding),
            "::error file=a%2Cb%3Ac.yaml,line=3,col=5,title=LP001::spec: 100 %25%0A::error::x <b> \u{1b}[31m\n"
        );
        assert_eq!(escape(&finding.message), "100 %\n::error::x &lt;b&gt; [31m");
    }
}
