//! Where log lines go, and how many there are.

use std::panic::PanicHookInfo;

use clap::ValueEnum;
use tracing_subscriber::{EnvFilter, fmt};

/// Log format: text with `key=value` pairs, or one JSON document per line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Format {
    Text,
    Json,
}

/// Starts the log on standard error. `RUST_LOG` decides alone when it is set.
pub(crate) fn start(verbosity: u8, format: Format) {
    let level = match verbosity {
        0..=2 => "info",
        3..=5 => "info,lockstep=debug,lockstep_apiserver=debug",
        _ => "trace",
    };
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(level));
    let lines = fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_target(false);
    let started = match format {
        Format::Text => lines.with_ansi(false).try_init(),
        Format::Json => lines.json().flatten_event(true).try_init(),
    };
    drop(started); // Only a second server in one process would find a log there already.
    std::panic::set_hook(Box::new(log_panic));
}

/// Logs a panic by its location. A formatted message may quote a client's data, so only static messages are
/// logged.
fn log_panic(panic: &PanicHookInfo<'_>) {
    let place = panic
        .location()
        .map(ToString::to_string)
        .unwrap_or_default();
    let text = panic.payload().downcast_ref::<&'static str>().copied();
    tracing::error!(
        place,
        what = text.unwrap_or("text withheld"),
        "a bug: something panicked"
    );
}
