//! Service accounts. [`lockstep_authn`] verifies their tokens; the subresource `serviceaccounts/token` issues them.

mod token;

pub use lockstep_authn::accounts::*;
pub(crate) use token::create;
