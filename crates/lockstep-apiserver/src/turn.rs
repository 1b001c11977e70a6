//! Turns of requests: seats by priority and fairness, or slots of the plain limits.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::failure::Refusal;
use crate::fairness::{Class, Fairness, Permit};
use crate::in_flight::{InFlight, Slot};
use crate::limits::Limits;
use crate::metrics::Metrics;
use crate::request::{Request, Turn};
use crate::resources::Api;

/// The one of the two limits that a server has.
pub(crate) enum Turns {
    /// Requests wait in one short queue.
    Plain(InFlight),
    /// Requests wait in the queues of their priority levels.
    Fair(Arc<Fairness>),
}

impl Turns {
    pub(crate) fn new(limits: &Limits, metrics: &Metrics) -> Self {
        if limits.priority_and_fairness {
            Self::Fair(Arc::new(Fairness::new(limits, metrics.fairness.clone())))
        } else {
            Self::Plain(InFlight::new(limits))
        }
    }

    /// Priority and fairness, if the server has it.
    pub(crate) fn fairness(&self) -> Option<&Arc<Fairness>> {
        match self {
            Self::Plain(_) => None,
            Self::Fair(fairness) => Some(fairness),
        }
    }

    /// Classifies a request and notes its flow for the response headers.
    pub(crate) fn classify(&self, request: &Request, api: &Api) -> Option<Class> {
        let class = self.fairness()?.classify(request, api.cache())?;
        request.notes.set_flow(class.headers());
        Some(class)
    }

    /// Waits for the turn of a request that was received at a time and has a timeout.
    pub(crate) async fn enter(
        &self,
        class: Option<Class>,
        request: &Request,
        api: &Api,
        received: Instant,
        timeout: Duration,
    ) -> Result<Option<Box<dyn Turn>>, Refusal> {
        match (self, class) {
            (Self::Plain(in_flight), _) => {
                let slot = in_flight.enter(request).await.ok_or(Refusal::TooBusy)?;
                Ok(Some(Box::new(slot)))
            }
            (Self::Fair(_), None) => Ok(None),
            (Self::Fair(fairness), Some(class)) => {
                let permit = fairness.enter(class, request, api, received, timeout);
                let permit = permit.await.ok_or(Refusal::TooBusy)?;
                Ok(Some(Box::new(permit)))
            }
        }
    }
}

impl Turn for Slot {
    fn for_initial_events(self: Box<Self>) -> Option<Box<dyn Any + Send>> {
        None
    }
}

impl Turn for Permit {
    fn for_initial_events(self: Box<Self>) -> Option<Box<dyn Any + Send>> {
        let seat = self.until_begun()?;
        Some(Box::new(seat))
    }
}
