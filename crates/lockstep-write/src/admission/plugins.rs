//! Admission plugins by their upstream names, and the flags that enable or disable them.

use super::CHAIN;

/// Admission plugin, by its upstream name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[expect(missing_docs, reason = "these are upstream's names")]
pub enum Plugin {
    LimitRanger,
    ServiceAccount,
    Priority,
    DefaultStorageClass,
    DefaultIngressClass,
    RuntimeClass,
    CertificateApproval,
    CertificateSigning,
    CertificateSubjectRestriction,
    MutatingAdmissionPolicy,
    MutatingAdmissionWebhook,
    ValidatingAdmissionPolicy,
    ValidatingAdmissionWebhook,
    ResourceQuota,
}

/// Upstream plugins that are always on here, as stages of the write path or defaults of a kind.
const ALWAYS_ON: [&str; 2] = ["DefaultTolerationSeconds", "NamespaceLifecycle"];

/// Upstream plugins that this server does not have.
const ABSENT: [&str; 20] = [
    "AlwaysAdmit",
    "AlwaysDeny",
    "AlwaysPullImages",
    "ClusterTrustBundleAttest",
    "DenyServiceExternalIPs",
    "EventRateLimit",
    "ExtendedResourceToleration",
    "ImagePolicyWebhook",
    "LimitPodHardAntiAffinityTopology",
    "NamespaceAutoProvision",
    "NamespaceExists",
    "NodeRestriction",
    "OwnerReferencesPermissionEnforcement",
    "PersistentVolumeClaimResize",
    "PodNodeSelector",
    "PodSecurity",
    "PodTolerationRestriction",
    "PodTopologyLabels",
    "StorageObjectInUseProtection",
    "TaintNodesByCondition",
];

/// Invalid plugin lists in the configuration: unknown names, or names both enabled and disabled.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PluginError {
    /// The name is not a plugin of upstream.
    #[error("{flag} plugin {name:?} is unknown")]
    Unknown {
        /// Flag with the name.
        flag: &'static str,
        /// Unknown name.
        name: String,
    },
    /// A plugin is both enabled and disabled.
    #[error("[{}] in {ENABLE} and {DISABLE} overlapped", .0.join(" "))]
    Both(Vec<String>),
}

/// A flag without the effect that it asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ineffective {
    /// A disabled plugin that cannot be disabled.
    AlwaysOn(String),
    /// An enabled plugin that this server does not have.
    Absent(String),
}

const ENABLE: &str = "enable-admission-plugins";
const DISABLE: &str = "disable-admission-plugins";

/// Enabled admission plugins; all of them by default.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Plugins {
    off: Vec<Plugin>,
}

impl Plugin {
    /// Upstream name of the plugin.
    pub fn name(self) -> &'static str {
        match self {
            Self::LimitRanger => "LimitRanger",
            Self::ServiceAccount => "ServiceAccount",
            Self::Priority => "Priority",
            Self::DefaultStorageClass => "DefaultStorageClass",
            Self::DefaultIngressClass => "DefaultIngressClass",
            Self::RuntimeClass => "RuntimeClass",
            Self::CertificateApproval => "CertificateApproval",
            Self::CertificateSigning => "CertificateSigning",
            Self::CertificateSubjectRestriction => "CertificateSubjectRestriction",
            Self::MutatingAdmissionPolicy => "MutatingAdmissionPolicy",
            Self::MutatingAdmissionWebhook => "MutatingAdmissionWebhook",
            Self::ValidatingAdmissionPolicy => "ValidatingAdmissionPolicy",
            Self::ValidatingAdmissionWebhook => "ValidatingAdmissionWebhook",
            Self::ResourceQuota => "ResourceQuota",
        }
    }
}

impl Plugins {
    /// Reads the values of both flags. The second result lists the flags without the effect that they ask for.
    pub fn of_flags(
        enabled: &[String],
        disabled: &[String],
    ) -> Result<(Self, Vec<Ineffective>), PluginError> {
        let mut ineffective = Vec::new();
        let mut off = Vec::new();
        for (flag, names) in [(ENABLE, enabled), (DISABLE, disabled)] {
            for name in names {
                let step = CHAIN.into_iter().find(|plugin| plugin.name() == name);
                match step {
                    Some(plugin) if flag == DISABLE => off.push(plugin),
                    Some(_) => {}
                    None if ALWAYS_ON.contains(&name.as_str()) => {
                        let told = (flag == DISABLE).then(|| Ineffective::AlwaysOn(name.clone()));
                        ineffective.extend(told);
                    }
                    None if ABSENT.contains(&name.as_str()) => {
                        let told = (flag == ENABLE).then(|| Ineffective::Absent(name.clone()));
                        ineffective.extend(told);
                    }
                    None => {
                        let name = name.clone();
                        return Err(PluginError::Unknown { flag, name });
                    }
                }
            }
        }
        let both = enabled.iter().filter(|name| disabled.contains(name));
        let both: Vec<String> = both.cloned().collect();
        if !both.is_empty() {
            return Err(PluginError::Both(both));
        }
        Ok((Self { off }, ineffective))
    }

    /// Also disables a plugin.
    #[must_use]
    pub fn and_without(mut self, step: Plugin) -> Self {
        self.off.push(step);
        self
    }

    /// All plugins except the given ones.
    pub fn without(off: impl IntoIterator<Item = Plugin>) -> Self {
        let off = off.into_iter().collect();
        Self { off }
    }

    /// True if a plugin is enabled.
    pub fn has(&self, step: Plugin) -> bool {
        !self.off.contains(&step)
    }

    /// Enabled plugins among the given ones, in order.
    pub fn of(&self, steps: &'static [Plugin]) -> impl Iterator<Item = Plugin> {
        let steps = steps.iter().copied();
        steps.filter(|step| self.has(*step))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// api-machinery.md §16/admission: `enable-admission-plugins` and its kin.
    #[test]
    fn steps_are_switched_off_by_the_names_of_upstream() {
        let texts =
            |names: &[&str]| -> Vec<String> { names.iter().map(|&name| name.to_owned()).collect() };
        let run = |enabled: &[&str], disabled: &[&str]| {
            let read = Plugins::of_flags(&texts(enabled), &texts(disabled));
            let (plugins, ineffective) = read.map_err(|error| error.to_string())?;
            let on = plugins.of(&CHAIN).map(|plugin| plugin.name().to_owned());
            Ok((on.collect::<Vec<_>>(), ineffective))
        };
        let all = || texts(&CHAIN.map(Plugin::name));
        let but = |name: &str| -> Vec<String> {
            all().into_iter().filter(|other| other != name).collect()
        };
        assert_eq!(run(&[], &[]), Ok((all(), vec![])));
        assert_eq!(run(&["Priority"], &[]), Ok((all(), vec![])));
        let absent = Ineffective::Absent("NodeRestriction".to_owned());
        assert_eq!(run(&["NodeRestriction"], &[]), Ok((all(), vec![absent])));
        assert_eq!(run(&[], &["NodeRestriction"]), Ok((all(), vec![])));
        let always = Ineffective::AlwaysOn("NamespaceLifecycle".to_owned());
        assert_eq!(run(&[], &["NamespaceLifecycle"]), Ok((all(), vec![always])));
        assert_eq!(run(&["NamespaceLifecycle"], &[]), Ok((all(), vec![])));
        let off = but("ServiceAccount");
        assert_eq!(run(&[], &["ServiceAccount"]), Ok((off, vec![])));
        let expected = "disable-admission-plugins plugin \"X\" is unknown";
        assert_eq!(run(&[], &["X"]), Err(expected.to_owned()));
        let expected =
            "[Priority] in enable-admission-plugins and disable-admission-plugins overlapped";
        assert_eq!(run(&["Priority"], &["Priority"]), Err(expected.to_owned()));
    }
}
