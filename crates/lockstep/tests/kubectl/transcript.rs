//! What kubectl prints, command by command, whatever the store is: `transcript.txt`.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdout};

use crate::etcd::Etcd;
use crate::server::{Server, kubectl, row, server};

const TRANSCRIPT: &str = include_str!("transcript.txt");
/// Facts that are others in every run.
const VOLATILE: [&str; 3] = ["Creation Timestamp:", "Resource Version:", "UID:"];

/// One step of the transcript.
#[derive(Default)]
struct Step {
    /// The line that says what is done.
    does: String,
    /// What the command reads.
    input: String,
    /// What has to be printed.
    expected: Vec<String>,
}

/// `$` begins a command, `<` a line of its input, `&` a command that goes on; behind `~` stand the
/// next lines of that one. Everything else is what a command prints.
fn steps() -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let told = TRANSCRIPT.lines();
    for line in told.filter(|line| !line.starts_with('#') && !line.is_empty()) {
        if line.starts_with(['$', '&', '~']) {
            let does = line.to_owned();
            steps.push(Step {
                does,
                ..Step::default()
            });
            continue;
        }
        let step = steps.last_mut().unwrap();
        match line.strip_prefix("< ") {
            Some(input) => writeln!(step.input, "{input}").unwrap(),
            None => step.expected.push(line.to_owned()),
        }
    }
    steps
}

/// A line with its cells in order and without what is another in every run.
fn masked(line: &str) -> String {
    let line = row(line);
    let volatile = VOLATILE.iter().find(|fact| line.starts_with(**fact));
    volatile.map_or(line, |fact| format!("{fact} …"))
}

/// A command that goes on.
struct Following {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Following {
    fn next(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        masked(&line)
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn play(server: &Server, store: &str) {
    let mut following: Option<Following> = None;
    for step in steps() {
        let (kind, command) = step.does.split_at(1);
        let command = command.trim_start();
        let printed: Vec<String> = match kind {
            "$" => {
                let said = server.kubectl(command, &step.input);
                said.lines()
                    .map(masked)
                    .filter(|line| !line.is_empty())
                    .collect()
            }
            "&" => {
                let mut child = server.run(command);
                let lines = BufReader::new(child.stdout.take().unwrap());
                following = Some(Following { child, lines });
                Vec::new()
            }
            _ => {
                let following = following.as_mut().unwrap();
                step.expected.iter().map(|_| following.next()).collect()
            }
        };
        assert_eq!(printed, step.expected, "{store}: {}", step.does);
    }
}

/// api-machinery.md §15: get, create, patch, delete, get -w, describe, label, annotate, auth can-i,
/// wait and scale, on built-in kinds and on a custom resource.
#[test]
fn kubectl_prints_what_the_transcript_says() {
    let folder = tempfile::tempdir().unwrap();
    if let Some(server) = server(folder.path()) {
        play(&server, "embedded");
    }
}

/// The same on a real etcd.
#[test]
fn kubectl_prints_the_same_when_the_store_is_etcd() {
    let folder = tempfile::tempdir().unwrap();
    let Some(kubectl) = kubectl() else {
        println!("SKIPPED: kubectl is not installed, so nobody drove the server as users do");
        return;
    };
    if let Some(etcd) = Etcd::start(folder.path()) {
        let server = Server::start(folder.path(), &etcd.store(), kubectl);
        play(&server, "etcd");
    }
}
