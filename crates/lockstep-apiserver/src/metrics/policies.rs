//! Metrics of admission policies.

use std::time::Duration;

use lockstep_admission::outcome::{Check, Conflict};
use prometheus::{HistogramVec, IntCounterVec};

use super::Table;

/// From half a microsecond to a second, as upstream.
const CHECK_SECONDS: &[f64] = &[0.000_000_5, 0.001, 0.01, 0.1, 1.0];

/// Counters and histograms of checks by policies.
#[derive(Clone)]
pub(crate) struct PolicyMeters {
    mutations: IntCounterVec,
    mutation_seconds: HistogramVec,
    validations: IntCounterVec,
    validation_seconds: HistogramVec,
    conflicts: IntCounterVec,
}

impl PolicyMeters {
    #[rustfmt::skip]
    pub(super) fn new(table: &Table) -> Self {
        let mutation = &["policy", "policy_binding", "error_type"];
        let validation = &["policy", "policy_binding", "error_type", "enforcement_action"];
        Self {
            mutations: table.counters("apiserver_mutating_admission_policy_check_total", "[BETA] Mutating admission policy check total, labeled by policy and further identified by binding and error type.", mutation),
            mutation_seconds: table.histograms("apiserver_mutating_admission_policy_check_duration_seconds", "[BETA] Mutating admission latency for individual mutation expressions in seconds, labeled by policy and binding.", mutation, CHECK_SECONDS),
            validations: table.counters("apiserver_validating_admission_policy_check_total", "[BETA] Validation admission policy check total, labeled by policy and further identified by binding and enforcement action taken.", validation),
            validation_seconds: table.histograms("apiserver_validating_admission_policy_check_duration_seconds", "[BETA] Validation admission latency for individual validation expressions in seconds, labeled by policy and further including binding and enforcement action taken.", validation, CHECK_SECONDS),
            conflicts: table.counters("lockstep_mutation_nonconverged_total", "Requests after which a mutating policy would still change the object, because another writer undid its change.", &["policy"]),
        }
    }

    /// Records a check in a phase of admission, `admit` or `validating`.
    pub(crate) fn checked(&self, phase: &str, check: &Check, took: Duration) {
        let Check {
            policy,
            binding,
            class,
            is_rejection,
            actions,
        } = check;
        let error = class.as_str();
        if phase == "admit" {
            let labels = [&**policy, &**binding, error];
            self.mutations.with_label_values(&labels).inc();
            let timer = self.mutation_seconds.with_label_values(&labels);
            timer.observe(took.as_secs_f64());
            return;
        }
        let taken: Vec<String> = if *is_rejection {
            let actions = actions.iter();
            actions
                .map(|action| action.as_str().to_lowercase())
                .collect()
        } else {
            vec!["allow".to_owned()]
        };
        for action in taken {
            let labels = [&**policy, &**binding, error, &*action];
            self.validations.with_label_values(&labels).inc();
            let timer = self.validation_seconds.with_label_values(&labels);
            timer.observe(took.as_secs_f64());
        }
    }

    /// Counts policies that were undone.
    pub(crate) fn conflicting(&self, conflicts: &[Conflict]) {
        for conflict in conflicts {
            self.conflicts.with_label_values(&[&conflict.policy]).inc();
        }
    }
}
