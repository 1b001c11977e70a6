//! Calls to webhooks: other people's servers that are asked for something, by HTTPS.
//!
//! [`ClientConfig`] says where a webhook is and whom to trust there; [`Clients`] keeps one
//! [`Client`] for each, and a client keeps its connections. What is asked and what is made of the
//! answer is the business of whoever calls. A call never follows a redirect, never goes through a
//! proxy, carries no credentials, and ends at a time and at a size that have names.

mod client;
mod config;
mod connection;
mod error;
mod hangup;
mod services;
mod trust;
mod version;

use std::sync::Arc;

use parking_lot::Mutex;

use crate::metrics::Meters;

pub use client::{CallLimits, Client};
pub use config::{ClientConfig, ConfigError, Endpoint};
pub use error::{CallError, Problem};
pub use services::{Services, Unresolved};
pub use version::ReviewVersion;

/// How many webhooks are remembered; one more, and the one that was not asked for the longest goes.
const CLIENTS_MAX: usize = 200;

/// The clients of all webhooks. Two who have the same configuration share one.
#[derive(Default)]
pub struct Clients {
    meters: Meters,
    services: Option<Services>,
    /// The one that was asked for last is last.
    known: Mutex<Vec<Arc<Client>>>,
}

impl Clients {
    /// No clients yet; what they do is measured.
    pub(crate) fn new(meters: Meters) -> Self {
        Self {
            meters,
            ..Self::default()
        }
    }

    /// The same for a cluster whose Services are known.
    #[must_use]
    pub(crate) fn with_services(self, services: Option<Services>) -> Self {
        Self { services, ..self }
    }

    /// What is measured.
    pub(crate) fn meters(&self) -> &Meters {
        &self.meters
    }

    /// The client of a webhook.
    pub fn client(&self, config: &ClientConfig) -> Arc<Client> {
        let mut known = self.known.lock();
        let found = known.iter().position(|client| client.config() == config);
        let client = match found {
            Some(at) => known.remove(at),
            None => Arc::new(Client::new(config.clone(), self.services.clone())),
        };
        if known.len() == CLIENTS_MAX {
            known.remove(0);
        }
        known.push(Arc::clone(&client));
        client
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(at: usize) -> ClientConfig {
        ClientConfig {
            endpoint: Endpoint::Url(format!("https://localhost/{at}")),
            ca_bundle: Vec::new(),
        }
    }

    #[test]
    fn webhooks_of_one_configuration_share_a_client_and_old_ones_are_forgotten() {
        let clients = Clients::default();
        let first = clients.client(&config(0));
        for at in 1..CLIENTS_MAX {
            clients.client(&config(at));
        }
        assert!(Arc::ptr_eq(&first, &clients.client(&config(0))));
        let second = clients.client(&config(CLIENTS_MAX));
        assert_eq!(second.config(), &config(CLIENTS_MAX));
        let known = clients.known.lock();
        assert_eq!(known.len(), CLIENTS_MAX);
        assert!(known.iter().all(|client| client.config() != &config(1)));
    }
}
