//! A workload of all command kinds, and the state it leads to.

use lockstep_mvcc::{
    CheckedTxn, Command, Compare, Comparison, DeleteRange, Key, KeyRange, LeaseId, LeaseTtl,
    Machine, Op, Predicate, Put, PutLease, Revision, Txn,
};
use lockstep_storage::{Store, WriteError, WriteFailure};
use lockstep_storage_embedded::EmbeddedStore;

/// A TTL long enough that no lease expires.
const TTL_SECONDS: i64 = 1_000_000;

fn key(nth: u64) -> Key {
    Key::new(format!("key-{:02}", nth % 7)).unwrap()
}

fn checked(txn: Txn) -> CheckedTxn {
    txn.check(128).unwrap()
}

/// The command with this index; deterministic.
pub(crate) fn command(index: u64) -> Command {
    let put = |nth: u64, lease: LeaseId| {
        let value = vec![b'v'; usize::try_from(nth * 37 % 400).unwrap()];
        Op::Put(Put {
            lease: PutLease::Set(lease),
            ..Put::new(key(nth), value)
        })
    };
    let txn = |success| {
        Command::Txn(checked(Txn {
            success,
            ..Txn::default()
        }))
    };
    // Lease ids are the indexes of their grants; every tenth command is a grant.
    let lease = LeaseId(i64::try_from(index / 10 * 10).unwrap());
    match index % 10 {
        0 => Command::LeaseGrant {
            id: lease,
            ttl_seconds: TTL_SECONDS,
        },
        1 if lease.is_some() => txn(vec![put(index, lease), put(index + 1, LeaseId::NONE)]),
        2 if lease.is_some() => txn(vec![put(index, lease)]),
        4 => {
            let keys = KeyRange::single(key(index + 3));
            txn(vec![Op::DeleteRange(DeleteRange::new(keys))])
        }
        5 => Command::Txn(checked(Txn {
            compares: vec![Compare {
                keys: KeyRange::single(key(index)),
                comparison: Comparison::Greater,
                predicate: Predicate::Version(1),
            }],
            success: vec![put(index, LeaseId::NONE)],
            failure: vec![put(index + 1, LeaseId::NONE), put(index + 2, LeaseId::NONE)],
        })),
        6 => Command::Compact {
            at: Revision(index / 2),
        },
        8 if index % 20 == 8 => Command::LeaseRevoke { id: lease },
        _ => txn(vec![put(index, LeaseId::NONE)]),
    }
}

/// Sends a command through the `Store` interface. An error is a valid outcome.
pub(crate) async fn send(store: &EmbeddedStore, command: Command) -> Result<(), WriteFailure> {
    let outcome = match command {
        Command::Txn(txn) => store.txn(txn).await.map(drop),
        Command::Compact { at } => store.compact(at).await,
        Command::LeaseGrant { ttl_seconds, id } => {
            let granted = store.grant_lease(LeaseTtl(ttl_seconds)).await;
            granted.map(|granted| assert_eq!(granted.id, id))
        }
        Command::LeaseRevoke { id } => store.revoke_lease(id).await,
        Command::Put(_) | Command::DeleteRange(_) | Command::Alarm { .. } => {
            unreachable!("not in the workload")
        }
    };
    match outcome {
        // A full disk is no outcome of the command, which was not carried out.
        Err(WriteFailure::Refused(error)) if error != WriteError::NoSpace => Ok(()),
        outcome => outcome,
    }
}

/// The state after all commands up to an index.
pub(crate) fn expected(last_index: u64) -> Machine {
    let mut machine = Machine::default();
    for index in 1..=last_index {
        machine.apply(command(index));
    }
    machine
}

/// The hash of a machine's state.
pub(crate) fn digest(machine: &Machine) -> String {
    let bytes = machine.encode();
    let checksum = bytes.last_chunk::<32>().unwrap();
    checksum.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn digest_of(store: &EmbeddedStore) -> String {
    store.live().inspect(digest)
}
