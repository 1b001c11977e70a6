//! Servers that the store rejects on connect.

use lockstep_storage_etcd::{EtcdStore, Options};
use tokio::runtime::Runtime;

use crate::fake::{Answer, Fake};

/// Checks the error message of connecting to such a server.
fn check(answer: impl Fn(&str) -> Answer + Send + Sync + 'static, expected: &str) {
    Runtime::new().unwrap().block_on(async {
        let fake = Fake::start(answer).await;
        let refused = EtcdStore::connect(Options::new([fake.url()])).await;
        let error = refused.err().unwrap().to_string();
        assert_eq!(error.replace(fake.url(), "URL"), expected);
    });
}

/// storage-version.md §5, F6.
#[test]
fn a_server_without_multi_compare_is_refused() {
    // As kine says it, in older and in newer releases.
    for (code, text) in [
        (2, "unsupported transaction"),
        (3, "etcdserver: unsupported operations in txn request"),
    ] {
        let answer = move |method: &str| match method {
            "Status" => Answer::status("3.5.13", false),
            _ => Answer::EtcdError(code, text),
        };
        let expected = format!(
            "the server refuses a transaction with two compares, so no write could be fenced: use \
             etcd itself instead of a layer over another database (`URL`: {text})"
        );
        check(answer, &expected);
    }
}

#[test]
fn a_server_that_cannot_do_the_probe_now_is_unavailable() {
    let answer = |method: &str| match method {
        "Status" => Answer::status("3.5.13", false),
        _ => Answer::EtcdError(14, "etcdserver: no leader"),
    };
    check(
        answer,
        "the store is unavailable: `URL`: etcdserver: no leader",
    );
}

#[test]
fn a_release_that_is_too_old_is_refused() {
    check(
        |_| Answer::status("3.3.27", false),
        "the store is unavailable: `URL`: runs etcd 3.3.27; 3.4.0 is the oldest that works",
    );
}

#[test]
fn a_server_without_a_version_is_no_etcd() {
    check(
        |_| Answer::status("", false),
        "the store is unavailable: `URL`: tells no version of etcd: use etcd itself instead of a \
         layer over another database",
    );
}

#[test]
fn a_learner_is_refused() {
    check(
        |_| Answer::status("3.5.13", true),
        "the store is unavailable: `URL`: is a learner, which serves no requests",
    );
}

#[test]
fn a_server_of_something_else_is_refused() {
    check(
        |_| Answer::EtcdError(12, "unknown service etcdserverpb.Maintenance"),
        "the store is unavailable: `URL`: unknown service etcdserverpb.Maintenance",
    );
}
