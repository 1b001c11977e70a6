//! Tutorials (field-gates.md §14/tutorials) and other transcripts, command by command: each command is followed by
//! its expected output.
//!
//! `LOCKSTEP_UPDATE=1` rewrites the expected output; read the difference before you commit it.

use std::path::Path;

use crate::server::{Server, server_with};

/// One command of a tutorial, and what it prints.
struct Step {
    command: Vec<String>,
    printed: Vec<String>,
}

/// The steps in the blocks that are called `console`.
fn steps(text: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut is_inside = false;
    for line in text.lines() {
        if line.starts_with("```") {
            is_inside = line == "```console";
        } else if let (true, Some(command)) = (is_inside, line.strip_prefix("$ ")) {
            steps.push(Step {
                command: words(command),
                printed: Vec::new(),
            });
        } else if is_inside {
            let step = steps.last_mut().expect("a block begins with a command");
            step.printed.push(line.to_owned());
        }
    }
    steps
}

/// The words of a command; what stands in quotes is one.
fn words(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (at, part) in command.split('\'').enumerate() {
        if at % 2 == 1 {
            words.push(part.to_owned());
        } else {
            words.extend(part.split_whitespace().map(str::to_owned));
        }
    }
    words
}

/// Lines without blank ones and without blanks at their ends.
fn tidy<'l>(lines: impl Iterator<Item = &'l str>) -> Vec<String> {
    let lines = lines.map(str::trim_end).filter(|line| !line.is_empty());
    lines.map(str::to_owned).collect()
}

/// Output of a tutorial's command, run in a directory.
fn said(server: &Server, folder: &Path, command: &[String]) -> String {
    let (program, arguments) = command.split_first().unwrap();
    match program.as_str() {
        "kubectl" => server.in_folder(folder, arguments),
        "lockstep" => server.lockstep_in(folder, arguments),
        other => panic!("{other} is not run here"),
    }
}

/// Runs the transcript in a file of the repository, on a server with gates of fields.
pub(crate) fn run(path: &str) {
    run_all(&[path]);
}

/// Runs transcripts one after the other on one server.
fn run_all(paths: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let gates = ["--feature-gates", "CRDFieldLevelVersioning=true"];
    let Some(server) = server_with(folder.path(), &gates) else {
        return;
    };
    if !server.can("what the transcripts print", 27) {
        return;
    }
    for path in paths {
        run_on(&server, path);
    }
}

fn run_on(server: &Server, path: &str) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = std::fs::read_to_string(root.join(path)).unwrap();
    if std::env::var_os("LOCKSTEP_UPDATE").is_some() {
        let updated = updated(&text, |command| said(server, &root, &words(command)));
        std::fs::write(root.join(path), updated).unwrap();
        return;
    }
    let steps = steps(&text);
    assert!(steps.len() > 5, "{path} has {} steps", steps.len());
    for step in steps {
        let said = said(server, &root, &step.command);
        let printed = tidy(step.printed.iter().map(String::as_str));
        assert_eq!(tidy(said.lines()), printed, "{path}: {:?}", step.command);
    }
}

/// A transcript with what commands print now.
fn updated(text: &str, said: impl Fn(&str) -> String) -> String {
    let (mut updated, mut is_inside) = (String::new(), false);
    for line in text.lines() {
        if line.starts_with("```") {
            is_inside = line == "```console";
        }
        let command = line.strip_prefix("$ ").filter(|_| is_inside);
        if !is_inside || line.starts_with("```") || command.is_some() {
            updated.push_str(&format!("{line}\n"));
        }
        if let Some(command) = command {
            let said = said(command);
            let lines = said.trim_end().lines();
            updated.extend(lines.map(|line| format!("{}\n", line.trim_end())));
        }
    }
    updated
}

/// Each tutorial behind each other one, and behind itself.
#[test]
fn tutorials_work_in_any_order_on_one_server() {
    let [stable, away, accident, mutation] = [
        "docs/tutorials/a-field-from-alpha-to-stable.md",
        "docs/tutorials/a-field-goes-away.md",
        "docs/tutorials/the-accident-of-two-bundles.md",
        "docs/tutorials/first-mutation-in-a-server.md",
    ];
    run_all(&[
        mutation, stable, away, accident, away, stable, accident, accident, stable, mutation,
    ]);
}

/// Every file beside the tutorials and guides is used by one of them.
#[test]
fn every_example_is_run() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let texts: String = ["docs/tutorials", "docs/how-to"]
        .iter()
        .flat_map(|folder| std::fs::read_dir(root.join(folder)).unwrap())
        .map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap())
        .collect();
    let folder = "examples/field-gates";
    for file in std::fs::read_dir(root.join(folder)).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        let is_used = texts.contains(&format!("-f {folder}/{name}"));
        assert!(is_used || name == "README.md", "{name}");
    }
}
