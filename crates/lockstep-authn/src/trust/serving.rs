//! The serving certificate, which can be replaced while the server runs.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arc_swap::ArcSwap;
use jiff::Timestamp;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

use super::certificate::Facts;
use super::files;
use super::own::TrustError;

/// A certificate with its key, and the files they come from.
#[derive(Debug)]
pub struct ServingIdentity {
    certificate: PathBuf,
    key: PathBuf,
    current: ArcSwap<CertifiedKey>,
}

impl ServingIdentity {
    /// Reads both files.
    pub fn load(certificate: &Path, key: &Path, now: Timestamp) -> Result<Arc<Self>, TrustError> {
        Ok(Arc::new(Self {
            certificate: certificate.to_owned(),
            key: key.to_owned(),
            current: ArcSwap::from(read(certificate, key, now)?),
        }))
    }

    /// Reads both files again; true if they changed. After an error, the old ones stay in use.
    pub fn reload(&self, now: Timestamp) -> Result<bool, TrustError> {
        let read = read(&self.certificate, &self.key, now)?;
        let changed = read.cert != self.current.load().cert;
        if changed {
            self.current.store(read);
        }
        Ok(changed)
    }

    /// The last second of the certificate in use.
    pub fn expires(&self) -> Option<Timestamp> {
        let current = self.current.load();
        let facts = current.cert.first().and_then(Facts::read);
        facts.map(|facts| facts.not_after)
    }

    /// The file with the certificate.
    pub fn certificate_file(&self) -> &Path {
        &self.certificate
    }
}

impl ResolvesServerCert for ServingIdentity {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.current.load_full())
    }
}

fn read(certificate: &Path, key: &Path, now: Timestamp) -> Result<Arc<CertifiedKey>, TrustError> {
    let bytes = files::read(certificate)?;
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bytes).collect();
    let chain = chain.unwrap_or_default();
    let facts = chain.first().and_then(Facts::read);
    let facts = facts.ok_or_else(|| TrustError::NoCertificate {
        path: certificate.to_owned(),
    })?;
    if now < facts.not_before || now > facts.not_after {
        return Err(TrustError::NotValidNow {
            path: certificate.to_owned(),
            from: facts.not_before,
            until: facts.not_after,
        });
    }
    let private = PrivateKeyDer::from_pem_slice(&files::read(key)?);
    let private = private.map_err(|_| TrustError::NoKey {
        path: key.to_owned(),
    })?;
    let certified = CertifiedKey::from_der(chain, private, &aws_lc_rs::default_provider());
    certified
        .map(Arc::new)
        .map_err(|source| TrustError::Unusable {
            certificate: certificate.to_owned(),
            key: key.to_owned(),
            source,
        })
}
