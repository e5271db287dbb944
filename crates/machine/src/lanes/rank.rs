//! Ranks: a random number below a count in each lane, bit-sliced.
//!
//! Each lane draws as many bits as its count has digits, and again while its number is too large
//! (rejection sampling), so every rank is exactly equally likely. Bits come from xoroshiro128+
//! (Blackman and Vigna, 2018), one generator per 64 lanes: a fixed algorithm, so that a seed and a
//! width give the same playouts in every version.
//!
//! Never uses: what is counted.

use super::memory::{Vector, combine};
use panza_sync::Random;

pub(super) const MAX_DIGITS: usize = 32;

#[derive(Clone, Debug)]
pub(super) struct RandomBits<const N: usize> {
    low: Vector<N>,
    high: Vector<N>,
}

impl<const N: usize> RandomBits<N> {
    pub(super) fn new(random: &mut Random) -> Self {
        Self {
            low: [(); N].map(|()| random.bits()),
            // The state of a generator must not be all zeros.
            high: [(); N].map(|()| random.bits() | 1),
        }
    }

    #[inline(always)]
    fn draw(&mut self) -> Vector<N> {
        let (low, high) = (self.low, self.high);
        let mixed = combine(low, high, high, |low, high, _| low ^ high);
        self.low = combine(low, mixed, mixed, |low, mixed, _| {
            low.rotate_left(24) ^ mixed ^ (mixed << 16)
        });
        self.high = combine(mixed, mixed, mixed, |mixed, _, _| mixed.rotate_left(37));
        combine(low, high, high, |low, high, _| low.wrapping_add(high))
    }
}

#[inline(always)]
pub(super) fn is_any<const N: usize>(vector: &Vector<N>) -> bool {
    vector.iter().fold(0, |all, &word| all | word) != 0
}

/// Draws a rank below its count for each wanted lane with a count above 0. Other lanes get rank 0.
/// Both numbers have their lowest digit first and have equally many digits, 32 at most.
#[inline(always)]
pub(super) fn draw_ranks<const N: usize>(
    random: &mut RandomBits<N>,
    count: &[Vector<N>],
    wanted: &Vector<N>,
    rank: &mut [Vector<N>],
) {
    debug_assert!(count.len() == rank.len() && count.len() <= MAX_DIGITS);
    let mut n_digits = count.len();
    while n_digits > 0 && !is_any(&count[n_digits - 1]) {
        n_digits -= 1;
        rank[n_digits] = [0; N];
    }
    let (count, rank) = (&count[..n_digits], &mut rank[..n_digits]);
    let mut masks = [[0u64; N]; MAX_DIGITS];
    let masks = &mut masks[..n_digits];
    // The digits of count - 1, and then of all smaller numbers, mask the bits to draw.
    let mut borrow = [u64::MAX; N];
    let mut pending = [0u64; N];
    for (mask, &count) in masks.iter_mut().zip(count) {
        *mask = combine(count, borrow, borrow, |count, borrow, _| count ^ borrow);
        borrow = combine(count, borrow, borrow, |count, borrow, _| !count & borrow);
        pending = combine(count, pending, pending, |count, pending, _| count | pending);
    }
    let mut above = [0u64; N];
    for mask in masks.iter_mut().rev() {
        above = combine(above, *mask, *mask, |above, mask, _| above | mask);
        *mask = above;
    }
    pending = combine(pending, *wanted, *wanted, |pending, wanted, _| {
        pending & wanted
    });
    rank.fill([0; N]);
    let mut drawn = [[0u64; N]; MAX_DIGITS];
    let drawn = &mut drawn[..n_digits];
    let mut stream = random.clone();
    while is_any(&pending) {
        // The borrow of drawn - count.
        let mut is_less = [0u64; N];
        for ((drawn, &mask), &count) in drawn.iter_mut().zip(&*masks).zip(count) {
            let bits = stream.draw();
            let bits = combine(bits, mask, mask, |bits, mask, _| bits & mask);
            is_less = combine(bits, count, is_less, |bits, count, is_less| {
                !bits & count | (!bits | count) & is_less
            });
            *drawn = bits;
        }
        let accepted = combine(pending, is_less, is_less, |pending, is_less, _| {
            pending & is_less
        });
        pending = combine(pending, is_less, is_less, |pending, is_less, _| {
            pending & !is_less
        });
        for (rank, &drawn) in rank.iter_mut().zip(&*drawn) {
            *rank = combine(*rank, drawn, accepted, |rank, drawn, accepted| {
                rank | drawn & accepted
            });
        }
    }
    *random = stream;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Chi-squared of the ranks drawn for one count in all lanes, and its degrees of freedom.
    fn chi_squared(count: u64, draws: usize) -> (f64, f64) {
        let n_digits = 64 - count.leading_zeros() as usize;
        let digits: Vec<Vector<4>> = (0..n_digits)
            .map(|digit| [(count >> digit & 1).wrapping_neg(); 4])
            .collect();
        let mut random = RandomBits::new(&mut Random::new(count));
        let mut rank = vec![[0; 4]; n_digits];
        let mut seen = vec![0u32; count as usize];
        for _ in 0..draws {
            draw_ranks(&mut random, &digits, &[u64::MAX; 4], &mut rank);
            for lane in 0..256 {
                let number = rank
                    .iter()
                    .enumerate()
                    .map(|(digit, vector)| (vector[lane / 64] >> (lane % 64) & 1) << digit);
                seen[number.sum::<u64>() as usize] += 1;
            }
        }
        let expected = (draws * 256) as f64 / count as f64;
        let sum = seen
            .iter()
            .map(|&seen| (f64::from(seen) - expected).powi(2) / expected);
        (sum.sum(), count as f64 - 1.0)
    }

    #[test]
    #[cfg_attr(miri, ignore = "too many draws for it")]
    fn ranks_are_uniform() {
        for count in [1, 2, 3, 5, 63, 64, 65, 300] {
            let (sum, freedom) = chi_squared(count, 4_000);
            // Five standard deviations of the chi-squared distribution.
            assert!(
                (sum - freedom).abs() <= 5.0 * (2.0 * freedom).sqrt(),
                "{count}: {sum} at {freedom} degrees of freedom"
            );
        }
    }

    #[test]
    fn lanes_without_a_count_or_not_wanted_get_rank_0() {
        let count = [[0b0110, 0, 0, 0], [0b1100, 0, 0, 0]];
        let mut rank = [[u64::MAX; 4]; 2];
        let mut random = RandomBits::new(&mut Random::new(1));
        draw_ranks(&mut random, &count, &[0b0011, 0, 0, 0], &mut rank);
        // Lane 0 has count 0, lane 1 count 1, and the others are not wanted.
        assert_eq!(rank, [[0; 4]; 2]);
    }
}
