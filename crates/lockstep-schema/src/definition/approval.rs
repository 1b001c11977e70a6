//! API approval of definitions in Kubernetes community groups.

use std::fmt;

use lockstep_gotext::url::parse_request_uri;
use lockstep_object::Object;

/// Annotation that records the approval.
pub(super) const APPROVAL: &str = "api-approved.kubernetes.io";

const SEE: &str = "see https://github.com/kubernetes/enhancements/pull/1111";

/// Approval state of a definition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Approval {
    /// Nothing.
    Missing,
    /// Approval is bypassed, with a reason.
    Bypassed(String),
    /// URL of the approval.
    Given(String),
    /// Any other value.
    Invalid,
}

impl Approval {
    /// The approval of a definition; none if its group needs none.
    pub fn of(definition: &Object) -> Option<Self> {
        let group = definition.at(&["spec", "group"]);
        let group = group.and_then(|group| group.as_str()).unwrap_or_default();
        let annotation = definition.annotation(APPROVAL).unwrap_or_default();
        is_protected(group).then(|| Self::said(annotation))
    }

    fn said(annotation: &str) -> Self {
        let is_url = || {
            parse_request_uri(annotation)
                .is_ok_and(|url| !url.host().is_empty() && !url.scheme().is_empty())
        };
        match annotation {
            "" => Self::Missing,
            text if text.starts_with("unapproved") => Self::Bypassed(text.to_owned()),
            url if is_url() => Self::Given(url.to_owned()),
            _ => Self::Invalid,
        }
    }

    /// The reason of the condition, which is true only for [`Approval::Given`].
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Missing => "MissingAnnotation",
            Self::Bypassed(_) => "UnapprovedAnnotation",
            Self::Given(_) => "ApprovedAnnotation",
            Self::Invalid => "InvalidAnnotation",
        }
    }
}

impl fmt::Display for Approval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => write!(
                f,
                "protected groups must have approval annotation \"{APPROVAL}\", {SEE}"
            ),
            Self::Bypassed(why) => {
                write!(f, "not approved: {}", lockstep_object::go::quote(why))
            }
            Self::Given(url) => write!(f, "approved in {url}"),
            Self::Invalid => write!(
                f,
                "protected groups must have approval annotation \"{APPROVAL}\" with either a URL \
                 or a reason starting with \"unapproved\", {SEE}"
            ),
        }
    }
}

/// True for groups under `k8s.io` and `kubernetes.io`.
fn is_protected(group: &str) -> bool {
    ["k8s.io", "kubernetes.io"].iter().any(|domain| {
        group
            .strip_suffix(domain)
            .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    })
}
