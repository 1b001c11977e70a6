//! The dashboard: the files of `ui/dist`, and the way from a browser to an API server.
//!
//! It answers on a loopback address, in plain HTTP: the files below `/ui/`, and the paths of the API,
//! which it hands on to a server ([`Backend`]) with the credentials of the viewer. Whose those are is
//! [`Viewer`]. It has no API of its own, and no rights.

mod assets;
mod guard;
mod proxy;
mod server;
mod session;

pub use assets::{Asset, assets};
pub use proxy::Backend;
pub use server::{Dashboard, Viewer};
