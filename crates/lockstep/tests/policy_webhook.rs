//! The policy webhook as a process: mutating-admission.md §3.8.

#![expect(clippy::unwrap_used, reason = "what a test cannot do is a failure")]

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use lockstep_testkit::client::{Client, Identity};
use lockstep_testkit::processes::Process;
use lockstep_testkit::wait::eventually;
use serde_json::json;

const POLICY: &str = include_str!("cmd/policy/team-label.yaml");

fn lockstep() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lockstep"));
    command.env_remove("RUST_LOG").env_remove("KUBECONFIG");
    command
}

/// The verdict about a config map of this team, and the registration that was printed.
async fn is_allowed(client: &mut Client, team: &str) -> bool {
    let review = json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {
            "uid": "u",
            "kind": { "group": "", "version": "v1", "kind": "ConfigMap" },
            "resource": { "group": "", "version": "v1", "resource": "configmaps" },
            "operation": "CREATE", "name": "c", "namespace": "default",
            "userInfo": { "username": "alice" },
            "object": {
                "apiVersion": "v1", "kind": "ConfigMap",
                "metadata": { "name": "c", "namespace": "default", "labels": { "team": team } },
            },
        },
    });
    let answer = client.write("POST", "/validate", &review).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.json()["response"]["allowed"] == true
}

fn start(folder: &Path) -> (Process, u16) {
    let mut command = lockstep();
    command
        .args(["policy", "webhook", "--listen", "127.0.0.1:0", "--cert-dir"])
        .arg(folder.join("certificates"))
        .arg("--policies")
        .arg(folder.join("policies"))
        .stdout(std::fs::File::create(folder.join("registration.yaml")).unwrap());
    let (process, said) = Process::start(&mut command, &["policy webhook on https://"]).unwrap();
    let line = said.lines().last().unwrap();
    let port = line.rsplit(':').next().unwrap().parse().unwrap();
    (process.drained(), port)
}

/// mutating-admission.md §3.8: certificates are made, files are reloaded as a whole or not at all.
#[tokio::test]
async fn a_webhook_makes_certificates_registers_itself_and_reloads_files_as_a_whole() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("policies/policy.yaml");
    std::fs::create_dir(folder.path().join("policies")).unwrap();
    std::fs::write(&file, POLICY).unwrap();
    let (process, port) = start(folder.path());
    let certificates = folder.path().join("certificates");
    for name in ["ca.key", "tls.key"] {
        let mode = std::fs::metadata(certificates.join(name))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    let registration = std::fs::read_to_string(folder.path().join("registration.yaml")).unwrap();
    for expected in [
        "MutatingWebhookConfiguration",
        "ValidatingWebhookConfiguration",
        "caBundle: ",
    ] {
        assert!(registration.contains(expected), "{registration}");
    }
    let authority = std::fs::read(certificates.join("ca.crt")).unwrap();
    let address = ([127, 0, 0, 1], port).into();
    let mut client = Client::connect(address, &authority, None, "h2").await;
    assert!(!is_allowed(&mut client, "nobody").await);

    let has = |line: &'static str| {
        move |answer: &lockstep_testkit::client::Answer| answer.body.contains(line)
    };
    std::fs::write(&file, format!("{POLICY}\n---\nkind: [")).unwrap();
    process.signal("HUP");
    let failed = r#"lockstep_policy_webhook_loads_total{result="failure"}"#;
    client.get_until("/metrics", has(failed)).await;
    assert!(!is_allowed(&mut client, "nobody").await);
    let wider = POLICY.replace(r#"["payments","#, r#"["nobody", "payments","#);
    std::fs::write(&file, wider).unwrap();
    process.signal("HUP");
    let loaded = r#"lockstep_policy_webhook_loads_total{result="success"} 2"#;
    client.get_until("/metrics", has(loaded)).await;
    assert!(is_allowed(&mut client, "nobody").await);
    process.signal("TERM");
    let ended = tokio::task::spawn_blocking(|| process.wait());
    assert_eq!(ended.await.unwrap().0, Some(143));
}

/// The client of the administrator of a server, and its kubeconfig.
async fn server(folder: &Path) -> (Process, Client, std::path::PathBuf) {
    let data = folder.join("data");
    let mut command = lockstep();
    command
        .args(["serve", "--secure-port", "0", "--data-dir"])
        .arg(&data);
    let (process, said) = Process::start(&mut command, &["  try  "]).unwrap();
    let mut lines = said.lines();
    let url = lines
        .find_map(|line| line.strip_prefix("  server      https://"))
        .unwrap();
    let port = url
        .rsplit(':')
        .next()
        .unwrap()
        .trim()
        .parse::<u16>()
        .unwrap();
    let read = |name: &str| std::fs::read(data.join("pki").join(name)).unwrap();
    let identity = Identity::from_pem(&read("admin.crt"), &read("admin.key"));
    let address = ([127, 0, 0, 1], port).into();
    let client = Client::connect(address, &read("ca.crt"), Some(identity), "h2").await;
    (process.drained(), client, data.join("admin.kubeconfig"))
}

/// mutating-admission.md §3.8: policies of a cluster are in force after their write, and parameters with them.
#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_follows_the_policies_and_parameters_of_a_cluster() {
    let folder = tempfile::tempdir().unwrap();
    let (_server, mut admin, kubeconfig) = server(folder.path()).await;
    let create = async |admin: &mut Client, path: &str, text: &str| {
        let yaml = [("content-type", "application/yaml")];
        let answer = admin.send("POST", path, &yaml, text.to_owned()).await;
        assert!(
            matches!(answer.status.as_u16(), 201 | 409),
            "{}",
            answer.body
        );
    };
    let definitions = include_str!("../../../examples/policy-webhook/crds.yaml");
    for definition in definitions.split("---\n") {
        let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        create(&mut admin, path, definition).await;
    }
    let mut command = lockstep();
    command
        .args(["policy", "webhook", "--listen", "127.0.0.1:0", "--cert-dir"])
        .arg(folder.path().join("certificates"))
        .arg("--kubeconfig")
        .arg(&kubeconfig);
    let (process, said) = Process::start(&mut command, &["policy webhook on https://"]).unwrap();
    let line = said.lines().last().unwrap();
    let port = line.rsplit(':').next().unwrap().parse::<u16>().unwrap();
    let process = process.drained();
    let authority = std::fs::read(folder.path().join("certificates/ca.crt")).unwrap();
    let address = ([127, 0, 0, 1], port).into();
    let mut client = Client::connect(address, &authority, None, "h2").await;
    client
        .get_until("/readyz", |answer| answer.status == 200)
        .await;
    assert!(is_allowed(&mut client, "nobody").await);

    let own = |kind: &str, spec: &str| {
        format!(
            "apiVersion: policy.lockstep.dev/v1\nkind: {kind}\nmetadata: {{name: teams}}\nspec: {spec}\n"
        )
    };
    let policy = own(
        "ValidatingAdmissionPolicy",
        r#"
  paramKind: {apiVersion: v1, kind: ConfigMap}
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}
  validations:
  - expression: object.metadata.labels.team in params.data.teams.split(",")"#,
    );
    let binding = own(
        "ValidatingAdmissionPolicyBinding",
        r"
  policyName: teams
  validationActions: [Deny]
  paramRef: {name: teams, namespace: default, parameterNotFoundAction: Deny}",
    );
    let group = "/apis/policy.lockstep.dev/v1";
    create(
        &mut admin,
        &format!("{group}/validatingadmissionpolicies"),
        &policy,
    )
    .await;
    create(
        &mut admin,
        &format!("{group}/validatingadmissionpolicybindings"),
        &binding,
    )
    .await;
    create(
        &mut admin,
        "/api/v1/namespaces",
        "apiVersion: v1\nkind: Namespace\nmetadata: {name: default}",
    )
    .await;
    let teams = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: teams}\ndata: {teams: payments}";
    create(&mut admin, "/api/v1/namespaces/default/configmaps", teams).await;
    eventually("the policy denies by its parameter", async || {
        let found = (
            is_allowed(&mut client, "payments").await,
            is_allowed(&mut client, "nobody").await,
        );
        if found == (true, false) {
            Ok(())
        } else {
            Err(found)
        }
    })
    .await;
    let merge = [("content-type", "application/merge-patch+json")];
    let path = "/api/v1/namespaces/default/configmaps/teams";
    admin
        .send("PATCH", path, &merge, r#"{"data":{"teams":"nobody"}}"#)
        .await;
    eventually("the changed parameter is seen", async || {
        let found = is_allowed(&mut client, "nobody").await;
        if found { Ok(()) } else { Err(found) }
    })
    .await;
    process.signal("TERM");
    let ended = tokio::task::spawn_blocking(|| process.wait());
    assert_eq!(ended.await.unwrap().0, Some(143));
}

#[test]
fn a_webhook_does_not_start_with_policies_that_are_not_valid() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("policy.yaml");
    std::fs::write(&file, POLICY.replace("object.", "objekt.")).unwrap();
    let mut command = lockstep();
    let ended = command
        .args(["policy", "webhook", "--listen", "127.0.0.1:0", "--policies"])
        .arg(&file)
        .current_dir(folder.path())
        .output()
        .unwrap();
    let said = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(2), "{said}");
    assert!(said.contains("policy.yaml:"), "{said}");
}

/// mutating-admission.md §8: stored objects are listed in pages; the exit code says whether one would be denied.
#[tokio::test(flavor = "multi_thread")]
async fn a_scan_of_a_server_finds_objects_that_policies_would_change_or_deny() {
    let folder = tempfile::tempdir().unwrap();
    let (_server, mut admin, kubeconfig) = server(folder.path()).await;
    let yaml = [("content-type", "application/yaml")];
    let namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: scanned}";
    admin
        .send("POST", "/api/v1/namespaces", &yaml, namespace)
        .await;
    for team in ["payments", "nobody"] {
        let map = format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {team}, labels: {{team: {team}}}}}"
        );
        let path = "/api/v1/namespaces/scanned/configmaps";
        let answer = admin.send("POST", path, &yaml, map).await;
        assert_eq!(answer.status, 201, "{}", answer.body);
    }
    let file = folder.path().join("policy.yaml");
    std::fs::write(&file, POLICY).unwrap();
    let scan = |more: &[&str]| {
        let mut command = lockstep();
        command
            .args([
                "policy",
                "scan",
                "--server",
                "--operation",
                "create",
                "--quiet",
            ])
            .args(["--chunk-size", "2", "--rate", "50", "--kubeconfig"])
            .arg(&kubeconfig)
            .arg("-f")
            .arg(&file)
            .args(more);
        let ended = command.output().unwrap();
        (
            ended.status.code(),
            String::from_utf8(ended.stdout).unwrap(),
        )
    };
    let (code, table) = scan(&[]);
    assert_eq!(code, Some(1), "{table}");
    assert!(table.contains("v1 ConfigMap/nobody"), "{table}");
    assert!(!table.contains("v1 ConfigMap/payments"), "{table}");
    let (code, report) = scan(&["-o", "openreports", "--exit-zero"]);
    assert_eq!(code, Some(0), "{report}");
    for expected in [
        "apiVersion: openreports.io/v1alpha1",
        "kind: Report",
        "namespace: scanned",
        "result: fail",
    ] {
        assert!(report.contains(expected), "{expected}: {report}");
    }
}

/// Files that are no policies, too large, too deep, or not text: each command refuses them with 2.
#[test]
fn hostile_files_are_refused_by_every_command() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::create_dir(at("empty")).unwrap();
    std::fs::write(at("bytes.yaml"), b"\xff\xfe\0bad").unwrap();
    std::fs::write(at("large.yaml"), "a".repeat(4 << 20)).unwrap();
    std::fs::write(
        at("deep.yaml"),
        format!("{}{}", "[".repeat(5000), "]".repeat(5000)),
    )
    .unwrap();
    let mut aliases = "a: &a [x,x,x,x,x,x,x,x,x]\n".to_owned();
    for (name, before) in ["b", "c", "d", "e", "f"]
        .iter()
        .zip(["a", "b", "c", "d", "e"])
    {
        let nine = vec![format!("*{before}"); 9].join(",");
        aliases.push_str(&format!("{name}: &{name} [{nine}]\n"));
    }
    std::fs::write(at("aliases.yaml"), aliases).unwrap();
    std::fs::write(at("policy.yaml"), POLICY).unwrap();
    let policy = at("policy.yaml");
    let policy = policy.to_str().unwrap();
    let commands: [&[&str]; 8] = [
        &["eval", "-f", policy],
        &["scan", "-f", policy],
        &["lint"],
        &["test"],
        &["fmt", "--check"],
        &["convert"],
        &["export", "--target", "upstream"],
        &["webhook-config", "-f"],
    ];
    for name in [
        "empty",
        "bytes.yaml",
        "large.yaml",
        "deep.yaml",
        "aliases.yaml",
        "absent.yaml",
    ] {
        for arguments in commands {
            let mut command = lockstep();
            let ended = command
                .arg("policy")
                .args(arguments)
                .arg(at(name))
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&ended.stderr);
            assert_eq!(ended.status.code(), Some(2), "{arguments:?} {name}: {said}");
        }
    }
}
