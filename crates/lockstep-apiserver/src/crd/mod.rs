//! Custom resource definitions: publishing the resources that CRDs define.
//!
//! Each server follows all CRDs. When one is created, changed or deleted, the registry is swapped first and the
//! conditions of the CRD are written after it, so that a CRD with the condition `Established` is served.

mod cleanup;
mod conversion;
mod follow;
mod timer;

use std::sync::Arc;

use lockstep_catalog::ConversionWebhook;
use lockstep_catalog::crd::{Compilation, conditions};
use lockstep_object::Object;
use lockstep_storage::Revision;

pub(crate) use conversion::{CALL_BYTES_MAX, CALL_OBJECTS_MAX};
pub use conversion::{Converter, Review, ReviewError, ReviewVersion};
pub use follow::Follower;
pub use lockstep_catalog::crd::{BUCKET, CustomError, Definition, FieldGates, GROUP, PLURAL};
pub(crate) use lockstep_catalog::crd::{Kept, keep_gates};

use crate::resources::{Resource, SchemaChange};
use crate::webhooks::Clients;
use timer::MeteredCel;

/// Compiles a CRD that was last written at `revision`. `clients` call its conversion webhook, and `schema_change` ends
/// its watches.
pub fn resource(
    crd: &Object,
    revision: Revision,
    clients: &Clients,
    schema_change: Arc<SchemaChange>,
    field_gates: FieldGates,
) -> Result<Resource, CustomError> {
    let converter = Converter::of(Definition::of(crd), clients);
    let compilation = Compilation {
        converter: converter.map(|webhook| Box::new(webhook) as Box<dyn ConversionWebhook>),
        timer: Arc::new(MeteredCel::of(clients.meters())),
        schema_change,
        field_gates,
    };
    lockstep_catalog::crd::resource(crd, revision, compilation)
}
