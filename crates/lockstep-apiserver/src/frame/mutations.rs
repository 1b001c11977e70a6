//! `Lockstep-Mutated-By` headers: which policy wrote which fields of the object in the response.

use std::collections::{BTreeMap, BTreeSet};

use http::{HeaderName, HeaderValue};

/// The header: `policy;.path,.path`, one for each policy.
pub(super) const MUTATED_BY: HeaderName = HeaderName::from_static("lockstep-mutated-by");
/// Most policies that are named.
const POLICIES_MAX: usize = 16;
/// Longest value, in bytes; the fields that do not fit are left out, and `...` stands for them.
const VALUE_BYTES_MAX: usize = 512;
const MORE: &str = "...";

/// A value for each policy. Fields that a header cannot hold are left out, too.
pub(super) fn headers(mutations: &BTreeMap<String, BTreeSet<String>>) -> Vec<HeaderValue> {
    let values = mutations
        .iter()
        .take(POLICIES_MAX)
        .filter_map(|(policy, fields)| {
            let mut value = format!("{policy};");
            let mut separator = "";
            for field in fields {
                let fits = value.len() + field.len() + MORE.len() < VALUE_BYTES_MAX;
                let is_plain = field
                    .bytes()
                    .all(|byte| byte.is_ascii_graphic() || byte == b' ');
                if !fits || !is_plain {
                    value.push_str(separator);
                    value.push_str(MORE);
                    break;
                }
                value.push_str(separator);
                value.push_str(field);
                separator = ",";
            }
            HeaderValue::from_str(&value).ok()
        });
    values.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ux.md §6
    #[test]
    fn a_header_is_bounded_and_names_fields_that_it_can_hold() {
        let shown = |fields: &[&str]| {
            let fields = fields.iter().map(|&field| field.to_owned()).collect();
            let mutations = BTreeMap::from([("p".to_owned(), fields)]);
            let headers = headers(&mutations);
            headers[0].to_str().expect("it is plain text").to_owned()
        };
        assert_eq!(shown(&[".a", ".b[\"c\"]"]), "p;.a,.b[\"c\"]");
        assert_eq!(shown(&[".a", ".b\u{fc}"]), "p;.a,...");
        let long = format!(".{}", "x".repeat(300));
        let longer = format!(".{}", "y".repeat(300));
        assert_eq!(shown(&[&long, &longer]), format!("p;{long},..."));
    }
}
