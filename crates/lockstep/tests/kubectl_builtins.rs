//! What kubectl needs to know about kinds before it sends them, and how it sends them, on the real binary: protobuf bodies
//! and OpenAPI (api-machinery.md T1, T3, T4).

#![expect(clippy::unwrap_used, reason = "what a test cannot do is a failure")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const CRD: &str = r#"{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
  "metadata": {"name": "widgets.ex.io"},
  "spec": {"group": "ex.io", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
    "versions": [{"name": "v1", "served": true, "storage": true,
      "schema": {"openAPIV3Schema": {"type": "object", "description": "A widget.", "properties": {"spec": {"type": "object",
        "required": ["size"], "description": "What is wanted.",
        "properties": {"size": {"type": "integer", "description": "How large."},
          "colour": {"type": "string", "enum": ["red", "blue"]}}}}}}}]}}"#;
const WIDGET: &str = r#"{"apiVersion": "ex.io/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": 1}}"#;
const CONFIG_MAP: &str =
    r#"{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"k": "v"}}"#;

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

/// T1: kubectl sends these as protobuf since 1.32.
#[test]
fn kubectl_creates_built_in_kinds_from_its_own_commands() {
    let folder = tempfile::tempdir().unwrap();
    let Some(server) = server(folder.path()) else {
        return;
    };
    server.says(
        "create configmap a --from-literal=k=v",
        "configmap/a created",
    );
    server.says("get configmap a -o jsonpath={.data}", r#"{"k":"v"}"#);
    server.says(
        "create secret generic s --from-literal=p=q",
        "secret/s created",
    );
    server.says("get secret s -o jsonpath={.data.p}{.type}", "cQ==Opaque");
    server.says("create namespace other", "namespace/other created");
    server.says(
        "create serviceaccount robot",
        "serviceaccount/robot created",
    );
    server.says(
        "create role r --verb=get,list --resource=configmaps",
        "role.rbac.authorization.k8s.io/r created",
    );
    server.says(
        "get role r -o jsonpath={.rules}",
        r#"[{"apiGroups":[""],"resources":["configmaps"],"verbs":["get","list"]}]"#,
    );
    server.says(
        "create rolebinding b --role=r --serviceaccount=default:robot",
        "rolebinding.rbac.authorization.k8s.io/b created",
    );
    server.says(
        "create clusterrolebinding b --clusterrole=view --user=u",
        "clusterrolebinding.rbac.authorization.k8s.io/b created",
    );
    server.says(
        "auth can-i list configmaps --as=system:serviceaccount:default:robot",
        "yes",
    );
    server.says("delete secret s", "secret \"s\" deleted");
}

/// T3, T4: no flag turns validation off here.
#[test]
fn kubectl_validates_and_explains_with_what_the_server_publishes() {
    let folder = tempfile::tempdir().unwrap();
    let Some(server) = server(folder.path()) else {
        return;
    };
    let create = |input: &str| server.kubectl("create -f -", input);
    assert_eq!(
        create(CRD),
        "customresourcedefinition.apiextensions.k8s.io/widgets.ex.io created\n"
    );
    assert_eq!(create(WIDGET), "widget.ex.io/w created\n");
    let misspelt = WIDGET.replace("\"w\"", "\"x\"").replace("size", "sise");
    let said = create(&misspelt);
    assert!(
        said.contains("strict decoding error: unknown field \"spec.sise\""),
        "{said}"
    );
    let misspelt = CONFIG_MAP.replace("\"data\"", "\"date\"");
    let said = create(&misspelt);
    assert!(
        said.contains("strict decoding error: unknown field \"date\""),
        "{said}"
    );
    let said = server.kubectl("apply --dry-run=client -f -", CONFIG_MAP);
    assert_eq!(said, "configmap/c created (dry run)\n");
    assert_eq!(create(CONFIG_MAP), "configmap/c created\n");

    let explained = "GROUP:      ex.io\nKIND:       Widget\nVERSION:    v1\n\nFIELD: spec <Object>\n\n\n\
        DESCRIPTION:\n    What is wanted.\n    \nFIELDS:\n  colour\t<string>\n  enum: red, blue\n    \
        <no description>\n\n  size\t<integer> -required-\n    How large.";
    server.says("explain widget.spec", explained);
    // The form that older clients read.
    let explained = "KIND:     Widget\nVERSION:  ex.io/v1\n\nRESOURCE: spec <Object>\n\nDESCRIPTION:\n     \
        What is wanted.\n\nFIELDS:\n   colour\t<string>\n\n   size\t<integer> -required-\n     How large.";
    server.says(
        "explain widget.spec --output plaintext-openapiv2",
        explained,
    );
    let explained = "KIND:       ConfigMap\nVERSION:    v1\n\nFIELD: data <map[string]string>\n\n\nDESCRIPTION:\n    <empty>";
    server.says("explain configmap.data", explained);

    // A second apply computes its patch with the published schema.
    let apply = |size: &str| {
        let sized = WIDGET.replace("\"size\": 1", &format!("\"size\": {size}"));
        server.kubectl("apply -f -", &sized)
    };
    let first = apply("2");
    assert!(first.starts_with("widget.ex.io/w configured\n"), "{first}");
    assert_eq!(apply("3"), "widget.ex.io/w configured\n");
    server.says("get widget w -o jsonpath={.spec.size}", "3");
    server.says(
        "delete crd widgets.ex.io",
        "customresourcedefinition.apiextensions.k8s.io \"widgets.ex.io\" deleted",
    );
    let said = server.kubectl("explain widget", "");
    assert!(
        said.contains("couldn't find resource") || said.contains("doesn't have a resource type"),
        "{said}"
    );
}
