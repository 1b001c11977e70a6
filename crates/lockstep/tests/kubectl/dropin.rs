//! The program under the names of others, started, asked and stopped as controller-runtime's envtest
//! does it (api-machinery.md §16/names). Letters are of ux.md, as §3.1/E1.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use lockstep_testkit::processes::{Process, skipped};
use lockstep_testkit::wait::{eventually_sync, holds};

use crate::server::{Kubectl, row};

pub(crate) const WIDGETS: &str = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.ex.io}
spec:
  group: ex.io
  scope: Namespaced
  names: {plural: widgets, kind: Widget}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
";

pub(crate) fn lockstep(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lockstep"));
    command.args(arguments).output().unwrap()
}

pub(crate) fn text(output: Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The directory that `KUBEBUILDER_ASSETS` names.
fn assets(folder: &Path) -> PathBuf {
    let folder = folder.to_str().unwrap();
    let said = lockstep(&[
        "envtest",
        "use",
        "1.36.x",
        "-p",
        "path",
        "--bin-dir",
        folder,
    ]);
    PathBuf::from(text(said).trim_end())
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

/// Sends SIGTERM and returns the exit code.
fn stop(process: Process) -> Option<i32> {
    process.signal("TERM");
    process.wait().0
}

fn etcd(assets: &Path, folder: &Path, port: u16) -> Command {
    let mut command = Command::new(assets.join("etcd"));
    let url = format!("http://127.0.0.1:{port}");
    command
        .arg(format!("--advertise-client-urls={url}"))
        .arg(format!("--data-dir={}", folder.display()))
        .arg(format!("--listen-client-urls={url}"))
        .arg("--listen-peer-urls=http://localhost:0")
        .arg("--unsafe-no-fsync=true");
    command
}

/// Sends a GET over HTTP without TLS; none if the port is closed.
fn ask(port: u16, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    let question = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    stream.write_all(question.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    Some(answer)
}

/// Sends a GET over TLS, without credentials and without verifying the certificate.
fn anonymous(server: &str, path: &str) -> Option<String> {
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.enable_all().build().unwrap();
    runtime.block_on(async {
        let mut config = kube::Config::new(server.parse().unwrap());
        config.accept_invalid_certs = true;
        let client = kube::Client::try_from(config).unwrap();
        let question = hyper::Request::get(path).body(Vec::new()).unwrap();
        client.request_text(question).await.ok()
    })
}

/// The authority, the serving certificate and the administrator's of some server will do for another.
fn certificates(folder: &Path) -> PathBuf {
    let data = folder.join("issuer");
    let server = Process::start_silent(
        Command::new(env!("CARGO_BIN_EXE_lockstep"))
            .args(["serve", "--secure-port", "0", "--data-dir"])
            .arg(&data),
    );
    eventually_sync("a kubeconfig", || {
        holds(data.join("admin.kubeconfig").exists(), "no file")
    });
    assert_eq!(stop(server), Some(0));
    data.join("pki")
}

/// §3.1/E1.
#[test]
fn e1_help_names_flags_at_the_start_of_a_line() {
    let folder = tempfile::tempdir().unwrap();
    let assets = assets(folder.path());
    let lists = |program: &str, flag: &str| {
        let mut command = Command::new(assets.join(program));
        let help = text(command.arg("--help").output().unwrap());
        help.lines().any(|line| {
            let rest = line.trim_start().strip_prefix(flag);
            rest.is_some_and(|rest| !rest.starts_with(|next: char| next.is_alphanumeric()))
        })
    };
    assert!(lists("etcd", "--unsafe-no-fsync"));
    assert!(lists("kube-apiserver", "--etcd-servers"));
    assert!(!lists("kube-apiserver", "--insecure-port"));
}

#[test]
fn e2_to_e9_a_control_plane_starts_serves_and_stops() {
    let Some(kubectl) = Kubectl::find() else {
        skipped("kubectl is not installed, so nobody drove the drop-in");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (assets, pki) = (assets(folder.path()), certificates(folder.path()));
    // §3.1/E2, §3.1/E3.
    let store_port = free_port();
    let store = Process::start_silent(&mut etcd(&assets, &folder.path().join("etcd"), store_port));
    eventually_sync("a healthy store", || {
        let answer = ask(store_port, "/health").unwrap_or_default();
        holds(answer.starts_with("HTTP/1.1 200"), answer)
    });
    // §3.1/E4: `apiserver.crt` and `apiserver.key` in `--cert-dir` are used without further flags.
    let serving = folder.path().join("serving");
    fs::create_dir(&serving).unwrap();
    for name in ["apiserver.crt", "apiserver.key"] {
        fs::copy(pki.join(name), serving.join(name)).unwrap();
    }
    let port = free_port();
    let issuer = format!("https://127.0.0.1:{port}/");
    let signer = pki.join("apiserver").display().to_string();
    let server = Process::start_silent(
        Command::new(assets.join("kube-apiserver"))
            .arg("--allow-privileged=true")
            .arg("--authorization-mode=RBAC")
            .arg("--bind-address=127.0.0.1")
            .arg(format!("--cert-dir={}", serving.display()))
            .arg(format!("--client-ca-file={}", pki.join("ca.crt").display()))
            .arg("--disable-admission-plugins=ServiceAccount")
            .arg(format!("--etcd-servers=http://127.0.0.1:{store_port}"))
            .arg(format!("--secure-port={port}"))
            // The key of tokens comes as envtest makes it: a certificate, and the key it is about.
            .arg(format!("--service-account-issuer={issuer}"))
            .arg(format!("--service-account-key-file={signer}.crt"))
            .arg(format!("--service-account-signing-key-file={signer}.key"))
            .arg("--service-cluster-ip-range=10.0.0.0/24"),
    );
    let address = format!("https://127.0.0.1:{port}");
    fs::write(at("none"), "").unwrap();
    let run = |arguments: &[&str]| {
        let mut command = Command::new(&kubectl.program);
        command
            .env("KUBECONFIG", at("none"))
            .env("HOME", folder.path());
        command.arg("--server").arg(&address).args(arguments);
        let output = command.stdin(Stdio::null()).output().unwrap();
        let words = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8(words).unwrap())
    };
    // §3.1/E5: without credentials, and without knowing whom to trust.
    eventually_sync("a healthy server", || {
        let answer = anonymous(&address, "/healthz");
        holds(answer.as_deref() == Some("ok"), answer)
    });
    // §3.1/E6: a client certificate says who it is.
    let file = |name: &str| pki.join(name).to_str().unwrap().to_owned();
    let (ca, crt, key) = (file("ca.crt"), file("admin.crt"), file("admin.key"));
    let admin = |arguments: &str| {
        let who = ["--certificate-authority", &ca, "--client-certificate", &crt];
        let who = [&who[..], &["--client-key", &key]].concat();
        let words: Vec<&str> = arguments.split(' ').collect();
        run(&[&who[..], &words].concat())
    };
    // §16/crds: envtest waits for the namespace `default`, then installs CRDs.
    eventually_sync("the namespace default", || {
        let (is_there, said) = admin("get namespace default");
        holds(is_there, said)
    });
    fs::write(at("widgets.yaml"), WIDGETS).unwrap();
    let created = admin(&format!("create -f {}", at("widgets.yaml")));
    let expected = "customresourcedefinition.apiextensions.k8s.io/widgets.ex.io created\n";
    assert_eq!(created, (true, expected.to_owned()));
    let (_, listed) = admin("get --raw /apis/ex.io/v1");
    assert!(listed.contains("\"name\":\"widgets\""), "{listed}");
    // A suite that starts on a store with history replaces the CRD, with its resourceVersion.
    let replaced = admin(&format!("replace -f {}", at("widgets.yaml")));
    let expected = "customresourcedefinition.apiextensions.k8s.io/widgets.ex.io replaced\n";
    assert_eq!(replaced, (true, expected.to_owned()));
    // §3.1/E4: tokens are signed with that key, and believed.
    assert!(admin("create serviceaccount robot").0);
    fs::write(at("wish"), r#"{"spec": {}}"#).unwrap();
    let tokens = "/api/v1/namespaces/default/serviceaccounts/robot/token";
    let (_, made) = admin(&format!("create --raw {tokens} -f {}", at("wish")));
    let made: serde_json::Value = serde_json::from_str(&made).unwrap();
    let token = made["status"]["token"].as_str().unwrap();
    let asks = ["--certificate-authority", &ca, "--token", token];
    let asks = [&asks[..], &["auth", "can-i", "get", "/apis"]].concat();
    assert_eq!(run(&asks), (true, "yes\n".to_owned()));
    let (_, document) = admin("get --raw /.well-known/openid-configuration");
    let document: serde_json::Value = serde_json::from_str(&document).unwrap();
    assert_eq!(document["issuer"], issuer.as_str());
    // §3.1/E9: a namespace goes, with what is in it.
    assert!(admin("create namespace gone").0);
    assert!(admin("create configmap -n gone a").0);
    assert!(admin("delete namespace gone").0);
    let (_, left) = admin("get configmaps -n gone");
    assert_eq!(left, "No resources found in gone namespace.\n");
    let (_, shown) = admin("get namespaces");
    let shown: Vec<String> = shown.lines().map(row).collect();
    let expected = [
        "NAME STATUS AGE",
        "default Active AGE",
        "kube-node-lease Active AGE",
        "kube-public Active AGE",
        "kube-system Active AGE",
    ];
    assert_eq!(shown, expected);
    // §3.1/E7: with a watch open.
    let mut watch = Command::new(&kubectl.program);
    watch
        .env("KUBECONFIG", at("none"))
        .env("HOME", folder.path());
    watch.args(["--server", &address, "--certificate-authority", &ca]);
    watch.args(["--client-certificate", &crt, "--client-key", &key]);
    watch.args(["get", "namespaces", "-w", "-o", "name"]);
    let watch = watch.stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let mut watch = Process::from(watch.unwrap());
    let mut output = watch.output();
    let mut first = [0; 9];
    output.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"namespace");
    assert_eq!(stop(server), Some(0));
    assert_eq!(stop(store), Some(0));
}

/// §3.1/E2: flags as Go reads them, with one dash or two, and values after a sign or a space.
/// §3.1/E8.
#[test]
fn e8_a_server_ends_with_its_parent() {
    let folder = tempfile::tempdir().unwrap();
    let (assets, port) = (assets(folder.path()), free_port());
    let (program, data) = (assets.join("etcd"), folder.path().join("etcd"));
    let url = format!("http://127.0.0.1:{port}");
    let script = format!(
        "'{}' -data-dir '{}' --listen-client-urls {url} -advertise-client-urls={url} \
         --listen-peer-urls http://localhost:0 -unsafe-no-fsync & wait",
        program.display(),
        data.display()
    );
    let parent = Process::start_silent(
        Command::new("sh")
            .args(["-c", &script])
            .env("LOCKSTEP_DIE_WITH_PARENT", "1")
            .process_group(0),
    );
    eventually_sync("an answer", || ask(port, "/health").ok_or("none"));
    parent.kill();
    eventually_sync("the end of the server", || {
        let answer = ask(port, "/health");
        holds(answer.is_none(), answer)
    });
}

/// §3.1/use: where the directory is, as a path, as a line for a shell, and for people.
#[test]
fn the_directory_is_told_in_each_form() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().to_str().unwrap();
    let told = |more: &[&str]| {
        let words = ["envtest", "use", "--bin-dir", place];
        text(lockstep(&[&words[..], more].concat()))
    };
    let path = told(&["-p", "path"]);
    let path = path.trim_end();
    assert_eq!(path, assets(folder.path()).to_str().unwrap());
    let line = format!("export KUBEBUILDER_ASSETS='{path}'\n");
    assert_eq!(told(&["-p", "env"]), line);
    let overview = told(&[]);
    let lines: Vec<&str> = overview.lines().collect();
    assert_eq!(lines[0], "Version: 1.36.4");
    assert_eq!(lines[2], format!("Path: {path}"));
    for name in ["etcd", "kube-apiserver"] {
        let target = fs::read_link(Path::new(path).join(name)).unwrap();
        let program = Path::new(env!("CARGO_BIN_EXE_lockstep"));
        assert_eq!(
            target.canonicalize().unwrap(),
            program.canonicalize().unwrap()
        );
    }
    let other = lockstep(&["envtest", "use", "1.30.x", "--bin-dir", place]);
    assert_eq!(other.status.code(), Some(1));
}

/// §3.1/E10: every flag that the other program lists is known here.
#[test]
fn e10_no_flag_of_kube_apiserver_is_unknown() {
    let Some(program) = std::env::var_os("LOCKSTEP_BENCH_KUBE_APISERVER") else {
        skipped("LOCKSTEP_BENCH_KUBE_APISERVER names no kube-apiserver to compare flags with");
        return;
    };
    let names = |program: &mut Command| {
        let help = text(program.arg("--help").output().unwrap());
        let names = help.split_whitespace().filter_map(|word| {
            let name = word.strip_prefix("--")?;
            let end = name.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-');
            Some(name[..end.unwrap_or(name.len())].to_owned())
        });
        names.collect::<std::collections::BTreeSet<String>>()
    };
    let folder = tempfile::tempdir().unwrap();
    let ours = names(&mut Command::new(
        assets(folder.path()).join("kube-apiserver"),
    ));
    let theirs = names(&mut Command::new(program));
    let unknown: Vec<&String> = theirs
        .difference(&ours)
        // A text may speak of all flags that begin alike.
        .filter(|name| !matches!(name.as_str(), "help" | "version") && !name.ends_with('-'))
        .collect();
    assert!(theirs.len() > 100, "{theirs:?}");
    assert_eq!(unknown, Vec::<&String>::new());
}
