//! Admission webhooks as they are configured, and the `AdmissionReview` that they are asked with. Nothing here performs
//! I/O or knows a write.

pub mod hook;
pub mod review;
