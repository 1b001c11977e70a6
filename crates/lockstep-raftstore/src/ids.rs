//! Ids of clusters and members, derived as etcd derives them.

use std::fmt;

use lockstep_mvcc::MemberId;
use sha1::{Digest, Sha1};

/// Id of a cluster.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct ClusterId(pub u64);

impl fmt::Display for ClusterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}", self.0)
    }
}

/// The id of a member with these peer URLs in the cluster with this token.
///
/// `added_at` is the time in seconds since 1970 at which a member joins a running cluster, so that one that comes
/// back under its old URLs gets another id; `None` for the first members.
pub fn member_id(peer_urls: &[String], cluster_token: &str, added_at: Option<i64>) -> MemberId {
    let mut sorted: Vec<&str> = peer_urls.iter().map(String::as_str).collect();
    sorted.sort_unstable();
    let mut hasher = Sha1::new();
    for url in sorted {
        hasher.update(url);
    }
    hasher.update(cluster_token);
    if let Some(added_at) = added_at {
        hasher.update(added_at.to_string());
    }
    MemberId(first_eight(hasher))
}

/// The id of the cluster that these members start.
pub fn cluster_id(first_members: &[MemberId]) -> ClusterId {
    let mut sorted = first_members.to_vec();
    sorted.sort_unstable();
    let mut hasher = Sha1::new();
    for MemberId(id) in sorted {
        hasher.update(id.to_be_bytes());
    }
    ClusterId(first_eight(hasher))
}

fn first_eight(hasher: Sha1) -> u64 {
    let digest = hasher.finalize();
    let first = digest.first_chunk().expect("a digest has 20 bytes");
    u64::from_be_bytes(*first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ids_of_a_default_start_are_those_that_etcd_prints() {
        let url = ["http://localhost:2380".to_owned()];
        let member = member_id(&url, "etcd-cluster", None);
        assert_eq!(member, MemberId(0x8e9e_05c5_2164_694d));
        assert_eq!(cluster_id(&[member]), ClusterId(0xcdf8_1819_4e3a_8c32));
    }

    #[test]
    fn an_id_follows_from_all_urls_in_any_order_the_token_and_the_time_of_joining() {
        let urls = |urls: &[&str]| urls.iter().map(|url| (*url).to_owned()).collect::<Vec<_>>();
        let (ab, ba) = (urls(&["a", "b"]), urls(&["b", "a"]));
        assert_eq!(member_id(&ab, "t", None), member_id(&ba, "t", None));
        let all = [
            member_id(&ab, "t", None),
            member_id(&ab, "u", None),
            member_id(&ab, "t", Some(1)),
            member_id(&ab, "t", Some(2)),
            member_id(&urls(&["a"]), "t", None),
        ];
        for (nth, id) in all.iter().enumerate() {
            assert!(!all[..nth].contains(id));
        }
    }
}
