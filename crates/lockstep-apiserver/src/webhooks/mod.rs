//! Clients for webhook calls: those of [`lockstep_callout`], with the server's metrics and Service resolution.

mod services;

use std::sync::Arc;

use crate::metrics::Meters;

pub use lockstep_callout::{CallError, CallLimits, Client, ConfigError, Problem, Unresolved};
pub use lockstep_object::webhook::{ClientConfig, ClientConfigError, Endpoint};
pub use lockstep_write::admission::ReviewVersion;
pub use services::Services;

/// The clients of all webhooks, and the metrics that their callers update.
#[derive(Default)]
pub struct Clients {
    meters: Meters,
    clients: lockstep_callout::Clients,
}

impl Clients {
    /// Creates an empty set of clients.
    pub(crate) fn new(meters: Meters) -> Self {
        Self {
            meters,
            ..Self::default()
        }
    }

    /// Resolves Services through the cluster's endpoints instead of DNS.
    #[must_use]
    pub(crate) fn with_services(self, services: Option<Services>) -> Self {
        let resolve = services.map(|services| -> lockstep_callout::ResolveService {
            Arc::new(move |namespace, name, port| services.find(namespace, name, port))
        });
        Self {
            clients: lockstep_callout::Clients::new(resolve),
            ..self
        }
    }

    /// Metrics of conversion and of compiled schemas.
    pub(crate) fn meters(&self) -> &Meters {
        &self.meters
    }

    /// The client of a webhook.
    pub fn client(&self, config: &ClientConfig) -> Arc<Client> {
        self.clients.client(config)
    }
}
