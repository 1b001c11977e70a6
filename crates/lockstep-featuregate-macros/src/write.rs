//! Expansion of `features!`.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::{Attribute, Expr, Lit, Meta};

use crate::{
    names::constant_name,
    parse::{Component, Components, Entry, Gate},
};

pub(crate) fn components(components: &Components) -> TokenStream {
    components.0.iter().map(component).collect()
}

fn component(component: &Component) -> TokenStream {
    let name = component.name.to_string();
    let names = Names::of(component);
    let Names {
        group,
        declarations,
        live,
    } = &names;
    let documentation = format!("The gates declared here for the component `{name}`.");
    let count = component.gates.len();
    let declared = component.gates.iter().map(declaration);
    let gates = component
        .gates
        .iter()
        .enumerate()
        .map(|(index, one)| gate(&names, index, one));
    quote! {
        #[doc(hidden)]
        const #declarations: &[::lockstep_featuregate::Declaration] = &[#(#declared),*];
        const _: () = ::lockstep_featuregate::check_dependencies(#declarations);
        #[doc(hidden)]
        static #live: [::std::sync::atomic::AtomicU8; #count] =
            [const { ::std::sync::atomic::AtomicU8::new(0) }; #count];
        #[doc = #documentation]
        pub static #group: ::lockstep_featuregate::Group =
            ::lockstep_featuregate::Group::new(#name, #declarations, &#live);
        #(#gates)*
    }
}

/// The items one component expands to.
struct Names {
    group: Ident,
    declarations: Ident,
    live: Ident,
}

impl Names {
    fn of(component: &Component) -> Self {
        let group = constant_name(&component.name.to_string());
        let span = component.name.span();
        Self {
            declarations: Ident::new(&format!("{group}_DECLARATIONS"), span),
            live: Ident::new(&format!("{group}_LIVE"), span),
            group: Ident::new(&group, span),
        }
    }
}

/// The gate's constant, and the check that reports a broken rule at its name.
fn gate(names: &Names, index: usize, gate: &Gate) -> TokenStream {
    let Names {
        group,
        declarations,
        live,
    } = names;
    let docs = &gate.docs;
    let name = gate.name.to_string();
    let constant = Ident::new(&constant_name(&name), gate.name.span());
    let undocumented = docs.is_empty().then(|| {
        let text = format!("The gate `{name}`.");
        quote!(#[doc = #text])
    });
    let mut declarations = declarations.clone();
    declarations.set_span(gate.name.span()); // else the compiler points at the component too
    let check = quote_spanned! { gate.name.span() =>
        const _: () = #declarations[#index].check();
    };
    quote! {
        #check
        #undocumented
        #(#docs)*
        pub const #constant: ::lockstep_featuregate::Gate =
            ::lockstep_featuregate::Gate::new(&#group, #index, &#live[#index]);
    }
}

fn declaration(gate: &Gate) -> TokenStream {
    let name = gate.name.to_string();
    let constant = constant_name(&name);
    let description = description(&gate.docs);
    let owner = gate
        .owner
        .as_ref()
        .map_or_else(String::new, syn::LitStr::value);
    let links = &gate.links;
    let api = gate.api;
    let scope = Ident::new(
        if gate.cluster { "Cluster" } else { "Process" },
        Span::call_site(),
    );
    let entries = gate.entries.iter().map(entry);
    let after = gate.after.iter().map(ToString::to_string);
    quote! {
        ::lockstep_featuregate::Declaration {
            name: #name,
            constant: #constant,
            description: #description,
            owner: #owner,
            links: &[#(#links),*],
            api: #api,
            scope: ::lockstep_featuregate::Scope::#scope,
            entries: &[#(#entries),*],
            after: &[#(#after),*],
        }
    }
}

fn entry(entry: &Entry) -> TokenStream {
    let version = version(entry.version.unwrap_or((0, 0)));
    let min = match entry.min.map(self::version) {
        Some(min) => quote!(::std::option::Option::Some(#min)),
        None => quote!(::std::option::Option::None),
    };
    let stage = Ident::new(entry.stage, entry.span);
    let (on, locked) = (entry.on, entry.locked);
    quote! {
        ::lockstep_featuregate::Entry {
            version: #version,
            default: #on,
            lock_to_default: #locked,
            stage: ::lockstep_featuregate::Stage::#stage,
            min_compatibility: #min,
        }
    }
}

fn version((major, minor): (u16, u16)) -> TokenStream {
    quote!(::lockstep_featuregate::Version::new(#major, #minor))
}

/// The documentation comment as one line.
fn description(docs: &[Attribute]) -> String {
    let lines = docs.iter().filter_map(|attribute| match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
            Expr::Lit(literal) => match &literal.lit {
                Lit::Str(text) => Some(text.value().trim().to_owned()),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    });
    lines.collect::<Vec<_>>().join(" ").trim().to_owned()
}
