//! A square of 64 times 64 bits on its side: from a word for each lane to a word for each bit, and back.
//!
//! Six rounds change places within blocks of 64, 32, .. 2 rows (Warren, Hacker's Delight, 7-3).
//!
//! Never knows: what the bits mean.

/// Rows become columns: bit `column` of word `row` goes to bit `row` of word `column`.
pub(super) fn transpose(square: &mut [u64; 64]) {
    let mut half = 32;
    let mut low = u64::from(u32::MAX);
    while half != 0 {
        for block in square.chunks_exact_mut(2 * half) {
            let (upper, lower) = block.split_at_mut(half);
            for (upper, lower) in upper.iter_mut().zip(lower) {
                let changed = (*upper >> half ^ *lower) & low;
                *upper ^= changed << half;
                *lower ^= changed;
            }
        }
        half /= 2;
        low ^= low << half;
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
