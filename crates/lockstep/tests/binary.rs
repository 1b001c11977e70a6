//! The binary as a whole: large tables, the environment, pipes, broken input.

#![expect(clippy::unwrap_used, reason = "what a test cannot do is a failure")]

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

const GATES: usize = 300;

/// Six histories of gates, used for fifty gates each, with different lint findings at 1.37.
const LIVES: [(&str, &[(&str, &str)]); 6] = [
    ("Young", &[("1.37", "Alpha false false")]),
    ("Stale", &[("1.30", "Alpha false false")]),
    (
        "Open",
        &[("1.34", "Beta true false"), ("1.35", "GA true false")],
    ),
    (
        "Ripe",
        &[("1.31", "Beta true false"), ("1.33", "GA true true")],
    ),
    (
        "Leaving",
        &[("1.0", "GA true false"), ("1.36", "Deprecated true false")],
    ),
    ("Wrong", &[("1.37", "Alpha true false")]),
];

fn registry() -> String {
    let mut text = String::new();
    for index in 0..GATES {
        let (life, entries) = LIVES[index % LIVES.len()];
        writeln!(text, "- name: {life}{index:03}\n  versionedSpecs:").unwrap();
        for (version, entry) in entries {
            let words: Vec<&str> = entry.split(' ').collect();
            let [stage, default, locked] = words[..] else {
                panic!("three words")
            };
            writeln!(
                text,
                "  - default: {default}\n    lockToDefault: {locked}\n    \
                 preRelease: {stage}\n    version: \"{version}\""
            )
            .unwrap();
        }
    }
    text
}

fn lockstep(arguments: &[&str], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_lockstep"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(input.as_bytes())
        .unwrap();
    child.wait_with_output().unwrap()
}

/// feature-gates.md §8/lint, §8/common: rule ids, severities and the closing count line.
#[test]
fn lint_of_three_hundred_gates_ends_with_the_count() {
    let output = lockstep(
        &["features", "lint", "--file", "-", "--version", "1.37"],
        &registry(),
    );
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    // Wrong: FG101. Open: FG104. Ripe: FG106 and FG113. Leaving: FG105. Stale: FG111.
    assert_eq!(
        lines.last(),
        Some(&"300 gates, 50 errors, 150 warnings, 100 notes")
    );
    assert_eq!(lines.len(), 301);
    assert_eq!(
        lines[0],
        "warning FG105 kube/Leaving004: deprecated gate is on by default (1.36)"
    );
    assert_eq!(output.status.code(), Some(1));
}

/// feature-gates.md §8/anchor, §1/registry-file: lint findings for the gates of Kubernetes 1.37.
#[test]
fn lint_of_the_list_of_kubernetes_says_what_is_known_of_it() {
    let named = std::env::var_os("LOCKSTEP_SHARED").map(PathBuf::from);
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let file = named
        .unwrap_or(beside)
        .join("data/versioned_feature_list.yaml");
    let Ok(list) = std::fs::read_to_string(&file) else {
        println!(
            "SKIPPED: no list of Kubernetes' gates at {}",
            file.display()
        );
        return;
    };
    let arguments = ["features", "lint", "--file", "-", "--version", "1.37"];
    let output = lockstep(&arguments, &list);
    let text = String::from_utf8(output.stdout).unwrap();
    let (findings, counts) = text.trim_end().rsplit_once('\n').unwrap();
    let mut rules = BTreeMap::<&str, usize>::new();
    for finding in findings.lines() {
        let (_, rest) = finding.split_once(' ').unwrap();
        *rules.entry(rest.split_once(' ').unwrap().0).or_default() += 1;
    }
    assert_eq!(counts, "242 gates, 0 errors, 33 warnings, 121 notes");
    let expected = [
        ("FG104", 1),
        ("FG105", 8),
        ("FG106", 22),
        ("FG109", 1),
        ("FG110", 1),
        ("FG111", 32),
        ("FG113", 89),
    ];
    assert_eq!(rules, BTreeMap::from(expected));
    assert_eq!(output.status.code(), Some(0));
}

/// feature-gates.md §8/plan, §8/common: keys in camelCase, a list.
#[test]
fn plan_names_every_gate_that_is_due() {
    let arguments = [
        "features",
        "plan",
        "--file",
        "-",
        "--version",
        "1.37",
        "--until",
        "1.37",
        "-o",
        "json",
    ];
    let output = lockstep(&arguments, &registry());
    let steps: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let count = |action: &str| {
        steps
            .as_array()
            .unwrap()
            .iter()
            .filter(|step| step["action"] == action)
            .count()
    };
    assert_eq!(
        (count("lock"), count("remove"), count("drop-history")),
        (50, 50, 0)
    );
}

/// feature-gates.md §5/variable, §5/kube-variable: the process environment is a source, for a server and for `eval`.
#[test]
fn variables_of_the_process_are_read() {
    let run = |name: &str, value: &str| {
        Command::new(env!("CARGO_BIN_EXE_lockstep"))
            .args(["features", "eval", "-o", "json"])
            .env(name, value)
            .output()
            .unwrap()
    };
    let output = run("LOCKSTEP_FEATURE_CRDFieldLevelVersioning", "true");
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let kube = &answer["components"]["kube"];
    assert_eq!(kube["enabled"]["CRDFieldLevelVersioning"], true);
    assert_eq!(kube["source"]["CRDFieldLevelVersioning"], "env");
    let output = run("LOCKSTEP_FEATURE_CRDFieldLevelVersioning", "maybe");
    assert_eq!(output.status.code(), Some(64));
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        answer["errors"],
        serde_json::json!(["invalid value of LOCKSTEP_FEATURE_CRDFieldLevelVersioning=maybe"])
    );
    let output = run("KUBE_FEATURE_WatchListClient", "sometimes");
    assert_eq!(output.status.code(), Some(0));
}

/// A reader that goes away is not an error, and not a panic.
#[test]
fn a_closed_pipe_ends_quietly() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_lockstep"))
        .args(["completion", "zsh"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(
        (
            output.status.code(),
            String::from_utf8(output.stderr).unwrap()
        ),
        (Some(0), String::new())
    );
}

#[test]
fn every_shell_has_a_completion() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let output = lockstep(&["completion", shell], "");
        assert_eq!(output.status.code(), Some(0), "{shell}");
        let script = String::from_utf8(output.stdout).unwrap();
        assert!(script.contains("features"), "{shell}: {script}");
    }
}

/// feature-gates.md §12/any-text, §8/common: any bytes; an answer with status 2, never a panic (70) and never silence.
#[test]
fn broken_files_are_told_with_status_2() {
    for input in [
        "",
        "5",
        "- 1",
        "[",
        "a: &a [*a]",
        "- name: [",
        "\u{0}",
        "components: []",
        "- {name: A}",
    ] {
        let output = lockstep(&["features", "list", "--file", "-"], input);
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{input:?}: {told}");
        assert!(told.starts_with("error: "), "{input:?}: {told}");
    }
}
