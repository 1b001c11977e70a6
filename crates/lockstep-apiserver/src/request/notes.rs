//! Warnings, audit annotations and metric facts that handlers record during a request.

use std::collections::BTreeMap;
use std::sync::Arc;

use http::HeaderValue;
use parking_lot::Mutex;

use crate::authn::User;
use lockstep_write as write;

/// Notes about one request: its audit id, warnings, audit annotations and facts for metrics.
#[derive(Debug)]
pub struct Notes {
    audit_id: String,
    written: write::Notes,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    requester: Option<Arc<User>>,
    facts: Facts,
    flow: Option<FlowHeaders>,
}

/// Values of the response headers that name a request's flow schema and priority level.
#[derive(Clone, Debug)]
pub(crate) struct FlowHeaders {
    pub(crate) schema: HeaderValue,
    pub(crate) level: HeaderValue,
}

/// Facts about a request that select metric labels.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Facts {
    /// The path names a served resource.
    pub(crate) is_known: bool,
    /// The request is a dry run.
    pub(crate) is_dry_run: bool,
}

impl Notes {
    /// Empty notes for an audit ID.
    pub fn new(audit_id: String) -> Self {
        Self {
            audit_id,
            written: write::Notes::default(),
            inner: Mutex::default(),
        }
    }

    /// Audit ID of the request.
    pub fn audit_id(&self) -> &str {
        &self.audit_id
    }

    /// Notes of the write path.
    pub(crate) fn written(&self) -> &write::Notes {
        &self.written
    }

    /// Adds a warning for the client; duplicates are dropped.
    pub fn warn(&self, text: impl Into<String>) {
        self.written.warn(text);
    }

    /// Adds an annotation to the audit event.
    pub fn annotate(&self, key: &str, value: &str) {
        self.written.annotate(key, value);
    }

    /// Records that the path names a served resource. Only then do metrics use its name as a label, because clients
    /// could otherwise create unbounded labels.
    pub fn resource_is_known(&self) {
        self.inner.lock().facts.is_known = true;
    }

    /// Records that the request is a dry run.
    pub fn is_dry_run(&self) {
        self.inner.lock().facts.is_dry_run = true;
    }

    /// Warnings in the order they were given.
    pub fn warnings(&self) -> Vec<String> {
        self.written.warnings()
    }

    pub(crate) fn annotations(&self) -> BTreeMap<String, String> {
        self.written.annotations()
    }

    /// Annotations that only audit events with request bodies show.
    pub(crate) fn details(&self) -> BTreeMap<String, String> {
        self.written.details()
    }

    pub(crate) fn set_requester(&self, user: Arc<User>) {
        self.inner.lock().requester = Some(user);
    }

    /// Authenticated user of an impersonated request; none without impersonation.
    pub(crate) fn requester(&self) -> Option<Arc<User>> {
        self.inner.lock().requester.clone()
    }

    /// Records the flow of the request, for its response headers.
    pub(crate) fn set_flow(&self, flow: Option<FlowHeaders>) {
        self.inner.lock().flow = flow;
    }

    /// Response headers that name the flow of the request.
    pub(crate) fn flow(&self) -> Option<FlowHeaders> {
        self.inner.lock().flow.clone()
    }

    pub(crate) fn facts(&self) -> Facts {
        self.inner.lock().facts
    }
}
