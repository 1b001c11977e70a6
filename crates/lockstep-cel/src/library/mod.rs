//! Function libraries: tables of overloads with signature, cost and implementation.

mod arithmetic;
mod authorizer;
mod conversion;
mod encoders;
pub(crate) mod format;
mod lists;
mod lists_ext;
mod math;
mod named_format;
mod network;
mod objects;
mod operators;
mod optionals;
mod quantity;
mod regex;
mod semver;
mod sets;
mod strings;
mod time;
mod url;

pub(crate) use lists_ext::ordered;

use crate::cost::Cost;
use crate::dialect::{Feature, Profile, Version};
use crate::scope::Scope;
use crate::value::{Eval, Fault, Value};

/// An implementation. It may trust the number of its arguments, not their types.
pub(crate) type Run = for<'a> fn(&Scope<'a>, &[Value<'a>]) -> Eval<'a>;

/// One overload as the tables write it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row {
    pub(crate) id: &'static str,
    pub(crate) signature: &'static str,
    pub(crate) cost: Cost,
    pub(crate) run: Run,
}

/// A row of a table.
pub(crate) const fn row(id: &'static str, signature: &'static str, cost: Cost, run: Run) -> Row {
    Row {
        id,
        signature,
        cost,
        run,
    }
}

/// Availability of a library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Availability {
    /// In both dialects, in Kubernetes since a version.
    Since(Feature),
    /// Only in the specification's dialect.
    SpecOnly,
    /// Only in Kubernetes, since a version.
    KubernetesSince(Feature),
    /// Only where mutations are written.
    Mutation,
}

/// A set of overloads that is enabled as a whole.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Library {
    availability: Availability,
    pub(crate) rows: &'static [Row],
}

impl Library {
    pub(crate) fn is_in(&self, profile: Profile, version: Version, mutation: bool) -> bool {
        let spec = profile == Profile::Spec;
        match self.availability {
            Availability::Since(feature) => spec || version >= feature.since(),
            Availability::SpecOnly => spec,
            Availability::KubernetesSince(feature) => !spec && version >= feature.since(),
            Availability::Mutation => mutation,
        }
    }
}

/// All libraries.
pub(crate) fn all() -> impl Iterator<Item = Library> {
    use Availability::{KubernetesSince, Mutation, Since, SpecOnly};
    use Feature as F;
    let libraries: [(Availability, &'static [Row]); 29] = [
        (Since(F::Base), operators::ROWS),
        (Since(F::CrossTypeComparison), operators::CROSS_TYPE_ROWS),
        (Since(F::Base), arithmetic::ROWS),
        (Since(F::Base), conversion::ROWS),
        (Since(F::Network), conversion::NETWORK_ROWS),
        (Since(F::Base), time::ROWS),
        (Since(F::Base), strings::STANDARD_ROWS),
        (Since(F::Base), strings::ROWS),
        (Since(F::StringsV2), strings::V2_ROWS),
        (SpecOnly, strings::REVERSE_ROWS),
        (Since(F::Base), regex::MATCHES_ROWS),
        (KubernetesSince(F::Base), regex::ROWS),
        (KubernetesSince(F::Base), lists::ROWS),
        (Since(F::ListsExt), lists_ext::ROWS),
        (Since(F::Sets), sets::ROWS),
        (KubernetesSince(F::Includes), sets::INCLUDES_ROWS),
        (Since(F::Optionals), optionals::ROWS),
        (Since(F::Optionals), optionals::LIST_ROWS),
        (KubernetesSince(F::Base), url::ROWS),
        (KubernetesSince(F::Authorizer), authorizer::ROWS),
        (
            KubernetesSince(F::AuthorizerSelectors),
            authorizer::SELECTOR_ROWS,
        ),
        (KubernetesSince(F::Quantity), quantity::ROWS),
        (Since(F::Network), network::ROWS),
        (KubernetesSince(F::Formats), named_format::ROWS),
        (KubernetesSince(F::Semver), semver::ROWS),
        (SpecOnly, encoders::ROWS),
        (SpecOnly, math::ROWS),
        (Mutation, strings::JSON_PATCH_ROWS),
        (Mutation, objects::ROWS),
    ];
    libraries
        .into_iter()
        .map(|(availability, rows)| Library { availability, rows })
}

/// A function that was only declared.
pub(crate) fn not_implemented<'a>(_: &Scope<'a>, _: &[Value<'a>]) -> Eval<'a> {
    Err(Fault::NoSuchOverload)
}
