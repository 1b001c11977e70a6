//! Where data and words go: data to stdout, everything for people to stderr.

use std::{
    ffi::OsString,
    io::{ErrorKind, Write},
};

use clap::ValueEnum;
use comfy_table::{ContentArrangement, Table, presets};
use serde_json::Value;

use crate::document;

/// The version that every JSON and YAML answer carries.
pub(crate) const API_VERSION: &str = "cli.lockstep.dev/v1";

/// Output format of a command (`-o`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub(crate) enum Format {
    #[default]
    Table,
    Json,
    Yaml,
}

impl Format {
    /// The format errors are wanted in, read before the arguments are known to be right.
    pub(crate) fn of_errors(arguments: &[OsString]) -> Self {
        let words: Vec<&str> = arguments.iter().filter_map(|word| word.to_str()).collect();
        let own = words
            .iter()
            .position(|&word| word == "--")
            .unwrap_or(words.len());
        let mut found = Format::Table;
        for (at, word) in words[..own].iter().enumerate() {
            let value = match *word {
                "-o" | "--output" => words.get(at + 1).copied(),
                _ => word.strip_prefix("--output=").or_else(|| {
                    word.strip_prefix("-o")
                        .map(|value| value.trim_start_matches('='))
                }),
            };
            found = match value {
                Some("json") => Format::Json,
                Some("yaml") => Format::Yaml,
                Some("table") => Format::Table,
                _ => found,
            };
        }
        found
    }

    /// The document as text with a closing line end.
    pub(crate) fn render(self, document: &Value) -> String {
        match self {
            Format::Yaml => document::to_yaml(document),
            Format::Json | Format::Table => {
                let mut text = serde_json::to_string_pretty(document)
                    .expect("a value made of strings and numbers is JSON");
                text.push('\n');
                text
            }
        }
    }
}

/// Writes data to stdout. A reader that went away, as `head` does, ends the program quietly.
pub(crate) fn data(text: &str) {
    let mut stdout = anstream::stdout();
    let written = stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush());
    match written {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::BrokenPipe => std::process::exit(0),
        Err(error) => {
            tell(&format!(
                "error: cannot write to standard output: {error}\n"
            ));
            std::process::exit(2);
        }
    }
}

/// Writes a message for the user to stderr. Errors are ignored, since there is no other place to report them.
pub(crate) fn tell(text: &str) {
    drop(anstream::stderr().write_all(text.as_bytes()));
}

/// A document of our own kind, with `apiVersion` and `kind`.
pub(crate) fn document(kind: &str, mut fields: Value) -> Value {
    fields["apiVersion"] = API_VERSION.into();
    fields["kind"] = kind.into();
    fields
}

/// Columns without borders, as kubectl prints them. Only a terminal's width cuts cells.
pub(crate) fn table(headers: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Disabled);
    if !headers.is_empty() {
        table.set_header(headers.iter().copied());
    }
    for row in rows {
        table.add_row(row);
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    let text = table.to_string();
    let lines = text
        .lines()
        .map(str::trim_end)
        .filter(|line| !line.is_empty());
    lines.map(|line| format!("{line}\n")).collect()
}

/// `1 gate`, `2 gates`
pub(crate) fn counted(count: usize, word: &str) -> String {
    match count {
        1 => format!("1 {word}"),
        count => format!("{count} {word}s"),
    }
}

/// `true`, `false`, or what kubectl prints for nothing.
pub(crate) fn or_none(text: impl Into<String>) -> String {
    let text = text.into();
    if text.is_empty() {
        "<none>".to_owned()
    } else {
        text
    }
}
