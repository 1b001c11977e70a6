//! Gets.

use lockstep_object::ApiError;
use lockstep_storage::Revision;

use super::list_options::catch_up_failed;
use super::{Answer, Api, Request, Subresource};
use lockstep_write::{Direct, ServedScale as _, ServedVersion as _, WriteAnswer};

impl Api {
    /// Answers a get with the newest object, or with one not older than `resourceVersion`.
    pub(super) async fn get(&self, request: &Request<'_>) -> Result<Answer, ApiError> {
        let subresource = request.subresource()?;
        let (served, route) = (&request.served, request.route);
        let key = served.resource.object_key(&route.namespace, &route.name);
        let (value, revision) = match request.revision()? {
            None => {
                let found = self.newest(&served.resource, &key).await?;
                let found = found.ok_or_else(|| Self::not_found(request))?;
                (found.value.clone(), found.mod_revision)
            }
            Some(at_least) => {
                if at_least > Revision::NONE {
                    let seen = self.cache.at_least(at_least).await;
                    seen.map_err(|error| catch_up_failed(&error))?;
                }
                let bucket = self.cache.bucket(&served.resource.bucket);
                let snapshot = bucket.snapshot();
                let found = snapshot.get(key.as_bytes());
                let found = found.ok_or_else(|| Self::not_found(request))?;
                (found.value.clone(), found.revision)
            }
        };
        let answer = WriteAnswer::ok(served.shown(&Direct, value, revision).await?);
        match subresource {
            Some(Subresource::Scale) => Ok(served.scale_of(&answer)?.into()),
            Some(_) | None => Ok(answer.into()),
        }
    }
}
