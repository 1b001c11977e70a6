//! The server's own certificate authority.

use jiff::{Span, Timestamp, tz::TimeZone};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose, SanType, SerialNumber, date_time_ymd,
};
use rustls::pki_types::{CertificateDer, pem::PemObject};

use super::{ServingNames, TrustError, certificate::Facts};

/// Lifetime of the authority.
const AUTHORITY_DAYS: i64 = 3650;
/// Lifetime of issued certificates.
const ISSUED_DAYS: i64 = 365;
/// Remaining lifetime below which a certificate is renewed.
const RENEW_BEFORE_DAYS: i64 = 30;
/// Common name of the authority.
const AUTHORITY_NAME: &str = "lockstep-ca";

/// A certificate and its key as text.
pub(crate) struct Pair {
    pub(crate) certificate: String,
    pub(crate) key: String,
}

/// A certificate authority with its key.
pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: String,
    facts: Facts,
}

impl Authority {
    /// Creates a new authority.
    pub(crate) fn make(now: Timestamp) -> Result<Pair, TrustError> {
        let key = KeyPair::generate()?;
        let mut params = validity(now, AUTHORITY_DAYS)?;
        params.distinguished_name = named(AUTHORITY_NAME, None);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![
            KeyUsagePurpose::DigitalSignature,
            KeyUsagePurpose::KeyCertSign,
            KeyUsagePurpose::CrlSign,
        ];
        let certificate = params.self_signed(&key)?;
        Ok(Pair {
            certificate: certificate.pem(),
            key: key.serialize_pem(),
        })
    }

    /// Reads an authority from PEM.
    pub(crate) fn read(certificate: &str, key: &str) -> Result<Self, TrustError> {
        let key = KeyPair::from_pem(key).map_err(|_| TrustError::AuthorityKey)?;
        let der = CertificateDer::from_pem_slice(certificate.as_bytes());
        let der = der.map_err(|_| TrustError::AuthorityCertificate)?;
        let facts = Facts::read(&der).ok_or(TrustError::AuthorityCertificate)?;
        let issuer =
            Issuer::from_ca_cert_der(&der, key).map_err(|_| TrustError::AuthorityCertificate)?;
        Ok(Self {
            issuer,
            certificate: certificate.to_owned(),
            facts,
        })
    }

    /// Its certificate, for clients.
    pub(crate) fn certificate(&self) -> &str {
        &self.certificate
    }

    pub(crate) fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Issues a serving certificate.
    pub(crate) fn issue_serving(
        &self,
        common_name: &str,
        names: &ServingNames,
        now: Timestamp,
    ) -> Result<Pair, TrustError> {
        let mut params = validity(now, ISSUED_DAYS)?;
        params.distinguished_name = named(common_name, None);
        for name in &names.dns {
            let name = name.as_str().try_into()?;
            params.subject_alt_names.push(SanType::DnsName(name));
        }
        let addresses = names.addresses.iter().copied().map(SanType::IpAddress);
        params.subject_alt_names.extend(addresses);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        self.issue(params)
    }

    /// Issues a client certificate for a user in one group.
    pub(crate) fn issue_client(
        &self,
        user: &str,
        group: &str,
        now: Timestamp,
    ) -> Result<Pair, TrustError> {
        let mut params = validity(now, ISSUED_DAYS)?;
        params.distinguished_name = named(user, Some(group));
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.issue(params)
    }

    fn issue(&self, mut params: CertificateParams) -> Result<Pair, TrustError> {
        let key = KeyPair::generate()?;
        params.use_authority_key_identifier_extension = true;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        let certificate = params.signed_by(&key, &self.issuer)?;
        Ok(Pair {
            certificate: certificate.pem(),
            key: key.serialize_pem(),
        })
    }
}

/// True if a certificate is due for renewal.
pub(crate) fn is_due(facts: &Facts, now: Timestamp) -> bool {
    let renew_from = facts.not_after.as_second() - RENEW_BEFORE_DAYS * 24 * 3600;
    now.as_second() >= renew_from || now < facts.not_before
}

/// Validity period from the day before, against clock skew, to `days` days after.
fn validity(now: Timestamp, days: i64) -> Result<CertificateParams, TrustError> {
    let today = now.to_zoned(TimeZone::UTC).date();
    let day = |days: i64| {
        let date = today.checked_add(Span::new().days(days));
        let date = date.map_err(|_| TrustError::Clock)?;
        let (month, day) = (date.month().unsigned_abs(), date.day().unsigned_abs());
        Ok::<_, TrustError>(date_time_ymd(date.year().into(), month, day))
    };
    let mut params = CertificateParams::default();
    params.not_before = day(-1)?;
    params.not_after = day(days)?;
    params.serial_number = Some(SerialNumber::from(uuid::Uuid::new_v4().as_bytes().to_vec()));
    Ok(params)
}

fn named(common_name: &str, organization: Option<&str>) -> DistinguishedName {
    let mut name = DistinguishedName::new();
    if let Some(organization) = organization {
        name.push(DnType::OrganizationName, organization);
    }
    name.push(DnType::CommonName, common_name);
    name
}
