//! `lockstep cel cost`.

use lockstep_cel::{Arena, Budget};
use serde_json::json;

use super::{eval::failed, expression::Expression};
use crate::{
    failure::{Exit, Failure},
    output::{self, Format},
};

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  lockstep cel cost 'self.all(x, x > 0)' --schema schema.yaml\n  lockstep cel cost 'object.spec.replicas <= 5' -f variables.yaml\n  lockstep cel cost '[1, 2].sum() > 2' -o json"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    expression: Expression,
    /// How to write the answer
    #[arg(long, short, value_name = "FORMAT", default_value = "table")]
    output: Format,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let subject = arguments.expression.compile()?;
    let estimate = subject
        .program
        .estimate()
        .expect("a compiled expression was checked");
    let actual = if subject.has_data() {
        let activation = subject.activation();
        let (arena, mut budget) = (Arena::new(), Budget::default());
        subject
            .program
            .evaluate(&activation, &arena, &mut budget)
            .map_err(|error| failed(&error))?;
        Some(budget.spent())
    } else {
        None
    };
    output::data(&match arguments.output {
        Format::Table => {
            let actual = actual.map_or_else(|| "<unknown>".to_owned(), |cost| cost.to_string());
            format!(
                "estimate  {} to {}\nactual    {actual}\n",
                estimate.min, estimate.max
            )
        }
        format => format.render(&output::document(
            "CelCost",
            json!({ "estimate": { "min": estimate.min, "max": estimate.max }, "actual": actual }),
        )),
    });
    Ok(Exit::Yes)
}
