//! A square of 64 times 64 bits on its side: from a word for each lane to a word for each bit, and back.
//!
//! Six rounds change places within blocks of 64, 32, .. 2 rows (Warren, Hacker's Delight, 7-3).
//!
//! Never knows: what the bits mean.

/// Rows become columns: bit `column` of word `row` goes to bit `row` of word `column`.
#[inline(always)]
pub(super) fn transpose(square: &mut [u64; 64]) {
    round::<32>(square, 0x0000_0000_ffff_ffff);
    round::<16>(square, 0x0000_ffff_0000_ffff);
    round::<8>(square, 0x00ff_00ff_00ff_00ff);
    round::<4>(square, 0x0f0f_0f0f_0f0f_0f0f);
    round::<2>(square, 0x3333_3333_3333_3333);
    round::<1>(square, 0x5555_5555_5555_5555);
}

/// In each block of `2 * HALF` rows the upper half's bits outside the mask and the lower half's bits in it change places.
#[inline(always)]
fn round<const HALF: usize>(square: &mut [u64; 64], low: u64) {
    for block in square.chunks_exact_mut(2 * HALF) {
        let (upper, lower) = block.split_at_mut(HALF);
        for (upper, lower) in upper.iter_mut().zip(lower) {
            let changed = (*upper >> HALF ^ *lower) & low;
            *upper ^= changed << HALF;
            *lower ^= changed;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::random::Random;

    #[test]
    fn every_bit_goes_where_it_should() {
        let mut random = Random::new(1);
        let square = [(); 64].map(|()| random.bits());
        let mut turned = square;
        transpose(&mut turned);
        for (row, bits) in square.iter().enumerate() {
            for (column, turned) in turned.iter().enumerate() {
                assert_eq!(bits >> column & 1, turned >> row & 1);
            }
        }
        transpose(&mut turned);
        assert_eq!(turned, square);
    }
}
