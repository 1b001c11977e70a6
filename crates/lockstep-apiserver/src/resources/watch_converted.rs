//! Watches in a version that a conversion webhook produces.
//!
//! Objects and changes stay queued until they are converted, so cancellation during a webhook call loses no event.

use std::sync::Arc;

use lockstep_catalog::Turn;
use lockstep_object::ApiError;

use super::conversion::converted_all;
use super::watch::{WatchStream, error_line};
use crate::cache::{Change, Frame};
use lockstep_write::CALL_OBJECTS_MAX;

/// Most changes in one conversion call; each has at most two objects.
const CHANGES_MAX: usize = CALL_OBJECTS_MAX / 2;

impl WatchStream {
    /// Converts and encodes the next batch of initial objects. Selectors apply to the requested version, so objects are
    /// matched after conversion.
    pub(super) async fn convert_initial(&mut self) {
        let _turn = self.turn().await;
        let Some(initial) = &self.initial else {
            return;
        };
        let batch = initial.batch(&self.selection, CALL_OBJECTS_MAX);
        let shown = match converted_all(&self.served, batch.clone()).await {
            Ok(shown) => shown,
            Err(error) => return self.give_up(&error),
        };
        match &mut self.initial {
            Some(initial) if batch.len() == CALL_OBJECTS_MAX => initial.advance(&batch),
            _ => self.initial = None,
        }
        let mut out = Vec::new();
        for object in shown {
            if self.selection.matches(&object) {
                self.print("ADDED", &object, object.revision, &mut out);
            }
        }
        if !out.is_empty() {
            self.ready.push_back(out.into());
        }
    }

    /// Converts and encodes the next batch of queued changes.
    pub(super) async fn convert_taken(&mut self) {
        let _turn = self.turn().await;
        let batch = self.taken.iter().take(CHANGES_MAX);
        let batch: Vec<Arc<Change>> = batch.cloned().collect();
        let known: Vec<_> = batch.iter().map(|change| self.known(change)).collect();
        let looks_inside = self.selection.looks_inside();
        let wanted = |change: &Change, is_known: bool| {
            let before = change.before.clone();
            let before = before.filter(|_| looks_inside || change.now.is_none());
            [before, change.now.clone()].map(|object| object.filter(|_| !is_known))
        };
        let mut objects = Vec::new();
        for (change, known) in batch.iter().zip(&known) {
            objects.extend(wanted(change, known.is_some()).into_iter().flatten());
        }
        let shown = match converted_all(&self.served, objects).await {
            Ok(shown) => shown,
            Err(error) => return self.give_up(&error),
        };
        self.taken.drain(..batch.len());
        let mut shown = shown.into_iter();
        for (change, known) in batch.iter().zip(known) {
            if known.is_some() {
                self.ready.extend(known);
                continue;
            }
            let [before, now] = wanted(change, false).map(|o| o.and_then(|_| shown.next()));
            let event = self.event(change, before.or_else(|| change.before.clone()), now);
            self.ready.extend(event);
        }
    }

    async fn turn(&self) -> Option<Turn> {
        let converter = self.served.resource.strategy.converter()?;
        converter.turn().await
    }

    /// Event that another watch has already encoded for this change; none if selectors make the event specific to this
    /// watch.
    fn known(&self, change: &Change) -> Option<bytes::Bytes> {
        if self.selection.looks_inside() {
            return None;
        }
        let event = match (&change.before, &change.now) {
            (None, _) => "ADDED",
            (Some(_), Some(_)) => "MODIFIED",
            (Some(_), None) => "DELETED",
        };
        let form = self.shape.cache_key(&self.served)?;
        change.framed(Frame { event, form })
    }

    /// Ends the watch with an `ERROR` event. Clients react with a new list.
    fn give_up(&mut self, error: &ApiError) {
        self.ready.push_back(error_line(error));
        self.initial = None;
        self.first_end = None;
        self.taken.clear();
        self.is_over = true;
    }
}
