//! Arithmetic over the eight slots of a block of edges, in vector instructions.
//!
//! Each step is a loop of its own over all slots, unused ones included, without branches. In a
//! caller that is compiled for wide vectors (`machine::multiversion`) it becomes one or two
//! instructions, as long as everything is inlined.
//!
//! Never uses: nodes, what the numbers mean.

use std::hint::black_box;

/// Edges in a block.
pub(super) const EDGES_PER_BLOCK: usize = 8;

/// A number for each slot of a block.
pub(super) type Slots = [f32; EDGES_PER_BLOCK];

/// The number that a function gives each slot.
#[inline(always)]
pub(super) fn each(number: impl Fn(usize) -> f32) -> Slots {
    let mut numbers = [0.0; EDGES_PER_BLOCK];
    for (slot, place) in numbers.iter_mut().enumerate() {
        *place = number(slot);
    }
    numbers
}

/// The greater of two numbers, as one instruction; `f32::max` takes several for NaN.
#[inline(always)]
pub(super) fn greater(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

/// The lesser of two numbers.
#[inline(always)]
pub(super) fn lesser(a: f32, b: f32) -> f32 {
    if a < b { a } else { b }
}

/// The first slot of the greatest number, and the number.
#[inline(always)]
pub(super) fn first_greatest(numbers: Slots) -> (usize, f32) {
    const HALF: usize = EDGES_PER_BLOCK / 2;
    let numbers = black_box(numbers);
    let mut halves = [0.0; HALF];
    for (slot, half) in halves.iter_mut().enumerate() {
        *half = greater(numbers[slot], numbers[slot + HALF]);
    }
    // Otherwise the compiler takes the loop apart for the pairs.
    let halves = black_box(halves);
    let pairs = [greater(halves[0], halves[1]), greater(halves[2], halves[3])];
    let greatest = greater(pairs[0], pairs[1]);
    let mut bits = [0u32; EDGES_PER_BLOCK];
    for (slot, bit) in bits.iter_mut().enumerate() {
        *bit = if numbers[slot] == greatest {
            1 << slot
        } else {
            0
        };
    }
    let equal = bits.into_iter().fold(0, |all, bit| all | bit);
    (equal.trailing_zeros() as usize % EDGES_PER_BLOCK, greatest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use panza_machine::with_wide_vectors;
    use panza_sync::Random;

    #[test]
    fn the_first_of_equal_numbers_is_the_greatest() {
        let random = &mut Random::new(1);
        for _ in 0..1000 {
            let numbers: Slots = std::array::from_fn(|_| random.below(5) as f32 - 2.0);
            let mut expected = (0, f32::NEG_INFINITY);
            for (slot, &number) in numbers.iter().enumerate() {
                if number > expected.1 {
                    expected = (slot, number);
                }
            }
            assert_eq!(first_greatest(numbers), expected);
            let wide = with_wide_vectors(
                #[inline(always)]
                || first_greatest(each(|slot| numbers[slot])),
            );
            assert_eq!(wide, expected);
        }
        assert_eq!(
            first_greatest([f32::NEG_INFINITY; 8]),
            (0, f32::NEG_INFINITY)
        );
    }
}
