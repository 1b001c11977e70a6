//! `lockstep store dump`.

use base64::{Engine, prelude::BASE64_STANDARD};
use lockstep_mvcc::{KeyRange, KeyValue, LeaseId, Machine, Range, RangeResponse, Revision};
use lockstep_storage_embedded::{Inspection, Severity};
use serde_json::{Map, Value, json};

use super::Folder;
use crate::{
    failure::{Exit, Failure},
    output::{self, Format},
};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    folder: Folder,
    /// Prefix of the keys to print
    #[arg(long, value_name = "PREFIX", default_value = "")]
    prefix: String,
    /// Revision to print; the newest when not given
    #[arg(long, value_name = "REVISION")]
    revision: Option<u64>,
    /// Print values too; they may be secrets
    #[arg(long)]
    values: bool,
    /// Output format
    #[arg(long, short, value_name = "FORMAT", default_value = "table")]
    output: Format,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let inspection = arguments.folder.inspect()?;
    let Some(machine) = &inspection.machine else {
        return Err(damaged(&inspection));
    };
    let found = machine.range(&Range {
        at: arguments.revision.map(Revision),
        ..Range::new(KeyRange::prefix(arguments.prefix.clone()))
    });
    let found = found.map_err(|error| {
        let (oldest, newest) = (machine.compacted(), machine.revision());
        let help = format!("kept are the revisions from {oldest} to {newest}");
        Failure::bad_input(error.to_string()).with_help(help)
    })?;
    let dump = Dump {
        machine,
        applied: inspection.applied,
        found: &found,
        with_values: arguments.values,
    };
    output::data(&match arguments.output {
        Format::Table => dump.as_text(),
        format => format.render(&dump.as_document()),
    });
    Ok(Exit::Yes)
}

fn damaged(inspection: &Inspection) -> Failure {
    let mut damages = inspection.findings.iter();
    let first = damages.find(|finding| finding.severity == Severity::Damage);
    let what = first.map_or(String::new(), |finding| {
        let file = finding.file.display();
        match finding.offset {
            Some(offset) => format!(": `{file}`, byte {offset}: {}", finding.what),
            None => format!(": `{file}`: {}", finding.what),
        }
    });
    Failure {
        exit: Exit::No,
        message: format!("the store is damaged{what}"),
        causes: Vec::new(),
        help: Some("`lockstep store verify` lists all damage".to_owned()),
    }
}

/// Contents of a store at its last applied index, ready to print.
struct Dump<'a> {
    machine: &'a Machine,
    applied: u64,
    found: &'a RangeResponse,
    with_values: bool,
}

impl Dump<'_> {
    fn as_text(&self) -> String {
        let machine = self.machine;
        let numbers = [
            ("revision", machine.revision().to_string()),
            ("compacted", machine.compacted().to_string()),
            ("applied index", self.applied.to_string()),
            ("keys", self.found.count.to_string()),
            ("leases", machine.leases().len().to_string()),
        ];
        let numbers = numbers.map(|(name, number)| vec![name.to_owned(), number]);
        let mut text = output::table(&[], numbers);
        let leases: Vec<_> = machine.leases().collect();
        if !leases.is_empty() {
            let rows = leases.into_iter().map(|(id, lease)| {
                let (ttl, keys) = (lease.ttl_seconds(), lease.keys().len());
                vec![hex(id), format!("{ttl}s"), keys.to_string()]
            });
            text.push('\n');
            text.push_str(&output::table(&["LEASE", "TTL", "KEYS"], rows));
        }
        if !self.found.kvs.is_empty() {
            let mut headers = vec!["KEY", "CREATE", "MOD", "VERSION", "LEASE"];
            if self.with_values {
                headers.push("VALUE");
            }
            text.push('\n');
            let rows = self.found.kvs.iter().map(|kv| self.row(kv));
            text.push_str(&output::table(&headers, rows));
        }
        text
    }

    fn row(&self, kv: &KeyValue) -> Vec<String> {
        let lease = if kv.lease.is_some() {
            hex(kv.lease)
        } else {
            String::new()
        };
        let mut row = vec![
            kv.key.escape_ascii().to_string(),
            kv.create_revision.to_string(),
            kv.mod_revision.to_string(),
            kv.version.to_string(),
            output::or_none(lease),
        ];
        if self.with_values {
            row.push(kv.value.escape_ascii().to_string());
        }
        row
    }

    fn as_document(&self) -> Value {
        let machine = self.machine;
        let leases: Vec<_> = machine
            .leases()
            .map(|(id, lease)| {
                let keys: Vec<_> = lease.keys().map(|key| text("key", key)).collect();
                json!({ "id": hex(id), "ttlSeconds": lease.ttl_seconds(), "keys": keys })
            })
            .collect();
        let keys: Vec<_> = self.found.kvs.iter().map(|kv| self.pair(kv)).collect();
        output::document(
            "StoreDump",
            json!({
                "revision": machine.revision().0,
                "compacted": machine.compacted().0,
                "appliedIndex": self.applied,
                "count": self.found.count,
                "leases": leases,
                "keys": keys,
            }),
        )
    }

    fn pair(&self, kv: &KeyValue) -> Value {
        let mut pair = text("key", &kv.key);
        pair.insert("createRevision".to_owned(), kv.create_revision.0.into());
        pair.insert("modRevision".to_owned(), kv.mod_revision.0.into());
        pair.insert("version".to_owned(), kv.version.into());
        if kv.lease.is_some() {
            pair.insert("lease".to_owned(), hex(kv.lease).into());
        }
        if self.with_values {
            pair.append(&mut text("value", &kv.value));
        }
        pair.into()
    }
}

/// Bytes under `name` if they are text, and otherwise in base64 under a name that says so.
fn text(name: &str, bytes: &[u8]) -> Map<String, Value> {
    let (name, text) = match std::str::from_utf8(bytes) {
        Ok(text) => (name.to_owned(), text.to_owned()),
        Err(_) => (format!("{name}Base64"), BASE64_STANDARD.encode(bytes)),
    };
    Map::from_iter([(name, text.into())])
}

/// A lease as `etcdctl` writes it.
fn hex(id: LeaseId) -> String {
    format!("{:016x}", id.0)
}
