//! "Did you mean …?"

/// The largest edit distance at which a name is offered in place of an unknown one.
const SUGGESTION_DISTANCE_MAX: usize = 2;

/// The closest known name, if it is close enough to be a typing error.
pub fn suggestion<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let distance = |other: &str| {
        if other.eq_ignore_ascii_case(name) {
            0
        } else {
            strsim::osa_distance(name, other)
        }
    };
    let half = name.chars().count().saturating_sub(1) / 2;
    let allowed = SUGGESTION_DISTANCE_MAX.min(half);
    known
        .map(|other| (distance(other), other))
        .filter(|&(distance, _)| distance <= allowed && allowed > 0)
        .min()
        .map(|(_, other)| other)
}
