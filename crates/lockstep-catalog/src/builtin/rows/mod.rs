//! Kinds without controllers here: stored as upstream would store them, and acted upon by nobody.

mod apps;
mod cluster;
mod core;
mod network;
mod schema_only;

use super::Row;

/// All of them.
pub(super) fn all() -> impl Iterator<Item = &'static Row> {
    [
        core::ROWS,
        apps::ROWS,
        network::ROWS,
        cluster::ROWS,
        schema_only::ROWS,
    ]
    .into_iter()
    .flatten()
}
