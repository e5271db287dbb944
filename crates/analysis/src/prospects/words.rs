//! The words of prospects: a bit for each bound that a number meets.
//!
//! The bits of a number are looked up in a table, which ends where no further bound is met.
//!
//! Never uses: programs, states.

/// The bounds of distances, bits 0 to 15: a bit is on where the distance is at most the bound.
const DISTANCES: [u16; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 30, 60, 254];
/// The bounds of numbers of moves, bits 16 to 39, and of leads, from bit 40 and bit 48 on: a bit is
/// on where the number is at least the bound.
const MOVES: [u16; 24] = [
    1, 2, 3, 4, 5, 6, 8, 10, 12, 14, 17, 20, 24, 28, 34, 40, 48, 56, 67, 80, 95, 113, 134, 160,
];
const LEADS_IN_DISTANCE: [u16; 8] = [1, 2, 3, 4, 6, 8, 12, 100];
const LEADS_IN_MOVES: [u16; 16] = [1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 18, 22, 27, 33, 40, 60];

/// The bits of each number up to the last bound; of distances, of each.
static OF_DISTANCE: [u64; 256] = table(&DISTANCES, 0, true);
static OF_MOVES: [u64; 161] = table(&MOVES, 16, false);
static OF_LEAD: [u64; 101] = table(&LEADS_IN_DISTANCE, 40, false);
static OF_LEAD_IN_MOVES: [u64; 61] = table(&LEADS_IN_MOVES, 48, false);

/// The bits of the numbers from 0, from bit `first` on.
const fn table<const N: usize>(bounds: &[u16], first: usize, is_at_most: bool) -> [u64; N] {
    let mut table = [0; N];
    let mut number = 0;
    while number < N {
        let mut bit = 0;
        while bit < bounds.len() {
            let bound = bounds[bit] as usize;
            let is_met = if is_at_most {
                number <= bound
            } else {
                number >= bound
            };
            table[number] |= (is_met as u64) << (first + bit);
            bit += 1;
        }
        number += 1;
    }
    table
}

/// The word of a role. The lead in distance is what the nearest other role needs more, and that in
/// moves what the one with most moves has less.
pub(super) fn word(distance: u8, moves: u16, lead: u8, lead_in_moves: u16) -> u64 {
    let of = |table: &[u64], number: u16| table[usize::from(number).min(table.len() - 1)];
    OF_DISTANCE[usize::from(distance)]
        | of(&OF_MOVES, moves)
        | of(&OF_LEAD, lead.into())
        | of(&OF_LEAD_IN_MOVES, lead_in_moves)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_hold_what_the_bounds_say() {
        for number in 0..=300 {
            let moves = MOVES.map(|bound| number >= bound);
            let leads = LEADS_IN_DISTANCE.map(|bound| number.min(255) >= bound);
            let leads_in_moves = LEADS_IN_MOVES.map(|bound| number >= bound);
            let distances = DISTANCES.map(|bound| number.min(255) <= bound);
            let bits = distances.iter().chain(&moves).chain(&leads);
            let bits = bits.chain(&leads_in_moves).enumerate();
            let expected: u64 = bits.map(|(bit, &is_on)| u64::from(is_on) << bit).sum();
            let byte = number.min(255) as u8;
            assert_eq!(word(byte, number, byte, number), expected, "{number}");
        }
    }
}
