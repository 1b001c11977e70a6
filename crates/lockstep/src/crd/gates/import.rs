//! `lockstep crd gates import`.

use std::path::PathBuf;

use lockstep_fieldgate::{Exported, Import, MANAGER, import, read_export};
use lockstep_object::{Object, Value};
use serde_json::json;

use super::{
    dry_run::{self, DryRun},
    source::DEFINITIONS,
};
use crate::{
    document,
    failure::{Exit, Failure},
    output::{self, Format},
    remote::{self, Access, PatchKind, Reply},
};

/// Upper bound on the attempts of one write that fails with a conflict.
const ATTEMPTS_MAX: usize = 10;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  lockstep crd gates import -f gates.yaml\n  lockstep crd gates import -f gates.yaml --dry-run\n  lockstep crd gates import -f gates.yaml --overwrite -o json\n\nDefinitions that have other gates keep them unless `--overwrite` is given. Nobody owns what is put back, so that authors and admins claim their parts with their next apply. Ends with 1 if gates of a definition were not put back."
)]
pub(crate) struct Arguments {
    /// Output of `lockstep crd gates export`, `-` for standard input
    #[arg(long, short, value_name = "FILE")]
    filename: PathBuf,
    /// Replace other gates
    #[arg(long)]
    overwrite: bool,
    #[command(flatten)]
    dry_run: dry_run::Flag,
    #[command(flatten)]
    kubeconfig: remote::Flags,
    /// Output format
    #[arg(long, short, value_name = "FORMAT", default_value = "table")]
    output: Format,
}

/// Result of importing the gates of one CRD.
enum Outcome {
    Set,
    Unchanged,
    /// It has other gates, which stay.
    Differs,
    /// There is no such definition.
    Missing,
    /// The server does not keep gates.
    Dropped,
    Refused(String),
}

impl Outcome {
    fn word(&self) -> &'static str {
        match self {
            Self::Set => "set",
            Self::Unchanged => "unchanged",
            Self::Differs => "differs",
            Self::Missing => "missing",
            Self::Dropped => "dropped",
            Self::Refused(_) => "refused",
        }
    }

    /// Why gates were not put back, and what to do.
    fn reason(&self) -> &str {
        match self {
            Self::Set | Self::Unchanged => "",
            Self::Differs => "it has other gates; `--overwrite` replaces them",
            Self::Missing => "there is no such definition; create it first",
            Self::Dropped => "the server did not keep them; is `CRDFieldLevelVersioning` on there?",
            Self::Refused(reason) => reason,
        }
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let path = &arguments.filename;
    let exported = read_export(&document::read(path)?);
    let exported = exported.map_err(|error| {
        Failure::bad_input(format!("{}: {error}", path.display()))
            .with_help("give a file that `lockstep crd gates export` wrote")
    })?;
    let access = arguments.kubeconfig.access(None)?;
    let mut outcomes = Vec::new();
    for one in &exported {
        outcomes.push((one.name.as_str(), arguments.put_back(&access, one)?));
    }
    output::data(&match arguments.output {
        Format::Table => as_table(&outcomes, arguments.dry_run.dry_run),
        format => format.render(&as_document(&outcomes, arguments.dry_run.dry_run)),
    });
    let all_back = outcomes
        .iter()
        .all(|(_, outcome)| outcome.reason().is_empty());
    Ok(if all_back { Exit::Yes } else { Exit::No })
}

impl Arguments {
    fn put_back(&self, access: &Access, exported: &Exported) -> Result<Outcome, Failure> {
        let path = format!("{DEFINITIONS}/{}", exported.name);
        for _ in 0..ATTEMPTS_MAX {
            let reply = access.object(&path)?;
            if reply.code == 404 {
                return Ok(Outcome::Missing);
            }
            let definition = Object::from_value(reply.body.clone()).ok();
            let definition = definition.filter(|_| reply.is_done());
            let definition = definition.ok_or_else(|| access.refused(&reply, &path))?;
            let change = match import(&definition, exported) {
                Import::Same => return Ok(Outcome::Unchanged),
                Import::Differs(_) if !self.overwrite => return Ok(Outcome::Differs),
                Import::Set(change) | Import::Differs(change) => change,
            };
            if self.dry_run.dry_run == DryRun::Client {
                return Ok(Outcome::Set);
            }
            let dry_run = self.dry_run.dry_run.query();
            let query = format!("{path}?fieldManager={MANAGER}{dry_run}");
            let reply = access.patch(&query, PatchKind::Merge, &change)?;
            if reply.code != 409 {
                return self.stored(access, &path, exported, &reply);
            }
        }
        Ok(Outcome::Refused(
            "it changes all the time; try again".to_owned(),
        ))
    }

    fn stored(
        &self,
        access: &Access,
        path: &str,
        exported: &Exported,
        reply: &Reply,
    ) -> Result<Outcome, Failure> {
        reply.tell_warnings();
        match reply.code {
            401 | 403 | 500.. => return Err(access.refused(reply, path)),
            _ if !reply.is_done() => return Ok(Outcome::Refused(reply.message().to_owned())),
            _ => {}
        }
        if reply.body["spec"]["customFeatureGates"] != exported.gates {
            return Ok(Outcome::Dropped);
        }
        if self.dry_run.dry_run == DryRun::None {
            disown(access, path)?;
        }
        Ok(Outcome::Set)
    }
}

/// Gives up what the import made this command own. Servers write the status right after, so that it may take another
/// look.
fn disown(access: &Access, path: &str) -> Result<(), Failure> {
    for _ in 0..ATTEMPTS_MAX {
        let stored = access.object(path)?;
        let entries = stored.body["metadata"]["managedFields"].as_array();
        let own = entries
            .into_iter()
            .flatten()
            .enumerate()
            .find(|(_, entry)| {
                let is_whole = entry["subresource"].is_null();
                entry["manager"] == MANAGER && entry["operation"] == "Update" && is_whole
            });
        let Some((index, entry)) = own else { break };
        let place = format!("/metadata/managedFields/{index}");
        let change = json!([
            {"op": "test", "path": place, "value": entry},
            {"op": "remove", "path": place},
        ]);
        let query = format!("{path}?fieldManager={MANAGER}");
        let reply = access.patch(&query, PatchKind::Json, &change)?;
        match reply.code {
            409 | 422 => {}
            _ if reply.is_done() => break,
            _ => return Err(access.refused(&reply, path)),
        }
    }
    Ok(())
}

fn as_table(outcomes: &[(&str, Outcome)], dry_run: DryRun) -> String {
    let rows = outcomes.iter().map(|(name, outcome)| {
        let told = match outcome {
            Outcome::Set => dry_run.remark().trim_start(),
            other => other.reason(),
        };
        vec![
            (*name).to_owned(),
            outcome.word().to_owned(),
            told.to_owned(),
        ]
    });
    output::table(&["CRD", "RESULT", ""], rows)
}

fn as_document(outcomes: &[(&str, Outcome)], dry_run: DryRun) -> Value {
    let item = |(name, outcome): &(&str, Outcome)| json!({ "crd": name, "result": outcome.word(), "reason": outcome.reason() });
    let items: Vec<Value> = outcomes.iter().map(item).collect();
    let fields = json!({ "items": items, "dryRun": dry_run.name() });
    output::document("FieldGateImport", fields)
}
