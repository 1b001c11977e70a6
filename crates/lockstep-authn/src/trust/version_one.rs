//! X.509 v1 client certificates, which plain `openssl x509 -req` issues and webpki does not read.
//!
//! A v1 certificate has no extensions, so it is checked by fewer rules: it is signed by a trusted authority, without
//! intermediates, and both are valid now.

use jiff::Timestamp;
use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls13_signature_with_raw_key};
use rustls::pki_types::{CertificateDer, SignatureVerificationAlgorithm, SubjectPublicKeyInfoDer};
use rustls::{CertificateError, DigitallySignedStruct, Error, ProtocolVersion};
use x509_parser::der_parser::asn1_rs::Any;
use x509_parser::prelude::{FromDer as _, X509Certificate, X509Version};

/// True if a certificate is of version 1.
pub(super) fn is_version_one(certificate: &CertificateDer<'_>) -> bool {
    parse(certificate).is_ok_and(|parsed| parsed.version() == X509Version::V1)
}

/// Verifies that one of the authorities issued the certificate and that both are valid.
pub(super) fn verify(
    certificate: &CertificateDer<'_>,
    authorities: &[CertificateDer<'_>],
    algorithms: &WebPkiSupportedAlgorithms,
    now: Timestamp,
) -> Result<(), Error> {
    let own = parse(certificate)?;
    is_valid_at(&own, now)?;
    let mut error = CertificateError::UnknownIssuer;
    for authority in authorities {
        let Ok(issuer) = parse(authority) else {
            continue;
        };
        if issuer.subject().as_raw() != own.issuer().as_raw() {
            continue;
        }
        let checked = may_issue_clients(&issuer)
            .and_then(|()| is_valid_at(&issuer, now))
            .and_then(|()| is_signed_by(certificate, &own, &issuer, algorithms));
        match checked {
            Ok(()) => return Ok(()),
            Err(Error::InvalidCertificate(reason)) => error = reason,
            Err(other) => return Err(other),
        }
    }
    Err(error.into())
}

/// Verifies the signature by which a client proves in a TLS handshake that it has the key of its certificate.
pub(super) fn verify_possession(
    message: &[u8],
    certificate: &CertificateDer<'_>,
    signed: &DigitallySignedStruct,
    (version, algorithms): (ProtocolVersion, &WebPkiSupportedAlgorithms),
) -> Result<HandshakeSignatureValid, Error> {
    let parsed = parse(certificate)?;
    if version == ProtocolVersion::TLSv1_3 {
        let key = SubjectPublicKeyInfoDer::from(parsed.public_key().raw);
        return verify_tls13_signature_with_raw_key(message, &key, signed, algorithms);
    }
    let of_scheme = algorithms
        .mapping
        .iter()
        .filter(|(scheme, _)| *scheme == signed.scheme)
        .flat_map(|(_, algorithms)| algorithms.iter().copied());
    let is_any = |_: &dyn SignatureVerificationAlgorithm| true;
    verify_signature(&parsed, of_scheme, is_any, (message, signed.signature()))?;
    Ok(HandshakeSignatureValid::assertion())
}

fn parse<'a>(der: &'a CertificateDer<'_>) -> Result<X509Certificate<'a>, Error> {
    match X509Certificate::from_der(der) {
        Ok(([], certificate)) => Ok(certificate),
        _ => Err(CertificateError::BadEncoding.into()),
    }
}

fn is_valid_at(certificate: &X509Certificate<'_>, now: Timestamp) -> Result<(), Error> {
    let validity = certificate.validity();
    if now.as_second() < validity.not_before.timestamp() {
        return Err(CertificateError::NotValidYet.into());
    }
    if now.as_second() > validity.not_after.timestamp() {
        return Err(CertificateError::Expired.into());
    }
    Ok(())
}

/// Checks what an authority may be used for. One of version 1 has no extension that forbids it.
fn may_issue_clients(issuer: &X509Certificate<'_>) -> Result<(), Error> {
    let wrong = || Err(Error::InvalidCertificate(CertificateError::UnknownIssuer));
    if issuer.version() == X509Version::V1 {
        return Ok(());
    }
    let (Ok(constraints), Ok(usage), Ok(extended), Ok(names)) = (
        issuer.basic_constraints(),
        issuer.key_usage(),
        issuer.extended_key_usage(),
        issuer.name_constraints(),
    ) else {
        return wrong();
    };
    let is_authority = constraints.is_some_and(|constraints| constraints.value.ca);
    let may_sign = usage.is_none_or(|usage| usage.value.key_cert_sign());
    let is_for_clients =
        extended.is_none_or(|extended| extended.value.any || extended.value.client_auth);
    // Constraints of names are not compared with a subject here.
    if is_authority && may_sign && is_for_clients && names.is_none() {
        Ok(())
    } else {
        wrong()
    }
}

fn is_signed_by(
    der: &CertificateDer<'_>,
    certificate: &X509Certificate<'_>,
    issuer: &X509Certificate<'_>,
    algorithms: &WebPkiSupportedAlgorithms,
) -> Result<(), Error> {
    let [body, algorithm] = fields(der)?;
    let is_named = |with: &dyn SignatureVerificationAlgorithm| {
        inside(algorithm).is_ok_and(|named| named == with.signature_alg_id().as_ref())
    };
    if certificate.signature_value.unused_bits != 0 {
        return Err(CertificateError::BadEncoding.into());
    }
    let signature = (body, certificate.signature_value.data.as_ref());
    verify_signature(issuer, algorithms.all.iter().copied(), is_named, signature)
}

/// Verifies a signature with the public key of a certificate, by the first algorithm that fits the key.
fn verify_signature<'a>(
    signer: &X509Certificate<'_>,
    algorithms: impl Iterator<Item = &'a dyn SignatureVerificationAlgorithm>,
    is_suitable: impl Fn(&dyn SignatureVerificationAlgorithm) -> bool,
    (message, signature): (&[u8], &[u8]),
) -> Result<(), Error> {
    let key = signer.public_key();
    let [of_key, _] = fields(key.raw)?;
    let of_key = inside(of_key)?;
    let mut suitable =
        algorithms.filter(|with| is_suitable(*with) && with.public_key_alg_id().as_ref() == of_key);
    let with = suitable.next().ok_or(CertificateError::BadSignature)?;
    let verified = with.verify_signature(&key.subject_public_key.data, message, signature);
    verified.map_err(|_| CertificateError::BadSignature.into())
}

/// Encodings of the first two fields of a sequence.
fn fields(der: &[u8]) -> Result<[&[u8]; 2], Error> {
    let content = inside(der)?;
    let after = |der| {
        let parsed = Any::from_der(der).map_err(|_| Error::from(CertificateError::BadEncoding));
        parsed.map(|(rest, _)| rest)
    };
    let second = after(content)?;
    let third = after(second)?;
    Ok([
        &content[..content.len() - second.len()],
        &second[..second.len() - third.len()],
    ])
}

/// Contents of a DER value.
fn inside(der: &[u8]) -> Result<&[u8], Error> {
    match Any::from_der(der) {
        Ok((_, any)) => Ok(any.data),
        Err(_) => Err(CertificateError::BadEncoding.into()),
    }
}

#[cfg(test)]
mod tests;
