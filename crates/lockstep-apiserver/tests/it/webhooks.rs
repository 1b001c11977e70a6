//! Calls to webhooks, whatever they are for.

use lockstep_testkit::certificates::{Pair, issued, own_authority, self_signed, used_by};
use lockstep_testkit::webhook::{Hook, Said, Say, acceptor};
use std::time::Duration;

use bytes::Bytes;
use lockstep_apiserver::webhooks::{CallLimits, ClientConfig, Clients, Endpoint};
use rcgen::{BasicConstraints, ExtendedKeyUsagePurpose, IsCa};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

const LIMITS: CallLimits = CallLimits {
    timeout: Duration::from_secs(30),
    answer_bytes_max: 1000,
};

fn yes() -> Say {
    Box::new(|_| Some(json!({ "a": 1 }).into()))
}

fn config(url: &str, bundle: &str) -> ClientConfig {
    ClientConfig {
        endpoint: Endpoint::Url(url.to_owned()),
        ca_bundle: bundle.as_bytes().to_vec(),
    }
}

/// Calls a webhook and returns its response, or the error without the URL.
async fn call(url: &str, bundle: &str, limits: CallLimits) -> Result<String, String> {
    let client = Clients::default().client(&config(url, bundle));
    let answer = client.post(Bytes::from_static(b"{}"), limits).await;
    let told = |error: String| error.replace(&format!("Post \"{url}?timeout="), "");
    answer
        .map(|body| String::from_utf8(body.to_vec()).unwrap())
        .map_err(|error| told(error.to_string()))
}

/// dependencies.md §3, row "trust": Go accepts a self-signed certificate that is its own CA.
#[tokio::test]
async fn a_certificate_is_trusted_if_the_bundle_has_it_or_its_authority() {
    let leaf = |name: &str, year: i32| self_signed(name, IsCa::NoCa, year);
    let authority = IsCa::Ca(BasicConstraints::Unconstrained);
    let hint =
        "; the caBundle must hold the certificate of its authority, or the certificate itself";
    let refused = |why: &str| {
        Err(format!(
            "30s\": tls: failed to verify certificate: {why}{hint}"
        ))
    };
    let stranger = own_authority().authority;
    let believed = || Ok(r#"{"a":1}"#.to_owned());
    let with = |pair: Pair, bundle: &str| {
        let bundle = format!("{}\n{bundle}", pair.authority);
        (pair, bundle)
    };
    let instead = |pair: Pair, bundle: &str| (pair, bundle.to_owned());
    let rows = [
        (with(own_authority(), ""), believed()),
        (with(issued(), ""), believed()),
        (with(issued(), &stranger), believed()),
        (with(leaf("127.0.0.1", 2099), ""), believed()),
        (
            instead(own_authority(), &stranger),
            refused("x509: certificate signed by unknown authority"),
        ),
        (
            instead(issued(), &stranger),
            refused("x509: certificate signed by unknown authority"),
        ),
        (
            with(self_signed("127.0.0.1", authority, 2021), ""),
            refused("x509: certificate has expired or is not yet valid"),
        ),
        (
            with(used_by(ExtendedKeyUsagePurpose::ServerAuth), ""),
            believed(),
        ),
        (
            with(used_by(ExtendedKeyUsagePurpose::ClientAuth), ""),
            refused("InvalidPurpose"),
        ),
    ];
    for ((pair, bundle), expected) in rows {
        let hook = Hook::start(&pair, yes()).await;
        let told = call(&hook.url, &bundle, LIMITS).await;
        assert_eq!(told, expected, "{bundle}");
    }
    let pair = leaf("localhost", 2099);
    let hook = Hook::start(&pair, yes()).await;
    let told = call(&hook.url, &pair.authority, LIMITS).await.unwrap_err();
    assert!(told.contains("not valid for name \"127.0.0.1\""), "{told}");
    let told = call(&hook.url, "no certificate", LIMITS).await;
    let expected = "the caBundle holds no certificate in PEM";
    assert_eq!(told, Err(expected.to_owned()));
}

/// dependencies.md §3, row "trust": certificates as people make them, in one line.
#[tokio::test]
async fn a_certificate_that_openssl_signs_by_itself_is_trusted() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let line = format!(
        "req -x509 -newkey rsa:2048 -nodes -days 30 -subj /CN=webhook -addext \
         subjectAltName=IP:127.0.0.1 -keyout {} -out {}",
        at("key"),
        at("crt")
    );
    let made = std::process::Command::new("openssl")
        .args(line.split(' '))
        .output();
    let Ok(made) = made else {
        println!("SKIPPED: openssl is not installed, so nobody made a certificate as people do");
        return;
    };
    assert!(made.status.success(), "{made:?}");
    let read = |name: &str| std::fs::read_to_string(at(name)).unwrap();
    let pair = Pair {
        certificate: read("crt"),
        key: read("key"),
        authority: read("crt"),
    };
    let hook = Hook::start(&pair, yes()).await;
    let told = call(&hook.url, &pair.authority, LIMITS).await;
    assert_eq!(told, Ok(r#"{"a":1}"#.to_owned()));
}

/// api-machinery.md §11/versions: timeout; nothing else is waited for without end either.
#[tokio::test]
async fn a_call_ends_whatever_the_webhook_does() {
    let pair = own_authority();
    let hook = Hook::start(&pair, yes()).await;
    let says = |code: u16, header, body: &'static str| -> Say {
        let body = Bytes::from_static(body.as_bytes());
        Box::new(move |_| {
            Some(Said {
                code,
                header,
                body: body.clone(),
            })
        })
    };
    let soon = CallLimits {
        timeout: Duration::from_secs(1),
        ..LIMITS
    };
    let plain = ("content-type", "text/plain");
    let rows: [(Say, CallLimits, &str); 4] = [
        (
            Box::new(|_| None),
            soon,
            "1s\": context deadline exceeded: no answer within 1s",
        ),
        (
            says(503, plain, "not today\n"),
            LIMITS,
            "30s\": the webhook answered 503 Service Unavailable: \"not today\"",
        ),
        (
            says(307, ("location", "https://example.com/"), ""),
            LIMITS,
            "30s\": the webhook answered 307 Temporary Redirect, and redirects are not followed",
        ),
        (
            Box::new(|_| Some(json!({ "a": "x".repeat(1000) }).into())),
            LIMITS,
            "30s\": the answer is larger than 1000 bytes",
        ),
    ];
    for (say, limits, expected) in rows {
        hook.now_says(say);
        let told = call(&hook.url, &pair.authority, limits).await;
        assert_eq!(told, Err(expected.to_owned()));
    }
}

#[tokio::test]
async fn who_cannot_be_reached_is_told_by_address() {
    let bundle = own_authority().authority;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let told = call(&format!("https://{address}/x"), &bundle, LIMITS).await;
    let expected = format!("30s\": dial tcp {address}: connect: connection refused");
    assert_eq!(told, Err(expected));
    let service = ClientConfig {
        endpoint: Endpoint::Service {
            namespace: "n".to_owned(),
            name: "s".to_owned(),
            port: 443,
            path: "/x".to_owned(),
        },
        ca_bundle: bundle.into_bytes(),
    };
    let client = Clients::default().client(&service);
    let told = client.post(Bytes::new(), LIMITS).await.unwrap_err();
    let told = told.to_string();
    let start = "Post \"https://s.n.svc:443/x?timeout=30s\": lookup s.n.svc: ";
    let end = "; this server does not run Services: give the webhook a `url`, or make the name \
               s.n.svc known to the system";
    assert!(told.starts_with(start) && told.ends_with(end), "{told}");
}

#[tokio::test]
async fn calls_share_a_connection_until_the_webhook_closes_it() {
    let pair = own_authority();
    let hook = Hook::start(&pair, yes()).await;
    let clients = Clients::default();
    let call = async || {
        let client = clients.client(&config(&hook.url, &pair.authority));
        client
            .post(Bytes::from_static(b"{}"), LIMITS)
            .await
            .unwrap()
    };
    for _ in 0..3 {
        assert_eq!(call().await, r#"{"a":1}"#);
    }
    assert_eq!(hook.connections(), 1);
    hook.now_says(Box::new(|_| {
        Some(Said {
            header: ("connection", "close"),
            ..json!({ "a": 1 }).into()
        })
    }));
    for _ in 0..3 {
        assert_eq!(call().await, r#"{"a":1}"#);
    }
    assert_eq!(hook.connections(), 3);
    let (path, body) = hook.asked().remove(0);
    assert_eq!((path.as_str(), body), ("/convert?timeout=30s", json!({})));
}

/// A server of HTTP/1.0 whose answer ends where it hangs up, without a word of TLS: Go believes it, and what is cut short
/// is no answer.
#[tokio::test]
async fn an_answer_may_end_where_the_other_side_hangs_up() {
    let pair = own_authority();
    let rows = [
        ("\r\n{\"a\":1}", Ok(r#"{"a":1}"#.to_owned())),
        (
            "content-length: 9\r\n\r\n{\"a\":1}",
            Err("30s\": error reading a body from connection".to_owned()),
        ),
    ];
    for (answer, expected) in rows {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("https://{}/", listener.local_addr().unwrap());
        let acceptor = acceptor(&pair);
        let serving = async {
            let (stream, _) = listener.accept().await.unwrap();
            let mut stream = acceptor.accept(stream).await.unwrap();
            let mut asked = Vec::new();
            while !asked.ends_with(b"\r\n\r\n{}") {
                assert_ne!(stream.read_buf(&mut asked).await.unwrap(), 0);
            }
            let answer = format!("HTTP/1.0 200 OK\r\n{answer}");
            stream.write_all(answer.as_bytes()).await.unwrap();
            stream.flush().await.unwrap();
            // Dropped as it is, nothing says goodbye.
            drop(stream);
        };
        let (told, ()) = tokio::join!(call(&url, &pair.authority, LIMITS), serving);
        assert_eq!(told, expected, "{answer}");
    }
}
