//! The `features!` macro of `lockstep-featuregate`.
//!
//! ```text
//! features! {
//!     component {
//!         /// Description for help and documentation.
//!         Name { "1.36": Alpha, "1.38": Beta on, "1.40": GA on locked, after: [Other], api },
//!     }
//! }
//! ```
//!
//! An entry is a version, a stage (`Alpha`, `Beta`, `GA`, `Deprecated`) and any of `on`, `locked`,
//! `min "1.36"`. Without a version it holds always. Options: `after: [Name, …]`, `api`,
//! `owner: "…"`, `links: ["…"]`, `scope: cluster`.
//!
//! The macro writes one constant per gate (`FieldLevel` becomes `FIELD_LEVEL`) and one `Group` per
//! component (`kube` becomes `KUBE`). It knows the grammar only; every rule about histories and
//! dependencies is checked by `lockstep-featuregate` itself while the program is compiled.

mod names;
mod parse;
mod write;

use proc_macro::TokenStream;

/// Declares feature gates; see the crate documentation for the grammar.
#[proc_macro]
pub fn features(input: TokenStream) -> TokenStream {
    let components = syn::parse_macro_input!(input as parse::Components);
    write::components(&components).into()
}
