//! `lockstep features explain`.

use lockstep_featuregate::{Entry, Explanation, Feature, Gates, suggestion};
use serde_json::{Value, json};

use super::registry::Preview;
use crate::{
    failure::{Exit, Failure},
    output::{self, Format, or_none},
};

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  lockstep features explain WatchList\n  lockstep features explain kube:WatchList --emulated-version 1.33\n  lockstep features explain CRDFieldLevelVersioning -o yaml"
)]
pub(crate) struct Arguments {
    /// The gate, as `Name` or `component:Name`
    name: String,
    #[command(flatten)]
    preview: Preview,
    /// Output format
    #[arg(long, short, value_name = "FORMAT", default_value = "table")]
    output: Format,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let gates = arguments.preview.gates()?;
    let why = gates
        .explain(&arguments.name)
        .ok_or_else(|| unknown(&gates, &arguments.name))?;
    let subject = Subject::find(&gates, &arguments.name, why);
    output::data(&match arguments.output {
        Format::Table => subject.as_text(),
        format => format.render(&subject.as_document()),
    });
    Ok(Exit::Yes)
}

fn unknown(gates: &Gates, name: &str) -> Failure {
    let known: Vec<&Feature> = gates
        .registry()
        .components()
        .flat_map(lockstep_featuregate::Component::features)
        .collect();
    let close = suggestion(name, known.iter().map(|feature| &*feature.name));
    let failure = Failure::bad_input(format!("feature gate `{name}` is not known"));
    match close {
        Some(close) => failure.with_help(format!("did you mean `{close}`?")),
        None => failure.with_help("`lockstep features list` shows every gate"),
    }
}

/// A gate with everything there is to say about it.
struct Subject<'a> {
    component: &'a str,
    feature: &'a Feature,
    emulation: String,
    binary: String,
    floor: String,
    why: Explanation,
}

impl<'a> Subject<'a> {
    fn find(gates: &'a Gates, name: &str, why: Explanation) -> Self {
        let (wanted, name) = name
            .split_once(':')
            .map_or((None, name), |(home, name)| (Some(home), name));
        let component = gates
            .components()
            .filter(|one| wanted.is_none_or(|wanted| one.component().name() == wanted))
            .find(|one| one.component().feature(name).is_some())
            .expect("an explained gate has a component");
        Self {
            component: component.component().name(),
            feature: component
                .component()
                .feature(name)
                .expect("found by this name"),
            emulation: component.versions().emulation.to_string(),
            binary: component.component().binary().to_string(),
            floor: component.component().emulation_floor().to_string(),
            why,
        }
    }

    fn as_text(&self) -> String {
        let Self {
            component,
            feature,
            emulation,
            binary,
            floor,
            why,
        } = self;
        let value = if why.value { "on" } else { "off" };
        let mut text = format!(
            "{component}:{} is {value} at {emulation}: {}\n",
            feature.name,
            self.reason()
        );
        if !feature.description.is_empty() {
            text.push_str(&format!("{}\n", feature.description));
        }
        text.push_str(&format!(
            "binary {binary} can emulate {floor} to {binary}\n\n"
        ));
        let headers = [
            "SINCE",
            "STAGE",
            "DEFAULT",
            "LOCKED",
            "MIN-COMPATIBILITY",
            "USED",
        ];
        let row = |entry: &Entry| {
            let used = if *entry == why.held { "*" } else { "" };
            let min = entry
                .min_compatibility
                .map_or_else(String::new, |min| min.to_string());
            vec![
                entry.version.to_string(),
                entry.stage.name().to_owned(),
                entry.default.to_string(),
                entry.lock_to_default.to_string(),
                or_none(min),
                used.to_owned(),
            ]
        };
        text.push_str(&output::table(&headers, feature.entries.iter().map(row)));
        text
    }

    /// One sentence on why the value is what it is.
    fn reason(&self) -> String {
        let Explanation {
            held,
            source,
            remove_in,
            ..
        } = &self.why;
        let stage = held.stage;
        let default = if held.default { "on" } else { "off" };
        let removal = remove_in.map(|version| format!(", may be removed in {version}"));
        match source.name() {
            _ if held.lock_to_default => {
                format!(
                    "{stage}, locked {default} since {}{}",
                    held.version,
                    removal.unwrap_or_default()
                )
            }
            "default" if stage == lockstep_featuregate::Stage::PreAlpha => {
                "it does not exist yet at this version".to_owned()
            }
            "default" => format!("{stage} since {}, {default} by default", held.version),
            source => format!(
                "{stage} since {}, set by {source}, {default} by default",
                held.version
            ),
        }
    }

    fn as_document(&self) -> Value {
        let Explanation {
            value,
            held,
            source,
            remove_in,
            depends_on,
        } = &self.why;
        let entry = |entry: &Entry| {
            json!({
                "version": entry.version.to_string(),
                "preRelease": entry.stage.name(),
                "default": entry.default,
                "lockToDefault": entry.lock_to_default,
                "minCompatibilityVersion": entry.min_compatibility.map(|min| min.to_string()),
            })
        };
        let history: Vec<Value> = self.feature.entries.iter().map(entry).collect();
        let fields = json!({
            "component": self.component,
            "name": self.feature.name,
            "description": self.feature.description,
            "owner": self.feature.owner,
            "links": self.feature.links,
            "enabled": value,
            "stage": held.stage.name(),
            "default": held.default,
            "locked": held.lock_to_default,
            "since": held.version.to_string(),
            "source": source.name(),
            "removeIn": remove_in.map(|version| version.to_string()),
            "dependsOn": depends_on,
            "reason": self.reason(),
            "window": { "binary": self.binary, "emulation": self.emulation, "floor": self.floor },
            "history": history,
        });
        output::document("FeatureExplanation", fields)
    }
}
