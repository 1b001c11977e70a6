//! Carrying out what loops want.

use std::sync::Arc;

use lockstep_controllers::{Action, Propagation};
use lockstep_object::metadata::Seconds;
use lockstep_storage::{Expected, Revision};
use tokio::task::{JoinError, JoinSet};

use crate::clock;
use crate::metrics::LoopMeters;
use crate::resources::{self, Api, Internal};

/// How many writes are under way at once.
const WRITES_MAX: usize = 64;

/// Carries out actions. Tells whether the store took all of them; one whose object moved counts as
/// done, since the loops hear of the move.
pub(super) async fn all(
    api: &Arc<Api>,
    actions: Vec<Action>,
    now: Seconds,
    meters: &LoopMeters,
) -> bool {
    let mut writing = JoinSet::new();
    let mut is_fine = true;
    for action in actions {
        if writing.len() == WRITES_MAX {
            is_fine &= done(writing.join_next().await.as_ref());
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
        is_fine &= done(Some(&joined));
    }
    is_fine
}

fn done(joined: Option<&Result<Internal, JoinError>>) -> bool {
    matches!(joined, None | Some(Ok(Internal::Done(_) | Internal::Moved)))
}

async fn one(api: &Api, action: Action, now: Seconds) -> Internal {
    tracing::debug!(?action, "a background loop acts");
    let id = action.id().clone();
    let (group, plural, key) = (&*id.resource.group, &*id.resource.plural, &*id.key);
    match action {
        Action::Create { object, .. } => {
            api.create_internally((group, plural, key), object, now)
                .await
        }
        Action::Replace {
            revision, object, ..
        } => {
            let is_terminating = object.deletion_timestamp().is_some();
            let is_gone = is_terminating && api.is_free(group, plural, &object);
            let next = (!is_gone).then_some(object);
            let expected = Expected::At(Revision(revision));
            api.write_internally(group, plural, key, expected, next)
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
            api.delete_internally(place, Revision(revision), propagation, now)
                .await
        }
    }
}
