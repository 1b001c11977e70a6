//! Any bytes as an expression and data, with types checked first and without.

#![no_main]

use libfuzzer_sys::fuzz_target;
use lockstep_cel_fuzz::{generate::Case, harness};

fuzz_target!(|bytes: &[u8]| harness::differential(&Case::of(bytes)));
