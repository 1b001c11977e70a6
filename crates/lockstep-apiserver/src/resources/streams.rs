//! Streaming subresources of containers, which require a kubelet.

use lockstep_object::ApiError;

use super::{Api, Request, SpecialKind};

/// Streaming subresources.
const STREAMS: [&str; 5] = ["attach", "exec", "log", "portforward", "proxy"];

impl Api {
    /// 501 for streaming subresources of objects that exist.
    pub(super) async fn check_streams(&self, request: &Request<'_>) -> Result<(), ApiError> {
        let (route, resource) = (request.route, &request.served.resource);
        let has_streams = matches!(
            resource.special,
            SpecialKind::Pod | SpecialKind::Service | SpecialKind::Node
        );
        let is_stream = STREAMS.contains(&route.subresource.as_str());
        if !has_streams || !is_stream {
            return Ok(());
        }
        let key = resource.object_key(&route.namespace, &route.name);
        if self.newest(resource, &key).await?.is_none() {
            return Err(Self::not_found(request));
        }
        let what = format!("{}/{}", resource.plural, route.subresource);
        let why = format!("{what} is not served: there are no kubelets behind this server");
        Err(ApiError::NotImplemented(why))
    }
}
