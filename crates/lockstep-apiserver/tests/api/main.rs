//! Tests of the API without connections. Most are conversations, as scripts: requests, and the answers they get.
//!
//! ```text
//! > POST /api/v1/namespaces {"metadata":{"name":"a"}}     a request and its body
//! < 201 {"apiVersion":"v1", …}                            its answer, whole
//! @ Accept: application/yaml                              a header of the next request
//! ! 299 text                                              a warning of the answer
//! > w: GET /api/v1/namespaces?watch=true                  a watch with a name
//! ~ w                                                     reads the events of a watch that are there
//! {"type":"ADDED", …}                                     an event
//! ~ w 60                                                  reads events for so many seconds
//! = made                                                  names the resourceVersion of the last answer
//! % compact <made>                                        compacts the store at a revision
//! ```
//!
//! Long lines are broken ([`layout`]), and values that depend on the steps before have names ([`masks`]), so
//! that a new step changes nothing but itself. `LOCKSTEP_UPDATE=1` writes the answers into the scripts; read the
//! diff like code.

mod conversation;
mod in_process;
mod layout;
mod masks;
mod race;
mod reads;

use std::path::{Path, PathBuf};

use conversation::Conversation;
use masks::Masks;

/// One test for each file of `scripts`.
macro_rules! scripts {
    ($($name:ident: $file:literal,)*) => {
        $(#[test]
        fn $name() {
            check($file);
        })*

        #[test]
        fn every_script_is_run() {
            let entries = std::fs::read_dir(folder()).expect("the scripts are there");
            let mut found: Vec<String> = entries
                .map(|entry| entry.expect("the scripts are there").file_name())
                .map(|name| name.into_string().expect("a name is text"))
                .collect();
            found.sort();
            let mut run = vec![$(format!("{}.txt", $file)),*];
            run.sort();
            assert_eq!(found, run);
        }
    };
}

scripts! {
    apply: "apply",
    bad_yaml: "bad-yaml",
    certificates: "certificates",
    changed_definitions: "changed-definitions",
    components: "components",
    custom: "custom",
    definitions: "definitions",
    deletions: "deletions",
    endings: "endings",
    events: "events",
    events_k8s_io: "events-k8s-io",
    expressions: "expressions",
    fields: "fields",
    generated_names: "generated-names",
    hour: "hour",
    hour_builtin: "hour-builtin",
    kinds: "kinds",
    limits: "limits",
    lists: "lists",
    metadata: "metadata",
    objects: "objects",
    owners: "owners",
    parts: "parts",
    patches: "patches",
    pods: "pods",
    policed: "policed",
    policies: "policies",
    puts: "puts",
    quotas: "quotas",
    rbac: "rbac",
    reads: "reads",
    refusals: "refusals",
    scale: "scale",
    secret_types: "secret-types",
    services: "services",
    states: "states",
    tables: "tables",
    types: "types",
    versions: "versions",
    views: "views",
    watches: "watches",
    workloads: "workloads",
    zero_values: "zero-values",
}

/// §10, whole: the files hold the managedFields that upstream leaves after these writes.
#[test]
fn managed_fields_of_an_hour_are_those_that_upstream_leaves() {
    for name in ["hour", "hour-builtin"] {
        let file = folder().join(format!("../{name}-managed-fields.json"));
        let expected = std::fs::read_to_string(file).expect("it is there");
        let (_, answers) = speak(&read(name));
        let answers = answers.join("\n");
        let (_, shown) = answers
            .rsplit_once("\"managedFields\":")
            .expect("the object is tracked");
        let actual = shown.get(..expected.trim_end().len());
        assert_eq!(actual, Some(expected.trim_end()), "{name}");
    }
}

/// Neither resource versions nor UIDs, generated names or times of a script depend on an unrelated step.
#[test]
fn a_new_step_changes_no_other() {
    let new = "> POST /apis/scheduling.k8s.io/v1/priorityclasses {\"metadata\":{\"name\":\"new\"},\"value\":7}\n";
    for name in [
        "generated-names",
        "lists",
        "deletions",
        "reads",
        "services",
        "watches",
        "hour",
    ] {
        let script = read(name);
        let (spoken, answers) = speak(&format!("{new}{script}"));
        assert!(answers[0].starts_with("< 201 "), "{}", answers[0]);
        assert!(spoken.ends_with(&format!("\n{script}")), "{name}");
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/api/scripts")
}

fn read(name: &str) -> String {
    let script = std::fs::read_to_string(folder().join(format!("{name}.txt")));
    script.expect("a script can be read")
}

fn check(name: &str) {
    let script = read(name);
    let (spoken, _) = speak(&script);
    if std::env::var_os("LOCKSTEP_UPDATE").is_some() {
        let path = folder().join(format!("{name}.txt"));
        std::fs::write(path, &spoken).expect("a script can be written");
        return;
    }
    let mut lines = spoken.lines().zip(script.lines());
    if let Some((actual, expected)) = lines.find(|(actual, expected)| actual != expected) {
        panic!("{name}.txt\n  expected {expected}\n  actual   {actual}\n");
    }
    assert_eq!(spoken, script, "{name}.txt");
    let wide = script.lines().find(|line| line.chars().count() > 160);
    assert_eq!(
        wide, None,
        "{name}.txt has a line of more than 160 characters"
    );
}

/// The steps of a script: lines that are no answers, each joined with its continuation lines.
fn steps(script: &str) -> Vec<String> {
    let mut lines = script.lines().peekable();
    let mut steps = Vec::new();
    while let Some(first) = lines.next() {
        let more = std::iter::from_fn(|| lines.next_if(|line| line.starts_with(' ')));
        let step = layout::joined(first, more);
        let is_answer = ["< ", "! ", "{"]
            .iter()
            .any(|start| step.starts_with(start));
        if !is_answer {
            steps.push(step);
        }
    }
    steps
}

/// Runs a script. Returns it with the answers it got, and the answers without masks.
fn speak(script: &str) -> (String, Vec<String>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime can be made");
    runtime.block_on(async {
        let mut conversation = Conversation::begin().await;
        let mut masks = Masks::default();
        let (mut spoken, mut answers) = (Vec::new(), Vec::new());
        for step in steps(script) {
            let (kind, text) = step.split_at_checked(2).unwrap_or(("", &step));
            conversation.begin_step(&step);
            let sent = masks.unmasked(text, conversation.moment().await);
            let answer = match kind {
                "> " => conversation.ask(&sent).await,
                "~ " => conversation.listen(&sent).await,
                _ => Vec::new(),
            };
            match kind {
                "@ " => conversation.header(&sent),
                "% " => conversation.command(&sent).await,
                "= " => masks.name(text),
                _ => {}
            }
            match kind {
                "# " => spoken.push(step.clone()),
                _ => {
                    let (start, body) = request_parts(&step);
                    spoken.push(layout::broken(start, body));
                }
            }
            let moment = conversation.moment().await;
            for (start, text) in answer {
                spoken.push(layout::broken(&start, &masks.masked(&text, moment)));
                answers.push(start + &text);
            }
        }
        (spoken.join("\n") + "\n", answers)
    })
}

/// The line of a request, and its body.
fn request_parts(step: &str) -> (&str, &str) {
    let body = step.find(" {").or_else(|| step.find(" ["));
    match body {
        Some(at) if step.starts_with("> ") => step.split_at(at + 1),
        _ => (step, ""),
    }
}
