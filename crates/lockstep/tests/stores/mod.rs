//! The stores that the transcripts of `lockstep store` look into.

use std::fs;
use std::path::Path;
use std::time::Duration;

use lockstep_storage::{
    DeleteRange, Key, KeyRange, LeaseTtl, Op, Put, PutLease, Revision, Store, Txn,
};
use lockstep_storage_embedded::{EmbeddedStore, Faults, Options, Step};

/// Makes one folder for each state that a store can be found in. The last one stays in use for as
/// long as the answer lives.
pub(crate) fn make(parent: &Path) -> EmbeddedStore {
    if parent.exists() {
        fs::remove_dir_all(parent).expect("old cases can be removed");
    }
    fill(&parent.join("sound"), Faults::default());
    // The state is never written, as after a crash.
    let dies = || Faults::new(|step| step == Step::StateBegun);
    fill(&parent.join("crashed"), dies());
    let segment = parent.join("crashed/log-0000000000000001.seg");
    let mut bytes = fs::read(&segment).expect("the log can be read");
    // Without its last frame, which says that the log was closed in order.
    let ends = frame_ends(&bytes);
    bytes[ends[ends.len() - 2]..].fill(0);
    fs::write(&segment, bytes).expect("the log can be written");
    let damaged = parent.join("damaged");
    fill(&damaged, dies());
    let segment = damaged.join("log-0000000000000001.seg");
    let mut bytes = fs::read(&segment).expect("the log can be read");
    for end in [1, 4].map(|nth| frame_ends(&bytes)[nth]) {
        bytes[end - 1] ^= 1;
    }
    fs::write(&segment, bytes).expect("the log can be written");
    fs::create_dir_all(parent.join("empty")).expect("a folder can be made");
    EmbeddedStore::open(&parent.join("held"), &Options::default()).expect("it is free")
}

fn frame_ends(bytes: &[u8]) -> Vec<usize> {
    let (mut at, mut ends) = (64, Vec::new());
    loop {
        let length = bytes[at..at + 4].try_into().expect("four bytes");
        let length = u32::from_le_bytes(length) as usize;
        if length == 0 {
            return ends;
        }
        at += 8 + length;
        ends.push(at);
    }
}

fn fill(folder: &Path, faults: Faults) {
    let options = Options {
        segment_bytes: 4096,
        // The state is written at the end, however slow the machine is.
        state_interval: Duration::from_secs(3600),
        faults,
        ..Options::default()
    };
    let store = EmbeddedStore::open(folder, &options).expect("a folder can be opened");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime can be made");
    runtime.block_on(async {
        let key = |name: &'static [u8]| Key::new(name).expect("not empty");
        let write = async |op| {
            let txn = Txn {
                success: vec![op],
                ..Txn::default()
            };
            let txn = txn.check(1).expect("one operation");
            store.txn(txn).await.expect("it is written")
        };
        write(Op::Put(Put::new(key(b"/registry/pods/a"), "first"))).await;
        write(Op::Put(Put::new(key(b"/registry/pods/a"), "second"))).await;
        let lease = store
            .grant_lease(LeaseTtl(600))
            .await
            .expect("it is granted");
        write(Op::Put(Put {
            lease: PutLease::Set(lease.id),
            ..Put::new(key(b"/registry/events/e"), "leased")
        }))
        .await;
        write(Op::Put(Put::new(key(b"\xff\x01"), &b"\x00\xfe"[..]))).await;
        write(Op::Put(Put::new(key(b"/registry/pods/b"), "gone"))).await;
        let gone = KeyRange::single(key(b"/registry/pods/b"));
        write(Op::DeleteRange(DeleteRange::new(gone))).await;
        store.compact(Revision(3)).await.expect("it is compacted");
    });
}
