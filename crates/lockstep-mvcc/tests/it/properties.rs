//! Property tests with random commands: the machine against the model and against its decoded copy.

use std::collections::BTreeMap;

use bytes::Bytes;
use lockstep_mvcc::{
    Bounds, Budget, CheckedTxn, Command, Compare, Comparison, Content, DeleteRange, Effect,
    Filters, Key, KeyRange, KeyValue, LeaseId, Machine, Op, Predicate, Previous, Put, PutLease,
    PutValue, Range, RequestError, Restore, Revision, Sort, SortOrder, SortTarget, Txn,
    WatchCompacted, WatchSelector,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use crate::model::Model;

/// Enough for a handful of compactions and re-creations of each of the few keys.
const COMMANDS_MAX: usize = 60;

fn bytes() -> impl Strategy<Value = Bytes> {
    const WORDS: &[&str] = &["a", "aa", "b", "c", "d", "\0", "\u{10ffff}"];
    select(WORDS).prop_map(|word| Bytes::from_static(word.as_bytes()))
}

fn key() -> impl Strategy<Value = Key> {
    bytes().prop_map(|key| Key::new(key).unwrap())
}

fn keys() -> impl Strategy<Value = KeyRange> {
    let end = prop_oneof![3 => Just(Bytes::new()), 3 => bytes()];
    (bytes(), end).prop_map(|(key, end)| KeyRange::from_wire(key, end).unwrap())
}

fn lease() -> impl Strategy<Value = LeaseId> {
    prop_oneof![3 => Just(LeaseId::NONE), 2 => (1..4_i64).prop_map(LeaseId)]
}

fn revision() -> impl Strategy<Value = Revision> {
    (0..40_u64).prop_map(Revision)
}

fn previous() -> impl Strategy<Value = Previous> {
    select(&[Previous::Omit, Previous::Return][..])
}

fn put() -> impl Strategy<Value = Put> {
    let value = prop_oneof![5 => bytes().prop_map(PutValue::Set), 1 => Just(PutValue::Keep)];
    let lease = prop_oneof![5 => lease().prop_map(PutLease::Set), 1 => Just(PutLease::Keep)];
    (key(), value, lease, previous()).prop_map(|(key, value, lease, previous)| Put {
        key,
        value,
        lease,
        previous,
    })
}

fn delete() -> impl Strategy<Value = DeleteRange> {
    (keys(), previous()).prop_map(|(keys, previous)| DeleteRange { keys, previous })
}

fn bounds() -> impl Strategy<Value = Bounds> {
    let number = || prop_oneof![3 => Just(Revision::NONE), 1 => revision()];
    (number(), number()).prop_map(|(min, max)| Bounds { min, max })
}

fn sort() -> impl Strategy<Value = Sort> {
    let target = select(
        &[
            SortTarget::Key,
            SortTarget::Version,
            SortTarget::CreateRevision,
            SortTarget::ModRevision,
            SortTarget::Value,
        ][..],
    );
    let order = select(&[SortOrder::Ascend, SortOrder::Descend][..]);
    (target, order).prop_map(|(target, order)| Sort { target, order })
}

fn range() -> impl Strategy<Value = Range> {
    let content = select(&[Content::Full, Content::KeysOnly, Content::CountOnly][..]);
    let at = option::of(revision());
    let sort = option::of(sort());
    (keys(), at, 0..4_usize, sort, content, bounds(), bounds()).prop_map(
        |(keys, at, limit, sort, content, mod_revisions, create_revisions)| Range {
            keys,
            at,
            limit,
            sort,
            content,
            mod_revisions,
            create_revisions,
        },
    )
}

fn compare() -> impl Strategy<Value = Compare> {
    let number = -1..20_i64;
    let predicate = prop_oneof![
        (-1..4_i64).prop_map(Predicate::Version),
        number.clone().prop_map(Predicate::CreateRevision),
        number.prop_map(Predicate::ModRevision),
        bytes().prop_map(Predicate::Value),
        lease().prop_map(Predicate::Lease),
    ];
    let comparison = select(
        &[
            Comparison::Equal,
            Comparison::NotEqual,
            Comparison::Greater,
            Comparison::Less,
        ][..],
    );
    (keys(), comparison, predicate).prop_map(|(keys, comparison, predicate)| Compare {
        keys,
        comparison,
        predicate,
    })
}

fn txn_of(op: impl Strategy<Value = Op> + Clone) -> impl Strategy<Value = Txn> {
    let ops = vec(op, 0..4);
    (vec(compare(), 0..3), ops.clone(), ops).prop_map(|(compares, success, failure)| Txn {
        compares,
        success,
        failure,
    })
}

fn txn() -> impl Strategy<Value = Txn> {
    let op = prop_oneof![
        range().prop_map(Op::Range),
        put().prop_map(Op::Put),
        delete().prop_map(Op::DeleteRange),
    ];
    let op = op.boxed();
    let nesting = op.prop_recursive(3, 12, 3, |inner| txn_of(inner).prop_map(Op::Txn).boxed());
    txn_of(nesting)
}

fn checked() -> impl Strategy<Value = CheckedTxn> {
    txn().prop_filter_map("a branch changes a key twice", |txn| txn.check(128).ok())
}

fn command() -> impl Strategy<Value = Command> {
    prop_oneof![
        6 => put().prop_map(Command::Put),
        3 => delete().prop_map(Command::DeleteRange),
        6 => checked().prop_map(Command::Txn),
        1 => revision().prop_map(|at| Command::Compact { at }),
        2 => (1..4_i64, 0..9_i64).prop_map(|(id, ttl_seconds)| {
            Command::LeaseGrant { id: LeaseId(id), ttl_seconds }
        }),
        1 => (1..4_i64).prop_map(|id| Command::LeaseRevoke { id: LeaseId(id) }),
    ]
}

fn selector() -> impl Strategy<Value = WatchSelector> {
    (keys(), any::<bool>(), any::<bool>(), previous()).prop_map(
        |(keys, no_put, no_delete, previous)| WatchSelector {
            keys,
            filters: Filters { no_put, no_delete },
            previous,
        },
    )
}

/// Reads everything from a revision on in batches of one event.
fn watch(machine: &Machine, selector: &WatchSelector, from: Revision) -> Vec<lockstep_mvcc::Event> {
    let budget = Budget {
        events_max: 1,
        changes_max: 2,
        bytes_max: usize::MAX,
    };
    let (mut events, mut next) = (Vec::new(), from);
    while next <= machine.revision() {
        let batch = machine.events(selector, next, budget).unwrap();
        let inside =
            |event: &lockstep_mvcc::Event| (next..batch.next).contains(&event.kv.mod_revision);
        assert!(batch.events.iter().all(inside), "{batch:?} from {next}");
        events.extend(batch.events);
        next = batch.next;
    }
    events
}

/// Writes of one operation with the branches it stands in: two writes exclude each other if they
/// stand in different branches of one transaction.
fn writes<'t>(
    ops: &'t [Op],
    branches: &[(*const Txn, bool)],
    into: &mut Vec<(&'t Op, Vec<(*const Txn, bool)>)>,
) {
    for op in ops {
        match op {
            Op::Range(_) => {}
            Op::Put(_) | Op::DeleteRange(_) => into.push((op, branches.to_vec())),
            Op::Txn(txn) => {
                for (branch, ops) in [(true, &txn.success), (false, &txn.failure)] {
                    let mut inner = branches.to_vec();
                    inner.push((std::ptr::from_ref(txn), branch));
                    writes(ops, &inner, into);
                }
            }
        }
    }
}

fn changes_a_key_twice(ops: &[Op]) -> bool {
    let mut all = Vec::new();
    writes(ops, &[], &mut all);
    let clash = |one: &Op, other: &Op| match (one, other) {
        (Op::Put(one), Op::Put(other)) => one.key == other.key,
        (Op::Put(put), Op::DeleteRange(delete)) | (Op::DeleteRange(delete), Op::Put(put)) => {
            delete.keys.contains(put.key.bytes())
        }
        _ => false,
    };
    all.iter().enumerate().any(|(at, (one, branches))| {
        all[at + 1..].iter().any(|(other, others)| {
            let excluded = branches
                .iter()
                .any(|(txn, branch)| others.contains(&(*txn, !branch)));
            !excluded && clash(one, other)
        })
    })
}

fn place(kv: &KeyValue) -> (Revision, u32) {
    (kv.mod_revision, kv.sub_revision)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_machine_answers_like_a_plain_map(
        steps in vec((command(), range(), selector(), revision(), 0..4_usize), 1..COMMANDS_MAX),
    ) {
        let (mut machine, mut model) = (Machine::default(), Model::default());
        for (command, range, selector, from, sweep) in steps {
            let expected = model.apply(&command);
            let applied = machine.apply(command);
            prop_assert_eq!(applied.response, expected);
            prop_assert_eq!(applied.revision, model.revision());
            machine.sweep(sweep);
            prop_assert_eq!(machine.range(&range), model.range(&range));
            let everything = Range { at: Some(model.compacted), ..Range::new(KeyRange::all()) };
            if model.compacted > Revision::NONE {
                prop_assert_eq!(machine.range(&everything), model.range(&everything));
            }
            if from < model.compacted {
                let budget = Budget { events_max: 1, changes_max: 1, bytes_max: 1 };
                let compacted = model.compacted;
                let refused = machine.events(&selector, from, budget);
                prop_assert_eq!(refused, Err(WatchCompacted { compacted }));
            } else {
                prop_assert_eq!(watch(&machine, &selector, from), model.events(&selector, from));
            }
            for (id, ttl_seconds) in &model.leases {
                let lease = machine.lease(*id).unwrap();
                prop_assert_eq!(lease.ttl_seconds(), *ttl_seconds);
                prop_assert_eq!(lease.keys().collect::<Vec<_>>(), model.keys_of(*id));
            }
            prop_assert_eq!(machine.leases().len(), model.leases.len());
        }
    }

    #[test]
    fn the_same_commands_give_the_same_bytes_whenever_members_sweep_or_restart(
        steps in vec((command(), 0..9_usize, 0..8_u8), 1..COMMANDS_MAX),
    ) {
        let (mut one, mut other) = (Machine::default(), Machine::default());
        for (command, sweep, restart) in steps {
            let expected = one.apply(command.clone());
            prop_assert_eq!(other.apply(command), expected);
            other.sweep(sweep);
            if restart == 0 {
                other = Machine::decode(&other.encode()).unwrap();
            }
        }
        prop_assert_eq!(one.encode(), other.encode());
        prop_assert_eq!(one.hash_at(one.revision()), other.hash_at(other.revision()));
    }

    #[test]
    fn a_copy_of_each_version_that_follows_the_sweeps_is_the_state(
        steps in vec((command(), 0..9_usize), 1..COMMANDS_MAX),
    ) {
        let mut machine = Machine::default();
        let mut copy = BTreeMap::new();
        for (command, sweep) in steps {
            if let Effect::Changed { revision } | Effect::LeaseRevoked { changed: Some(revision), .. } =
                machine.apply(command).effect
            {
                copy.extend(machine.changes(revision).map(|kv| (place(kv), KeyValue::clone(kv))));
            }
            machine.sweep_reporting(sweep, |kv| { copy.remove(&place(kv)); });
        }
        machine.sweep_reporting(usize::MAX, |kv| { copy.remove(&place(kv)); });
        let mut restore = Restore::begin(machine.revision(), machine.compacted()).unwrap();
        for (id, lease) in machine.leases() {
            restore.lease(id, lease.ttl_seconds()).unwrap();
        }
        for kv in copy.into_values() {
            if kv.mod_revision < machine.compacted() {
                restore.retained(kv).unwrap();
            } else {
                restore.change(kv).unwrap();
            }
        }
        prop_assert_eq!(restore.finish().encode(), machine.encode());
    }

    #[test]
    fn a_transaction_is_refused_exactly_if_a_branch_may_change_a_key_twice(txn in txn()) {
        let twice = changes_a_key_twice(&txn.success) || changes_a_key_twice(&txn.failure);
        let expected = if twice { Some(RequestError::DuplicateKey) } else { None };
        prop_assert_eq!(txn.check(128).err(), expected);
    }

    #[test]
    fn any_bytes_decode_or_are_refused(bytes in vec(any::<u8>(), 0..200)) {
        prop_assert!(Machine::decode(&bytes).is_err(), "no random bytes have a right checksum");
    }
}

#[test]
fn a_transaction_nested_too_deeply_is_refused_whatever_the_budget() {
    let nested = |depth: usize| {
        let innermost = Txn::default();
        (0..depth).fold(innermost, |txn, _| Txn {
            success: vec![Op::Txn(txn)],
            ..Txn::default()
        })
    };
    let depth_max = lockstep_mvcc::TXN_DEPTH_MAX;
    assert_eq!(nested(depth_max).check(usize::MAX).err(), None);
    let refused = nested(depth_max + 1).check(usize::MAX).err();
    assert_eq!(refused, Some(RequestError::TooManyOps));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_command_comes_back_from_its_bytes(command in command()) {
        let mut bytes = Vec::new();
        command.encode(&mut bytes);
        prop_assert_eq!(Command::decode(&bytes), Ok(command));
    }

    #[test]
    fn no_bytes_make_decoding_or_applying_a_command_panic(
        command in command(),
        flips in vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = Vec::new();
        command.encode(&mut bytes);
        let shorter = &bytes[..cut.index(bytes.len())];
        prop_assert!(Command::decode(shorter).is_err(), "a cut command is refused");
        for (at, byte) in flips {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Ok(command) = Command::decode(&bytes) {
            let mut machine = Machine::default();
            machine.apply(command.clone());
            let mut again = Vec::new();
            command.encode(&mut again);
            prop_assert_eq!(Command::decode(&again), Ok(command));
        }
    }
}
