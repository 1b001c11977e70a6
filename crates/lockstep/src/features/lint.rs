//! `lockstep features lint`.

use std::path::{Path, PathBuf};

use anstyle::AnsiColor;
use lockstep_featuregate::{
    DEFAULT_COMPONENT, file,
    lint::{Finding, Lint, Report, Severity, SourceFile, lint_history, lint_usage},
};
use serde_json::{Value, json};

use super::registry::{self, Source};
use crate::{
    document,
    failure::{Exit, Failure},
    output::{self, Format},
};

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  lockstep features lint\n  lockstep features lint --file versioned_feature_list.yaml --version 1.37\n  lockstep features lint --base old.yaml --file new.yaml --strict"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    source: Source,
    /// Registry of the release before, to find gates removed too early
    #[arg(long, value_name = "OLD")]
    base: Option<PathBuf>,
    /// Snapshots of every released patch, to check what was promised between them
    #[arg(long, value_name = "FILE")]
    history: Option<PathBuf>,
    /// Source folder to search for gates that no code uses
    #[arg(long = "source", value_name = "DIR")]
    source_folder: Option<PathBuf>,
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

pub(crate) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let report = arguments.report()?;
    output::data(&match arguments.output {
        Format::Table => as_lines(&report),
        format => format.render(&as_document(&report)),
    });
    let worst = if arguments.strict {
        Severity::Warning
    } else {
        Severity::Error
    };
    let found = report
        .findings
        .iter()
        .any(|finding| finding.severity <= worst);
    Ok(if found && !arguments.exit_zero {
        Exit::No
    } else {
        Exit::Yes
    })
}

impl Arguments {
    fn report(&self) -> Result<Report, Failure> {
        let components = self.source.table()?.components;
        let version = self
            .source
            .version
            .unwrap_or_else(registry::built_in_version);
        let base = self
            .base
            .as_deref()
            .map(|path| registry::read(path, version))
            .transpose()?;
        let lint = Lint {
            components: &components,
            base: base.as_deref(),
            version: None,
        };
        let mut report = lint.run();
        if let Some(path) = &self.history {
            let releases = file::read_history(&document::read(path)?)
                .map_err(|errors| registry::broken(Some(path), &errors))?;
            report.extend(lint_history(DEFAULT_COMPONENT, &releases));
        }
        if let Some(folder) = &self.source_folder {
            let files = source_files(folder)?;
            report.extend(
                components
                    .iter()
                    .flat_map(|component| lint_usage(component, &files)),
            );
        }
        Ok(report)
    }
}

fn as_lines(report: &Report) -> String {
    let line = |finding: &Finding| {
        let style = match finding.severity {
            Severity::Error => AnsiColor::Red,
            Severity::Warning => AnsiColor::Yellow,
            Severity::Note => AnsiColor::Cyan,
        };
        let (style, text) = (style.on_default(), finding.to_string());
        let rest = text.strip_prefix(finding.severity.name()).unwrap_or(&text);
        format!("{style}{}{style:#}{rest}\n", finding.severity.name())
    };
    let mut text: String = report.findings.iter().map(line).collect();
    text.push_str(&report.summary());
    text.push('\n');
    text
}

fn as_document(report: &Report) -> Value {
    let item = |finding: &Finding| {
        json!({
            "rule": finding.rule,
            "severity": finding.severity.name(),
            "component": finding.component,
            "gate": finding.gate,
            "version": finding.version.map(|version| version.to_string()),
            "message": finding.message,
        })
    };
    let items: Vec<Value> = report.findings.iter().map(item).collect();
    let summary = json!({
        "gates": report.gates,
        "errors": report.count(Severity::Error),
        "warnings": report.count(Severity::Warning),
        "notes": report.count(Severity::Note),
    });
    output::document("FeatureLint", json!({ "items": items, "summary": summary }))
}

/// All Rust files below a folder, build output left out, in a stable order.
fn source_files(folder: &Path) -> Result<Vec<SourceFile>, Failure> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let cannot =
            |error| Failure::bad_input(format!("cannot read {}: {error}", folder.display()));
        for entry in std::fs::read_dir(&folder).map_err(cannot)? {
            let path = entry.map_err(cannot)?.path();
            let hidden = path
                .file_name()
                .is_some_and(|name| name == "target" || name.as_encoded_bytes().starts_with(b"."));
            if path.is_dir() && !hidden && !path.is_symlink() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = document::read_text(&path)?;
                files.push(SourceFile {
                    path: path.display().to_string(),
                    text,
                });
            }
        }
    }
    if files.is_empty() {
        return Err(Failure::bad_input(format!(
            "no Rust files below {}",
            folder.display()
        )));
    }
    Ok(files)
}
