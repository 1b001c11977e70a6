//! Start, refusal to start and shutdown of the process.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::etcdctl::Etcdctl;
use crate::running::{Running, bounded, lockstep};

/// Exit code and standard error.
fn refused(arguments: &[&str]) -> (Option<i32>, String) {
    let output = lockstep().args(arguments).output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    (output.status.code(), told)
}

#[test]
fn a_signal_ends_the_server_in_order() {
    // ux.md E7.
    for signal in ["TERM", "INT"] {
        let server = Running::start(&[]);
        let (code, log, _) = server.end(signal);
        assert_eq!(code, Some(0), "{log}");
        assert!(log.contains("\"msg\":\"closed in order\""), "{log}");
    }
}

#[test]
fn wrong_flags_end_with_64_and_say_what_to_do() {
    for (arguments, text) in [
        (
            &["--no-such-flag"][..],
            "unexpected argument '--no-such-flag'",
        ),
        (
            &["--listen-client-urls", "127.0.0.1:1"],
            "it has no scheme such as http://",
        ),
        (
            &["-max-txn-ops=some", "-unsafe-no-fsync"],
            "--max-txn-ops: `some` is not a fitting number",
        ),
        (
            &["--emulated-version", "3.3"],
            "--emulated-version: emulation version 3.3 is not between [3.4, 3.7]",
        ),
        (
            &["--max-txn-ops", "many"],
            "--max-txn-ops: `many` is not a fitting number",
        ),
        (
            &["--cert-file", "x"],
            "--cert-file and --key-file need each other",
        ),
        (
            &["--client-cert-auth"],
            "--client-cert-auth needs --trusted-ca-file",
        ),
        (
            &["--auto-tls"],
            "--auto-tls=true is refused: no certificates are made here; give --cert-file and --key-file",
        ),
        (
            &["--initial-cluster", "a=http://x:1,b=http://y:1"],
            "--initial-cluster names a, b, but `lockstep store` is a single member named `default`",
        ),
        (
            &["--watch-progress-notify-interval", "1ms"],
            "is shorter than 100ms",
        ),
        (
            &["--auto-compaction-retention", "soon"],
            "`soon` is no duration or number of hours",
        ),
        (&["--log-level", "loud"], "--log-level: `loud` is no level"),
    ] {
        let (code, told) = refused(arguments);
        assert_eq!(code, Some(64), "{arguments:?}: {told}");
        assert!(told.contains(text), "{arguments:?}: {told}");
    }
}

#[test]
fn a_second_process_on_one_directory_is_told_whose_it_is() {
    let server = Running::start(&[]);
    let data = server.folder.path().join("data");
    let arguments = [
        "--data-dir",
        data.to_str().unwrap(),
        "--listen-client-urls",
        "http://127.0.0.1:0",
    ];
    let (code, told) = refused(&arguments);
    assert_eq!(code, Some(74), "{told}");
    assert!(told.contains("is in use by process"), "{told}");
}

#[test]
fn a_taken_address_is_named() {
    let server = Running::start(&[]);
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().to_str().unwrap();
    let (code, told) = refused(&["--data-dir", data, "--listen-client-urls", &server.endpoint]);
    assert_eq!(code, Some(74), "{told}");
    let text = format!("listening at `{}`: Address already in use", server.endpoint);
    assert!(told.contains(&text), "{told}");
}

#[test]
fn a_directory_that_cannot_be_written_is_named() {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o500)).unwrap();
    if fs::write(folder.path().join("probe"), "").is_ok() {
        println!("SKIPPED: this user may write everywhere");
        return;
    }
    let data = folder.path().join("data");
    let (code, told) = refused(&["--data-dir", data.to_str().unwrap()]);
    assert_eq!(code, Some(74), "{told}");
    assert!(told.contains("Permission denied"), "{told}");
}

#[test]
fn a_disk_without_room_for_the_log_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = bounded(1 << 20);
    let output = command
        .arg("--data-dir")
        .arg(folder.path())
        .output()
        .unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(74), "{told}");
    assert!(told.contains("File too large"), "{told}");
}

/// etcd-api.md §8/quota: a store without space refuses puts and goes on answering reads.
#[test]
fn a_disk_that_fills_up_refuses_puts_and_leaves_reads() {
    let Some(etcdctl) = Etcdctl::all().into_iter().next() else {
        return;
    };
    let server = Running::start_bounded(20 << 20);
    let value = "v".repeat(1 << 20);
    let put = |number| etcdctl.run(&server.endpoint, &["put", &format!("k{number}")], &value);
    let refused = (0..64).map(put).find(|told| told != "OK\n");
    let refused = refused.expect("a put is refused");
    assert!(
        refused.contains("etcdserver: mvcc: database space exceeded"),
        "{refused}"
    );
    let read = etcdctl.run(&server.endpoint, &["get", "k0", "--keys-only"], "");
    assert_eq!(read.trim(), "k0");
}

#[test]
fn flags_without_effect_are_told_in_one_line() {
    // etcd-api.md §10/unknown-flags.
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("log");
    let arguments = [
        "--heartbeat-interval",
        "100",
        "--snapshot-count=9",
        "--log-outputs",
    ];
    let mut command = lockstep();
    command
        .args(arguments)
        .arg(&file)
        .args(["--data-dir", "/dev/null/x"]);
    assert_eq!(command.output().unwrap().status.code(), Some(74));
    let log = fs::read_to_string(file).unwrap();
    let text = "flags without effect: --heartbeat-interval (there is a single member), \
                --snapshot-count (the log is kept as long as the state needs it)";
    assert!(log.contains(text), "{log}");
    for part in [
        "{\"level\":\"warn\",\"ts\":\"",
        ",\"caller\":\"lockstep/store/serve.rs:",
        ",\"msg\":\"",
    ] {
        assert!(log.contains(part), "{part} is not in {log}");
    }
}

/// etcd-api.md §10/flags.
#[test]
fn variables_and_a_file_say_the_same_as_flags() {
    let folder = tempfile::tempdir().unwrap();
    let wrong = |command: &mut std::process::Command| {
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(64));
        String::from_utf8(output.stderr).unwrap()
    };
    let told = wrong(lockstep().env("ETCD_MAX_TXN_OPS", "x"));
    assert!(
        told.contains("--max-txn-ops: `x` is not a fitting number"),
        "{told}"
    );
    let file = folder.path().join("etcd.yaml");
    let with = |text: &str| {
        fs::write(&file, text).unwrap();
        wrong(lockstep().arg("--config-file").arg(&file))
    };
    let told = with("max-txn-ops: many\n");
    assert!(
        told.contains("--max-txn-ops: `many` is not a fitting number"),
        "{told}"
    );
    let told = with("watch-progress-notify-interval: 1000000\n");
    assert!(told.contains("is shorter than 100ms"), "{told}");
    let told = with("client-transport-security:\n  cert-file: x\n");
    assert!(
        told.contains("--cert-file and --key-file need each other"),
        "{told}"
    );
    let told = with("no-such-thing: 1\n");
    assert!(told.contains("`no-such-thing` is not a setting"), "{told}");
    let told = with("a: [\n");
    assert!(told.contains("etcd.yaml"), "{told}");
}
