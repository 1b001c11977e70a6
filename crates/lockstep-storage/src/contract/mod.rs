//! The contract as a test suite that any store can run.
//!
//! ```text
//! fn run(rule: lockstep_storage::contract::Rule) {
//!     runtime().block_on(async { rule.run(Subject::new(Arc::new(open().await))).await });
//! }
//! lockstep_storage::store_contract!(run);
//! ```
//!
//! generates one test for each rule. A rule uses keys under its own prefix and compares revisions only with each
//! other, so all rules may share one store if starting one is expensive.
//!
//! [`histories`] checks concurrent requests and watches for linearizability.

mod subject;

pub mod compaction;
pub mod guarded_writes;
pub mod histories;
pub mod leases;
pub mod lists;
pub mod reads;
pub mod size;
pub mod txns;
pub mod watches;

use crate::StoreFuture;
pub use subject::Subject;

/// One rule of the contract.
#[derive(Clone, Copy)]
pub struct Rule {
    /// Name of the test: the rule as a sentence.
    pub name: &'static str,
    /// Section of the specification that the rule comes from.
    pub row: &'static str,
    check: fn(Subject) -> StoreFuture<'static, ()>,
}

impl Rule {
    /// Panics if the store breaks the rule.
    pub async fn run(self, subject: Subject) {
        (self.check)(subject.under(self.name)).await;
    }
}

macro_rules! rules {
    ($dollar:tt $($module:ident::$name:ident => $row:literal,)*) => {
        /// Every rule, in reading order.
        pub const RULES: &[Rule] = &[$(Rule {
            name: stringify!($name),
            row: $row,
            check: |subject| Box::pin($module::$name(subject)),
        }),*];

        /// Makes a test of each rule; `$run` is a function that takes a
        /// [`Rule`]($crate::contract::Rule) and runs it against a store.
        #[macro_export]
        macro_rules! store_contract {
            ($dollar run:path) => {
                $(
                    #[test]
                    fn $name() {
                        let mut rules = $crate::contract::RULES.iter();
                        let rule = rules.find(|rule| rule.name == stringify!($name));
                        $dollar run(*rule.expect("the rule is in the table"));
                    }
                )*
            };
        }
    };
}

rules! { $
    reads::a_missing_key_is_no_error => "etcd-api.md §2/range-keys, etcd-api.md §11/get",
    reads::a_read_sees_every_write_acknowledged_before => "etcd-api.md §2/serializable",
    reads::a_serializable_read_never_goes_back => "etcd-api.md §2/serializable",
    reads::a_pair_tells_its_revisions_version_and_lease => "etcd-api.md §2/fields",
    reads::the_past_is_readable_at_its_revision => "etcd-api.md §2/revision",
    reads::a_future_revision_is_refused => "etcd-api.md §2/revision",
    reads::values_are_opaque_bytes => "etcd-api.md §2/range-keys; storage-version.md §10, Values",
    lists::a_list_is_in_key_order_and_stays_in_its_range => "etcd-api.md §2/range-keys",
    lists::a_limit_cuts_and_the_count_does_not_care => "etcd-api.md §2/limit",
    lists::pages_show_the_state_of_the_first_page => "etcd-api.md §11/list; api-machinery.md §7, limit",
    lists::a_count_needs_no_pairs => "etcd-api.md §2/keys-only, etcd-api.md §11/count",
    lists::keys_only_leaves_values_out => "etcd-api.md §2/keys-only",
    lists::revision_bounds_do_not_change_the_count => "etcd-api.md §2/bounds",
    lists::an_order_is_applied_before_the_limit => "etcd-api.md §2/sort",
    txns::create_needs_a_missing_key => "etcd-api.md §11/create",
    txns::update_needs_the_revision_that_was_read => "etcd-api.md §11/update",
    txns::delete_needs_the_revision_that_was_read => "etcd-api.md §11/delete",
    txns::every_target_and_comparison_is_judged => "etcd-api.md §2/txn",
    txns::a_range_compare_holds_for_all_keys => "etcd-api.md §2/txn",
    txns::all_changes_of_a_transaction_share_a_revision => "etcd-api.md §2/revisions",
    txns::a_transaction_without_changes_has_no_revision => "etcd-api.md §2/revisions",
    txns::a_nested_transaction_is_decided_before_any_operation => "etcd-api.md §2/txn-nested",
    txns::a_read_in_a_transaction_sees_the_put_before_it => "etcd-api.md §2/txn-own-puts",
    txns::a_failing_operation_leaves_nothing => "etcd-api.md §2/txn-atomic",
    txns::concurrent_writers_never_share_a_revision => "etcd-api.md §2/revisions; lessons: repeated revisions",
    txns::of_concurrent_writers_with_one_expectation_one_wins => "etcd-api.md §11/update",
    txns::concurrent_increments_lose_none => "etcd-api.md §2/serializable, etcd-api.md §11/update",
    guarded_writes::a_guarded_write_happens_if_all_its_fences_stand => "storage-version.md §5, F1",
    guarded_writes::a_stopped_write_returns_the_object_and_the_fenced_keys => "storage-version.md §5, F2",
    guarded_writes::an_extra_create_fails_the_write_while_the_key_exists => "api-machinery.md §12, Defaults seen: Service",
    guarded_writes::a_key_created_or_changed_in_an_unchanged_range_fails_the_write => "api-machinery.md §12, Quota",
    guarded_writes::an_extra_replace_fails_the_write_if_its_key_changed => "api-machinery.md §12, Quota",
    guarded_writes::a_fence_that_moves_meanwhile_stops_every_writer => "storage-version.md §5, F5",
    watches::events_come_in_order_once_and_whole => "etcd-api.md §3/ordering, etcd-api.md §3/atomicity",
    watches::a_watch_without_a_start_sees_what_comes_next => "etcd-api.md §3/start-now",
    watches::a_watch_from_the_past_has_no_gap_to_the_present => "etcd-api.md §3/ordering",
    watches::a_watch_from_the_future_is_silent_until_then => "etcd-api.md §3/start-future",
    watches::filters_drop_events_and_progress_goes_on => "etcd-api.md §3/filters",
    watches::the_previous_pair_comes_if_asked_for => "etcd-api.md §3/prev-kv",
    watches::progress_means_that_everything_before_was_delivered => "etcd-api.md §3/progress-request",
    watches::a_watch_before_the_compaction_is_refused => "etcd-api.md §3/start-compacted",
    watches::a_watch_at_the_compaction_delivers_its_deletes => "etcd-api.md §3/start-compacted",
    watches::a_watch_without_news_survives_compactions => "etcd-api.md §3/slow-consumer",
    watches::a_reader_that_never_reads_does_not_stop_writers => "etcd-api.md §3/slow-consumer; api-machinery.md §7, watch end",
    leases::a_lease_has_its_ttl_and_keys => "etcd-api.md §4/grant, etcd-api.md §4/time-to-live",
    leases::a_ttl_that_is_too_large_is_refused => "etcd-api.md §4/grant",
    leases::revoking_deletes_the_keys_at_one_revision => "etcd-api.md §4/revoke",
    leases::an_unknown_lease_is_not_found => "etcd-api.md §4/revoke, etcd-api.md §4/keep-alive, etcd-api.md §4/time-to-live",
    leases::a_put_moves_a_key_to_its_new_lease => "etcd-api.md §4/attach-move",
    leases::an_expired_lease_takes_its_keys_along => "etcd-api.md §4/expiry",
    compaction::the_compacted_revision_itself_stays_readable => "etcd-api.md §2/compact, etcd-api.md §2/revision",
    compaction::compacting_twice_or_in_the_future_is_refused => "etcd-api.md §2/compact",
    compaction::a_page_older_than_the_compaction_is_refused => "api-machinery.md §7, token older than compaction",
    size::the_size_reaches_what_was_written => "api-machinery.md §14, metrics: apiserver_storage_size_bytes",
}
