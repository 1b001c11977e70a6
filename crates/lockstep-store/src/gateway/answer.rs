//! Conversion of gRPC responses to HTTP responses.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use http::{Response, StatusCode, header};
use http_body_util::{BodyExt, Full};
use hyper::body::Frame;
use prost_reflect::MethodDescriptor;
use serde_json::json;
use tonic::body::Body;
use tonic::{Code, Status};

use super::transcode::{take_message, to_json};
use crate::rpc_error::RpcError;

/// Converts the response of a unary method.
pub(super) async fn one(method: &MethodDescriptor, response: Response<Body>) -> Response<Body> {
    match message_of(response).await {
        Ok(message) => match to_json(method, message) {
            Ok(text) => respond(StatusCode::OK, text),
            Err(error) => failed(&RpcError::GatewayResponse(error).into()),
        },
        Err(status) => failed(&status),
    }
}

async fn message_of(response: Response<Body>) -> Result<Bytes, Status> {
    let (head, body) = response.into_parts();
    check(&head.headers)?;
    let body = body.collect().await?;
    if let Some(trailers) = body.trailers() {
        check(trailers)?;
    }
    let mut bytes = BytesMut::from(&body.to_bytes()[..]);
    take_message(&mut bytes).ok_or_else(|| RpcError::NoResponse.into())
}

fn check(headers: &http::HeaderMap) -> Result<(), Status> {
    match Status::from_header_map(headers) {
        Some(status) if status.code() != Code::Ok => Err(status),
        _ => Ok(()),
    }
}

/// Converts the response of a streaming method.
pub(super) fn stream(method: &MethodDescriptor, response: Response<Body>) -> Response<Body> {
    let (head, body) = response.into_parts();
    if let Err(status) = check(&head.headers) {
        return failed(&status);
    }
    let lines = Lines {
        method: method.clone(),
        body,
        buffer: BytesMut::new(),
        is_over: false,
    };
    json_response(StatusCode::OK, Body::new(lines))
}

/// Newline-delimited JSON: one line for each message, and one for an error at the end.
struct Lines {
    method: MethodDescriptor,
    body: Body,
    buffer: BytesMut,
    is_over: bool,
}

impl Lines {
    fn line(&mut self, message: Bytes) -> Vec<u8> {
        match to_json(&self.method, message) {
            Ok(text) => [b"{\"result\":", text.as_slice(), b"}\n"].concat(),
            Err(error) => self.last(&RpcError::GatewayResponse(error).into()),
        }
    }

    fn last(&mut self, status: &Status) -> Vec<u8> {
        self.is_over = true;
        let http = http_status(status.code());
        let error = json!({ "error": {
            "grpc_code": i32::from(status.code()),
            "http_code": http.as_u16(),
            "message": status.message(),
            "http_status": http.canonical_reason().unwrap_or_default(),
        }});
        format!("{error}\n").into_bytes()
    }
}

impl hyper::body::Body for Lines {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let data = |line: Vec<u8>| Poll::Ready(Some(Ok(Frame::data(line.into()))));
        while !self.is_over {
            if let Some(message) = take_message(&mut self.buffer) {
                return data(self.line(message));
            }
            match ready!(Pin::new(&mut self.body).poll_frame(cx)) {
                None => self.is_over = true,
                Some(Err(status)) => return data(self.last(&status)),
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(bytes) => self.buffer.extend_from_slice(&bytes),
                    Err(frame) => {
                        if let Some(Err(status)) = frame.trailers_ref().map(check) {
                            return data(self.last(&status));
                        }
                    }
                },
            }
        }
        Poll::Ready(None)
    }
}

/// Error response.
pub(super) fn failed(status: &Status) -> Response<Body> {
    let text = json!({
        "error": status.message(),
        "code": i32::from(status.code()),
        "message": status.message(),
    });
    respond(http_status(status.code()), text.to_string().into_bytes())
}

/// Response to a method other than POST.
pub(super) fn wrong_method() -> Response<Body> {
    let mut response = failed(&RpcError::GatewayMethod.into());
    *response.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
    let post = header::HeaderValue::from_static("POST");
    response.headers_mut().insert(header::ALLOW, post);
    response
}

fn http_status(code: Code) -> StatusCode {
    match code {
        Code::Ok => StatusCode::OK,
        Code::Cancelled => StatusCode::REQUEST_TIMEOUT,
        Code::InvalidArgument | Code::OutOfRange => StatusCode::BAD_REQUEST,
        Code::DeadlineExceeded => StatusCode::GATEWAY_TIMEOUT,
        Code::NotFound => StatusCode::NOT_FOUND,
        Code::AlreadyExists | Code::Aborted => StatusCode::CONFLICT,
        Code::PermissionDenied => StatusCode::FORBIDDEN,
        Code::Unauthenticated => StatusCode::UNAUTHORIZED,
        Code::ResourceExhausted => StatusCode::TOO_MANY_REQUESTS,
        Code::FailedPrecondition => StatusCode::PRECONDITION_FAILED,
        Code::Unimplemented => StatusCode::NOT_IMPLEMENTED,
        Code::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        Code::Unknown | Code::Internal | Code::DataLoss => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

fn respond(status: StatusCode, text: Vec<u8>) -> Response<Body> {
    json_response(status, Body::new(Full::from(text)))
}

fn json_response(status: StatusCode, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let json = header::HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response
}
