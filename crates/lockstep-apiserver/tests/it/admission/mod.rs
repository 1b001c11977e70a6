//! Admission by webhooks and accounts, with a webhook in this process.

mod accounts;
mod asked;
mod changes;
mod failures;
mod gated;
mod kubectl;
mod policies;
mod reach;
mod review;
mod versions;
