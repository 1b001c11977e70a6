//! `lockstep policy eval`.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::ValueEnum;
use lockstep_admission::mutate::Tracing;
use lockstep_admission::request::Operation;
use lockstep_authz::{Authorizer, User};
use lockstep_object::{Object, Status};
use lockstep_write::offline::policies::{Review, Unbound, Workspace, shown_kind};
use serde_json::{Value, json};

use super::report::{Evaluated, Line, written};
use super::{input, mask};
use crate::{
    document,
    failure::{Exit, Failure},
    manifests::Manifest,
    output,
};

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  lockstep policy eval -f policies/ deploy.yaml\n  helm template . | lockstep policy eval -f policies/ - -o yaml\n  lockstep policy eval -f policy.yaml --old-object stored.yaml wanted.yaml --user alice --groups dev\n\nPolicies, bindings, definitions, parameters and namespaces may stand in any file. Without bindings, policies are\nbound to everything they match. Exits with 1 if a policy denies an object, and with 2 if a policy is not valid."
)]
pub(crate) struct Arguments {
    /// Objects to evaluate: files, directories, `-` for standard input
    #[arg(value_name = "OBJECT")]
    objects: Vec<PathBuf>,
    /// Files or directories with policies and bindings; may be repeated
    #[arg(long, short, value_name = "FILE", required = true)]
    filename: Vec<PathBuf>,
    /// Files or directories with custom resource definitions; may be repeated
    #[arg(long, value_name = "FILE")]
    crds: Vec<PathBuf>,
    /// Files or directories with parameters; may be repeated
    #[arg(long, value_name = "FILE")]
    params: Vec<PathBuf>,
    /// The file with the namespace of the objects; without it, one is made
    #[arg(long, value_name = "FILE")]
    namespace_object: Option<PathBuf>,
    /// The operation, if it is neither a create nor an update of the old object
    #[arg(long, value_name = "OPERATION", ignore_case = true)]
    operation: Option<OperationName>,
    /// The file with the object as it is stored
    #[arg(long, value_name = "FILE")]
    old_object: Option<PathBuf>,
    /// The subresource that is written to
    #[arg(long, value_name = "NAME", default_value = "")]
    subresource: String,
    /// The request is a dry run
    #[arg(long)]
    dry_run_request: bool,
    /// User of the request
    #[arg(long, value_name = "NAME", default_value = "admin")]
    user: String,
    /// Groups of the user, separated by commas; may be repeated
    #[arg(long, value_name = "GROUP", value_delimiter = ',')]
    groups: Vec<String>,
    /// Answers of the authorizer: `allow`, `deny`, or `rbac:DIR` with roles and bindings
    #[arg(long, value_name = "ANSWERS")]
    authorizer: Option<String>,
    /// A file with an AdmissionReview, which names object, operation and user
    #[arg(long, value_name = "FILE", conflicts_with_all = ["objects", "old_object", "operation"])]
    review: Option<PathBuf>,
    /// Exit with 0 also when an object is denied
    #[arg(long)]
    exit_zero: bool,
    /// Output format
    #[arg(long, short, value_name = "FORMAT", default_value = "table")]
    output: Format,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Format {
    Table,
    Yaml,
    Json,
    Patch,
    Diff,
    Trace,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum OperationName {
    Create,
    Update,
    Delete,
    Connect,
}

impl OperationName {
    fn operation(self) -> Operation {
        match self {
            Self::Create => Operation::Create,
            Self::Update => Operation::Update,
            Self::Delete => Operation::Delete,
            Self::Connect => Operation::Connect,
        }
    }
}

/// One object to evaluate, with the request around it.
struct Subject {
    file: String,
    object: Option<Object>,
    old: Option<Object>,
    operation: Option<Operation>,
    subresource: String,
    user: User,
    is_dry_run: bool,
    /// The document of the object, and what stands in it.
    written: Option<(Arc<str>, Value)>,
}

pub(crate) fn run(arguments: &Arguments, quiet: bool) -> Result<Exit, Failure> {
    let mut manifests = input::read(&arguments.filename)?;
    manifests.extend(input::read(&arguments.crds)?);
    manifests.extend(input::read(&arguments.params)?);
    manifests.extend(input::read(arguments.namespace_object.as_slice())?);
    let workspace = input::workspace(&manifests, Unbound::Bound)?;
    if !quiet {
        for warning in workspace.warnings() {
            output::tell(&format!("warning: {warning}\n"));
        }
    }
    let set = workspace.policies();
    if set.mutating().is_empty() && set.validating().is_empty() {
        return Err(Failure::bad_input(
            "the files have no policy with a binding",
        ));
    }
    let authorizer = input::authorizer(arguments.authorizer.as_deref(), &workspace)?;
    let subjects = arguments.subjects()?;
    if subjects.is_empty() {
        return Err(Failure::bad_input("no object to evaluate")
            .with_help("name a file with objects, or `-` for standard input"));
    }
    let evaluated = subjects
        .iter()
        .map(|subject| evaluate(subject, &workspace, &authorizer));
    let evaluated: Vec<Evaluated> = evaluated.collect::<Result<_, _>>()?;
    arguments.print(&evaluated, &workspace, quiet);
    let is_denied = evaluated.iter().any(Evaluated::is_denied);
    Ok(if is_denied && !arguments.exit_zero {
        Exit::No
    } else {
        Exit::Yes
    })
}

fn evaluate(
    subject: &Subject,
    workspace: &Workspace,
    authorizer: &Authorizer,
) -> Result<Evaluated, Failure> {
    let review = Review {
        operation: subject.operation,
        object: subject.object.as_ref(),
        old: subject.old.as_ref(),
        subresource: &subject.subresource,
        user: &subject.user,
        authorizer: Arc::clone(authorizer),
        is_dry_run: subject.is_dry_run,
        tracing: Tracing::On,
    };
    let wrong =
        |error: &dyn std::fmt::Display| Failure::bad_input(format!("{}: {error}", subject.file));
    let reviewed = workspace.review(&review).map_err(|error| wrong(&error))?;
    let shown = subject.object.as_ref().or(subject.old.as_ref());
    let shown = shown.ok_or_else(|| wrong(&"no object in it"))?;
    let operation = match (subject.operation, &subject.old) {
        (Some(operation), _) => operation.as_str(),
        (None, Some(_)) => "UPDATE",
        (None, None) => "CREATE",
    };
    let name = match shown.name() {
        "" => format!("{}*", shown.generate_name()),
        name => name.to_owned(),
    };
    Ok(Evaluated {
        subject: format!("{}/{name}", shown_kind(shown)),
        file: subject.file.clone(),
        operation,
        user: subject.user.name.clone(),
        reviewed,
        written: subject.written.clone(),
    })
}

impl Arguments {
    fn user(&self) -> User {
        if self.user == "admin" && self.groups.is_empty() {
            return User::new("admin", ["system:masters", "system:authenticated"]);
        }
        User::new(&self.user, self.groups.iter().map(String::as_str))
    }

    fn subjects(&self) -> Result<Vec<Subject>, Failure> {
        if let Some(path) = &self.review {
            return subject_of_review(path).map(|subject| vec![subject]);
        }
        let old = match &self.old_object {
            Some(path) => {
                let manifests = input::read(std::slice::from_ref(path))?;
                input::objects(&manifests)?.into_iter().next()
            }
            None => None,
        };
        let operation = self.operation.map(OperationName::operation);
        let subject = |file: String, object: Option<Object>| Subject {
            file,
            object,
            old: old.clone(),
            operation,
            subresource: self.subresource.clone(),
            user: self.user(),
            is_dry_run: self.dry_run_request,
            written: None,
        };
        if operation == Some(Operation::Delete) {
            let path = self.old_object.as_ref().or(self.objects.first());
            let path = path.ok_or_else(|| Failure::bad_input("no object to delete"))?;
            let manifests = input::read(std::slice::from_ref(path))?;
            let objects = input::objects(&manifests)?.into_iter();
            let file = path.display().to_string();
            return Ok(objects
                .map(|object| Subject {
                    old: Some(object),
                    ..subject(file.clone(), None)
                })
                .collect());
        }
        let manifests = input::read(&self.objects)?;
        let objects = input::objects(&manifests)?;
        let pairs = manifests.iter().zip(objects);
        let file = |manifest: &Manifest| match &*manifest.path {
            path if path == Path::new("-") => "standard input".to_owned(),
            path => path.display().to_string(),
        };
        Ok(pairs
            .map(|(manifest, object)| Subject {
                // An item of a list has no document of its own.
                written: (manifest.source.item.is_none())
                    .then(|| (Arc::clone(&manifest.source.text), manifest.value.clone())),
                ..subject(file(manifest), Some(object))
            })
            .collect())
    }

    fn print(&self, evaluated: &[Evaluated], workspace: &Workspace, quiet: bool) {
        match self.output {
            Format::Table => output::data(&table(evaluated, workspace)),
            Format::Json => {
                let results: Vec<Value> = evaluated
                    .iter()
                    .map(|one| one.as_value(workspace))
                    .collect();
                let document = output::document("PolicyEvaluation", json!({ "results": results }));
                output::data(&output::Format::Json.render(&document));
            }
            Format::Yaml => {
                let objects = evaluated.iter().filter(|one| !one.is_denied());
                let objects = objects.filter_map(|one| one.reviewed.object.as_ref());
                let texts: Vec<String> = objects
                    .map(|object| document::to_yaml(object.as_value()))
                    .collect();
                output::data(&texts.join("---\n"));
            }
            Format::Patch => {
                for one in evaluated {
                    output::data(&output::Format::Json.render(&one.patch().into()));
                }
            }
            Format::Diff => evaluated.iter().for_each(|one| output::data(&one.diff())),
            Format::Trace => evaluated
                .iter()
                .for_each(|one| output::data(&trace(one, workspace))),
        }
        if matches!(self.output, Format::Table | Format::Json) {
            return;
        }
        for one in evaluated {
            if let Some(error) = &one.reviewed.error {
                let text = match self.output {
                    Format::Yaml => document::to_yaml(&Status::from(error).to_value()),
                    _ => format!("error: {}: {error}\n", one.subject),
                };
                output::tell(&text);
            }
            for warning in one.reviewed.warnings().filter(|_| !quiet) {
                output::tell(&format!("Warning: {warning}\n"));
            }
        }
    }
}

/// The request of an `AdmissionReview`.
fn subject_of_review(path: &Path) -> Result<Subject, Failure> {
    let wrong = |what: &str| Failure::bad_input(format!("{}: {what}", path.display()));
    let review = document::read(path)?;
    let request = &review["request"];
    if review["kind"] != "AdmissionReview" || !request.is_object() {
        return Err(wrong("it is no AdmissionReview with a request"));
    }
    let object = |field: &str| match &request[field] {
        Value::Null => Ok(None),
        value => Object::from_value(value.clone())
            .map(Some)
            .map_err(|_| wrong(&format!("request.{field} is not an object"))),
    };
    let text = |field: &str| request[field].as_str().unwrap_or_default();
    let info = &request["userInfo"];
    let groups = info["groups"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str);
    Ok(Subject {
        file: path.display().to_string(),
        object: object("object")?,
        old: object("oldObject")?,
        operation: Some(match text("operation") {
            "CREATE" => Operation::Create,
            "UPDATE" => Operation::Update,
            "DELETE" => Operation::Delete,
            "CONNECT" => Operation::Connect,
            _ => return Err(wrong("request.operation is unknown")),
        }),
        subresource: text("subResource").to_owned(),
        user: User::new(info["username"].as_str().unwrap_or_default(), groups),
        is_dry_run: request["dryRun"] == true,
        written: None,
    })
}

/// A block for each object, and a line for all.
fn table(evaluated: &[Evaluated], workspace: &Workspace) -> String {
    let mut text = String::new();
    for one in evaluated {
        text.push_str(&format!(
            "{}  {}  as {}\n",
            one.subject, one.operation, one.user
        ));
        text.push_str(&lines(&one.lines(workspace)));
        for warning in one.reviewed.warnings() {
            text.push_str(&format!("  ! {warning}\n"));
        }
        if let Some(error) = &one.reviewed.error {
            text.push_str(&format!("  refused: {error}\n"));
        }
        let diff = one.diff();
        if !diff.is_empty() && std::io::stdout().is_terminal() {
            for line in diff.lines() {
                text.push_str(&format!("  {line}\n"));
            }
        }
        text.push('\n');
    }
    let denied = evaluated.iter().filter(|one| one.is_denied()).count();
    let count = |outcome: &str| {
        let all = evaluated.iter().flat_map(|one| one.lines(workspace));
        all.filter(|line| line.outcome == outcome).count()
    };
    text.push_str(&format!(
        "{}: {denied} denied, {}, {} skipped\n",
        output::counted(evaluated.len(), "object"),
        output::counted(count("mutated"), "mutation"),
        count("skipped")
    ));
    text
}

fn lines(lines: &[Line]) -> String {
    let width = lines
        .iter()
        .map(|line| line.policy.chars().count())
        .max()
        .unwrap_or_default();
    let rows = lines.iter().map(|line| {
        let Line {
            policy,
            sign,
            outcome,
            detail,
        } = line;
        let detail = detail.replace('\n', " ");
        format!("  {policy:width$}  {sign} {outcome:9}  {detail}\n")
    });
    rows.collect()
}

/// Everything that happened to an object, as a tree.
fn trace(one: &Evaluated, workspace: &Workspace) -> String {
    let mut text = format!("{}  {}  as {}\n", one.subject, one.operation, one.user);
    for (trace, line) in one.traces().zip(one.lines(workspace)) {
        let mut place = format!("{}  pass {}", trace.policy, trace.pass);
        if !trace.binding.is_empty() {
            place.push_str(&format!("  binding {}", trace.binding));
        }
        if !trace.param.is_empty() {
            place.push_str(&format!("  param {}", trace.param));
        }
        text.push_str(&format!(
            "  {place}\n    {} {}  {}\n",
            line.sign, line.outcome, line.detail
        ));
        if let lockstep_admission::trace::Event::Mutated(mutated) = &trace.event {
            let object = one.reviewed.before.as_ref();
            let patch = object.map(|object| mask::patch(object, &mutated.patch));
            for operation in patch.iter().flatten() {
                text.push_str(&format!("      {operation}\n"));
            }
        }
    }
    for line in one.lines(workspace).iter().skip(one.traces().count()) {
        text.push_str(&format!(
            "  {}\n    {} {}  {}\n",
            line.policy, line.sign, line.outcome, line.detail
        ));
    }
    text.push_str(&format!(
        "  changed: {}\n",
        output::or_none(written(one).join(", "))
    ));
    let verdict = match &one.reviewed.error {
        Some(error) => format!("refused: {error}"),
        None => "allowed".to_owned(),
    };
    text.push_str(&format!("  {verdict}\n"));
    text
}
