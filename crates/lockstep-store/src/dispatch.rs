//! Routing of requests to services by path.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use hyper::body::{Body as HttpBody, Incoming};
use lockstep_etcd_api::EtcdError;
use lockstep_etcd_api::etcdserverpb as pb;
use pb::cluster_server::ClusterServer;
use pb::lease_server::LeaseServer;
use pb::maintenance_server::MaintenanceServer;
use tonic::Status;
use tonic::codegen::Service;
use tonic_health::pb::health_server::HealthServer;
use tonic_health::server::HealthService;

use crate::cluster::ClusterService;
use crate::gateway;
use crate::http_edge::HttpEdge;
use crate::kv::{self, KvService};
use crate::lease::LeaseService;
use crate::maintenance::MaintenanceService;
use crate::member::Member;
use crate::rpc_error::RpcError;
use crate::unary::Body;
use crate::watch::WatchService;

/// Protocols that a listener serves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Serves {
    /// gRPC and HTTP.
    Both,
    /// gRPC only.
    Grpc,
    /// HTTP only.
    Http,
    /// Health, version and metrics only.
    Metrics,
}

/// All services; cheap to clone.
#[derive(Clone)]
pub(crate) struct Dispatch {
    kv: KvService,
    watch: WatchService,
    lease: LeaseServer<LeaseService>,
    cluster: ClusterServer<ClusterService>,
    maintenance: MaintenanceServer<MaintenanceService>,
    health: HealthServer<HealthService>,
    http: HttpEdge,
}

type Answer = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

type BoxedAnswer =
    Pin<Box<dyn Future<Output = Result<Response<tonic::body::Body>, Infallible>> + Send>>;

impl Dispatch {
    pub(crate) fn new(member: &Arc<Member>, health: HealthService) -> Self {
        let bytes_max = member.message_bytes_max();
        let lease = LeaseServer::new(LeaseService::new(member.clone()));
        let cluster = ClusterServer::new(ClusterService(member.clone()));
        let maintenance = MaintenanceServer::new(MaintenanceService(member.clone()));
        Self {
            kv: KvService(member.clone()),
            watch: WatchService(member.clone()),
            lease: lease.max_decoding_message_size(bytes_max),
            cluster: cluster.max_decoding_message_size(bytes_max),
            maintenance: maintenance.max_decoding_message_size(bytes_max),
            health: HealthServer::new(health),
            http: HttpEdge(member.clone()),
        }
    }

    pub(crate) fn answer(&self, request: Request<Incoming>, serves: Serves) -> Answer {
        if !is_grpc(request.headers()) {
            return match serves {
                Serves::Grpc => ready(HttpEdge::not_found()),
                Serves::Both | Serves::Http => self.http(request),
                Serves::Metrics => ready(self.http.answer(&request)),
            };
        }
        match serves {
            Serves::Both | Serves::Grpc => self.grpc(request),
            Serves::Http | Serves::Metrics => ready(Status::from(RpcError::HttpOnly).into_http()),
        }
    }

    fn http(&self, request: Request<Incoming>) -> Answer {
        let member = &self.http.0;
        if !member.config.gateway || !gateway::serves(request.uri().path()) {
            return ready(self.http.answer(&request));
        }
        let (dispatch, bytes_max) = (self.clone(), member.message_bytes_max());
        Box::pin(async move {
            let answer = gateway::answer(dispatch, request, bytes_max).await;
            Ok(boxed(answer))
        })
    }

    /// Serves a gRPC request.
    pub(crate) fn grpc<B>(&self, request: Request<B>) -> Answer
    where
        B: HttpBody<Data = Bytes> + Send + Unpin + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>> + Send,
    {
        let metrics = &self.http.0.metrics;
        let call = metrics.calls.begin(request.uri().path());
        if let Err(status) = check_metadata(request.headers()) {
            if let Some(call) = call {
                call.refuses(&status);
            }
            return ready(status.into_http());
        }
        let Some(call) = call else {
            let answer = self.route(request);
            return Box::pin(async move { answer.await.map(boxed) });
        };
        if let Some(method) = kv::Method::of(request.uri().path()) {
            let answer = self.kv.clone().answer(method, request.into_body(), call);
            return Box::pin(async move { Ok(answer.await) });
        }
        let answer = self.route(request.map(|body| call.receives(body)));
        Box::pin(async move { answer.await.map(|response| boxed(call.sends(response))) })
    }

    fn route<B>(&self, request: Request<B>) -> BoxedAnswer
    where
        B: HttpBody<Data = Bytes> + Send + Unpin + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>> + Send,
    {
        match service_of(request.uri().path()) {
            "etcdserverpb.KV" if request.uri().path().ends_with("/RangeStream") => {
                let kv = self.kv.clone();
                Box::pin(async move { Ok(kv.stream(request).await) })
            }
            "etcdserverpb.Watch" => {
                let watch = self.watch.clone();
                Box::pin(async move { Ok(watch.call(request).await) })
            }
            "etcdserverpb.Lease" => self.lease.clone().call(request),
            "etcdserverpb.Cluster" => self.cluster.clone().call(request),
            "etcdserverpb.Maintenance" => self.maintenance.clone().call(request),
            "grpc.health.v1.Health" => self.health.clone().call(request),
            service => {
                let status = Status::from(unknown(service));
                Box::pin(std::future::ready(Ok(status.into_http())))
            }
        }
    }
}

fn ready(response: Response<tonic::body::Body>) -> Answer {
    Box::pin(std::future::ready(Ok(boxed(response))))
}

fn boxed(response: Response<tonic::body::Body>) -> Response<Body> {
    response.map(Body::from)
}

/// `etcdserverpb.KV` of `/etcdserverpb.KV/Range`.
fn service_of(path: &str) -> &str {
    let path = path.strip_prefix('/').unwrap_or(path);
    path.split_once('/').map_or(path, |(service, _)| service)
}

fn is_grpc(headers: &HeaderMap) -> bool {
    let content_type = headers.get(http::header::CONTENT_TYPE);
    content_type.is_some_and(|value| value.as_bytes().starts_with(b"application/grpc"))
}

/// Checks the metadata that etcd clients send.
fn check_metadata(headers: &HeaderMap) -> Result<(), Status> {
    if let Some(version) = headers.get("client-api-version")
        && version.to_str().is_err()
    {
        return Err(EtcdError::InvalidClientVersion.into());
    }
    if let Some(feature) = headers.get("require-feature") {
        let feature = String::from_utf8_lossy(feature.as_bytes()).into_owned();
        return Err(RpcError::FeatureRequired(feature).into());
    }
    Ok(())
}

fn unknown(service: &str) -> RpcError {
    match service {
        "etcdserverpb.Auth" => RpcError::NotImplemented("authentication"),
        "v3lockpb.Lock" => RpcError::NotImplemented("the lock service"),
        "v3electionpb.Election" => RpcError::NotImplemented("the election service"),
        "etcdserverpb.KV" => RpcError::UnknownKvMethod,
        _ => RpcError::UnknownService(service.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(name: &'static str, value: &[u8]) -> Result<(), String> {
        let mut headers = HeaderMap::new();
        let value = http::HeaderValue::from_bytes(value).unwrap();
        headers.insert(name, value);
        let checked = check_metadata(&headers);
        checked.map_err(|status| format!("{:?}: {}", status.code(), status.message()))
    }

    #[test]
    fn metadata_that_cannot_be_honoured_is_refused() {
        // etcd-api.md §1/metadata.
        assert_eq!(checked("hasleader", b"true"), Ok(()));
        assert_eq!(checked("client-api-version", b"3.5"), Ok(()));
        assert_eq!(
            checked("client-api-version", b"\xff"),
            Err("InvalidArgument: etcdserver: invalid client api version".to_owned())
        );
        assert_eq!(
            checked("require-feature", b"X"),
            Err("FailedPrecondition: etcdserver: required feature not enabled: X".to_owned())
        );
    }

    #[test]
    fn a_path_names_its_service() {
        assert_eq!(service_of("/etcdserverpb.KV/Range"), "etcdserverpb.KV");
        assert_eq!(service_of("/"), "");
        assert_eq!(service_of("x"), "x");
    }
}
