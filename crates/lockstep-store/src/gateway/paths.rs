//! Gateway paths and their gRPC methods.

use std::sync::LazyLock;

use lockstep_etcd_api::DESCRIPTORS;
use prost_reflect::{DescriptorPool, MethodDescriptor};

use crate::methods::{METHODS, Method, PACKAGE};
use crate::rpc_error::RpcError;

/// Protobuf descriptors, decoded on first use.
static POOL: LazyLock<DescriptorPool> = LazyLock::new(|| {
    DescriptorPool::decode(DESCRIPTORS).expect("the definitions were generated from files")
});

/// Version prefixes of the gateway in all etcd releases.
const VERSIONS: [&str; 3] = ["/v3/", "/v3beta/", "/v3alpha/"];

/// The path without its version prefix.
pub(super) fn behind_version(path: &str) -> Option<&str> {
    VERSIONS
        .iter()
        .find_map(|version| path.strip_prefix(version))
}

/// The method of a path.
pub(super) fn method(path: &str) -> Result<MethodDescriptor, RpcError> {
    let rest = behind_version(path).ok_or(RpcError::GatewayPath)?;
    if rest.starts_with("lock/") {
        return Err(RpcError::NotImplemented("the lock service"));
    }
    if rest.starts_with("election/") {
        return Err(RpcError::NotImplemented("the election service"));
    }
    let row = METHODS.iter().find(|row| row.paths.contains(&rest));
    row.and_then(described).ok_or(RpcError::GatewayPath)
}

fn described(row: &Method) -> Option<MethodDescriptor> {
    let service = POOL.get_service_by_name(&format!("{PACKAGE}.{}", row.service))?;
    service.methods().find(|method| method.name() == row.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::methods::Kind;

    #[test]
    fn the_table_has_every_method_of_the_definitions_as_it_is() {
        let mut count = 0;
        for row in METHODS {
            let method = described(row).unwrap();
            let kind = match (method.is_client_streaming(), method.is_server_streaming()) {
                (false, false) => Kind::Unary,
                (false, true) => Kind::ServerStream,
                (true, _) => Kind::BidiStream,
            };
            assert_eq!(row.kind, kind, "{}", row.name);
            count += 1;
        }
        let all = POOL.services().map(|service| service.methods().count());
        assert_eq!(count, all.sum::<usize>());
    }

    #[test]
    fn paths_are_told_apart() {
        let mut paths: Vec<_> = METHODS.iter().flat_map(|row| row.paths).collect();
        paths.sort_unstable();
        let count = paths.len();
        paths.dedup();
        assert_eq!(paths.len(), count);
    }
}
