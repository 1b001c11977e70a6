//! Admission policies in force, compiled once for each version of an object.
//!
//! As with webhooks, a reader always gets the state of the watch cache: a policy is in force for every request that starts
//! after its write returned.

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use lockstep_admission::binding::Binding;
use lockstep_admission::features::Features;
use lockstep_admission::policy::{MutatingPolicy, ValidatingPolicy};
use lockstep_admission::set::PolicySet;
use lockstep_object::Object;

use crate::cache::{Cache, Object as Cached, Parsed};

/// Items of one bucket.
type Items<T> = Arc<[Arc<T>]>;

/// The four kinds of policies and bindings, and the set that they make.
pub(super) struct FollowedPolicies {
    mutating: Parsed<MutatingPolicy>,
    mutating_bindings: Parsed<Binding>,
    validating: Parsed<ValidatingPolicy>,
    validating_bindings: Parsed<Binding>,
    features: Features,
    joined: ArcSwapOption<Joined>,
}

/// A set with the items that it was made of.
struct Joined {
    mutating: Items<MutatingPolicy>,
    mutating_bindings: Items<Binding>,
    validating: Items<ValidatingPolicy>,
    validating_bindings: Items<Binding>,
    set: Arc<PolicySet>,
}

impl FollowedPolicies {
    /// Follows the buckets of all four kinds.
    pub(super) fn new(features: Features) -> Self {
        Self {
            mutating: Parsed::new("mutatingadmissionpolicies", |stored| {
                one(stored, MutatingPolicy::compile)
            }),
            mutating_bindings: Parsed::new("mutatingadmissionpolicybindings", |stored| {
                one(stored, Binding::read)
            }),
            validating: Parsed::new("validatingadmissionpolicies", |stored| {
                one(stored, ValidatingPolicy::compile)
            }),
            validating_bindings: Parsed::new("validatingadmissionpolicybindings", |stored| {
                one(stored, Binding::read)
            }),
            features,
            joined: ArcSwapOption::empty(),
        }
    }

    /// Parts of the API that are on.
    pub(super) fn features(&self) -> &Features {
        &self.features
    }

    /// The policies in force. Without a change these are four comparisons.
    pub(super) fn set(&self, cache: &Cache) -> Arc<PolicySet> {
        let mutating = self.mutating.items(cache);
        let mutating_bindings = self.mutating_bindings.items(cache);
        let validating = self.validating.items(cache);
        let validating_bindings = self.validating_bindings.items(cache);
        if let Some(known) = self.joined.load().as_ref()
            && Arc::ptr_eq(&known.mutating, &mutating)
            && Arc::ptr_eq(&known.mutating_bindings, &mutating_bindings)
            && Arc::ptr_eq(&known.validating, &validating)
            && Arc::ptr_eq(&known.validating_bindings, &validating_bindings)
        {
            return Arc::clone(&known.set);
        }
        let set = PolicySet::with_features(
            (mutating.to_vec(), mutating_bindings.to_vec()),
            (validating.to_vec(), validating_bindings.to_vec()),
            self.features.clone(),
        );
        let set = Arc::new(set);
        self.joined.store(Some(Arc::new(Joined {
            mutating,
            mutating_bindings,
            validating,
            validating_bindings,
            set: Arc::clone(&set),
        })));
        set
    }
}

fn one<T>(stored: &Cached, read: fn(&Object) -> T) -> Vec<T> {
    let object = Object::read(&stored.value);
    object.iter().map(read).collect()
}
