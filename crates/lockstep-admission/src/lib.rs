//! Admission policies: match, bind, evaluate, order, reinvoke.

pub mod api;
pub mod binding;
pub mod conditions;
mod denial;
pub mod diff;
pub mod envs;
pub mod evaluate;
pub mod facts;
mod inputs;
mod look;
pub mod matching;
pub mod mutate;
pub mod outcome;
pub mod policy;
pub mod request;
pub mod rules;
pub mod set;
pub mod trace;
mod tuples;
mod validate;
pub mod validating;

pub use inputs::ErrorClass;
pub use validate::validate;
