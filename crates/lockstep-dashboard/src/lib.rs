//! The dashboard: the files of `ui/dist`, and a proxy from the browser to an API server.
//!
//! It serves plain HTTP on a loopback address: files below `/ui/`, and API paths, which it proxies to a server
//! ([`Backend`]) with the credentials of the [`Viewer`]. It has no API and no permissions of its own.

mod assets;
mod guard;
mod proxy;
mod server;
mod session;

pub use assets::{Asset, assets};
pub use proxy::Backend;
pub use server::{Dashboard, Viewer};
