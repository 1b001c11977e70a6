//! Writes of the server's own controllers, through the write path.

use lockstep_object::metadata::Seconds;
use lockstep_object::{ApiError, Object};
use lockstep_storage::{Expected, Revision};

use super::{Api, DryRun, Internal, Left, Propagation, Request, Served, Subresource};
use lockstep_write::{Io, Machine, WriteOrigin, WritePath};

/// Runs one method of the write path.
macro_rules! drive {
    ($api:expr, $method:ident($($argument:expr),* $(,)?)) => {{
        let io = Io::default();
        let path = WritePath::new($api, &io);
        $api.drive(Machine::new(io.clone(), path.$method($($argument),*))).await
    }};
}

impl Api {
    /// A random UID.
    pub(crate) fn new_uid(&self) -> String {
        let io = Io::default();
        WritePath::new(self, &io).new_uid()
    }

    /// An object in the watch cache, and the revision that wrote it.
    pub(crate) fn cached(
        &self,
        group: &str,
        plural: &str,
        key: &str,
    ) -> Option<(Object, Revision)> {
        let io = Io::default();
        WritePath::new(self, &io).cached(group, plural, key)
    }

    /// An object in the store, and the revision that wrote it.
    pub(crate) async fn read_internally(
        &self,
        group: &str,
        plural: &str,
        key: &str,
    ) -> Option<(Object, Revision)> {
        drive!(self, read_internally(group, plural, key))
    }

    /// Writes an object of the server itself, or deletes it if `object` is none. True if that was committed.
    pub(crate) async fn store_internally(
        &self,
        group: &str,
        plural: &str,
        key: &str,
        expected: Expected,
        object: Option<Object>,
    ) -> bool {
        let origin = WriteOrigin::System;
        let written = self.write_internally(origin, group, plural, key, expected, object);
        matches!(written.await, Internal::Done(_))
    }

    /// Writes an object, or deletes it if `object` is none.
    pub(crate) async fn write_internally(
        &self,
        origin: WriteOrigin,
        group: &str,
        plural: &str,
        key: &str,
        expected: Expected,
        object: Option<Object>,
    ) -> Internal {
        drive!(
            self,
            write_internally(origin, group, plural, key, expected, object)
        )
    }

    /// Creates an object, in a namespace that is not terminating.
    pub(crate) async fn create_internally(
        &self,
        origin: WriteOrigin,
        place: (&str, &str, &str),
        object: Object,
        now: Seconds,
    ) -> Internal {
        drive!(self, create_internally(origin, place, object, now))
    }

    /// Deletes an object that is still at a revision.
    pub(crate) async fn delete_internally(
        &self,
        origin: WriteOrigin,
        place: (&str, &str, &str),
        revision: Revision,
        propagation: Propagation,
        now: Seconds,
    ) -> Internal {
        drive!(
            self,
            delete_internally(origin, place, revision, propagation, now)
        )
    }

    /// Deletes all objects of a resource, as far as finalizers allow.
    pub(crate) async fn delete_all_internally(&self, served: &Served, now: Seconds) -> Left {
        drive!(self, delete_all_internally(served, now))
    }

    /// True if the object has no finalizers left.
    pub(crate) fn is_free(&self, group: &str, plural: &str, object: &Object) -> bool {
        let io = Io::default();
        WritePath::new(self, &io).is_free(group, plural, object)
    }

    /// Admission of an object that is created but not stored: a review, or the body of a subresource.
    pub(crate) async fn admit(
        &self,
        request: &Request<'_>,
        subresource: Option<Subresource>,
        object: Object,
        dry_run: DryRun,
    ) -> Result<Object, ApiError> {
        let request = request.without_input()?;
        drive!(self, admit(&request, subresource, object, dry_run))
    }
}
