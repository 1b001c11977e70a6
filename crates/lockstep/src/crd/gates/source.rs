//! Where definitions come from: a server, or files.

use std::path::PathBuf;

use lockstep_featuregate::suggestion;
use lockstep_object::{Object, Value};

use super::definition;
use crate::{
    failure::Failure,
    features::live,
    output,
    remote::{self, Access},
};

/// Where a server has definitions.
pub(super) const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
/// The gate of servers that act on gates of fields.
const SERVER_GATE: &str = "CRDFieldLevelVersioning";
/// Page size (`limit`) of CRD lists. It is small because a CRD with schemas can be large.
const DEFINITIONS_PAGE: u32 = 50;

/// Files, or kubectl's flags for finding a server.
#[derive(Debug, clap::Args)]
pub(super) struct Source {
    /// Files or directories with the definitions in place of a server, `-` for standard input; may be repeated
    #[arg(long, short, value_name = "FILE")]
    filename: Vec<PathBuf>,
    #[command(flatten)]
    kubeconfig: remote::Flags,
}

/// Where to look, decided.
pub(super) enum Place<'a> {
    Files(&'a [PathBuf]),
    Server(Box<Access>),
}

impl Source {
    pub(super) fn place(&self) -> Result<Place<'_>, Failure> {
        match (&*self.filename, self.kubeconfig.is_given()) {
            ([], _) => Ok(Place::Server(Box::new(self.kubeconfig.access(None)?))),
            (files, false) => Ok(Place::Files(files)),
            (_, true) => Err(Failure::bad_input(
                "files have their own definitions: `--filename` goes without `--kubeconfig` and `--context`",
            )),
        }
    }
}

impl Place<'_> {
    /// All definitions by name.
    pub(super) fn all(&self) -> Result<Vec<Object>, Failure> {
        let mut all = match self {
            Self::Files(files) => definition::read(files)?,
            Self::Server(access) => all_of(access)?,
        };
        all.sort_by(|one, other| one.name().cmp(other.name()));
        let mut pairs = all.windows(2);
        match pairs.find(|pair| pair[0].name() == pair[1].name()) {
            Some(twice) => Err(stands_twice(twice[0].name())),
            None => Ok(all),
        }
    }

    /// The definition of a name, or of a plural, singular, kind or short name that only one has.
    pub(super) fn one(&self, name: &str) -> Result<Object, Failure> {
        match self {
            Self::Files(files) => find(definition::read(files)?, name),
            Self::Server(access) => one_of(access, name),
        }
    }
}

impl Place<'_> {
    /// Warns if the server has field gates disabled. A server that does not report the gate gets no warning.
    pub(super) fn warn_if_idle(&self) {
        let Self::Server(access) = self else { return };
        let gates = live::rows(access).unwrap_or_default();
        let mut own = gates.iter().filter(|gate| gate.name == SERVER_GATE);
        if own.any(|gate| !gate.enabled) {
            output::tell(&format!(
                "! warn   `{SERVER_GATE}` is off at {}: all fields are free whatever their gates\n",
                access.server()
            ));
        }
    }
}

fn all_of(access: &Access) -> Result<Vec<Object>, Failure> {
    let mut found = Vec::new();
    access.each(DEFINITIONS, DEFINITIONS_PAGE, |mut item| {
        // Lists leave out what all their items have.
        item["apiVersion"] = "apiextensions.k8s.io/v1".into();
        item["kind"] = "CustomResourceDefinition".into();
        found.extend(Object::from_value(item));
    })?;
    Ok(found)
}

pub(super) fn one_of(access: &Access, name: &str) -> Result<Object, Failure> {
    let is_whole = name.contains('.') && !name.contains(['/', '?', '#', '%', ' ']);
    if is_whole {
        let path = format!("{DEFINITIONS}/{name}");
        let reply = access.object(&path)?;
        match (reply.code, reply.is_done()) {
            (_, true) => {
                let wrong = || Failure::bad_input(format!("{path} is no object"));
                return Object::from_value(reply.body).map_err(|_| wrong());
            }
            (404, _) => {}
            _ => return Err(access.refused(&reply, &path)),
        }
    }
    find(all_of(access)?, name)
}

fn find(definitions: Vec<Object>, name: &str) -> Result<Object, Failure> {
    let exact = definitions.iter().enumerate();
    let mut exact = exact.filter(|(_, one)| one.name() == name);
    let (exact, again) = (exact.next().map(|(index, _)| index), exact.next());
    if again.is_some() {
        return Err(stands_twice(name));
    }
    let mut matching = exact.map_or_else(
        || {
            let matching = definitions.iter().enumerate();
            let matching = matching.filter(|(_, one)| is_called(one, name));
            matching.map(|(index, _)| index).collect::<Vec<_>>()
        },
        |index| vec![index],
    );
    match (matching.pop(), &*matching) {
        (Some(index), []) => Ok(definitions
            .into_iter()
            .nth(index)
            .expect("it was found there")),
        (Some(last), others) => {
            let names = others.iter().chain([&last]);
            let names: Vec<&str> = names.map(|index| definitions[*index].name()).collect();
            let message = format!("`{name}` may be any of {}", names.join(", "));
            Err(Failure::bad_input(message).with_help("give the whole name"))
        }
        (None, _) => {
            let failure = Failure::bad_input(format!("there is no definition `{name}`"));
            let known = definitions.iter().map(Object::name);
            let known = known.chain(definitions.iter().flat_map(called));
            Err(match suggestion(name, known) {
                Some(close) => failure.with_help(format!("did you mean `{close}`?")),
                None => failure.with_help("`lockstep crd gates list` shows those that have gates"),
            })
        }
    }
}

fn stands_twice(name: &str) -> Failure {
    Failure::bad_input(format!("`{name}` stands twice in the files"))
        .with_help("give one release of it")
}

/// Names by which a user may give a CRD's resource: plural, singular, kind and short names.
fn called(definition: &Object) -> Vec<&str> {
    let names = definition.at(&["spec", "names"]).unwrap_or(&Value::Null);
    let single = ["plural", "singular", "kind"].into_iter();
    let single = single.filter_map(|field| names[field].as_str());
    let short = names["shortNames"].as_array().into_iter().flatten();
    single.chain(short.filter_map(Value::as_str)).collect()
}

fn is_called(definition: &Object, name: &str) -> bool {
    let mut names = called(definition).into_iter();
    names.any(|own| own.eq_ignore_ascii_case(name))
}
