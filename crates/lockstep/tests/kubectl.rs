//! What people do with kubectl, on the real binary: built-in kinds and a custom resource.

#![expect(clippy::unwrap_used, reason = "what a test cannot do is a failure")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const CRD: &str = r#"{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
  "metadata": {"name": "widgets.ex.io"},
  "spec": {"group": "ex.io", "scope": "Namespaced",
    "names": {"plural": "widgets", "kind": "Widget", "shortNames": ["wd"]},
    "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
      "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object",
        "properties": {"size": {"type": "integer", "maximum": 5, "default": 1}}}}}}}]}}"#;
const WIDGET: &str =
    r#"{"apiVersion": "ex.io/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {}}"#;

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

    /// What kubectl prints, and whether it was content.
    fn kubectl(&self, arguments: &str, input: &str) -> (bool, String) {
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
        (output.status.success(), String::from_utf8(text).unwrap())
    }

    fn says(&self, arguments: &str, expected: &str) {
        let (_, said) = self.kubectl(arguments, "");
        assert_eq!(said.trim_end(), expected, "kubectl {arguments}");
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

#[test]
fn kubectl_works_on_namespaces_and_on_a_custom_resource() {
    let Some(kubectl) = kubectl() else {
        println!("SKIPPED: kubectl is not installed, so nobody drove the server as users do");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), kubectl);
    let create = "create --validate=false -f -";

    let (_, namespaces) = server.kubectl("get namespaces -o name", "");
    let expected = "namespace/default\nnamespace/kube-node-lease\nnamespace/kube-public\nnamespace/kube-system\n";
    assert_eq!(namespaces, expected);
    server.says("delete namespace default", "Error from server (Forbidden): namespaces \"default\" is forbidden: this namespace may not be deleted");

    let (_, said) = server.kubectl(create, CRD);
    assert_eq!(
        said,
        "customresourcedefinition.apiextensions.k8s.io/widgets.ex.io created\n"
    );
    let (_, said) = server.kubectl(create, WIDGET);
    assert_eq!(
        said, "widget.ex.io/w created\n",
        "a CRD is served when its write returns"
    );
    server.says("get wd w -o jsonpath={.spec}", r#"{"size":1}"#);
    let established = "wait --for condition=established --timeout=20s crd/widgets.ex.io";
    server.says(
        established,
        "customresourcedefinition.apiextensions.k8s.io/widgets.ex.io condition met",
    );
    server.says(
        r#"patch widget w --type=merge -p {"spec":{"size":9}}"#,
        "The Widget \"w\" is invalid: spec.size: Invalid value: 9: spec.size in body should be less than or equal to 5",
    );
    server.says(
        r#"patch widget w --type=merge -p {"spec":{"size":4}}"#,
        "widget.ex.io/w patched",
    );
    server.says(
        r#"patch widget w --type=json -p [{"op":"replace","path":"/spec/size","value":5}]"#,
        "widget.ex.io/w patched",
    );
    server.says("label widget w a=b", "widget.ex.io/w labeled");
    server.says("annotate widget w c=d", "widget.ex.io/w annotated");
    server.says("get widgets -l a=b -o name", "widget.ex.io/w");
    server.says("get widgets -l a!=b -o name", "");
    let (_, described) = server.kubectl("describe widget w", "");
    assert!(
        described.contains("Size:  5") && described.contains("Events:  <none>"),
        "{described}"
    );
    server.says("delete widget w", "widget.ex.io \"w\" deleted");
    server.says(
        "get widget w",
        "Error from server (NotFound): widgets.ex.io \"w\" not found",
    );
    server.says(
        "delete crd widgets.ex.io",
        "customresourcedefinition.apiextensions.k8s.io \"widgets.ex.io\" deleted",
    );
    let (worked, said) = server.kubectl("get widgets", "");
    assert!(!worked, "{said}");
}
