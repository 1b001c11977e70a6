//! Service accounts: verification of their tokens is [`lockstep_authn`]'s, issuing them is the subresource
//! `serviceaccounts/token`.

mod token;

pub use lockstep_authn::accounts::*;
pub(crate) use token::create;
