//! Certificates and keys of the server, the authorities that it trusts, and the files of both.
//!
//! ```text
//! ca.crt ca.key                the server's own authority, made on the first start and kept
//! apiserver.crt apiserver.key  the serving certificate; renewed before it expires or when its names change
//! admin.crt admin.key          the administrator, in group `system:masters`
//! sa.key sa.pub                signs tokens of service accounts
//! ```

mod authority;
mod certificate;
mod clients;
mod files;
mod kubeconfig;
mod names;
mod own;
mod serving;
mod version_one;

pub use clients::{ClientTrust, verify_possession};
pub use files::FileError;
pub(crate) use files::{is_open_to_others, read as read_file, read_private, write_private};
pub(crate) use kubeconfig::admin_kubeconfig;
pub use kubeconfig::server_url;
pub use names::ServingNames;
pub(crate) use own::OwnFiles;
pub use own::{OwnServing, TrustError};
pub use serving::ServingIdentity;
