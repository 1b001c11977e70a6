//! Verification of client certificates.

use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;
use rustls::RootCertStore;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::{CertificateDer, UnixTime, pem::PemObject};
use rustls::server::{WebPkiClientVerifier, danger::ClientCertVerifier};

use super::files;
use super::own::TrustError;

/// The chain leads to no trusted authority, has expired, or is not for client authentication.
#[derive(Debug, thiserror::Error)]
#[error("the client certificate is not trusted: {0}")]
pub(crate) struct Untrusted(rustls::Error);

/// Trusted authorities of client certificates.
#[derive(Debug)]
pub struct ClientTrust {
    verifier: Arc<dyn ClientCertVerifier>,
    certificates: Vec<CertificateDer<'static>>,
}

impl ClientTrust {
    /// Trusts the server's own authority, and those in the files.
    pub fn load(own: &str, files: &[PathBuf]) -> Result<Self, TrustError> {
        let mut certificates: Vec<_> = CertificateDer::pem_slice_iter(own.as_bytes())
            .collect::<Result<_, _>>()
            .map_err(|_| TrustError::AuthorityCertificate)?;
        for path in files {
            let wrong = || TrustError::NoCertificate { path: path.clone() };
            let bytes = files::read(path)?;
            let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bytes).collect();
            let read = read.map_err(|_| wrong())?;
            if read.is_empty() {
                return Err(wrong());
            }
            certificates.extend(read);
        }
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(certificates.iter().cloned());
        let provider = Arc::new(aws_lc_rs::default_provider());
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
        let verifier = verifier
            .build()
            .map_err(|_| TrustError::AuthorityCertificate)?;
        Ok(Self {
            verifier,
            certificates,
        })
    }

    /// True if both trust the same authorities.
    pub fn is_same(&self, other: &Self) -> bool {
        self.certificates == other.certificates
    }

    /// Verifies a chain, leaf first.
    pub(crate) fn verify(
        &self,
        chain: &[CertificateDer<'_>],
        now: Timestamp,
    ) -> Result<(), Untrusted> {
        let (own, others) = chain
            .split_first()
            .ok_or(Untrusted(rustls::Error::NoCertificatesPresented))?;
        let seconds = u64::try_from(now.as_second()).unwrap_or(0);
        let now = UnixTime::since_unix_epoch(std::time::Duration::from_secs(seconds));
        let verified = self.verifier.verify_client_cert(own, others, now);
        verified.map(|_| ()).map_err(Untrusted)
    }
}
