//! Any bytes as an expression and a schema.

#![no_main]

use libfuzzer_sys::fuzz_target;
use lockstep_cel_fuzz::{generate::Case, harness};

fuzz_target!(|bytes: &[u8]| harness::check(&Case::of(bytes)));
