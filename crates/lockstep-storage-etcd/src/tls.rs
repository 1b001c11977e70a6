//! TLS client configuration: rustls with aws-lc, from PEM files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_rustls::rustls;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::options::{IdentityFiles, TlsFiles};

/// Errors of the TLS configuration. No message contains file content.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TlsError {
    #[error("reading `{path}`: {error}")]
    Unreadable {
        path: PathBuf,
        error: std::io::Error,
    },
    #[error("`{path}` holds no {what} in PEM form")]
    Empty { path: PathBuf, what: &'static str },
    #[error("the certificates cannot be used: {0}")]
    Unusable(#[from] rustls::Error),
}

/// Builds the configuration from the current files.
pub(crate) async fn config(files: &TlsFiles) -> Result<rustls::ClientConfig, TlsError> {
    let mut trusted = rustls::RootCertStore::empty();
    for authority in certificates(&files.authorities).await? {
        trusted.add(authority)?;
    }
    let provider = Arc::new(aws_lc_rs::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(trusted);
    let mut config = match &files.identity {
        Some(identity) => {
            let (chain, key) = identity_from(identity).await?;
            config.with_client_auth_cert(chain, key)?
        }
        None => config.with_no_client_auth(),
    };
    config.alpn_protocols = vec![b"h2".to_vec()];
    Ok(config)
}

async fn identity_from(
    files: &IdentityFiles,
) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), TlsError> {
    let chain = certificates(&files.certificate).await?;
    let key = PrivateKeyDer::from_pem_slice(&read(&files.key).await?);
    let key = key.map_err(|_| TlsError::Empty {
        path: files.key.clone(),
        what: "private key",
    })?;
    Ok((chain, key))
}

async fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let pem = read(path).await?;
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    match certificates {
        Ok(certificates) if !certificates.is_empty() => Ok(certificates),
        Ok(_) | Err(_) => Err(TlsError::Empty {
            path: path.to_owned(),
            what: "certificate",
        }),
    }
}

async fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    let read = tokio::fs::read(path).await;
    read.map_err(|error| TlsError::Unreadable {
        path: path.to_owned(),
        error,
    })
}
