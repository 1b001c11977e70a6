//! Row format of versions in the pairs table.

use lockstep_mvcc::{KeyValue, Revision};

use super::StateError;

/// Key of a version: revision and sub-revision.
pub(crate) type Place = (Revision, u32);

pub(crate) fn place(kv: &KeyValue) -> Place {
    (kv.mod_revision, kv.sub_revision)
}

pub(super) fn row_key((revision, sub): Place) -> [u8; 12] {
    let mut key = [0; 12];
    key[..8].copy_from_slice(&revision.0.to_be_bytes());
    key[8..].copy_from_slice(&sub.to_be_bytes());
    key
}

pub(super) fn row_value(kv: &KeyValue) -> Vec<u8> {
    let mut value = Vec::with_capacity(kv.key.len() + kv.value.len() + 64);
    kv.encode(&mut value);
    let checksum = crc32c::crc32c(&value);
    value.extend_from_slice(&checksum.to_le_bytes());
    value
}

pub(super) fn read_row(key: &[u8], value: &[u8]) -> Result<KeyValue, StateError> {
    let contradiction = StateError::Contradiction {
        what: "a row has no revision",
    };
    let key: &[u8; 12] = key.try_into().map_err(|_| contradiction)?;
    let (main, sub) = key.split_at(8);
    let revision = Revision(main.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte)));
    let sub = sub.iter().fold(0, |sum, byte| sum << 8 | u32::from(*byte));
    let damaged = |what| StateError::Damaged {
        revision,
        sub,
        offset: None,
        what,
    };
    let (pair, checksum) = value
        .split_last_chunk()
        .ok_or_else(|| damaged("it is cut short"))?;
    if u32::from_le_bytes(*checksum) != crc32c::crc32c(pair) {
        return Err(damaged("its checksum does not match"));
    }
    let kv = KeyValue::decode(pair).map_err(|error| damaged(error.what))?;
    if place(&kv) != (revision, sub) {
        return Err(damaged("it holds another revision"));
    }
    Ok(kv)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockstep_mvcc::LeaseId;

    #[test]
    fn a_row_comes_back_and_no_flipped_bit_does() {
        let kv = KeyValue {
            key: "key".into(),
            value: "value".into(),
            create_revision: Revision(0x0102),
            mod_revision: Revision(0x0304),
            sub_revision: 5,
            version: 6,
            lease: LeaseId(7),
        };
        let (key, value) = (row_key(place(&kv)), row_value(&kv));
        assert_eq!(key, [0, 0, 0, 0, 0, 0, 3, 4, 0, 0, 0, 5]);
        assert_eq!(read_row(&key, &value).unwrap(), kv);
        for at in 0..value.len() {
            let mut flipped = value.clone();
            flipped[at] ^= 4;
            let refused = read_row(&key, &flipped).unwrap_err().to_string();
            let expected = "the row of revision 772.5 is damaged: its checksum does not match";
            assert_eq!(refused, expected, "byte {at}");
        }
        let other = row_key((Revision(0x0305), 5));
        let refused = read_row(&other, &value).unwrap_err().to_string();
        assert_eq!(
            refused,
            "the row of revision 773.5 is damaged: it holds another revision"
        );
    }
}
