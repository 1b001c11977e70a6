//! Client certificates of version 1, as plain `openssl x509 -req` makes them, in whole handshakes. The files are described
//! where the rule stands, in `lockstep-authn`.

use std::sync::Arc;

use lockstep_testkit::client::{config, raw};
use rustls::client::ResolvesClientCert;
use rustls::crypto::aws_lc_rs::{self, sign::any_supported_type};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};
use rustls::sign::CertifiedKey;
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, RootCertStore, SignatureScheme, SupportedProtocolVersion};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::server::{Setup, TestServer};

const RSA: [&str; 2] = [
    include_str!("version_one/rsa.pem"),
    include_str!("version_one/rsa.key"),
];
const EC: [&str; 2] = [
    include_str!("version_one/ec.pem"),
    include_str!("version_one/ec.key"),
];
const AUTHORITY: &str = include_str!("version_one/authority.pem");

/// Shows a certificate that the client's own TLS library would not read.
#[derive(Debug)]
struct Shown(Arc<CertifiedKey>);

impl ResolvesClientCert for Shown {
    fn resolve(&self, _: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0))
    }

    fn has_certs(&self) -> bool {
        true
    }
}

/// The certificate of `certificate` with the key of `key`.
fn shown(certificate: &str, key: &str) -> Shown {
    let chain = vec![CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()];
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
    Shown(Arc::new(CertifiedKey::new(
        chain,
        any_supported_type(&key).unwrap(),
    )))
}

fn client(
    server: &TestServer,
    version: &'static SupportedProtocolVersion,
    shown: Shown,
) -> ClientConfig {
    let usual = config(&server.authority(), None, "http/1.1");
    let provider = Arc::new(aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider);
    let builder = builder.with_protocol_versions(&[version]).unwrap();
    let mut roots = RootCertStore::empty();
    let authority = CertificateDer::pem_slice_iter(&server.authority())
        .map(Result::unwrap)
        .collect::<Vec<_>>();
    roots.add_parsable_certificates(authority);
    let mut config = builder
        .with_root_certificates(roots)
        .with_client_cert_resolver(Arc::new(shown));
    config.alpn_protocols = usual.alpn_protocols;
    config
}

/// The whole response; an error if the server refuses the handshake.
async fn ask(server: &TestServer, config: ClientConfig) -> std::io::Result<String> {
    let mut stream = raw(server.address, "localhost", config).await?;
    let request = "GET /api/v1/users HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).await?;
    let mut response = String::new();
    stream.read_to_string(&mut response).await?;
    Ok(response)
}

async fn server_trusting(authorities: &[&str]) -> TestServer {
    TestServer::with(Setup {
        client_authorities: authorities.iter().map(|&pem| pem.to_owned()).collect(),
        authorizer: lockstep_apiserver::authz::allow_all(),
        ..Setup::default()
    })
    .await
}

/// api-machinery.md §13/x509
#[tokio::test]
async fn a_certificate_of_version_one_names_its_user() {
    let server = server_trusting(&[AUTHORITY]).await;
    for version in [&TLS12, &TLS13] {
        for ([certificate, key], user) in [(RSA, "jane"), (EC, "joe")] {
            let config = client(&server, version, shown(certificate, key));
            let response = ask(&server, config).await.unwrap();
            let told = format!("\r\n\r\n{user} \"\" [\"dev\", \"system:authenticated\"]");
            assert!(response.contains(&told), "{response}");
        }
    }
}

/// api-machinery.md §13/x509
#[tokio::test]
async fn a_certificate_of_version_one_without_its_authority_or_key_is_refused() {
    let stranger = server_trusting(&[]).await;
    let server = server_trusting(&[AUTHORITY]).await;
    for version in [&TLS12, &TLS13] {
        let [certificate, key] = EC;
        let config = client(&stranger, version, shown(certificate, key));
        let response = ask(&stranger, config).await.unwrap();
        assert!(response.starts_with("HTTP/1.1 401 "), "{response}");
        // A key that is not the one of the certificate.
        let other = lockstep_testkit::certificates::Authority::new("a")
            .issue("localhost")
            .key;
        let config = client(&server, version, shown(certificate, &other));
        let refused = ask(&server, config).await.unwrap_err();
        assert!(!refused.to_string().is_empty());
    }
}
