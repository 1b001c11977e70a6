//! Admission: what happens to a write between its body and the store.
//!
//! [`CHAIN`] is the whole of it, in the order of upstream. A write goes through it twice. First
//! `WritePath::mutate`, where steps may change the object. Then whoever writes shapes it anew, keeps
//! what may not change and checks it against its schema. Last `WritePath::validate`, where steps may
//! only refuse.
//!
//! ```text
//! body → claims → mutate → (gates of fields) → shape, prepare, check → validate → charge and store
//! ```
//!
//! A deletion has no object, only an old one, and goes through both at once. If a webhook changed
//! the object, the steps before it see it once more, and so do webhooks that asked for that.

mod accounts;
mod attributes;
mod authorizer;
mod certificates;
mod classes;
pub mod conditions;
mod limits;
mod plugins;
mod priority;
mod request;
pub mod rules;
mod runtimes;
pub mod webhooks;

use std::time::Duration;

use lockstep_object::{Object, Status};

pub use attributes::{Attributes, Operation};
pub use plugins::{Plugin, PluginError, Plugins};
pub(crate) use webhooks::{Hook, Phase, WebhookCall, Webhooks};

use super::WritePath;
use super::environment::Observation;
use super::quota::Bill;
use webhooks::Rounds;

/// The steps, in order. One that is switched off is left out.
///
/// Policies have their places before the webhooks that do the same: those that change objects
/// before `MutatingAdmissionWebhook`, those that refuse them before `ValidatingAdmissionWebhook`.
/// Quotas come last: what they count has been allowed by everybody else.
pub const CHAIN: [Plugin; 12] = [
    Plugin::LimitRanger,
    Plugin::ServiceAccount,
    Plugin::Priority,
    Plugin::DefaultStorageClass,
    Plugin::DefaultIngressClass,
    Plugin::RuntimeClass,
    Plugin::CertificateApproval,
    Plugin::CertificateSigning,
    Plugin::CertificateSubjectRestriction,
    Plugin::MutatingAdmissionWebhook,
    Plugin::ValidatingAdmissionWebhook,
    Plugin::ResourceQuota,
];

/// Whether steps changed an object so that it has to be shaped anew.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mutated {
    /// It may no longer be in shape.
    OutOfShape,
    /// It is in shape.
    InShape,
}

impl WritePath<'_> {
    /// Lets the steps that may change an object do so. There is none when one is deleted.
    pub(crate) async fn mutate(
        &self,
        attributes: &Attributes<'_>,
        object: Option<&mut Object>,
    ) -> Result<Mutated, Status> {
        if !attributes.request.origin.stages().admission {
            return Ok(Mutated::InShape);
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
            Mutated::OutOfShape
        } else {
            Mutated::InShape
        })
    }

    /// One round, or two. Tells whether a webhook changed the object.
    async fn mutate_all(
        &self,
        attributes: &Attributes<'_>,
        mut object: Option<&mut Object>,
    ) -> Result<bool, Status> {
        let mut rounds = Rounds::default();
        let mut is_changed = false;
        loop {
            is_changed |= self
                .mutate_once(attributes, object.as_deref_mut(), &mut rounds)
                .await?;
            if !rounds.goes_on() {
                return Ok(is_changed);
            }
        }
    }

    /// One round. Tells whether a webhook changed the object.
    async fn mutate_once(
        &self,
        attributes: &Attributes<'_>,
        mut object: Option<&mut Object>,
        rounds: &mut Rounds,
    ) -> Result<bool, Status> {
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
                (Plugin::MutatingAdmissionWebhook, object) => {
                    let asked = webhooks::mutate(self, attributes, object, rounds).await;
                    asked.map(|changed| is_changed |= changed)
                }
                (_, _) => continue,
            };
            self.observe(plugin, "admit", attributes, began, &outcome);
            outcome?;
        }
        Ok(is_changed)
    }

    /// Validating admission of the object that will be stored; none when one is deleted. Returns the quota charge of
    /// the write, which the commit has to carry.
    pub(crate) async fn validate(
        &self,
        attributes: &Attributes<'_>,
        object: Option<&Object>,
    ) -> Result<Option<Bill>, Status> {
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
    ) -> Result<Option<Bill>, Status> {
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
        outcome: &Result<(), Status>,
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
