//! Objects in versions that a webhook makes: api-machinery.md §11/versions and
//! §11/stored-versions.

mod failures;
mod measured;
mod policies;
mod reads;
mod watches;
mod widgets;
mod writes;
