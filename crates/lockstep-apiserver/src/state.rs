//! State shared by all requests of a server.

use std::sync::{Arc, OnceLock};

use lockstep_featuregate::Gates;

use crate::audit::AuditLog;
use crate::authn::Authentication;
use crate::authz::{Authorizer, StoredRules};
use crate::clock::Moment;
use crate::drain::Drain;
use crate::handler::Handler;
use crate::heavy_work::HeavyWork;
use crate::limits::Limits;
use crate::metrics::Metrics;
use crate::milestones::Milestones;
use crate::openapi::Documents;
use crate::request::BodyBudget;
use crate::resources::Api;
use crate::turn::Turns;

/// State shared by all requests.
pub(crate) struct Server {
    pub(crate) gates: Gates,
    pub(crate) flags: Vec<(String, String)>,
    pub(crate) limits: Limits,
    pub(crate) authentication: Arc<Authentication>,
    pub(crate) authorizer: Authorizer,
    pub(crate) rules: Arc<StoredRules>,
    pub(crate) audit: Option<Arc<AuditLog>>,
    pub(crate) metrics: Metrics,
    pub(crate) api: Arc<Api>,
    pub(crate) handler: Option<Handler>,
    pub(crate) openapi: Documents,
    pub(crate) heavy: HeavyWork,
    /// Address of the listener, set when the server runs.
    pub(crate) address: OnceLock<String>,
    pub(crate) turns: Turns,
    pub(crate) bodies: Arc<BodyBudget>,
    pub(crate) milestones: Milestones,
    pub(crate) drain: Drain,
    pub(crate) started: Moment,
}

impl Server {
    /// Address of the listener.
    pub(crate) fn address(&self) -> String {
        self.address.get().cloned().unwrap_or_default()
    }
}
