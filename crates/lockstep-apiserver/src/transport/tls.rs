//! The TLS side of the listener.

use std::sync::Arc;

use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{
    DigitallySignedStruct, DistinguishedName, ProtocolVersion, ServerConfig, SignatureScheme,
};

use crate::trust::{ServingIdentity, verify_possession};

/// Minimum TLS version.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum TlsVersion {
    /// TLS 1.2 and later.
    #[default]
    V12,
    /// TLS 1.3.
    V13,
}

const BOTH: &[&rustls::SupportedProtocolVersion] =
    &[&rustls::version::TLS13, &rustls::version::TLS12];
const NEWEST: &[&rustls::SupportedProtocolVersion] = &[&rustls::version::TLS13];

/// TLS configuration: ALPN prefers HTTP/2 to HTTP/1.1; client certificates are optional and verified per request.
pub(crate) fn server_config(
    identity: Arc<ServingIdentity>,
    oldest: TlsVersion,
) -> Result<ServerConfig, rustls::Error> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let versions = match oldest {
        TlsVersion::V12 => BOTH,
        TlsVersion::V13 => NEWEST,
    };
    let verifier = AskForCertificate {
        provider: Arc::clone(&provider),
    };
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)?
        .with_client_cert_verifier(Arc::new(verifier))
        .with_cert_resolver(identity);
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

/// Requests a certificate from every client and verifies only possession of its key. Authentication verifies the chain,
/// so that an untrusted certificate is answered with 401 and not with a failed handshake.
#[derive(Debug)]
struct AskForCertificate {
    provider: Arc<CryptoProvider>,
}

impl ClientCertVerifier for AskForCertificate {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        let algorithms = (ProtocolVersion::TLSv1_2, algorithms);
        verify_possession(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        let algorithms = (ProtocolVersion::TLSv1_3, algorithms);
        verify_possession(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}
