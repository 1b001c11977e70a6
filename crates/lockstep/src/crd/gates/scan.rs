//! `lockstep crd gates scan`.

use lockstep_featuregate::suggestion;
use lockstep_fieldgate::{FieldUsage, GateList, Usage};
use lockstep_object::{Object, Value};
use lockstep_schema::{is_storage_version, storage_version};
use serde_json::json;

use super::source::{Place, Source};
use crate::{
    failure::Exit,
    failure::Failure,
    manifests,
    output::{self, Format, or_none},
    remote::Access,
};

/// Upper bound on the object names in a table line; JSON and YAML list all objects.
const NAMED_MAX: usize = 3;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  lockstep crd gates scan crontabs.stable.example.com -A\n  lockstep crd gates scan crontabs ReplicasFeatureGate -n production -o json\n  lockstep crd gates scan crontabs -f crd.yaml -f backup.yaml\n\nLook before you close a gate or take it away. A default that nobody stored counts as long as the gate is open, since servers show it."
)]
pub(crate) struct Arguments {
    /// The definition
    #[arg(value_name = "CRD")]
    definition: String,
    /// The gate; all of them when not given
    gate: Option<String>,
    /// Scan all namespaces
    #[arg(long, short = 'A', conflicts_with = "namespace")]
    all_namespaces: bool,
    /// Namespace to scan; that of the context when not given
    #[arg(long, short, value_name = "NAME")]
    namespace: Option<String>,
    #[command(flatten)]
    source: Source,
    /// Objects per page of a list request
    #[arg(long, value_name = "COUNT", default_value = "500", value_parser = clap::value_parser!(u32).range(1..))]
    chunk_size: u32,
    /// Leave out the header line
    #[arg(long)]
    no_headers: bool,
    /// Output format
    #[arg(long, short, value_name = "FORMAT", default_value = "table")]
    output: Format,
}

pub(crate) fn run(arguments: &Arguments, quiet: bool) -> Result<Exit, Failure> {
    let place = arguments.source.place()?;
    let definition = place.one(&arguments.definition)?;
    let mut usage = arguments.usage(&definition)?;
    match &place {
        Place::Server(access) => arguments.ask(access, &definition, &mut usage, quiet)?,
        Place::Files(files) => {
            for manifest in manifests::read(files)? {
                if let Ok(object) = Object::from_value(manifest.value)
                    && arguments.is_wanted(&object, &definition)
                {
                    usage.see(&object);
                }
            }
        }
    }
    if usage.fields.is_empty() && !quiet {
        output::tell("No gates found.\n");
    }
    output::data(&match arguments.output {
        Format::Table if usage.fields.is_empty() => String::new(),
        Format::Table => as_table(&usage, arguments.no_headers),
        format => format.render(&as_document(definition.name(), &usage)),
    });
    if arguments.output == Format::Table && !quiet {
        let seen = output::counted(usage.seen, "object");
        output::tell(&format!("{seen} looked at\n"));
    }
    Ok(Exit::Yes)
}

impl Arguments {
    fn usage(&self, definition: &Object) -> Result<Usage, Failure> {
        let gates = GateList::of(definition).gates;
        if let Some(gate) = &self.gate
            && !gates.iter().any(|known| known.name == *gate)
        {
            let message = format!("`{}` has no gate `{gate}`", definition.name());
            let close = suggestion(gate, gates.iter().map(|known| known.name.as_str()));
            return Err(match close {
                Some(close) => {
                    Failure::bad_input(message).with_help(format!("did you mean `{close}`?"))
                }
                None => Failure::bad_input(message),
            });
        }
        Ok(Usage::of(definition, self.gate.as_deref()))
    }

    /// Shows every object of a server that is wanted.
    fn ask(
        &self,
        access: &Access,
        definition: &Object,
        usage: &mut Usage,
        quiet: bool,
    ) -> Result<(), Failure> {
        let text = |path: &[&str]| {
            let text = definition.at(path).and_then(Value::as_str);
            text.unwrap_or_default()
        };
        let (group, plural) = (text(&["spec", "group"]), text(&["spec", "names", "plural"]));
        let version = served(definition)?;
        if Some(version) != storage_version(definition) && !quiet {
            output::tell(&format!(
                "the version that is stored is not served: looked in {version}, which may lack fields\n"
            ));
        }
        let is_namespaced = text(&["spec", "scope"]) == "Namespaced";
        let namespace = self.namespace.as_deref();
        let namespace = namespace.unwrap_or_else(|| access.namespace());
        let path = if is_namespaced && !self.all_namespaces {
            format!("/apis/{group}/{version}/namespaces/{namespace}/{plural}")
        } else {
            format!("/apis/{group}/{version}/{plural}")
        };
        access.each(&path, self.chunk_size, |item| {
            if let Ok(object) = Object::from_value(item) {
                usage.see(&object);
            }
        })
    }

    /// Whether an object of a file is of the definition and where to look; files have no namespace of their own.
    fn is_wanted(&self, object: &Object, definition: &Object) -> bool {
        let of = |path: &[&str]| definition.at(path).and_then(Value::as_str);
        let is_kind = object.gvk().is_some_and(|gvk| {
            of(&["spec", "group"]) == Some(&*gvk.group)
                && of(&["spec", "names", "kind"]) == Some(&*gvk.kind)
        });
        let namespace = self.namespace.as_deref();
        is_kind && namespace.is_none_or(|namespace| object.namespace() == namespace)
    }
}

/// The version that is stored, or another one if that is not served.
fn served(definition: &Object) -> Result<&str, Failure> {
    let versions = definition
        .at(&["spec", "versions"])
        .and_then(Value::as_array);
    let served = versions.into_iter().flatten();
    let served = served.filter(|version| version["served"] == true);
    let mut served: Vec<&Value> = served.collect();
    served.sort_by_key(|version| !is_storage_version(version));
    let name = served.first().and_then(|version| version["name"].as_str());
    let wrong = || Failure::bad_input(format!("no version of {} is served", definition.name()));
    name.ok_or_else(wrong)
}

fn as_table(usage: &Usage, no_headers: bool) -> String {
    let headers = ["USED", "ENABLED", "PATH", "COUNT", "GATE", "OBJECTS"];
    let line = |used: &FieldUsage| {
        let first = used.names.iter().take(NAMED_MAX).cloned();
        let mut names: Vec<String> = first.collect();
        if used.count > names.len() {
            names.push(format!("+{} more", used.count - names.len()));
        }
        vec![
            (used.count > 0).to_string(),
            used.is_enabled.to_string(),
            used.path.to_string(),
            used.count.to_string(),
            used.gate.clone(),
            or_none(names.join(",")),
        ]
    };
    output::table(
        if no_headers { &[] } else { &headers },
        usage.fields.iter().map(line),
    )
}

fn as_document(definition: &str, usage: &Usage) -> Value {
    let item = |used: &FieldUsage| {
        json!({
            "gate": used.gate,
            "used": used.count > 0,
            "enabled": used.is_enabled,
            "path": used.path.to_string(),
            "count": used.count,
            "objects": used.names,
        })
    };
    let items: Vec<Value> = usage.fields.iter().map(item).collect();
    let fields = json!({ "crd": definition, "seen": usage.seen, "items": items });
    output::document("FieldGateScan", fields)
}
