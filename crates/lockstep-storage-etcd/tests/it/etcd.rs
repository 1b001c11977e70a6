//! Real etcd processes that a test starts, kills and restarts.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use lockstep_storage_etcd::{EtcdStore, Options};
use lockstep_testkit::processes::Process;
use tempfile::TempDir;

/// Timeout of etcd's start.
const START_MAX: Duration = Duration::from_secs(30);
/// Attempts to start, because a free port may be taken meanwhile.
const STARTS_MAX: usize = 5;

/// Log lines of a serving member; the first since etcd 3.5, the second in all versions.
const SERVES: [&str; 2] = [
    "ready to serve client requests",
    "published local member to cluster",
];

/// An installed etcd.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Release {
    /// The distribution's package.
    Packaged,
    /// A newer version.
    Newer,
}

impl Release {
    /// The version reported by the program.
    pub(crate) fn version(program: &Path) -> String {
        let said = Command::new(program).arg("--version").output();
        let said = String::from_utf8(said.expect("etcd runs").stdout).expect("etcd says text");
        let version = said
            .lines()
            .find_map(|line| line.strip_prefix("etcd Version: "));
        version.expect("etcd says its version").to_owned()
    }

    /// Path of the program; prints a message if it is missing.
    pub(crate) fn program(self) -> Option<PathBuf> {
        let (variable, in_path) = match self {
            Self::Packaged => ("LOCKSTEP_TEST_ETCD", find_in_path("etcd")),
            Self::Newer => ("LOCKSTEP_TEST_ETCD_NEWER", None),
        };
        let found = std::env::var_os(variable).map(PathBuf::from).or(in_path);
        if found.is_none() {
            println!("SKIPPED: the store on etcd was not compared with it; set {variable}");
        }
        found
    }
}

fn find_in_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let places = std::env::split_paths(&path).map(|folder| folder.join(name));
    places.into_iter().find(|place| place.is_file())
}

/// An etcd process, killed on drop.
pub(crate) struct Member {
    program: PathBuf,
    arguments: Vec<OsString>,
    url: String,
    folder: TempDir,
    process: Option<Process>,
}

/// Client TLS settings of a member.
#[derive(Clone, Debug, Default)]
pub(crate) struct Security {
    pub(crate) arguments: Vec<OsString>,
    pub(crate) is_encrypted: bool,
}

impl Member {
    /// A cluster of one.
    pub(crate) fn start(program: &Path) -> Self {
        Self::start_secured(program, &Security::default())
    }

    /// A cluster of one.
    pub(crate) fn start_secured(program: &Path, security: &Security) -> Self {
        let mut members = start_cluster(program, 1, security);
        members.pop().expect("one member was started")
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    pub(crate) fn options(&self) -> Options {
        Options::new([self.url()])
    }

    pub(crate) async fn connect(&self) -> EtcdStore {
        let store = EtcdStore::connect(self.options()).await;
        store.expect("a started member answers")
    }

    /// True if the member reports to be the leader.
    pub(crate) fn is_leader(&self) -> bool {
        let address = self.url.trim_start_matches("http://");
        let mut stream = TcpStream::connect(address).expect("the member listens");
        let request = format!("GET /metrics HTTP/1.0\r\nHost: {address}\r\n\r\n");
        stream
            .write_all(request.as_bytes())
            .expect("the member listens");
        let mut metrics = String::new();
        stream
            .read_to_string(&mut metrics)
            .expect("the member answers");
        metrics
            .lines()
            .any(|line| line == "etcd_server_is_leader 1")
    }

    /// Kills the process with SIGKILL.
    pub(crate) fn kill(&mut self) {
        drop(self.process.take());
    }

    /// Restarts a killed member on its data.
    pub(crate) fn restart(&mut self) {
        let (process, ready) = self.spawn();
        self.process = Some(process);
        ready.wait().expect("a member starts again");
    }

    /// Stops the process with SIGSTOP: it accepts connections and does not answer. The signal is sent before each of its
    /// threads has stopped, so the system is asked about them.
    pub(crate) fn freeze(&self) {
        self.signal("STOP");
        let id = self.process.as_ref().expect("the member runs").id();
        lockstep_testkit::wait::eventually_sync("every thread has stopped", || {
            let threads = std::fs::read_dir(format!("/proc/{id}/task")).expect("it is there");
            let stats = threads.map(|thread| {
                let stat = thread.expect("a thread").path().join("stat");
                std::fs::read_to_string(stat).unwrap_or_default()
            });
            let running: Vec<String> = stats.filter(|stat| !stat.contains(") T ")).collect();
            lockstep_testkit::wait::holds(running.is_empty(), running)
        });
    }

    pub(crate) fn thaw(&self) {
        self.signal("CONT");
    }

    fn signal(&self, signal: &str) {
        let process = self.process.as_ref().expect("the member runs");
        process.signal(signal);
    }

    fn spawn(&self) -> (Process, Ready) {
        let mut process = Command::new(&self.program)
            .args(&self.arguments)
            .arg("--data-dir")
            .arg(self.folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("etcd can be started");
        let log = process.stderr.take().expect("it was asked for");
        (Process::from(process), Ready::of(log))
    }
}

/// Starts the members of a new cluster, and waits until all of them serve.
pub(crate) fn start_cluster(program: &Path, members: usize, security: &Security) -> Vec<Member> {
    for _ in 0..STARTS_MAX {
        if let Some(started) = try_start(program, members, security) {
            return started;
        }
    }
    panic!("etcd did not start {STARTS_MAX} times");
}

fn try_start(program: &Path, members: usize, security: &Security) -> Option<Vec<Member>> {
    let ports = free_ports(2 * members);
    let (client_ports, peer_ports) = ports.split_at(members);
    let peers = peer_ports.iter().enumerate();
    let initial = peers.map(|(nth, port)| format!("m{nth}=http://127.0.0.1:{port}"));
    let initial = initial.collect::<Vec<_>>().join(",");
    let scheme = if security.is_encrypted {
        "https"
    } else {
        "http"
    };
    let member = |nth: usize| {
        let url = format!("{scheme}://127.0.0.1:{}", client_ports[nth]);
        let peer = format!("http://127.0.0.1:{}", peer_ports[nth]);
        let own = [
            ("--name", format!("m{nth}")),
            ("--listen-client-urls", url.clone()),
            ("--advertise-client-urls", url.clone()),
            ("--listen-peer-urls", peer.clone()),
            ("--initial-advertise-peer-urls", peer),
            ("--initial-cluster", initial.clone()),
            ("--heartbeat-interval", "20".to_owned()),
            ("--election-timeout", "200".to_owned()),
            ("--logger", "zap".to_owned()),
        ];
        let own = own
            .into_iter()
            .flat_map(|(flag, value)| [OsString::from(flag), value.into()]);
        Member {
            program: program.to_owned(),
            arguments: own.chain(security.arguments.iter().cloned()).collect(),
            url,
            folder: folder_in_memory(),
            process: None,
        }
    };
    let mut started: Vec<_> = (0..members).map(member).collect();
    let spawn = |member: &mut Member| {
        let (process, ready) = member.spawn();
        member.process = Some(process);
        ready
    };
    let ready: Vec<_> = started.iter_mut().map(spawn).collect();
    let all_ready = ready.into_iter().all(|ready| ready.wait().is_ok());
    all_ready.then_some(started)
}

/// Data of a killed process survives in the page cache either way, so tmpfs only makes the tests faster.
fn folder_in_memory() -> TempDir {
    let in_memory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    in_memory.expect("a folder can be made")
}

pub(crate) fn free_ports(count: usize) -> Vec<u16> {
    let listen = |_| TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let listeners: Vec<_> = (0..count).map(listen).collect();
    let port = |listener: &TcpListener| listener.local_addr().expect("it is bound").port();
    listeners.iter().map(port).collect()
}

/// Signals that etcd serves requests.
struct Ready(mpsc::Receiver<()>);

impl Ready {
    /// Reads etcd's log continuously, so that the pipe never blocks it.
    fn of(log: impl std::io::Read + Send + 'static) -> Self {
        let (said, ready) = mpsc::channel();
        std::thread::spawn(move || {
            let lines = BufReader::new(log).lines().map_while(Result::ok);
            for line in lines {
                if SERVES.iter().any(|words| line.contains(words)) {
                    // The receiver is dropped after the first signal.
                    _ = said.send(());
                }
            }
        });
        Self(ready)
    }

    fn wait(&self) -> Result<(), mpsc::RecvTimeoutError> {
        self.0.recv_timeout(START_MAX)
    }
}
