//! Transposition of bit matrices: from a word per lane to a word per bit, and back.
//!
//! For 64 by 64 bits, six rounds swap blocks of 32, 16, .. 1 rows (Warren, Hacker's Delight, 7-3).
//! Where only 8 lanes are used, 8 rows suffice.
//!
//! Never uses: the meaning of the bits.

/// Transposes: bit `column` of word `row` goes to bit `row` of word `column`.
#[inline(always)]
pub fn transpose(square: &mut [u64; 64]) {
    round::<32>(square, 0x0000_0000_ffff_ffff);
    round::<16>(square, 0x0000_ffff_0000_ffff);
    round::<8>(square, 0x00ff_00ff_00ff_00ff);
    round::<4>(square, 0x0f0f_0f0f_0f0f_0f0f);
    round::<2>(square, 0x3333_3333_3333_3333);
    round::<1>(square, 0x5555_5555_5555_5555);
}

/// In each block of `2 * HALF` rows, swaps the upper half's bits outside the mask with the lower
/// half's bits inside it. (Loops by index: of iterators over pairs of slices the compiler leaves
/// calls in functions of this size.)
#[inline(always)]
fn round<const HALF: usize>(square: &mut [u64; 64], low: u64) {
    let mut block = 0;
    while block < 64 {
        for row in block..block + HALF {
            let (upper, lower) = (square[row], square[row + HALF]);
            let changed = (upper >> HALF ^ lower) & low;
            square[row] = upper ^ changed << HALF;
            square[row + HALF] = lower ^ changed;
        }
        block += 2 * HALF;
    }
}

/// As [`transpose`] of 8 rows above 56 empty ones: the lowest byte of each of the 64 words.
#[inline(always)]
pub(super) fn columns_of_8(mut rows: [u64; 8]) -> [u8; 64] {
    transpose_bytes(&mut rows);
    bytemuck::cast(rows.map(|square| transpose_8(square).to_le_bytes()))
}

/// The inverse: of 64 words of which only the lowest byte counts, the first 8 rows of the
/// transpose.
#[inline(always)]
pub(super) fn rows_of_8(columns: [u8; 64]) -> [u64; 8] {
    let columns: [[u8; 8]; 8] = bytemuck::cast(columns);
    let mut rows = columns.map(|square| transpose_8(u64::from_le_bytes(square)));
    transpose_bytes(&mut rows);
    rows
}

/// Transposes 8 by 8 bytes, a row per word.
#[inline(always)]
fn transpose_bytes(rows: &mut [u64; 8]) {
    byte_round::<4>(rows, 0x0000_0000_ffff_ffff);
    byte_round::<2>(rows, 0x0000_ffff_0000_ffff);
    byte_round::<1>(rows, 0x00ff_00ff_00ff_00ff);
}

/// As [`round`], on bytes.
#[inline(always)]
fn byte_round<const HALF: usize>(rows: &mut [u64; 8], low: u64) {
    let mut block = 0;
    while block < 8 {
        for row in block..block + HALF {
            let (upper, lower) = (rows[row], rows[row + HALF]);
            let changed = (upper >> (8 * HALF) ^ lower) & low;
            rows[row] = upper ^ changed << (8 * HALF);
            rows[row + HALF] = lower ^ changed;
        }
        block += 2 * HALF;
    }
}

/// Transposes 8 by 8 bits, a row per byte.
#[inline(always)]
fn transpose_8(square: u64) -> u64 {
    let swap = |square: u64, distance: u32, mask: u64| {
        let changed = (square ^ square >> distance) & mask;
        square ^ changed ^ changed << distance
    };
    let square = swap(square, 7, 0x00aa_00aa_00aa_00aa);
    let square = swap(square, 14, 0x0000_cccc_0000_cccc);
    swap(square, 28, 0x0000_0000_f0f0_f0f0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use panza_sync::Random;

    #[test]
    fn transposition_swaps_rows_and_columns() {
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

    #[test]
    fn transposing_eight_rows_equals_transposing_all_with_empty_rows() {
        let mut random = Random::new(2);
        let rows = [(); 8].map(|()| random.bits());
        let mut square = [0; 64];
        square[..8].copy_from_slice(&rows);
        transpose(&mut square);
        let columns = columns_of_8(rows);
        assert_eq!(columns.map(u64::from), square);
        assert_eq!(rows_of_8(columns), rows);
    }
}
