//! Gates that Lockstep once had. Their names are never used again.

use lockstep_featuregate::{Tombstone, v};

/// Removed gates of the component `kube`. A gate that is locked at every version that can be emulated switches
/// nothing, so it goes although upstream still accepts it.
pub(crate) const KUBE: &[(&str, Tombstone)] = &[
    (
        "CRDValidationRatcheting",
        Tombstone {
            removed_in: v(1, 36),
            locked: Some((v(1, 33), true)),
        },
    ),
    (
        "CustomResourceFieldSelectors",
        Tombstone {
            removed_in: v(1, 36),
            locked: Some((v(1, 32), true)),
        },
    ),
];
