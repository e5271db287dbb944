//! A square of 64 times 64 bits on its side: from a word for each lane to a word for each bit, and
//! back.
//!
//! Where few lanes are asked for, 8 of the 64 rows do.
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

/// In each block of `2 * HALF` rows the upper half's bits outside the mask and the lower half's
/// bits in it change places. (Counted loops: of iterators over pairs of slices, compilers leave
/// calls in functions as large as those that turn squares.)
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

/// As [`transpose`] of 8 rows with 56 empty ones below: the lowest byte of each of the 64 words.
#[inline(always)]
pub(super) fn columns_of_8(mut rows: [u64; 8]) -> [u8; 64] {
    turn_bytes(&mut rows);
    bytemuck::cast(rows.map(|square| turn_8(square).to_le_bytes()))
}

/// The other way round: of 64 words of which only the lowest byte counts, the first 8 rows of what
/// [`transpose`] makes of them.
#[inline(always)]
pub(super) fn rows_of_8(columns: [u8; 64]) -> [u64; 8] {
    let columns: [[u8; 8]; 8] = bytemuck::cast(columns);
    let mut rows = columns.map(|square| turn_8(u64::from_le_bytes(square)));
    turn_bytes(&mut rows);
    rows
}

/// A square of 8 times 8 bytes, a row a word.
#[inline(always)]
fn turn_bytes(rows: &mut [u64; 8]) {
    byte_round::<4>(rows, 0x0000_0000_ffff_ffff);
    byte_round::<2>(rows, 0x0000_ffff_0000_ffff);
    byte_round::<1>(rows, 0x00ff_00ff_00ff_00ff);
}

/// As [`round`], of bytes.
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

/// A square of 8 times 8 bits, a row a byte.
#[inline(always)]
fn turn_8(square: u64) -> u64 {
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

    #[test]
    fn eight_rows_do_as_all_with_empty_ones_below() {
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
