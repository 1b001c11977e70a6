//! Compaction.

use lockstep_mvcc::{Range, ReadError, Revision, WriteError};

use super::Subject;
use crate::{ReadFailure, WriteFailure, next_page};

fn at(subject: &Subject, revision: Revision) -> Range {
    Range {
        at: Some(revision),
        ..Range::new(subject.all())
    }
}

pub(super) async fn the_compacted_revision_itself_stays_readable(subject: Subject) {
    let first = subject.put("k", "1").await;
    let compacted = subject.put("k", "2").await;
    let last = subject.delete("k").await;
    subject.compact(compacted).await;
    let refused = subject.range(at(&subject, first)).await;
    assert_eq!(
        refused,
        Err(ReadFailure::Refused(ReadError::Compacted { compacted }))
    );
    let kept = subject.read(at(&subject, compacted)).await;
    assert_eq!(subject.pairs(&kept), ["k=2"]);
    assert_eq!(
        subject.pairs(&subject.read(at(&subject, last)).await),
        [""; 0]
    );
    assert_eq!(subject.list().await, [""; 0]);
}

pub(super) async fn compacting_twice_or_in_the_future_is_refused(subject: Subject) {
    subject.put("k", "1").await;
    let compacted = subject.put("k", "2").await;
    subject.compact(compacted).await;
    let again = subject.store().compact(compacted).await;
    let refused = WriteError::Read(ReadError::Compacted { compacted });
    assert_eq!(again, Err(WriteFailure::Refused(refused)));
    let future = subject
        .store()
        .compact(Revision(compacted.0 + 1_000_000))
        .await;
    let is_future = matches!(
        future,
        Err(WriteFailure::Refused(WriteError::Read(
            ReadError::FutureRevision { .. }
        )))
    );
    assert!(is_future, "{future:?}");
}

pub(super) async fn a_page_older_than_the_compaction_is_refused(subject: Subject) {
    subject.put("a", "v").await;
    subject.put("b", "v").await;
    let range = Range {
        limit: 1,
        ..Range::new(subject.all())
    };
    let first = subject.read(range.clone()).await;
    let compacted = subject.put("c", "v").await;
    subject.compact(compacted).await;
    let next = next_page(&range, &first, first.revision).expect("there is more");
    let refused = subject.range(next.clone()).await;
    assert_eq!(
        refused,
        Err(ReadFailure::Refused(ReadError::Compacted { compacted }))
    );
    // Without a revision the list continues from its key, though no longer as of the first page's revision.
    let onward = subject.read(Range { at: None, ..next }).await;
    assert_eq!(subject.names(&onward), ["b"]);
}
