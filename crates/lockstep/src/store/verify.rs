//! `lockstep store verify`.

use lockstep_storage_embedded::{Finding, Inspection, Severity};
use serde_json::json;

use super::Folder;
use crate::{
    failure::{Exit, Failure},
    output::{self, Format},
};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    folder: Folder,
    /// Output format
    #[arg(long, short, value_name = "FORMAT", default_value = "table")]
    output: Format,
}

pub(crate) fn run(arguments: &Arguments, quiet: bool) -> Result<Exit, Failure> {
    let inspection = arguments.folder.inspect()?;
    output::data(&match arguments.output {
        Format::Table => as_text(&inspection, quiet),
        format => format.render(&as_document(arguments, &inspection)),
    });
    Ok(if inspection.is_damaged() {
        Exit::No
    } else {
        Exit::Yes
    })
}

fn as_text(inspection: &Inspection, quiet: bool) -> String {
    let rows = inspection.findings.iter().map(|finding| {
        let offset = finding.offset.map(|offset| offset.to_string());
        let severity = severity(finding).to_owned();
        let offset = output::or_none(offset.unwrap_or_default());
        vec![severity, name(finding), offset, finding.what.clone()]
    });
    let rows: Vec<_> = rows.collect();
    let mut text = String::new();
    if !rows.is_empty() {
        text = output::table(&["SEVERITY", "FILE", "BYTE", "WHAT"], rows);
    }
    if !quiet {
        text.push_str(&summary(inspection));
    }
    text
}

fn summary(inspection: &Inspection) -> String {
    match &inspection.machine {
        Some(machine) => format!(
            "usable: revision {}, compacted {}, command {} (state {}, log from {})\n",
            machine.revision(),
            machine.compacted(),
            inspection.applied,
            inspection.state_applied,
            inspection.log_first,
        ),
        None => "damaged: a server refuses to open it\n".to_owned(),
    }
}

fn as_document(arguments: &Arguments, inspection: &Inspection) -> serde_json::Value {
    let findings: Vec<_> = inspection
        .findings
        .iter()
        .map(|finding| {
            json!({
                "severity": severity(finding),
                "file": name(finding),
                "offset": finding.offset,
                "what": finding.what,
            })
        })
        .collect();
    let machine = inspection.machine.as_ref();
    output::document(
        "StoreVerification",
        json!({
            "dataDir": arguments.folder.path(),
            "usable": machine.is_some(),
            "revision": machine.map(|machine| machine.revision().0),
            "compacted": machine.map(|machine| machine.compacted().0),
            "appliedIndex": inspection.applied,
            "stateIndex": inspection.state_applied,
            "logFirstIndex": inspection.log_first,
            "findings": findings,
        }),
    )
}

fn severity(finding: &Finding) -> &'static str {
    match finding.severity {
        Severity::Note => "note",
        Severity::Damage => "damage",
    }
}

/// The file's name; all of them are in the one directory.
fn name(finding: &Finding) -> String {
    let name = finding.file.file_name().unwrap_or(finding.file.as_os_str());
    name.to_string_lossy().into_owned()
}
