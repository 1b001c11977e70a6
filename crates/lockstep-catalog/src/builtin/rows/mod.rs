//! Rows of resources without a controller in this server. They are stored as upstream stores them.

mod apps;
mod cluster;
mod core;
mod network;
mod schema_only;

use super::Row;

/// All rows of these modules.
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
