//! `metadata.generateName`.

/// Characters of a suffix: no vowels, no digits that look like letters, so that no words come out.
pub const GENERATE_NAME_ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
/// Length of a suffix.
pub const GENERATE_NAME_SUFFIX_BYTES: usize = 5;
/// Maximum number of retries with another suffix if the name already exists.
pub const GENERATE_NAME_RETRIES_MAX: usize = 8;
/// Maximum length of a generated name.
const NAME_BYTES_MAX: usize = 63;

/// `generateName` cut to fit, and a suffix picked by the random numbers that the caller hands in.
///
/// ```
/// use lockstep_object::metadata::generated_name;
/// assert_eq!(generated_name("job-", [0, 1, 26, 27, 28]), "job-bc9bc");
/// ```
pub fn generated_name(base: &str, random: [u32; GENERATE_NAME_SUFFIX_BYTES]) -> String {
    let mut end = base.len().min(NAME_BYTES_MAX - GENERATE_NAME_SUFFIX_BYTES);
    while !base.is_char_boundary(end) {
        end -= 1;
    }
    let letters = random.iter().map(|number| {
        let at = *number as usize % GENERATE_NAME_ALPHABET.len();
        char::from(GENERATE_NAME_ALPHABET[at])
    });
    base[..end].chars().chain(letters).collect()
}
