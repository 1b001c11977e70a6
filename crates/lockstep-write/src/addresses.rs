//! Allocation of Service cluster IPs and node ports, unique in the cluster.
//!
//! Each allocated address or port has a key of its own, written in the same transaction as the Service: two servers
//! cannot allocate one address twice, and deleting the Service releases its allocations.

use std::sync::Arc;

use bytes::Bytes;
use lockstep_builtins::services::{self, Allocations, Pool};
use lockstep_mvcc::{Expected, ExtraWrite, GuardedOp, Key};
use lockstep_object::field::FieldError;
use lockstep_object::{ApiError, Object, json};
use serde_json::json;

use super::{InFlight, Resource, SpecialKind, WritePath};
use lockstep_mvcc::BucketKey;

/// Bucket of the allocation keys.
const BUCKET: &str = "ranges";
const ADDRESSES: &str = "serviceips";
const NODE_PORTS: &str = "servicenodeports";

/// True for Services, the only resource with cluster IPs and node ports to allocate.
fn has_allocations(resource: &Resource) -> bool {
    resource.special == SpecialKind::Service
}

impl WritePath<'_> {
    /// Allocates the cluster IPs and node ports that a Service requires and does not have yet.
    pub(super) async fn assign(
        &self,
        request: &InFlight<'_>,
        object: &mut Object,
        old: Option<&Object>,
    ) -> Result<(), ApiError> {
        let resource = &request.served.resource;
        if !has_allocations(resource) || self.try_assign(object, old).is_ok() {
            return Ok(());
        }
        // The cache may lag behind allocations released by other servers.
        self.wait_for_allocations(resource).await;
        let assigned = self.try_assign(object, old);
        assigned.map_err(|error| ApiError::invalid(&resource.group_kind(), object.name(), [error]))
    }

    /// Allocates from the cached set of allocations, without reading the store.
    fn try_assign(&self, object: &mut Object, old: Option<&Object>) -> Result<(), FieldError> {
        let bucket = BucketKey::new(BUCKET);
        let is_taken = |what: &str, name: &str| {
            let key = format!("{what}/{name}");
            self.env.cached_bytes(&bucket, key.as_bytes()).is_some()
        };
        let mut pool = Pool {
            range: self.env.service_range(),
            is_address_taken: &|address| is_taken(ADDRESSES, address),
            is_port_taken: &|port| is_taken(NODE_PORTS, &port.to_string()),
            random: &mut || self.env.random_u128(),
        };
        services::assign(object, old, &mut pool)
    }

    /// For Services, waits until the cache includes all allocations committed so far.
    pub(super) async fn wait_for_allocations(&self, resource: &Resource) {
        if has_allocations(resource) {
            let _at_least_tried = self.io.catch_up().await;
        }
    }

    /// Allocation keys to create for a Service's new addresses and ports, and to delete for those it released.
    pub(super) async fn extra_writes(
        &self,
        resource: &Arc<Resource>,
        object_key: &str,
        expected: Expected,
        written: &GuardedOp,
    ) -> Result<Vec<ExtraWrite>, ApiError> {
        if !has_allocations(resource) {
            return Ok(Vec::new());
        }
        let old = match expected {
            Expected::Absent => Allocations::default(),
            Expected::At(revision) => match self.newest(resource, object_key).await? {
                Some(stored) if stored.mod_revision == revision => allocations(&stored.value),
                // The object changed, so the transaction will fail.
                _ => return Ok(Vec::new()),
            },
        };
        let new = match written {
            GuardedOp::Put { value, .. } => allocations(value),
            GuardedOp::Delete => Allocations::default(),
        };
        let owner: Bytes = json!({ "service": object_key }).to_string().into();
        let create = |key| ExtraWrite::Create {
            key,
            value: owner.clone(),
        };
        let added = self
            .allocation_keys(&new)
            .filter(|key| !self.allocation_keys(&old).any(|own| own == *key));
        let released = self
            .allocation_keys(&old)
            .filter(|key| !self.allocation_keys(&new).any(|own| own == *key));
        Ok(added
            .map(create)
            .chain(released.map(ExtraWrite::Delete))
            .collect())
    }

    fn allocation_keys<'c>(
        &'c self,
        allocations: &'c Allocations,
    ) -> impl Iterator<Item = Key> + 'c {
        let addresses = allocations
            .addresses
            .iter()
            .map(|address| format!("{ADDRESSES}/{address}"));
        let ports = allocations
            .node_ports
            .iter()
            .map(|port| format!("{NODE_PORTS}/{port}"));
        addresses.chain(ports).map(|name| {
            let key = [self.env.prefix(), BUCKET.as_bytes(), b"/", name.as_bytes()].concat();
            Key::new(key).expect("a key of the store has the server's prefix")
        })
    }
}

fn allocations(value: &Bytes) -> Allocations {
    let service = json::read(value).unwrap_or_default();
    services::allocations(&service)
}
