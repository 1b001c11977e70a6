//! Golden bytes of commands.

use crate::{
    Alarm, AlarmKind, Command, Compare, Comparison, DeleteRange, Key, KeyRange, LeaseId, MemberId,
    Op, Predicate, Put, PutLease, PutValue, Range, Revision, Txn,
};

fn hex(command: &Command) -> String {
    let mut bytes = Vec::new();
    command.encode(&mut bytes);
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn known_commands_have_these_bytes_for_ever() {
    let key = || Key::new("k").unwrap();
    let keep = Put {
        value: PutValue::Keep,
        lease: PutLease::Keep,
        ..Put::new(key(), "")
    };
    let txn = Txn {
        compares: vec![Compare {
            keys: KeyRange::between("a", "b"),
            comparison: Comparison::Greater,
            predicate: Predicate::ModRevision(5),
        }],
        success: vec![Op::Put(Put::new(key(), "v")), Op::Txn(Txn::default())],
        failure: vec![Op::Range(Range::new(KeyRange::from("k")))],
    };
    let (id, ttl_seconds, at) = (LeaseId(7), 60, Revision(9));
    for (command, expected) in [
        (Command::Put(keep), "70010000006b6b6b00"),
        (
            Command::DeleteRange(DeleteRange::new(KeyRange::single(key()))),
            "64010000006b0000000000",
        ),
        (
            Command::Txn(txn.check(128).unwrap()),
            "7401000000\
             01000000610100000062026d0500000000000000\
             02000000\
             70010000006b3d01000000763d000000000000000000\
             74000000000000000000000000\
             01000000\
             72010000006b010000000000000000000000000000000000000000000000\
             0000000000000000000000000000000000000000000000000000000000000000",
        ),
        (Command::Compact { at }, "630900000000000000"),
        (
            Command::LeaseGrant { id, ttl_seconds },
            "6707000000000000003c00000000000000",
        ),
        (Command::LeaseRevoke { id }, "720700000000000000"),
        (
            Command::Alarm {
                alarm: Alarm {
                    member: MemberId(7),
                    kind: AlarmKind::NoSpace,
                },
                is_raised: true,
            },
            "6101070000000000000001",
        ),
    ] {
        assert_eq!(hex(&command), expected);
    }
}
