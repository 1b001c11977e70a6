//! A whole request at once: both passes of the mutating phase, its checks, and the validating phase.

use lockstep_object::{ApiError, Object};

use crate::facts::{Facts, Kind};
use crate::mutate::{Mutating, PassEnd, Tracing, View};
use crate::outcome::Outcome;
use crate::request::{Request, ResourceVersion};
use crate::set::PolicySet;
use crate::validating::Validating;

/// Versions of a resource, for a whole evaluation.
pub trait Versions {
    /// Types and defaults of a version.
    fn kind(&self, version: &ResourceVersion) -> Result<&dyn Kind, ApiError>;

    /// Converts an object to a version of its resource.
    fn convert(&self, object: &mut Object, to: &ResourceVersion) -> Result<(), ApiError>;
}

/// Evaluates mutating policies on the object of a request. The object is changed in place, also if the request is
/// denied in the end.
pub fn mutate(
    set: &PolicySet,
    request: &Request,
    facts: &dyn Facts,
    versions: &dyn Versions,
    (mut object, old): (Option<&mut Object>, Option<&Object>),
    tracing: Tracing,
) -> Result<Outcome, ApiError> {
    let mut phase = Mutating::new(set, request, facts, tracing);
    if phase.is_idle() {
        return Ok(Outcome::default());
    }
    let mut old = old.cloned();
    loop {
        phase.begin_pass(object.as_deref(), old.as_ref());
        run_turns(
            &mut phase,
            versions,
            object.as_deref_mut(),
            old.as_mut(),
            request,
        )?;
        match phase.end_pass(object.as_deref()) {
            PassEnd::Denied => return Ok(phase.conclude()),
            PassEnd::Settled => break,
            PassEnd::Again => {}
        }
    }
    phase.begin_checks(object.as_deref());
    // The checks change nothing.
    let mut checked = object.as_deref().cloned();
    run_turns(
        &mut phase,
        versions,
        checked.as_mut(),
        old.as_mut(),
        request,
    )?;
    Ok(phase.conclude())
}

fn run_turns(
    phase: &mut Mutating<'_>,
    versions: &dyn Versions,
    mut object: Option<&mut Object>,
    mut old: Option<&mut Object>,
    request: &Request,
) -> Result<(), ApiError> {
    while let Some(turn) = phase.next() {
        for object in [object.as_deref_mut(), old.as_deref_mut()]
            .into_iter()
            .flatten()
        {
            versions.convert(object, turn.version())?;
        }
        let kind = versions.kind(turn.version())?;
        let view = View {
            object: object.as_deref_mut(),
            old: old.as_deref(),
            kind,
        };
        phase.run(&turn, view);
    }
    for object in [object, old].into_iter().flatten() {
        versions.convert(object, &request.requested)?;
    }
    Ok(())
}

/// Evaluates validating policies on the object that is to be stored.
pub fn validate(
    set: &PolicySet,
    request: &Request,
    facts: &dyn Facts,
    versions: &dyn Versions,
    (object, old): (Option<&Object>, Option<&Object>),
    tracing: Tracing,
) -> Result<Outcome, ApiError> {
    let mut phase = Validating::new(set, request, facts, tracing);
    if phase.is_idle() {
        return Ok(Outcome::default());
    }
    phase.begin(object, old);
    let (mut object, mut old) = (object.cloned(), old.cloned());
    while let Some(turn) = phase.next() {
        for object in [&mut object, &mut old].into_iter().flatten() {
            versions.convert(object, turn.version())?;
        }
        phase.run(&turn, object.as_ref(), old.as_ref());
    }
    Ok(phase.conclude())
}
