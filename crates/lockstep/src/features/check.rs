//! `lockstep features check`: the preflight of an upgrade.

use lockstep_featuregate::{
    Builder, Version,
    preflight::{Checked, Upgrade, UpgradeEffect, preflight},
};
use serde_json::{Value, json};

use super::registry::{Source, refused};
use crate::{
    failure::{Exit, Failure},
    gate_flags::GateSettings,
    output::{self, Format},
};

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  lockstep features check --to 1.37 --feature-gates WatchList=false\n  lockstep features check --to 1.38 --config server.yaml\n  lockstep features check --to 1.35 --file registry.yaml --feature-gates A=true -o json"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    source: Source,
    #[command(flatten)]
    settings: GateSettings,
    /// The version to upgrade to
    #[arg(long, value_name = "VERSION", value_parser = Version::parse)]
    to: Version,
    /// Exit with 0 also when the new version would refuse to start
    #[arg(long)]
    exit_zero: bool,
    /// Output format
    #[arg(long, short, value_name = "FORMAT", default_value = "table")]
    output: Format,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let table = arguments.source.table()?;
    let upgrade = Upgrade {
        from: table.version(),
        to: arguments.to,
        known_until: table.known_until,
    };
    if upgrade.to.major() != upgrade.from.major() {
        let (to, from) = (upgrade.to, upgrade.from);
        let message =
            format!("version {to} is not known to this build, whose gates are those of {from}");
        return Err(Failure::bad_input(message));
    }
    let builder = arguments.settings.apply(Builder::new(table.registry()?))?;
    let rows = preflight(&builder, upgrade).map_err(|errors| refused(&errors))?;
    let refuses = rows.iter().any(|row| row.effect.refuses());
    output::data(&match arguments.output {
        Format::Table => as_table(&rows, upgrade, refuses),
        format => {
            let items: Vec<Value> = rows.iter().map(as_json).collect();
            let fields = json!({
                "from": upgrade.from.to_string(),
                "to": upgrade.to.to_string(),
                "starts": !refuses,
                "items": items,
            });
            format.render(&output::document("FeatureCheck", fields))
        }
    });
    Ok(if refuses && !arguments.exit_zero {
        Exit::No
    } else {
        Exit::Yes
    })
}

/// The effect of the upgrade in words, with what to do about it.
fn advice(row: &Checked) -> String {
    match &row.effect {
        UpgradeEffect::Ok => String::new(),
        UpgradeEffect::Removed { in_version } => {
            format!("removed in {in_version}, delete it from the configuration")
        }
        UpgradeEffect::LockedOtherValue { since } => {
            format!(
                "locked to {} since {since}, delete it from the configuration",
                row.value != Some(true)
            )
        }
        UpgradeEffect::WillWarn => {
            "works with a warning, delete it from the configuration".to_owned()
        }
        UpgradeEffect::DefaultChanges { old, new } => format!("{old}→{new}"),
        UpgradeEffect::Unknown(hint) => format!("no such gate{hint}"),
        UpgradeEffect::Unavailable => "does not exist yet in that version".to_owned(),
    }
}

fn as_json(row: &Checked) -> Value {
    let mut item = json!({
        "component": row.component,
        "gate": row.gate,
        "value": row.value,
        "result": row.effect.name(),
        "message": advice(row),
    });
    if let UpgradeEffect::DefaultChanges { old, new } = row.effect {
        item["old"] = old.into();
        item["new"] = new.into();
    }
    item
}

fn as_table(rows: &[Checked], upgrade: Upgrade, refuses: bool) -> String {
    let headers = ["COMPONENT", "GATE", "VALUE", "RESULT", "ADVICE"];
    let line = |row: &Checked| {
        let value = row
            .value
            .map_or_else(|| "<unset>".to_owned(), |value| value.to_string());
        let (component, gate) = (row.component.clone(), row.gate.clone());
        vec![
            component,
            gate,
            value,
            row.effect.name().to_owned(),
            advice(row),
        ]
    };
    let mut text = if rows.is_empty() {
        String::new()
    } else {
        output::table(&headers, rows.iter().map(line))
    };
    let answer = if refuses {
        "would refuse to start"
    } else {
        "would start"
    };
    text.push_str(&format!("{} {answer} with these gates\n", upgrade.to));
    text
}
