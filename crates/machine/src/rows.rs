//! Rows of numbers, as the layers of small networks have them, and sums of them.
//!
//! The units of a state of the network are known. For a similar state the rows of the bits in which
//! the two differ are added or subtracted, and the weights of an output are applied, with all units
//! in two registers where the processor has AVX-512. The compiler does not find these instructions:
//! it takes rows apart.
//!
//! Invariant: both versions do the same operations in the same order, so the results are the same
//! on all processors.
//!
//! Never uses: machines, what the numbers mean.

/// The numbers of a row.
pub const UNITS: usize = 32;

/// The numbers of half a row.
const HALF: usize = UNITS / 2;

/// One number per unit.
#[derive(Clone, Copy, PartialEq, Debug)]
#[repr(align(64))]
pub struct Row(pub [f32; UNITS]);

impl Row {
    /// All zero.
    pub const ZERO: Self = Self([0.0; UNITS]);

    /// Adds another row.
    #[inline]
    pub fn add(&mut self, other: &Self) {
        for (sum, number) in self.0.iter_mut().zip(&other.0) {
            *sum += number;
        }
    }

    /// Adds those of `rows` whose bit is set in `state`, and subtracts the others, of these.
    ///
    /// # Panics
    /// A row is not among `rows`, or has no bit in `state`.
    #[inline(always)]
    pub fn change(&mut self, rows: &[Self], state: &[u64], changed: &[u32]) {
        for &row in changed {
            // The product is exact.
            let sign = if is_true(state, row) { 1.0 } else { -1.0 };
            for (unit, weight) in self.0.iter_mut().zip(&rows[row as usize].0) {
                *unit += sign * weight;
            }
        }
    }

    /// The sum of the products with the numbers of another row.
    #[inline]
    pub fn dot(&self, other: &Self) -> f32 {
        // Eight partial sums, which the compiler vectorises; it may not reorder a single sum.
        let mut sums = [0.0f32; 8];
        for (left, right) in self.0.chunks_exact(8).zip(other.0.chunks_exact(8)) {
            for ((sum, left), right) in sums.iter_mut().zip(left).zip(right) {
                *sum += left * right;
            }
        }
        sums.iter().sum()
    }

    /// The ReLU of all but the first `LINEAR` units.
    #[inline]
    pub fn relu<const LINEAR: usize>(&mut self) {
        for unit in &mut self.0[LINEAR..] {
            *unit = unit.max(0.0);
        }
    }
}

/// The output by the units of a similar state, before the ReLU, from which `state` differs in the
/// bits of these rows. The first `LINEAR` units have no ReLU.
///
/// # Panics
/// A row is not among `rows`, or has no bit in `state`.
#[inline(always)]
pub fn weigh<const LINEAR: usize>(
    similar: &Row,
    rows: &[Row],
    state: &[u64],
    changed: &[u32],
    output: &Row,
) -> f32 {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx512f") {
        // SAFETY: the processor has AVX-512, as just detected, which is all that it requires.
        return unsafe { with_avx512::<LINEAR>(similar, rows, state, changed, output) };
    }
    plain::<LINEAR>(similar, rows, state, changed, output)
}

/// Whether the bit of a row holds.
#[inline(always)]
fn is_true(state: &[u64], row: u32) -> bool {
    state[row as usize / 64] >> (row % 64) & 1 == 1
}

/// As [`weigh`], on any processor.
#[inline(always)]
fn plain<const LINEAR: usize>(
    similar: &Row,
    rows: &[Row],
    state: &[u64],
    changed: &[u32],
    output: &Row,
) -> f32 {
    let mut units = *similar;
    units.change(rows, state, changed);
    units.relu::<LINEAR>();
    let (units, output) = (&units.0, &output.0);
    folded(std::array::from_fn(|index| {
        units[index] * output[index] + units[HALF + index] * output[HALF + index]
    }))
}

/// The sum of numbers, the halves added to each other again and again.
#[inline(always)]
fn folded(mut sums: [f32; HALF]) -> f32 {
    let mut width = HALF / 2;
    while width > 0 {
        for index in 0..width {
            sums[index] += sums[width + index];
        }
        width /= 2;
    }
    sums[0]
}

/// As [`weigh`], 16 units at a time.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f")]
fn with_avx512<const LINEAR: usize>(
    similar: &Row,
    rows: &[Row],
    state: &[u64],
    changed: &[u32],
    output: &Row,
) -> f32 {
    use std::arch::x86_64::{
        __m512, _mm512_add_ps, _mm512_fmadd_ps, _mm512_load_ps, _mm512_mask_max_ps, _mm512_max_ps,
        _mm512_mul_ps, _mm512_set1_ps, _mm512_setzero_ps, _mm512_storeu_ps,
    };

    const { assert!(HALF == 16 && LINEAR < HALF) };
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn halves(row: &Row) -> (__m512, __m512) {
        let start = row.0.as_ptr();
        // SAFETY: a row has 32 numbers and is aligned to 64 bytes.
        unsafe { (_mm512_load_ps(start), _mm512_load_ps(start.add(HALF))) }
    }

    let (mut first, mut second) = halves(similar);
    for &row in changed {
        let sign = _mm512_set1_ps(if is_true(state, row) { 1.0 } else { -1.0 });
        let weights = halves(&rows[row as usize]);
        first = _mm512_fmadd_ps(sign, weights.0, first);
        second = _mm512_fmadd_ps(sign, weights.1, second);
    }
    let zero = _mm512_setzero_ps();
    first = _mm512_mask_max_ps(first, !((1 << LINEAR) - 1), first, zero);
    second = _mm512_max_ps(second, zero);
    let output = halves(output);
    let products = (
        _mm512_mul_ps(first, output.0),
        _mm512_mul_ps(second, output.1),
    );
    let mut sums = [0.0; HALF];
    let both = _mm512_add_ps(products.0, products.1);
    // SAFETY: there is room for 16 numbers.
    unsafe { _mm512_storeu_ps(sums.as_mut_ptr(), both) };
    folded(sums)
}

#[cfg(test)]
mod tests {
    use super::*;
    use panza_sync::Random;

    #[test]
    fn both_versions_give_the_same_output() {
        let mut random = Random::new(1);
        let mut row = || {
            Row(std::array::from_fn(|_| {
                random.bits() as f32 / u64::MAX as f32 - 0.5
            }))
        };
        let (similar, output) = (row(), row());
        let rows: Vec<Row> = (0..128).map(|_| row()).collect();
        for n_changed in [0, 1, 4, 40] {
            let changed: Vec<u32> = (0..n_changed).map(|it| it * 3 + 1).collect();
            let state = [random.bits(), random.bits()];
            let fast = weigh::<4>(&similar, &rows, &state, &changed, &output);
            let safe = plain::<4>(&similar, &rows, &state, &changed, &output);
            assert_eq!(fast, safe);
        }
    }
}
