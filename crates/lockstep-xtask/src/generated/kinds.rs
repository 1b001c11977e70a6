//! The table of built-in kinds from the facts about them: struct fields, and published schemas.
//!
//! The facts are not part of the repository. Where they are missing, the table is held to the sum
//! it carries, so that it is still only ever written by this program.

mod expression;
mod own;
mod row;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use lockstep_kinds::format::{sealed, unsealed};
use serde::Deserialize;
use serde_json::Value;

use expression::Names;
use own::APIEXTENSIONS;
use row::Row;

/// Names the folder with the facts.
const VARIABLE: &str = "LOCKSTEP_SHARED";

/// The packages that go into the table: where their types come from, their group and version.
/// Those without are types that others use.
const PACKAGES: &[(&str, Option<(&str, &str)>)] = &[
    ("k8s.io/apimachinery/pkg/apis/meta/v1", Some(("", "v1"))),
    ("k8s.io/apimachinery/pkg/runtime", None),
    ("k8s.io/apimachinery/pkg/util/intstr", None),
    ("k8s.io/apimachinery/pkg/api/resource", None),
    ("k8s.io/api/core/v1", Some(("", "v1"))),
    (
        "k8s.io/api/admissionregistration/v1",
        Some(("admissionregistration.k8s.io", "v1")),
    ),
    (
        "k8s.io/api/apiserverinternal/v1alpha1",
        Some(("internal.apiserver.k8s.io", "v1alpha1")),
    ),
    ("k8s.io/api/apps/v1", Some(("apps", "v1"))),
    (
        "k8s.io/api/authentication/v1",
        Some(("authentication.k8s.io", "v1")),
    ),
    (
        "k8s.io/api/authorization/v1",
        Some(("authorization.k8s.io", "v1")),
    ),
    ("k8s.io/api/autoscaling/v1", Some(("autoscaling", "v1"))),
    ("k8s.io/api/autoscaling/v2", Some(("autoscaling", "v2"))),
    ("k8s.io/api/batch/v1", Some(("batch", "v1"))),
    (
        "k8s.io/api/certificates/v1",
        Some(("certificates.k8s.io", "v1")),
    ),
    (
        "k8s.io/api/coordination/v1",
        Some(("coordination.k8s.io", "v1")),
    ),
    ("k8s.io/api/discovery/v1", Some(("discovery.k8s.io", "v1"))),
    ("k8s.io/api/events/v1", Some(("events.k8s.io", "v1"))),
    (
        "k8s.io/api/flowcontrol/v1",
        Some(("flowcontrol.apiserver.k8s.io", "v1")),
    ),
    (
        "k8s.io/api/networking/v1",
        Some(("networking.k8s.io", "v1")),
    ),
    ("k8s.io/api/node/v1", Some(("node.k8s.io", "v1"))),
    ("k8s.io/api/policy/v1", Some(("policy", "v1"))),
    (
        "k8s.io/api/rbac/v1",
        Some(("rbac.authorization.k8s.io", "v1")),
    ),
    ("k8s.io/api/resource/v1", Some(("resource.k8s.io", "v1"))),
    (
        "k8s.io/api/scheduling/v1",
        Some(("scheduling.k8s.io", "v1")),
    ),
    ("k8s.io/api/storage/v1", Some(("storage.k8s.io", "v1"))),
    (
        "k8s.io/api/storagemigration/v1beta1",
        Some(("storagemigration.k8s.io", "v1beta1")),
    ),
    (
        "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1",
        Some(("apiextensions.k8s.io", "v1")),
    ),
    (
        "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1",
        Some(("apiregistration.k8s.io", "v1")),
    ),
];

/// Types that are options of a query, of other encodings, or not of the API at all.
const DROPPED: &[&str] = &[
    "ApplyOptions",
    "CreateOptions",
    "Duration",
    "GetOptions",
    "ListOptions",
    "NodeProxyOptions",
    "PatchOptions",
    "PodAttachOptions",
    "PodExecOptions",
    "PodLogOptions",
    "PodPortForwardOptions",
    "PodProxyOptions",
    "RootPaths",
    "ServiceProxyOptions",
    "Table",
    "TableColumnDefinition",
    "TableOptions",
    "TableRow",
    "TableRowCondition",
    "Timestamp",
    "Unknown",
    "UpdateOptions",
    "encodable",
];

/// Types that the table names and the code knows by heart.
const SPECIAL: &[(&str, &str)] = &[
    ("k8s.io/apimachinery/pkg/apis/meta/v1", "FieldsV1"),
    ("k8s.io/apimachinery/pkg/apis/meta/v1", "MicroTime"),
    ("k8s.io/apimachinery/pkg/apis/meta/v1", "Time"),
    ("k8s.io/apimachinery/pkg/apis/meta/v1", "Verbs"),
    ("k8s.io/apimachinery/pkg/api/resource", "Quantity"),
    ("k8s.io/apimachinery/pkg/runtime", "RawExtension"),
    ("k8s.io/apimachinery/pkg/util/intstr", "IntOrString"),
    ("k8s.io/api/authentication/v1", "ExtraValue"),
    ("k8s.io/api/authorization/v1", "ExtraValue"),
    ("k8s.io/api/certificates/v1", "ExtraValue"),
    (APIEXTENSIONS, "JSON"),
    (APIEXTENSIONS, "JSONSchemaPropsOrArray"),
    (APIEXTENSIONS, "JSONSchemaPropsOrBool"),
    (APIEXTENSIONS, "JSONSchemaPropsOrStringArray"),
];

/// Types without fields, which the facts therefore do not list.
const EMPTY: &[(&str, &str)] = &[
    (
        "k8s.io/api/apiserverinternal/v1alpha1",
        "StorageVersionSpec",
    ),
    (APIEXTENSIONS, "CustomResourceSubresourceStatus"),
];

/// A field as the facts have it.
#[derive(Deserialize, Clone)]
struct Fact {
    j: String,
    t: String,
    #[serde(default)]
    p: bool,
    #[serde(default)]
    o: bool,
    #[serde(default)]
    oz: bool,
    n: Option<String>,
    ps: Option<String>,
    pmk: Option<String>,
}

#[derive(Deserialize)]
struct Fields {
    types: BTreeMap<String, Vec<Fact>>,
    aliases: BTreeMap<String, String>,
}

/// Published schemas by name.
type Schemas = BTreeMap<String, Value>;

/// The table as it should be; the present one, if that is right, when the facts are not here.
pub(super) fn produce(root: &Path, present: &Path) -> anyhow::Result<String> {
    match facts(root) {
        Some(folder) => from_facts(&folder),
        None => {
            let place = present.display();
            println!("{place}: the facts are not here ({VARIABLE}); held to its own sum");
            held_to_its_sum(&root.join(present))
        }
    }
}

fn from_facts(folder: &Path) -> anyhow::Result<String> {
    let fields = std::fs::read_to_string(folder.join("builtin-fields.json"))?;
    let schemas = std::fs::read_to_string(folder.join("builtin-schema.json"))?;
    let (fields, schemas) = (
        serde_json::from_str(&fields)?,
        serde_json::from_str(&schemas)?,
    );
    table(&fields, &schemas)
}

fn held_to_its_sum(place: &Path) -> anyhow::Result<String> {
    let text = std::fs::read_to_string(place)?;
    unsealed(&text).context("its sum is not that of its contents; nobody writes it by hand")?;
    Ok(text)
}

fn facts(root: &Path) -> Option<PathBuf> {
    let named = std::env::var_os(VARIABLE).map(PathBuf::from);
    let folder = named.unwrap_or_else(|| root.join("../shared")).join("data");
    folder
        .join("builtin-fields.json")
        .exists()
        .then_some(folder)
}

fn table(fields: &Fields, schemas: &Schemas) -> anyhow::Result<String> {
    let mut text = String::new();
    for (path, served) in PACKAGES {
        let names = Names::new(path, &fields.types, &fields.aliases);
        let (group, version) = served.unwrap_or(("-", "-"));
        let group = if group.is_empty() { "core" } else { group };
        let (short, published) = (expression::short(path), published(path));
        writeln!(text, "package {short} {published} {group} {version}")?;
        for (name, meaning) in names.scalars() {
            writeln!(text, "name {name} {}", names.expression(meaning)?)?;
        }
        let types = types(path, fields);
        for (name, rows) in &types {
            let schema = schema_of(name, &types, |name| {
                schemas.get(&format!("{published}.{name}"))
            });
            let body =
                structure(&names, rows, schema).with_context(|| format!("type `{path}.{name}`"))?;
            let kind = if is_kind(rows) && served.is_some() {
                " kind"
            } else {
                ""
            };
            let body = own::amended(path, name, body);
            let own = schemas.get(&format!("{published}.{name}"));
            writeln!(text, "type {name}{kind}{}", row::type_facts(own))?;
            text.push_str(&body);
            for field in own::fields(path, name) {
                writeln!(text, " {field}")?;
            }
        }
        for (name, fields) in own::types(path) {
            writeln!(text, "type {name}")?;
            for field in fields {
                writeln!(text, " {field}")?;
            }
        }
        text.push_str(&own::older_versions(path, &text));
    }
    ensure!(text.is_ascii(), "the table is plain text");
    Ok(sealed(&text))
}

/// The types of a package.
fn types<'a>(path: &str, fields: &'a Fields) -> BTreeMap<&'a str, &'a [Fact]> {
    let known = fields.types.iter();
    let mut types: BTreeMap<&str, &[Fact]> = known
        .filter_map(|(name, rows)| {
            let (package, name) = name.rsplit_once('.')?;
            let is_kept = package == path && !DROPPED.contains(&name) && !is_special(path, name);
            is_kept.then_some((name, rows.as_slice()))
        })
        .collect();
    let empty = EMPTY.iter().filter(|(package, _)| *package == path);
    types.extend(empty.map(|(_, name)| (*name, [].as_slice())));
    types
}

/// The schema of a type; that of a type that inlines it if it has none of its own.
fn schema_of<'s>(
    name: &str,
    types: &BTreeMap<&str, &[Fact]>,
    published: impl Fn(&str) -> Option<&'s Value> + Copy,
) -> Option<&'s Value> {
    let inlines = |rows: &[Fact]| rows.iter().any(|row| row.j.is_empty() && row.t == name);
    published(name).or_else(|| {
        let mut hosts = types.iter().filter(|(_, rows)| inlines(rows));
        hosts.find_map(|(host, _)| schema_of(host, types, published))
    })
}

fn is_special(path: &str, name: &str) -> bool {
    SPECIAL.contains(&(path, name))
}

fn is_kind(rows: &[Fact]) -> bool {
    rows.first()
        .is_some_and(|row| row.j.is_empty() && row.t.ends_with("TypeMeta"))
}

fn structure(names: &Names<'_>, rows: &[Fact], schema: Option<&Value>) -> anyhow::Result<String> {
    let mut text = String::new();
    for fact in rows.iter().filter(|fact| fact.j != "-") {
        let row = Row::new(names, fact, schema).with_context(|| format!("field `{}`", fact.j))?;
        writeln!(text, " {row}")?;
    }
    Ok(text)
}

/// The name under which a package's types are published: `io.k8s.api.core.v1`.
fn published(path: &str) -> String {
    let (domain, rest) = path.split_once('/').unwrap_or((path, ""));
    let mut parts: Vec<&str> = domain.split('.').rev().collect();
    parts.extend(rest.split('/'));
    parts.join(".")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_without_its_facts_is_held_to_its_sum() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let place = folder.path().join("kinds.txt");
        let right = sealed("package core/v1 io.k8s.api.core.v1 core v1\n");
        std::fs::write(&place, &right).expect("written");
        assert_eq!(held_to_its_sum(&place).ok(), Some(right.clone()));
        std::fs::write(&place, right.replace("core v1", "core v2")).expect("written");
        let error = held_to_its_sum(&place).expect_err("somebody edited it");
        assert_eq!(
            error.to_string(),
            "its sum is not that of its contents; nobody writes it by hand"
        );
    }

    #[test]
    fn facts_become_rows_with_names_told_by_their_packages() {
        let fact = |json: &str| serde_json::from_str(json).expect("a fact");
        let fields = Fields {
            types: BTreeMap::from([
                (
                    "k8s.io/api/core/v1.ConfigMap".to_owned(),
                    vec![
                        fact(r#"{"j": "", "t": "metav1.TypeMeta", "i": true}"#),
                        fact(r#"{"j": "data", "t": "map[string]string", "o": true, "n": "2"}"#),
                        fact(r#"{"j": "immutable", "t": "bool", "p": true, "o": true, "n": "4"}"#),
                    ],
                ),
                (
                    "k8s.io/apimachinery/pkg/apis/meta/v1.TypeMeta".to_owned(),
                    vec![fact(r#"{"j": "kind", "t": "string", "o": true, "n": "1"}"#)],
                ),
            ]),
            aliases: BTreeMap::new(),
        };
        let schema = serde_json::json!({"required": ["data"], "properties": {
            "data": {"type": "object", "x-kubernetes-map-type": "atomic"},
            "immutable": {"type": "boolean", "default": true}}});
        let schemas = Schemas::from([("io.k8s.api.core.v1.ConfigMap".to_owned(), schema)]);
        let made = table(&fields, &schemas).expect("a table");
        let rows: Vec<&str> = made
            .lines()
            .skip_while(|line| *line != "type ConfigMap kind")
            .take(4)
            .collect();
        assert_eq!(
            rows,
            [
                "type ConfigMap kind",
                " . meta/v1.TypeMeta - -",
                " data map[string]string 2 or map=atomic",
                " immutable *bool 4 o default=true",
            ]
        );
    }
}
