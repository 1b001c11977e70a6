//! Priority levels, from their stored objects.

use lockstep_object::{Object, Value};

use crate::shuffle::is_dealable;
use crate::{CATCH_ALL, EXEMPT};

/// Shares of a level that names none.
const SHARES_DEFAULT: u32 = 30;

/// A `PriorityLevelConfiguration`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PriorityLevel {
    /// Name of the object.
    pub name: String,
    /// UID of the object; empty for a mandatory level without one.
    pub uid: String,
    /// Treatment of requests that find no seat.
    pub kind: Kind,
    /// Nominal share of the server's seats.
    pub shares: u32,
    /// Percentage of the nominal seats that other levels may borrow.
    pub lendable_percent: u32,
    /// Percentage of the nominal seats that the level may borrow; none means no limit.
    pub borrowing_percent: Option<u32>,
}

/// Treatment of requests that find no seat.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Requests are served at once.
    Exempt,
    /// Requests are refused.
    Reject,
    /// Requests wait in queues.
    Queue(Queuing),
}

/// Queues of a level.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Queuing {
    /// Number of queues.
    pub queues: u32,
    /// Number of queues that the requests of one flow may wait in.
    pub hand_size: u32,
    /// Most requests that wait in one queue.
    pub length_max: u32,
}

impl PriorityLevel {
    /// Reads a level. None if its parts contradict each other; validation refuses such objects, so that only one
    /// written by other software can be so.
    pub fn parse(object: &Object) -> Option<Self> {
        let spec = object.at(&["spec"])?;
        let (limited, exempt) = (part(spec, "limited"), part(spec, "exempt"));
        let is_exempt = match spec.get("type")?.as_str()? {
            "Limited" => false,
            "Exempt" => true,
            _ => return None,
        };
        if is_exempt != (object.name() == EXEMPT) || limited.is_some() == is_exempt {
            return None;
        }
        let common = limited.or(exempt);
        let number = |field: &str| {
            let value = common?.get(field)?.as_u64()?;
            u32::try_from(value).ok()
        };
        let default_shares = if is_exempt { 0 } else { SHARES_DEFAULT };
        Some(Self {
            name: object.name().to_owned(),
            uid: object.uid().to_owned(),
            kind: limited.map_or(Some(Kind::Exempt), limit_response)?,
            shares: number("nominalConcurrencyShares").unwrap_or(default_shares),
            lendable_percent: number("lendablePercent").unwrap_or(0).min(100),
            borrowing_percent: number("borrowingLimitPercent").or(is_exempt.then_some(0)),
        })
    }

    /// The level that is in force while no object has its name.
    pub(crate) fn mandatory_exempt() -> Self {
        Self {
            name: EXEMPT.to_owned(),
            uid: String::new(),
            kind: Kind::Exempt,
            shares: 0,
            lendable_percent: 0,
            borrowing_percent: Some(0),
        }
    }

    /// The level that is in force while no object has its name.
    pub(crate) fn mandatory_catch_all() -> Self {
        Self {
            name: CATCH_ALL.to_owned(),
            uid: String::new(),
            kind: Kind::Reject,
            shares: 5,
            lendable_percent: 0,
            borrowing_percent: None,
        }
    }
}

fn part<'a>(spec: &'a Value, field: &str) -> Option<&'a Value> {
    spec.get(field).filter(|value| !value.is_null())
}

fn limit_response(limited: &Value) -> Option<Kind> {
    let response = limited.get("limitResponse")?;
    let queuing = part(response, "queuing");
    match (response.get("type")?.as_str()?, queuing) {
        ("Reject", None) => Some(Kind::Reject),
        ("Queue", Some(queuing)) => {
            let number = |field, default| match queuing.get(field) {
                None => Some(default),
                Some(value) => u32::try_from(value.as_u64()?).ok(),
            };
            let queuing = Queuing {
                queues: number("queues", 64)?,
                hand_size: number("handSize", 8)?,
                length_max: number("queueLengthLimit", 50)?,
            };
            is_dealable(queuing.queues, queuing.hand_size).then_some(Kind::Queue(queuing))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parsed(name: &str, spec: &Value) -> Option<PriorityLevel> {
        let object = json!({ "metadata": { "name": name, "uid": "u" }, "spec": spec });
        PriorityLevel::parse(&Object::from_value(object).unwrap())
    }

    #[test]
    fn a_level_has_upstreams_defaults() {
        let spec = json!({ "type": "Limited", "limited": { "limitResponse": { "type": "Queue", "queuing": {} } } });
        let level = PriorityLevel {
            name: "a".to_owned(),
            uid: "u".to_owned(),
            kind: Kind::Queue(Queuing {
                queues: 64,
                hand_size: 8,
                length_max: 50,
            }),
            shares: 30,
            lendable_percent: 0,
            borrowing_percent: None,
        };
        assert_eq!(parsed("a", &spec), Some(level));
        let exempt = PriorityLevel {
            uid: "u".to_owned(),
            ..PriorityLevel::mandatory_exempt()
        };
        assert_eq!(parsed("exempt", &json!({ "type": "Exempt" })), Some(exempt));
    }

    #[test]
    fn a_level_that_contradicts_itself_is_ignored() {
        let reject = json!({ "limitResponse": { "type": "Reject" } });
        for (name, spec) in [
            ("a", json!({})),
            ("a", json!({ "type": "Exempt" })),
            ("exempt", json!({ "type": "Limited", "limited": reject })),
            ("a", json!({ "type": "Limited" })),
            (
                "a",
                json!({ "type": "Limited", "limited": { "limitResponse": { "type": "Queue" } } }),
            ),
            (
                "a",
                json!({ "type": "Limited", "limited": { "limitResponse":
                { "type": "Queue", "queuing": { "queues": 4, "handSize": 5 } } } }),
            ),
            (
                "a",
                json!({ "type": "Limited", "limited": { "limitResponse":
                { "type": "Reject", "queuing": { "queues": 4 } } } }),
            ),
        ] {
            assert_eq!(parsed(name, &spec), None, "{spec}");
        }
    }
}
