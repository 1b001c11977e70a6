//! `lockstep cel eval`.

use lockstep_cel::{Arena, Budget, EvalError, Value};
use serde_json::json;

use super::expression::Arguments;
use crate::{
    failure::{Exit, Failure},
    output::{self, Format},
};

pub(crate) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let subject = arguments.expression.compile()?;
    let activation = subject.activation();
    let (arena, mut budget) = (Arena::new(), Budget::default());
    let value = subject
        .program
        .evaluate(&activation, &arena, &mut budget)
        .map_err(|error| failed(&error))?;
    let json = as_json(&value)?;
    output::data(&match arguments.output {
        Format::Table => format!("{json}\n"),
        format => format.render(&output::document(
            "CelValue",
            json!({
                "value": json,
                "type": subject.program.static_type().to_string(),
                "cost": budget.spent(),
            }),
        )),
    });
    Ok(Exit::Yes)
}

/// The value as the API would store it; what has no such form is shown by its type.
fn as_json(value: &Value<'_>) -> Result<serde_json::Value, Failure> {
    value.to_json().map_err(|error| {
        let message = format!(
            "the value is a {}, which has no JSON form: {error}",
            value.type_name()
        );
        Failure::bad_input(message).with_help("compare it, or convert it with string()")
    })
}

pub(super) fn failed(error: &EvalError) -> Failure {
    Failure {
        exit: Exit::No,
        message: error.to_string(),
        causes: Vec::new(),
        help: None,
    }
}
