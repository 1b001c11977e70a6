//! Helpers for tests of code behind gates.
//!
//! Code that takes a [`Gates`] is tested with its own set, and such tests run in parallel:
//!
//! ```
//! use lockstep_featuregate::{features, for_each_state};
//! # use lockstep_featuregate::{BinaryVersion, Builder, Component, Gates, Registry, v};
//!
//! features! { kube { ShardedLists { "1.34": Alpha, "1.35": Beta on, "1.36": GA on locked } } }
//!
//! fn servers_asked(gates: &Gates) -> u32 {
//!     if gates.enabled(SHARDED_LISTS) { 3 } else { 1 }
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // Both states; "off" is found at 1.35, the last version at which it could be had.
//! for_each_state!(SHARDED_LISTS, |gates| {
//!     let expected = if gates.enabled(SHARDED_LISTS) { 3 } else { 1 };
//!     assert_eq!(servers_asked(gates), expected);
//! });
//!
//! # let kube = Component::declared(BinaryVersion::of(v(1, 36)), &[&KUBE]).expect("declared gates fit");
//! # let builder = Builder::new(Registry::new([kube])?).emulated_version("1.35");
//! let gates = builder.try_finish()?.gates;
//! assert_eq!(servers_asked(&gates.with(SHARDED_LISTS, false)), 1);
//! # Ok(())
//! # }
//! ```
//!
//! Code that reads the process default set through [`enabled!`](crate::enabled) needs a guard, and
//! tests that switch the same gate must take turns:
//!
//! ```
//! use lockstep_featuregate::{enabled, features, testing::{emulate_for_test, serial, set_for_test}, v};
//!
//! features! { kube { ShardedLists { "1.35": Beta on, "1.36": GA on locked } } }
//!
//! # fn main() {
//! # use lockstep_featuregate::{BinaryVersion, Builder, Component, Registry};
//! # let kube = Component::declared(BinaryVersion::of(v(1, 36)), &[&KUBE]).expect("declared gates fit");
//! # Builder::new(Registry::new([kube]).unwrap()).try_finish().unwrap().gates.install();
//! let _turn = serial();
//! let _version = emulate_for_test(v(1, 35));
//! let _gate = set_for_test(SHARDED_LISTS, false);
//! assert!(!enabled!(SHARDED_LISTS));
//! # }
//! ```

mod guard;
mod ledger;
mod matrix;
mod plan;

pub use guard::{
    Emulated, EmulationGuard, GateGuard, Turn, emulate_component_for_test, emulate_for_test,
    serial, set_all_for_test, set_for_test,
};
pub use matrix::for_each_state;

use crate::{Gate, Gates};

impl Gates {
    /// A copy with one gate changed. The original is unaffected; the copy no longer follows cluster-scoped gates.
    ///
    /// # Panics
    ///
    /// When no server could be started like that; see [`Gates::with_all`].
    #[must_use]
    #[track_caller]
    pub fn with(&self, gate: Gate, value: bool) -> Gates {
        self.with_all([(gate, value)])
    }

    /// A copy with several gates changed. Gates that depend on one that is switched off are switched off as well,
    /// unless they are named too; each is printed to standard error.
    ///
    /// # Panics
    ///
    /// When a gate is not part of the set, is locked to the other value, does not exist yet at the
    /// emulated version, or would be on without something it depends on.
    #[must_use]
    #[track_caller]
    pub fn with_all(&self, asked: impl IntoIterator<Item = (Gate, bool)>) -> Gates {
        let named = |(gate, value): (Gate, bool)| (gate.component(), gate.name(), value);
        match plan::plan(self, asked.into_iter().map(named)) {
            Ok(plan) => {
                plan.tell();
                plan.apply(self)
            }
            Err(refusal) => panic!("{refusal}"),
        }
    }
}
