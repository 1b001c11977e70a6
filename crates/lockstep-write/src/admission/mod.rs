//! Admission: mutating and validating plugins between the request body and the store.
//!
//! [`CHAIN`] lists all plugins in upstream's order. A write passes it twice. In `WritePath::mutate` plugins may
//! change the object. The write path then prunes, defaults and validates the result and restores immutable fields. In
//! `WritePath::validate` plugins may only reject it.
//!
//! ```text
//! body → own fields → mutate → field gates → prune and default, prepare, validate → validate → charge and store
//! ```
//!
//! A deletion has an old object and no new one, and runs both passes in one step. If a policy or webhook changed the
//! object, the mutating plugins run a second time, and with them the policies and webhooks whose `reinvocationPolicy` asks
//! for it. The safety and convergence of policies is checked after the last of them.

mod accounts;
mod attributes;
pub(crate) mod authorizer;
mod certificates;
mod classes;
mod limits;
mod plugins;
pub(crate) mod policies;
mod priority;
mod request;
mod runtimes;
pub mod webhooks;

use std::time::Duration;

use lockstep_object::{ApiError, Object};

pub use attributes::Attributes;
pub use lockstep_admission::request::Operation;
pub use plugins::{Ineffective, Plugin, PluginError, Plugins};
pub use webhooks::{Hook, Phase, ReviewVersion, WebhookCall};

use super::WritePath;
use super::environment::Observation;
use super::quota::Bill;
use lockstep_admission::policy::PolicyKind;
use policies::{MutatingPolicies, Prepared};
use webhooks::Rounds;

/// Admission plugins in the order of execution; disabled ones are skipped.
///
/// Policies precede the webhooks of their phase: mutating policies come before `MutatingAdmissionWebhook`, validating
/// ones before `ValidatingAdmissionWebhook`. Quota comes last, so that only writes which every other plugin admitted
/// are charged.
pub const CHAIN: [Plugin; 14] = [
    Plugin::LimitRanger,
    Plugin::ServiceAccount,
    Plugin::Priority,
    Plugin::DefaultStorageClass,
    Plugin::DefaultIngressClass,
    Plugin::RuntimeClass,
    Plugin::CertificateApproval,
    Plugin::CertificateSigning,
    Plugin::CertificateSubjectRestriction,
    Plugin::MutatingAdmissionPolicy,
    Plugin::MutatingAdmissionWebhook,
    Plugin::ValidatingAdmissionPolicy,
    Plugin::ValidatingAdmissionWebhook,
    Plugin::ResourceQuota,
];

/// Result of mutating admission: whether the object must be pruned and defaulted again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mutated {
    /// A policy or webhook changed the object; it must be pruned and defaulted again.
    NeedsDefaulting,
    /// The object is still pruned and defaulted.
    Defaulted,
}

impl WritePath<'_> {
    /// Runs mutating admission on the object; `None` for a deletion.
    pub async fn mutate(
        &self,
        attributes: &Attributes<'_>,
        object: Option<&mut Object>,
    ) -> Result<Mutated, ApiError> {
        if !attributes.request.origin.stages().admission {
            return Ok(Mutated::Defaulted);
        }
        let began = self.env.elapsed();
        let outcome = self.mutate_all(attributes, object).await;
        let took = self.env.elapsed().saturating_sub(began);
        let operation = attributes.operation.as_str();
        self.env.observe(&Observation::Admission {
            phase: "admit",
            operation,
            is_rejected: outcome.is_err(),
            took,
        });
        Ok(if outcome? {
            Mutated::NeedsDefaulting
        } else {
            Mutated::Defaulted
        })
    }

    /// Runs one or two rounds of the mutating plugins. Returns whether a policy or webhook changed the object.
    async fn mutate_all(
        &self,
        attributes: &Attributes<'_>,
        mut object: Option<&mut Object>,
    ) -> Result<bool, ApiError> {
        let mut rounds = Rounds::default();
        let mut is_changed = false;
        let prepared = Box::pin(Prepared::of(self, attributes, PolicyKind::Mutating)).await?;
        let mut policies = prepared
            .as_ref()
            .map(|prepared| prepared.mutating(self, attributes));
        loop {
            is_changed |= self
                .mutate_once(
                    attributes,
                    object.as_deref_mut(),
                    &mut rounds,
                    policies.as_mut(),
                )
                .await?;
            if !rounds.goes_on() {
                break;
            }
        }
        if let Some(policies) = policies {
            Box::pin(policies.check(object.as_deref())).await?;
        }
        Ok(is_changed)
    }

    /// Runs one round of the mutating plugins. Returns whether a policy or webhook changed the object.
    async fn mutate_once(
        &self,
        attributes: &Attributes<'_>,
        mut object: Option<&mut Object>,
        rounds: &mut Rounds,
        mut policies: Option<&mut MutatingPolicies<'_, '_>>,
    ) -> Result<bool, ApiError> {
        let mut is_changed = false;
        for plugin in self.env.plugins().of(&CHAIN) {
            let began = self.env.elapsed();
            let outcome = match (plugin, object.as_deref_mut()) {
                (Plugin::LimitRanger, Some(object)) => limits::fill(self, attributes, object).await,
                (Plugin::ServiceAccount, Some(object)) => {
                    accounts::mount(self, attributes, object).await
                }
                (Plugin::Priority, Some(object)) => {
                    priority::resolve(self, attributes, object).await
                }
                (Plugin::DefaultStorageClass | Plugin::DefaultIngressClass, Some(object)) => {
                    classes::choose(self, plugin, attributes, object);
                    Ok(())
                }
                (Plugin::RuntimeClass, Some(object)) => {
                    runtimes::fill(self, attributes, object).await
                }
                (Plugin::MutatingAdmissionPolicy, object) => match policies.as_deref_mut() {
                    Some(policies) => Box::pin(policies.pass(object)).await.map(|passed| {
                        is_changed |= passed.is_changed;
                        if passed.is_again {
                            rounds.policies_changed();
                        }
                    }),
                    None => continue,
                },
                (Plugin::MutatingAdmissionWebhook, object) => {
                    let policies = policies.as_deref_mut();
                    let mutated = webhooks::mutate(self, attributes, object, rounds, policies);
                    mutated.await.map(|changed| is_changed |= changed)
                }
                (_, _) => continue,
            };
            self.observe(plugin, "admit", attributes, began, &outcome);
            outcome?;
        }
        Ok(is_changed)
    }

    /// Runs validating admission on the object to be stored; `None` for a deletion. Returns the quota charge, which
    /// the commit must include.
    pub async fn validate(
        &self,
        attributes: &Attributes<'_>,
        object: Option<&Object>,
    ) -> Result<Option<Bill>, ApiError> {
        if !attributes.request.origin.stages().admission {
            return Ok(None);
        }
        let began = self.env.elapsed();
        let outcome = self.validate_all(attributes, object).await;
        let took = self.env.elapsed().saturating_sub(began);
        let operation = attributes.operation.as_str();
        self.env.observe(&Observation::Admission {
            phase: "validate",
            operation,
            is_rejected: outcome.is_err(),
            took,
        });
        outcome
    }

    async fn validate_all(
        &self,
        attributes: &Attributes<'_>,
        object: Option<&Object>,
    ) -> Result<Option<Bill>, ApiError> {
        let mut bill = None;
        for plugin in self.env.plugins().of(&CHAIN) {
            let began = self.env.elapsed();
            let outcome = match (plugin, object) {
                (Plugin::LimitRanger, Some(object)) => {
                    limits::check(self, attributes, object).await
                }
                (Plugin::ServiceAccount, Some(object)) => {
                    accounts::check(self, attributes, object).await
                }
                (Plugin::RuntimeClass, Some(object)) => {
                    runtimes::check(self, attributes, object).await
                }
                (Plugin::CertificateApproval | Plugin::CertificateSigning, Some(object)) => {
                    certificates::check(self, plugin, attributes, object)
                }
                (Plugin::CertificateSubjectRestriction, Some(object)) => {
                    certificates::check_subject(attributes, object)
                }
                (Plugin::ValidatingAdmissionPolicy, object) => {
                    Box::pin(policies::validate(self, attributes, object)).await
                }
                (Plugin::ValidatingAdmissionWebhook, object) => {
                    webhooks::validate(self, attributes, object).await
                }
                (Plugin::ResourceQuota, Some(object)) => {
                    let billed = self.billed(attributes, object).await;
                    billed.map(|billed| bill = billed)
                }
                (_, _) => continue,
            };
            self.observe(plugin, "validate", attributes, began, &outcome);
            outcome?;
        }
        Ok(bill)
    }

    fn observe(
        &self,
        plugin: Plugin,
        phase: &'static str,
        attributes: &Attributes<'_>,
        began: Duration,
        outcome: &Result<(), ApiError>,
    ) {
        let took = self.env.elapsed().saturating_sub(began);
        let operation = attributes.operation.as_str();
        self.env.observe(&Observation::Plugin {
            name: plugin.name(),
            phase,
            operation,
            is_rejected: outcome.is_err(),
            took,
        });
    }
}
