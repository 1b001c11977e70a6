//! Patterns for API fields that a gate adds or widens.
//!
//! | Gate | Operation | Old object uses it | Field | Validation |
//! |---|---|---|---|---|
//! | on | any | – | kept | allowed, required if it has a default |
//! | off | create | – | removed | neither |
//! | off | update | no | removed | neither |
//! | off | update | yes | kept as sent | allowed, required if it has a default |
//!
//! Call [`drop_disabled`] before validation, and count generations after it: a field that was never
//! stored must not look like a change. Then hand [`ValidationOptions`] to validation:
//!
//! - a new field without a default: validation ignores the gate. A present value is always validated, so an object
//!   that was accepted once stays valid whatever becomes of the gate;
//! - a new field with a default: required only if [`ValidationOptions::allows`] its gate;
//! - a new value of an old field, or a looser rule: input is never rewritten, so do not call
//!   [`drop_disabled`]; the new value is valid only if [`ValidationOptions::allows`] its gate.
//!
//! The old object is examined as stored, before defaulting. The code behind the field checks the gate itself and
//! does nothing while it is off, also for objects that have a value.
//!
//! ```
//! use lockstep_featuregate::{Gates, api_field::{Field, ValidationOptions, drop_disabled}, features};
//! # use lockstep_featuregate::{BinaryVersion, Builder, Component, Registry, v};
//!
//! features! { kube { SharedVolumes { "1.36": Alpha, api } } }
//!
//! struct Pod { volumes_from: Option<String> }
//!
//! const VOLUMES_FROM: Field<Pod> =
//!     Field::new(|pod| pod.volumes_from.is_some(), |pod| pod.volumes_from = None);
//!
//! fn prepare(gates: &Gates, new: &mut Pod, old: Option<&Pod>) -> Vec<&'static str> {
//!     drop_disabled(gates, SHARED_VOLUMES, new, old, &VOLUMES_FROM);
//!     let options = ValidationOptions::new(gates).allow_field(SHARED_VOLUMES, old, &VOLUMES_FROM);
//!     validate(new, &options)
//! }
//!
//! fn validate(pod: &Pod, options: &ValidationOptions<'_>) -> Vec<&'static str> {
//!     let missing = options.allows(SHARED_VOLUMES) && pod.volumes_from.is_none();
//!     missing.then_some("volumesFrom: Required value").into_iter().collect()
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let kube = Component::declared(BinaryVersion::of(v(1, 36)), &[&KUBE]).expect("declared gates fit");
//! # let gates = Builder::new(Registry::new([kube])?).try_finish()?.gates;
//! let mut created = Pod { volumes_from: Some("shared".to_owned()) };
//! assert_eq!(prepare(&gates, &mut created, None), Vec::<&str>::new());
//! assert_eq!(created.volumes_from, None, "the gate is off, and the old object does not use the field");
//! # Ok(())
//! # }
//! ```

use crate::{Gate, Gates};

/// A field of `T` that came with a feature: detects its use and clears it.
pub trait GatedField<T: ?Sized> {
    /// True if the object uses the field.
    fn in_use(&self, object: &T) -> bool;

    /// Removes the field from the object.
    fn clear(&self, object: &mut T);
}

/// Removes a field whose gate is off, unless the old object uses it already. `old` is the stored object before
/// defaulting; `None` on create. Returns true if the field was removed.
///
/// Never use it for a new value of an old field: there the input stays, and validation decides.
pub fn drop_disabled<T: ?Sized>(
    gates: &Gates,
    gate: Gate,
    new: &mut T,
    old: Option<&T>,
    field: &impl GatedField<T>,
) -> bool {
    let drops = !is_allowed(gates, gate, old.is_some_and(|old| field.in_use(old)));
    let dropped = drops && field.in_use(new);
    if dropped {
        field.clear(new);
    }
    dropped
}

/// Gated fields and values that validation accepts, decided before it runs.
#[derive(Clone, Debug)]
pub struct ValidationOptions<'a> {
    gates: &'a Gates,
    allowed: Vec<Gate>,
}

impl<'a> ValidationOptions<'a> {
    /// Options that allow nothing behind a gate.
    pub fn new(gates: &'a Gates) -> Self {
        Self {
            gates,
            allowed: Vec::new(),
        }
    }

    /// Allows the fields and values of a gate if it is on, or if the old object uses them already.
    #[must_use]
    pub fn allow(mut self, gate: Gate, in_use: bool) -> Self {
        if is_allowed(self.gates, gate, in_use) && !self.allows(gate) {
            self.allowed.push(gate);
        }
        self
    }

    /// [`ValidationOptions::allow`] for a field and the old object, if there is one.
    #[must_use]
    pub fn allow_field<T: ?Sized>(
        self,
        gate: Gate,
        old: Option<&T>,
        field: &impl GatedField<T>,
    ) -> Self {
        self.allow(gate, old.is_some_and(|old| field.in_use(old)))
    }

    /// True if new values of this gate are valid, and its defaulted fields required. Gates without a call of
    /// [`ValidationOptions::allow`] are not allowed.
    pub fn allows(&self, gate: Gate) -> bool {
        self.allowed.contains(&gate)
    }
}

/// The condition of both dropping and validation.
fn is_allowed(gates: &Gates, gate: Gate, in_use: bool) -> bool {
    gates.enabled(gate) || in_use
}

/// A field defined by two functions. Usable in a `const`, so that the gated fields of a kind are a table.
#[derive(Clone, Copy, Debug)]
pub struct Field<T> {
    in_use: fn(&T) -> bool,
    clear: fn(&mut T),
}

impl<T> Field<T> {
    /// A field that is in use if `in_use` returns true, and is removed by `clear`.
    pub const fn new(in_use: fn(&T) -> bool, clear: fn(&mut T)) -> Self {
        Self { in_use, clear }
    }
}

impl<T> GatedField<T> for Field<T> {
    fn in_use(&self, object: &T) -> bool {
        (self.in_use)(object)
    }

    fn clear(&self, object: &mut T) {
        (self.clear)(object);
    }
}

/// A field of a part of an object, such as the pod template of a workload.
#[derive(Clone, Copy, Debug)]
pub struct Within<T, P, F> {
    part: fn(&T) -> Option<&P>,
    part_mut: fn(&mut T) -> Option<&mut P>,
    field: F,
}

impl<T, P, F: GatedField<P>> Within<T, P, F> {
    /// `field` of the part that both functions lead to, if it is there.
    pub const fn new(
        part: fn(&T) -> Option<&P>,
        part_mut: fn(&mut T) -> Option<&mut P>,
        field: F,
    ) -> Self {
        Self {
            part,
            part_mut,
            field,
        }
    }
}

impl<T, P, F: GatedField<P>> GatedField<T> for Within<T, P, F> {
    fn in_use(&self, object: &T) -> bool {
        (self.part)(object).is_some_and(|part| self.field.in_use(part))
    }

    fn clear(&self, object: &mut T) {
        if let Some(part) = (self.part_mut)(object) {
            self.field.clear(part);
        }
    }
}

/// A field of every item of a list, such as the containers of a pod. It is in use when one item uses
/// it, and then all items keep it.
#[derive(Clone, Copy, Debug)]
pub struct Each<T, P, F> {
    items: fn(&T) -> &[P],
    items_mut: fn(&mut T) -> &mut [P],
    field: F,
}

impl<T, P, F: GatedField<P>> Each<T, P, F> {
    /// `field` of each item of the list that both functions lead to.
    pub const fn new(items: fn(&T) -> &[P], items_mut: fn(&mut T) -> &mut [P], field: F) -> Self {
        Self {
            items,
            items_mut,
            field,
        }
    }
}

impl<T, P, F: GatedField<P>> GatedField<T> for Each<T, P, F> {
    fn in_use(&self, object: &T) -> bool {
        (self.items)(object)
            .iter()
            .any(|item| self.field.in_use(item))
    }

    fn clear(&self, object: &mut T) {
        for item in (self.items_mut)(object) {
            self.field.clear(item);
        }
    }
}
