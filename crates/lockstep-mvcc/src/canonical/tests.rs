//! Golden bytes of one state, and decoding of damaged bytes.

use super::*;
use crate::{Command, DeleteRange, Key, KeyRange, LeaseId, Put, PutLease, Sweep};

fn put(key: &'static str, value: &'static str, lease: i64) -> Command {
    let mut put = Put::new(Key::new(key).unwrap(), value);
    put.lease = PutLease::Set(LeaseId(lease));
    Command::Put(put)
}

/// Two live keys, a deleted one, a lease, and a compaction at a delete.
fn sample() -> Machine {
    let mut machine = Machine::default();
    let gone = KeyRange::single(Key::new("gone").unwrap());
    let id = LeaseId(7);
    let at = Revision(5);
    for command in [
        Command::LeaseGrant {
            id,
            ttl_seconds: 60,
        },
        put("a", "1", 0),
        put("gone", "x", 0),
        put("a", "2", 7),
        Command::DeleteRange(DeleteRange::new(gone)),
        put("b", "3", 0),
        put("a", "4", 7),
        Command::Compact { at },
    ] {
        assert_eq!(machine.apply(command).response.err(), None);
    }
    machine
}

const GOLDEN: &str = "\
    6c6f636b6d76636301000000070000000000000005000000000000006c07000000000000003c000000000000006b\
    0100000061010000003202000000000000000400000000000000000000000200000000000000070000000000000063\
    04000000676f6e6500000000000000000000000005000000000000000000000000000000000000000000000000000000\
    6301000000620100000033060000000000000006000000000000000000000001000000000000000000000000000000\
    63010000006101000000340200000000000000070000000000000000000000030000000000000007000000000000002e";

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn a_known_state_has_these_bytes_for_ever() {
    let bytes = sample().encode();
    let (body, checksum) = bytes.split_last_chunk::<CHECKSUM_BYTES>().unwrap();
    assert_eq!(hex(body), GOLDEN);
    assert_eq!(
        hex(checksum),
        "c7c12b5103d4e7ad8ba81de8314a295d04d739c6071794078d27ac6aba6401e4"
    );
    assert_eq!(
        sample().hash_at(Revision(6)).to_string(),
        "e72357096d72d384a9d317244f1776eaa0cd0b157f92015ffa64c8af216068b7"
    );
}

#[test]
fn bytes_give_the_state_back_and_do_not_depend_on_sweeping() {
    let unswept = sample();
    let mut swept = sample();
    assert_eq!(swept.sweep(1), Sweep::More);
    assert_eq!(swept.encode(), unswept.encode());
    assert_eq!(swept.sweep(100), Sweep::Done);
    assert_eq!(swept.encode(), unswept.encode());
    let decoded = Machine::decode(&swept.encode()).unwrap();
    assert_eq!(decoded.encode(), unswept.encode());
    let id = LeaseId(7);
    assert_eq!(decoded.lease(id), unswept.lease(id));
}

#[test]
fn a_digest_of_a_revision_does_not_change_while_the_store_goes_on() {
    let mut machine = sample();
    let before = machine.hash_at(Revision(6));
    machine.apply(put("c", "5", 0));
    assert_eq!(machine.hash_at(Revision(6)), before);
    assert_ne!(machine.hash_at(Revision(8)), before);
}

#[test]
fn no_flipped_bit_and_no_cut_is_accepted() {
    let bytes = sample().encode();
    for at in 0..bytes.len() {
        let mut flipped = bytes.clone();
        flipped[at] ^= 1;
        let expected = match at {
            0..8 => DecodeError::NotAState,
            8..12 => DecodeError::UnknownFormat {
                found: FORMAT ^ (1 << (8 * (at - 8))),
            },
            _ => DecodeError::Checksum,
        };
        assert_eq!(Machine::decode(&flipped).err(), Some(expected), "at {at}");
        let cut = Machine::decode(&bytes[..at]).err();
        assert!(matches!(
            cut,
            Some(DecodeError::NotAState | DecodeError::Checksum)
        ));
    }
}

#[test]
fn a_state_that_breaks_a_rule_is_refused_also_with_a_right_checksum() {
    let bytes = sample().encode();
    let (body, _) = bytes.split_last_chunk::<CHECKSUM_BYTES>().unwrap();
    let sealed = |body: &[u8]| {
        let mut bytes = body.to_vec();
        bytes.extend_from_slice(&Sha256::digest(body));
        Machine::decode(&bytes).err()
    };
    assert_eq!(sealed(body), None);
    let malformed = |offset, what| Some(DecodeError::Malformed(Malformed { offset, what }));
    assert_eq!(
        sealed(&body[..body.len() - 1]),
        malformed(body.len() - 1, "an entry is cut short")
    );
    assert_eq!(
        sealed(&[body, b"x"].concat()),
        malformed(body.len(), "bytes behind the end")
    );
    for at in 12..body.len() {
        let mut changed = body.to_vec();
        changed[at] ^= 0x80;
        // Decoding either fails or gives a state that encodes again; it never panics.
        let mut bytes = changed.clone();
        bytes.extend_from_slice(&Sha256::digest(&changed));
        if let Ok(machine) = Machine::decode(&bytes) {
            assert_eq!(hex(&machine.encode()), hex(&bytes), "at {at}");
        }
    }
}
