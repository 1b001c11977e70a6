//! Client certificates: the common name is the user, the organizations are the groups.

use std::sync::Arc;

use jiff::Timestamp;
use parking_lot::Mutex;
use rustls::pki_types::CertificateDer;
use sha2::{Digest, Sha256};
use x509_parser::der_parser::{Oid, oid};
use x509_parser::prelude::{FromDer, X509Certificate};

use crate::trust::ClientTrust;
use crate::{Unauthenticated, User};

/// Attribute of the subject that carries the user's uid.
const UID: Oid<'static> = oid!(1.3.6.1.4.1.57683.2);
/// Extra attribute with the digest of the certificate.
const CREDENTIAL_ID: &str = "authentication.kubernetes.io/credential-id";

/// Certificate chain of a client connection; may be empty.
#[derive(Debug, Default)]
pub struct ClientChain {
    certificates: Vec<CertificateDer<'static>>,
    /// The last successful verification, so that requests on one connection do not repeat it.
    verified: Mutex<Option<Verified>>,
}

#[derive(Debug)]
struct Verified {
    trust: Arc<ClientTrust>,
    until: Timestamp,
    user: Option<Arc<User>>,
}

impl ClientChain {
    /// Takes the chain as TLS received it, unverified.
    pub fn new(certificates: Vec<CertificateDer<'static>>) -> Self {
        Self {
            certificates,
            verified: Mutex::new(None),
        }
    }

    /// The user that the certificate names, if any. The chain is verified again once the certificate has expired or the
    /// trusted authorities have changed.
    pub(crate) fn user(
        &self,
        trust: &Arc<ClientTrust>,
        now: Timestamp,
    ) -> Result<Option<Arc<User>>, Unauthenticated> {
        let Some(own) = self.certificates.first() else {
            return Ok(None);
        };
        if let Some(verified) = &*self.verified.lock()
            && Arc::ptr_eq(&verified.trust, trust)
            && now <= verified.until
        {
            return Ok(verified.user.clone());
        }
        trust.verify(&self.certificates, now).map_err(|error| {
            tracing::debug!(%error, "client certificate refused");
            Unauthenticated
        })?;
        let (until, user) = read(own).map_err(|error| {
            tracing::debug!(%error, "client certificate refused");
            Unauthenticated
        })?;
        let user = user.map(Arc::new);
        *self.verified.lock() = Some(Verified {
            trust: Arc::clone(trust),
            until,
            user: user.clone(),
        });
        Ok(user)
    }
}

/// A verified certificate that names no user in a form that is understood.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
enum Unreadable {
    #[error("the certificate cannot be parsed")]
    Malformed,
    #[error("expected 1 UID, but found multiple: {0:?}")]
    ManyUids(Vec<String>),
    #[error("UID cannot be an empty string")]
    EmptyUid,
    #[error("unable to parse UID into a string")]
    UidIsNoText,
}

/// Expiry of a certificate and the user it names; no user without a common name.
fn read(der: &CertificateDer<'_>) -> Result<(Timestamp, Option<User>), Unreadable> {
    let (_, certificate) = X509Certificate::from_der(der).map_err(|_| Unreadable::Malformed)?;
    let until = Timestamp::from_second(certificate.validity().not_after.timestamp())
        .map_err(|_| Unreadable::Malformed)?;
    let subject = certificate.subject();
    let text = |attribute: &x509_parser::x509::AttributeTypeAndValue<'_>| {
        attribute.as_str().ok().map(str::to_owned)
    };
    let name = subject.iter_common_name().filter_map(text).last();
    let Some(name) = name.filter(|name| !name.is_empty()) else {
        return Ok((until, None));
    };
    let groups = subject.iter_organization().filter_map(text).collect();
    let mut uids = Vec::new();
    for attribute in subject.iter_by_oid(&UID) {
        uids.push(text(attribute).ok_or(Unreadable::UidIsNoText)?);
    }
    let uid = match uids.as_slice() {
        [] => String::new(),
        [uid] if uid.is_empty() => return Err(Unreadable::EmptyUid),
        [uid] => uid.clone(),
        _ => return Err(Unreadable::ManyUids(uids)),
    };
    let mut user = User::authenticated(name, uid, groups);
    let digest: String = Sha256::digest(der)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let id = format!("X509SHA256={digest}");
    user.extra.insert(CREDENTIAL_ID.to_owned(), vec![id]);
    Ok((until, Some(user)))
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;

    use super::*;

    /// `CN=a` with the uid `x`.
    const ONE_UID: &str = concat!(
        "MIIBGTCBwKADAgECAgEBMAoGCCqGSM49BAMCMA0xCzAJBgNVBAMMAmNhMCAXDTI2MDEwMTAwMDAwMFoYDzIxMjYw",
        "MTAxMDAwMDAwWjAeMQowCAYDVQQDDAFhMRAwDgYJKwYBBAGDwlMCDAF4MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcD",
        "QgAEMj8JpPWHVhgYxD3wv2gHJDC8vwdacZMv1dMoFOLZW3lhtPG7uiGiYS+rThRh5Lb3IHHJFHuBI1RFEKFiu36k",
        "8DAKBggqhkjOPQQDAgNIADBFAiAY6rO8inhlh4L1iDarNtFCENQJd34N2HgqdTUaG/aFhwIhAMfSHeLJhLWTapTx",
        "XKGQ9RfbMpDme6S0bWD0/fqq4XJE",
    );
    /// `CN=a` with the uids `x` and `y`.
    const TWO_UIDS: &str = concat!(
        "MIIBKzCB0qADAgECAgEBMAoGCCqGSM49BAMCMA0xCzAJBgNVBAMMAmNhMCAXDTI2MDEwMTAwMDAwMFoYDzIxMjYw",
        "MTAxMDAwMDAwWjAwMQowCAYDVQQDDAFhMRAwDgYJKwYBBAGDwlMCDAF4MRAwDgYJKwYBBAGDwlMCDAF5MFkwEwYH",
        "KoZIzj0CAQYIKoZIzj0DAQcDQgAEOR0DXrEtk6KbHubpb0bIzPkbbeIkJ1oMWpXKL3BvIxShf9Y9yDrLsDJ2zYI4",
        "x1ESg/XZks3+m3skTgcwJc08ujAKBggqhkjOPQQDAgNIADBFAiB4XbgeAUMD9SOdjq47aaVVbmqpMLreO0AHzoFE",
        "uOnDbAIhANa1jPLCMpt8zKUiPcT5sOQ4ZO8YuS/Uf3qgBcgKtg97",
    );
    /// `CN=system:anonymous, O=dev`.
    const ANONYMOUS: &str = concat!(
        "MIIBJDCBy6ADAgECAgEBMAoGCCqGSM49BAMCMA0xCzAJBgNVBAMMAmNhMCAXDTI2MDEwMTAwMDAwMFoYDzIxMjYw",
        "MTAxMDAwMDAwWjApMRkwFwYDVQQDDBBzeXN0ZW06YW5vbnltb3VzMQwwCgYDVQQKDANkZXYwWTATBgcqhkjOPQIB",
        "BggqhkjOPQMBBwNCAAT2wWL9OvNedSt6TQoEzp3KCby9XMoGMZJL9hCUyEQkvBxet2p8DtakQqkGonOjlEfXcub6",
        "+UeiC2XrjMVwmlmvMAoGCCqGSM49BAMCA0gAMEUCIQDKsIDhnGRTqh9Cv+mz+GCAUlTDsv0blo8kKXJA/VKIbwIg",
        "KAXL+BWIvccRjBqYLfKa1sUNofuES49m0f4iYJ9JVls=",
    );

    fn user(encoded: &str) -> Result<Option<User>, Unreadable> {
        let der = STANDARD.decode(encoded).expect("a constant of this file");
        read(&CertificateDer::from(der)).map(|(_, user)| user)
    }

    /// api-machinery.md §13/x509
    #[test]
    fn a_certificate_has_at_most_one_uid() {
        let one = user(ONE_UID).map(|user| user.map(|user| user.uid));
        assert_eq!(one, Ok(Some("x".to_owned())));
        let two = vec!["x".to_owned(), "y".to_owned()];
        assert_eq!(user(TWO_UIDS), Err(Unreadable::ManyUids(two)));
    }

    /// api-machinery.md §13/x509
    #[test]
    fn a_certificate_of_the_anonymous_user_is_in_no_group_of_authenticated_users() {
        let groups = user(ANONYMOUS).map(|user| user.map(|user| user.groups));
        assert_eq!(groups, Ok(Some(vec!["dev".to_owned()])));
    }
}
