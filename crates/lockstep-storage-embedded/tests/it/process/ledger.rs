//! Checks the data directory against the lines that the children wrote.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use lockstep_mvcc::{KeyRange, KeyValue, LeaseId, Machine, Range, Revision};
use lockstep_storage_embedded::Inspection;

use super::child::{TTL_SECONDS, WRITERS, key, value};

/// Known facts about a directory.
#[derive(Default)]
pub(super) struct Ledger {
    writers: BTreeMap<u64, Writer>,
    /// Every revision that was acknowledged.
    revisions: BTreeSet<Revision>,
    /// The newest revision that any reader was shown.
    newest: Revision,
    /// The greatest compaction that was acknowledged, and that was requested.
    compacted: Revision,
    compaction_asked: Revision,
    leases: BTreeMap<i64, LeaseFate>,
    /// Number of grants without a reply, whose lease ids are unknown.
    grants_in_doubt: usize,
}

#[derive(Default)]
struct Writer {
    asked: u64,
    acknowledged: u64,
    revision: Revision,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum LeaseFate {
    Granted,
    /// A revocation was requested and not acknowledged.
    Doubtful,
    Revoked,
}

impl Ledger {
    pub(super) fn acknowledged(&self) -> usize {
        self.revisions.len()
    }

    /// Records a line of a child.
    pub(super) fn note(&mut self, line: &str) {
        let (what, rest) = line.split_once(' ').unwrap();
        let number = |nth: usize| -> u64 { rest.split(' ').nth(nth).unwrap().parse().unwrap() };
        match what {
            "opened" => {
                self.grants_in_doubt = 0;
                self.show(Revision(number(0)));
            }
            "refused" => panic!("a child could not open the folder: {rest}"),
            "write?" => self.writer(number(0)).asked = number(1),
            "write!" => {
                let (nth, revision) = (number(1), Revision(number(2)));
                let is_new = self.revisions.insert(revision);
                assert!(is_new, "revision {revision} was acknowledged twice");
                let writer = self.writer(number(0));
                assert!(revision > writer.revision, "revisions of one writer grow");
                (writer.acknowledged, writer.revision) = (nth, revision);
                self.newest = self.newest.max(revision);
            }
            "compact?" => self.compaction_asked = self.compaction_asked.max(Revision(number(1))),
            "compact!" => self.compacted = self.compacted.max(Revision(number(1))),
            "compact-" => {}
            "grant?" => self.grants_in_doubt += 1,
            "grant!" => {
                self.grants_in_doubt -= 1;
                self.fate(number(1), LeaseFate::Granted);
            }
            "revoke?" => self.fate(number(1), LeaseFate::Doubtful),
            "revoke!" => self.fate(number(1), LeaseFate::Revoked),
            _ => panic!("a child said `{line}`"),
        }
    }

    fn writer(&mut self, writer: u64) -> &mut Writer {
        self.writers.entry(writer).or_default()
    }

    fn fate(&mut self, id: u64, fate: LeaseFate) {
        let before = self.leases.insert(i64::try_from(id).unwrap(), fate);
        let is_new = before.is_none();
        assert_eq!(is_new, fate == LeaseFate::Granted, "lease {id}: {before:?}");
    }

    fn show(&mut self, revision: Revision) {
        assert!(
            revision >= self.newest,
            "the store went back from revision {} to {revision}",
            self.newest
        );
        self.newest = revision;
    }

    /// Verifies the directory that a killed child left.
    pub(super) fn check(&mut self, folder: &Path, what: &str) {
        let inspection = Inspection::of(folder).unwrap_or_else(|error| panic!("{what}: {error}"));
        let Some(machine) = inspection.machine else {
            panic!("{what}: {:?}", inspection.findings);
        };
        self.show(machine.revision());
        for writer in 0..WRITERS {
            self.check_writer(&machine, writer, what);
        }
        let compacted = machine.compacted();
        assert!(
            compacted >= self.compacted && compacted <= self.compaction_asked,
            "{what}: compacted at {compacted}, acknowledged {}",
            self.compacted
        );
        self.compacted = compacted;
        self.check_leases(&machine, what);
    }

    fn check_writer(&mut self, machine: &Machine, writer: u64, what: &str) {
        let what = format!("{what}, writer {writer}");
        let known = self.writer(writer);
        let found = ["nth", "a", "b"].map(|name| pair(machine, writer, name));
        let Some(last) = &found[0] else {
            assert_eq!(known.acknowledged, 0, "{what}: everything is gone");
            return;
        };
        let nth = String::from_utf8_lossy(&last.value).parse().unwrap();
        assert!(
            nth == known.acknowledged || nth == known.asked,
            "{what}: write {nth}, acknowledged {}, asked {}",
            known.acknowledged,
            known.asked
        );
        if nth == known.acknowledged {
            assert_eq!(last.mod_revision, known.revision, "{what}");
        }
        for kv in &found[1..] {
            let is = kv.as_ref().map(|kv| (kv.mod_revision, kv.value.to_vec()));
            let should = value(nth).map(|value| (last.mod_revision, value));
            assert_eq!(is, should, "{what}: the keys of one transaction");
        }
        // Acknowledged or not, the write is visible now, so it must stay.
        (known.acknowledged, known.asked, known.revision) = (nth, nth, last.mod_revision);
    }

    fn check_leases(&mut self, machine: &Machine, what: &str) {
        let mut unknown = 0;
        for (id, lease) in machine.leases() {
            assert_eq!(lease.ttl_seconds(), TTL_SECONDS, "{what}: lease {id}");
            let fate = self.leases.get(&id.0);
            assert_ne!(
                fate,
                Some(&LeaseFate::Revoked),
                "{what}: lease {id} is back"
            );
            unknown += usize::from(fate.is_none());
            self.leases.insert(id.0, LeaseFate::Granted);
        }
        assert!(unknown <= self.grants_in_doubt, "{what}: {unknown} leases");
        for (id, fate) in &mut self.leases {
            let is_there = machine.lease(LeaseId(*id)).is_some();
            assert!(
                is_there || *fate != LeaseFate::Granted,
                "{what}: lease {id} is lost"
            );
            if !is_there {
                *fate = LeaseFate::Revoked;
            }
        }
    }
}

fn pair(machine: &Machine, writer: u64, name: &str) -> Option<KeyValue> {
    let range = Range::new(KeyRange::single(key(writer, name)));
    let found = machine.range(&range).unwrap().kvs.into_iter().next();
    found.map(|kv| (*kv).clone())
}

/// Self-test: each of these children reports something that is not in the store.
mod tests {
    use super::*;
    use crate::rng::fast_folder;
    use lockstep_storage_embedded::{EmbeddedStore, Options};

    /// Checks an empty store against the lines of a child.
    fn check(lines: &[&str]) {
        let folder = fast_folder();
        let options = Options {
            segment_bytes: 4096,
            ..Options::default()
        };
        drop(EmbeddedStore::open(folder.path(), &options).unwrap());
        let mut ledger = Ledger::default();
        for line in lines {
            ledger.note(line);
        }
        ledger.check(folder.path(), "a child");
    }

    #[test]
    fn a_child_that_was_told_nothing_is_right() {
        check(&["opened 1", "write? 0 1", "grant? 1 0", "compact? 2 0"]);
    }

    #[test]
    #[should_panic(expected = "the store went back from revision 2 to 1")]
    fn a_lost_write_is_noticed() {
        check(&["opened 1", "write? 0 1", "write! 0 1 2"]);
    }

    #[test]
    #[should_panic(expected = "writer 0: everything is gone")]
    fn a_write_that_was_never_applied_is_noticed() {
        check(&["opened 1", "write? 0 1", "write! 0 1 1"]);
    }

    #[test]
    #[should_panic(expected = "revision 2 was acknowledged twice")]
    fn a_repeated_revision_is_noticed() {
        check(&["write? 0 1", "write! 0 1 2", "write? 1 1", "write! 1 1 2"]);
    }

    #[test]
    #[should_panic(expected = "lease 7 is lost")]
    fn a_lost_lease_is_noticed() {
        check(&["opened 1", "grant? 0 0", "grant! 0 7"]);
    }

    #[test]
    #[should_panic(expected = "compacted at 0, acknowledged 1")]
    fn a_lost_compaction_is_noticed() {
        check(&["opened 1", "compact? 0 1", "compact! 0 1"]);
    }

    #[test]
    #[should_panic(expected = "a child could not open the folder: it is damaged")]
    fn a_child_that_cannot_start_is_noticed() {
        check(&["refused it is damaged"]);
    }
}
