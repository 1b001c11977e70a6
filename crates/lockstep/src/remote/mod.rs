//! Talking to a running server, with the credentials of a kubeconfig.

mod api;
mod exec;
mod files;
mod http;
mod kubeconfig;
mod warning;

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::failure::{Exit, Failure};
use files::Files;

pub(crate) use api::{PatchKind, Reply};
pub(crate) use kubeconfig::Access;

/// kubectl's flags for finding a server.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Flags {
    /// The kubeconfig to use
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// The context in it
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
}

impl Flags {
    pub(crate) fn is_given(&self) -> bool {
        self.kubeconfig.is_some() || self.context.is_some()
    }

    /// The server and credentials that the flags, `$KUBECONFIG` and `~/.kube/config` lead to. With
    /// only a server there may be no credentials at all.
    pub(crate) fn access(&self, server: Option<&str>) -> Result<Access, Failure> {
        let files = match &self.kubeconfig {
            Some(path) => Some(Files::one(path)?),
            None => {
                let listed = std::env::var_os("KUBECONFIG").unwrap_or_default();
                Files::listed(&listed, std::env::var_os("HOME"))?
            }
        };
        match files {
            Some(files) => Access::read(&files, self.context.as_deref(), server),
            None => Access::anonymous(server),
        }
    }
}

impl Access {
    /// The current context of a kubeconfig.
    pub(crate) fn of_kubeconfig(path: &Path) -> Result<Self, Failure> {
        Self::read(&Files::one(path)?, None, None)
    }

    /// Fails if the server does not answer. Its answer may be a refusal.
    #[cfg(feature = "dashboard")]
    pub(crate) fn check_reachable(&self) -> Result<(), Failure> {
        self.ask(http::Question::get("/version")).map(drop)
    }

    fn ask(&self, question: http::Question<'_>) -> Result<http::Answered, Failure> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let runtime = runtime.map_err(|error| self.unreachable(&error.to_string()))?;
        let answer = runtime.block_on(http::answer(self, question));
        answer.map_err(|error| self.unreachable(&error))
    }

    /// GET of a path; any status but 200 is a failure.
    pub(crate) fn get(&self, path: &str) -> Result<Vec<u8>, Failure> {
        let http::Answered { code, body, .. } = self.ask(http::Question::get(path))?;
        if code == 200 {
            return Ok(body);
        }
        let status: Value = serde_json::from_slice(&body).unwrap_or_default();
        let text = status["message"].as_str().map(str::to_owned);
        let text = text.unwrap_or_else(|| String::from_utf8_lossy(&body).trim().to_owned());
        let exit = match code {
            401 | 403 => Exit::NotAllowed,
            _ => Exit::Unreachable,
        };
        let message = format!("{}{path} answered {code}: {text}", self.server());
        Err(Failure::of_server(exit, message))
    }

    /// Connection settings of this server for the dashboard's proxy.
    #[cfg(feature = "dashboard")]
    pub(crate) fn backend(&self) -> Result<lockstep_dashboard::Backend, Failure> {
        let (server, authorization) = self.connection()?;
        Ok(lockstep_dashboard::Backend {
            server,
            authorization,
        })
    }

    /// The server for connections of its own, and the `Authorization` header.
    pub(crate) fn connection(
        &self,
    ) -> Result<(lockstep_callout::Server, Option<hyper::header::HeaderValue>), Failure> {
        let wrong = |what: &str| Failure::bad_input(format!("{}: {what}", self.server()));
        let uri: hyper::Uri = self.server().parse().map_err(|_| wrong("not a URL"))?;
        if uri.scheme_str() != Some("https") {
            return Err(wrong("does not begin with https://"));
        }
        let authorization = self.token.as_ref().map(|token| {
            let value = hyper::header::HeaderValue::try_from(format!("Bearer {token}"));
            value.map(|mut value| {
                value.set_sensitive(true);
                value
            })
        });
        let authorization = authorization.transpose();
        Ok((
            http::server(self, &uri).map_err(|error| wrong(&error))?,
            authorization.map_err(|_| wrong("the token cannot be sent in a header"))?,
        ))
    }

    fn unreachable(&self, why: &str) -> Failure {
        let message = format!("cannot reach {}: {why}", self.server());
        Failure::of_server(Exit::Unreachable, message).with_help("is `lockstep serve` running?")
    }
}
