//! Which webhooks are who they say they are.

use std::sync::Arc;
use std::time::Duration;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};
use x509_parser::prelude::{FromDer as _, X509Certificate};

use super::ConfigError;

/// TLS towards a webhook whose certificate is in a bundle of PEM, or was signed by one in it; with
/// an empty bundle, by one that the system trusts.
pub(super) fn tls(ca_bundle: &[u8]) -> Result<ClientConfig, ConfigError> {
    let certificates = if ca_bundle.is_empty() {
        of_the_system()?
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

fn of_the_system() -> Result<Vec<CertificateDer<'static>>, ConfigError> {
    let found = rustls_native_certs::load_native_certs();
    if found.certs.is_empty() {
        let errors: Vec<String> = found.errors.iter().map(ToString::to_string).collect();
        return Err(ConfigError::NoSystemTrust(errors.join(", ")));
    }
    Ok(found.certs)
}

/// Chains that end in a certificate of the bundle, and besides, as Go has it, exactly a certificate
/// of the bundle: one that signed itself is its own authority.
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
            // It says that it is an authority, and not one of the bundle's.
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

/// What is left to check of a certificate that is trusted by itself: its time, its use, its names.
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
