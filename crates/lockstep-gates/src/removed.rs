//! Gates that Lockstep once had. Their names are never used again.

use lockstep_featuregate::Tombstone;

/// Removed gates of the component `kube`. None has been removed since the first release.
pub(crate) const KUBE: &[(&str, Tombstone)] = &[];
