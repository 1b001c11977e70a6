//! What steps and handlers leave for the answer's headers, the audit log and the metrics.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::authn::User;

/// How many different warnings one answer carries.
const WARNINGS_MAX: usize = 64;

/// Notes about one request. Shared, since a handler may go on in several places.
#[derive(Debug)]
pub struct Notes {
    audit_id: String,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    warnings: Vec<String>,
    annotations: BTreeMap<String, String>,
    details: BTreeMap<String, String>,
    requester: Option<Arc<User>>,
    facts: Facts,
}

/// What metrics want to know.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Facts {
    /// The path named a resource that exists.
    pub(crate) is_known: bool,
    /// Nothing is stored.
    pub(crate) is_dry_run: bool,
}

impl Notes {
    /// No notes yet.
    pub fn new(audit_id: String) -> Self {
        Self {
            audit_id,
            inner: Mutex::default(),
        }
    }

    /// The id of the request in every log.
    pub fn audit_id(&self) -> &str {
        &self.audit_id
    }

    /// Adds a warning for the client. One that was given before is not repeated.
    pub fn warn(&self, text: impl Into<String>) {
        let text = text.into();
        let warnings = &mut self.inner.lock().warnings;
        if warnings.len() < WARNINGS_MAX && !warnings.contains(&text) {
            warnings.push(text);
        }
    }

    /// How many warnings there are: what is said from here on can be taken back.
    pub(crate) fn said(&self) -> usize {
        self.inner.lock().warnings.len()
    }

    /// Takes back the warnings that came after so many, and an annotation: what they were about did not happen.
    pub(crate) fn take_back(&self, said: usize, annotation: &str) {
        let mut inner = self.inner.lock();
        inner.warnings.truncate(said);
        inner.annotations.remove(annotation);
    }

    /// Adds an annotation to the audit event.
    pub fn annotate(&self, key: &str, value: &str) {
        let annotations = &mut self.inner.lock().annotations;
        annotations.insert(key.to_owned(), value.to_owned());
    }

    /// Adds an annotation to the audit event if that shows what the request wrote.
    pub fn annotate_in_detail(&self, key: &str, value: &str) {
        let details = &mut self.inner.lock().details;
        details.insert(key.to_owned(), value.to_owned());
    }

    /// Says that the path named a resource that exists, so that metrics may carry its name. Names
    /// that clients invent must not become labels.
    pub fn resource_is_known(&self) {
        self.inner.lock().facts.is_known = true;
    }

    /// Says that nothing is stored.
    pub fn is_dry_run(&self) {
        self.inner.lock().facts.is_dry_run = true;
    }

    /// The warnings, in the order they were given.
    pub fn warnings(&self) -> Vec<String> {
        self.inner.lock().warnings.clone()
    }

    pub(crate) fn annotations(&self) -> BTreeMap<String, String> {
        self.inner.lock().annotations.clone()
    }

    /// What is annotated only where the audit event shows what the request wrote.
    pub(crate) fn details(&self) -> BTreeMap<String, String> {
        self.inner.lock().details.clone()
    }

    pub(crate) fn set_requester(&self, user: Arc<User>) {
        self.inner.lock().requester = Some(user);
    }

    /// Who sent the request, if that is not on whose behalf it is done.
    pub(crate) fn requester(&self) -> Option<Arc<User>> {
        self.inner.lock().requester.clone()
    }

    pub(crate) fn facts(&self) -> Facts {
        self.inner.lock().facts
    }
}
