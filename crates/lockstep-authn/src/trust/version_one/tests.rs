//! Certificates made by `openssl req -newkey rsa:2048 …` (`rsa`) or with a key on P-256 (`ec`), then `openssl x509
//! -req -CA … -CAkey …`. All authorities have one name; all but `other-authority` have one key. Valid to 2126.

use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject as _;

use super::*;

const RSA: &str = include_str!("rsa.pem");
const EC: &str = include_str!("ec.pem");
const AUTHORITY: &str = include_str!("authority.pem");
const OTHER: &str = include_str!("other-authority.pem");
const LEAF: &str = include_str!("leaf-as-authority.pem");
const OF_SERVERS: &str = include_str!("authority-of-servers.pem");
const VALID: &str = "2027-01-01T00:00:00Z";

fn der(pem: &str) -> CertificateDer<'static> {
    CertificateDer::from_pem_slice(pem.as_bytes()).expect("a file of this folder")
}

fn checked(
    certificate: &CertificateDer<'_>,
    authorities: &[&str],
    now: &str,
) -> Result<(), CertificateError> {
    let authorities: Vec<_> = authorities.iter().map(|pem| der(pem)).collect();
    let algorithms = aws_lc_rs::default_provider().signature_verification_algorithms;
    let now = now.parse().expect("a time");
    match verify(certificate, &authorities, &algorithms, now) {
        Err(Error::InvalidCertificate(error)) => Err(error),
        other => {
            assert_eq!(other, Ok(()));
            Ok(())
        }
    }
}

/// api-machinery.md §13/x509
#[test]
fn a_certificate_of_version_one_is_trusted_if_a_trusted_authority_issued_it() {
    let unknown = Err(CertificateError::UnknownIssuer);
    for pem in [RSA, EC] {
        let own = der(pem);
        assert!(is_version_one(&own));
        assert_eq!(checked(&own, &[AUTHORITY], VALID), Ok(()));
        assert_eq!(checked(&own, &[OTHER, AUTHORITY], VALID), Ok(()));
        let forged = Err(CertificateError::BadSignature);
        assert_eq!(checked(&own, &[OTHER], VALID), forged);
        assert_eq!(checked(&own, &[LEAF], VALID), unknown);
        assert_eq!(checked(&own, &[OF_SERVERS], VALID), unknown);
        assert_eq!(checked(&own, &[RSA], VALID), unknown);
        assert_eq!(checked(&own, &[], VALID), unknown);
        let early = Err(CertificateError::NotValidYet);
        assert_eq!(checked(&own, &[AUTHORITY], "2026-01-01T00:00:00Z"), early);
        let late = Err(CertificateError::Expired);
        assert_eq!(checked(&own, &[AUTHORITY], "2127-01-01T00:00:00Z"), late);
    }
    assert!(!is_version_one(&der(AUTHORITY)));
}

#[test]
fn a_changed_byte_makes_a_certificate_of_version_one_untrusted() {
    for pem in [RSA, EC] {
        let good = der(pem);
        for at in 0..good.len() {
            let mut bytes = good.to_vec();
            bytes[at] ^= 1;
            let changed = CertificateDer::from(bytes);
            let answer = checked(&changed, &[AUTHORITY], VALID);
            assert!(answer.is_err(), "byte {at}");
        }
    }
}
