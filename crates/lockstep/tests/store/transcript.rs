//! Transcript of etcdctl against `lockstep store`, command by command: `etcdctl.txt`.

use std::fmt::Write;
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::Duration;

use crate::etcdctl::Etcdctl;
use crate::running::{Running, lockstep};

/// Upper bound on the wait for a line of a watch.
const PATIENCE: Duration = Duration::from_secs(30);

const TRANSCRIPT: &str = include_str!("etcdctl.txt");

/// A command, its input, and what it has to print.
struct Step {
    command: String,
    input: String,
    expected: String,
}

/// `$` begins a command, `<` a line of its input; everything else is what it prints.
fn steps() -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for line in TRANSCRIPT.lines().filter(|line| !line.starts_with('#')) {
        if let Some(command) = line.strip_prefix("$ ") {
            steps.push(Step {
                command: command.to_owned(),
                input: String::new(),
                expected: String::new(),
            });
            continue;
        }
        let step = steps
            .last_mut()
            .expect("the transcript begins with a command");
        match line.strip_prefix('<') {
            Some(input) => {
                writeln!(step.input, "{}", input.strip_prefix(' ').unwrap_or(input)).unwrap();
            }
            None => writeln!(step.expected, "{line}").unwrap(),
        }
    }
    steps
}

/// Words of a command; quotes hold words together.
fn words(command: &str) -> Vec<String> {
    let parts = command.split('\'').enumerate();
    parts
        .flat_map(|(at, part)| match at % 2 {
            0 => part.split_whitespace().map(str::to_owned).collect(),
            _ => vec![part.to_owned()],
        })
        .collect()
}

/// Replaces what changes from run to run or from release to release.
fn mask(text: &str, endpoint: &str) -> String {
    let mut masked = String::new();
    for line in text.lines() {
        let line = line
            .replace(endpoint, "ENDPOINT")
            .replace(&endpoint["http://".len()..], "ENDPOINT");
        let line = line.replace(" rpc error: code = OutOfRange desc =", "");
        let line = match line.split_once(": successfully committed proposal: took = ") {
            Some((line, _)) => line,
            None => &line,
        };
        writeln!(masked, "{}", line.trim_end()).unwrap();
    }
    masked.trim_end().to_owned()
}

#[test]
fn etcdctl_prints_what_the_transcript_says() {
    for etcdctl in Etcdctl::all() {
        let server = Running::start(&[]);
        let snapshot = server.folder.path().join("snapshot.db");
        for step in steps() {
            let command = step.command.replace("SNAPSHOT", snapshot.to_str().unwrap());
            let words = words(&command);
            let words: Vec<_> = words.iter().map(String::as_str).collect();
            let printed = etcdctl.run(&server.endpoint, &words, &step.input);
            let printed = mask(&printed, &server.endpoint);
            let printed = printed.replace(snapshot.to_str().unwrap(), "SNAPSHOT");
            let newer = if etcdctl.is_newer { "newer" } else { "older" };
            assert_eq!(
                printed,
                step.expected.trim_end(),
                "{newer} etcdctl {command}"
            );
        }
        let bytes = std::fs::read(&snapshot).unwrap();
        assert_eq!((&bytes[..8], bytes.len() % 512), (&b"locksnap"[..], 32));
    }
}

#[test]
fn a_snapshot_that_etcdctl_saved_comes_back_by_restore() {
    for etcdctl in Etcdctl::all() {
        let server = Running::start(&[]);
        let run =
            |server: &Running, arguments: &[&str]| etcdctl.run(&server.endpoint, arguments, "");
        for value in ["1", "2"] {
            assert_eq!(run(&server, &["put", "k", value]), "OK\n");
        }
        let file = server.folder.path().join("snapshot.db");
        run(&server, &["snapshot", "save", file.to_str().unwrap()]);
        assert_eq!(run(&server, &["put", "k", "3"]), "OK\n");
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        let restore = || {
            let mut command = lockstep();
            command.args(["restore", "--data-dir"]).arg(&data);
            let output = command.arg("--snapshot").arg(&file).output().unwrap();
            let text = [output.stdout, output.stderr].concat();
            (output.status.code(), String::from_utf8(text).unwrap())
        };
        let shown = data.display();
        let told = format!("restored revision 3 into `{shown}`\n");
        assert_eq!(restore(), (Some(0), told));
        let told =
            format!("error: `{shown}` is not empty; choose a directory that does not exist yet\n");
        assert_eq!(restore(), (Some(2), told));
        let restored = Running::start_on(folder, &[]);
        assert_eq!(run(&restored, &["get", "k"]), "k\n2\n");
        assert_eq!(run(&restored, &["get", "k", "--rev", "2"]), "k\n1\n");
        assert_eq!(run(&restored, &["put", "k", "4"]), "OK\n");
    }
}

/// etcd-api.md §4/leases, etcd-api.md §4/time-to-live.
#[test]
fn etcdctl_leads_a_lease_through_its_life() {
    for etcdctl in Etcdctl::all() {
        let server = Running::start(&[]);
        let run = |arguments: &[&str]| etcdctl.run(&server.endpoint, arguments, "");
        let granted = run(&["lease", "grant", "600"]);
        let id = granted.split(' ').nth(1).unwrap().to_owned();
        assert_eq!(granted, format!("lease {id} granted with TTL(600s)\n"));
        assert_eq!(run(&["put", "k", "v", "--lease", &id]), "OK\n");
        assert_eq!(run(&["lease", "list"]), format!("found 1 leases\n{id}\n"));
        let told = run(&["lease", "timetolive", &id, "--keys"]);
        assert!(
            told.starts_with(&format!("lease {id} granted with TTL(600s), remaining(")),
            "{told}"
        );
        assert!(told.ends_with(", attached keys([k])\n"), "{told}");
        let kept = run(&["lease", "keep-alive", "--once", &id]);
        assert_eq!(kept, format!("lease {id} keepalived with TTL(600)\n"));
        assert_eq!(
            run(&["lease", "revoke", &id]),
            format!("lease {id} revoked\n")
        );
        assert_eq!(run(&["get", "k"]), "");
    }
}

/// etcd-api.md §5/member-list, etcd-api.md §5/status.
#[test]
fn etcdctl_shows_status_members_and_hashes_as_tables() {
    for etcdctl in Etcdctl::all() {
        let server = Running::start(&["--name", "one"]);
        let run = |arguments: &[&str]| etcdctl.run(&server.endpoint, arguments, "");
        // With the scheme: 3.4 makes the whole URL the authority of these requests.
        let endpoint = server.endpoint.as_str();
        let status = run(&["endpoint", "status"]);
        let cells: Vec<_> = status.trim_end().split(", ").collect();
        assert_eq!(
            (cells[0], cells[2], cells[4]),
            (endpoint, "3.7.0", "true"),
            "{status}"
        );
        let members = run(&["member", "list"]);
        let id = cells[1];
        let peer = "http://localhost:2380";
        let line = format!("{id}, started, one, {peer}, {}, false\n", server.endpoint);
        assert_eq!(members, line);
        let hash = run(&["endpoint", "hashkv"]);
        assert_eq!(hash.split(", ").next(), Some(endpoint), "{hash}");
    }
}

#[test]
fn etcdctl_watches_what_another_etcdctl_does() {
    for etcdctl in Etcdctl::all() {
        let server = Running::start(&[]);
        etcdctl.run(&server.endpoint, &["put", "k1", "before"], "");
        let watch = ["watch", "--prefix", "k", "--rev=1", "--prev-kv"];
        let mut command = etcdctl.command(&server.endpoint, &watch);
        let mut watching = command.stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(watching.stdout.take().unwrap()).lines();
        let (sender, receiver) = std::sync::mpsc::channel();
        let reader = std::thread::spawn(move || {
            lines
                .map_while(Result::ok)
                .try_for_each(|line| sender.send(line))
        });
        let take = |count| -> Vec<_> {
            let line = |_| receiver.recv_timeout(PATIENCE).unwrap();
            (0..count).map(line).collect()
        };
        assert_eq!(take(3), ["PUT", "k1", "before"]);
        etcdctl.run(&server.endpoint, &["put", "k1", "after"], "");
        etcdctl.run(&server.endpoint, &["del", "k1"], "");
        assert_eq!(take(5), ["PUT", "k1", "before", "k1", "after"]);
        assert_eq!(take(5), ["DELETE", "k1", "after", "k1", ""]);
        watching.kill().unwrap();
        watching.wait().unwrap();
        drop(receiver);
        // The reader ends with the output; its send error after the receiver is dropped is expected.
        drop(reader.join());
    }
}
