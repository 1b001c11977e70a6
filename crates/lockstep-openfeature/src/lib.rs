//! [OpenFeature](https://openfeature.dev) provider for feature gates.
//!
//! ```
//! use lockstep_featuregate::{BinaryVersion, Builder, Component, Registry, features, v};
//! use lockstep_openfeature::GatesProvider;
//! use open_feature::{EvaluationContext, provider::FeatureProvider};
//!
//! features! { kube { ShardedLists { "1.36": Beta on } } }
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let kube = Component::declared(BinaryVersion::of(v(1, 36)), &[&KUBE]).expect("declared gates fit");
//! let gates = Builder::new(Registry::new([kube])?).try_finish()?.gates;
//! let provider = GatesProvider::new(gates);
//! let details = provider.resolve_bool_value("ShardedLists", &EvaluationContext::default()).await;
//! assert!(details.is_ok_and(|details| details.value));
//! # Ok(())
//! # }
//! ```
//!
//! This is a separate crate because `open-feature` depends on an async runtime's primitives, which the gates do
//! without.

use async_trait::async_trait;
use lockstep_featuregate::{Explanation, Gates, Source};
use open_feature::{
    EvaluationContext, EvaluationError, EvaluationErrorCode, EvaluationReason, EvaluationResult,
    StructValue,
    provider::{FeatureProvider, ProviderMetadata, ResolutionDetails},
};

/// Name of the provider.
pub const PROVIDER_NAME: &str = "lockstep";

/// Provider for one set of gates. Every gate is a boolean flag with its name, or `component:Name`. Gates are not
/// targeted: the evaluation context is ignored.
#[derive(Debug)]
pub struct GatesProvider {
    gates: Gates,
    metadata: ProviderMetadata,
}

impl GatesProvider {
    /// Creates a provider, ready at once; it follows cluster-scoped gates as the set does.
    pub fn new(gates: Gates) -> Self {
        let metadata = ProviderMetadata::new(PROVIDER_NAME);
        Self { gates, metadata }
    }

    fn explain(&self, flag: &str) -> EvaluationResult<Explanation> {
        self.gates.explain(flag).ok_or_else(|| EvaluationError {
            code: EvaluationErrorCode::FlagNotFound,
            message: Some(format!("unrecognized feature gate: {flag}")),
        })
    }

    /// Type mismatch error of a non-boolean evaluation.
    fn mismatch<T>(&self, flag: &str, asked: &str) -> EvaluationResult<ResolutionDetails<T>> {
        self.explain(flag)?;
        Err(EvaluationError {
            code: EvaluationErrorCode::TypeMismatch,
            message: Some(format!("feature gate {flag} is a boolean, not {asked}")),
        })
    }
}

/// `DEFAULT` if the gate is not set, `STATIC` if it is set or locked.
fn reason(why: &Explanation) -> EvaluationReason {
    let unset = matches!(why.source, Source::Default | Source::Override);
    if unset && !why.held.lock_to_default {
        EvaluationReason::Default
    } else {
        EvaluationReason::Static
    }
}

#[async_trait]
impl FeatureProvider for GatesProvider {
    fn metadata(&self) -> &ProviderMetadata {
        &self.metadata
    }

    async fn resolve_bool_value(
        &self,
        flag: &str,
        _: &EvaluationContext,
    ) -> EvaluationResult<ResolutionDetails<bool>> {
        let why = self.explain(flag)?;
        let variant = if why.value { "on" } else { "off" };
        Ok(ResolutionDetails {
            value: why.value,
            variant: Some(variant.to_owned()),
            reason: Some(reason(&why)),
            flag_metadata: None,
        })
    }

    async fn resolve_int_value(
        &self,
        flag: &str,
        _: &EvaluationContext,
    ) -> EvaluationResult<ResolutionDetails<i64>> {
        self.mismatch(flag, "an integer")
    }

    async fn resolve_float_value(
        &self,
        flag: &str,
        _: &EvaluationContext,
    ) -> EvaluationResult<ResolutionDetails<f64>> {
        self.mismatch(flag, "a number")
    }

    async fn resolve_string_value(
        &self,
        flag: &str,
        _: &EvaluationContext,
    ) -> EvaluationResult<ResolutionDetails<String>> {
        self.mismatch(flag, "a string")
    }

    async fn resolve_struct_value(
        &self,
        flag: &str,
        _: &EvaluationContext,
    ) -> EvaluationResult<ResolutionDetails<StructValue>> {
        self.mismatch(flag, "a structure")
    }
}
