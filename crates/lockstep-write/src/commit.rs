//! Transactions: every write of an object reaches the store through this module.

use std::sync::Arc;

use bytes::Bytes;
use lockstep_mvcc::{
    Expected, ExtraWrite, Fence, GuardedOp, GuardedOutcome, GuardedWrite, Key, LeaseId,
    RangeUnchanged, ReadFailure, WriteFailure,
};
use lockstep_object::ApiError;

use super::{Resource, WritePath};

/// Maximal size of a stored object.
pub(super) const STORED_BYTES_MAX: usize = 1_572_864;

/// Preconditions of a transaction beyond the object's own revision, and keys written together with the object.
#[derive(Default)]
pub(super) struct Guards<'g> {
    pub(super) fences: &'g [Fence],
    pub(super) unchanged_ranges: Vec<RangeUnchanged>,
    pub(super) extra_writes: Vec<ExtraWrite>,
}

impl WritePath<'_> {
    /// Writes one object in one transaction, if its current revision is the expected one.
    pub(super) async fn commit(
        &self,
        resource: &Arc<Resource>,
        object_key: &str,
        expected: Expected,
        op: GuardedOp,
    ) -> Result<GuardedOutcome, ApiError> {
        self.commit_behind(&[], resource, object_key, expected, op)
            .await
    }

    /// Variant of `commit` that also requires the fenced keys to be unchanged.
    pub(super) async fn commit_behind(
        &self,
        fences: &[Fence],
        resource: &Arc<Resource>,
        object_key: &str,
        expected: Expected,
        op: GuardedOp,
    ) -> Result<GuardedOutcome, ApiError> {
        let guards = Guards {
            fences,
            ..Guards::default()
        };
        self.commit_guarded(guards, resource, object_key, expected, op)
            .await
    }

    /// Variant of `commit` with all kinds of preconditions and additional writes.
    pub(super) async fn commit_guarded(
        &self,
        guards: Guards<'_>,
        resource: &Arc<Resource>,
        object_key: &str,
        expected: Expected,
        op: GuardedOp,
    ) -> Result<GuardedOutcome, ApiError> {
        if let GuardedOp::Put { value, .. } = &op {
            check_size(value)?;
        }
        let key = Key::new(resource.store_key(self.env.prefix(), object_key))
            .expect("a key of the store has the server's prefix");
        let mut extra_writes = self
            .extra_writes(resource, object_key, expected, &op)
            .await?;
        extra_writes.extend(guards.extra_writes);
        let write = GuardedWrite {
            key,
            expected,
            op,
            fences: guards.fences.to_vec(),
            unchanged_ranges: guards.unchanged_ranges,
            extra_writes,
        };
        let outcome = self.io.commit(resource, write).await;
        outcome.map_err(|failure| write_failed(&failure))
    }
}

/// A value to put; the driver chooses its lease.
pub(super) fn put(value: Bytes) -> GuardedOp {
    GuardedOp::Put {
        value,
        lease: LeaseId::NONE,
    }
}

fn check_size(value: &Bytes) -> Result<(), ApiError> {
    if value.len() > STORED_BYTES_MAX {
        return Err(ApiError::too_large(format!(
            "the object is {} bytes large as stored, limit is {STORED_BYTES_MAX}",
            value.len()
        )));
    }
    Ok(())
}

/// Converts a write that the store did not confirm to the error of the API request.
fn write_failed(failure: &WriteFailure) -> ApiError {
    match failure {
        WriteFailure::Invalid(error) => ApiError::internal(error.to_string()),
        WriteFailure::Refused(error) => ApiError::internal(error.to_string()),
        WriteFailure::Uncertain { .. } => ApiError::timeout(
            "the store did not confirm the write, which may or may not have happened",
            1,
        ),
        WriteFailure::Unavailable(_) => {
            ApiError::service_unavailable("the store is not available", 1)
        }
    }
}

/// Converts a failed read of the store to the error of the API request.
pub fn read_failed(failure: &ReadFailure) -> ApiError {
    match failure {
        ReadFailure::Refused(error) => ApiError::internal(error.to_string()),
        ReadFailure::Unavailable(_) => {
            ApiError::service_unavailable("the store is not available", 1)
        }
    }
}
