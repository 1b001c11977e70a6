//! Deletion of the objects of a terminating CRD.

use std::time::Duration;

use lockstep_object::Object;
use lockstep_object::metadata::Seconds;
use lockstep_storage::Expected;
use tokio::time::{Instant, timeout};

use lockstep_catalog::crd::conditions::Cleanup;

use super::{Definition, GROUP, PLURAL};
use crate::cache::Scope;
use crate::resources::{Api, CRD_CLEANUP_FINALIZER, Left, Served};

/// Time after which the condition reports that objects remain, as upstream.
const REPORT_AFTER: Duration = Duration::from_secs(60);
/// Interval between attempts if no object changes.
const RETRY_INTERVAL: Duration = Duration::from_secs(5);

/// Deletes the objects of a terminating CRD, reports the progress in its status, and removes the finalizer when no
/// object is left. Returns early if the CRD no longer has the finalizer.
pub(super) async fn run(api: &Api, name: &str, now: fn() -> Seconds) {
    let began = Instant::now();
    let mut watching = None;
    while let Some(crd) = terminating(api, name).await {
        let definition = Definition::of(&crd);
        let registry = api.registry();
        if !definition.is("Established") {
            return report(api, name, &Cleanup::NeverEstablished, now).await;
        }
        let served = registry.resource(definition.group(), definition.names("plural"));
        let Some(resource) = served else {
            // An established CRD may have objects, and this server cannot delete objects of a resource it does not
            // serve.
            let why = "the resource is not served by this server".to_owned();
            report(api, name, &Cleanup::Failed(why), now).await;
            tokio::time::sleep(RETRY_INTERVAL).await;
            continue;
        };
        let served = Served {
            resource: resource.clone(),
            version: resource.encoding_version().index(),
        };
        let bucket = api.cache().bucket(&resource.bucket);
        let changes = watching.get_or_insert_with(|| bucket.snapshot_and_watch(Scope::All).1);
        let so_far = match api.delete_all_internally(&served, now()).await {
            Left::Nothing => return report(api, name, &Cleanup::Completed, now).await,
            Left::Failed(why) => Cleanup::Failed(why),
            Left::Some if began.elapsed() < REPORT_AFTER => Cleanup::InProgress,
            Left::Some => Cleanup::Waits,
        };
        report(api, name, &so_far, now).await;
        if let Ok(Err(_)) = timeout(RETRY_INTERVAL, changes.next()).await {
            watching = None;
        }
    }
}

/// The CRD, if it is terminating and has the cleanup finalizer.
async fn terminating(api: &Api, name: &str) -> Option<Object> {
    let (crd, _) = api.read_internally(GROUP, PLURAL, name).await?;
    Definition::of(&crd).is_cleaned().then_some(crd)
}

/// Writes the progress to the status if it changed. At the end it removes the finalizer, or the CRD if that was the
/// last one.
async fn report(api: &Api, name: &str, cleanup: &Cleanup, now: fn() -> Seconds) {
    let is_over = matches!(cleanup, Cleanup::Completed | Cleanup::NeverEstablished);
    loop {
        let read = api.read_internally(GROUP, PLURAL, name).await;
        let Some((mut crd, revision)) = read.filter(|(crd, _)| Definition::of(crd).is_cleaned())
        else {
            return;
        };
        let before = crd.clone();
        cleanup.write(&mut crd, now());
        let finalizers = crd
            .finalizers()
            .filter(|finalizer| !is_over || *finalizer != CRD_CLEANUP_FINALIZER);
        let finalizers: Vec<String> = finalizers.map(str::to_owned).collect();
        let is_free = finalizers.is_empty();
        crd.set_finalizers(finalizers);
        if crd == before {
            return;
        }
        let next = (!is_free).then_some(crd);
        let expected = Expected::At(revision);
        let stored = api.store_internally(GROUP, PLURAL, name, expected, next);
        // Only the final state must be written now: the next attempt reports any other state again.
        if stored.await || !is_over {
            return;
        }
    }
}
