//! JSON gateway: translates each HTTP request to its gRPC method, calls the same service, and translates the
//! response back.
//!
//! The response of a streaming method is newline-delimited JSON. The whole request body is read before the first
//! response, so a watch through the gateway is created by one request and ends with its connection.

mod answer;
mod paths;
mod transcode;

use http::{HeaderMap, Method, Request, Response, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use lockstep_etcd_api::EtcdError;
use prost_reflect::MethodDescriptor;
use tonic::Status;
use tonic::body::Body;

use crate::dispatch::Dispatch;
use crate::rpc_error::RpcError;

/// Prefix of HTTP headers forwarded as gRPC metadata.
const METADATA_PREFIX: &str = "grpc-metadata-";

/// True if a path belongs to the gateway.
pub(crate) fn serves(path: &str) -> bool {
    paths::behind_version(path).is_some()
}

/// Serves a request; every response is JSON.
pub(crate) async fn answer(
    dispatch: Dispatch,
    request: Request<Incoming>,
    bytes_max: usize,
) -> Response<Body> {
    let method = match paths::method(request.uri().path()) {
        Ok(method) if request.method() == Method::POST => method,
        Ok(_) => return answer::wrong_method(),
        Err(error) => return answer::failed(&error.into()),
    };
    let translated = match to_grpc(&method, request, bytes_max).await {
        Ok(translated) => translated,
        Err(status) => return answer::failed(&status),
    };
    let Ok(response) = dispatch.grpc(translated).await;
    let response = response.map(crate::unary::Body::into_boxed);
    if method.is_server_streaming() {
        answer::stream(&method, response)
    } else {
        answer::one(&method, response).await
    }
}

async fn to_grpc(
    method: &MethodDescriptor,
    request: Request<Incoming>,
    bytes_max: usize,
) -> Result<Request<Full<bytes::Bytes>>, Status> {
    let (head, body) = request.into_parts();
    let body = Limited::new(body, bytes_max).collect().await;
    let body = body.map_err(|error| match error.downcast::<hyper::Error>() {
        Ok(error) => Status::from(RpcError::GatewayBody(*error)),
        Err(_) => EtcdError::RequestTooLarge.into(),
    })?;
    let messages =
        transcode::messages(method, &body.to_bytes()).map_err(RpcError::GatewayRequest)?;
    let path = format!("/{}/{}", method.parent_service().full_name(), method.name());
    let mut translated = Request::new(Full::new(messages));
    *translated.method_mut() = Method::POST;
    *translated.uri_mut() = path.parse().expect("names of methods are paths");
    *translated.headers_mut() = metadata(&head.headers);
    Ok(translated)
}

/// Translates HTTP headers to gRPC metadata.
fn metadata(headers: &HeaderMap) -> HeaderMap {
    let mut metadata = HeaderMap::new();
    for (name, value) in headers {
        let name = match name.as_str().strip_prefix(METADATA_PREFIX) {
            Some(rest) => rest.parse().ok(),
            None => (*name == header::AUTHORIZATION).then(|| name.clone()),
        };
        // Clients must not set headers reserved by gRPC.
        let free = name.filter(|name: &header::HeaderName| {
            let is_taken = name.as_str().starts_with("grpc-");
            !is_taken && *name != header::CONTENT_TYPE && *name != header::TE
        });
        if let Some(name) = free {
            metadata.append(name, value.clone());
        }
    }
    let grpc = header::HeaderValue::from_static("application/grpc");
    metadata.insert(header::CONTENT_TYPE, grpc);
    metadata
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_meant_for_grpc_becomes_metadata() {
        // etcd-api.md §9, gateway.
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("authorization", "token"),
            ("grpc-metadata-hasleader", "true"),
            ("grpc-metadata-grpc-timeout", "1n"),
            ("grpc-metadata-content-type", "text/plain"),
            ("user-agent", "x"),
            ("content-type", "application/json"),
        ] {
            headers.insert(name, header::HeaderValue::from_static(value));
        }
        let metadata = metadata(&headers);
        let mut told: Vec<_> = metadata
            .iter()
            .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()))
            .collect();
        told.sort();
        assert_eq!(
            told,
            [
                "authorization: token",
                "content-type: application/grpc",
                "hasleader: true"
            ]
        );
    }
}
