//! Implementation of the [`lockstep_authn`] host interface by the API server.

use std::time::Duration;

use lockstep_authn::Host;
use lockstep_object::Object;

use crate::resources::Api;

impl Host for Api {
    fn cached(&self, plural: &str, key: &str) -> Option<Object> {
        self.cached("", plural, key).map(|(object, _)| object)
    }

    fn cached_revision(&self, plural: &str, key: &str) -> Option<u64> {
        self.cached_revision("", plural, key)
            .map(|revision| revision.0)
    }

    async fn caught_up(&self) -> bool {
        self.cache().caught_up().await.is_ok()
    }

    fn observe_oidc(&self, result: &str, issuer: &str, elapsed: Duration) {
        let seconds = &self.meters().token_seconds;
        let seconds = seconds.with_label_values(&[result, issuer]);
        seconds.observe(elapsed.as_secs_f64());
    }
}
