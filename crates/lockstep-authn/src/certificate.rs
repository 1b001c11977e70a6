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

/// Expiry of a certificate and the user it names; no user without a common name.
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
