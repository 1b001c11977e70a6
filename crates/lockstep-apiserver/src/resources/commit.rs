//! The one way into the store.

use bytes::Bytes;
use lockstep_object::Status;
use lockstep_storage::{
    Expected, ExtraWrite, Fence, GuardedWrite, Key, LeaseId, Limits, Outcome, RangeUnchanged,
    ReadFailure, WriteError, WriteFailure, Written,
};

use super::{Api, Resource};
use crate::clock;

/// The largest object that is stored.
pub(super) const STORED_BYTES_MAX: usize = 1_572_864;

/// What has to hold besides, and what is written with an object.
#[derive(Default)]
pub(super) struct Guards<'g> {
    pub(super) fences: &'g [Fence],
    pub(super) unchanged_ranges: Vec<RangeUnchanged>,
    pub(super) extra_writes: Vec<ExtraWrite>,
}

impl Api {
    /// Writes one object in one transaction, if it is as expected.
    pub(super) async fn commit(
        &self,
        resource: &Resource,
        object_key: &str,
        expected: Expected,
        written: Written,
    ) -> Result<Outcome, Status> {
        self.commit_behind(&[], resource, object_key, expected, written)
            .await
    }

    /// The same, if besides nothing moved behind the fences.
    pub(super) async fn commit_behind(
        &self,
        fences: &[Fence],
        resource: &Resource,
        object_key: &str,
        expected: Expected,
        written: Written,
    ) -> Result<Outcome, Status> {
        let guards = Guards {
            fences,
            ..Guards::default()
        };
        self.commit_guarded(guards, resource, object_key, expected, written)
            .await
    }

    /// The same, if besides everything holds that has to.
    pub(super) async fn commit_guarded(
        &self,
        guards: Guards<'_>,
        resource: &Resource,
        object_key: &str,
        expected: Expected,
        written: Written,
    ) -> Result<Outcome, Status> {
        if let Written::Put { value, .. } = &written {
            check_size(value)?;
        }
        let key = Key::new(resource.store_key(&self.prefix, object_key))
            .expect("a key of the store has the server's prefix");
        let mut extra_writes = self
            .extra_writes(resource, object_key, expected, &written)
            .await?;
        extra_writes.extend(guards.extra_writes);
        let write = GuardedWrite {
            key,
            expected,
            written,
            fences: guards.fences.to_vec(),
            unchanged_ranges: guards.unchanged_ranges,
            extra_writes,
        };
        let mut outcome = self.try_commit(resource, write.clone()).await;
        if let Err(WriteFailure::Refused(WriteError::LeaseNotFound)) = outcome {
            // Whatever became of the lease, the next one is new.
            self.expiry.forget();
            outcome = self.try_commit(resource, write).await;
        }
        outcome.map_err(|failure| write_failed(&failure))
    }

    async fn try_commit(
        &self,
        resource: &Resource,
        mut write: GuardedWrite,
    ) -> Result<Outcome, WriteFailure> {
        if let Written::Put { lease, .. } = &mut write.written {
            *lease = self.lease_of(resource).await?;
        }
        let operation = match (&write.written, write.expected) {
            (Written::Delete, _) => "delete",
            (Written::Put { .. }, Expected::Absent) => "create",
            (Written::Put { .. }, _) => "update",
        };
        let txn = write.txn(Limits::default().txn_ops_max)?;
        let began = clock::now().steady;
        let answer = self.store.txn(txn).await;
        let took = clock::now().steady - began;
        self.meters.store(operation, resource, took);
        Ok(Outcome::of(answer?))
    }

    /// What an object hangs on: a lease if it goes by itself, else nothing.
    async fn lease_of(&self, resource: &Resource) -> Result<LeaseId, WriteFailure> {
        if resource.rules.expires() {
            self.expiry.lease(&*self.store).await
        } else {
            Ok(LeaseId::NONE)
        }
    }
}

/// A value. [`Api::commit`] decides on which lease.
pub(super) fn put(value: Bytes) -> Written {
    Written::Put {
        value,
        lease: LeaseId::NONE,
    }
}

fn check_size(value: &Bytes) -> Result<(), Status> {
    if value.len() > STORED_BYTES_MAX {
        return Err(Status::too_large(&format!(
            "the object is {} bytes large as stored, limit is {STORED_BYTES_MAX}",
            value.len()
        )));
    }
    Ok(())
}

/// What a client is told about a write that the store did not confirm.
fn write_failed(failure: &WriteFailure) -> Status {
    match failure {
        WriteFailure::Wrong(error) => Status::internal_error(&error.to_string()),
        WriteFailure::Refused(error) => Status::internal_error(&error.to_string()),
        WriteFailure::Uncertain { .. } => Status::timeout(
            "the store did not confirm the write, which may or may not have happened",
            1,
        ),
        WriteFailure::Unavailable(_) => {
            Status::service_unavailable("the store is not available").with_retry_after(1)
        }
    }
}

/// What a client is told about a read that the store did not answer.
pub(super) fn read_failed(failure: &ReadFailure) -> Status {
    match failure {
        ReadFailure::Refused(error) => Status::internal_error(&error.to_string()),
        ReadFailure::Unavailable(_) => {
            Status::service_unavailable("the store is not available").with_retry_after(1)
        }
    }
}
