//! Content negotiation.

use http::HeaderMap;
use http::header::USER_AGENT;
use lockstep_object::ApiError;
use lockstep_object::field::{FieldError, Path};

use super::accept::{self, MediaRange};
use super::{Encoding, Form, Include, MetaVersion, Shape};
use crate::request::Query;

/// The media type of JSON.
pub(crate) const JSON: &str = "application/json";
/// The media type of YAML.
pub(crate) const YAML: &str = "application/yaml";
/// The media type of protobuf.
pub(crate) const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

/// Available encodings in order of preference, for clients that accept any. A new entry here takes part in negotiation
/// and in the text of 406, and `finish` has to encode it.
const OFFERS: &[Offer] = &[
    Offer {
        media_type: JSON,
        encoding: Encoding::Json,
        streams: true,
    },
    Offer {
        media_type: YAML,
        encoding: Encoding::Yaml,
        streams: false,
    },
];

/// `User-Agent` prefixes of interactive clients, which receive indented JSON by default as upstream.
const PEOPLE: [&str; 3] = ["curl", "Wget", "Mozilla/5.0"];

struct Offer {
    media_type: &'static str,
    encoding: Encoding,
    /// True if the encoding supports watch streams.
    streams: bool,
}

/// Kind of response, which determines the available shapes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Asked {
    /// One object.
    Object,
    /// A list.
    List,
    /// Watch events.
    Watch,
    /// Document without other shapes, such as a review.
    Document,
}

/// Media types that request bodies may have.
pub(crate) fn body_types() -> Vec<&'static str> {
    OFFERS.iter().map(|offer| offer.media_type).collect()
}

impl Form {
    /// Chooses the available representation that the client prefers; 406 if it accepts none. Objects are stored as
    /// JSON, so protobuf is chosen only if nothing else is accepted.
    pub fn negotiate(headers: &HeaderMap, query: &Query, asked: Asked) -> Result<Self, ApiError> {
        let ranges = accept::ranges(headers);
        let mut taken = ranges.iter().filter_map(|range| {
            let (encoding, kind) = offered(range, asked)?;
            Some((range, encoding, kind))
        });
        let Some((range, encoding, kind)) = taken.next() else {
            let shape = ranges.iter().find_map(|range| message_shape(range, asked));
            let encoding = Encoding::Protobuf;
            return shape
                .map(|shape| Self { shape, encoding })
                .ok_or_else(|| refusal(asked));
        };
        let is_indented = asked != Asked::Watch && is_for_people(headers, query, range);
        Ok(Self {
            shape: kind.shape(query)?,
            encoding: match encoding {
                Encoding::Json if is_indented => Encoding::IndentedJson,
                encoding => encoding,
            },
        })
    }
}

/// True if an available encoding matches a media range.
pub(crate) fn is_offered(range: &MediaRange, asked: Asked) -> bool {
    offered(range, asked).is_some()
}

/// First available encoding that matches a media range.
fn offered(range: &MediaRange, asked: Asked) -> Option<(Encoding, Kind)> {
    let mut offers = OFFERS.iter();
    let offer = offers.find(|offer| offer.is_within(range, asked))?;
    Some((offer.encoding, Kind::of(range, asked)?))
}

/// Shape of a protobuf response; none if the media range is not protobuf or the shape has no protobuf encoding.
fn message_shape(range: &MediaRange, asked: Asked) -> Option<Shape> {
    let is_right_stream = ["", "watch"].contains(&range.parameter("stream"));
    if range.media_type != PROTOBUF || !is_right_stream {
        return None;
    }
    match Kind::of(range, asked)? {
        Kind::Own => Some(Shape::Whole),
        Kind::Metadata(MetaVersion::V1) => Some(Shape::Metadata(MetaVersion::V1)),
        Kind::Metadata(MetaVersion::V1Beta1) | Kind::Table(_) => None,
    }
}

fn refusal(asked: Asked) -> ApiError {
    let offers = OFFERS
        .iter()
        .filter(|offer| offer.streams || asked != Asked::Watch);
    let names = offers.map(|offer| offer.media_type).chain([PROTOBUF]);
    let names: Vec<String> = match asked {
        Asked::Watch => names.map(|name| format!("{name};stream=watch")).collect(),
        _ => names.map(str::to_owned).collect(),
    };
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    ApiError::not_acceptable(&names)
}

impl Offer {
    fn is_within(&self, range: &MediaRange, asked: Asked) -> bool {
        let accepted = [self.media_type, "application/*", "*/*"];
        let can_be_sent = self.streams || asked != Asked::Watch;
        let stream = range.parameter("stream");
        let is_right_stream = stream.is_empty() || (stream == "watch" && asked == Asked::Watch);
        accepted.contains(&range.media_type.as_str()) && can_be_sent && is_right_stream
    }
}

/// Value of the `as` parameter of a media range.
enum Kind {
    Own,
    Metadata(MetaVersion),
    Table(MetaVersion),
}

impl Kind {
    /// Parses the `as`, `g` and `v` parameters; none if the combination is unavailable.
    fn of(range: &MediaRange, asked: Asked) -> Option<Self> {
        let kind = range.parameter("as");
        if kind.is_empty() {
            return Some(Self::Own);
        }
        if range.parameter("g") != "meta.k8s.io" {
            return None;
        }
        let version = MetaVersion::named(range.parameter("v"))?;
        match (kind, asked) {
            (_, Asked::Document) | ("PartialObjectMetadataList", Asked::Object) => None,
            ("Table", _) => Some(Self::Table(version)),
            ("PartialObjectMetadata" | "PartialObjectMetadataList", _) => {
                Some(Self::Metadata(version))
            }
            _ => None,
        }
    }

    fn shape(&self, query: &Query) -> Result<Shape, ApiError> {
        Ok(match self {
            Self::Own => Shape::Whole,
            Self::Metadata(version) => Shape::Metadata(*version),
            Self::Table(version) => Shape::Table(*version, include(query)?),
        })
    }
}

/// Parses `includeObject`.
fn include(query: &Query) -> Result<Include, ApiError> {
    match query.get("includeObject").unwrap_or_default() {
        "None" => Ok(Include::None),
        "" | "Metadata" => Ok(Include::Metadata),
        "Object" => Ok(Include::Object),
        other => {
            let path = Path::ROOT.field("includeObject");
            let detail = "must be 'Metadata', 'Object', 'None', or empty";
            let error = FieldError::invalid(&path, other, detail);
            Err(ApiError::bad_request(format!(
                "Unable to convert to Table as requested: {error}"
            )))
        }
    }
}

/// True if the response is to be indented: `pretty` decides, else the `User-Agent`.
fn is_for_people(headers: &HeaderMap, query: &Query, range: &MediaRange) -> bool {
    if let Some(pretty) = query.get("pretty").filter(|pretty| !pretty.is_empty()) {
        return matches!(pretty, "1" | "t" | "T" | "true" | "True" | "TRUE");
    }
    let agent = headers
        .get(USER_AGENT)
        .and_then(|agent| agent.to_str().ok());
    let agent = agent.unwrap_or_default();
    range.parameter("pretty") == "1" || PEOPLE.iter().any(|known| agent.starts_with(known))
}
