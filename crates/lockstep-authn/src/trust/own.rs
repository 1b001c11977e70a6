//! Files that the server creates for itself.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use rcgen::KeyPair;
use rustls::pki_types::{CertificateDer, pem::PemObject};

use super::authority::{Authority, Pair, is_due};
use super::certificate::Facts;
use super::files::{self, FileError};
use super::{ServingNames, kubeconfig::Admin};

/// The user of the administrator's certificate.
const ADMIN_USER: &str = "kubernetes-admin";
/// The group that may do everything.
const ADMIN_GROUP: &str = "system:masters";

/// Errors of loading or creating the server's credentials.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// A file.
    #[error(transparent)]
    File(#[from] FileError),
    /// Half of a pair is missing.
    #[error("`{}` exists and `{}` does not; restore it, or remove both to get new ones", there.display(), missing.display())]
    Half {
        /// The file that exists.
        there: PathBuf,
        /// The file that does not.
        missing: PathBuf,
    },
    /// A file does not hold a certificate.
    #[error("`{}` does not hold a certificate in PEM form", path.display())]
    NoCertificate {
        /// The file.
        path: PathBuf,
    },
    /// A file does not hold a private key.
    #[error("`{}` does not hold a private key in PEM form", path.display())]
    NoKey {
        /// The file.
        path: PathBuf,
    },
    /// The certificate is not valid now.
    #[error("the certificate in `{}` is valid from {from} to {until} only", path.display())]
    NotValidNow {
        /// The file.
        path: PathBuf,
        /// The first second.
        from: Timestamp,
        /// The last second.
        until: Timestamp,
    },
    /// Certificate and key do not belong together, or are of an unknown kind.
    #[error("`{}` and `{}` cannot be used together: {source}", certificate.display(), key.display())]
    Unusable {
        /// The certificate.
        certificate: PathBuf,
        /// The key.
        key: PathBuf,
        /// Why not.
        source: rustls::Error,
    },
    /// The authority's certificate cannot be read.
    #[error("the server's own authority `ca.crt` is not a certificate")]
    AuthorityCertificate,
    /// The authority's key cannot be read.
    #[error("the key of the server's own authority `ca.key` cannot be read")]
    AuthorityKey,
    /// The clock shows a time that no certificate can be made for.
    #[error("the clock shows a time for which no certificate can be made")]
    Clock,
    /// A certificate could not be made.
    #[error("making a certificate: {0}")]
    Make(#[from] rcgen::Error),
}

/// The credentials of a server, created where they are missing.
pub(crate) struct OwnFiles {
    /// The authority that issued them.
    pub(crate) authority: Authority,
    /// The serving certificate.
    pub(crate) serving_certificate: PathBuf,
    /// Its key.
    pub(crate) serving_key: PathBuf,
    /// True if the own authority issued it.
    pub(crate) serving_is_ours: bool,
    /// Signs tokens of service accounts.
    pub(crate) service_account_key: PathBuf,
    pub(crate) admin: Admin,
}

/// Name in the serving certificate of an API server.
const SERVING_NAME: &str = "kube-apiserver";

/// A serving certificate of an authority of its own, for a server that is given none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OwnServing {
    /// Certificate of the authority, in PEM.
    pub authority: String,
    /// File with the serving certificate.
    pub certificate: PathBuf,
    /// File with its key.
    pub key: PathBuf,
}

impl OwnServing {
    /// Loads authority and certificate of a folder, creates what is missing, and renews a certificate that is about to
    /// expire or lacks a name. The authority stays as it is, so that clients go on to trust it.
    pub fn prepare(
        folder: &Path,
        names: &ServingNames,
        now: Timestamp,
    ) -> Result<Self, TrustError> {
        files::make_private_folder(folder)?;
        let authority = prepare_authority(folder, now)?;
        let serving = Place::new(folder, "tls");
        let good = |facts: &Facts| {
            facts.is_issued_by(authority.facts()) && facts.covers(names) && !is_due(facts, now)
        };
        if !serving.facts()?.as_ref().is_some_and(good) {
            let name = names.dns.first().map_or("localhost", String::as_str);
            serving.write(&authority.issue_serving(name, names, now)?)?;
        }
        Ok(Self {
            authority: authority.certificate().to_owned(),
            certificate: serving.certificate,
            key: serving.key,
        })
    }
}

impl OwnFiles {
    /// Loads the credentials in `folder`, creates missing ones, and renews certificates of the own authority that are
    /// about to expire or lack a name. The serving certificate is in `serving_folder`; one of another authority is never
    /// replaced.
    pub(crate) fn prepare(
        folder: &Path,
        serving_folder: &Path,
        names: &ServingNames,
        now: Timestamp,
    ) -> Result<Self, TrustError> {
        files::make_private_folder(folder)?;
        files::make_private_folder(serving_folder)?;
        let authority = prepare_authority(folder, now)?;
        let serving = Place::new(serving_folder, "apiserver");
        let current = serving.facts()?;
        let issued_by_us = |facts: &Facts| facts.is_issued_by(authority.facts());
        let serving_is_ours = current.as_ref().is_none_or(issued_by_us);
        let good = |facts: &Facts| facts.covers(names) && !is_due(facts, now);
        if serving_is_ours && !current.as_ref().is_some_and(good) {
            serving.write(&authority.issue_serving(SERVING_NAME, names, now)?)?;
        }
        let admin = Place::new(folder, "admin");
        let keep = admin
            .facts()?
            .is_some_and(|facts| issued_by_us(&facts) && !is_due(&facts, now));
        if !keep {
            admin.write(&authority.issue_client(ADMIN_USER, ADMIN_GROUP, now)?)?;
        }
        Ok(Self {
            admin: Admin {
                certificate: files::read(&admin.certificate)?,
                key: files::read_private(&admin.key)?,
            },
            authority,
            serving_is_ours,
            serving_certificate: serving.certificate,
            serving_key: serving.key,
            service_account_key: prepare_service_account_key(folder)?,
        })
    }
}

/// Paths of a certificate and its key.
struct Place {
    certificate: PathBuf,
    key: PathBuf,
}

impl Place {
    fn new(folder: &Path, name: &str) -> Self {
        Self {
            certificate: folder.join(format!("{name}.crt")),
            key: folder.join(format!("{name}.key")),
        }
    }

    /// True if both files exist. One alone is an error: replacing it could lock administrators out.
    fn exists(&self) -> Result<bool, TrustError> {
        let (certificate, key) = (self.certificate.exists(), self.key.exists());
        let half = |there: &PathBuf, missing: &PathBuf| TrustError::Half {
            there: there.clone(),
            missing: missing.clone(),
        };
        match (certificate, key) {
            (true, false) => Err(half(&self.certificate, &self.key)),
            (false, true) => Err(half(&self.key, &self.certificate)),
            (both, _) => Ok(both),
        }
    }

    fn facts(&self) -> Result<Option<Facts>, TrustError> {
        if !self.exists()? {
            return Ok(None);
        }
        let bytes = files::read(&self.certificate)?;
        let der = CertificateDer::from_pem_slice(&bytes).ok();
        let facts = der.as_ref().and_then(Facts::read);
        let facts = facts.ok_or_else(|| TrustError::NoCertificate {
            path: self.certificate.clone(),
        })?;
        Ok(Some(facts))
    }

    /// The key first: a certificate without its key would be useless.
    fn write(&self, pair: &Pair) -> Result<(), TrustError> {
        files::write_private(&self.key, pair.key.as_bytes())?;
        files::write_private(&self.certificate, pair.certificate.as_bytes())?;
        Ok(())
    }
}

fn prepare_authority(folder: &Path, now: Timestamp) -> Result<Authority, TrustError> {
    let place = Place::new(folder, "ca");
    if !place.exists()? {
        place.write(&Authority::make(now)?)?;
    }
    let certificate = files::read(&place.certificate)?;
    let key = files::read_private(&place.key)?;
    let text = |bytes: Vec<u8>, error: TrustError| String::from_utf8(bytes).map_err(|_| error);
    let authority = Authority::read(
        &text(certificate, TrustError::AuthorityCertificate)?,
        &text(key, TrustError::AuthorityKey)?,
    )?;
    let facts = authority.facts();
    if now < facts.not_before || now > facts.not_after {
        return Err(TrustError::NotValidNow {
            path: place.certificate,
            from: facts.not_before,
            until: facts.not_after,
        });
    }
    Ok(authority)
}

fn prepare_service_account_key(folder: &Path) -> Result<PathBuf, TrustError> {
    let path = folder.join("sa.key");
    if !path.exists() {
        let key = KeyPair::generate()?;
        files::write_private(&path, key.serialize_pem().as_bytes())?;
        files::write_private(&folder.join("sa.pub"), key.public_key_pem().as_bytes())?;
    }
    let bytes = files::read_private(&path)?;
    let readable = str::from_utf8(&bytes).is_ok_and(|text| KeyPair::from_pem(text).is_ok());
    if readable {
        Ok(path)
    } else {
        Err(TrustError::NoKey { path })
    }
}

#[cfg(test)]
mod tests {
    use jiff::ToSpan as _;

    use super::*;

    #[test]
    fn a_certificate_of_an_own_authority_is_renewed_before_it_expires_and_the_authority_stays() {
        let folder = tempfile::tempdir().unwrap();
        let at = |hours: i64| Timestamp::from_second(1_800_000_000).unwrap() + hours.hours();
        let names = |name: &str| ServingNames {
            dns: vec![name.to_owned()],
            addresses: Vec::new(),
        };
        let prepare = |name: &str, hours| {
            let own = OwnServing::prepare(folder.path(), &names(name), at(hours)).unwrap();
            let certificate = std::fs::read_to_string(&own.certificate).unwrap();
            (own, certificate)
        };
        let (first, certificate) = prepare("hook.ns.svc", 0);
        assert_eq!(
            prepare("hook.ns.svc", 24 * 300),
            (first.clone(), certificate.clone())
        );
        let (later, renewed) = prepare("hook.ns.svc", 24 * 350);
        assert_eq!(later, first);
        assert_ne!(renewed, certificate);
        let (other, renamed) = prepare("other.ns.svc", 24 * 350);
        assert_eq!(other, first);
        assert_ne!(renamed, renewed);
        for file in [
            &first.certificate,
            &first.key,
            &folder.path().join("ca.key"),
        ] {
            assert!(!files::is_open_to_others(file), "{}", file.display());
        }
    }
}
