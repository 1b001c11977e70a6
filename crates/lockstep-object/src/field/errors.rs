//! The list that a validation collects its errors in.

use super::FieldError;

/// Most field errors that are reported of one object.
///
/// Upstream reports all. Its texts are kept for the first ones, and the rest is counted: an object of the largest size
/// can have a fault for every two bytes.
pub const FIELD_ERRORS_MAX: usize = 100;
/// Bytes of all reported field errors of one object together, by which their number may be smaller than
/// [`FIELD_ERRORS_MAX`]. The first one is always reported.
pub const FIELD_ERRORS_BYTES_MAX: usize = 64 << 10;

/// The errors of an object in the order they were found: the first ones whole, the rest as a number.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FieldErrors {
    /// INVARIANT: the first ones that were found.
    kept: Vec<FieldError>,
    bytes: usize,
    found: usize,
}

impl FieldErrors {
    /// No errors.
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of errors that were found, kept or not.
    pub fn len(&self) -> usize {
        self.found
    }

    /// True if no error was found.
    pub fn is_empty(&self) -> bool {
        self.found == 0
    }

    /// Number of errors that were found and not kept.
    pub fn more(&self) -> usize {
        self.found - self.kept.len()
    }

    /// True if errors are counted from here on, and not kept.
    pub fn is_full(&self) -> bool {
        self.more() > 0
            || self.kept.len() >= FIELD_ERRORS_MAX
            || self.bytes >= FIELD_ERRORS_BYTES_MAX
    }

    /// Adds an error.
    pub fn push(&mut self, error: FieldError) {
        self.push_with(|| error);
    }

    /// Adds an error that is not made if it would not be kept.
    pub fn push_with(&mut self, error: impl FnOnce() -> FieldError) {
        if !self.is_full() {
            let error = error();
            self.bytes += error.bytes();
            self.kept.push(error);
        }
        self.found += 1;
    }

    /// Adds all errors of another list.
    pub fn append(&mut self, other: Self) {
        let more = other.more();
        self.extend(other.kept);
        self.found += more;
    }

    /// Takes away the errors from this one on, where [`len`](Self::len) was `from`.
    #[must_use]
    pub fn split_off(&mut self, from: usize) -> Self {
        let kept = self.kept.split_off(from.min(self.kept.len()));
        let bytes = kept.iter().map(FieldError::bytes).sum();
        let found = self.found - from;
        self.bytes -= bytes;
        self.found = from;
        Self { kept, bytes, found }
    }

    /// Takes away the last error if it is kept and fits.
    pub fn pop_if(&mut self, fits: impl FnOnce(&FieldError) -> bool) -> Option<FieldError> {
        if self.more() > 0 || !self.kept.last().is_some_and(fits) {
            return None;
        }
        let mut last = self.split_off(self.found - 1);
        last.kept.pop()
    }

    /// Drops kept errors.
    pub fn retain(&mut self, keep: impl FnMut(&FieldError) -> bool) {
        let more = self.more();
        self.kept.retain(keep);
        self.bytes = self.kept.iter().map(FieldError::bytes).sum();
        self.found = self.kept.len() + more;
    }

    /// Sorts the errors that are kept by their texts.
    pub fn sort_by_text(&mut self) {
        self.kept.sort_by_cached_key(ToString::to_string);
    }

    /// The errors that are kept.
    pub fn iter(&self) -> std::slice::Iter<'_, FieldError> {
        self.kept.iter()
    }

    /// The errors that are kept.
    pub fn as_slice(&self) -> &[FieldError] {
        &self.kept
    }
}

impl Extend<FieldError> for FieldErrors {
    fn extend<I: IntoIterator<Item = FieldError>>(&mut self, errors: I) {
        for error in errors {
            self.push(error);
        }
    }
}

impl FromIterator<FieldError> for FieldErrors {
    fn from_iter<I: IntoIterator<Item = FieldError>>(errors: I) -> Self {
        let mut all = Self::new();
        all.extend(errors);
        all
    }
}

impl<const N: usize> From<[FieldError; N]> for FieldErrors {
    fn from(errors: [FieldError; N]) -> Self {
        errors.into_iter().collect()
    }
}

impl<'a> IntoIterator for &'a FieldErrors {
    type Item = &'a FieldError;
    type IntoIter = std::slice::Iter<'a, FieldError>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Path;
    use super::*;

    fn error(number: usize) -> FieldError {
        FieldError::required(&Path::ROOT.index(number), "")
    }

    fn first(count: usize) -> Vec<FieldError> {
        (0..count).map(error).collect()
    }

    #[test]
    fn the_first_errors_are_kept_and_the_rest_is_counted_and_not_made() {
        let mut errors: FieldErrors = (0..FIELD_ERRORS_MAX).map(error).collect();
        assert_eq!((errors.len(), errors.more()), (FIELD_ERRORS_MAX, 0));
        for _ in 0..7 {
            errors.push_with(|| unreachable!("it would not be kept"));
        }
        assert_eq!((errors.len(), errors.more()), (FIELD_ERRORS_MAX + 7, 7));
        assert_eq!(errors.as_slice(), first(FIELD_ERRORS_MAX));
    }

    #[test]
    fn long_errors_are_fewer() {
        let long = FieldError::required(&Path::ROOT, "x".repeat(4000));
        let mut errors = FieldErrors::new();
        errors.extend(std::iter::repeat_n(long, FIELD_ERRORS_MAX));
        let kept = FIELD_ERRORS_BYTES_MAX / 4000 + 1;
        assert_eq!(
            (errors.as_slice().len(), errors.more()),
            (kept, FIELD_ERRORS_MAX - kept)
        );
    }

    #[test]
    fn errors_are_taken_back_and_put_in_again_without_a_change_of_their_number() {
        let mut errors: FieldErrors = (0..FIELD_ERRORS_MAX + 5).map(error).collect();
        let whole = errors.clone();
        for from in [
            0,
            1,
            FIELD_ERRORS_MAX,
            FIELD_ERRORS_MAX + 3,
            FIELD_ERRORS_MAX + 5,
        ] {
            let taken = errors.split_off(from);
            assert_eq!(
                (errors.len(), taken.len()),
                (from, FIELD_ERRORS_MAX + 5 - from)
            );
            errors.append(taken);
            assert_eq!(errors, whole);
        }
    }
}
