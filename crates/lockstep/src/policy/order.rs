//! `lockstep policy order`.

use std::path::PathBuf;

use lockstep_admission::diff::shown;
use lockstep_admission::policy::{MutatingPolicy, Mutation, Reinvocation};
use lockstep_admission::set::Bound;
use lockstep_write::offline::policies::Unbound;
use serde_json::{Value, json};

use super::input;
use crate::{
    failure::{Exit, Failure},
    output::{self, Format, or_none},
};

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  lockstep policy order -f policies/\n  lockstep policy order -f policies/ --for deployments.apps\n  lockstep policy order -f policies/ -o json\n\nMutating policies run from the shallowest scope to the deepest, then by name. Validating policies have no order."
)]
pub(crate) struct Arguments {
    /// Files or directories with policies and bindings; may be repeated
    #[arg(long, short, value_name = "FILE", required = true)]
    filename: Vec<PathBuf>,
    /// Only the policies of a resource, such as `pods` or `deployments.apps`
    #[arg(long = "for", value_name = "RESOURCE.GROUP")]
    resource: Option<String>,
    /// Output format
    #[arg(long, short, value_name = "FORMAT", default_value = "table")]
    output: Format,
}

pub(crate) fn run(arguments: &Arguments, quiet: bool) -> Result<Exit, Failure> {
    let manifests = input::read(&arguments.filename)?;
    let workspace = input::workspace(&manifests, Unbound::Bound)?;
    if !quiet {
        for warning in workspace.warnings() {
            output::tell(&format!("warning: {warning}\n"));
        }
    }
    let bound = workspace.policies().mutating().iter();
    let bound = bound.filter(|bound| arguments.is_about(&bound.policy));
    let rows: Vec<Row<'_>> = bound.enumerate().flat_map(rows).collect();
    if rows.is_empty() {
        return Err(Failure::bad_input(
            "the files have no mutating policy of this resource",
        ));
    }
    output::data(&match arguments.output {
        Format::Table => {
            let headers = [
                "POSITION",
                "POLICY",
                "MUTATION",
                "SCOPE",
                "READS",
                "REINVOCATION",
            ];
            output::table(&headers, rows.iter().map(Row::cells))
        }
        format => {
            let rows: Vec<Value> = rows.iter().map(Row::as_value).collect();
            format.render(&output::document(
                "PolicyOrder",
                json!({ "mutations": rows }),
            ))
        }
    });
    Ok(Exit::Yes)
}

impl Arguments {
    fn is_about(&self, policy: &MutatingPolicy) -> bool {
        let Some(wanted) = &self.resource else {
            return true;
        };
        let (plural, group) = wanted.split_once('.').unwrap_or((wanted, ""));
        let is = |named: &str, wanted: &str| named == "*" || named == wanted;
        let mut resources = policy.common.constraints.resources();
        resources.any(|(own_group, own)| is(own_group, group) && is(own, plural))
    }
}

/// One mutation at its position.
struct Row<'a> {
    position: usize,
    policy: &'a MutatingPolicy,
    mutation: &'a Mutation,
}

fn rows((at, bound): (usize, &Bound<MutatingPolicy>)) -> impl Iterator<Item = Row<'_>> {
    let policy = &*bound.policy;
    policy.mutations.iter().map(move |mutation| Row {
        position: at + 1,
        policy,
        mutation,
    })
}

impl Row<'_> {
    fn scope(&self) -> String {
        match self.mutation.scope.depth() {
            0 => "<root>".to_owned(),
            _ => self.mutation.scope.to_string(),
        }
    }

    fn reads(&self) -> Vec<String> {
        let reads = self.mutation.reads.iter();
        reads
            .map(|path| shown(path).trim_start_matches('.').to_owned())
            .collect()
    }

    fn reinvocation(&self) -> String {
        match self.policy.reinvocation {
            Reinvocation::Never => "Never".to_owned(),
            Reinvocation::IfNeeded => "IfNeeded".to_owned(),
            Reinvocation::IfAffected(limit) => format!("IfAffected (at most {limit})"),
        }
    }

    fn cells(&self) -> Vec<String> {
        vec![
            self.position.to_string(),
            self.policy.common.name.to_string(),
            self.mutation.name.to_string(),
            self.scope(),
            or_none(self.reads().join(", ")),
            self.reinvocation(),
        ]
    }

    fn as_value(&self) -> Value {
        json!({
            "position": self.position,
            "policy": self.policy.common.name,
            "mutation": self.mutation.name,
            "scope": self.mutation.scope.to_string(),
            "reads": self.reads(),
            "reinvocation": self.reinvocation(),
        })
    }
}
