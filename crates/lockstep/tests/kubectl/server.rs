//! A server process, and kubectl as its user.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A server, and the kubectl that drives it.
pub(crate) struct Server {
    child: Child,
    kubeconfig: PathBuf,
    kubectl: PathBuf,
}

impl Server {
    fn start(folder: &Path, kubectl: PathBuf, flags: &[&str]) -> Self {
        let data = folder.join("data");
        let mut child = Command::new(env!("CARGO_BIN_EXE_lockstep"))
            .args(["serve", "--secure-port", "0", "--data-dir"])
            .arg(&data)
            .args(flags)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap());
        let mut announced = String::new();
        while !announced.contains("  try  ") {
            let read = lines.read_line(&mut announced).unwrap();
            assert!(read > 0, "it ended: {announced}");
        }
        // Somebody has to read what is logged later.
        std::thread::spawn(move || lines.read_to_string(&mut String::new()));
        Self {
            child,
            kubeconfig: data.join("admin.kubeconfig"),
            kubectl,
        }
    }

    pub(crate) fn run(&self, arguments: &str) -> Child {
        Command::new(&self.kubectl)
            .env("KUBECONFIG", &self.kubeconfig)
            .args(arguments.split(' '))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// What kubectl prints, and whether it was content.
    pub(crate) fn outcome(&self, arguments: &str, input: &str) -> (bool, String) {
        let mut child = self.run(arguments);
        child
            .stdin
            .take()
            .unwrap()
            .write_all(input.as_bytes())
            .unwrap();
        let output = child.wait_with_output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8(text).unwrap())
    }

    /// What kubectl prints that is run in a folder.
    pub(crate) fn in_folder(&self, folder: &Path, arguments: &[String]) -> String {
        let output = Command::new(&self.kubectl)
            .env("KUBECONFIG", &self.kubeconfig)
            .args(arguments)
            .current_dir(folder)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let text = [output.stdout, output.stderr].concat();
        String::from_utf8(text).unwrap()
    }

    /// What kubectl prints when it has opened an editor.
    pub(crate) fn with_editor(&self, arguments: &str, editor: &Path) -> String {
        let output = Command::new(&self.kubectl)
            .env("KUBECONFIG", &self.kubeconfig)
            .env("KUBE_EDITOR", editor)
            .args(arguments.split(' '))
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let text = [output.stdout, output.stderr].concat();
        String::from_utf8(text).unwrap()
    }

    /// What kubectl prints.
    pub(crate) fn kubectl(&self, arguments: &str, input: &str) -> String {
        self.outcome(arguments, input).1
    }

    pub(crate) fn says(&self, arguments: &str, expected: &str) {
        let said = self.kubectl(arguments, "");
        assert_eq!(said.trim_end(), expected, "kubectl {arguments}");
    }

    /// The same for a table.
    pub(crate) fn shows(&self, arguments: &str, expected: &[&str]) {
        let said = self.kubectl(arguments, "");
        let rows: Vec<String> = said.lines().map(row).collect();
        assert_eq!(rows, expected, "kubectl {arguments}");
    }
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

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// kubectl, by the variable that tests are told with, or from the search path.
pub(crate) fn kubectl() -> Option<PathBuf> {
    if let Some(path) = std::env::var_os("LOCKSTEP_TEST_KUBECTL") {
        return Some(path.into());
    }
    let found = Command::new("kubectl")
        .args(["version", "--client"])
        .output();
    found
        .is_ok_and(|output| output.status.success())
        .then(|| "kubectl".into())
}

/// A server with an empty store; none, aloud, if there is no kubectl to drive it.
pub(crate) fn server(folder: &Path) -> Option<Server> {
    server_with(folder, &[])
}

/// The same with more flags.
pub(crate) fn server_with(folder: &Path, flags: &[&str]) -> Option<Server> {
    let Some(kubectl) = kubectl() else {
        println!("SKIPPED: kubectl is not installed, so nobody drove the server as users do");
        return None;
    };
    Some(Server::start(folder, kubectl, flags))
}
