//! A cluster that is full.

use lockstep_storage::{Consistency, Key, KeyRange, Range, Store, WriteFailure};
use tokio::runtime::Runtime;

use crate::etcd::{Member, Release, Security};
use crate::load::put;

const QUOTA_BYTES: usize = 4 << 20;
const VALUE_BYTES: usize = 1 << 20;

/// etcd carries out the write that crosses the quota and refuses those after it, in the same words.
#[test]
fn a_write_that_found_no_space_is_uncertain_and_reads_go_on() {
    let Some(program) = Release::Packaged.program() else {
        return;
    };
    let quota = [
        "--quota-backend-bytes".into(),
        QUOTA_BYTES.to_string().into(),
    ];
    let security = Security {
        arguments: quota.into(),
        is_encrypted: false,
    };
    let member = Member::start_secured(&program, &security);
    Runtime::new().unwrap().block_on(async {
        let store = member.connect().await;
        let mut outcomes = Vec::new();
        while outcomes.len() < 2 {
            let written = store.txn(put("k", vec![b'v'; VALUE_BYTES])).await;
            outcomes.extend(written.err());
        }
        let reason = format!(
            "`{}`: etcdserver: mvcc: database space exceeded",
            member.url()
        );
        let uncertain = WriteFailure::Uncertain { reason };
        assert_eq!(outcomes, [uncertain.clone(), uncertain]);
        let range = Range::new(KeyRange::single(Key::new("k").unwrap()));
        let read = store.range(range, Consistency::Linearizable).await;
        assert_eq!(read.unwrap().kvs[0].value.len(), VALUE_BYTES);
    });
}
