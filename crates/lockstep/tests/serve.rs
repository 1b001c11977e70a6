//! The server as a process: start, signals, exit codes, files.

#![expect(clippy::unwrap_used, reason = "what a test cannot do is a failure")]

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};

use lockstep_testkit::processes::Process;

fn lockstep(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lockstep"));
    for (name, _) in std::env::vars_os() {
        let name_text = name.to_string_lossy();
        if name_text.starts_with("LOCKSTEP_")
            || name_text == "KUBECONFIG"
            || name_text == "RUST_LOG"
        {
            command.env_remove(&name);
        }
    }
    command.args(arguments);
    command
}

/// A running server, and its first output.
struct Server {
    process: Process,
    url: String,
    announced: String,
}

impl Server {
    /// Starts a server whose log is discarded.
    fn start(folder: &Path, more: &[&str]) -> Self {
        let server = Self::logged(folder, more);
        Self {
            process: server.process.drained(),
            ..server
        }
    }

    /// Starts a server whose log is kept until its end.
    fn logged(folder: &Path, more: &[&str]) -> Self {
        let data = folder.join("data");
        let mut arguments = vec![
            "serve",
            "--secure-port",
            "0",
            "--data-dir",
            data.to_str().unwrap(),
        ];
        arguments.extend(more);
        let (process, announced) = Process::start(&mut lockstep(&arguments), &["  try  "]).unwrap();
        let url = announced
            .lines()
            .find_map(|line| line.strip_prefix("  server      "));
        let url = url.unwrap().to_owned();
        Self {
            process,
            url,
            announced,
        }
    }

    fn signal(&self, name: &str) {
        self.process.signal(name);
    }

    fn end(self) -> Option<i32> {
        self.process.wait().0
    }
}

fn run(arguments: &[&str]) -> (Option<i32>, String) {
    let Output { status, stderr, .. } = lockstep(arguments).output().unwrap();
    (status.code(), String::from_utf8(stderr).unwrap())
}

/// feature-gates.md §9/log.
#[test]
fn a_server_starts_on_nothing_and_ends_by_a_signal() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let kubeconfig = folder.path().join("data/admin.kubeconfig");
    let shown = kubeconfig.display();
    assert!(
        server
            .announced
            .contains(&format!("\n  try         kubectl --kubeconfig {shown} "))
    );
    assert_eq!(
        kubeconfig.metadata().unwrap().permissions().mode() & 0o777,
        0o600
    );
    let log: Vec<&str> = server
        .announced
        .lines()
        .filter(|line| line.contains(" emulates "))
        .collect();
    assert_eq!(log.len(), 2, "one line for each component: {log:?}");
    server.signal("TERM");
    assert_eq!(server.end(), Some(0));
}

/// feature-gates.md §5/run-time: no signal changes a gate, and what is a warning is logged (§9).
#[test]
fn a_hangup_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let flags = [
        "--feature-gates",
        "WatchList=false,CRDValidationRatcheting=true",
        "--removed-feature-gates=warn",
    ];
    let server = Server::start(folder.path(), &flags);
    let warning = "ignoring feature gate removed in 1.36, delete it from the configuration featureGate=CRDValidationRatcheting value=true";
    assert_eq!(server.announced.matches(warning).count(), 1);
    let kubeconfig = folder.path().join("data/admin.kubeconfig");
    let list = || {
        let arguments = ["features", "list", "-o", "json", "--kubeconfig"];
        let mut command = lockstep(&arguments);
        command.arg(&kubeconfig).output().unwrap()
    };
    let before = list();
    assert_eq!(before.status.code(), Some(0));
    server.signal("HUP");
    assert_eq!(list(), before);
    server.signal("TERM");
    assert_eq!(server.end(), Some(0));
}

/// Another program may rename the audit log and send SIGHUP: later events are in a new file.
#[test]
fn a_hangup_opens_the_audit_log_again() {
    let folder = tempfile::tempdir().unwrap();
    let policy = folder.path().join("policy.yaml");
    let rules = "{apiVersion: audit.k8s.io/v1, kind: Policy, rules: [{level: Metadata}]}";
    std::fs::write(&policy, rules).unwrap();
    let log = folder.path().join("audit.log");
    let flags = [
        "--audit-policy-file",
        policy.to_str().unwrap(),
        "--audit-log-path",
        log.to_str().unwrap(),
        "--audit-log-maxsize",
        "0",
    ];
    let server = Server::start(folder.path(), &flags);
    let kubeconfig = folder.path().join("data/admin.kubeconfig");
    std::fs::rename(&log, folder.path().join("audit.log.1")).unwrap();
    server.signal("HUP");
    lockstep_testkit::wait::eventually_sync("the audit log is there again", || {
        let mut list = lockstep(&["features", "list", "--kubeconfig"]);
        list.arg(&kubeconfig).output().unwrap();
        let text = std::fs::read_to_string(&log).unwrap_or_default();
        lockstep_testkit::wait::holds(text.contains("\"level\":\"Metadata\""), text)
    });
    server.signal("TERM");
    assert_eq!(server.end(), Some(0));
}

/// A client that the server cannot understand is told in the log, with the reason; one that only connects is not.
#[test]
fn a_refused_handshake_is_logged_with_its_reason() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::logged(folder.path(), &[]);
    let address = server.url.strip_prefix("https://").unwrap();
    drop(TcpStream::connect(address).unwrap());
    let mut stream = TcpStream::connect(address).unwrap();
    // A record of a handshake whose message has an unknown type.
    stream
        .write_all(&[0x16, 3, 1, 0, 4, 0xff, 0, 0, 0])
        .unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    server.signal("TERM");
    let (code, log) = server.process.wait();
    assert_eq!(code, Some(0), "{log}");
    let refusals: Vec<&str> = log
        .lines()
        .filter(|line| line.contains("TLS handshake"))
        .collect();
    let [refusal] = refusals[..] else {
        panic!("{refusals:?}")
    };
    assert!(refusal.contains("WARN"), "{refusal}");
    assert!(refusal.contains("peer=127.0.0.1:"), "{refusal}");
    assert!(refusal.contains("error="), "{refusal}");
}

/// feature-gates.md §4/several: every error is reported once, and the server does not start.
#[test]
fn wrong_gates_end_a_start_with_status_64_before_anything_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let (code, told) = run(&[
        "serve",
        "--secure-port",
        "0",
        "--data-dir",
        data.to_str().unwrap(),
        "--feature-gates",
        "Nobody=true,WatchList=maybe,CRDValidationRatcheting=false",
    ]);
    let errors = "[unrecognized feature gate: CRDValidationRatcheting (removed in 1.36; it was locked to true since \
                  1.33; delete it from the configuration), unrecognized feature gate: Nobody, invalid value of WatchList=maybe]";
    assert_eq!(
        (code, told.matches(errors).count()),
        (Some(64), 1),
        "{told}"
    );
    assert!(!data.exists());
}

#[test]
fn a_second_signal_ends_a_server_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["--shutdown-delay-duration", "1h"]);
    server.signal("TERM");
    server.signal("INT");
    assert!(matches!(server.end(), Some(130 | 143)));
}

#[test]
fn a_second_server_on_a_directory_is_told_who_has_it() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let data = folder.path().join("data");
    let (code, told) = run(&[
        "serve",
        "--secure-port",
        "0",
        "--data-dir",
        data.to_str().unwrap(),
    ]);
    assert_eq!(code, Some(73), "{told}");
    let expected = format!(
        "data directory `{}` is in use by process {}, {}, since ",
        data.display(),
        server.process.id(),
        server.url
    );
    assert!(told.contains(&expected), "{told}");
}

#[test]
fn a_restart_has_the_same_authority_and_a_killed_server_leaves_no_lock() {
    let folder = tempfile::tempdir().unwrap();
    let authority = || std::fs::read(folder.path().join("data/pki/ca.crt")).unwrap();
    let server = Server::start(folder.path(), &[]);
    let before = authority();
    server.signal("KILL");
    assert_eq!(server.end(), None);
    let server = Server::start(folder.path(), &[]);
    assert_eq!(authority(), before);
    server.signal("INT");
    assert_eq!(server.end(), Some(0));
}

/// feature-gates.md §8/list: `--server`.
#[test]
fn the_features_of_a_running_server_are_listed() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(
        folder.path(),
        &[
            "--feature-gates",
            "CRDFieldLevelVersioning=true",
            "--emulated-version",
            "1.36",
        ],
    );
    let kubeconfig = folder.path().join("data/admin.kubeconfig");
    let kubeconfig = kubeconfig.to_str().unwrap();
    let list = |more: &[&str]| {
        let arguments = [
            &[
                "features",
                "list",
                "--stage",
                "alpha",
                "--enabled",
                "--no-headers",
            ],
            more,
        ]
        .concat();
        let Output {
            status,
            stdout,
            stderr,
        } = lockstep(&arguments).output().unwrap();
        let text = String::from_utf8([stdout, stderr].concat()).unwrap();
        let words: Vec<&str> = text.split_whitespace().collect();
        (status.code(), words.join(" "))
    };
    let expected = "kube CRDFieldLevelVersioning Alpha true false false 1.36 flag <none> <none>";
    for more in [
        &["--kubeconfig", kubeconfig][..],
        &["--kubeconfig", kubeconfig, "--server", &server.url],
    ] {
        assert_eq!(list(more), (Some(0), expected.to_owned()));
    }
    let (code, told) = list(&["--kubeconfig", kubeconfig, "--feature-gates", "A=true"]);
    assert_eq!(code, Some(2), "{told}");
    let text = std::fs::read_to_string(kubeconfig).unwrap();
    let nobody = text
        .replace("client-certificate-data", "x")
        .replace("client-key-data", "y");
    let nobody_file = folder.path().join("nobody.kubeconfig");
    std::fs::write(&nobody_file, nobody).unwrap();
    let (code, told) = list(&["--kubeconfig", nobody_file.to_str().unwrap()]);
    assert_eq!(code, Some(4), "{told}");
    assert!(
        told.contains("forbidden: User \"system:anonymous\" cannot get path \"/debug/features\""),
        "{told}"
    );
    server.signal("TERM");
    assert_eq!(server.end(), Some(0));
    let (code, told) = list(&["--kubeconfig", kubeconfig]);
    assert_eq!(code, Some(3), "{told}");
    assert!(
        told.starts_with("error: cannot reach https://127.0.0.1:"),
        "{told}"
    );
}

/// feature-gates.md §9/flagz: `/flagz` and `--print-config` show equal values.
#[test]
fn flags_shown_by_the_server_hide_passwords() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let (code, told) = run(&[
        "serve",
        "--data-dir",
        data.to_str().unwrap(),
        "--store",
        "etcd://user:password@host:2379",
    ]);
    assert_eq!(code, Some(64), "{told}");
    assert!(!told.contains("password"), "{told}");
    let secret = "etcd://user:password@host:2379";
    let mut shown = lockstep(&["serve", "--print-config", "--store", secret]);
    let shown = String::from_utf8(shown.output().unwrap().stdout).unwrap();
    let row = shown.lines().find(|line| line.starts_with("store "));
    let words: Vec<&str> = row.unwrap().split_whitespace().collect();
    assert_eq!(words, ["store", "CLASSIFIED", "flag"]);
    assert!(!shown.contains("password"), "{shown}");
}

/// ux.md §10, config: a flag beats its variable.
#[test]
fn the_effective_configuration_says_where_each_value_comes_from() {
    let output = lockstep(&["serve", "--print-config", "--bind-address=10.0.0.1"])
        .env("LOCKSTEP_SECURE_PORT", "7443")
        .env("LOCKSTEP_BIND_ADDRESS", "10.0.0.2")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0));
    let text = String::from_utf8(output.stdout).unwrap();
    let row = |name: &str| {
        let line = text
            .lines()
            .find(|line| line.split_whitespace().next() == Some(name));
        line.unwrap()
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(row("secure-port"), "secure-port 7443 env");
    assert_eq!(row("bind-address"), "bind-address 10.0.0.1 flag");
    assert_eq!(row("store"), "store embedded default");
    assert_eq!(row("client-ca-file"), "client-ca-file <none> default");
    let (code, told) = run(&["serve", "--print-config", "--secure-port", "x"]);
    assert_eq!(code, Some(64), "{told}");
}

/// api-machinery.md §4/transport: TLS 1.2 and later, HTTP/2 by ALPN and HTTP/1.1, as curl sees it.
#[test]
fn curl_speaks_every_allowed_version_and_no_older_one() {
    if Command::new("curl").arg("--version").output().is_err() {
        println!("SKIPPED: curl is not installed");
        return;
    }
    let speak = |server: &Server, folder: &Path, arguments: &[&str]| {
        let output = Command::new("curl")
            .args(["--silent", "--noproxy", "*", "--output", "/dev/null"])
            .args([
                "--write-out",
                "%{http_version} %{response_code}",
                "--cacert",
            ])
            .arg(folder.join("data/pki/ca.crt"))
            .args(arguments)
            .arg(format!("{}/version", server.url))
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    for (arguments, expected) in [
        (&[][..], "2 200"),
        (&["--http1.1"], "1.1 200"),
        (&["--tls-max", "1.2"], "2 200"),
        (&["--tlsv1.3"], "2 200"),
        (&["--tls-max", "1.1"], "0 000"),
    ] {
        assert_eq!(
            speak(&server, folder.path(), arguments),
            expected,
            "{arguments:?}"
        );
    }
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["--tls-min-version", "VersionTLS13"]);
    assert_eq!(
        speak(&server, folder.path(), &["--tls-max", "1.2"]),
        "0 000"
    );
    assert_eq!(speak(&server, folder.path(), &["--tlsv1.3"]), "2 200");
}

/// api-machinery.md §13/modes: nodes have the permissions that RBAC grants them, and no others.
#[test]
fn the_mode_of_nodes_is_taken_beside_another() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("refused");
    let (code, told) = run(&[
        "serve",
        "--secure-port",
        "0",
        "--data-dir",
        data.to_str().unwrap(),
        "--authorization-mode",
        "Node",
    ]);
    let expected = "`--authorization-mode Node` alone lets nobody in";
    assert_eq!((code, told.contains(expected)), (Some(64), true), "{told}");
    let server = Server::start(folder.path(), &["--authorization-mode", "Node,RBAC"]);
    server.signal("TERM");
    assert_eq!(server.end(), Some(0));
}

/// Priority and fairness divides the sum of the two limits; without it, 0 means no limit.
#[test]
fn a_server_without_seats_does_not_start() {
    let folder = tempfile::tempdir().unwrap();
    let none = [
        "--max-requests-inflight=0",
        "--max-mutating-requests-inflight=0",
    ];
    let data = folder.path().join("refused");
    let (data, port) = (data.to_str().unwrap(), "--secure-port=0");
    let (code, told) = run(&["serve", port, "--data-dir", data, none[0], none[1]]);
    let expected = "must add up to something positive";
    assert_eq!((code, told.contains(expected)), (Some(64), true), "{told}");
    let plain = ["--enable-priority-and-fairness=false", none[0], none[1]];
    let server = Server::start(folder.path(), &plain);
    server.signal("TERM");
    assert_eq!(server.end(), Some(0));
}

/// A real client, when there is one.
#[test]
fn kubectl_reads_the_version_with_the_kubeconfig() {
    let kubectl = std::env::var_os("LOCKSTEP_TEST_KUBECTL").unwrap_or_else(|| "kubectl".into());
    if Command::new(&kubectl)
        .args(["version", "--client"])
        .output()
        .is_err()
    {
        println!("SKIPPED: kubectl is not installed");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let _server = Server::start(folder.path(), &[]);
    let kubeconfig = folder.path().join("data/admin.kubeconfig");
    let output = Command::new(&kubectl)
        .arg("--kubeconfig")
        .arg(&kubeconfig)
        .args(["get", "--raw", "/version"])
        .output()
        .unwrap();
    let version: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(version["gitVersion"], "v1.36.4+lockstep.0.1.0");
}
