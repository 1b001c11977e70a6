//! The write path: from a [`WriteRequest`] to a committed object, without HTTP, runtime or clock.
//!
//! [`WritePath`] holds the rules as `async fn`s that await nothing but [`Io`]; [`Machine`] runs them step by step. The
//! server drives it (`resources::driver`), and so can a test. Stages of a create or update, in order:
//!
//! ```text
//! decode → fence namespace and CRD → prune and default → own fields → mutating admission → field gates
//!        → assign addresses → validate → escalation → validating admission → quota → encode → commit
//! ```
//!
//! Writes of controllers and of the server itself enter through `controllers`; [`WriteOrigin`] says which stages hold for
//! them.

mod addresses;
pub mod admission;
mod answer;
mod apply;
mod codec;
mod commit;
mod controllers;
mod conversion;
mod create;
mod decode;
mod delete;
mod environment;
mod escalation;
mod fences;
mod field_gates;
mod gated_ownership;
mod grace;
mod io;
mod managed_fields;
mod notes;
pub mod offline;
mod origin;
mod ownable;
mod patch;
mod pods;
mod quota;
mod request;
mod route;
mod scale;
mod server_ownership;
mod signing;
pub mod stored;
#[cfg(test)]
mod tests;
mod update;
mod webhooks;

use lockstep_object::{ApiError, Object, Value};

use self::admission::Attributes;
use lockstep_catalog::Verb;
use lockstep_catalog::{
    LastWrite, Origin, Registry, Resource, ScalePaths, Served, SpecialKind, StoredAs, Subresource,
};

pub use answer::WriteAnswer;
pub use codec::{parse, serve};
pub use commit::read_failed;
pub use controllers::{CRD_CLEANUP_FINALIZER, Internal, Left};
pub use conversion::{CALL_OBJECTS_MAX, Convert, Direct, ServedVersion};
pub use decode::{Document, Incoming, object as decode_object, refit};
pub use delete::{Propagation, check_options_types as check_delete_options};
pub use environment::{CachedBytes, Environment, Observation};
pub use io::{CallFailure, Io, Machine, Need, Reply, Step};
pub use notes::Notes;
pub use origin::WriteOrigin;
pub use patch::{APPLY_PATCH, decode as decode_patch, patch_types};
pub use request::{
    DryRun, InFlight, Input, Permits, WriteOptions, WriteRequest, dry_run, invalid_options,
    subresource,
};
pub use route::ResourceRoute;
pub use scale::{ServedScale, columns as scale_columns};

/// Write path of one write, with its environment.
#[derive(Clone, Copy)]
pub struct WritePath<'e> {
    env: &'e dyn Environment,
    io: &'e Io,
}

impl<'e> WritePath<'e> {
    /// Creates the write path; a [`Machine`] on the same `io` runs it.
    pub fn new(env: &'e dyn Environment, io: &'e Io) -> Self {
        Self { env, io }
    }

    /// Creates, updates, patches, applies or deletes one object.
    pub async fn write(&self, request: &mut WriteRequest<'_>) -> Result<WriteAnswer, ApiError> {
        let input = request.input.take();
        let request = &InFlight::new(request, self.io);
        match (input, request.route.verb) {
            (Some(Input::Object(document)), Verb::Create) => self.create(request, document).await,
            (Some(Input::Object(document)), _) => self.update(request, document).await,
            (Some(Input::Patch(patch)), _) => self.patch(request, patch).await,
            (Some(Input::Apply(applied)), _) => self.apply(request, applied).await,
            (Some(Input::Delete(options)), _) => self.delete(request, &options).await,
            (None, _) => Err(ApiError::internal("the request has no body")),
        }
    }

    /// Deletes the objects with these keys.
    pub async fn delete_all_of(
        &self,
        request: &WriteRequest<'_>,
        options: &Value,
        keys: &[String],
    ) -> Result<(), ApiError> {
        let request = &InFlight::new(request, self.io);
        self.delete_collection(request, options, keys).await
    }

    /// Binds the pod that a `Binding` names to a node.
    pub async fn bind_pod(&self, request: &mut WriteRequest<'_>) -> Result<WriteAnswer, ApiError> {
        let Some(Input::Object(document)) = request.input.take() else {
            return Err(ApiError::internal("the request has no body"));
        };
        let request = &InFlight::new(request, self.io);
        self.bind_named(request, document).await
    }

    /// Runs admission on an object that is created but not stored.
    pub async fn admit(
        &self,
        request: &WriteRequest<'_>,
        subresource: Option<Subresource>,
        mut object: Object,
        dry_run: DryRun,
    ) -> Result<Object, ApiError> {
        let request = &InFlight::new(request, self.io);
        if let Some(subresource) = subresource {
            return self.admit_part(request, subresource, object, dry_run).await;
        }
        let name = object.name().to_owned();
        let attributes = Attributes::create(request, &name, dry_run);
        self.mutate(&attributes, Some(&mut object)).await?;
        self.validate(&attributes, Some(&object)).await?;
        Ok(object)
    }

    /// Resources served at this moment.
    fn registry(&self) -> std::sync::Arc<Registry> {
        self.env.registry()
    }

    /// A random UID.
    pub fn new_uid(&self) -> String {
        uuid::Builder::from_random_bytes(self.env.random_u128().to_be_bytes())
            .into_uuid()
            .to_string()
    }
}
