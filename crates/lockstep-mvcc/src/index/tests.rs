//! The index against a sorted map.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::*;

fn version(key: &Bytes, mod_revision: u64, version: u64) -> Arc<KeyValue> {
    Arc::new(KeyValue {
        key: key.clone(),
        mod_revision: Revision(mod_revision),
        version,
        ..KeyValue::default()
    })
}

/// A walk over all residues, in an order that is neither ascending nor descending.
fn shuffled(count: u64) -> impl Iterator<Item = Bytes> {
    const STEP: u64 = 7919;
    (0..count).map(move |nth| Bytes::from(format!("k{:06}", nth * STEP % count)))
}

fn put(index: &mut Index, key: &Bytes, version: Arc<KeyValue>) {
    match index.find(key) {
        Ok(place) => index.change(place, |record| record.push(version)),
        Err(place) => index.insert(place, Record::new(version)),
    }
}

fn check(index: &Index, model: &BTreeMap<Bytes, bool>) {
    let all: Vec<_> = index.range(&KeyRange::all()).map(Record::key).collect();
    assert_eq!(all, model.keys().collect::<Vec<_>>());
    let ends = ["k000000", "k000005", "k001000", "k001999", "k003", "l"];
    for start in ends {
        for end in ends {
            let keys = KeyRange::between(start, end);
            let live = |(key, live): &(&Bytes, &bool)| **live && keys.contains(key);
            let expected = model.iter().filter(live).count();
            assert_eq!(index.count_live(&keys), expected, "{start}..{end}");
            let backwards: Vec<_> = index.range(&keys).rev().map(Record::key).collect();
            let inside = model.keys().filter(|key| keys.contains(key));
            assert_eq!(backwards, inside.rev().collect::<Vec<_>>());
        }
    }
}

#[test]
fn records_stay_in_order_and_counted_while_keys_come_and_go() {
    const KEYS: u64 = 4000;
    let (mut index, mut model) = (Index::default(), BTreeMap::new());
    for key in shuffled(KEYS) {
        put(&mut index, &key, version(&key, 2, 1));
        model.insert(key, true);
    }
    check(&index, &model);
    for key in shuffled(KEYS).step_by(3) {
        put(&mut index, &key, version(&key, 3, 0));
        model.insert(key, false);
    }
    check(&index, &model);
    for key in shuffled(KEYS) {
        index.prune(&key, Revision(3), &mut |_| {});
    }
    model.retain(|_, live| *live);
    check(&index, &model);
    for key in shuffled(KEYS).skip(10) {
        if let Ok(place) = index.find(&key) {
            index.remove(place);
            model.remove(&key);
        }
    }
    check(&index, &model);
    assert!(index.chunks.len() < 4, "small chunks join");
}

#[test]
fn keys_in_ascending_order_fill_their_chunks() {
    let mut index = Index::default();
    for nth in 0..100_000 {
        let key = Bytes::from(format!("k{nth:06}"));
        put(&mut index, &key, version(&key, 2, 1));
    }
    assert_eq!(index.count_live(&KeyRange::all()), 100_000);
    assert_eq!(index.chunks.len(), 100_000_usize.div_ceil(CHUNK_MAX));
}

#[test]
fn a_record_keeps_what_a_compacted_store_can_still_see() {
    let key = Bytes::from_static(b"k");
    let mut record = Record::new(version(&key, 2, 1));
    for (revision, number) in [(3, 2), (4, 0), (5, 1), (7, 2)] {
        record.push(version(&key, revision, number));
    }
    let seen = |record: &Record| -> Vec<Option<u64>> {
        let at = |at| record.live_at(Revision(at)).map(|kv| kv.mod_revision.0);
        (1..=8).map(at).collect()
    };
    let all = [
        None,
        Some(2),
        Some(3),
        None,
        Some(5),
        Some(5),
        Some(7),
        Some(7),
    ];
    assert_eq!(seen(&record), all);
    let mut pruned = record.clone();
    pruned.prune(Revision(3), &mut |_| {});
    assert_eq!(seen(&pruned)[2..], all[2..]);
    assert_eq!(pruned.older.len(), 3);
    pruned.prune(Revision(4), &mut |_| {});
    assert_eq!(seen(&pruned)[3..], all[3..]);
    assert_eq!(pruned.older.len(), 1, "the tombstone goes too");
    pruned.prune(Revision(8), &mut |_| {});
    assert_eq!(seen(&pruned)[6..], all[6..]);
    assert_eq!(pruned.older.len(), 0);
}
