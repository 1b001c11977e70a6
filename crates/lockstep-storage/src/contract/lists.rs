//! Reading ranges.

use lockstep_mvcc::{Bounds, Content, KeyRange, Range, Sort, SortOrder, SortTarget};

use super::Subject;
use crate::next_page;

async fn fill(subject: &Subject, names: &[&str]) {
    for name in names {
        subject.put(name, "v").await;
    }
}

pub(super) async fn a_list_is_in_key_order_and_stays_in_its_range(subject: Subject) {
    fill(&subject, &["c", "a", "b/2", "b", "b/1"]).await;
    let list = |keys| subject.read(Range::new(keys));
    assert_eq!(
        subject.names(&list(subject.all()).await),
        ["a", "b", "b/1", "b/2", "c"]
    );
    let key = |name| subject.key(name).bytes().clone();
    let under = KeyRange::prefix(key("b/"));
    assert_eq!(subject.names(&list(under).await), ["b/1", "b/2"]);
    let between = KeyRange::between(key("b"), key("b/2"));
    assert_eq!(subject.names(&list(between).await), ["b", "b/1"]);
    let nothing = list(KeyRange::between(key("c"), key("a"))).await;
    assert_eq!(
        (nothing.kvs, nothing.count, nothing.more),
        (vec![], 0, false)
    );
}

pub(super) async fn a_limit_cuts_and_the_count_does_not_care(subject: Subject) {
    fill(&subject, &["a", "b", "c"]).await;
    for (limit, names, more) in [
        (0, vec!["a", "b", "c"], false),
        (1, vec!["a"], true),
        (2, vec!["a", "b"], true),
        (3, vec!["a", "b", "c"], false),
        (4, vec!["a", "b", "c"], false),
    ] {
        let range = Range {
            limit,
            ..Range::new(subject.all())
        };
        let answer = subject.read(range).await;
        assert_eq!(subject.names(&answer), names, "limit {limit}");
        assert_eq!((answer.more, answer.count), (more, 3), "limit {limit}");
    }
}

pub(super) async fn pages_show_the_state_of_the_first_page(subject: Subject) {
    fill(&subject, &["a", "b", "c", "d", "e"]).await;
    let mut range = Range {
        limit: 2,
        ..Range::new(subject.all())
    };
    let first = subject.read(range.clone()).await;
    let revision = first.revision;
    let (mut seen, mut counts) = (Vec::new(), Vec::new());
    let mut page = first;
    loop {
        seen.extend(subject.pairs(&page));
        counts.push(page.count);
        // Changes after the first page do not appear on later pages.
        subject.put("c", "changed").await;
        subject.put("bb", "new").await;
        subject.delete("e").await;
        let Some(next) = next_page(&range, &page, revision) else {
            break;
        };
        range = next;
        page = subject.read(range.clone()).await;
    }
    assert_eq!(seen, ["a=v", "b=v", "c=v", "d=v", "e=v"]);
    assert_eq!(counts, [5, 3, 1]);
}

pub(super) async fn a_count_needs_no_pairs(subject: Subject) {
    fill(&subject, &["a", "b", "c"]).await;
    subject.delete("b").await;
    let range = Range {
        content: Content::CountOnly,
        limit: 1,
        ..Range::new(subject.all())
    };
    let answer = subject.read(range).await;
    assert_eq!((answer.kvs, answer.more, answer.count), (vec![], false, 2));
}

pub(super) async fn keys_only_leaves_values_out(subject: Subject) {
    let revision = subject.put("a", "v").await;
    let range = Range {
        content: Content::KeysOnly,
        ..Range::new(subject.all())
    };
    let answer = subject.read(range).await;
    assert_eq!(subject.pairs(&answer), ["a="]);
    assert_eq!(answer.kvs[0].mod_revision, revision);
}

pub(super) async fn revision_bounds_do_not_change_the_count(subject: Subject) {
    subject.put("a", "v").await;
    let created = subject.put("b", "v").await;
    let updated = subject.put("a", "w").await;
    let bounded = |mod_revisions, create_revisions| Range {
        mod_revisions,
        create_revisions,
        ..Range::new(subject.all())
    };
    let off = Bounds::default();
    let from = |min| Bounds { min, ..off };
    let up_to = |max| Bounds { max, ..off };
    for (range, names) in [
        (bounded(from(updated), off), ["a"]),
        (bounded(up_to(created), off), ["b"]),
        (bounded(off, from(created)), ["b"]),
        (bounded(off, up_to(created.previous())), ["a"]),
    ] {
        let answer = subject.read(range).await;
        assert_eq!(subject.names(&answer), names);
        assert_eq!(answer.count, 2);
    }
}

pub(super) async fn an_order_is_applied_before_the_limit(subject: Subject) {
    for (name, value) in [("a", "2"), ("b", "3"), ("c", "1"), ("b", "3")] {
        subject.put(name, value).await;
    }
    let sorted = |target, order| Range {
        sort: Some(Sort { target, order }),
        limit: 2,
        ..Range::new(subject.all())
    };
    for (target, ascending, descending) in [
        (SortTarget::Key, ["a", "b"], ["c", "b"]),
        (SortTarget::Version, ["a", "c"], ["b", "a"]),
        (SortTarget::CreateRevision, ["a", "b"], ["c", "b"]),
        (SortTarget::ModRevision, ["a", "c"], ["b", "c"]),
        (SortTarget::Value, ["c", "a"], ["b", "a"]),
    ] {
        let up = subject.read(sorted(target, SortOrder::Ascend)).await;
        assert_eq!(subject.names(&up), ascending, "{target:?}");
        let down = subject.read(sorted(target, SortOrder::Descend)).await;
        assert_eq!(subject.names(&down), descending, "{target:?}");
        assert!(up.more && down.more);
    }
}
