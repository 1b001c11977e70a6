//! `lockstep cel check`.

use serde_json::json;

use super::expression::Arguments;
use crate::{
    failure::{Exit, Failure},
    output::{self, Format, or_none},
};

pub(crate) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let subject = arguments.expression.compile()?;
    let paths = subject.program.paths();
    let reads: Vec<String> = paths.reads.iter().map(ToString::to_string).collect();
    let writes: Vec<String> = paths.writes.iter().map(ToString::to_string).collect();
    let ty = subject.program.static_type().to_string();
    // No schema of the object is known here, so no field selects an element.
    let scope = subject.program.mutation_scope(&|_| Vec::new(), &["object"]);
    let scope = scope.map(|scope| scope.to_string());
    output::data(&match arguments.output {
        Format::Table => {
            let (reads, writes) = (or_none(reads.join(", ")), or_none(writes.join(", ")));
            let mut table = format!("type    {ty}\nreads   {reads}\nwrites  {writes}\n");
            if let Some(scope) = scope {
                let scope = if scope.is_empty() { "<root>" } else { &*scope };
                table.push_str(&format!("scope   {scope}\n"));
            }
            table
        }
        format => format.render(&output::document(
            "CelCheck",
            json!({ "type": ty, "reads": reads, "writes": writes, "scope": scope }),
        )),
    });
    Ok(Exit::Yes)
}
