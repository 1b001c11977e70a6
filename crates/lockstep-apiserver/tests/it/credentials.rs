//! The files of a server: made once, kept, renewed, refused.

use lockstep_testkit::client::{config, raw};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use base64::Engine as _;
use jiff::{Timestamp, ToSpan as _};
use lockstep_apiserver::accounts::AccountSettings;
use lockstep_apiserver::trust::ServingNames;
use lockstep_apiserver::{CredentialFiles, Credentials};
use rcgen::{CertificateParams, KeyPair, date_time_ymd};

use crate::server::TestServer;

fn files(folder: &Path) -> CredentialFiles {
    CredentialFiles {
        own: folder.join("pki"),
        serving: folder.join("pki"),
        serving_pair: None,
        client_authorities: Vec::new(),
        tokens: None,
        accounts: AccountSettings::default(),
        oidc: None,
        kubeconfig: folder.join("admin.kubeconfig"),
        names: ServingNames::new(Some("host"), "10.0.0.7".parse().unwrap()),
    }
}

fn prepare(files: CredentialFiles, now: Timestamp) -> Result<Credentials, String> {
    let address = "10.0.0.7:6443".parse().unwrap();
    let credentials = Credentials::prepare(files, true, now).map_err(|error| error.to_string())?;
    let written = credentials.write_kubeconfig(address, now);
    written.map_err(|error| error.to_string())?;
    Ok(credentials)
}

fn error(files: CredentialFiles) -> String {
    prepare(files, Timestamp::now()).map(|_| ()).unwrap_err()
}

fn contents(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found: Vec<(String, Vec<u8>)> = fs::read_dir(folder.join("pki"))
        .unwrap()
        .map(|entry| {
            let entry = entry.unwrap();
            (
                entry.file_name().into_string().unwrap(),
                fs::read(entry.path()).unwrap(),
            )
        })
        .collect();
    found.sort();
    found
}

fn changed(before: &[(String, Vec<u8>)], after: &[(String, Vec<u8>)]) -> Vec<String> {
    let pairs = before
        .iter()
        .zip(after)
        .filter(|(before, after)| before != after);
    pairs.map(|(before, _)| before.0.clone()).collect()
}

/// Self-signed certificate of an unknown issuer, and its key.
fn stranger(until_year: i32) -> (String, String) {
    let mut params = CertificateParams::new(["localhost".to_owned()]).unwrap();
    params.not_before = date_time_ymd(2020, 1, 1);
    params.not_after = date_time_ymd(until_year, 1, 1);
    let key = KeyPair::generate().unwrap();
    (params.self_signed(&key).unwrap().pem(), key.serialize_pem())
}

fn write_private(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

#[test]
fn a_first_start_makes_files_that_only_their_owner_reads() {
    let folder = tempfile::tempdir().unwrap();
    prepare(files(folder.path()), Timestamp::now()).unwrap();
    let mode = |name: &str| {
        fs::metadata(folder.path().join(name))
            .unwrap()
            .permissions()
            .mode()
            & 0o7777
    };
    assert_eq!(mode("pki"), 0o700);
    assert_eq!(mode("admin.kubeconfig"), 0o600);
    let names: Vec<String> = contents(folder.path())
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    assert_eq!(
        names,
        [
            "admin.crt",
            "admin.key",
            "apiserver.crt",
            "apiserver.key",
            "ca.crt",
            "ca.key",
            "sa.key",
            "sa.pub"
        ]
    );
    for name in names {
        assert_eq!(mode(&format!("pki/{name}")), 0o600, "{name}");
    }
    let text = fs::read_to_string(folder.path().join("admin.kubeconfig")).unwrap();
    let config: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        config["clusters"][0]["cluster"]["server"],
        "https://10.0.0.7:6443"
    );
    assert_eq!(config["current-context"], "lockstep");
}

#[test]
fn a_restart_keeps_everything() {
    let folder = tempfile::tempdir().unwrap();
    prepare(files(folder.path()), Timestamp::now()).unwrap();
    let before = contents(folder.path());
    prepare(files(folder.path()), Timestamp::now()).unwrap();
    assert_eq!(
        changed(&before, &contents(folder.path())),
        Vec::<String>::new()
    );
}

#[test]
fn a_new_name_or_a_near_end_renews_what_the_server_issued_and_never_the_authority() {
    let folder = tempfile::tempdir().unwrap();
    prepare(files(folder.path()), Timestamp::now()).unwrap();
    let before = contents(folder.path());
    let moved = CredentialFiles {
        names: ServingNames::new(Some("other"), "10.0.0.8".parse().unwrap()),
        ..files(folder.path())
    };
    prepare(moved.clone(), Timestamp::now()).unwrap();
    let renamed = contents(folder.path());
    assert_eq!(
        changed(&before, &renamed),
        ["apiserver.crt", "apiserver.key"]
    );
    let in_a_year = Timestamp::now() + (340 * 24).hours();
    prepare(moved.clone(), in_a_year).unwrap();
    assert_eq!(
        changed(&renamed, &contents(folder.path())),
        ["admin.crt", "admin.key", "apiserver.crt", "apiserver.key"]
    );
    let in_eleven_years = Timestamp::now() + (11 * 366 * 24).hours();
    let told = prepare(moved, in_eleven_years).map(|_| ()).unwrap_err();
    assert!(told.contains("ca.crt` is valid from "), "{told}");
}

/// ux.md E4: `apiserver.crt` and `apiserver.key` in `--cert-dir` are used as they are.
#[test]
fn a_certificate_of_somebody_else_is_used_and_never_touched() {
    let folder = tempfile::tempdir().unwrap();
    let (certificate, key) = stranger(2099);
    let place = folder.path().join("certs");
    write_private(&place.join("apiserver.crt"), &certificate);
    write_private(&place.join("apiserver.key"), &key);
    let mounted = fs::Permissions::from_mode(0o640);
    fs::set_permissions(place.join("apiserver.key"), mounted).unwrap();
    let files = CredentialFiles {
        serving: place.clone(),
        ..files(folder.path())
    };
    prepare(files, Timestamp::now()).unwrap();
    assert_eq!(
        fs::read_to_string(place.join("apiserver.crt")).unwrap(),
        certificate
    );
    let text = fs::read_to_string(folder.path().join("admin.kubeconfig")).unwrap();
    let config: serde_json::Value = serde_json::from_str(&text).unwrap();
    let trusted = config["clusters"][0]["cluster"]["certificate-authority-data"]
        .as_str()
        .unwrap();
    let trusted = base64::prelude::BASE64_STANDARD.decode(trusted).unwrap();
    assert_eq!(String::from_utf8(trusted).unwrap(), certificate);
}

#[test]
fn files_that_cannot_be_used_are_told_by_name_and_reason() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let (certificate, key) = stranger(2099);
    let (expired, expired_key) = stranger(2021);
    for (name, text) in [
        ("a.crt", certificate.as_str()),
        ("a.key", key.as_str()),
        ("old.crt", expired.as_str()),
        ("old.key", expired_key.as_str()),
        ("empty", ""),
        ("bad.csv", "t,u\n"),
    ] {
        write_private(&at(name), text);
    }
    let pair = |certificate: &str, key: &str| CredentialFiles {
        serving_pair: Some((at(certificate), at(key))),
        ..files(folder.path())
    };
    let shown = |name: &str| at(name).display().to_string();
    let cases = [
        (
            pair("none.crt", "a.key"),
            format!(
                "cannot read `{}`: No such file or directory (os error 2)",
                shown("none.crt")
            ),
        ),
        (
            pair("empty", "a.key"),
            format!(
                "`{}` does not hold a certificate in PEM form",
                shown("empty")
            ),
        ),
        (
            pair("a.key", "a.key"),
            format!(
                "`{}` does not hold a certificate in PEM form",
                shown("a.key")
            ),
        ),
        (
            pair("a.crt", "empty"),
            format!(
                "`{}` does not hold a private key in PEM form",
                shown("empty")
            ),
        ),
        (
            pair("old.crt", "old.key"),
            format!(
                "the certificate in `{}` is valid from 2020-01-01T00:00:00Z to 2021-01-01T00:00:00Z only",
                shown("old.crt")
            ),
        ),
        (
            pair("a.crt", "old.key"),
            format!(
                "`{}` and `{}` cannot be used together: keys may not be consistent: KeyMismatch",
                shown("a.crt"),
                shown("old.key")
            ),
        ),
        (
            CredentialFiles {
                tokens: Some(at("bad.csv")),
                ..files(folder.path())
            },
            format!(
                "token file `{}`: line 1 must have at least 3 columns (token, user name, user uid), found 2",
                shown("bad.csv")
            ),
        ),
        (
            CredentialFiles {
                client_authorities: vec![at("empty")],
                ..files(folder.path())
            },
            format!(
                "`{}` does not hold a certificate in PEM form",
                shown("empty")
            ),
        ),
    ];
    for (files, expected) in cases {
        assert_eq!(error(files), expected);
    }
}

#[test]
fn half_a_pair_and_an_open_key_stop_the_start_and_change_nothing() {
    let folder = tempfile::tempdir().unwrap();
    prepare(files(folder.path()), Timestamp::now()).unwrap();
    let key = folder.path().join("pki/ca.key");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o640)).unwrap();
    let told = error(files(folder.path()));
    assert!(
        told.contains("ca.key` holds a secret and others may read it (mode 0640)"),
        "{told}"
    );
    fs::remove_file(&key).unwrap();
    let before = contents(folder.path());
    let told = error(files(folder.path()));
    assert!(
        told.contains("ca.crt` exists and ") && told.contains("ca.key` does not"),
        "{told}"
    );
    assert_eq!(contents(folder.path()), before);
}

#[tokio::test]
async fn the_certificate_is_good_for_every_name_of_the_server() {
    let server = TestServer::start().await;
    for name in [
        "localhost",
        "127.0.0.1",
        "::1",
        "test-host",
        "kubernetes",
        "kubernetes.default",
        "kubernetes.default.svc",
        "kubernetes.default.svc.cluster.local",
    ] {
        let stream = raw(
            server.address,
            name,
            config(&server.authority(), None, "h2"),
        )
        .await;
        assert_eq!(
            stream.unwrap().get_ref().1.alpn_protocol(),
            Some(&b"h2"[..]),
            "{name}"
        );
    }
    let other = raw(
        server.address,
        "example.org",
        config(&server.authority(), None, "h2"),
    )
    .await;
    assert_eq!(
        other.map(|_| ()).unwrap_err().kind(),
        std::io::ErrorKind::InvalidData
    );
}

#[tokio::test]
async fn a_new_serving_certificate_is_shown_without_a_restart() {
    let server = TestServer::start().await;
    let mut old = server.client(None).await;
    let (certificate, key) = stranger(2099);
    write_private(&server.path("pki/apiserver.crt"), &certificate);
    write_private(&server.path("pki/apiserver.key"), &key);
    server
        .credentials
        .reload(server.address, Timestamp::now())
        .unwrap();
    assert_eq!(
        old.get("/healthz").await.status,
        200,
        "open connections go on"
    );
    let untrusted = raw(
        server.address,
        "localhost",
        config(&server.authority(), None, "h2"),
    )
    .await;
    assert_eq!(
        untrusted.map(|_| ()).unwrap_err().kind(),
        std::io::ErrorKind::InvalidData
    );
    let trusted = raw(
        server.address,
        "localhost",
        config(certificate.as_bytes(), None, "h2"),
    )
    .await;
    assert_eq!(
        trusted.unwrap().get_ref().1.alpn_protocol(),
        Some(&b"h2"[..])
    );
}
