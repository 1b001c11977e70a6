//! The store passes the contract suite on real etcd.

use std::sync::Arc;

use lockstep_storage::contract::{RULES, Subject};

use crate::etcd::{Member, Release};

/// Rules broken by bugs of etcd releases, with the fixed patches of 3.4 and 3.5. The store returns an error where
/// etcd alone would lose events silently.
const BROKEN: &[(&str, u32, u32, &str)] = &[(
    "a_watch_at_the_compaction_delivers_its_deletes",
    35,
    17,
    "etcd issue 19179: deletes at the compacted revision are lost; the store says `compacted`",
)];

/// Rules known to be broken in a version.
fn known(version: &str) -> Vec<&'static str> {
    let patch = |minor: &str| version.strip_prefix(minor)?.parse::<u32>().ok();
    let mut names = Vec::new();
    for (name, in_3_4, in_3_5, why) in BROKEN {
        let is_old = |patch: Option<u32>, last: u32| patch.is_some_and(|patch| patch <= last);
        if is_old(patch("3.4."), *in_3_4) || is_old(patch("3.5."), *in_3_5) {
            println!("etcd {version} breaks `{name}`: {why}");
            names.push(*name);
        }
    }
    names
}

/// One etcd for all rules: starting one costs more than most of them.
fn check(release: Release) {
    let Some(program) = release.program() else {
        return;
    };
    let member = Member::start(&program);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let broken: Vec<_> = runtime.block_on(async {
        let store = Arc::new(member.connect().await);
        let mut broken = Vec::new();
        for rule in RULES {
            let subject = Subject::new(store.clone());
            if runtime.spawn(rule.run(subject)).await.is_err() {
                broken.push(rule.name);
            }
        }
        broken
    });
    assert_eq!(broken, known(&Release::version(&program)));
}

#[test]
fn the_packaged_etcd_keeps_all_rules() {
    check(Release::Packaged);
}

#[test]
fn a_newer_etcd_keeps_all_rules() {
    check(Release::Newer);
}
