//! Tutorials, command by command: what stands below a command is what kubectl prints.

use std::path::Path;

use crate::server::server_with;

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

fn run(name: &str) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = std::fs::read_to_string(root.join("docs/tutorials").join(name)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let gates = ["--feature-gates", "CRDFieldLevelVersioning=true"];
    let Some(server) = server_with(folder.path(), &gates) else {
        return;
    };
    if !server.can("what the tutorials print", 27) {
        return;
    }
    let steps = steps(&text);
    assert!(steps.len() > 5, "{name} has {} steps", steps.len());
    for step in steps {
        let (program, arguments) = step.command.split_first().unwrap();
        assert_eq!(program, "kubectl");
        let said = server.in_folder(&root, arguments);
        let printed = tidy(step.printed.iter().map(String::as_str));
        assert_eq!(tidy(said.lines()), printed, "{name}: {:?}", step.command);
    }
}

#[test]
fn a_field_goes_from_alpha_to_stable() {
    run("a-field-from-alpha-to-stable.md");
}

#[test]
fn the_accident_of_two_bundles_does_not_happen_behind_a_gate() {
    run("the-accident-of-two-bundles.md");
}
