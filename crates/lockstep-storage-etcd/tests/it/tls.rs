//! TLS: verification of members, and client certificates.

use std::path::{Path, PathBuf};

use lockstep_storage::{Consistency, Store};
use lockstep_storage_etcd::{ConnectError, EtcdStore, IdentityFiles, Options, TlsFiles};
use lockstep_testkit::certificates::Authority;
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::etcd::{Member, Release, Security};
use crate::load::put;

/// A CA with the certificates it issued, as files.
struct Files {
    folder: TempDir,
    authority: Authority,
}

impl Files {
    fn new(name: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let authority = Authority::new(name);
        std::fs::write(folder.path().join("ca.pem"), authority.pem()).unwrap();
        Self { folder, authority }
    }

    fn certificate(&self) -> PathBuf {
        self.folder.path().join("ca.pem")
    }

    /// A certificate that is good for this machine.
    fn sign(&self, name: &str) -> IdentityFiles {
        let pair = self.authority.issue("127.0.0.1");
        let write = |kind: &str, pem: String| {
            let path = self.folder.path().join(format!("{name}-{kind}.pem"));
            std::fs::write(&path, pem).unwrap();
            path
        };
        IdentityFiles {
            certificate: write("cert", pair.certificate),
            key: write("key", pair.key),
        }
    }
}

/// A member that requires client certificates.
fn start(program: &Path, authority: &Files) -> Member {
    let server = authority.sign("server");
    let flags = [
        ("--cert-file", server.certificate),
        ("--key-file", server.key),
        ("--trusted-ca-file", authority.certificate()),
    ];
    let flags = flags
        .into_iter()
        .flat_map(|(flag, path)| [flag.into(), path.into_os_string()]);
    let security = Security {
        arguments: flags.chain(["--client-cert-auth".into()]).collect(),
        is_encrypted: true,
    };
    Member::start_secured(program, &security)
}

async fn connect(
    member: &Member,
    authorities: PathBuf,
    identity: Option<IdentityFiles>,
) -> Result<EtcdStore, String> {
    let options = Options {
        tls: Some(TlsFiles {
            authorities,
            identity,
        }),
        ..member.options()
    };
    EtcdStore::connect(options)
        .await
        .map_err(|error| match error {
            ConnectError::Unavailable(unavailable) => unavailable.reason,
            ConnectError::Tls { reason } => reason,
            other => panic!("{other}"),
        })
}

#[test]
fn only_the_right_certificates_on_both_sides_open_a_store() {
    let Some(program) = Release::Packaged.program() else {
        return;
    };
    let (authority, stranger) = (Files::new("ours"), Files::new("theirs"));
    let member = start(&program, &authority);
    let url = member.url();
    Runtime::new().unwrap().block_on(async {
        let ours = || Some(authority.sign("client"));
        let store = connect(&member, authority.certificate(), ours())
            .await
            .unwrap();
        let written = store.txn(put("k", "v")).await.unwrap().revision;
        let current = store.revision(Consistency::Linearizable).await;
        assert_eq!(current, Ok(written));

        let refused = connect(&member, stranger.certificate(), ours()).await;
        let error = format!("`{url}`: invalid peer certificate: UnknownIssuer");
        assert_eq!(refused.err(), Some(error));

        for identity in [None, Some(stranger.sign("client"))] {
            let refused = connect(&member, authority.certificate(), identity).await;
            let error = refused.err().unwrap();
            assert!(error.starts_with(&format!("`{url}`: ")), "{error}");
        }

        let nowhere = PathBuf::from("/nowhere/ca.pem");
        let refused = connect(&member, nowhere, ours()).await;
        let error = "reading `/nowhere/ca.pem`: No such file or directory (os error 2)";
        assert_eq!(refused.err().as_deref(), Some(error));

        let not_a_key = IdentityFiles {
            key: authority.certificate(),
            ..authority.sign("client")
        };
        let refused = connect(&member, authority.certificate(), Some(not_a_key)).await;
        let path = authority.certificate();
        let error = format!("`{}` holds no private key in PEM form", path.display());
        assert_eq!(refused.err(), Some(error));
    });
}
