//! A server process, and kubectl as its user.

use std::ffi::OsStr;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use lockstep_testkit::processes::{self, Etcd};

/// A server, and the kubectl that drives it.
pub(crate) struct Server {
    served: processes::Server,
    kubectl: Kubectl,
    /// For files that belong to a test.
    folder: PathBuf,
}

/// A kubectl that tests may use.
#[derive(Clone)]
pub(crate) struct Kubectl {
    pub(crate) program: PathBuf,
    /// The second number of its version.
    minor: u32,
}

impl Kubectl {
    /// Finds kubectl by `LOCKSTEP_TEST_KUBECTL`, else on the search path.
    pub(crate) fn find() -> Option<Self> {
        let named = std::env::var_os("LOCKSTEP_TEST_KUBECTL");
        let program = named.map_or_else(|| "kubectl".into(), PathBuf::from);
        let mut command = Command::new(&program);
        let output = command.args(["version", "--client", "-o", "json"]).output();
        let output = output.ok().filter(|output| output.status.success())?;
        let version: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let minor = version["clientVersion"]["minor"].as_str().unwrap();
        let minor = minor.trim_end_matches('+').parse().unwrap();
        Some(Self { program, minor })
    }

    /// Whether it can do what came with version 1.`minor`; said aloud if not.
    pub(crate) fn can(&self, what: &str, minor: u32) -> bool {
        if self.minor < minor {
            let own = self.minor;
            processes::skipped(&format!(
                "kubectl 1.{own} does not know {what}, which came with 1.{minor}"
            ));
        }
        self.minor >= minor
    }
}

impl Server {
    fn start(kubectl: &Kubectl, folder: &Path, store: &str, flags: &[&str]) -> Self {
        let program = Path::new(env!("CARGO_BIN_EXE_lockstep"));
        let data = folder.join("data");
        let flags: Vec<&OsStr> = flags.iter().map(OsStr::new).collect();
        Self {
            served: processes::Server::start(program, &data, store, &flags),
            kubectl: kubectl.clone(),
            folder: folder.to_owned(),
        }
    }

    /// See [`Kubectl::can`].
    pub(crate) fn can(&self, what: &str, minor: u32) -> bool {
        self.kubectl.can(what, minor)
    }

    /// Whether its second number is one of these.
    pub(crate) fn is_between(&self, since: u32, until: u32) -> bool {
        (since..=until).contains(&self.kubectl.minor)
    }

    /// Where a test may write files.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.kubectl.program);
        command
            .env("KUBECONFIG", self.served.kubeconfig())
            // kubectl's discovery cache must not be shared between servers.
            .env("HOME", &self.folder)
            // An editor that changes one word, and a tool that compares.
            .env("KUBE_EDITOR", "sed -i s/before/after/");
        command
    }

    pub(crate) fn run(&self, arguments: &str) -> Child {
        self.run_words(arguments.split(' '))
    }

    fn run_words<'a>(&self, words: impl Iterator<Item = &'a str>) -> Child {
        self.command()
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// Success of a kubectl command, and its standard output followed by its standard error.
    pub(crate) fn outcome(&self, arguments: &str, input: &str) -> (bool, String) {
        self.outcome_of_words(arguments.split(' '), input)
    }

    /// Form of [`Self::outcome`] for arguments that contain spaces.
    pub(crate) fn outcome_of_words<'a>(
        &self,
        words: impl Iterator<Item = &'a str>,
        input: &str,
    ) -> (bool, String) {
        let mut child = self.run_words(words);
        child
            .stdin
            .take()
            .unwrap()
            .write_all(input.as_bytes())
            .unwrap();
        let output = child.wait_with_output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8(text).unwrap();
        (output.status.success(), without_namespaces(&text))
    }

    /// Output of kubectl, run in a directory.
    pub(crate) fn in_folder(&self, folder: &Path, arguments: &[String]) -> String {
        let mut command = self.command();
        as_in_a_terminal(command.args(arguments).current_dir(folder)).1
    }

    /// Output of a `lockstep` command, run in a directory; a non-zero exit status N is shown first, as `? N`.
    pub(crate) fn lockstep_in(&self, folder: &Path, arguments: &[String]) -> String {
        match as_in_a_terminal(self.lockstep(arguments).current_dir(folder)) {
            (Some(0), text) => text,
            (code, text) => format!("? {}\n{text}", code.unwrap()),
        }
    }

    /// Our own command as the administrator.
    pub(crate) fn lockstep(&self, arguments: &[String]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lockstep"));
        command
            .args(arguments)
            .env("KUBECONFIG", self.served.kubeconfig())
            .env("HOME", &self.folder)
            .stdin(Stdio::null());
        command
    }

    /// Output of a kubectl command that opens this editor.
    pub(crate) fn with_editor(&self, arguments: &str, editor: &Path) -> String {
        let output = self
            .command()
            .env("KUBE_EDITOR", editor)
            .args(arguments.split(' '))
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let text = [output.stdout, output.stderr].concat();
        String::from_utf8(text).unwrap()
    }

    /// Output of kubectl, whether or not it succeeds.
    pub(crate) fn kubectl(&self, arguments: &str, input: &str) -> String {
        self.outcome(arguments, input).1
    }

    /// Field managers of an object, sorted.
    pub(crate) fn managers(&self, object: &str) -> Vec<String> {
        let shown = "-o jsonpath={.metadata.managedFields[*].manager}";
        let flag = self.shows_managed_fields();
        let managers = self.kubectl(&format!("get {object} {shown}{flag}"), "");
        let mut managers: Vec<String> = managers.split(' ').map(str::to_owned).collect();
        managers.sort_unstable();
        managers
    }

    /// The flag without which newer ones keep them to themselves.
    pub(crate) fn shows_managed_fields(&self) -> &'static str {
        if self.kubectl.minor < 21 {
            ""
        } else {
            " --show-managed-fields"
        }
    }

    pub(crate) fn says(&self, arguments: &str, expected: &str) {
        let said = self.kubectl(arguments, "");
        assert_eq!(said.trim_end(), expected, "kubectl {arguments}");
    }

    /// Writes the status of the object at `path`, as controllers do; older clients have no flag for it.
    pub(crate) fn set_status(&self, path: &str, status: &serde_json::Value) {
        let object = self.kubectl(&format!("get --raw {path}"), "");
        let mut object: serde_json::Value = serde_json::from_str(&object).unwrap();
        object["status"] = status.clone();
        let arguments = format!("replace --raw {path}/status -f -");
        let (is_written, said) = self.outcome(&arguments, &object.to_string());
        assert!(is_written, "{said}");
    }

    /// [`Self::says`] for a table.
    pub(crate) fn shows(&self, arguments: &str, expected: &[&str]) {
        let said = self.kubectl(arguments, "");
        let rows: Vec<String> = said.lines().map(row).collect();
        assert_eq!(rows, expected, "kubectl {arguments}");
    }
}

/// Without what newer ones add when they have deleted something.
fn without_namespaces(text: &str) -> String {
    let cut = |line: &str| match line.split_once("\" deleted from ") {
        Some((before, rest)) if rest.trim_end().ends_with(" namespace") => {
            format!("{before}\" deleted\n")
        }
        _ => line.to_owned(),
    };
    text.split_inclusive('\n').map(cut).collect()
}

/// A line of a table with one space between cells, and `AGE` for every age.
pub(crate) fn row(line: &str) -> String {
    let is_age = |cell: &str| {
        let is_unit = cell.ends_with(['s', 'm', 'h', 'd']);
        is_unit && cell.starts_with(|first: char| first.is_ascii_digit())
    };
    let cells = line.split_whitespace();
    let cells: Vec<&str> = cells
        .map(|cell| if is_age(cell) { "AGE" } else { cell })
        .collect();
    cells.join(" ")
}

/// Runs a test on a server with an empty embedded store, and on one with etcd if there is one; says aloud if there is no kubectl to
/// drive them.
pub(crate) fn on_each_store(test: impl Fn(&Server)) {
    let Some(kubectl) = Kubectl::find() else {
        processes::skipped("kubectl is not installed, so nobody drove the server as users do");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let start = |name: &str, store: &str| {
        let folder = folder.path().join(name);
        std::fs::create_dir(&folder).unwrap();
        Server::start(&kubectl, &folder, store, &[])
    };
    test(&start("on-embedded", "embedded"));
    if let Some(etcd) = Etcd::start(folder.path(), "http", &[]) {
        test(&start("on-etcd", &etcd.store()));
    }
}

/// A server with an empty embedded store and more flags; none, aloud, if there is no kubectl to
/// drive it.
pub(crate) fn server_with(folder: &Path, flags: &[&str]) -> Option<Server> {
    let Some(kubectl) = Kubectl::find() else {
        processes::skipped("kubectl is not installed, so nobody drove the server as users do");
        return None;
    };
    Some(Server::start(&kubectl, folder, "embedded", flags))
}

/// Exit status of a command, and its output with errors and warnings where they come.
fn as_in_a_terminal(command: &mut Command) -> (Option<i32>, String) {
    let (mut reader, writer) = std::io::pipe().unwrap();
    command.stdin(Stdio::null());
    command.stdout(writer.try_clone().unwrap()).stderr(writer);
    let mut child = command.spawn().unwrap();
    // The command holds the ends to write to until then.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut text = String::new();
    reader.read_to_string(&mut text).unwrap();
    (child.wait().unwrap().code(), text)
}
