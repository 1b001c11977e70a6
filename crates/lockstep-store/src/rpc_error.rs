//! Failures of RPCs that etcd's own [`EtcdError`](lockstep_etcd_api::EtcdError)s do not cover, and the one place of this
//! crate where they become a gRPC status.

use tonic::{Code, Status};

/// Failure of an RPC, with the text that the client reads.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RpcError {
    /// The listener serves HTTP only.
    #[error("this address serves no gRPC")]
    HttpOnly,
    /// The client requires a feature of the server.
    #[error("etcdserver: required feature not enabled: {0}")]
    FeatureRequired(String),
    /// The service does not exist.
    #[error("unknown service {0}")]
    UnknownService(String),
    /// The KV service does not have the method.
    #[error("unknown method for service etcdserverpb.KV")]
    UnknownKvMethod,
    /// The emulated etcd release does not have `RangeStream`.
    #[error("unknown method RangeStream for service etcdserverpb.KV")]
    NoRangeStream,
    /// `RangeStream` does not have an option of `Range`.
    #[error("RangeStream does not support {0}")]
    RangeStreamOption(&'static str),
    /// A feature of etcd that this server does not implement.
    #[error(
        "etcdserver: {0} is not implemented by lockstep store, which runs a single member without authentication"
    )]
    NotImplemented(&'static str),
    /// The request is compressed.
    #[error("grpc: Decompressor is not installed for the encoding of the message")]
    Compressed,
    /// The request is too large.
    #[error("grpc: received message larger than max ({length} vs. {bytes_max})")]
    RequestTooLarge { length: usize, bytes_max: usize },
    /// The response is too large for its length prefix.
    #[error("grpc: message too large ({0} bytes)")]
    ResponseTooLarge(usize),
    /// The request body ended before its message.
    #[error("Missing request message.")]
    NoRequest,
    /// The request is not a message of its type.
    #[error(transparent)]
    Decode(#[from] prost::DecodeError),
    /// The response could not be encoded.
    #[error(transparent)]
    Encode(#[from] prost::EncodeError),
    /// Number of an alarm type that does not exist.
    #[error("etcdserver: unknown alarm type")]
    UnknownAlarmType,
    /// Number of an alarm action that does not exist.
    #[error("etcdserver: unknown alarm action")]
    UnknownAlarmAction,
    /// The embedded store failed.
    #[error("{0}")]
    Store(String),
    /// A blocking read panicked or was cancelled.
    #[error(transparent)]
    ReadAborted(tokio::task::JoinError),
    /// Blocking maintenance work panicked or was cancelled.
    #[error("the work was given up")]
    WorkAborted,
    /// The gateway does not have the path.
    #[error("Not Found")]
    GatewayPath,
    /// The gateway serves POST only.
    #[error("Method Not Allowed")]
    GatewayMethod,
    /// The gateway could not read the request body.
    #[error(transparent)]
    GatewayBody(hyper::Error),
    /// The JSON of a gateway request is not a message of its type.
    #[error(transparent)]
    GatewayRequest(serde_json::Error),
    /// The gateway got no message from the service.
    #[error("there is no answer")]
    NoResponse,
    /// The gateway could not convert a response to JSON.
    #[error("{0}")]
    GatewayResponse(String),
}

impl RpcError {
    /// The gRPC status code.
    fn code(&self) -> Code {
        match self {
            Self::HttpOnly
            | Self::UnknownService(_)
            | Self::UnknownKvMethod
            | Self::NoRangeStream
            | Self::RangeStreamOption(_)
            | Self::NotImplemented(_)
            | Self::Compressed
            | Self::GatewayMethod => Code::Unimplemented,
            Self::FeatureRequired(_) => Code::FailedPrecondition,
            Self::RequestTooLarge { .. } | Self::ResponseTooLarge(_) => Code::ResourceExhausted,
            Self::UnknownAlarmType | Self::UnknownAlarmAction | Self::GatewayRequest(_) => {
                Code::InvalidArgument
            }
            Self::Store(_) => Code::Unavailable,
            Self::GatewayPath => Code::NotFound,
            Self::GatewayBody(_) => Code::Cancelled,
            Self::NoRequest
            | Self::Decode(_)
            | Self::Encode(_)
            | Self::ReadAborted(_)
            | Self::WorkAborted
            | Self::NoResponse
            | Self::GatewayResponse(_) => Code::Internal,
        }
    }
}

impl From<RpcError> for Status {
    fn from(error: RpcError) -> Self {
        Self::new(error.code(), error.to_string())
    }
}
