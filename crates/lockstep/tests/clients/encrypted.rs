//! A server on an etcd that wants to know its clients.

use std::ffi::OsStr;

use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use kube::api::ListParams;
use lockstep_testkit::processes::Etcd;

use crate::server::Server;

#[tokio::test]
async fn a_server_shows_etcd_its_certificate() {
    let folder = tempfile::tempdir().unwrap();
    // The certificates that a server generates for itself also serve as etcd's.
    let issuer = folder.path().join("issuer");
    drop(Server::start(&issuer, "embedded"));
    let file = |name: &str| issuer.join("pki").join(name).into_os_string();
    let (ca, crt, key) = (file("ca.crt"), file("apiserver.crt"), file("apiserver.key"));
    let [cert_file, key_file, ca_file, wants] = [
        "--cert-file",
        "--key-file",
        "--trusted-ca-file",
        "--client-cert-auth",
    ]
    .map(OsStr::new);
    let flags = [cert_file, &crt, key_file, &key, ca_file, &ca, wants];
    let Some(etcd) = Etcd::start(folder.path(), "https", &flags) else {
        return;
    };
    let (crt, key) = (file("admin.crt"), file("admin.key"));
    let [ca_file, cert_file, key_file] =
        ["--etcd-cafile", "--etcd-certfile", "--etcd-keyfile"].map(OsStr::new);
    let flags = [ca_file, &ca, cert_file, &crt, key_file, &key];
    let server = Server::start_with(&folder.path().join("data"), &etcd.store(), &flags);
    let namespaces: Api<Namespace> = Api::all(server.client().await);
    let found = namespaces.list(&ListParams::default()).await.unwrap();
    assert_eq!(found.items.len(), 4, "{found:?}");
}
