//! From the name users write to the constant code uses.

/// `FieldLevel` becomes `FIELD_LEVEL`, `CRDFieldLevel` becomes `CRD_FIELD_LEVEL`.
pub(crate) fn constant_name(name: &str) -> String {
    let characters: Vec<char> = name.chars().collect();
    let mut constant = String::with_capacity(name.len() + 8);
    for (at, &character) in characters.iter().enumerate() {
        let before = at.checked_sub(1).map(|before| characters[before]);
        let after = characters.get(at + 1);
        let starts_word = character.is_ascii_uppercase()
            && before.is_some_and(|before| {
                !before.is_ascii_uppercase() || after.is_some_and(char::is_ascii_lowercase)
            });
        if starts_word && !constant.ends_with('_') {
            constant.push('_');
        }
        constant.push(character.to_ascii_uppercase());
    }
    constant
}

#[cfg(test)]
mod tests {
    use super::constant_name;

    #[test]
    fn words_and_abbreviations_are_told_apart() {
        for (name, constant) in [
            ("FieldLevel", "FIELD_LEVEL"),
            ("CRDFieldLevelVersioning", "CRD_FIELD_LEVEL_VERSIONING"),
            ("StorageVersionAPI", "STORAGE_VERSION_API"),
            ("KMSv1", "KM_SV1"),
            ("A", "A"),
            ("kube", "KUBE"),
            ("Ipv6Dual2Stack", "IPV6_DUAL2_STACK"),
        ] {
            assert_eq!(constant_name(name), constant);
        }
    }
}
