//! Named formats: the checks behind `format.dns1123Label()` and its siblings, with the API's own messages.

mod data;
mod names;

use crate::timestamp;
use crate::url;

/// A named format of the Kubernetes library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamedFormat {
    /// A lower-case RFC 1123 label.
    Dns1123Label,
    /// Labels joined by dots.
    Dns1123Subdomain,
    /// A label that begins with a letter.
    Dns1035Label,
    /// A label key: an optional subdomain and a name.
    QualifiedName,
    /// A label to which more will be appended: it may end with a dash.
    Dns1123LabelPrefix,
    /// A subdomain to which more will be appended.
    Dns1123SubdomainPrefix,
    /// A DNS-1035 label to which more will be appended.
    Dns1035LabelPrefix,
    /// A label value.
    LabelValue,
    /// An absolute URI or absolute path.
    Uri,
    /// A UUID, with or without dashes.
    Uuid,
    /// Standard base64 with padding.
    Byte,
    /// `2006-01-02`
    Date,
    /// RFC 3339.
    DateTime,
}

/// Name in `format.X()`, name the value prints as, size of the pattern for costs (cel.md §13).
const TABLE: [(NamedFormat, &str, &str, u64); 13] = [
    (
        NamedFormat::Dns1123Label,
        "dns1123Label",
        "DNS1123Label",
        30,
    ),
    (
        NamedFormat::Dns1123Subdomain,
        "dns1123Subdomain",
        "DNS1123Subdomain",
        60,
    ),
    (
        NamedFormat::Dns1035Label,
        "dns1035Label",
        "DNS1035Label",
        30,
    ),
    (
        NamedFormat::QualifiedName,
        "qualifiedName",
        "QualifiedName",
        60,
    ),
    (
        NamedFormat::Dns1123LabelPrefix,
        "dns1123LabelPrefix",
        "DNS1123LabelPrefix",
        30,
    ),
    (
        NamedFormat::Dns1123SubdomainPrefix,
        "dns1123SubdomainPrefix",
        "DNS1123SubdomainPrefix",
        60,
    ),
    (
        NamedFormat::Dns1035LabelPrefix,
        "dns1035LabelPrefix",
        "DNS1035LabelPrefix",
        30,
    ),
    (NamedFormat::LabelValue, "labelValue", "LabelValue", 40),
    (NamedFormat::Uri, "uri", "URI", 1103),
    (NamedFormat::Uuid, "uuid", "uuid", 70),
    (NamedFormat::Byte, "byte", "byte", 84),
    (NamedFormat::Date, "date", "date", 71),
    (NamedFormat::DateTime, "datetime", "datetime", 71),
];

impl NamedFormat {
    /// Every format, in the order of the reference.
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.iter().map(|row| row.0)
    }

    /// The format called `name` in `format.named(name)`.
    pub fn named(name: &str) -> Option<Self> {
        TABLE.iter().find(|row| row.1 == name).map(|row| row.0)
    }

    fn row(self) -> &'static (Self, &'static str, &'static str, u64) {
        TABLE
            .iter()
            .find(|row| row.0 == self)
            .expect("every format has a row")
    }

    /// Name in CEL and in schemas: `dns1123Label`.
    pub fn name(self) -> &'static str {
        self.row().1
    }

    /// The name upstream's value carries: `DNS1123Label`.
    pub fn title(self) -> &'static str {
        self.row().2
    }

    /// The size of the pattern that `validate` is charged for.
    pub fn pattern_size(self) -> u64 {
        self.row().3
    }

    /// Validates `text` and returns the messages of the API; none if it has the format.
    pub fn validate(self, text: &str) -> Vec<String> {
        match self {
            Self::Dns1123Label => names::dns1123_label(text),
            Self::Dns1123Subdomain => names::dns1123_subdomain(text),
            Self::Dns1035Label => names::dns1035_label(text),
            Self::QualifiedName => names::qualified_name(text),
            Self::Dns1123LabelPrefix => names::dns1123_label(&names::mask_trailing_dash(text)),
            Self::Dns1123SubdomainPrefix => {
                names::dns1123_subdomain(&names::mask_trailing_dash(text))
            }
            Self::Dns1035LabelPrefix => names::dns1035_label(&names::mask_trailing_dash(text)),
            Self::LabelValue => names::label_value(text),
            Self::Uri => match url::parse_request_uri(text) {
                Ok(_) => Vec::new(),
                Err(error) => vec![error.to_string()],
            },
            Self::Uuid => unless(data::is_uuid(text), "does not match the UUID format"),
            Self::Byte => unless(data::is_base64(text), "invalid base64"),
            Self::Date => unless(timestamp::is_date(text), "invalid date"),
            Self::DateTime => unless(data::is_date_time(text), "invalid datetime"),
        }
    }
}

fn unless(holds: bool, message: &str) -> Vec<String> {
    if holds {
        Vec::new()
    } else {
        vec![message.to_owned()]
    }
}
