//! Watch service: one stream with many watchers.

mod codec;
mod ready;
mod shared;
mod stream;
mod watcher;

use std::future::{Ready, ready};
use std::sync::Arc;

use lockstep_etcd_api::etcdserverpb as pb;
use tonic::server::{Grpc, StreamingService};
use tonic::{Request, Response as Reply, Status, Streaming};

use crate::member::Member;
use codec::{Frame, WatchCodec};
pub(crate) use shared::SharedEvents;
use stream::WatchStream;

/// The `Watch` method without tonic's codec: events are encoded directly into the connection's buffer.
#[derive(Clone)]
pub(crate) struct WatchService(pub(crate) Arc<Member>);

impl WatchService {
    pub(crate) async fn call<B>(
        self,
        request: http::Request<B>,
    ) -> http::Response<tonic::body::Body>
    where
        B: hyper::body::Body + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>> + Send,
    {
        let bytes_max = self.0.message_bytes_max();
        let mut grpc = Grpc::new(WatchCodec).apply_max_message_size_config(Some(bytes_max), None);
        grpc.streaming(self, request).await
    }
}

impl StreamingService<pb::WatchRequest> for WatchService {
    type Response = Frame;
    type ResponseStream = WatchStream;
    type Future = Ready<Result<Reply<WatchStream>, Status>>;

    fn call(&mut self, request: Request<Streaming<pb::WatchRequest>>) -> Self::Future {
        let stream = WatchStream::new(self.0.clone(), request.into_inner());
        ready(Ok(Reply::new(stream)))
    }
}
