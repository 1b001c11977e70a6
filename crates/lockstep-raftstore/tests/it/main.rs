//! Tests of members through their inputs and outputs.

mod harness;
mod members;
mod peers;
mod requests;
