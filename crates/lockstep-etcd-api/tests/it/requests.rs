//! etcd-api.md §2: what the fields of a request mean.

use bytes::Bytes;
use lockstep_etcd_api::EtcdError;
use lockstep_etcd_api::etcdserverpb as pb;
use lockstep_etcd_api::request::{
    delete_from_wire, delete_to_wire, put_from_wire, put_to_wire, range_from_wire, range_to_wire,
    txn_from_wire, txn_to_wire,
};
use lockstep_mvcc::{
    Bounds, Compare, Comparison, Content, DeleteRange, Key, KeyRange, LeaseId, Op, Predicate,
    Previous, Put, PutLease, PutValue, Range, RequestError, Revision, Sort, SortOrder, SortTarget,
    Txn, WriteError,
};

fn range(change: impl FnOnce(&mut pb::RangeRequest)) -> Result<Range, EtcdError> {
    let mut wire = pb::RangeRequest {
        key: "k".into(),
        ..pb::RangeRequest::default()
    };
    change(&mut wire);
    range_from_wire(wire)
}

fn one_key() -> Range {
    Range::new(KeyRange::single(Key::new("k").expect("not empty")))
}

#[test]
fn a_range_names_its_keys_as_the_rows_say() {
    let keys = |key: &'static [u8], range_end: &'static [u8]| {
        let asked = range(|wire| {
            wire.key = Bytes::from_static(key);
            wire.range_end = Bytes::from_static(range_end);
        });
        asked.map(|range| range.keys)
    };
    assert_eq!(keys(b"", b"z"), Err(RequestError::EmptyKey.into()));
    assert_eq!(
        keys(b"a", b""),
        Ok(KeyRange::single(Key::new("a").unwrap()))
    );
    assert_eq!(keys(b"a", b"\0"), Ok(KeyRange::from("a")));
    assert_eq!(keys(b"a", b"b"), Ok(KeyRange::between("a", "b")));
    assert_eq!(keys(b"b", b"a"), Ok(KeyRange::between("b", "a")));
}

#[test]
fn numbers_at_and_below_zero_ask_for_the_whole_and_the_present() {
    for number in [0, -1, i64::MIN] {
        let asked = range(|wire| {
            wire.limit = number;
            wire.revision = number;
        });
        assert_eq!(asked, Ok(one_key()), "{number}");
    }
    let asked = range(|wire| {
        wire.limit = 500;
        wire.revision = 7;
    });
    let expected = Range {
        limit: 500,
        at: Some(Revision(7)),
        ..one_key()
    };
    assert_eq!(asked, Ok(expected));
}

#[test]
fn an_order_that_does_not_exist_is_refused() {
    let sort = |order, target| {
        range(|wire| {
            wire.sort_order = order;
            wire.sort_target = target;
        })
    };
    assert_eq!(sort(3, 0), Err(EtcdError::InvalidSortOption));
    assert_eq!(sort(-1, 0), Err(EtcdError::InvalidSortOption));
    assert_eq!(sort(0, 5), Err(EtcdError::InvalidSortOption));
    assert_eq!(sort(0, 0), Ok(one_key()));
}

#[test]
fn a_target_without_an_order_ascends() {
    let asked = range(|wire| wire.sort_target = 3).map(|range| range.sort);
    let sort = Sort {
        target: SortTarget::ModRevision,
        order: SortOrder::Ascend,
    };
    assert_eq!(asked, Ok(Some(sort)));
}

#[test]
fn counting_wins_over_keys_only() {
    let content = |keys_only, count_only| {
        let asked = range(|wire| {
            wire.keys_only = keys_only;
            wire.count_only = count_only;
        });
        asked.map(|range| range.content)
    };
    assert_eq!(content(true, false), Ok(Content::KeysOnly));
    assert_eq!(content(true, true), Ok(Content::CountOnly));
    assert_eq!(content(false, false), Ok(Content::Full));
}

#[test]
fn zero_bounds_nothing_and_nothing_is_below_a_negative_maximum() {
    let bounds = |min, max| {
        let asked = range(|wire| {
            wire.min_mod_revision = min;
            wire.max_mod_revision = max;
        });
        asked.map(|range| range.mod_revisions)
    };
    let between = |min, max| {
        Ok(Bounds {
            min: Revision(min),
            max: Revision(max),
        })
    };
    assert_eq!(bounds(0, 0), between(0, 0));
    assert_eq!(bounds(3, 9), between(3, 9));
    assert_eq!(bounds(-3, 9), between(0, 9));
    assert_eq!(bounds(0, -1), between(u64::MAX, 0));
}

#[test]
fn a_put_that_keeps_brings_nothing() {
    let put = |change: fn(&mut pb::PutRequest)| {
        let mut wire = pb::PutRequest {
            key: "k".into(),
            ..pb::PutRequest::default()
        };
        change(&mut wire);
        put_from_wire(&wire)
    };
    let value = put(|wire| {
        wire.value = "v".into();
        wire.ignore_value = true;
    });
    assert_eq!(value, Err(RequestError::ValueProvided.into()));
    let lease = put(|wire| {
        wire.lease = 5;
        wire.ignore_lease = true;
    });
    assert_eq!(lease, Err(RequestError::LeaseProvided.into()));
    let no_key = put(|wire| wire.key = Bytes::new());
    assert_eq!(no_key, Err(RequestError::EmptyKey.into()));
}

#[test]
fn a_stored_value_does_not_hold_on_to_the_network_buffer() {
    let buffer = Bytes::from(vec![b'x'; 1 << 16]);
    let wire = pb::PutRequest {
        key: buffer.slice(..1),
        value: buffer.slice(1..3),
        ..pb::PutRequest::default()
    };
    let put = put_from_wire(&wire).unwrap();
    drop(wire);
    assert!(buffer.is_unique(), "{put:?}");
}

#[test]
fn a_transaction_with_an_empty_operation_or_an_unknown_compare_is_refused() {
    let empty_op = pb::TxnRequest {
        success: vec![pb::RequestOp { request: None }],
        ..pb::TxnRequest::default()
    };
    assert_eq!(txn_from_wire(empty_op), Err(WriteError::KeyNotFound.into()));
    for (result, target) in [(4, 0), (0, 5), (-1, 0)] {
        let compare = pb::Compare {
            result,
            target,
            key: "k".into(),
            ..pb::Compare::default()
        };
        let wire = pb::TxnRequest {
            compare: vec![compare],
            ..pb::TxnRequest::default()
        };
        assert_eq!(txn_from_wire(wire), Err(EtcdError::InvalidCompareOption));
    }
}

#[test]
fn the_given_side_of_another_target_counts_as_zero() {
    let compare = pb::Compare {
        target: pb::compare::CompareTarget::Mod.into(),
        key: "k".into(),
        target_union: Some(pb::compare::TargetUnion::Version(9)),
        ..pb::Compare::default()
    };
    let wire = pb::TxnRequest {
        compare: vec![compare],
        ..pb::TxnRequest::default()
    };
    let compares = txn_from_wire(wire).unwrap().compares;
    let expected = Compare {
        keys: KeyRange::single(Key::new("k").unwrap()),
        comparison: Comparison::Equal,
        predicate: Predicate::ModRevision(0),
    };
    assert_eq!(compares, [expected]);
}

#[test]
fn what_a_client_writes_a_server_reads() {
    let key = |key: &'static str| KeyRange::single(Key::new(key).unwrap());
    let range = Range {
        keys: KeyRange::prefix("p/"),
        at: Some(Revision(4)),
        limit: 3,
        sort: Some(Sort {
            target: SortTarget::Value,
            order: SortOrder::Descend,
        }),
        content: Content::KeysOnly,
        mod_revisions: Bounds {
            min: Revision(1),
            max: Revision(2),
        },
        create_revisions: Bounds {
            min: Revision(3),
            max: Revision(4),
        },
    };
    assert_eq!(range_from_wire(range_to_wire(&range)), Ok(range.clone()));
    let puts = [
        Put::new(Key::new("a").unwrap(), "1"),
        Put {
            key: Key::new("b").unwrap(),
            value: PutValue::Keep,
            lease: PutLease::Set(LeaseId(7)),
            previous: Previous::Return,
        },
        Put {
            key: Key::new("c").unwrap(),
            value: PutValue::Set("3".into()),
            lease: PutLease::Keep,
            previous: Previous::Omit,
        },
    ];
    for put in &puts {
        assert_eq!(put_from_wire(&put_to_wire(put)), Ok(put.clone()));
    }
    let delete = DeleteRange {
        keys: KeyRange::from("q"),
        previous: Previous::Return,
    };
    assert_eq!(
        delete_from_wire(delete_to_wire(&delete)),
        Ok(delete.clone())
    );
    let compare = |comparison, predicate| Compare {
        keys: key("k"),
        comparison,
        predicate,
    };
    let txn = Txn {
        compares: vec![
            compare(Comparison::Equal, Predicate::Version(-1)),
            compare(Comparison::NotEqual, Predicate::CreateRevision(2)),
            compare(Comparison::Greater, Predicate::ModRevision(3)),
            compare(Comparison::Less, Predicate::Value("v".into())),
            compare(Comparison::Equal, Predicate::Lease(LeaseId(5))),
        ],
        success: puts.into_iter().map(Op::Put).collect(),
        failure: vec![
            Op::Range(range),
            Op::Txn(Txn {
                success: vec![Op::DeleteRange(delete)],
                ..Txn::default()
            }),
        ],
    };
    assert_eq!(txn_from_wire(txn_to_wire(&txn)), Ok(txn));
}
