//! Verification of client certificates.

use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;
use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{
    WebPkiSupportedAlgorithms, aws_lc_rs, verify_tls12_signature, verify_tls13_signature,
};
use rustls::pki_types::{CertificateDer, UnixTime, pem::PemObject};
use rustls::server::{WebPkiClientVerifier, danger::ClientCertVerifier};
use rustls::{DigitallySignedStruct, ProtocolVersion, RootCertStore};

use super::own::TrustError;
use super::{files, version_one};

/// The chain leads to no trusted authority, has expired, or is not for client authentication.
#[derive(Debug, thiserror::Error)]
#[error("the client certificate is not trusted: {0}")]
pub(crate) struct Untrusted(rustls::Error);

/// Trusted authorities of client certificates.
#[derive(Debug)]
pub struct ClientTrust {
    verifier: Arc<dyn ClientCertVerifier>,
    certificates: Vec<CertificateDer<'static>>,
    algorithms: WebPkiSupportedAlgorithms,
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
        let algorithms = provider.signature_verification_algorithms;
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
        let verifier = verifier
            .build()
            .map_err(|_| TrustError::AuthorityCertificate)?;
        Ok(Self {
            verifier,
            certificates,
            algorithms,
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
        if version_one::is_version_one(own) {
            let verified = version_one::verify(own, &self.certificates, &self.algorithms, now);
            return verified.map_err(Untrusted);
        }
        let seconds = u64::try_from(now.as_second()).unwrap_or(0);
        let now = UnixTime::since_unix_epoch(std::time::Duration::from_secs(seconds));
        let verified = self.verifier.verify_client_cert(own, others, now);
        verified.map(|_| ()).map_err(Untrusted)
    }
}

/// Verifies that a client has the key of the certificate that it presents in a handshake.
pub fn verify_possession(
    message: &[u8],
    certificate: &CertificateDer<'_>,
    signed: &DigitallySignedStruct,
    by: (ProtocolVersion, &WebPkiSupportedAlgorithms),
) -> Result<HandshakeSignatureValid, rustls::Error> {
    if version_one::is_version_one(certificate) {
        return version_one::verify_possession(message, certificate, signed, by);
    }
    let (version, algorithms) = by;
    match version {
        ProtocolVersion::TLSv1_3 => {
            verify_tls13_signature(message, certificate, signed, algorithms)
        }
        _ => verify_tls12_signature(message, certificate, signed, algorithms),
    }
}
