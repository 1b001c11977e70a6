//! Admission policies as a webhook, for clusters whose API server does not have them.
//!
//! [`answer`](answer::answer) turns the body of an `AdmissionReview` into the response, with the engine of the API
//! server. [`Webhook`] serves it over HTTPS, [`Policies`] holds the policies in force, and [`follow`] reloads them
//! from files, [`cluster::follow_cluster`] from a cluster.
//! [`configuration`] describes the webhook for a cluster.

pub mod answer;
pub mod carry;
pub mod cluster;
pub mod configuration;
pub mod limits;
mod metrics;
mod policies;
mod review;
mod server;

pub use metrics::Metrics;
pub use policies::{Files, Loaded, Policies, follow};
pub use server::Webhook;
