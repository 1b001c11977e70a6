//! Warnings and audit annotations of a write.

use std::collections::{BTreeMap, BTreeSet};

use lockstep_object::go;
use parking_lot::Mutex;

/// Maximal number of distinct warnings in one response.
const WARNINGS_MAX: usize = 64;
/// Bytes of one warning; responses show less.
const WARNING_BYTES_MAX: usize = 4 << 10;

/// Warnings and audit annotations of one request. Shared, because a handler may run in several tasks.
#[derive(Debug, Default)]
pub struct Notes(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    warnings: Vec<String>,
    annotations: BTreeMap<String, String>,
    details: BTreeMap<String, String>,
    mutated: BTreeMap<String, BTreeSet<String>>,
}

impl Notes {
    /// Adds a warning for the client, once.
    pub fn warn(&self, text: impl Into<String>) {
        let mut text = text.into();
        go::shorten(&mut text, WARNING_BYTES_MAX);
        let warnings = &mut self.0.lock().warnings;
        if warnings.len() < WARNINGS_MAX && !warnings.contains(&text) {
            warnings.push(text);
        }
    }

    /// Number of warnings, for [`Notes::retract`].
    pub fn warning_count(&self) -> usize {
        self.0.lock().warnings.len()
    }

    /// Drops the warnings after the first `count`, and one annotation: the attempt they describe was not committed.
    pub fn retract(&self, count: usize, annotation: &str) {
        let mut inner = self.0.lock();
        inner.warnings.truncate(count);
        inner.annotations.remove(annotation);
    }

    /// Adds an annotation to the audit event.
    pub fn annotate(&self, key: &str, value: &str) {
        let annotations = &mut self.0.lock().annotations;
        annotations.insert(key.to_owned(), value.to_owned());
    }

    /// Adds an annotation that only audit events with request bodies show.
    pub fn annotate_in_detail(&self, key: &str, value: &str) {
        let details = &mut self.0.lock().details;
        details.insert(key.to_owned(), value.to_owned());
    }

    /// Records the fields that a mutating policy wrote.
    pub fn mutated(&self, policy: &str, fields: impl IntoIterator<Item = String>) {
        let mutated = &mut self.0.lock().mutated;
        mutated.entry(policy.to_owned()).or_default().extend(fields);
    }

    /// Mutating policies that changed the object, with the fields that they wrote.
    pub fn mutations(&self) -> BTreeMap<String, BTreeSet<String>> {
        self.0.lock().mutated.clone()
    }

    /// Warnings in order of emission.
    pub fn warnings(&self) -> Vec<String> {
        self.0.lock().warnings.clone()
    }

    /// Annotations of the audit event.
    pub fn annotations(&self) -> BTreeMap<String, String> {
        self.0.lock().annotations.clone()
    }

    /// Annotations for audit events with request bodies.
    pub fn details(&self) -> BTreeMap<String, String> {
        self.0.lock().details.clone()
    }
}
