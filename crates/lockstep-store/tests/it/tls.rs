//! etcd-api.md §10/tls, etcd-api.md §1/transport.

use std::path::Path;

use lockstep_etcd_api::etcdserverpb::kv_client::KvClient;
use lockstep_store::{Config, Server, StartError, TlsFiles};
use lockstep_testkit::certificates::Authority;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};

use crate::harness::{Running, get, put};

fn write(folder: &Path, authority: &Authority) -> TlsFiles {
    let pair = authority.issue("localhost");
    let file = |name: &str, text: &str| {
        let path = folder.join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    TlsFiles {
        certificate: file("server.pem", &pair.certificate),
        key: file("server.key", &pair.key),
        client_authorities: Some(file("ca.pem", authority.pem())),
        revoked: None,
    }
}

async fn connect(port: u16, authority: &Authority, identity: Option<Identity>) -> Option<Channel> {
    let mut tls = ClientTlsConfig::new()
        .ca_certificate(Certificate::from_pem(authority.pem()))
        .domain_name("localhost");
    if let Some(identity) = identity {
        tls = tls.identity(identity);
    }
    let endpoint = Endpoint::from_shared(format!("https://127.0.0.1:{port}")).unwrap();
    let channel = endpoint.tls_config(tls).unwrap().connect().await.ok()?;
    let answer = KvClient::new(channel.clone()).range(get("a")).await;
    answer.is_ok().then_some(channel)
}

#[tokio::test]
async fn a_client_needs_a_certificate_of_the_authority_and_changed_files_are_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::new("ours");
    let files = write(folder.path(), &authority);
    let server = Running::start_with(|config| {
        config.tls = Some(files.clone());
        config.listen_client = vec!["https://127.0.0.1:0".parse().unwrap()];
    })
    .await;
    let identity = |authority: &Authority| {
        let pair = authority.issue("client");
        Some(Identity::from_pem(pair.certificate, pair.key))
    };
    assert!(
        connect(server.port, &authority, identity(&authority))
            .await
            .is_some()
    );
    assert!(connect(server.port, &authority, None).await.is_none());
    let other = Authority::new("theirs");
    assert!(
        connect(server.port, &authority, identity(&other))
            .await
            .is_none()
    );
    write(folder.path(), &other);
    assert!(
        connect(server.port, &other, identity(&other))
            .await
            .is_some()
    );
    assert!(
        connect(server.port, &authority, identity(&authority))
            .await
            .is_none()
    );
    std::fs::write(folder.path().join("server.pem"), "nonsense").unwrap();
    assert!(
        connect(server.port, &other, identity(&other))
            .await
            .is_some()
    );
}

#[tokio::test]
async fn an_encrypted_address_without_a_certificate_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let config = Config {
        data_dir: folder.path().to_owned(),
        listen_client: vec!["https://127.0.0.1:0".parse().unwrap()],
        ..Config::default()
    };
    let refused = Server::start(config).await.err().unwrap();
    assert!(matches!(refused, StartError::NoTls(_)), "{refused}");
}

#[tokio::test]
async fn a_unix_socket_serves_like_any_address() {
    let server = Running::start_with(|config| {
        let socket = config.data_dir.with_file_name("socket");
        let url = format!("unix://{}", socket.display());
        config.listen_client.push(url.parse().unwrap());
    })
    .await;
    let path = server.folder().join("socket");
    let channel = Endpoint::from_shared(format!("unix://{}", path.display())).unwrap();
    let mut kv = KvClient::new(channel.connect().await.unwrap());
    let answer = kv.put(put("a", "1")).await.unwrap().into_inner();
    assert_eq!(answer.header.unwrap().revision, 2);
}
