//! Opaque values, which support only methods and equality.

use crate::authorizer::{Authorization, Decision, GroupCheck, PathCheck, ResourceCheck};
use lockstep_gotext::formats::NamedFormat;
use lockstep_gotext::ip::{Cidr, Ip};
use lockstep_gotext::quantity::Quantity;
use lockstep_gotext::semver::Semver;
use lockstep_gotext::url::Url;

/// A value of one of the library types.
#[derive(Debug, Clone)]
pub enum Opaque {
    /// `kubernetes.Quantity`
    Quantity(Quantity),
    /// `kubernetes.URL`
    Url(Url),
    /// `net.IP`
    Ip(Ip),
    /// `net.CIDR`
    Cidr(Cidr),
    /// `kubernetes.Semver`
    Semver(Semver),
    /// `kubernetes.NamedFormat`
    Format(NamedFormat),
    /// `kubernetes.authorization.Authorizer`
    Authorizer(Authorization),
    /// `kubernetes.authorization.PathCheck`
    PathCheck(PathCheck),
    /// `kubernetes.authorization.GroupCheck`
    GroupCheck(GroupCheck),
    /// `kubernetes.authorization.ResourceCheck`
    ResourceCheck(ResourceCheck),
    /// `kubernetes.authorization.Decision`
    Decision(Decision),
}

impl Opaque {
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Self::Quantity(_) => "kubernetes.Quantity",
            Self::Url(_) => "kubernetes.URL",
            Self::Ip(_) => "net.IP",
            Self::Cidr(_) => "net.CIDR",
            Self::Semver(_) => "kubernetes.Semver",
            Self::Format(_) => "kubernetes.NamedFormat",
            Self::Authorizer(_) => "kubernetes.authorization.Authorizer",
            Self::PathCheck(_) => "kubernetes.authorization.PathCheck",
            Self::GroupCheck(_) => "kubernetes.authorization.GroupCheck",
            Self::ResourceCheck(_) => "kubernetes.authorization.ResourceCheck",
            Self::Decision(_) => "kubernetes.authorization.Decision",
        }
    }

    /// Addresses count their bytes, networks the bytes of their prefix, everything else one.
    pub(crate) fn cost_size(&self) -> u64 {
        match self {
            Self::Ip(ip) if ip.family() == 4 => 4,
            Self::Ip(_) => 16,
            Self::Cidr(cidr) => u64::try_from(cidr.prefix_length()).unwrap_or(0).div_ceil(8),
            _ => 1,
        }
    }

    pub(crate) fn equal(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Quantity(a), Self::Quantity(b)) => a == b,
            (Self::Url(a), Self::Url(b)) => a == b,
            (Self::Ip(a), Self::Ip(b)) => a == b,
            (Self::Cidr(a), Self::Cidr(b)) => a == b,
            (Self::Semver(a), Self::Semver(b)) => a == b,
            (Self::Format(a), Self::Format(b)) => a == b,
            _ => std::ptr::eq(self, other),
        }
    }

    /// The printed form, for the types that have one.
    pub fn text(&self) -> Option<String> {
        match self {
            Self::Quantity(value) => Some(value.to_string()),
            Self::Url(value) => Some(value.to_string()),
            Self::Ip(value) => Some(value.to_string()),
            Self::Cidr(value) => Some(value.to_string()),
            Self::Semver(value) => Some(format!(
                "{}.{}.{}",
                value.major(),
                value.minor(),
                value.patch()
            )),
            Self::Format(value) => Some(value.name().to_owned()),
            _ => None,
        }
    }
}
