//! The grammar of `features!`.

use proc_macro2::Span;
use syn::{
    Attribute, Ident, LitStr, Token, braced, bracketed,
    parse::{Parse, ParseStream},
    punctuated::Punctuated,
};

pub(crate) struct Components(pub(crate) Vec<Component>);

pub(crate) struct Component {
    pub(crate) name: Ident,
    pub(crate) gates: Vec<Gate>,
}

pub(crate) struct Gate {
    pub(crate) docs: Vec<Attribute>,
    pub(crate) name: Ident,
    pub(crate) entries: Vec<Entry>,
    pub(crate) after: Vec<Ident>,
    pub(crate) api: bool,
    pub(crate) cluster: bool,
    pub(crate) owner: Option<LitStr>,
    pub(crate) links: Vec<LitStr>,
}

pub(crate) struct Entry {
    pub(crate) span: Span,
    /// `None` when it holds always.
    pub(crate) version: Option<(u16, u16)>,
    pub(crate) stage: &'static str,
    pub(crate) on: bool,
    pub(crate) locked: bool,
    pub(crate) min: Option<(u16, u16)>,
}

impl Parse for Components {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut components = Vec::new();
        while !input.is_empty() {
            components.push(input.parse()?);
        }
        Ok(Self(components))
    }
}

impl Parse for Component {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let name = input.parse()?;
        let body;
        braced!(body in input);
        let mut gates = Vec::new();
        while !body.is_empty() {
            gates.push(body.parse()?);
            body.parse::<Option<Token![,]>>()?;
        }
        Ok(Self { name, gates })
    }
}

impl Parse for Gate {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut gate = Self {
            docs: input.call(Attribute::parse_outer)?,
            name: input.parse()?,
            entries: Vec::new(),
            after: Vec::new(),
            api: false,
            cluster: false,
            owner: None,
            links: Vec::new(),
        };
        let body;
        braced!(body in input);
        while !body.is_empty() {
            gate.parse_item(&body)?;
            if !body.is_empty() {
                body.parse::<Token![,]>()?;
            }
        }
        gate.check_versions()?;
        Ok(gate)
    }
}

impl Gate {
    fn parse_item(&mut self, input: ParseStream<'_>) -> syn::Result<()> {
        if input.peek(LitStr) {
            let text: LitStr = input.parse()?;
            input.parse::<Token![:]>()?;
            let version = self.version(&text, "patch version")?;
            let entry = self.parse_entry(input, text.span(), Some(version))?;
            self.entries.push(entry);
            return Ok(());
        }
        let word = input.fork().parse::<Ident>()?;
        if stage_of(&word).is_some() {
            let entry = self.parse_entry(input, word.span(), None)?;
            self.entries.push(entry);
            return Ok(());
        }
        input.parse::<Ident>()?;
        match word.to_string().as_str() {
            "api" => self.api = true,
            "after" => self.after = parse_list(input)?,
            "links" => self.links = parse_list(input)?,
            "owner" => {
                input.parse::<Token![:]>()?;
                self.owner = Some(input.parse()?);
            }
            "scope" => {
                input.parse::<Token![:]>()?;
                self.cluster = parse_scope(input)?;
            }
            _ => return Err(unknown_word(&word)),
        }
        Ok(())
    }

    fn parse_entry(
        &self,
        input: ParseStream<'_>,
        span: Span,
        version: Option<(u16, u16)>,
    ) -> syn::Result<Entry> {
        let word: Ident = input.parse()?;
        let stage = stage_of(&word).ok_or_else(|| unknown_stage(&word))?;
        let mut entry = Entry {
            span,
            version,
            stage,
            on: false,
            locked: false,
            min: None,
        };
        while input.peek(Ident) {
            let word: Ident = input.parse()?;
            match word.to_string().as_str() {
                "on" => entry.on = true,
                "off" => entry.on = false,
                "locked" => entry.locked = true,
                "min" => {
                    let text: LitStr = input.parse()?;
                    entry.min = Some(self.version(&text, "patch MinCompatibilityVersion")?);
                }
                _ => {
                    let message = "expected `on`, `off`, `locked` or `min \"1.36\"`";
                    return Err(syn::Error::new(word.span(), message));
                }
            }
        }
        Ok(entry)
    }

    /// Reads `1.36`; the texts are those a registry file gets for the same mistakes.
    fn version(&self, text: &LitStr, what: &str) -> syn::Result<(u16, u16)> {
        let value = text.value();
        let numbers: Option<Vec<u16>> = value.split('.').map(|part| part.parse().ok()).collect();
        let message = match numbers.as_deref() {
            Some(&[major, minor]) => return Ok((major, minor)),
            Some([_, _, _]) => format!("feature \"{}\" specified {what}: {value}", self.name),
            Some([_]) => format!("illegal version string \"{value}\""),
            _ => format!("could not parse \"{value}\" as version"),
        };
        Err(syn::Error::new(text.span(), message))
    }

    /// One entry may hold always; a list needs versions.
    fn check_versions(&self) -> syn::Result<()> {
        let unversioned = self.entries.iter().find(|entry| entry.version.is_none());
        match unversioned.filter(|_| self.entries.len() > 1) {
            Some(entry) => {
                let message = format!("feature \"{}\" did not provide a version", self.name);
                Err(syn::Error::new(entry.span, message))
            }
            None => Ok(()),
        }
    }
}

fn parse_list<T: Parse>(input: ParseStream<'_>) -> syn::Result<Vec<T>> {
    input.parse::<Token![:]>()?;
    let list;
    bracketed!(list in input);
    Ok(Punctuated::<T, Token![,]>::parse_terminated(&list)?
        .into_iter()
        .collect())
}

fn parse_scope(input: ParseStream<'_>) -> syn::Result<bool> {
    let word: Ident = input.parse()?;
    match word.to_string().as_str() {
        "process" => Ok(false),
        "cluster" => Ok(true),
        _ => Err(syn::Error::new(
            word.span(),
            "expected `process` or `cluster`",
        )),
    }
}

fn stage_of(word: &Ident) -> Option<&'static str> {
    let variants = [
        ("Alpha", "Alpha"),
        ("Beta", "Beta"),
        ("GA", "Ga"),
        ("Deprecated", "Deprecated"),
    ];
    variants
        .into_iter()
        .find(|(name, _)| word == name)
        .map(|(_, variant)| variant)
}

fn unknown_stage(word: &Ident) -> syn::Error {
    syn::Error::new(
        word.span(),
        "expected `Alpha`, `Beta`, `GA` or `Deprecated`",
    )
}

fn unknown_word(word: &Ident) -> syn::Error {
    let message = "expected an entry like `\"1.36\": Alpha`, or one of `after: […]`, `api`, \
                   `owner: \"…\"`, `links: […]`, `scope: cluster`";
    syn::Error::new(word.span(), message)
}
