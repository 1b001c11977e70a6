//! Credentials of a server and of its clients, loaded from files and reloaded when the files change.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use arc_swap::{ArcSwap, ArcSwapOption};
use jiff::Timestamp;

use crate::accounts::{AccountError, AccountSettings, ServiceAccounts};
use crate::oidc::{Oidc, OidcError, OidcSettings};
use crate::trust::{
    ClientTrust, FileError, OwnFiles, ServingIdentity, ServingNames, TrustError, admin_kubeconfig,
    is_open_to_others, read_file, read_private, write_private,
};
use crate::{Authentication, TokenFileError, Tokens};

/// Paths and settings of credentials.
#[derive(Clone, Debug)]
pub struct CredentialFiles {
    /// Directory of the files that the server creates for itself.
    pub own: PathBuf,
    /// Directory with `apiserver.crt` and `apiserver.key`.
    pub serving: PathBuf,
    /// Serving certificate and key that replace those.
    pub serving_pair: Option<(PathBuf, PathBuf)>,
    /// Authorities of client certificates, in addition to the server's own.
    pub client_authorities: Vec<PathBuf>,
    /// Static tokens.
    pub tokens: Option<PathBuf>,
    /// Settings of service-account tokens.
    pub accounts: AccountSettings,
    /// Settings of the OIDC issuer.
    pub oidc: Option<OidcSettings>,
    /// Path of the administrator's kubeconfig.
    pub kubeconfig: PathBuf,
    /// Names in the serving certificate.
    pub names: ServingNames,
}

/// Errors of loading credentials.
#[derive(Debug, thiserror::Error)]
pub enum CredentialError {
    /// A certificate or key.
    #[error(transparent)]
    Trust(#[from] TrustError),
    /// The token file.
    #[error(transparent)]
    Tokens(#[from] TokenFileError),
    /// The keys of service accounts.
    #[error(transparent)]
    Accounts(#[from] AccountError),
    /// The issuer.
    #[error(transparent)]
    Oidc(#[from] OidcError),
    /// A file.
    #[error(transparent)]
    File(#[from] FileError),
}

/// The credentials of a running server.
pub struct Credentials {
    files: CredentialFiles,
    identity: Arc<ServingIdentity>,
    authentication: Arc<Authentication>,
}

impl Credentials {
    /// Loads existing credentials and creates missing ones.
    pub fn prepare(
        files: CredentialFiles,
        anonymous: bool,
        now: Timestamp,
    ) -> Result<Self, CredentialError> {
        let own = files.own_files(now)?;
        let (certificate, key) = match &files.serving_pair {
            Some((certificate, key)) => (certificate, key),
            None => (&own.serving_certificate, &own.serving_key),
        };
        let supplied = files.serving_pair.is_some() || !own.serving_is_ours;
        if !supplied {
            read_private(key)?;
        }
        let secrets = Some(key)
            .filter(|_| supplied)
            .into_iter()
            .chain(&files.tokens);
        for path in secrets.filter(|path| is_open_to_others(path)) {
            let path = path.display();
            tracing::warn!(%path, "a file with secrets can be read by others");
        }
        let identity = ServingIdentity::load(certificate, key, now)?;
        let authentication = Authentication {
            clients: ArcSwap::from_pointee(files.client_trust(&own)?),
            tokens: ArcSwapOption::new(files.load_tokens()?),
            accounts: Some(ServiceAccounts::load(
                files.accounts.clone(),
                own.service_account_key,
            )?),
            oidc: files.oidc.clone().map(Oidc::load).transpose()?,
            anonymous,
        };
        Ok(Self {
            files,
            identity,
            authentication: Arc::new(authentication),
        })
    }

    /// The serving certificate and key.
    pub fn identity(&self) -> Arc<ServingIdentity> {
        Arc::clone(&self.identity)
    }

    /// The authenticators that rest on these credentials.
    pub fn authentication(&self) -> Arc<Authentication> {
        Arc::clone(&self.authentication)
    }

    /// Writes the administrator's kubeconfig for the server at `address`.
    pub fn write_kubeconfig(
        &self,
        address: SocketAddr,
        now: Timestamp,
    ) -> Result<(), CredentialError> {
        let own = self.files.own_files(now)?;
        let authority = self.authority(&own)?;
        let text = admin_kubeconfig(&own, address, &authority);
        let old = std::fs::read(&self.files.kubeconfig).unwrap_or_default();
        if old != text.as_bytes() {
            write_private(&self.files.kubeconfig, text.as_bytes())?;
        }
        Ok(())
    }

    /// Authority of the serving certificate, in PEM.
    pub fn root_ca(&self, now: Timestamp) -> Result<String, CredentialError> {
        let own = self.files.own_files(now)?;
        let authority = self.authority(&own)?;
        Ok(String::from_utf8_lossy(&authority).into_owned())
    }

    /// All authorities of client certificates, in PEM.
    pub fn client_ca(&self, now: Timestamp) -> Result<String, CredentialError> {
        let own = self.files.own_files(now)?;
        let mut all = own.authority.certificate().to_owned();
        for path in &self.files.client_authorities {
            let text = read_file(path)?;
            all.push_str(&String::from_utf8_lossy(&text));
        }
        Ok(all)
    }

    fn authority(&self, own: &OwnFiles) -> Result<Vec<u8>, CredentialError> {
        let is_ours =
            self.identity.certificate_file() == own.serving_certificate && own.serving_is_ours;
        if is_ours {
            return Ok(own.authority.certificate().as_bytes().to_vec());
        }
        // The authority of a supplied certificate is unknown, so that clients have to trust the certificate itself.
        Ok(read_file(self.identity.certificate_file())?)
    }

    /// Renews certificates that are about to expire and reads every file again. After an error, the old ones stay.
    pub fn reload(&self, address: SocketAddr, now: Timestamp) -> Result<(), CredentialError> {
        let own = self.files.own_files(now)?;
        if self.identity.reload(now)? {
            tracing::info!("the serving certificate was exchanged");
        }
        let clients = self.files.client_trust(&own)?;
        if !clients.is_same(&self.authentication.clients.load()) {
            self.authentication.clients.store(Arc::new(clients));
            tracing::info!("the authorities of client certificates were exchanged");
        }
        let tokens = self.files.load_tokens()?;
        self.authentication.tokens.store(tokens);
        self.write_kubeconfig(address, now)
    }
}

impl CredentialFiles {
    fn own_files(&self, now: Timestamp) -> Result<OwnFiles, TrustError> {
        OwnFiles::prepare(&self.own, &self.serving, &self.names, now)
    }

    fn client_trust(&self, own: &OwnFiles) -> Result<ClientTrust, TrustError> {
        ClientTrust::load(own.authority.certificate(), &self.client_authorities)
    }

    fn load_tokens(&self) -> Result<Option<Arc<Tokens>>, TokenFileError> {
        let tokens = self.tokens.as_deref().map(Tokens::load).transpose()?;
        Ok(tokens.map(Arc::new))
    }
}
