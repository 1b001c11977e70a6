//! Table of all gRPC methods.

use std::collections::HashMap;
use std::sync::LazyLock;

/// A gRPC method.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct Method {
    /// The service without its package.
    pub(crate) service: &'static str,
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    /// Gateway paths without the version prefix.
    pub(crate) paths: &'static [&'static str],
}

/// Streaming kind of a method.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Unary,
    ServerStream,
    BidiStream,
}

impl Kind {
    /// Label value in metrics.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::Unary => "unary",
            Self::ServerStream => "server_stream",
            Self::BidiStream => "bidi_stream",
        }
    }
}

const fn row(
    service: &'static str,
    name: &'static str,
    kind: Kind,
    paths: &'static [&'static str],
) -> Method {
    Method {
        service,
        name,
        kind,
        paths,
    }
}

use Kind::{BidiStream, ServerStream, Unary};

pub(crate) const METHODS: &[Method] = &[
    row("KV", "Range", Unary, &["kv/range"]),
    // etcd's proto defines no gateway path for it; this one follows the convention.
    row("KV", "RangeStream", ServerStream, &["kv/rangestream"]),
    row("KV", "Put", Unary, &["kv/put"]),
    row("KV", "DeleteRange", Unary, &["kv/deleterange"]),
    row("KV", "Txn", Unary, &["kv/txn"]),
    row("KV", "Compact", Unary, &["kv/compaction"]),
    row("Watch", "Watch", BidiStream, &["watch"]),
    row("Lease", "LeaseGrant", Unary, &["lease/grant"]),
    row(
        "Lease",
        "LeaseRevoke",
        Unary,
        &["lease/revoke", "kv/lease/revoke"],
    ),
    row("Lease", "LeaseKeepAlive", BidiStream, &["lease/keepalive"]),
    row(
        "Lease",
        "LeaseTimeToLive",
        Unary,
        &["lease/timetolive", "kv/lease/timetolive"],
    ),
    row(
        "Lease",
        "LeaseLeases",
        Unary,
        &["lease/leases", "kv/lease/leases"],
    ),
    row("Cluster", "MemberAdd", Unary, &["cluster/member/add"]),
    row("Cluster", "MemberRemove", Unary, &["cluster/member/remove"]),
    row("Cluster", "MemberUpdate", Unary, &["cluster/member/update"]),
    row("Cluster", "MemberList", Unary, &["cluster/member/list"]),
    row(
        "Cluster",
        "MemberPromote",
        Unary,
        &["cluster/member/promote"],
    ),
    row("Maintenance", "Alarm", Unary, &["maintenance/alarm"]),
    row("Maintenance", "Status", Unary, &["maintenance/status"]),
    row(
        "Maintenance",
        "Defragment",
        Unary,
        &["maintenance/defragment"],
    ),
    row("Maintenance", "Hash", Unary, &["maintenance/hash"]),
    row("Maintenance", "HashKV", Unary, &["maintenance/hashkv"]),
    row(
        "Maintenance",
        "Snapshot",
        ServerStream,
        &["maintenance/snapshot"],
    ),
    row(
        "Maintenance",
        "MoveLeader",
        Unary,
        &["maintenance/transfer-leadership"],
    ),
    row(
        "Maintenance",
        "Downgrade",
        Unary,
        &["maintenance/downgrade"],
    ),
    row("Auth", "AuthEnable", Unary, &["auth/enable"]),
    row("Auth", "AuthDisable", Unary, &["auth/disable"]),
    row("Auth", "AuthStatus", Unary, &["auth/status"]),
    row("Auth", "Authenticate", Unary, &["auth/authenticate"]),
    row("Auth", "UserAdd", Unary, &["auth/user/add"]),
    row("Auth", "UserGet", Unary, &["auth/user/get"]),
    row("Auth", "UserList", Unary, &["auth/user/list"]),
    row("Auth", "UserDelete", Unary, &["auth/user/delete"]),
    row("Auth", "UserChangePassword", Unary, &["auth/user/changepw"]),
    row("Auth", "UserGrantRole", Unary, &["auth/user/grant"]),
    row("Auth", "UserRevokeRole", Unary, &["auth/user/revoke"]),
    row("Auth", "RoleAdd", Unary, &["auth/role/add"]),
    row("Auth", "RoleGet", Unary, &["auth/role/get"]),
    row("Auth", "RoleList", Unary, &["auth/role/list"]),
    row("Auth", "RoleDelete", Unary, &["auth/role/delete"]),
    row("Auth", "RoleGrantPermission", Unary, &["auth/role/grant"]),
    row("Auth", "RoleRevokePermission", Unary, &["auth/role/revoke"]),
];

/// Protobuf package of all services.
pub(crate) const PACKAGE: &str = "etcdserverpb";

/// Index of a method in the table, by request path.
pub(crate) fn place(path: &str) -> Option<usize> {
    static PLACES: LazyLock<HashMap<String, usize>> = LazyLock::new(|| {
        let path = |row: &Method| format!("/{PACKAGE}.{}/{}", row.service, row.name);
        METHODS.iter().map(path).zip(0..).collect()
    });
    PLACES.get(path).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_method_is_found_by_the_path_of_its_requests() {
        for (at, row) in METHODS.iter().enumerate() {
            let path = format!("/etcdserverpb.{}/{}", row.service, row.name);
            assert_eq!(place(&path), Some(at), "{path}");
        }
        assert_eq!(place("/etcdserverpb.KV/Nothing"), None);
    }
}
