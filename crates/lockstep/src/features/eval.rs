//! `lockstep features eval`: what a server would make of a registry, an environment and flags.

use std::{collections::BTreeMap, path::PathBuf};

use clap::{CommandFactory, FromArgMatches, Parser};
use lockstep_featuregate::{Builder, ComponentGates, Errors, Gates, Registry, StartError};
use serde_json::{Value, json};

use super::registry::{self};
use crate::{
    failure::{Exit, Failure},
    gate_flags::ServerFlags,
    output::{self, Format},
    usage,
};

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  lockstep features eval --registry registry.yaml -- --feature-gates=A=true\n  lockstep features eval --registry registry.yaml --config server.yaml -o json\n  LOCKSTEP_FEATURE_A=true lockstep features eval --registry registry.yaml -- --emulated-version=1.35"
)]
pub(crate) struct Arguments {
    /// Registry with one or more components; the built-in table when not given
    #[arg(long, value_name = "FILE")]
    registry: Option<PathBuf>,
    /// Configuration file with a map `featureGates`
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Output format
    #[arg(long, short, value_name = "FORMAT", default_value = "table")]
    output: Format,
    /// The flags a server would get
    #[arg(last = true, value_name = "SERVER-FLAGS")]
    flags: Vec<std::ffi::OsString>,
}

/// Flags of a server.
#[derive(Debug, Parser)]
#[command(name = "SERVER-FLAGS", disable_version_flag = true)]
struct Server {
    #[command(flatten)]
    flags: ServerFlags,
}

pub(crate) fn run(arguments: Arguments) -> Result<Exit, Failure> {
    let registry = match &arguments.registry {
        Some(path) => {
            let components = registry::read(path, registry::built_in_version())?;
            Registry::new(components).map_err(|errors| registry::broken(Some(path), &errors))?
        }
        None => lockstep_gates::registry(),
    };
    let words = std::iter::once("SERVER-FLAGS".into()).chain(arguments.flags);
    let mut flags = match Server::command().try_get_matches_from(words) {
        Ok(matches) => {
            Server::from_arg_matches(&matches)
                .expect("clap checked these arguments")
                .flags
        }
        Err(error) => return usage::report(&error, Exit::ServerFlags, &[]),
    };
    if let (Some(_), Some(_)) = (&arguments.config, &flags.settings.config) {
        return Err(Failure::bad_input(
            "`--config` is given twice, before and after `--`",
        ));
    }
    flags.settings.config = flags.settings.config.or(arguments.config);
    let builder = Builder::new(registry).environment(environment());
    let builder = flags.apply(builder).map_err(|failure| Failure {
        exit: Exit::ServerFlags,
        ..failure
    })?;
    match builder.try_finish() {
        Ok(started) => {
            output::data(&evaluation(&started.gates, arguments.output));
            Ok(Exit::Yes)
        }
        Err(errors) => refuse(&errors, arguments.output),
    }
}

/// The process environment. What is not text cannot be a gate's value, and is shown as well as it goes.
fn environment() -> impl Iterator<Item = (String, String)> {
    let text = |word: std::ffi::OsString| word.to_string_lossy().into_owned();
    std::env::vars_os().map(move |(name, value)| (text(name), text(value)))
}

/// All errors and the status the server would end with.
fn refuse(errors: &Errors<StartError>, format: Format) -> Result<Exit, Failure> {
    let causes: Vec<String> = errors.iter().map(ToString::to_string).collect();
    if format != Format::Table {
        let fields = json!({ "errors": causes, "exitStatus": Exit::ServerFlags.code() });
        output::data(&format.render(&output::document("FeatureEvaluation", fields)));
    }
    Err(Failure::of_causes(Exit::ServerFlags, errors, causes))
}

fn evaluation(gates: &Gates, format: Format) -> String {
    let components: BTreeMap<&str, Value> = gates
        .components()
        .map(|component| (component.component().name(), as_json(component)))
        .collect();
    match format {
        Format::Table => gates
            .components()
            .map(as_text)
            .collect::<Vec<_>>()
            .join("\n"),
        format => format.render(&output::document(
            "FeatureEvaluation",
            json!({ "components": components }),
        )),
    }
}

fn as_json(component: ComponentGates<'_>) -> Value {
    let versions = component.versions();
    let (mut enabled, mut stage, mut source) = (json!({}), json!({}), json!({}));
    for (feature, why) in component.explanations() {
        enabled[&*feature.name] = why.value.into();
        stage[&*feature.name] = why.held.stage.name().into();
        source[&*feature.name] = why.source.name().into();
    }
    let texts = |lines: &mut dyn Iterator<Item = String>| Value::from(lines.collect::<Vec<_>>());
    json!({
        "emulation": versions.emulation.to_string(),
        "minCompatibility": versions.min_compatibility.to_string(),
        "enabled": enabled,
        "stage": stage,
        "source": source,
        "string": component.to_string(),
        "warnings": texts(&mut component.warnings().iter().map(ToString::to_string)),
        "metrics": texts(&mut component.samples().iter().map(ToString::to_string)),
        "help": texts(&mut help(component)),
    })
}

/// The option lines that the server's `--help` shows.
fn help(component: ComponentGates<'_>) -> impl Iterator<Item = String> {
    let name = component.component().name().to_owned();
    component
        .known()
        .into_iter()
        .map(move |line| format!("{name}:{line}"))
}

fn as_text(component: ComponentGates<'_>) -> String {
    let rows = component.explanations().map(|(feature, why)| {
        let (stage, source) = (
            why.held.stage.name().to_owned(),
            why.source.name().to_owned(),
        );
        vec![
            feature.name.to_string(),
            stage,
            why.value.to_string(),
            source,
        ]
    });
    let warnings: String = component
        .warnings()
        .iter()
        .map(|warning| format!("! warn  {warning}\n"))
        .collect();
    let table = output::table(&["NAME", "STAGE", "ENABLED", "SOURCE"], rows);
    format!("{}\n{table}{warnings}", component.start_line())
}
