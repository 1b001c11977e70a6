//! Log lines in etcd's formats, so that tools for etcd's log can parse them.

use std::fmt;
use std::sync::Mutex;

use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::writer::BoxMakeWriter;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

use super::settings::Settings;
use crate::failure::{Exit, Failure};

/// Starts telling, once for the process.
pub(super) fn start(settings: &Settings) -> Result<(), Failure> {
    let level = match settings.text("log-level").unwrap_or("info") {
        "debug" => Level::DEBUG,
        "info" => Level::INFO,
        "warn" => Level::WARN,
        "error" | "panic" | "fatal" | "dpanic" => Level::ERROR,
        other => return Err(wrong(&format!("--log-level: `{other}` is no level"))),
    };
    let lines = match settings.text("log-format").unwrap_or("json") {
        "json" => Lines::Json,
        "console" => Lines::Console,
        other => {
            return Err(wrong(&format!(
                "--log-format: `{other}` is neither json nor console"
            )));
        }
    };
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(level)
        .event_format(lines)
        .with_writer(output(settings.text("log-outputs").unwrap_or("default"))?);
    let started = tracing::subscriber::set_global_default(subscriber.finish());
    started.map_err(|error| wrong(&error.to_string()))
}

fn wrong(message: &str) -> Failure {
    Failure::of_causes(Exit::ServerFlags, &message, Vec::new())
}

fn output(name: &str) -> Result<BoxMakeWriter, Failure> {
    match name {
        "default" | "stderr" => Ok(BoxMakeWriter::new(std::io::stderr)),
        "stdout" => Ok(BoxMakeWriter::new(std::io::stdout)),
        path => {
            let file = std::fs::File::options()
                .append(true)
                .create(true)
                .open(path);
            let file = file.map_err(|error| wrong(&format!("--log-outputs: `{path}`: {error}")))?;
            Ok(BoxMakeWriter::new(Mutex::new(file)))
        }
    }
}

/// Log format.
#[derive(Clone, Copy)]
enum Lines {
    /// JSON object with `level`, `ts`, `caller`, `msg` and the event's fields.
    Json,
    /// The fields of `Json`, separated by tabs for reading at a terminal.
    Console,
}

impl<S, N> FormatEvent<S, N> for Lines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        _: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut told = Told::default();
        event.record(&mut told);
        let now = jiff::Timestamp::now();
        writeln!(
            writer,
            "{}",
            line(*self, event.metadata(), &format!("{now:.3}"), told)
        )
    }
}

fn line(lines: Lines, metadata: &Metadata<'_>, at: &str, told: Told) -> String {
    let level = metadata.level().to_string().to_lowercase();
    let (file, number) = (
        metadata.file().unwrap_or_default(),
        metadata.line().unwrap_or_default(),
    );
    let file = file
        .strip_prefix("crates/")
        .unwrap_or(file)
        .replacen("/src/", "/", 1);
    let caller = format!("{file}:{number}");
    let Told {
        message,
        mut fields,
    } = told;
    match lines {
        Lines::Console => {
            let more = if fields.is_empty() {
                String::new()
            } else {
                format!("\t{}", Value::Object(fields))
            };
            format!("{at}\t{level}\t{caller}\t{message}{more}")
        }
        Lines::Json => {
            // Dashboards look for these four before anything else, and people too.
            let head = [
                ("level", level),
                ("ts", at.to_owned()),
                ("caller", caller),
                ("msg", message),
            ];
            let mut text = String::from("{");
            for (name, value) in head {
                fields.remove(name);
                text += &format!("\"{name}\":{},", Value::String(value));
            }
            let rest = Value::Object(fields).to_string();
            let rest = rest.strip_prefix('{').unwrap_or(&rest);
            text.truncate(text.len() - usize::from(rest == "}"));
            text + rest
        }
    }
}

/// The fields of an event.
#[derive(Default)]
struct Told {
    message: String,
    fields: Map<String, Value>,
}

impl Told {
    fn tell(&mut self, field: &Field, value: Value) {
        match (field.name(), value) {
            ("message", Value::String(text)) => self.message = text,
            (name, value) => {
                self.fields.insert(name.replace('_', "-"), value);
            }
        }
    }
}

impl Visit for Told {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.tell(field, Value::String(format!("{value:?}")));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.tell(field, Value::String(value.to_owned()));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.tell(field, value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.tell(field, value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.tell(field, value.into());
    }
}
