//! The steps by name, and which of them are on.

/// A step of admission, by the name that upstream gives it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[expect(missing_docs, reason = "these are upstream's names")]
pub enum Plugin {
    LimitRanger,
    Priority,
    DefaultStorageClass,
    DefaultIngressClass,
    ResourceQuota,
}

/// Names of upstream that are always on here, or whose step is part of something else.
const OTHERS: [&str; 28] = [
    "AlwaysAdmit",
    "AlwaysDeny",
    "AlwaysPullImages",
    "CertificateApproval",
    "CertificateSigning",
    "CertificateSubjectRestriction",
    "ClusterTrustBundleAttest",
    "DefaultTolerationSeconds",
    "DenyServiceExternalIPs",
    "EventRateLimit",
    "ExtendedResourceToleration",
    "ImagePolicyWebhook",
    "LimitPodHardAntiAffinityTopology",
    "MutatingAdmissionPolicy",
    "NamespaceAutoProvision",
    "NamespaceExists",
    "NamespaceLifecycle",
    "NodeRestriction",
    "OwnerReferencesPermissionEnforcement",
    "PersistentVolumeClaimResize",
    "PodNodeSelector",
    "PodSecurity",
    "PodTolerationRestriction",
    "PodTopologyLabels",
    "RuntimeClass",
    "StorageObjectInUseProtection",
    "TaintNodesByCondition",
    "ValidatingAdmissionPolicy",
];

/// A name that no step has.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("admission plugin {0:?} is unknown")]
pub struct UnknownPlugin(pub String);

/// Which steps are on. All of them, unless somebody says otherwise.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Plugins {
    off: Vec<Plugin>,
}

impl Plugin {
    const ALL: [Self; 5] = super::CHAIN;

    /// What upstream calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::LimitRanger => "LimitRanger",
            Self::Priority => "Priority",
            Self::DefaultStorageClass => "DefaultStorageClass",
            Self::DefaultIngressClass => "DefaultIngressClass",
            Self::ResourceQuota => "ResourceQuota",
        }
    }
}

impl Plugins {
    /// All steps but those with these names. Names of upstream's that have no step here are taken.
    pub fn without<'n>(names: impl IntoIterator<Item = &'n str>) -> Result<Self, UnknownPlugin> {
        let mut off = Vec::new();
        for name in names {
            match Plugin::ALL.into_iter().find(|plugin| plugin.name() == name) {
                Some(plugin) => off.push(plugin),
                None if OTHERS.contains(&name) => {}
                None => return Err(UnknownPlugin(name.to_owned())),
            }
        }
        Ok(Self { off })
    }

    /// Whether a step is on.
    pub(crate) fn has(&self, step: Plugin) -> bool {
        !self.off.contains(&step)
    }

    /// Those of some steps that are on, in the same order.
    pub(crate) fn of(&self, steps: &'static [Plugin]) -> impl Iterator<Item = Plugin> {
        let steps = steps.iter().copied();
        steps.filter(|step| self.has(*step))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// api-machinery.md §16: `enable-admission-plugins` and its kin are taken.
    #[test]
    fn steps_are_switched_off_by_the_names_of_upstream() {
        let on = |names: &[&str]| {
            let plugins = Plugins::without(names.iter().copied())?;
            let on = plugins.of(&super::super::CHAIN).map(Plugin::name);
            Ok(on.collect::<Vec<_>>())
        };
        let all: Vec<&str> = super::super::CHAIN.into_iter().map(Plugin::name).collect();
        assert_eq!(on(&[]), Ok(all.clone()));
        assert_eq!(on(&["NodeRestriction"]), Ok(all.clone()));
        let rest = all.iter().copied().filter(|name| *name != "Priority");
        assert_eq!(on(&["Priority"]), Ok(rest.collect()));
        assert_eq!(on(&["X"]), Err(UnknownPlugin("X".to_owned())));
    }
}
