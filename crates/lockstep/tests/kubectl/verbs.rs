//! Transcripts of kubectl's commands against `lockstep serve`: `verbs/*.txt`.

use crate::server::{Server, on_each_store, row};

/// A command, its input, and what it has to print.
#[derive(Default)]
struct Step {
    /// The versions of kubectl, by their second number, that have the command.
    minors: (u32, u32),
    command: String,
    input: String,
    expected: Vec<String>,
}

/// `$` begins a command, `$ 1.24+` one that came with 1.24, `$ -1.23` one that ended with 1.23; `<` begins a line of its input;
/// in which `{uid KIND/NAME}` is an object's; everything else is what it prints, with one space between words, `AGE` for ages, `…` for the rest of a line, and a line of `...`
/// for any lines.
fn steps(transcript: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for line in transcript.lines().filter(|line| !line.starts_with('#')) {
        if let Some(command) = line.strip_prefix("$ ") {
            let (minors, command) = minors(command);
            steps.push(Step {
                minors,
                command: command.to_owned(),
                ..Step::default()
            });
            continue;
        }
        let step = steps.last_mut().expect("it begins with a command");
        match line.strip_prefix("< ") {
            Some(input) => step.input += &format!("{input}\n"),
            None => step.expected.push(line.to_owned()),
        }
    }
    steps
}

fn minors(command: &str) -> ((u32, u32), &str) {
    let number = |text: &str| text.strip_prefix("1.").and_then(|minor| minor.parse().ok());
    let (first, rest) = command.split_once(' ').unwrap_or((command, ""));
    if let Some(since) = first.strip_suffix('+').and_then(number) {
        return ((since, u32::MAX), rest);
    }
    if let Some(until) = first.strip_prefix('-').and_then(number) {
        return ((0, until), rest);
    }
    ((0, u32::MAX), command)
}

/// Words of a command; quotes hold words together.
fn words(command: &str) -> Vec<&str> {
    let parts = command.split('\'').enumerate();
    let words = parts.flat_map(|(at, part)| match at % 2 {
        0 => part.split_whitespace().collect(),
        _ => vec![part],
    });
    words.collect()
}

/// The input of a command with the identities of objects that it names.
fn with_uids(server: &Server, input: &str) -> String {
    let Some((before, rest)) = input.split_once("{uid ") else {
        return input.to_owned();
    };
    let (object, after) = rest.split_once('}').expect("a brace closes");
    let uid = server.kubectl(&format!("get {object} -o jsonpath={{.metadata.uid}}"), "");
    format!("{before}{uid}{}", with_uids(server, after))
}

/// Whether the lines are those expected.
fn fits(lines: &[String], expected: &[String]) -> bool {
    match (lines, expected) {
        ([], []) => true,
        (_, [any, rest @ ..]) if any == "..." => {
            (0..=lines.len()).any(|at| fits(&lines[at..], rest))
        }
        ([line, lines @ ..], [first, rest @ ..]) => {
            let is_same = match first.strip_suffix('…') {
                Some(start) => line.starts_with(start),
                None => line == first,
            };
            is_same && fits(lines, rest)
        }
        _ => false,
    }
}

fn check(server: &Server, transcript: &str) {
    for step in steps(transcript) {
        let (since, until) = step.minors;
        if !server.is_between(since, until) {
            continue;
        }
        let folder = server.folder().join("dump").display().to_string();
        let command = step.command.replace("FOLDER", &folder);
        let words = words(&command).into_iter();
        let (_, said) = server.outcome_of_words(words, &with_uids(server, &step.input));
        let said = said.replace(&folder, "FOLDER");
        let lines: Vec<String> = said.lines().map(row).collect();
        assert!(
            fits(&lines, &step.expected),
            "kubectl {}\n{said}\nis not\n{}",
            step.command,
            step.expected.join("\n")
        );
    }
}

#[test]
fn every_command_about_objects_prints_what_the_transcript_says() {
    on_each_store(|server| check(server, include_str!("verbs/objects.txt")));
}

#[test]
fn every_command_about_workloads_prints_what_the_transcript_says() {
    on_each_store(|server| check(server, include_str!("verbs/workloads.txt")));
}

#[test]
fn every_command_about_a_cluster_prints_what_the_transcript_says() {
    on_each_store(|server| check(server, include_str!("verbs/cluster.txt")));
}

#[test]
fn what_people_do_all_day_prints_what_the_transcript_says() {
    on_each_store(|server| check(server, include_str!("verbs/daily.txt")));
}
