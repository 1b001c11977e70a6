//! `lockstep policy scan`: which stored objects policies would change or deny.

use std::collections::{BTreeMap, BTreeSet};
use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::ValueEnum;
use jiff::Timestamp;
use lockstep_admission::api::ApiKind;
use lockstep_admission::diff::json_patch;
use lockstep_admission::mutate::Tracing;
use lockstep_admission::request::Operation;
use lockstep_admission::trace::Event;
use lockstep_authz::{Authorizer, User};
use lockstep_object::Object;
use lockstep_write::offline::policies::{Review, Reviewed, Unbound, Workspace, shown_kind};
use serde_json::{Value, json};

use super::findings::{self, Finding, Report, Rule};
use super::{input, mask};
use crate::failure::{Exit, Failure};
use crate::{document, output, remote};

/// Objects between two lines about the progress.
const PROGRESS: usize = 1000;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  lockstep policy scan -f policies/ backup/\n  lockstep policy scan -f policies/ --server --rate 20\n  lockstep policy scan -f policies/ --server -o policyreport | kubectl apply -f -\n\nEach object is evaluated as if it were updated without a change, or created. Ends with 1 if a policy would deny one."
)]
pub(crate) struct Arguments {
    /// Files or directories with objects, `-` for standard input
    #[arg(value_name = "OBJECT", required_unless_present = "server")]
    objects: Vec<PathBuf>,
    /// Files or directories with policies, bindings, definitions, parameters and namespaces; may be repeated
    #[arg(long, short, value_name = "FILE", required = true)]
    filename: Vec<PathBuf>,
    /// Scan the objects of the server in the kubeconfig, of the resources that policies name
    #[arg(long, conflicts_with = "objects")]
    server: bool,
    #[command(flatten)]
    kubeconfig: remote::Flags,
    /// Most list requests in a second
    #[arg(long, value_name = "COUNT", default_value = "10", value_parser = clap::value_parser!(u32).range(1..))]
    rate: u32,
    /// Objects in one page of a list request
    #[arg(long, value_name = "COUNT", default_value = "500", value_parser = clap::value_parser!(u32).range(1..))]
    chunk_size: u32,
    /// Answers of the authorizer: `allow`, `deny`, or `rbac:DIR` with roles and bindings
    #[arg(long, value_name = "ANSWERS")]
    authorizer: Option<String>,
    /// The operation to evaluate: an update that changes nothing, or the creation of the object
    #[arg(long, value_name = "OPERATION", default_value = "update")]
    operation: Evaluated,
    /// Exit with 0 also when an object would be denied
    #[arg(long)]
    exit_zero: bool,
    /// Output format
    #[arg(long, short, value_name = "FORMAT", default_value = "table")]
    output: Format,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Format {
    Table,
    Json,
    Sarif,
    Github,
    Junit,
    /// Objects of wgpolicyk8s.io/v1alpha2
    Policyreport,
    /// Objects of openreports.io/v1alpha1
    Openreports,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Evaluated {
    Update,
    Create,
}

/// An object that policies would change or deny, or judged without a change.
struct Scanned {
    /// File, or path on the server.
    place: String,
    line: usize,
    object: Object,
    verdicts: Vec<Verdict>,
    patch: Vec<Value>,
    error: Option<String>,
}

/// Judgement of one policy about an object.
struct Verdict {
    policy: String,
    /// `pass`, `fail`, `warn`, `skip` or `error`
    result: &'static str,
    message: String,
}

pub(crate) fn run(arguments: &Arguments, quiet: bool) -> Result<Exit, Failure> {
    let manifests = input::read(&arguments.filename)?;
    let workspace = input::workspace(&manifests, Unbound::Bound)?;
    if !quiet {
        for warning in workspace.warnings() {
            output::tell(&format!("warning: {warning}\n"));
        }
    }
    let authorizer = input::authorizer(arguments.authorizer.as_deref(), &workspace)?;
    let mut scan = Scan {
        workspace: &workspace,
        authorizer,
        user: User::new("admin", ["system:masters", "system:authenticated"]),
        operation: arguments.operation,
        seen: 0,
        unknown: 0,
        found: Vec::new(),
        keeps_all: matches!(arguments.output, Format::Policyreport | Format::Openreports),
        tells: !quiet,
    };
    if arguments.server {
        arguments.ask(&mut scan)?;
    } else {
        for manifest in input::read(&arguments.objects)? {
            let line = manifest.source.lines_before + 1;
            let place = manifest.path.display().to_string();
            if let Ok(object) = Object::from_value(manifest.value) {
                scan.see(place, line, object);
            }
        }
    }
    if scan.seen == 0 {
        return Err(Failure::bad_input("no object to scan"));
    }
    let denied = scan.found.iter().filter(|one| one.error.is_some()).count();
    output::data(&scan.render(arguments.output));
    Ok(if denied > 0 && !arguments.exit_zero {
        Exit::No
    } else {
        Exit::Yes
    })
}

impl Arguments {
    /// Scans all objects of the resources that policies name, page by page.
    fn ask(&self, scan: &mut Scan<'_>) -> Result<(), Failure> {
        let access = self.kubeconfig.access(None)?;
        let pause = Duration::from_secs(1) / self.rate;
        for path in scan.workspace.listed_paths() {
            let listed = access.each_page(&path.path, self.chunk_size, pause, |mut item| {
                // Items of lists have neither.
                item["apiVersion"] = path.api_version.as_str().into();
                item["kind"] = path.kind.as_str().into();
                if let Ok(object) = Object::from_value(item) {
                    scan.see(path.path.clone(), 1, object);
                }
            });
            match listed {
                // The server does not serve what this binary knows.
                Err(failure) if failure.message.contains(" answered 404: ") => {}
                other => other?,
            }
        }
        Ok(())
    }
}

struct Scan<'a> {
    workspace: &'a Workspace,
    authorizer: Authorizer,
    user: User,
    operation: Evaluated,
    seen: usize,
    /// Objects without a known schema.
    unknown: usize,
    found: Vec<Scanned>,
    /// Reports list objects without a finding, too.
    keeps_all: bool,
    tells: bool,
}

impl Scan<'_> {
    fn see(&mut self, place: String, line: usize, object: Object) {
        if ApiKind::of(&object).is_some() || object.kind() == "CustomResourceDefinition" {
            return;
        }
        self.seen += 1;
        if self.tells && self.seen.is_multiple_of(PROGRESS) && std::io::stderr().is_terminal() {
            output::tell(&format!("\r{} objects", self.seen));
        }
        let operation = match self.operation {
            Evaluated::Update => Operation::Update,
            Evaluated::Create => Operation::Create,
        };
        let reviewed = self.workspace.review(&Review {
            operation: Some(operation),
            object: Some(&object),
            old: (operation == Operation::Update).then_some(&object),
            subresource: "",
            user: &self.user,
            authorizer: Arc::clone(&self.authorizer),
            is_dry_run: true,
            tracing: Tracing::On,
        });
        let Ok(reviewed) = reviewed else {
            self.unknown += 1;
            return;
        };
        let patch = match (&reviewed.before, &reviewed.object) {
            (Some(before), Some(after)) => json_patch(before.as_value(), after.as_value()),
            _ => Vec::new(),
        };
        let is_of_policies =
            reviewed.mutating.error.is_some() || reviewed.validating.error.is_some();
        let error = reviewed.error.as_ref().filter(|_| is_of_policies);
        let patch = mask::patch(&object, &patch);
        let verdicts = verdicts(&reviewed, &object);
        let is_found = error.is_some()
            || !patch.is_empty()
            || verdicts.iter().any(|verdict| verdict.result == "warn");
        if is_found || self.keeps_all && !verdicts.is_empty() {
            self.found.push(Scanned {
                place,
                line,
                error: error.map(ToString::to_string),
                object,
                verdicts,
                patch,
            });
        }
    }

    fn counts(&self) -> (usize, usize) {
        let denied = self.found.iter().filter(|one| one.error.is_some()).count();
        let mutated = self
            .found
            .iter()
            .filter(|one| one.error.is_none() && !one.patch.is_empty());
        (denied, mutated.count())
    }

    fn render(&self, format: Format) -> String {
        let report = || self.report();
        match format {
            Format::Table => self.as_table(),
            Format::Json => output::Format::Json.render(&self.as_document()),
            Format::Sarif => report().render(findings::Format::Sarif),
            Format::Github => report().render(findings::Format::Github),
            Format::Junit => report().render(findings::Format::Junit),
            Format::Policyreport => self.reports("wgpolicyk8s.io/v1alpha2", "PolicyReport"),
            Format::Openreports => self.reports("openreports.io/v1alpha1", "Report"),
        }
    }

    fn total(&self) -> String {
        let (denied, mutated) = self.counts();
        let seen = output::counted(self.seen, "object");
        let unknown = match self.unknown {
            0 => String::new(),
            unknown => format!(", {unknown} of unknown kinds"),
        };
        format!("{seen}: {denied} would be denied, {mutated} would be mutated{unknown}")
    }

    fn as_table(&self) -> String {
        let rows = self.found.iter().map(|one| {
            let outcome = match &one.error {
                Some(_) => "denied",
                None if one.patch.is_empty() => "warned",
                None => "mutated",
            };
            let detail = match &one.error {
                Some(error) => error.clone(),
                None if one.patch.is_empty() => {
                    let warned = one.verdicts.iter().find(|verdict| verdict.result == "warn");
                    warned
                        .map(|verdict| verdict.message.clone())
                        .unwrap_or_default()
                }
                None => Value::from(one.patch.clone()).to_string(),
            };
            vec![
                one.object.namespace().to_owned(),
                format!("{}/{}", shown_kind(&one.object), one.object.name()),
                outcome.to_owned(),
                detail.replace('\n', " "),
            ]
        });
        let rows: Vec<Vec<String>> = rows.collect();
        let mut text = if rows.is_empty() {
            String::new()
        } else {
            output::table(&["NAMESPACE", "OBJECT", "OUTCOME", "DETAIL"], rows)
        };
        text.push_str(&self.total());
        text.push('\n');
        text
    }

    fn as_document(&self) -> Value {
        let items = self.found.iter().map(|one| {
            let verdicts = one.verdicts.iter().map(|verdict| {
                json!({ "policy": verdict.policy, "result": verdict.result, "message": verdict.message })
            });
            json!({
                "place": one.place,
                "object": reference(&one.object),
                "denied": one.error,
                "patch": one.patch,
                "policies": verdicts.collect::<Vec<_>>(),
            })
        });
        let items: Vec<Value> = items.collect();
        let (denied, mutated) = self.counts();
        let summary = json!({
            "objects": self.seen, "denied": denied, "mutated": mutated, "unknown": self.unknown,
        });
        output::document("PolicyScan", json!({ "items": items, "summary": summary }))
    }

    fn report(&self) -> Report {
        let mut findings = Vec::new();
        for one in &self.found {
            for verdict in &one.verdicts {
                let severity = match verdict.result {
                    "fail" | "error" => "error",
                    "warn" => "warning",
                    _ => continue,
                };
                findings.push(Finding {
                    rule: verdict.policy.clone(),
                    severity,
                    path: one.place.clone(),
                    line: one.line,
                    column: 1,
                    subject: format!("{}/{}", shown_kind(&one.object), one.object.name()),
                    message: verdict.message.clone(),
                });
            }
        }
        let policies: BTreeSet<&str> = findings
            .iter()
            .map(|finding| finding.rule.as_str())
            .collect();
        let rules = policies.into_iter().map(|policy| Rule {
            id: policy.to_owned(),
            title: format!("admission policy {policy}"),
            help: format!("kubectl describe the policy {policy}"),
        });
        Report {
            kind: "PolicyScan",
            suite: "policy scan",
            rules: rules.collect(),
            findings,
            summary: Value::Null,
            total: self.total(),
        }
    }

    /// A report for each namespace, and a cluster report for objects without one.
    fn reports(&self, api_version: &str, kind: &str) -> String {
        let now = Timestamp::now();
        let mut by_namespace: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
        for one in &self.found {
            for verdict in &one.verdicts {
                let result = json!({
                    "source": "lockstep",
                    "policy": verdict.policy,
                    "result": verdict.result,
                    "message": verdict.message,
                    "scored": true,
                    "resources": [reference(&one.object)],
                    "timestamp": { "seconds": now.as_second(), "nanos": 0 },
                });
                by_namespace
                    .entry(one.object.namespace())
                    .or_default()
                    .push(result);
            }
        }
        let texts = by_namespace.into_iter().map(|(namespace, results)| {
            let count = |wanted: &str| results.iter().filter(|one| one["result"] == wanted).count();
            let mut report = json!({
                "apiVersion": api_version,
                "kind": if namespace.is_empty() { format!("Cluster{kind}") } else { kind.to_owned() },
                "metadata": {
                    "name": "lockstep-policies",
                    "labels": { "app.kubernetes.io/managed-by": "lockstep" },
                },
                "summary": {
                    "pass": count("pass"), "fail": count("fail"), "warn": count("warn"),
                    "error": count("error"), "skip": count("skip"),
                },
                "results": results,
            });
            if !namespace.is_empty() {
                report["metadata"]["namespace"] = namespace.into();
            }
            document::to_yaml(&report)
        });
        texts.collect::<Vec<_>>().join("---\n")
    }
}

fn reference(object: &Object) -> Value {
    let mut reference = json!({
        "apiVersion": object.api_version(), "kind": object.kind(), "name": object.name(),
    });
    for (field, text) in [("namespace", object.namespace()), ("uid", object.uid())] {
        if !text.is_empty() {
            reference[field] = text.into();
        }
    }
    reference
}

/// One verdict for each policy that ran, the worst of its mutations and validations.
fn verdicts(reviewed: &Reviewed, object: &Object) -> Vec<Verdict> {
    const ORDER: [&str; 5] = ["skip", "pass", "warn", "error", "fail"];
    let rank = |result: &str| ORDER.iter().position(|known| *known == result);
    let mut verdicts: Vec<Verdict> = Vec::new();
    let is_denied = reviewed.validating.error.is_some();
    for trace in reviewed
        .mutating
        .trace
        .iter()
        .chain(&reviewed.validating.trace)
    {
        let (result, message) = match &trace.event {
            Event::Mutated(mutated) => match &mutated.error {
                Some(error) => ("error", error.clone()),
                None if mutated.patch.is_empty() => ("pass", String::new()),
                None => (
                    "warn",
                    format!(
                        "would change {}",
                        Value::from(mask::patch(object, &mutated.patch))
                    ),
                ),
            },
            Event::Validated(validated) => match &validated.failure {
                None => ("pass", String::new()),
                Some(error) if validated.is_error => ("error", error.clone()),
                Some(message) if is_denied => ("fail", message.clone()),
                Some(message) => ("warn", message.clone()),
            },
            Event::Unconfigured(error) | Event::ConditionError(error) => ("error", error.clone()),
            Event::Skipped(_) => ("skip", String::new()),
            Event::NotMatched(_) | Event::NotBound(_) | Event::NoParams => continue,
        };
        let known = verdicts
            .iter_mut()
            .find(|verdict| *verdict.policy == *trace.policy);
        match known {
            Some(known) if rank(known.result) >= rank(result) => {}
            Some(known) => {
                known.result = result;
                known.message = message;
            }
            None => verdicts.push(Verdict {
                policy: trace.policy.to_string(),
                result,
                message,
            }),
        }
    }
    verdicts
}
