//! `lockstep cel cost`.

use lockstep_cel::{Arena, Budget};
use serde_json::json;

use super::{eval::failed, expression::Arguments};
use crate::{
    failure::{Exit, Failure},
    output::{self, Format},
};

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
