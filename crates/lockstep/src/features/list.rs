//! `lockstep features list`.

use clap::ValueEnum;
use lockstep_featuregate::{
    Stage,
    listing::{Row, rows},
};
use serde_json::json;

use super::{live::Live, registry::Preview};
use crate::{
    failure::{Exit, Failure},
    output::{self, Format, or_none},
};

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  lockstep features list\n  lockstep features list --stage alpha --disabled\n  lockstep features list --emulated-version 1.34 -o json\n  lockstep features list --kubeconfig lockstep-data/admin.kubeconfig"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    preview: Preview,
    #[command(flatten)]
    live: Live,
    /// Stage of the gates to list
    #[arg(long, value_name = "STAGE", ignore_case = true)]
    stage: Vec<StageName>,
    /// List only gates that are on
    #[arg(long, conflicts_with = "disabled")]
    enabled: bool,
    /// List only gates that are off
    #[arg(long)]
    disabled: bool,
    /// Leave out the header line
    #[arg(long)]
    no_headers: bool,
    /// Output format
    #[arg(long, short, value_name = "FORMAT", default_value = "table")]
    output: Format,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum StageName {
    #[value(name = "prealpha")]
    PreAlpha,
    Alpha,
    Beta,
    Ga,
    Deprecated,
}

impl StageName {
    fn stage(self) -> Stage {
        match self {
            StageName::PreAlpha => Stage::PreAlpha,
            StageName::Alpha => Stage::Alpha,
            StageName::Beta => Stage::Beta,
            StageName::Ga => Stage::Ga,
            StageName::Deprecated => Stage::Deprecated,
        }
    }
}

pub(crate) fn run(arguments: &Arguments, quiet: bool) -> Result<Exit, Failure> {
    if arguments.live.is_asked() && arguments.preview.is_given() {
        return Err(Failure::bad_input(
            "a running server has its own gates: `--server`, `--kubeconfig` and `--context` go \
             without `--file`, `--version`, `--feature-gates`, `--config` and `--emulated-version`",
        ));
    }
    let found = match arguments.live.rows()? {
        Some(rows) => rows,
        None => {
            let gates = arguments.preview.gates()?;
            let mut found = rows(&gates);
            found.extend(arguments.preview.expressions(&gates));
            found
        }
    };
    let rows: Vec<Row> = found
        .into_iter()
        .filter(|row| arguments.wants(row))
        .collect();
    if rows.is_empty() && !quiet {
        output::tell("No gates found.\n");
    }
    output::data(&match arguments.output {
        Format::Table if rows.is_empty() => String::new(),
        Format::Table => as_table(&rows, arguments.no_headers),
        format => format.render(&output::document("FeatureList", json!({ "items": rows }))),
    });
    Ok(Exit::Yes)
}

impl Arguments {
    fn wants(&self, row: &Row) -> bool {
        let named = |name: &StageName| name.stage().name() == row.stage;
        let stage = self.stage.is_empty() || self.stage.iter().any(named);
        stage && (!self.enabled || row.enabled) && (!self.disabled || !row.enabled)
    }
}

fn as_table(rows: &[Row], no_headers: bool) -> String {
    let headers = [
        "COMPONENT",
        "NAME",
        "STAGE",
        "ENABLED",
        "DEFAULT",
        "LOCKED",
        "SINCE",
        "SOURCE",
        "REMOVE-IN",
        "DEPENDS-ON",
    ];
    let line = |row: &Row| {
        vec![
            row.component.clone(),
            row.name.clone(),
            row.stage.clone(),
            row.enabled.to_string(),
            row.default.to_string(),
            row.locked.to_string(),
            row.since.clone(),
            row.source.clone(),
            or_none(row.remove_in.clone().unwrap_or_default()),
            or_none(row.depends_on.join(",")),
        ]
    };
    output::table(
        if no_headers { &[] } else { &headers },
        rows.iter().map(line),
    )
}
