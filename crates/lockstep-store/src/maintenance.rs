//! Maintenance service.

use std::sync::Arc;

use lockstep_etcd_api::EtcdError;
use lockstep_etcd_api::etcdserverpb as pb;
use lockstep_mvcc::{Alarm, AlarmKind, Machine, MemberId, ReadError, Revision, StateHash};
use pb::alarm_request::AlarmAction;
use pb::maintenance_server::Maintenance;
use tonic::{Request, Response as Reply, Status};

use crate::level::Level;
use crate::member::Member;
use crate::rpc_error::RpcError;
use crate::snapshot::SnapshotStream;

pub(crate) struct MaintenanceService(pub(crate) Arc<Member>);

impl MaintenanceService {
    fn header(&self) -> pb::ResponseHeader {
        self.0.origin().header(self.0.live().revision())
    }

    fn alarms(&self) -> Vec<Alarm> {
        self.0.live().inspect(|machine| machine.alarms().collect())
    }

    /// Raises or clears alarms; returns those that changed.
    async fn change_alarms(
        &self,
        request: pb::AlarmRequest,
        is_raised: bool,
    ) -> Result<Vec<Alarm>, Status> {
        let Some(kind) = alarm_kind(request.alarm)? else {
            return Ok(Vec::new());
        };
        let before = self.alarms();
        let named = if is_raised || request.member_id != 0 {
            let member = MemberId(request.member_id);
            vec![Alarm { member, kind }]
        } else {
            let of_kind = before.iter().filter(|alarm| alarm.kind == kind);
            of_kind.copied().collect()
        };
        let mut changed = Vec::new();
        for alarm in named {
            if before.contains(&alarm) == is_raised {
                continue;
            }
            self.0.set_alarm(alarm, is_raised).await?;
            changed.push(alarm);
        }
        Ok(changed)
    }
}

/// Clones the machine, so that hashing does not block writers.
fn copy(member: &Member) -> Machine {
    member.live().inspect(Machine::clone)
}

/// Decodes an alarm kind; `NONE` is `None`.
fn alarm_kind(wire: i32) -> Result<Option<AlarmKind>, RpcError> {
    match pb::AlarmType::try_from(wire) {
        Ok(pb::AlarmType::None) => Ok(None),
        Ok(pb::AlarmType::Nospace) => Ok(Some(AlarmKind::NoSpace)),
        Ok(pb::AlarmType::Corrupt) => Ok(Some(AlarmKind::Corrupt)),
        Err(_) => Err(RpcError::UnknownAlarmType),
    }
}

fn alarm_to_wire(alarm: Alarm) -> pb::AlarmMember {
    let kind = match alarm.kind {
        AlarmKind::NoSpace => pb::AlarmType::Nospace,
        AlarmKind::Corrupt => pb::AlarmType::Corrupt,
    };
    pb::AlarmMember {
        member_id: alarm.member.0,
        alarm: kind.into(),
    }
}

/// An alarm as listed in `StatusResponse.errors`.
pub(crate) fn alarm_text(alarm: Alarm) -> String {
    let kind = match alarm.kind {
        AlarmKind::NoSpace => "NOSPACE",
        AlarmKind::Corrupt => "CORRUPT",
    };
    format!("memberID:{} alarm:{kind} ", alarm.member.0)
}

fn short(hash: StateHash) -> u32 {
    hash.0
        .iter()
        .take(4)
        .fold(0, |sum, byte| sum << 8 | u32::from(*byte))
}

fn signed(revision: Revision) -> i64 {
    i64::try_from(revision.0).unwrap_or(i64::MAX)
}

#[tonic::async_trait]
impl Maintenance for MaintenanceService {
    async fn status(
        &self,
        _: Request<pb::StatusRequest>,
    ) -> Result<Reply<pb::StatusResponse>, Status> {
        let member = &self.0;
        let size = member.store.state_size();
        let size = size.map_err(|error| RpcError::Store(error.to_string()))?;
        let bytes = |bytes: u64| i64::try_from(bytes).unwrap_or(i64::MAX);
        let index = member.store.applied_index();
        let level = member.config.level;
        let quota = bytes(member.quota.bytes().unwrap_or_default());
        Ok(Reply::new(pb::StatusResponse {
            header: Some(self.header()),
            version: level.release(),
            db_size: bytes(size.file_bytes),
            db_size_in_use: bytes(size.row_bytes.min(size.file_bytes)),
            db_size_quota: level.since(Level::V3_6, quota),
            leader: member.identity.member_id,
            raft_index: index,
            raft_applied_index: index,
            raft_term: member.origin().raft_term,
            errors: self.alarms().into_iter().map(alarm_text).collect(),
            is_learner: false,
            storage_version: level.since(Level::V3_6, level.release()),
            downgrade_info: level.since(Level::V3_6, Some(pb::DowngradeInfo::default())),
        }))
    }

    async fn alarm(
        &self,
        request: Request<pb::AlarmRequest>,
    ) -> Result<Reply<pb::AlarmResponse>, Status> {
        let request = request.into_inner();
        let alarms = match AlarmAction::try_from(request.action) {
            Ok(AlarmAction::Get) => {
                let kind = alarm_kind(request.alarm)?;
                let mut alarms = self.alarms();
                alarms.retain(|alarm| kind.is_none_or(|kind| alarm.kind == kind));
                alarms
            }
            Ok(AlarmAction::Activate) => self.change_alarms(request, true).await?,
            Ok(AlarmAction::Deactivate) => self.change_alarms(request, false).await?,
            Err(_) => return Err(RpcError::UnknownAlarmAction.into()),
        };
        Ok(Reply::new(pb::AlarmResponse {
            header: Some(self.header()),
            alarms: alarms.into_iter().map(alarm_to_wire).collect(),
        }))
    }

    async fn defragment(
        &self,
        _: Request<pb::DefragmentRequest>,
    ) -> Result<Reply<pb::DefragmentResponse>, Status> {
        let packed = self.0.store.defragment().await;
        packed.map_err(|error| RpcError::Store(error.to_string()))?;
        self.0.metrics.defragmentations.add(1);
        self.0.measure();
        let header = Some(self.header());
        Ok(Reply::new(pb::DefragmentResponse { header }))
    }

    async fn hash(&self, _: Request<pb::HashRequest>) -> Result<Reply<pb::HashResponse>, Status> {
        let machine = copy(&self.0);
        let header = Some(self.0.origin().header(machine.revision()));
        let hash = blocking(move || short(machine.hash_at(machine.revision()))).await?;
        Ok(Reply::new(pb::HashResponse { header, hash }))
    }

    async fn hash_kv(
        &self,
        request: Request<pb::HashKvRequest>,
    ) -> Result<Reply<pb::HashKvResponse>, Status> {
        let machine = copy(&self.0);
        let (current, compacted) = (machine.revision(), machine.compacted());
        let at = match u64::try_from(request.into_inner().revision) {
            Ok(0) | Err(_) => current,
            Ok(at) => Revision(at),
        };
        if at > current {
            return Err(EtcdError::from(ReadError::FutureRevision { current }).into());
        }
        if at < compacted {
            return Err(EtcdError::from(ReadError::Compacted { compacted }).into());
        }
        let hash = blocking(move || short(machine.hash_at(at))).await?;
        Ok(Reply::new(pb::HashKvResponse {
            header: Some(self.0.origin().header(current)),
            hash,
            compact_revision: signed(compacted),
            hash_revision: self.0.config.level.since(Level::V3_6, signed(at)),
        }))
    }

    type SnapshotStream = SnapshotStream;

    async fn snapshot(
        &self,
        _: Request<pb::SnapshotRequest>,
    ) -> Result<Reply<SnapshotStream>, Status> {
        let machine = copy(&self.0);
        let stream = SnapshotStream::new(&self.0, machine).await?;
        Ok(Reply::new(stream))
    }

    async fn move_leader(
        &self,
        request: Request<pb::MoveLeaderRequest>,
    ) -> Result<Reply<pb::MoveLeaderResponse>, Status> {
        if request.into_inner().target_id != self.0.identity.member_id {
            return Err(EtcdError::BadLeaderTransferee.into());
        }
        let header = Some(self.header());
        Ok(Reply::new(pb::MoveLeaderResponse { header }))
    }

    async fn downgrade(
        &self,
        _: Request<pb::DowngradeRequest>,
    ) -> Result<Reply<pb::DowngradeResponse>, Status> {
        Err(RpcError::NotImplemented("downgrading a cluster").into())
    }
}

/// Runs long work on the blocking pool.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, RpcError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|_| RpcError::WorkAborted)
}
