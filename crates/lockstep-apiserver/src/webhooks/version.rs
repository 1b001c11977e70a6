//! Versions of the review objects that are sent to webhooks.

/// A version of `AdmissionReview` or `ConversionReview`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReviewVersion {
    /// `v1`, whose responses must repeat the `uid` and name a `patchType`.
    V1,
    /// `v1beta1`, whose responses need neither.
    V1beta1,
}

impl ReviewVersion {
    /// The first supported version of a list in order of preference.
    pub fn first_of<'v>(versions: impl IntoIterator<Item = &'v str>) -> Option<Self> {
        versions.into_iter().find_map(|version| match version {
            "v1" => Some(Self::V1),
            "v1beta1" => Some(Self::V1beta1),
            _ => None,
        })
    }

    /// The version as written in `apiVersion`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::V1 => "v1",
            Self::V1beta1 => "v1beta1",
        }
    }
}
