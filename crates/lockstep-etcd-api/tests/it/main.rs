//! The translation between etcd's messages and the machine's, row by row.

mod refusals;
mod requests;
mod responses;
mod watches;
