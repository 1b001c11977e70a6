//! In which version a webhook is asked, whatever it is asked for.

/// A version of `AdmissionReview` or `ConversionReview`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReviewVersion {
    /// `v1`, whose answers name what they answer, and how they change an object.
    V1,
    /// `v1beta1`, whose answers need not.
    V1beta1,
}

impl ReviewVersion {
    /// The first of some versions that is spoken here.
    pub fn first_of<'v>(versions: impl IntoIterator<Item = &'v str>) -> Option<Self> {
        versions.into_iter().find_map(|version| match version {
            "v1" => Some(Self::V1),
            "v1beta1" => Some(Self::V1beta1),
            _ => None,
        })
    }

    /// As it is written.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::V1 => "v1",
            Self::V1beta1 => "v1beta1",
        }
    }
}
