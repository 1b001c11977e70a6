//! Conversations with the API, as scripts: what a client sends, and what comes back.
//!
//! ```text
//! > POST /api/v1/namespaces {"metadata":{"name":"a"}}     a request and its body
//! < 201 {"apiVersion":"v1", …}                            its answer, whole
//! @ Accept: application/yaml                              a header of the next request
//! ! 299 text                                              a warning of the answer
//! > w: GET /api/v1/namespaces?watch=true                  a watch with a name
//! ~ w                                                     what it has to say, until it waits
//! {"type":"ADDED", …}                                     an event
//! ~ w 60                                                  the same, after so many seconds
//! % compact 8                                             the store forgets what was before
//! ```
//!
//! Time stands still and numbers that nobody had before are counted, so answers are the same in
//! every run. `LOCKSTEP_UPDATE=1` writes the answers into the scripts; read the diff like code.

mod conversation;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use conversation::Conversation;

#[test]
fn the_api_answers_as_the_scripts_say() {
    let mut failures = String::new();
    for path in scripts() {
        let script = std::fs::read_to_string(&path).expect("a script can be read");
        let spoken = speak(&script);
        if spoken == script {
            continue;
        }
        if std::env::var_os("LOCKSTEP_UPDATE").is_some() {
            std::fs::write(&path, &spoken).expect("a script can be written");
            continue;
        }
        writeln!(failures, "{}", path.display()).expect("text can be written");
        for (said, expected) in spoken.lines().zip(script.lines()) {
            if said != expected {
                writeln!(failures, "  expected {expected}\n  actual   {said}\n")
                    .expect("text can be written");
                break;
            }
        }
    }
    assert!(failures.is_empty(), "{failures}");
}

/// §10, whole: the files have what upstream leaves of the same writes.
#[test]
fn managed_fields_of_an_hour_are_those_that_upstream_leaves() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/api");
    for name in ["hour", "hour-builtin"] {
        let read = |file: String| std::fs::read_to_string(folder.join(file)).expect("it is there");
        let script = read(format!("scripts/{name}.txt"));
        let expected = read(format!("{name}-managed-fields.json"));
        let spoken = speak(&script);
        let (_, shown) = spoken
            .rsplit_once("\"managedFields\":")
            .expect("the object is tracked");
        let actual = shown.get(..expected.trim_end().len());
        assert_eq!(actual, Some(expected.trim_end()), "{name}");
    }
}

fn scripts() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/api/scripts");
    let entries = std::fs::read_dir(folder).expect("the scripts are there");
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.expect("the scripts are there").path())
        .collect();
    paths.sort();
    assert!(!paths.is_empty(), "there are scripts");
    paths
}

/// Runs a script, and writes down what was said instead of what was expected.
fn speak(script: &str) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime can be made");
    runtime.block_on(async {
        let mut conversation = Conversation::begin().await;
        let mut spoken = String::new();
        for line in script.lines() {
            let answer = match line.split_at_checked(2) {
                Some(("> ", request)) => conversation.ask(request).await,
                Some(("~ ", watch)) => conversation.listen(watch).await,
                Some(("@ ", header)) => conversation.header(header),
                Some(("% ", command)) => conversation.command(command).await,
                Some(("< " | "! ", _)) => continue,
                _ if line.starts_with('{') => continue,
                _ => String::new(),
            };
            writeln!(spoken, "{line}\n{answer}").expect("text can be written");
            spoken.truncate(spoken.trim_end().len() + 1);
            if line.is_empty() {
                spoken.push('\n');
            }
        }
        spoken
    })
}
