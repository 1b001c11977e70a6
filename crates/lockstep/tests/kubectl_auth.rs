//! What people ask kubectl about permissions, and what they delete with it, on the real binary.

#![expect(clippy::unwrap_used, reason = "what a test cannot do is a failure")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

struct Server {
    child: Child,
    kubeconfig: PathBuf,
    kubectl: PathBuf,
}

impl Server {
    fn start(folder: &Path, kubectl: PathBuf) -> Self {
        let data = folder.join("data");
        let mut child = Command::new(env!("CARGO_BIN_EXE_lockstep"))
            .args(["serve", "--secure-port", "0", "--data-dir"])
            .arg(&data)
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

    /// What kubectl prints.
    fn kubectl(&self, arguments: &str, input: &str) -> String {
        let mut child = Command::new(&self.kubectl)
            .env("KUBECONFIG", &self.kubeconfig)
            .args(arguments.split(' '))
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
        let output = child.wait_with_output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        String::from_utf8(text).unwrap()
    }

    fn says(&self, arguments: &str, expected: &str) {
        assert_eq!(
            self.kubectl(arguments, "").trim_end(),
            expected,
            "kubectl {arguments}"
        );
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// kubectl, by the variable that tests are told with, or from the search path.
fn kubectl() -> Option<PathBuf> {
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

#[expect(clippy::print_stdout, reason = "a skipped test says so")]
fn server(folder: &Path) -> Option<Server> {
    let Some(kubectl) = kubectl() else {
        println!("SKIPPED: kubectl is not installed, so nobody asked the server as users do");
        return None;
    };
    Some(Server::start(folder, kubectl))
}

/// The words of each line.
fn table(text: &str) -> Vec<Vec<&str>> {
    let lines = text.lines();
    lines
        .map(|line| line.split_whitespace().collect())
        .collect()
}

#[test]
fn kubectl_tells_people_what_they_may_do() {
    let folder = tempfile::tempdir().unwrap();
    let Some(server) = server(folder.path()) else {
        return;
    };
    server.says("auth can-i create configmaps", "yes");
    server.says("auth can-i list secrets --as bob", "no");
    server.says(
        "auth can-i get /version --as bob --as-group system:authenticated",
        "yes",
    );
    server.says(
        "create rolebinding bob --clusterrole edit --user bob -n default --validate=false",
        "rolebinding.rbac.authorization.k8s.io/bob created",
    );
    server.says("auth can-i list secrets --as bob", "yes");
    server.says("auth can-i list secrets --as bob -n kube-system", "no");

    let who = server.kubectl("auth whoami", "");
    let rows = table(&who);
    assert!(
        rows.contains(&vec!["Username", "kubernetes-admin"]),
        "{who}"
    );
    let who = server.kubectl("auth whoami --as bob -o jsonpath={.status.userInfo}", "");
    assert_eq!(
        who,
        r#"{"groups":["system:authenticated"],"username":"bob"}"#
    );

    let list = server.kubectl("auth can-i --list", "");
    assert!(
        table(&list).contains(&vec!["*.*", "[]", "[]", "[*]"]),
        "{list}"
    );
    let list = server.kubectl("auth can-i --list --as bob", "");
    let reviews = [
        "selfsubjectreviews.authentication.k8s.io",
        "[]",
        "[]",
        "[create]",
    ];
    assert!(table(&list).contains(&reviews.to_vec()), "{list}");
}

/// kubectl waits until what it deletes is gone.
#[test]
fn kubectl_deletes_a_namespace_with_its_content_and_an_owner_with_its_dependents() {
    let folder = tempfile::tempdir().unwrap();
    let Some(server) = server(folder.path()) else {
        return;
    };
    let create = "create --validate=false -f -";
    let map = |name: &str, more: &str| {
        format!(
            r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{name}","namespace":"n"{more}}}}}"#
        )
    };
    let namespace = r#"{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"n"}}"#;
    assert_eq!(server.kubectl(create, namespace), "namespace/n created\n");
    let wait = "wait --for=jsonpath={.metadata.name}=default --timeout=20s -n n sa/default";
    while !server.kubectl(wait, "").contains("condition met") {}
    assert_eq!(
        server.kubectl(create, &map("owner", "")),
        "configmap/owner created\n"
    );
    let uid = server.kubectl("get configmap owner -n n -o jsonpath={.metadata.uid}", "");
    let owners = format!(
        r#","ownerReferences":[{{"apiVersion":"v1","kind":"ConfigMap","name":"owner","uid":"{uid}","blockOwnerDeletion":true}}]"#
    );
    assert_eq!(
        server.kubectl(create, &map("child", &owners)),
        "configmap/child created\n"
    );
    server.says(
        "delete configmap owner -n n --cascade=foreground",
        "configmap \"owner\" deleted",
    );
    server.says(
        "get configmap child -n n",
        "Error from server (NotFound): configmaps \"child\" not found",
    );
    server.says("delete namespace n", "namespace \"n\" deleted");
    server.says(
        "get namespace n",
        "Error from server (NotFound): namespaces \"n\" not found",
    );
    server.says("get configmaps -n n -o name", "");
}
