//! `lockstep store` as a process: its real clients, its flags, and how it ends.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail like tests")]
#![expect(clippy::print_stdout, reason = "a test that is skipped says so")]

mod etcdctl;
mod process;
mod running;
mod transcript;
