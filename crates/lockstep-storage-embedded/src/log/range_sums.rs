//! Checksums of many ranges of one segment, without reading the ranges again.
//!
//! A search for frames meets places that look like a frame of any length, at worst one at almost every byte. Reading
//! each of them to its end would take time quadratic in the size of the segment, and a client could write values that
//! cause it. CRC-32C is linear, so the checksum of a range follows from those of two prefixes of the segment.

/// Distance between two stored prefix checksums, which bounds the bytes that are read for one range.
pub(super) const STRIDE_BYTES: usize = 64;
const CRC_BITS: usize = 32;

/// Effect of a number of zero bytes on a checksum: the images of its bits.
type Shift = [u32; CRC_BITS];

/// Checksums of ranges of `bytes`.
pub(super) struct RangeSums<'a> {
    bytes: &'a [u8],
    /// Checksums of the first 0, 64, 128, … bytes, as far as they were needed.
    prefixes: Vec<u32>,
    /// Shifts by 1, 2, 4, … bytes, as far as they were needed.
    shifts: Vec<Shift>,
    /// Number of bytes read.
    #[cfg(test)]
    pub(super) read_bytes: usize,
}

impl<'a> RangeSums<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            prefixes: vec![0],
            shifts: Vec::new(),
            #[cfg(test)]
            read_bytes: 0,
        }
    }

    pub(super) fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Checksum of `length` bytes from `start`, appended to what has the checksum `initial`. The range must lie
    /// within the bytes.
    pub(super) fn append(&mut self, initial: u32, start: usize, length: usize) -> u32 {
        let (before, all) = (self.prefix(start), self.prefix(start + length));
        all ^ self.shifted(initial ^ before, length)
    }

    /// Checksum of the first `end` bytes.
    fn prefix(&mut self, end: usize) -> u32 {
        let nth = end / STRIDE_BYTES;
        while self.prefixes.len() <= nth {
            let known = self.prefixes.len() - 1;
            let next = self.append_read(known, (known + 1) * STRIDE_BYTES);
            self.prefixes.push(next);
        }
        self.append_read(nth, end)
    }

    /// Extends a stored checksum up to `end`.
    fn append_read(&mut self, nth: usize, end: usize) -> u32 {
        let bytes = &self.bytes[nth * STRIDE_BYTES..end];
        #[cfg(test)]
        {
            self.read_bytes += bytes.len();
        }
        crc32c::crc32c_append(self.prefixes[nth], bytes)
    }

    /// A checksum after `length` zero bytes, without the inversions that would make this an affine map.
    fn shifted(&mut self, checksum: u32, length: usize) -> u32 {
        let powers = (usize::BITS - length.leading_zeros()) as usize;
        while self.shifts.len() < powers {
            let shift = match self.shifts.last() {
                Some(half) => half.map(|image| apply(half, image)),
                None => std::array::from_fn(|bit| crc32c::crc32c_combine(1 << bit, 0, 1)),
            };
            self.shifts.push(shift);
        }
        let shifts = self.shifts[..powers].iter().enumerate();
        let needed = shifts.filter(|(power, _)| length >> power & 1 == 1);
        needed.fold(checksum, |checksum, (_, shift)| apply(shift, checksum))
    }
}

fn apply(shift: &Shift, checksum: u32) -> u32 {
    let images = shift.iter().enumerate();
    let set = images.filter(|(bit, _)| checksum >> bit & 1 == 1);
    set.fold(0, |sum, (_, image)| sum ^ image)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_of_every_range_is_that_of_its_bytes() {
        let bytes: Vec<u8> = (0..700_u32)
            .map(|at| at.wrapping_mul(2_654_435_761).to_be_bytes()[0])
            .collect();
        let mut sums = RangeSums::new(&bytes);
        for start in (0..=bytes.len()).rev().step_by(7) {
            for end in (start..=bytes.len()).step_by(3) {
                let expected = crc32c::crc32c_append(0x1234_5678, &bytes[start..end]);
                let found = sums.append(0x1234_5678, start, end - start);
                assert_eq!(found, expected, "{start} to {end}");
            }
        }
    }
}
