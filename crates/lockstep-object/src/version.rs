//! Priority order of API versions.

use std::cmp::Ordering;

/// Orders versions as discovery lists them: GA by number, then beta, then alpha, newest first; other names after
/// those, by the alphabet.
///
/// ```
/// let mut versions = ["v1alpha1", "foo10", "v1", "v10", "v2beta1", "v1beta2", "foo1"];
/// versions.sort_by(|a, b| lockstep_object::compare_versions(a, b));
/// assert_eq!(versions, ["v10", "v1", "v2beta1", "v1beta2", "v1alpha1", "foo1", "foo10"]);
/// ```
pub fn compare_versions(a: &str, b: &str) -> Ordering {
    match (parse(a), parse(b)) {
        (Some(a), Some(b)) => b.cmp(&a),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => a.cmp(b),
    }
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Alpha,
    Beta,
    Ga,
}

/// Stage first, then the two numbers.
fn parse(version: &str) -> Option<(Stage, i64, i64)> {
    let rest = version.strip_prefix('v')?;
    for (word, stage) in [("alpha", Stage::Alpha), ("beta", Stage::Beta)] {
        if let Some((major, minor)) = rest.split_once(word) {
            return Some((stage, number(major)?, number(minor)?));
        }
    }
    Some((Stage::Ga, number(rest)?, 0))
}

fn number(digits: &str) -> Option<i64> {
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| digits.parse().ok()).flatten()
}
