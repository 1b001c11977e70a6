//! The end of a CRD: its objects go first.

use std::time::Duration;

use lockstep_object::Object;
use lockstep_object::metadata::Seconds;
use lockstep_storage::Expected;
use tokio::time::{Instant, timeout};

use lockstep_catalog::crd::conditions::Cleanup;

use super::{Definition, GROUP, PLURAL};
use crate::cache::Scope;
use crate::resources::{Api, CRD_CLEANUP_FINALIZER, Left, Served};

/// After how long people are told that objects are still there, as upstream.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long to wait for a change before it is tried again.
const RETRY: Duration = Duration::from_secs(5);

/// Deletes the objects of a CRD that goes away, says in its status how that goes, and lets the CRD
/// go when none is left. Ends as well when nobody wants that any more.
pub(super) async fn run(api: &Api, name: &str, now: fn() -> Seconds) {
    let began = Instant::now();
    let mut watching = None;
    while let Some(crd) = leaving(api, name).await {
        let definition = Definition::of(&crd);
        let registry = api.registry();
        if !definition.is("Established") {
            return tell(api, name, &Cleanup::NeverEstablished, now).await;
        }
        let served = registry.resource(definition.group(), definition.names("plural"));
        let Some(resource) = served else {
            // It was served once and may have objects, of which nothing is known here.
            let why = "the resource is not served by this server".to_owned();
            tell(api, name, &Cleanup::Failed(why), now).await;
            tokio::time::sleep(RETRY).await;
            continue;
        };
        let served = Served {
            resource: resource.clone(),
            version: resource.encoding_version().index(),
        };
        let bucket = api.cache().bucket(&resource.bucket);
        let changes = watching.get_or_insert_with(|| bucket.snapshot_and_watch(Scope::All).1);
        let so_far = match api.delete_all_internally(&served, now()).await {
            Left::Nothing => return tell(api, name, &Cleanup::Completed, now).await,
            Left::Failed(why) => Cleanup::Failed(why),
            Left::Some if began.elapsed() < PATIENCE => Cleanup::InProgress,
            Left::Some => Cleanup::Waits,
        };
        tell(api, name, &so_far, now).await;
        if let Ok(Err(_)) = timeout(RETRY, changes.next()).await {
            watching = None;
        }
    }
}

/// The CRD, as long as it waits for its objects to go.
async fn leaving(api: &Api, name: &str) -> Option<Object> {
    let (crd, _) = api.read_internally(GROUP, PLURAL, name).await?;
    Definition::of(&crd).is_cleaned().then_some(crd)
}

/// Writes how far the clean-up is, unless that is known; with the last of it the CRD is let go.
async fn tell(api: &Api, name: &str, cleanup: &Cleanup, now: fn() -> Seconds) {
    let is_over = matches!(cleanup, Cleanup::Completed | Cleanup::NeverEstablished);
    loop {
        let read = api.read_internally(GROUP, PLURAL, name).await;
        let Some((mut crd, revision)) = read.filter(|(crd, _)| Definition::of(crd).is_cleaned())
        else {
            return;
        };
        let before = crd.clone();
        cleanup.write(&mut crd, now());
        let held = crd
            .finalizers()
            .filter(|held| !is_over || *held != CRD_CLEANUP_FINALIZER);
        let held: Vec<String> = held.map(str::to_owned).collect();
        let is_free = held.is_empty();
        crd.set_finalizers(held);
        if crd == before {
            return;
        }
        let next = (!is_free).then_some(crd);
        let expected = Expected::At(revision);
        let stored = api.store_internally(GROUP, PLURAL, name, expected, next);
        // What comes before the end is told again soon.
        if stored.await || !is_over {
            return;
        }
    }
}
