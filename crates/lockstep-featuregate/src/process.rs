//! The process default set, as read by [`enabled!`](crate::enabled).

use std::sync::{PoisonError, RwLock};

use crate::Gates;

/// The installed set. Writers of the live cells hold this lock, so that they always contain the values of one set.
static INSTALLED: RwLock<Option<Gates>> = RwLock::new(None);

/// Makes `gates` the default set.
pub(crate) fn install(gates: &Gates) {
    let mut installed = INSTALLED.write().unwrap_or_else(PoisonError::into_inner);
    gates.fill_live();
    *installed = Some(gates.clone());
}

/// Runs `update` under the lock if `gates` is the default set.
pub(crate) fn while_installed(gates: &Gates, update: impl FnOnce()) {
    let installed = INSTALLED.read().unwrap_or_else(PoisonError::into_inner);
    if installed
        .as_ref()
        .is_some_and(|installed| installed.is_same_set(gates))
    {
        update();
    }
}

/// The default set, if there is one.
#[cfg(feature = "testing")]
pub(crate) fn installed() -> Option<Gates> {
    let installed = INSTALLED.read().unwrap_or_else(PoisonError::into_inner);
    installed.clone()
}
