//! Objects in versions that a webhook makes: api-machinery.md §11, rows "multi-version" and "mixed
//! stored versions".

mod failures;
mod reads;
mod watches;
mod world;
mod writes;
