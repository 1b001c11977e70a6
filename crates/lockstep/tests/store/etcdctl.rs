//! Real etcdctl, in the releases that people have.

use std::path::PathBuf;
use std::process::{Command, Stdio};

/// One release of etcdctl.
pub(crate) struct Etcdctl {
    path: PathBuf,
    pub(crate) is_newer: bool,
}

impl Etcdctl {
    /// Every release that is at hand; says aloud which are not.
    pub(crate) fn all() -> Vec<Self> {
        let mut found = Vec::new();
        for (variable, is_newer) in [
            ("LOCKSTEP_TEST_ETCDCTL", false),
            ("LOCKSTEP_TEST_ETCDCTL_NEWER", true),
        ] {
            let named = std::env::var_os(variable).map(PathBuf::from);
            let path = named.or_else(|| (!is_newer).then(|| "etcdctl".into()));
            let answers = |path: &PathBuf| {
                let mut version = Command::new(path);
                let version = version.arg("version").env("ETCDCTL_API", "3");
                version.output().is_ok_and(|output| output.status.success())
            };
            match path.filter(answers) {
                Some(path) => found.push(Self { path, is_newer }),
                None => println!("SKIPPED: no etcdctl; set {variable} to its path"),
            }
        }
        found
    }

    /// A command that talks to a server.
    pub(crate) fn command(&self, endpoint: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.path);
        command.env("ETCDCTL_API", "3");
        command.args(["--endpoints", endpoint]).args(arguments);
        command.stdin(Stdio::null());
        command
    }

    /// Output of an etcdctl command, without its log lines.
    pub(crate) fn run(&self, endpoint: &str, arguments: &[&str], input: &str) -> String {
        let mut command = self.command(endpoint, arguments);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        std::io::Write::write_all(&mut stdin, input.as_bytes()).unwrap();
        drop(stdin);
        let output = child.wait_with_output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        let complaint = text(output.stderr);
        let complaint = complaint.lines().filter(|line| !line.starts_with('{'));
        let complaint: String = complaint.map(|line| format!("{line}\n")).collect();
        text(output.stdout) + &complaint
    }
}
