//! Admission: what happens to a write between its body and the store.
//!
//! [`CHAIN`] is the whole of it, in the order of upstream. A write goes through it twice. First
//! [`Api::mutate`], where steps may change the object. Then whoever writes shapes it anew, keeps
//! what may not change and checks it against its schema. Last [`Api::validate`], where steps may
//! only refuse.
//!
//! ```text
//! body → claims → mutate → (gates of fields) → shape, prepare, check → validate → charge and store
//! ```
//!
//! A deletion has no object, only an old one, and goes through both at once.

mod attributes;
mod classes;
mod limits;
mod plugins;
mod priority;

use lockstep_object::{Object, Status};

pub use attributes::{Attributes, Operation};
pub use plugins::{Plugin, Plugins, UnknownPlugin};

use crate::resources::Api;

/// The steps, in order. One that is switched off is left out.
pub const CHAIN: [Plugin; 5] = [
    Plugin::LimitRanger,
    Plugin::Priority,
    Plugin::DefaultStorageClass,
    Plugin::DefaultIngressClass,
    Plugin::ResourceQuota,
];

/// Whether steps changed an object so that it has to be shaped anew.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mutated {
    /// It may no longer be in shape.
    OutOfShape,
    /// It is in shape.
    InShape,
}

impl Api {
    /// Lets the steps that may change an object do so. There is none when one is deleted.
    pub(crate) async fn mutate(
        &self,
        attributes: &Attributes<'_>,
        mut object: Option<&mut Object>,
    ) -> Result<Mutated, Status> {
        for plugin in self.plugins().of(&CHAIN) {
            let Some(object) = object.as_deref_mut() else {
                continue;
            };
            match plugin {
                Plugin::LimitRanger => limits::fill(self, attributes, object).await?,
                Plugin::Priority => priority::resolve(self, attributes, object).await?,
                Plugin::DefaultStorageClass | Plugin::DefaultIngressClass => {
                    classes::choose(self, plugin, attributes, object);
                }
                Plugin::ResourceQuota => {}
            }
        }
        Ok(Mutated::InShape)
    }

    /// Lets the steps that may refuse a write do so. `object` is what will be stored; there is none
    /// when one is deleted.
    pub(crate) async fn validate(
        &self,
        attributes: &Attributes<'_>,
        object: Option<&Object>,
    ) -> Result<(), Status> {
        for plugin in self.plugins().of(&CHAIN) {
            match (plugin, object) {
                (Plugin::LimitRanger, Some(object)) => {
                    limits::check(self, attributes, object).await?;
                }
                (
                    Plugin::LimitRanger
                    | Plugin::Priority
                    | Plugin::DefaultStorageClass
                    | Plugin::DefaultIngressClass
                    // It charges, and is part of the write that it charges for.
                    | Plugin::ResourceQuota,
                    _,
                ) => {}
            }
        }
        Ok(())
    }
}
