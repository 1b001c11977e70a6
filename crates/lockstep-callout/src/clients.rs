//! The clients of all webhooks.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::{Client, ClientConfig, ResolveService};

/// Most clients that are kept; beyond it, the least recently used one is dropped.
const CLIENTS_MAX: usize = 200;

/// Clients by configuration, so that webhooks with equal configuration share connections.
#[derive(Default)]
pub struct Clients {
    resolve: Option<ResolveService>,
    /// Least recently used first.
    known: Mutex<Vec<Arc<Client>>>,
}

impl Clients {
    /// Creates an empty set of clients. Without `resolve`, Services are looked up by their DNS name.
    pub fn new(resolve: Option<ResolveService>) -> Self {
        Self {
            resolve,
            ..Self::default()
        }
    }

    /// The client of a webhook.
    pub fn client(&self, config: &ClientConfig) -> Arc<Client> {
        let mut known = self.known.lock();
        let found = known.iter().position(|client| client.config() == config);
        let client = match found {
            Some(at) => known.remove(at),
            None => Arc::new(Client::new(config.clone(), self.resolve.clone())),
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
    use crate::Endpoint;

    fn config(at: usize) -> ClientConfig {
        ClientConfig {
            endpoint: Endpoint::Url(format!("https://localhost/{at}")),
            ca_bundle: Vec::new(),
        }
    }

    #[test]
    fn webhooks_of_one_configuration_share_a_client_and_old_ones_are_dropped() {
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
