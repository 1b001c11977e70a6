//! Requests that another server describes, as a webhook gets them: one phase, on objects that this server has not
//! decoded.

use lockstep_admission::evaluate::{self, Versions as _};
use lockstep_admission::mutate::Tracing;
use lockstep_admission::outcome::Outcome;
use lockstep_admission::request::{Request, ResourceVersion};
use lockstep_authz::{Authorizer, User};
use lockstep_object::{ApiError, Object};

use super::Workspace;
use super::kinds::OfResource;
use super::workspace::RequestFacts;
use crate::admission::authorizer::authorization;

/// A request of another server.
pub struct Described<'a> {
    /// The request in the version that the client sent. Its equivalents are looked up.
    pub request: Request,
    /// The version of the objects, which may be another.
    pub version: ResourceVersion,
    /// The object; none for a deletion.
    pub object: Option<Object>,
    /// The stored object.
    pub old: Option<Object>,
    /// The user of the request.
    pub user: &'a User,
    /// Answers the checks of expressions.
    pub authorizer: Authorizer,
}

/// Outcome of the mutating phase.
#[derive(Debug, Default)]
pub struct Mutated {
    /// Denial, warnings, annotations.
    pub outcome: Outcome,
    /// The object as policies saw it first, and as they left it, in the version it came in; none if no policy is about
    /// the resource. Unknown fields are in neither of them.
    pub objects: Option<(Object, Object)>,
}

impl Workspace {
    /// Runs mutating policies on a request of another server.
    pub fn mutate(&self, described: Described<'_>) -> Result<Mutated, ApiError> {
        let (described, versions) = self.prepared(described);
        let request = &described.request;
        if self.policies().mutating_for(request).is_empty() {
            return Ok(Mutated::default());
        }
        let (object, old) = described.objects(&versions)?;
        let facts = self.facts(&described);
        let mut mutated = object.clone();
        let outcome = evaluate::mutate(
            self.policies(),
            request,
            &facts,
            &versions,
            (mutated.as_mut(), old.as_ref()),
            Tracing::Off,
        )?;
        let mut objects = object.zip(mutated);
        if let Some((before, after)) = &mut objects {
            versions.convert(before, &described.version)?;
            versions.convert(after, &described.version)?;
        }
        Ok(Mutated { outcome, objects })
    }

    /// Runs validating policies on a request of another server.
    pub fn validate(&self, described: Described<'_>) -> Result<Outcome, ApiError> {
        let (described, versions) = self.prepared(described);
        let request = &described.request;
        if self.policies().validating_for(request).is_empty() {
            return Ok(Outcome::default());
        }
        let (object, old) = described.objects(&versions)?;
        let facts = self.facts(&described);
        evaluate::validate(
            self.policies(),
            request,
            &facts,
            &versions,
            (object.as_ref(), old.as_ref()),
            Tracing::Off,
        )
    }

    /// The request with the versions of its resource. A version of the client that is unknown here is left aside.
    fn prepared<'a>(&self, mut described: Described<'a>) -> (Described<'a>, OfResource) {
        let versions = OfResource::described(self.registry(), &described.version);
        let request = &mut described.request;
        if !versions.knows(&request.requested) {
            request.requested = described.version.clone();
        }
        request.equivalents = versions.equivalents(&request.requested);
        (described, versions)
    }

    fn facts(&self, described: &Described<'_>) -> RequestFacts<'_> {
        let authorization = authorization(described.authorizer.clone(), described.user);
        RequestFacts::new(self, &described.request.namespace, authorization)
    }
}

impl Described<'_> {
    /// The objects with their defaults, in the version of the client.
    fn objects(&self, versions: &OfResource) -> Result<(Option<Object>, Option<Object>), ApiError> {
        let mut objects = (self.object.clone(), self.old.clone());
        for object in [&mut objects.0, &mut objects.1].into_iter().flatten() {
            versions.read(&self.version, object)?;
            versions.convert(object, &self.request.requested)?;
        }
        Ok(objects)
    }
}
