//! The gates and versions a server runs with.

use lockstep_apiserver::builtin::Apis;
use lockstep_featuregate::{Builder, Gates};

use super::flags::Arguments;
use crate::failure::{Exit, Failure};

/// Resolves all feature gates from environment, flags and file, or returns every error at once; logs warnings and the
/// resulting values.
pub(crate) fn resolve(arguments: &Arguments) -> Result<Gates, Failure> {
    let text = |word: std::ffi::OsString| word.to_string_lossy().into_owned();
    let environment = std::env::vars_os().map(move |(name, value)| (text(name), text(value)));
    let builder = Builder::new(lockstep_gates::registry()).environment(environment);
    let builder = arguments.gates.apply(builder).map_err(|failure| Failure {
        exit: Exit::ServerFlags,
        ..failure
    })?;
    let started = builder.try_finish().map_err(|errors| {
        let causes = errors.iter().map(ToString::to_string).collect();
        Failure::of_causes(Exit::ServerFlags, &errors, causes)
    })?;
    for component in started.gates.components() {
        tracing::info!("{}", component.start_line());
        for warning in component.warnings() {
            tracing::warn!("{warning}");
        }
    }
    started.gates.install();
    Ok(started.gates)
}

/// Resolves which APIs are served, or returns every error of the runtime configuration at once.
pub(crate) fn apis(arguments: &Arguments, gates: &Gates) -> Result<Apis, Failure> {
    Apis::decide(gates, &arguments.api_wishes()).map_err(|errors| {
        let causes = errors.texts();
        let message = match &causes[..] {
            [only] => only.clone(),
            all => format!("[{}]", all.join(", ")),
        };
        Failure::of_causes(Exit::ServerFlags, &message, causes)
    })
}

/// Help text of `--feature-gates`: the syntax, then the known gates of each component.
pub(crate) fn help() -> String {
    let started = Builder::new(lockstep_gates::registry()).try_finish();
    let gates = started
        .expect("without wishes there is nothing wrong")
        .gates;
    let lines = gates.components().flat_map(|component| {
        let name = component.component().name();
        let known = component.known().into_iter();
        known.map(move |line| format!("\n{name}:{line}"))
    });
    let lines: String = lines.collect();
    format!(
        "Gates to switch, as `[component:]Name=true|false,…`; may be repeated. Options are:{lines}"
    )
}
