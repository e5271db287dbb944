//! Bit operations: the top bits of 64 bytes as a word, and the n-th set bit of a word.

/// The top bit of each byte; the first byte's is the lowest.
#[inline(always)]
pub(super) fn top_bits(bytes: &[u8; 64]) -> u64 {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_movemask_epi8};
        let quarter = |index: usize| {
            // SAFETY: SSE2 is part of every x86-64 processor; the load reads 16 of the 64 bytes and
            // needs no alignment.
            let mask = unsafe {
                _mm_movemask_epi8(_mm_loadu_si128(
                    bytes.as_ptr().add(16 * index).cast::<__m128i>(),
                ))
            };
            u64::from(mask as u32 as u16) << (16 * index)
        };
        quarter(0) | quarter(1) | quarter(2) | quarter(3)
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    {
        portable_top_bits(bytes)
    }
}

#[cfg(any(test, miri, not(target_arch = "x86_64")))]
fn portable_top_bits(bytes: &[u8; 64]) -> u64 {
    bytes.iter().enumerate().fold(0, |bits, (index, &byte)| {
        bits | u64::from(byte >> 7) << index
    })
}

/// The index of the n-th set bit, counted from 0; there must be more than n. `BMI2` says that the
/// processor has those instructions.
#[inline(always)]
pub(super) fn nth_bit<const BMI2: bool>(word: u64, n: u32) -> u32 {
    debug_assert!(n < word.count_ones());
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if BMI2 {
        // SAFETY: the caller asserts by `BMI2` that the processor has the instruction.
        return unsafe { std::arch::x86_64::_pdep_u64(1 << n, word) }.trailing_zeros();
    }
    portable_nth_bit(word, n)
}

/// As [`nth_bit`], by binary search: the lower half is skipped while the bit is above it.
fn portable_nth_bit(mut word: u64, mut n: u32) -> u32 {
    let mut place = 0;
    for width in [32u32, 16, 8, 4, 2, 1] {
        let count = (word & ((1u64 << width) - 1)).count_ones();
        let is_above = u32::from(n >= count);
        n -= count * is_above;
        place += width * is_above;
        word >>= width * is_above;
    }
    place
}

#[cfg(test)]
mod tests {
    use super::*;
    use panza_sync::Random;

    #[test]
    fn top_bits_are_those_of_each_byte() {
        let mut random = Random::new(2);
        for _ in 0..100 {
            let bytes: [u8; 64] = std::array::from_fn(|_| random.bits() as u8);
            assert_eq!(top_bits(&bytes), portable_top_bits(&bytes));
        }
        let mut bytes = [0x7F; 64];
        bytes[0] = 0x80;
        bytes[63] = 0xFF;
        assert_eq!(top_bits(&bytes), 1 | 1 << 63);
    }

    #[test]
    fn the_nth_bit_is_the_one_with_n_below_it() {
        let mut random = Random::new(3);
        for _ in 0..300 {
            let word = random.bits() & random.bits();
            let places = (0..64).filter(|place| word >> place & 1 == 1);
            for (n, place) in places.enumerate() {
                assert_eq!(portable_nth_bit(word, n as u32), place);
                #[cfg(target_arch = "x86_64")]
                if std::is_x86_feature_detected!("bmi2") {
                    assert_eq!(nth_bit::<true>(word, n as u32), place);
                }
            }
        }
    }
}
