//! Two server processes on one store: each shows the other's writes, and only one of them runs the
//! controllers.

#![expect(clippy::unwrap_used, reason = "what a test cannot do is a failure")]

use std::ffi::OsString;
use std::io::Write as _;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use lockstep_testkit::processes::Process;
use lockstep_testkit::wait::eventually_sync;

/// A store for several servers, and where it is.
fn store(folder: &Path, program: &Path, first: &[&str]) -> (Process, String) {
    let free = || {
        let probe = TcpListener::bind("127.0.0.1:0").unwrap();
        probe.local_addr().unwrap().port()
    };
    // Another process may take a port before the store does; then other ports are tried.
    for attempt in 0..20 {
        let (port, peer) = (free(), free());
        let url = format!("http://127.0.0.1:{port}");
        let mut command = Command::new(program);
        command.args(first).arg("--data-dir");
        command.arg(folder.join(format!("store-{attempt}")));
        command.args(["--listen-client-urls", &url]);
        if first.is_empty() {
            let peer = format!("http://127.0.0.1:{peer}");
            command.args(["--advertise-client-urls", &url, "--listen-peer-urls", &peer]);
        }
        let serves = ["ready to serve client requests", "published"];
        if let Ok((process, _)) = Process::start(&mut command, &serves) {
            return (process.drained(), format!("etcd://127.0.0.1:{port}"));
        }
    }
    panic!("the store does not become ready");
}

/// A server and the kubectl of its administrator.
struct Server {
    process: Process,
    kubeconfig: PathBuf,
    kubectl: OsString,
}

impl Server {
    fn start(folder: &Path, store: &str, kubectl: &OsString) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lockstep"));
        command.args(["serve", "--secure-port", "0", "--store", store]);
        command.arg("--data-dir").arg(folder);
        let (process, _) = Process::start(&mut command, &["  try  "]).unwrap();
        Self {
            process: process.drained(),
            kubeconfig: folder.join("admin.kubeconfig"),
            kubectl: kubectl.clone(),
        }
    }

    fn kubectl(&self, arguments: &str, input: &str) -> String {
        let mut child = Command::new(&self.kubectl)
            .env("KUBECONFIG", &self.kubeconfig)
            .args(arguments.split(' '))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(input.as_bytes()).unwrap();
        drop(stdin);
        let output = child.wait_with_output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    }

    fn make_namespace(&self, name: &str) {
        let namespace =
            format!(r#"{{"apiVersion":"v1","kind":"Namespace","metadata":{{"name":"{name}"}}}}"#);
        let said = self.kubectl("create --validate=false -f -", &namespace);
        assert_eq!(said, format!("namespace/{name} created\n"));
    }

    /// Runs kubectl until its output is as wanted.
    fn until(&self, arguments: &str, is_wanted: impl Fn(&str) -> bool) -> String {
        eventually_sync(arguments, || {
            let said = self.kubectl(arguments, "");
            if is_wanted(&said) {
                Ok(said)
            } else {
                Err(said)
            }
        })
    }
}

/// Checks that a write through one server is read at once through the other, and that controllers run on one of them.
#[expect(clippy::print_stdout, reason = "a skipped test says so")]
fn check(program: &Path, first: &[&str]) {
    let kubectl = std::env::var_os("LOCKSTEP_TEST_KUBECTL").unwrap_or_else(|| "kubectl".into());
    if Command::new(&kubectl).arg("help").output().is_err() {
        println!("SKIPPED: kubectl is not installed, so nobody talked to two servers");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (_store, address) = store(folder.path(), program, first);
    let one = Server::start(&folder.path().join("one"), &address, &kubectl);
    let two = Server::start(&folder.path().join("two"), &address, &kubectl);
    let leases = "get leases -n kube-system -o jsonpath={.items[*].metadata.name}";
    let names = one.until(leases, |names| names.split(' ').count() == 3);
    assert!(names.ends_with(" lockstep-controllers"), "{names}");

    one.make_namespace("first");
    let phase = "get namespace first -o jsonpath={.status.phase}";
    assert_eq!(two.kubectl(phase, ""), "Active", "it is read at once");
    let account = "get serviceaccounts -n first -o name";
    two.until(account, |said| said == "serviceaccount/default\n");
    let holder = "get lease lockstep-controllers -n kube-system -o jsonpath={.spec.holderIdentity}";
    let before = two.kubectl(holder, "");
    // The server that holds the controllers' lease is stopped; the other takes over.
    let identity = |server: &Server| {
        let names = "get leases -n kube-system -o jsonpath={.items[*].spec.holderIdentity}";
        server.kubectl(names, "")
    };
    assert!(identity(&one).contains(&before));
    let Server { process, .. } = one;
    process.signal("TERM");
    assert_eq!(process.wait().0, Some(0));
    let after = two.until(holder, |now| !now.is_empty());
    let left = two.until(leases, |names| names.split(' ').count() == 2);
    assert!(left.ends_with(" lockstep-controllers"), "{left}");
    assert!(left.starts_with(after.split('_').next().unwrap()), "{left}");
    two.make_namespace("second");
    let account = "get serviceaccounts -n second -o name";
    two.until(account, |said| said == "serviceaccount/default\n");
    assert_eq!(
        two.kubectl("delete namespace first second", ""),
        "namespace \"first\" deleted\nnamespace \"second\" deleted\n"
    );
}

#[test]
fn two_servers_on_our_own_store_are_one_cluster() {
    check(Path::new(env!("CARGO_BIN_EXE_lockstep")), &["store"]);
}

#[test]
fn two_servers_on_etcd_are_one_cluster() {
    let etcd = std::env::var_os("LOCKSTEP_TEST_ETCD").unwrap_or_else(|| "etcd".into());
    if Command::new(&etcd).arg("--version").output().is_err() {
        println!("SKIPPED: etcd is not installed, so no two servers shared one");
        return;
    }
    check(Path::new(&etcd), &[]);
}
