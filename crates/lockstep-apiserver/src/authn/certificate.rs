//! A user by client certificate: the common name is the user, the organizations are the groups.

use std::sync::Arc;

use jiff::Timestamp;
use parking_lot::Mutex;
use rustls::pki_types::CertificateDer;
use sha2::{Digest, Sha256};
use x509_parser::der_parser::{Oid, oid};
use x509_parser::prelude::{FromDer, X509Certificate};

use super::{Unauthenticated, User};
use crate::trust::ClientTrust;

/// Where a certificate's subject may carry a user's uid.
const UID: Oid<'static> = oid!(1.3.6.1.4.1.57683.2);
/// The extra that names the certificate.
const CREDENTIAL_ID: &str = "authentication.kubernetes.io/credential-id";

/// The certificates that a client showed when it connected; none is fine.
#[derive(Debug, Default)]
pub struct ClientChain {
    certificates: Vec<CertificateDer<'static>>,
    /// The last check that succeeded, so that it is not repeated for each request.
    verified: Mutex<Option<Verified>>,
}

#[derive(Debug)]
struct Verified {
    trust: Arc<ClientTrust>,
    until: Timestamp,
    user: Option<Arc<User>>,
}

impl ClientChain {
    pub(crate) fn new(certificates: Vec<CertificateDer<'static>>) -> Self {
        Self {
            certificates,
            verified: Mutex::new(None),
        }
    }

    /// The user, if the client showed a certificate that names one. A certificate is checked again
    /// when it has ended or other authorities are trusted.
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
        let (until, user) = read(own).ok_or(Unauthenticated)?;
        let user = user.map(Arc::new);
        *self.verified.lock() = Some(Verified {
            trust: Arc::clone(trust),
            until,
            user: user.clone(),
        });
        Ok(user)
    }
}

/// The end of the certificate, and the user it names. Without a common name it names none.
fn read(der: &CertificateDer<'_>) -> Option<(Timestamp, Option<User>)> {
    let (_, certificate) = X509Certificate::from_der(der).ok()?;
    let until = Timestamp::from_second(certificate.validity().not_after.timestamp()).ok()?;
    let subject = certificate.subject();
    let text = |attribute: &x509_parser::x509::AttributeTypeAndValue<'_>| {
        attribute.as_str().ok().map(str::to_owned)
    };
    let name = subject.iter_common_name().filter_map(text).last();
    let Some(name) = name.filter(|name| !name.is_empty()) else {
        return Some((until, None));
    };
    let groups = subject.iter_organization().filter_map(text).collect();
    let uid = subject.iter_by_oid(&UID).filter_map(text).last();
    let mut user = User::authenticated(name, uid.unwrap_or_default(), groups);
    let digest: String = Sha256::digest(der)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let id = format!("X509SHA256={digest}");
    user.extra.insert(CREDENTIAL_ID.to_owned(), vec![id]);
    Some((until, Some(user)))
}
