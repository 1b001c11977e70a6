//! Cluster service: membership of the single member.

use std::sync::Arc;

use lockstep_etcd_api::etcdserverpb as pb;
use pb::cluster_server::Cluster;
use tonic::{Request, Response as Reply, Status};

use crate::member::Member;
use crate::rpc_error::RpcError;

pub(crate) struct ClusterService(pub(crate) Arc<Member>);

#[tonic::async_trait]
impl Cluster for ClusterService {
    async fn member_list(
        &self,
        _: Request<pb::MemberListRequest>,
    ) -> Result<Reply<pb::MemberListResponse>, Status> {
        let member = &self.0;
        let one = pb::Member {
            id: member.identity.member_id,
            name: member.config.name.clone(),
            peer_ur_ls: member.config.peer_urls.clone(),
            client_ur_ls: member.config.advertise_client_urls.clone(),
            is_learner: false,
        };
        let header = Some(member.origin().header(member.live().revision()));
        let members = vec![one];
        Ok(Reply::new(pb::MemberListResponse { header, members }))
    }

    async fn member_add(
        &self,
        _: Request<pb::MemberAddRequest>,
    ) -> Result<Reply<pb::MemberAddResponse>, Status> {
        Err(RpcError::NotImplemented("adding a member").into())
    }

    async fn member_remove(
        &self,
        _: Request<pb::MemberRemoveRequest>,
    ) -> Result<Reply<pb::MemberRemoveResponse>, Status> {
        Err(RpcError::NotImplemented("removing a member").into())
    }

    async fn member_update(
        &self,
        _: Request<pb::MemberUpdateRequest>,
    ) -> Result<Reply<pb::MemberUpdateResponse>, Status> {
        Err(RpcError::NotImplemented("changing a member's peer URLs").into())
    }

    async fn member_promote(
        &self,
        _: Request<pb::MemberPromoteRequest>,
    ) -> Result<Reply<pb::MemberPromoteResponse>, Status> {
        Err(RpcError::NotImplemented("promoting a learner").into())
    }
}
