//! The dashboard in a browser, on two servers of one store: ux.md §8, feature-gates.md §9/dashboard.
//! The checks are in `ui/tests/dashboard.mjs`.

#![cfg(feature = "dashboard")]
#![expect(clippy::unwrap_used, reason = "what a test cannot do is a failure")]

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use lockstep_testkit::processes::Process;

const TOKEN: &str = "dashboard-test-token";

/// Starts this program, waits for a word of its log, and returns the line that has it.
fn start(arguments: &[&str], word: &str) -> (Process, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lockstep"));
    let (process, said) = Process::start(command.args(arguments), &[word]).unwrap();
    let line = said.lines().last().unwrap_or_default().to_owned();
    (process.drained(), line)
}

fn address_in(line: &str) -> String {
    let at = line.find("http://").unwrap();
    let rest = &line[at..];
    rest[..rest.find("/ui/").unwrap()].to_owned()
}

fn in_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let found = std::env::split_paths(&path).map(|folder| folder.join(name));
    found.into_iter().find(|file| file.is_file())
}

/// Chromium, and the folder of the user interface with its tools; or why there is none.
fn tools() -> Result<(PathBuf, PathBuf), &'static str> {
    let told = std::env::var_os("LOCKSTEP_TEST_CHROMIUM").map(PathBuf::from);
    let chromium = told.or_else(|| in_path("chromium"));
    let chromium = chromium.ok_or("no `chromium` to open the dashboard with")?;
    in_path("node").ok_or("no `node` to drive a browser with")?;
    let ui = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ui");
    if !ui.join("node_modules/playwright-core").is_dir() {
        let npm = in_path("npm").ok_or("no `npm` to fetch the driver of the browser with")?;
        let fetched = Command::new(npm)
            .args(["ci", "--no-audit", "--no-fund"])
            .env("PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD", "1")
            .current_dir(&ui)
            .output();
        if !fetched.is_ok_and(|output| output.status.success()) {
            return Err("`npm ci` in ui/ cannot fetch the driver of the browser");
        }
    }
    Ok((chromium, ui))
}

/// Two servers on one store, of which one has a gate off; the address of the other's dashboard.
fn servers(folder: &Path) -> (Vec<Process>, String) {
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let url = format!("http://127.0.0.1:{port}");
    let at = |name: &str| folder.join(name).display().to_string();
    let tokens = at("tokens.csv");
    std::fs::write(&tokens, format!("{TOKEN},viewer,1,\"system:masters\"\n")).unwrap();
    let store = [
        "store",
        "--data-dir",
        &at("store"),
        "--listen-client-urls",
        &url,
    ];
    let (store, _) = start(&store, "ready to serve client requests");
    let (first, two) = (at("a"), at("b"));
    let place = format!("etcd://127.0.0.1:{port}");
    let common = [
        "serve",
        "--secure-port",
        "0",
        "--store",
        &place,
        "--token-auth-file",
        &tokens,
    ];
    let other = [
        &common[..],
        &["--data-dir", &two, "--feature-gates", "WatchList=false"],
    ]
    .concat();
    let (other, _) = start(&other, "  try  ");
    let one = [
        &common[..],
        &["--data-dir", &first, "--dashboard-listen", "127.0.0.1:0"],
    ]
    .concat();
    let (one, line) = start(&one, "  dashboard  ");
    (vec![store, other, one], address_in(&line))
}

#[test]
fn the_dashboard_works_in_a_browser() {
    let (chromium, ui) = match tools() {
        Ok(tools) => tools,
        Err(why) => {
            println!("SKIPPED: {why}");
            return;
        }
    };
    let folder = tempfile::tempdir().unwrap();
    let (_processes, address) = servers(folder.path());
    let shots = Path::new(env!("CARGO_TARGET_TMPDIR")).join("dashboard");
    let output = Command::new("node")
        .args(["--test", "tests/dashboard.mjs"])
        .current_dir(ui)
        .env("DASHBOARD_URL", &address)
        .env("DASHBOARD_TOKEN", TOKEN)
        .env("DASHBOARD_SHOTS", &shots)
        .env("CHROMIUM", chromium)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let erred = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{erred}");
    let measured = said.lines().filter(|line| line.contains("filtering"));
    measured.for_each(|line| println!("{line}"));
}

/// ux.md §8: the dashboard of a kubeconfig, in plain HTTP on loopback, by invitation.
#[test]
fn a_dashboard_of_a_kubeconfig_reads_with_its_rights_and_hides_its_secrets() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data").display().to_string();
    let (_server, _) = start(
        &["serve", "--secure-port", "0", "--data-dir", &data],
        "  try  ",
    );
    let kubeconfig = format!("{data}/admin.kubeconfig");
    let arguments = [
        "dashboard",
        "--listen",
        "127.0.0.1:0",
        "--kubeconfig",
        &kubeconfig,
    ];
    let (_dashboard, line) = start(&arguments, "/ui/#t=");
    let (address, invitation) = (address_in(&line), line.trim().rsplit_once("#t=").unwrap().1);
    let Some(curl) = in_path("curl") else {
        println!("SKIPPED: no `curl` to ask the dashboard with");
        return;
    };
    let ask = |method: &str, path: &str, token: &str| {
        let output = Command::new(&curl)
            .args(["-s", "-w", "%{http_code}", "-X", method])
            .args(["-H", &format!("Authorization: Bearer {token}")])
            .arg(format!("{address}{path}"))
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let (body, code) = text.split_at(text.len() - 3);
        (code.to_owned(), body.to_owned())
    };
    let namespaces = "/api/v1/namespaces/default";
    assert_eq!(ask("GET", namespaces, invitation).0, "401");
    let (code, body) = ask("POST", "/ui/session", invitation);
    let session: serde_json::Value = serde_json::from_str(&body).unwrap();
    let session = session["token"].as_str().unwrap();
    assert_eq!((code.as_str(), session.len()), ("200", 64));
    assert_eq!(ask("POST", "/ui/session", invitation).0, "401");
    let (code, body) = ask("GET", namespaces, session);
    assert_eq!(
        (code.as_str(), body.contains("\"kind\":\"Namespace\"")),
        ("200", true)
    );
    assert_eq!(ask("DELETE", namespaces, session).0, "405");
}

#[test]
fn a_dashboard_listens_on_loopback_addresses_only() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().display().to_string();
    let output = Command::new(env!("CARGO_BIN_EXE_lockstep"))
        .args(["serve", "--secure-port", "0", "--data-dir", &data])
        .args(["--dashboard-listen", "0.0.0.0:0"])
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    let expected = "error: `--dashboard-listen 0.0.0.0:0` is not a loopback address";
    assert_eq!(
        (output.status.code(), said.contains(expected)),
        (Some(64), true),
        "{said}"
    );
}
