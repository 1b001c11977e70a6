//! Authentication: client certificates, bearer tokens, anonymous requests and impersonation.

use jiff::{Timestamp, ToSpan as _};
use lockstep_testkit::certificates::Authority;
use lockstep_testkit::client::Identity;
use rcgen::{CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, date_time_ymd};

use crate::server::{Setup, TestServer};

struct Wish<'a> {
    name: &'a str,
    groups: &'a [&'a str],
    usage: Option<ExtendedKeyUsagePurpose>,
    until_year: i32,
}

impl Default for Wish<'_> {
    fn default() -> Self {
        Self {
            name: "alice",
            groups: &["dev", "ops"],
            usage: Some(ExtendedKeyUsagePurpose::ClientAuth),
            until_year: 2099,
        }
    }
}

/// Issues the wished certificate.
fn issue(authority: &Authority, wish: &Wish<'_>) -> Identity {
    let mut params = CertificateParams::default();
    params.not_before = date_time_ymd(2020, 1, 1);
    params.not_after = date_time_ymd(wish.until_year, 1, 1);
    params.distinguished_name = DistinguishedName::new();
    // A name of this library holds each type once; this is the same type spelt twice.
    let types = [
        DnType::OrganizationName,
        DnType::CustomDnType(vec![2, 5, 4, 10]),
    ];
    for (kind, group) in types.into_iter().zip(wish.groups) {
        params.distinguished_name.push(kind, *group);
    }
    if !wish.name.is_empty() {
        params
            .distinguished_name
            .push(DnType::CommonName, wish.name);
    }
    params.extended_key_usages = wish.usage.iter().cloned().collect();
    Identity::from(&authority.sign(&params))
}

async fn server_trusting(authority: &Authority) -> TestServer {
    TestServer::with(Setup {
        client_authorities: vec![authority.pem().to_owned()],
        authorizer: lockstep_apiserver::authz::allow_all(),
        tokens: Some("t1,tom,7,\"dev,ops\"\n"),
        ..Setup::default()
    })
    .await
}

/// api-machinery.md §13/x509: CN, O, credential-id, `system:authenticated`.
#[tokio::test]
async fn a_certificate_names_user_and_groups() {
    let authority = Authority::new("test-ca");
    let server = server_trusting(&authority).await;
    let mut client = server
        .client(Some(issue(&authority, &Wish::default())))
        .await;
    let body = client.get("/api/v1/users").await.body;
    assert!(
        body.starts_with("alice \"\" [\"dev\", \"ops\", \"system:authenticated\"] {\"authentication.kubernetes.io/credential-id\": [\"X509SHA256="),
        "{body}"
    );
    let admin = server
        .client(Some(server.admin()))
        .await
        .get("/api/v1/users")
        .await
        .body;
    assert!(
        admin.starts_with("kubernetes-admin \"\" [\"system:masters\", \"system:authenticated\"]"),
        "{admin}"
    );
}

/// api-machinery.md §13/order: a bad credential is refused even on open paths.
#[tokio::test]
async fn certificates_of_strangers_old_ones_and_those_for_servers_are_refused() {
    let authority = Authority::new("test-ca");
    let server = server_trusting(&authority).await;
    let cases = [
        (
            "a stranger's",
            issue(&Authority::new("test-ca"), &Wish::default()),
        ),
        (
            "an expired one",
            issue(
                &authority,
                &Wish {
                    until_year: 2021,
                    ..Wish::default()
                },
            ),
        ),
        (
            "one for servers",
            issue(
                &authority,
                &Wish {
                    usage: Some(ExtendedKeyUsagePurpose::ServerAuth),
                    ..Wish::default()
                },
            ),
        ),
    ];
    for (what, identity) in cases {
        let mut client = server.client(Some(identity)).await;
        assert_eq!(
            client.get("/healthz").await.failure(),
            (401, "Unauthorized".to_owned(), "Unauthorized".to_owned()),
            "{what}"
        );
        let by_token = client
            .send(
                "GET",
                "/api/v1/users",
                &[("authorization", "Bearer t1")],
                "",
            )
            .await;
        assert_eq!(
            by_token.brief(),
            (
                200,
                "tom \"7\" [\"dev\", \"ops\", \"system:authenticated\"] {}"
            ),
            "{what}"
        );
    }
}

#[tokio::test]
async fn a_certificate_without_a_name_is_nobody_and_without_a_usage_is_good() {
    let authority = Authority::new("test-ca");
    let server = server_trusting(&authority).await;
    let nobody = issue(
        &authority,
        &Wish {
            name: "",
            ..Wish::default()
        },
    );
    let mut client = server.client(Some(nobody)).await;
    assert_eq!(
        client.get("/api/v1/users").await.body,
        "system:anonymous \"\" [\"system:unauthenticated\"] {}"
    );
    let any = issue(
        &authority,
        &Wish {
            usage: None,
            ..Wish::default()
        },
    );
    let mut client = server.client(Some(any)).await;
    assert!(client.get("/api/v1/users").await.body.starts_with("alice "));
}

#[tokio::test]
async fn tokens_name_users_and_bad_ones_are_refused() {
    let authority = Authority::new("test-ca");
    let server = server_trusting(&authority).await;
    let mut client = server.client(None).await;
    for (header, expected) in [
        (
            "Bearer t1",
            (
                200,
                "tom \"7\" [\"dev\", \"ops\", \"system:authenticated\"] {}",
            ),
        ),
        (
            "bearer t1",
            (
                200,
                "tom \"7\" [\"dev\", \"ops\", \"system:authenticated\"] {}",
            ),
        ),
        (
            "Basic dG9tOnQx",
            (200, "system:anonymous \"\" [\"system:unauthenticated\"] {}"),
        ),
    ] {
        let answer = client
            .send("GET", "/api/v1/users", &[("authorization", header)], "")
            .await;
        assert_eq!(answer.brief(), expected, "{header}");
    }
    for path in ["/api/v1/users", "/healthz"] {
        let answer = client
            .send("GET", path, &[("authorization", "Bearer wrong")], "")
            .await;
        assert_eq!(
            answer.failure(),
            (401, "Unauthorized".to_owned(), "Unauthorized".to_owned())
        );
    }
    let mut both = server.client(Some(server.admin())).await;
    let answer = both
        .send(
            "GET",
            "/api/v1/users",
            &[("authorization", "Bearer wrong")],
            "",
        )
        .await;
    assert!(
        answer.body.starts_with("kubernetes-admin "),
        "a good certificate comes first"
    );
}

#[tokio::test]
async fn without_anonymous_requests_a_credential_is_needed() {
    let server = TestServer::with(Setup {
        anonymous: false,
        ..Setup::default()
    })
    .await;
    assert_eq!(server.client(None).await.get("/healthz").await.status, 401);
    assert_eq!(
        server
            .client(Some(server.admin()))
            .await
            .get("/healthz")
            .await
            .status,
        200
    );
}

/// api-machinery.md §13/impersonation.
#[tokio::test]
async fn masters_act_as_others_and_others_may_not() {
    let server = TestServer::with(Setup {
        tokens: Some("r,root,1,system:masters\nu,tom,2\n"),
        ..Setup::default()
    })
    .await;
    let mut client = server.client(None).await;
    let by = |token: &'static str, user: &'static str| {
        vec![("authorization", token), ("impersonate-user", user)]
    };
    let answer = client
        .send("GET", "/api", &by("Bearer r", "alice"), "")
        .await;
    assert_eq!(answer.brief(), (200, "discovery"));
    assert_eq!(
        client
            .send("GET", "/metrics", &by("Bearer r", "alice"), "")
            .await
            .failure()
            .2,
        "forbidden: User \"alice\" cannot get path \"/metrics\""
    );
    let mut as_monitor = by("Bearer r", "alice");
    as_monitor.push(("impersonate-group", "system:monitoring"));
    assert_eq!(
        client.send("GET", "/metrics", &as_monitor, "").await.status,
        200
    );
    assert_eq!(
        client.send("GET", "/api", &by("Bearer u", "alice"), "").await.failure(),
        (
            403,
            "Forbidden".to_owned(),
            "users \"alice\" is forbidden: User \"tom\" cannot impersonate resource \"users\" in API group \"\" at the cluster scope".to_owned()
        )
    );
    let alone = [("authorization", "Bearer r"), ("impersonate-group", "dev")];
    let (code, reason, message) = client.send("GET", "/api", &alone, "").await.failure();
    assert_eq!((code, reason.as_str()), (400, "BadRequest"));
    assert_eq!(
        message,
        "requested groups [\"dev\"] without impersonating a user"
    );
}

/// api-machinery.md §13/x509: files are read again without a restart.
#[tokio::test]
async fn authorities_and_tokens_are_exchanged_while_the_server_runs() {
    let (old, new) = (Authority::new("test-ca"), Authority::new("test-ca"));
    let server = server_trusting(&old).await;
    let mut first = server.client(Some(issue(&old, &Wish::default()))).await;
    assert_eq!(first.get("/healthz").await.status, 200);
    std::fs::write(server.path("client-ca-0.crt"), new.pem()).unwrap();
    std::fs::write(server.path("tokens.csv"), "t2,tina,8\n").unwrap();
    server
        .credentials
        .reload(server.address, Timestamp::now())
        .unwrap();
    assert_eq!(
        first.get("/healthz").await.status,
        401,
        "an open connection is judged again"
    );
    let mut second = server.client(Some(issue(&new, &Wish::default()))).await;
    assert_eq!(second.get("/healthz").await.status, 200);
    let mut third = server.client(None).await;
    for (token, code) in [("Bearer t1", 401), ("Bearer t2", 200)] {
        let answer = third
            .send("GET", "/api/v1/users", &[("authorization", token)], "")
            .await;
        assert_eq!(answer.status, code, "{token}");
    }
    std::fs::write(server.path("client-ca-0.crt"), "nonsense").unwrap();
    let later = Timestamp::now() + 1.hour();
    let error = server
        .credentials
        .reload(server.address, later)
        .unwrap_err()
        .to_string();
    assert!(
        error.ends_with("client-ca-0.crt` does not hold a certificate in PEM form"),
        "{error}"
    );
    assert_eq!(
        second.get("/healthz").await.status,
        200,
        "the old ones stay in use"
    );
}
