//! Cost limits and messages of validation rules.

use crate::estimate::Estimate;
use crate::schema::{Schema, Sizes};

/// Estimated cost of one rule, over all objects it runs on in one request.
pub const RULE_COST_MAX: u64 = 10_000_000;
/// Estimated cost of all rules of a CRD.
pub const CRD_COST_MAX: u64 = 100_000_000;
/// Runtime cost of all rules for one object, or of all expressions of a policy binding.
pub const REQUEST_COST_MAX: u64 = 10_000_000;
/// Runtime cost of the match conditions of one webhook or policy.
pub const MATCH_CONDITIONS_COST_MAX: u64 = 2_500_000;
/// Said when [`REQUEST_COST_MAX`] is used up.
pub const OUT_OF_BUDGET: &str =
    "validation failed due to running out of cost budget, no further validation rules will be run";
/// Longest evaluated `messageExpression`, in bytes.
pub const MESSAGE_BYTES_MAX: usize = 5_120;
/// Largest request the estimate assumes.
const REQUEST_BYTES: u64 = 3 * 1024 * 1024;

/// Maximum number of evaluations of a rule per request: one for each value that its position in the schema allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cardinality {
    bounded: Option<u64>,
}

impl Cardinality {
    /// A rule at the root runs once.
    pub const ONE: Self = Self { bounded: Some(1) };

    /// A rule below a list or map runs for each element; without a limit there is none.
    #[must_use]
    pub fn below(self, max: Option<u64>) -> Self {
        let bounded = self
            .bounded
            .zip(max)
            .map(|(outer, max)| outer.saturating_mul(max));
        Self { bounded }
    }

    /// The number for a rule on values of this schema: unlimited ones are limited by what fits into a request.
    pub fn of(self, schema: &Schema) -> u64 {
        self.bounded
            .unwrap_or_else(|| REQUEST_BYTES / (Sizes::least(schema) + 1))
    }
}

/// The estimated cost of a rule over a whole request.
pub fn rule_cost(estimate: Estimate, cardinality: u64) -> u64 {
    estimate.max.saturating_mul(cardinality)
}

/// Error message for a rule whose estimated cost exceeds a limit.
pub fn excess_message(cost: u64, limit: u64) -> Option<String> {
    if cost <= limit {
        return None;
    }
    #[expect(clippy::cast_precision_loss, reason = "shown with a few digits")]
    let factor = cost as f64 / limit as f64;
    let factor = match factor {
        factor if factor > 100.0 => "more than 100x".to_owned(),
        factor if factor < 1.5 => format!("{factor:.6}x"),
        factor => format!("{factor:.1}x"),
    };
    Some(format!(
        "estimated rule cost exceeds budget by factor of {factor} (try simplifying the rule, or adding maxItems, \
         maxProperties, and maxLength where arrays, maps, and strings are declared)"
    ))
}

/// The message a `messageExpression` gave, unless it is none to show: then the static one counts.
pub fn usable_message(text: &str) -> Option<&str> {
    let text = text.trim();
    let shown = !text.is_empty() && text.len() <= MESSAGE_BYTES_MAX && !text.contains('\n');
    shown.then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::Resource;
    use serde_json::json;

    /// cel.md §13, rule cost
    #[test]
    fn an_unlimited_list_is_limited_by_the_request() {
        let schema =
            json!({"type": "object", "required": ["a"], "properties": {"a": {"type": "boolean"}}});
        let schema = Schema::from_structural(&schema, "selfType", Resource::Part).unwrap();
        assert_eq!(
            Cardinality::ONE.below(Some(10)).below(Some(5)).of(&schema),
            50
        );
        assert_eq!(
            Cardinality::ONE.below(Some(10)).below(None).of(&schema),
            3 * 1024 * 1024 / (2 + 1 + 4 + 4 + 1)
        );
        assert_eq!(
            rule_cost(
                Estimate {
                    min: 0,
                    max: u64::MAX
                },
                2
            ),
            u64::MAX
        );
    }

    /// cel.md §13, message
    #[test]
    fn the_factor_is_shown_with_as_many_digits_as_help() {
        let factor = |cost: u64| {
            let message = excess_message(cost, 10).unwrap();
            message["estimated rule cost exceeds budget by factor of ".len()
                ..message.find(" (try").unwrap()]
                .to_owned()
        };
        assert_eq!(excess_message(10, 10), None);
        assert_eq!(
            [factor(11), factor(25), factor(1_001)],
            ["1.100000x", "2.5x", "more than 100x"]
        );
    }

    /// cel.md §3
    #[test]
    fn limits_are_those_of_the_table() {
        assert_eq!(crate::EXPRESSION_COST_MAX, 1_000_000);
        assert_eq!(REQUEST_COST_MAX, 10_000_000);
        assert_eq!(MATCH_CONDITIONS_COST_MAX, 2_500_000);
        assert_eq!((RULE_COST_MAX, CRD_COST_MAX), (10_000_000, 100_000_000));
        assert_eq!(MESSAGE_BYTES_MAX, 5_120);
    }

    /// cel.md §3, evaluated messageExpression
    #[test]
    fn messages_are_trimmed_short_and_of_one_line() {
        assert_eq!(usable_message(" a b "), Some("a b"));
        assert_eq!([usable_message(" "), usable_message("a\nb")], [None, None]);
        assert_eq!(usable_message(&"a".repeat(MESSAGE_BYTES_MAX + 1)), None);
    }
}
