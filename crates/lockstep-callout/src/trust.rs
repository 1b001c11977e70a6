//! TLS configurations: verification of servers, and client certificates.

use std::sync::Arc;
use std::time::Duration;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};
use x509_parser::prelude::{FromDer as _, X509Certificate};

use crate::ConfigError;
use crate::unverified::Unverified;

/// Verification of a server by [`tls_config`].
#[derive(Clone, Copy)]
pub enum ServerTrust<'a> {
    /// Certificate authorities in PEM.
    Authorities(&'a [u8]),
    /// No verification.
    Unverified,
}

/// Errors of [`tls_config`], worded for users of a kubeconfig.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum TlsError {
    /// The authorities are not PEM.
    #[error("certificate-authority is not in PEM form")]
    AuthoritiesNotPem,
    /// There is no authority.
    #[error("no certificate authority is known for it; name a kubeconfig with `--kubeconfig`")]
    NoAuthority,
    /// The client certificate or its key is not PEM.
    #[error("client-certificate or client-key is not in PEM form")]
    IdentityNotPem,
    /// The parts do not fit together.
    #[error(transparent)]
    Rustls(#[from] Error),
}

/// TLS towards a server whose authorities are known, with a client certificate and key in PEM if given.
pub fn tls_config(
    trust: ServerTrust<'_>,
    identity: Option<(&[u8], &[u8])>,
) -> Result<ClientConfig, TlsError> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()?;
    let builder = match trust {
        ServerTrust::Authorities(pem) => builder.with_root_certificates(authorities(pem)?),
        ServerTrust::Unverified => builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Unverified(provider))),
    };
    let Some((certificate, key)) = identity else {
        return Ok(builder.with_no_client_auth());
    };
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(certificate).collect();
    let (Ok(chain), Ok(key)) = (chain, PrivateKeyDer::from_pem_slice(key)) else {
        return Err(TlsError::IdentityNotPem);
    };
    Ok(builder.with_client_auth_cert(chain, key)?)
}

fn authorities(pem: &[u8]) -> Result<RootCertStore, TlsError> {
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let certificates = certificates.map_err(|_| TlsError::AuthoritiesNotPem)?;
    if certificates.is_empty() {
        return Err(TlsError::NoAuthority);
    }
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(certificates);
    Ok(roots)
}

/// TLS towards a webhook whose certificate is in a PEM bundle, or was signed by one in it; with an empty bundle, by an
/// authority of the system.
pub(crate) fn tls(ca_bundle: &[u8]) -> Result<ClientConfig, ConfigError> {
    let certificates = if ca_bundle.is_empty() {
        system_authorities()?
    } else {
        let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(ca_bundle).collect();
        read.map_err(|_| ConfigError::NoCertificate)?
    };
    if certificates.is_empty() {
        return Err(ConfigError::NoCertificate);
    }
    let provider = Arc::new(aws_lc_rs::default_provider());
    let unusable = |error: String| ConfigError::Trust(error);
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(certificates.iter().cloned());
    let chains = if roots.is_empty() {
        None
    } else {
        let builder =
            WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider));
        Some(
            builder
                .build()
                .map_err(|error| unusable(error.to_string()))?,
        )
    };
    let trust = Trust {
        provider: Arc::clone(&provider),
        chains,
        pinned: certificates,
    };
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| unusable(error.to_string()))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(trust))
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

fn system_authorities() -> Result<Vec<CertificateDer<'static>>, ConfigError> {
    let found = rustls_native_certs::load_native_certs();
    if found.certs.is_empty() {
        let errors: Vec<String> = found.errors.iter().map(ToString::to_string).collect();
        return Err(ConfigError::NoSystemTrust(errors.join(", ")));
    }
    Ok(found.certs)
}

/// Verifier that accepts chains to a certificate of the bundle and, as Go does, a certificate of the bundle itself:
/// webhooks often serve a self-signed certificate, which webpki rejects as a leaf.
#[derive(Debug)]
struct Trust {
    provider: Arc<CryptoProvider>,
    chains: Option<Arc<WebPkiServerVerifier>>,
    pinned: Vec<CertificateDer<'static>>,
}

impl ServerCertVerifier for Trust {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if self.pinned.iter().any(|pinned| pinned == end_entity) {
            check_pinned(end_entity, server_name, now)?;
            return Ok(ServerCertVerified::assertion());
        }
        let unknown = || Error::InvalidCertificate(CertificateError::UnknownIssuer);
        let chains = self.chains.as_ref().ok_or_else(unknown)?;
        let verified =
            chains.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        verified.map_err(|error| match error {
            // An authority that is not in the bundle; webpki only says that it cannot be a leaf.
            Error::InvalidCertificate(CertificateError::Other(_)) if is_authority(end_entity) => {
                unknown()
            }
            error => error,
        })
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        let algorithms = &self.provider.signature_verification_algorithms;
        algorithms.supported_schemes()
    }
}

/// Checks validity period, key usage and names of a pinned certificate, which has no chain to verify.
fn check_pinned(
    certificate: &CertificateDer<'_>,
    name: &ServerName<'_>,
    now: UnixTime,
) -> Result<(), Error> {
    let refused = Error::InvalidCertificate;
    let parsed = X509Certificate::from_der(certificate.as_ref());
    let (_, parsed) = parsed.map_err(|_| refused(CertificateError::BadEncoding))?;
    let time = |at: i64| {
        let seconds = u64::try_from(at).unwrap_or(0);
        UnixTime::since_unix_epoch(Duration::from_secs(seconds))
    };
    let (since, until) = (
        time(parsed.validity().not_before.timestamp()),
        time(parsed.validity().not_after.timestamp()),
    );
    if now < since {
        return Err(refused(CertificateError::NotValidYet));
    }
    if now > until {
        return Err(refused(CertificateError::Expired));
    }
    let uses = parsed.extended_key_usage();
    let uses = uses.map_err(|_| refused(CertificateError::BadEncoding))?;
    if uses.is_some_and(|uses| !uses.value.server_auth && !uses.value.any) {
        return Err(refused(CertificateError::InvalidPurpose));
    }
    verify_server_name(&ParsedCertificate::try_from(certificate)?, name)
}

fn is_authority(certificate: &CertificateDer<'_>) -> bool {
    let parsed = X509Certificate::from_der(certificate.as_ref());
    parsed.is_ok_and(|(_, parsed)| parsed.is_ca())
}
