//! Conversion webhooks: the client that converts custom resources between versions.

mod metadata;
mod review;

use std::sync::Arc;
use std::time::Duration;

use lockstep_catalog::{BoxFuture, ConversionWebhook, Turn};
use lockstep_object::{ApiError, Object, Value, json};
use tokio::sync::Semaphore;

use super::Definition;
use crate::clock;
use crate::metrics::Meters;
use crate::webhooks::{CallLimits, Client, ClientConfig, ClientConfigError, Clients};

pub use review::{Review, ReviewError, ReviewVersion};

/// Upstream's failure type in metrics for a failed call.
const CALL_FAILURE: &str = "conversion_webhook_call_failure";

/// Limits of one call.
const LIMITS: CallLimits = CallLimits {
    timeout: Duration::from_secs(30),
    answer_bytes_max: 16 << 20,
};

/// The maximum number of watches that convert at a time. The others wait, and usually find the result in the cache.
const WATCHES_MAX: usize = 4;

/// The conversion webhook of a CRD.
pub struct Converter {
    client: Result<Arc<Client>, ClientConfigError>,
    /// The version of `ConversionReview`; none if the CRD accepts no supported version.
    review: Option<ReviewVersion>,
    watches: Arc<Semaphore>,
    /// The name of the CRD.
    crd: String,
    meters: Meters,
}

impl Converter {
    /// The conversion webhook of a CRD, if it has one.
    pub(super) fn of(definition: Definition<'_>, clients: &Clients) -> Option<Self> {
        let webhook = definition.conversion_webhook()?;
        let config = ClientConfig::read(&webhook["clientConfig"]);
        let versions = webhook["conversionReviewVersions"].as_array();
        let versions = versions.into_iter().flatten();
        Some(Self {
            client: config.map(|config| clients.client(&config)),
            review: ReviewVersion::first_of(versions.filter_map(Value::as_str)),
            watches: Arc::new(Semaphore::new(WATCHES_MAX)),
            crd: definition.name().to_owned(),
            meters: clients.meters().clone(),
        })
    }

    async fn ask(
        &self,
        first: &Object,
        objects: &[Object],
        desired: &str,
    ) -> Result<Vec<Object>, ApiError> {
        let (api_version, kind) = (first.api_version(), first.kind());
        let failed = |why: String| {
            ApiError::ConversionFailed(format!(
                "conversion webhook for {api_version}, Kind={kind} {why}"
            ))
        };
        let review = Review {
            version: self
                .review
                .ok_or_else(|| failed("failed: no supported conversion review versions".into()))?,
            uid: &uuid::Uuid::new_v4().to_string(),
            desired,
            objects,
        };
        let client = self.client.as_ref();
        let client = client.map_err(|error| failed(format!("failed: {error}")))?;
        let began = clock::now().steady;
        let observe = |failure| {
            let took = clock::now().steady - began;
            self.meters.conversion(failure, took);
        };
        let answer = client.post(json::encode(&review.request()).into(), LIMITS);
        let answer = answer.await.map_err(|error| {
            observe(Some(CALL_FAILURE));
            failed(format!("failed: {error}"))
        })?;
        let answer = json::decode(&answer).map_err(|error| {
            observe(Some(CALL_FAILURE));
            failed(format!("failed: the answer cannot be read: {error}"))
        })?;
        let converted = review.converted(answer.value);
        observe(converted.as_ref().err().map(ReviewError::failure_type));
        converted.map_err(|error| failed(error.to_string()))
    }
}

impl ConversionWebhook for Converter {
    fn convert<'a>(
        &'a self,
        objects: &'a [Object],
        desired: &'a str,
    ) -> BoxFuture<'a, Result<Vec<Object>, ApiError>> {
        Box::pin(async move {
            let Some(first) = objects.first() else {
                return Ok(Vec::new());
            };
            let began = clock::now().steady;
            let converted = self.ask(first, objects, desired).await;
            let took = clock::now().steady - began;
            let version = |text: &str| text.rsplit('/').next().unwrap_or_default().to_owned();
            let (from, to) = (version(first.api_version()), version(desired));
            self.meters
                .converted(&self.crd, &from, &to, converted.is_ok(), took);
            converted
        })
    }

    fn turn(&self) -> BoxFuture<'static, Option<Turn>> {
        let waiting = Arc::clone(&self.watches).acquire_owned();
        Box::pin(async { waiting.await.ok().map(|permit| Box::new(permit) as Turn) })
    }
}
