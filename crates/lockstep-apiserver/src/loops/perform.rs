//! Performs the actions of controllers.

use std::sync::Arc;

use lockstep_controllers::{Action, Id, Propagation};
use lockstep_object::metadata::Seconds;
use lockstep_storage::{Expected, Revision};
use tokio::task::{JoinError, JoinSet};

use crate::clock;
use crate::metrics::LoopMeters;
use crate::resources::{self, Api, Internal};
use lockstep_write::WriteOrigin;

/// Most concurrent writes.
const WRITES_MAX: usize = 64;

/// Result of carrying out actions, the worst of them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Performed {
    /// All are committed. One whose object changed meanwhile counts too, because the controllers see the change.
    All,
    /// A quota refused some: they are tried again later.
    Refused,
    /// The store failed: the controllers start over.
    Failed,
}

/// Carries out the actions of controllers.
pub(super) async fn all(
    api: &Arc<Api>,
    actions: Vec<Action>,
    now: Seconds,
    meters: &LoopMeters,
) -> Performed {
    let mut writing = JoinSet::new();
    let mut performed = Performed::All;
    for action in actions {
        if writing.len() == WRITES_MAX {
            performed = performed.max(done(writing.join_next().await.as_ref()));
        }
        let (api, meters) = (Arc::clone(api), meters.clone());
        meters.added.inc();
        meters.depth.inc();
        writing.spawn(async move {
            let began = clock::now().steady;
            let outcome = one(&api, action, now).await;
            let took = clock::now().steady - began;
            meters.work_seconds.observe(took.as_secs_f64());
            meters.depth.dec();
            outcome
        });
    }
    while let Some(joined) = writing.join_next().await {
        performed = performed.max(done(Some(&joined)));
    }
    performed
}

fn done(joined: Option<&Result<Internal, JoinError>>) -> Performed {
    match joined {
        None | Some(Ok(Internal::Done(_) | Internal::Moved)) => Performed::All,
        Some(Ok(Internal::Refused)) => Performed::Refused,
        Some(Ok(Internal::Failed) | Err(_)) => Performed::Failed,
    }
}

async fn one(api: &Api, action: Action, now: Seconds) -> Internal {
    tracing::debug!(?action, "a background loop acts");
    let id = action.id().clone();
    let outcome = write(api, action, &id, now).await;
    if outcome == Internal::Refused {
        tracing::warn!(
            resource = %id.resource.plural,
            key = %id.key,
            "a quota refused a write of a controller, which is tried again later"
        );
    }
    outcome
}

async fn write(api: &Api, action: Action, id: &Id, now: Seconds) -> Internal {
    let origin = WriteOrigin::Controller { now };
    let (group, plural, key) = (&*id.resource.group, &*id.resource.plural, &*id.key);
    match action {
        Action::Create { object, .. } => {
            api.create_internally(origin, (group, plural, key), object, now)
                .await
        }
        Action::Replace {
            revision, object, ..
        } => {
            let is_terminating = object.deletion_timestamp().is_some();
            let is_gone = is_terminating && api.is_free(group, plural, &object);
            let next = (!is_gone).then_some(object);
            let expected = Expected::At(Revision(revision));
            api.write_internally(origin, group, plural, key, expected, next)
                .await
        }
        Action::Delete {
            revision,
            propagation,
            ..
        } => {
            let propagation = match propagation {
                Propagation::Background => resources::Propagation::Background,
                Propagation::Foreground => resources::Propagation::Foreground,
                Propagation::Orphan => resources::Propagation::Orphan,
            };
            let place = (group, plural, key);
            api.delete_internally(origin, place, Revision(revision), propagation, now)
                .await
        }
    }
}
