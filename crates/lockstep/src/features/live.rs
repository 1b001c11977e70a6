//! The gates of a running server.

use lockstep_featuregate::listing::Row;

use crate::{
    failure::{Exit, Failure},
    remote,
};

/// Endpoint of a server's feature gates.
const PATH: &str = "/debug/features";

/// Which server to ask, and as whom.
#[derive(Debug, clap::Args)]
pub(crate) struct Live {
    /// Ask the running server at this address, as the user in the kubeconfig
    #[arg(long, value_name = "URL")]
    server: Option<String>,
    #[command(flatten)]
    kubeconfig: remote::Flags,
}

impl Live {
    /// Whether a running server is meant.
    pub(crate) fn is_asked(&self) -> bool {
        self.server.is_some() || self.kubeconfig.is_given()
    }

    /// Feature gates of a running server, if the flags name one.
    pub(crate) fn rows(&self) -> Result<Option<Vec<Row>>, Failure> {
        if !self.is_asked() {
            return Ok(None);
        }
        let access = self.kubeconfig.access(self.server.as_deref())?;
        rows(&access).map(Some)
    }
}

/// The gates of a server.
pub(crate) fn rows(access: &remote::Access) -> Result<Vec<Row>, Failure> {
    let body = access.get(PATH)?;
    let wrong = |what: String| {
        let message = format!(
            "{} did not answer with a list of features: {what}",
            access.server()
        );
        Failure::of_server(Exit::Unreachable, message)
    };
    let mut document: serde_json::Value =
        serde_json::from_slice(&body).map_err(|error| wrong(error.to_string()))?;
    if document["kind"] != "FeatureList" {
        return Err(wrong("its kind is another".to_owned()));
    }
    let rows = serde_json::from_value(document["items"].take());
    rows.map_err(|error| wrong(error.to_string()))
}
