//! Loading of kubeconfig files: ux.md §3.

use std::path::Path;

use super::*;

/// Loads a kubeconfig with these extra fields in its cluster and its user.
fn read(folder: &Path, cluster: &str, user: &str) -> Result<Access, Failure> {
    let text = format!(
        "current-context: here\n\
         contexts: [{{name: here, context: {{cluster: c, user: u, namespace: n}}}}]\n\
         clusters: [{{name: c, cluster: {{server: 'https://there:1/'{cluster}}}}}]\n\
         users: [{{name: u, user: {{{user}}}}}]\n"
    );
    let path = folder.join("config");
    std::fs::write(&path, text).unwrap();
    Access::read(&Files::one(&path)?, None, None)
}

fn message(read: Result<Access, Failure>) -> String {
    let message = read.err().unwrap().message;
    message.split_once(": ").unwrap().1.to_owned()
}

/// A program beside the kubeconfig that does this.
fn program(folder: &Path, text: &str) -> String {
    std::fs::write(folder.join("give.sh"), text).unwrap();
    let version = "client.authentication.k8s.io/v1";
    format!(
        "exec: {{apiVersion: {version}, interactiveMode: Never, provideClusterInfo: true, \
         command: sh, args: ['{}'], env: [{{name: WHO, value: me}}], installHint: get a shell}}",
        folder.join("give.sh").display()
    )
}

#[test]
fn a_server_that_need_not_be_verified_is_told_so() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let plain = read(folder, "", "token: t").ok().unwrap();
    assert_eq!(
        (plain.is_unverified, plain.server()),
        (false, "https://there:1")
    );
    let open = read(folder, ", insecure-skip-tls-verify: true", "token: t");
    assert!(open.ok().unwrap().is_unverified);
    let both = ", insecure-skip-tls-verify: true, certificate-authority-data: eA==";
    assert_eq!(
        message(read(folder, both, "token: t")),
        "`insecure-skip-tls-verify` and a certificate authority exclude each other"
    );
}

/// As client-go has it: the file counts, and stands beside the kubeconfig.
#[test]
fn a_token_may_be_in_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("token"), "from-file\n").unwrap();
    let access = read(folder, "", "token: t, tokenFile: token").ok().unwrap();
    assert_eq!(access.token.as_deref(), Some("from-file"));
    let told = message(read(folder, "", "tokenFile: missing"));
    assert!(told.starts_with("cannot read "), "{told}");
}

#[test]
fn a_program_is_asked_for_credentials() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let answer = r#"cat > /dev/null
printf '%s' "$KUBERNETES_EXEC_INFO" > "$(dirname "$0")/asked"
echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"'$WHO'-token"}}'
"#;
    let user = program(folder, answer);
    let access = read(folder, "", &user).ok().unwrap();
    assert_eq!(access.token.as_deref(), Some("me-token"));
    let asked = std::fs::read(folder.join("asked")).unwrap();
    let expected = json!({
        "apiVersion": "client.authentication.k8s.io/v1",
        "kind": "ExecCredential",
        "spec": { "interactive": false, "cluster": { "server": "https://there:1" } },
    });
    assert_eq!(serde_json::from_slice::<Value>(&asked).unwrap(), expected);
    let pair = r#"echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential",
        "status":{"clientCertificateData":"c","clientKeyData":"k"}}'"#;
    let access = read(folder, "", &program(folder, pair)).ok().unwrap();
    assert_eq!(access.certificate, Some((b"c".to_vec(), b"k".to_vec())));
}

#[test]
fn a_program_that_gives_nothing_is_a_failure_that_tells_no_secret() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let start = r#"echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential""#;
    let rows = [
        ("exit 3".to_owned(), "failed: exit status: 3"),
        ("echo secret".to_owned(), "gave no JSON"),
        (
            r#"echo '{"kind":"ExecCredential","apiVersion":"x","status":{"token":"secret"}}'"#
                .into(),
            "gave no ExecCredential of client.authentication.k8s.io/v1",
        ),
        (
            format!("{start}}}'"),
            "gave neither a token nor a certificate",
        ),
        (
            format!("{start},\"status\":{{\"clientKeyData\":\"secret\"}}}}'"),
            "gave a certificate or a key, and not both",
        ),
    ];
    for (text, expected) in rows {
        let told = message(read(folder, "", &program(folder, &text)));
        assert_eq!(told, format!("exec: `sh` {expected}"));
    }
    let old = "exec: {apiVersion: client.authentication.k8s.io/v1alpha1, command: sh}";
    assert_eq!(
        message(read(folder, "", old)),
        "exec: apiVersion `client.authentication.k8s.io/v1alpha1` is not understood; it is `client.authentication.k8s.io/v1`"
    );
    let missing = "exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: ./no-such, installHint: install it}";
    let failure = read(folder, "", missing).err().unwrap();
    assert_eq!(failure.help.as_deref(), Some("install it"));
}

#[test]
fn what_would_not_be_done_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for (cluster, user, key) in [
        (", proxy-url: 'http://p'", "", "proxy-url"),
        (", tls-server-name: x", "", "tls-server-name"),
        ("", "token: t, as: somebody", "as"),
        ("", "username: u, password: p", "password"),
        ("", "auth-provider: {name: gcp}", "auth-provider"),
    ] {
        let told = message(read(folder, cluster, user));
        assert_eq!(told, format!("`{key}` is not understood here"));
    }
}
