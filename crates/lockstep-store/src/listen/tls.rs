//! TLS with certificate reloading.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use parking_lot::Mutex;
use rustls::crypto::aws_lc_rs;
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer};

use crate::config::TlsFiles;

/// TLS configuration, reloaded when a file has changed.
pub(crate) struct Tls {
    files: TlsFiles,
    current: Mutex<Current>,
}

struct Current {
    stamps: Vec<Option<SystemTime>>,
    config: Arc<ServerConfig>,
}

impl Tls {
    pub(crate) fn read(files: TlsFiles) -> io::Result<Self> {
        let current = Mutex::new(Current {
            stamps: stamps(&files),
            config: build(&files)?,
        });
        Ok(Self { files, current })
    }

    /// Configuration of the next handshake. The previous one stays in use if the files are unreadable.
    pub(crate) fn config(&self) -> Arc<ServerConfig> {
        let stamps = stamps(&self.files);
        let mut current = self.current.lock();
        if current.stamps != stamps {
            match build(&self.files) {
                Ok(config) => {
                    tracing::info!("the TLS files have changed and were read again");
                    current.config = config;
                }
                Err(error) => {
                    tracing::warn!(%error, "the TLS files have changed and cannot be used");
                }
            }
            current.stamps = stamps;
        }
        current.config.clone()
    }
}

fn paths(files: &TlsFiles) -> impl Iterator<Item = &PathBuf> {
    let optional = [&files.client_authorities, &files.revoked];
    [&files.certificate, &files.key]
        .into_iter()
        .chain(optional.into_iter().flatten())
}

fn stamps(files: &TlsFiles) -> Vec<Option<SystemTime>> {
    let stamp = |path: &PathBuf| std::fs::metadata(path).and_then(|it| it.modified()).ok();
    paths(files).map(stamp).collect()
}

fn build(files: &TlsFiles) -> io::Result<Arc<ServerConfig>> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let certificates = certificates(&files.certificate)?;
    let key = PrivateKeyDer::from_pem_file(&files.key).map_err(|error| of(&files.key, error))?;
    let builder = ServerConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?;
    let builder = match &files.client_authorities {
        None => builder.with_no_client_auth(),
        Some(path) => {
            let mut roots = RootCertStore::empty();
            for authority in self::certificates(path)? {
                roots.add(authority).map_err(|error| of(path, error))?;
            }
            let mut verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), provider);
            if let Some(path) = &files.revoked {
                verifier = verifier.with_crls(revoked(path)?);
            }
            let verifier = verifier.build().map_err(|error| of(path, error))?;
            builder.with_client_cert_verifier(verifier)
        }
    };
    let config = builder.with_single_cert(certificates, key);
    let mut config = config.map_err(|error| of(&files.certificate, error))?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config.into())
}

fn certificates(path: &Path) -> io::Result<Vec<CertificateDer<'static>>> {
    let read = CertificateDer::pem_file_iter(path).map_err(|error| of(path, error))?;
    let read: Vec<_> = read
        .collect::<Result<_, _>>()
        .map_err(|error| of(path, error))?;
    if read.is_empty() {
        return Err(of(path, "there is no certificate in it"));
    }
    Ok(read)
}

fn revoked(path: &Path) -> io::Result<Vec<CertificateRevocationListDer<'static>>> {
    let read =
        CertificateRevocationListDer::pem_file_iter(path).map_err(|error| of(path, error))?;
    read.collect::<Result<_, _>>()
        .map_err(|error| of(path, error))
}

fn of(path: &Path, error: impl std::fmt::Display) -> io::Error {
    let what = format!("`{}`: {error}", path.display());
    io::Error::new(ErrorKind::InvalidData, what)
}
