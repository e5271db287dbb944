//! The costs of a register in vector registers of the processor: a portable version, and one for
//! AVX2.
//!
//! The compiler does not vectorise these loops well amid other code, so that AVX2 is written out.
//!
//! Invariant: both versions give the same costs.
//!
//! Never uses: programs.

/// The states of a run.
pub(super) const WIDTH: usize = 64;
/// The cost of what no sequence of the role's moves leads to.
pub(super) const UNREACHABLE: u8 = u8::MAX;

/// A cost for each state. Aligned, so that no vector crosses a line of the cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(align(64))]
pub(super) struct Costs(pub [u8; WIDTH]);

/// All costs of a register. Sums stop at [`UNREACHABLE`].
pub(super) trait Vector: Copy {
    fn read(costs: &Costs) -> Self;
    fn write(self, costs: &mut Costs);
    fn of(cost: u8) -> Self;
    fn plus(self, other: Self) -> Self;
    /// The less of both.
    fn min(self, other: Self) -> Self;
    /// [`UNREACHABLE`] where this is 0, else 0.
    fn not(self) -> Self;
    /// Adds 1 where the other is 0; 255 and 1 are 0.
    fn count_zeros(self, other: Self) -> Self;
    fn equals(self, other: Self) -> bool;
}

/// The version for any processor.
#[derive(Clone, Copy)]
pub(super) struct Portable([u8; WIDTH]);

impl Portable {
    #[inline(always)]
    fn with(mut self, other: Self, of: impl Fn(u8, u8) -> u8) -> Self {
        for (cost, other) in self.0.iter_mut().zip(other.0) {
            *cost = of(*cost, other);
        }
        self
    }
}

impl Vector for Portable {
    #[inline(always)]
    fn read(costs: &Costs) -> Self {
        Self(costs.0)
    }

    #[inline(always)]
    fn write(self, costs: &mut Costs) {
        costs.0 = self.0;
    }

    #[inline(always)]
    fn of(cost: u8) -> Self {
        Self([cost; WIDTH])
    }

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        self.with(other, u8::saturating_add)
    }

    #[inline(always)]
    fn min(self, other: Self) -> Self {
        self.with(other, u8::min)
    }

    #[inline(always)]
    fn not(self) -> Self {
        self.with(self, |cost, _| if cost == 0 { UNREACHABLE } else { 0 })
    }

    #[inline(always)]
    fn count_zeros(self, other: Self) -> Self {
        self.with(other, |count, cost| count.wrapping_add(u8::from(cost == 0)))
    }

    #[inline(always)]
    fn equals(self, other: Self) -> bool {
        self.0 == other.0
    }
}

#[cfg(target_arch = "x86_64")]
pub(super) use avx2::Avx2;

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::{
        __m256i, _mm256_adds_epu8, _mm256_and_si256, _mm256_cmpeq_epi8, _mm256_loadu_si256,
        _mm256_min_epu8, _mm256_movemask_epi8, _mm256_set1_epi8, _mm256_storeu_si256,
        _mm256_sub_epi8,
    };

    use super::{Costs, Vector};

    /// The version for AVX2. Only code that runs where the processor has AVX2 makes one.
    #[derive(Clone, Copy)]
    pub(in super::super) struct Avx2(__m256i, __m256i);

    impl Avx2 {
        #[inline(always)]
        fn with(self, other: Self, of: impl Fn(__m256i, __m256i) -> __m256i) -> Self {
            Self(of(self.0, other.0), of(self.1, other.1))
        }
    }

    // SAFETY of all methods: the processor has AVX2, see [`Avx2`]. Loads and stores need no
    // alignment and stay within the 64 bytes of the costs.
    impl Vector for Avx2 {
        #[inline(always)]
        fn read(costs: &Costs) -> Self {
            let bytes = costs.0.as_ptr();
            // SAFETY: see above.
            unsafe {
                Self(
                    _mm256_loadu_si256(bytes.cast()),
                    _mm256_loadu_si256(bytes.add(32).cast()),
                )
            }
        }

        #[inline(always)]
        fn write(self, costs: &mut Costs) {
            let bytes = costs.0.as_mut_ptr();
            // SAFETY: see above.
            unsafe {
                _mm256_storeu_si256(bytes.cast(), self.0);
                _mm256_storeu_si256(bytes.add(32).cast(), self.1);
            }
        }

        #[inline(always)]
        fn of(cost: u8) -> Self {
            // SAFETY: see above.
            let costs = unsafe { _mm256_set1_epi8(cost.cast_signed()) };
            Self(costs, costs)
        }

        #[inline(always)]
        fn plus(self, other: Self) -> Self {
            // SAFETY: see above.
            self.with(other, |cost, other| unsafe {
                _mm256_adds_epu8(cost, other)
            })
        }

        #[inline(always)]
        fn min(self, other: Self) -> Self {
            // SAFETY: see above.
            self.with(other, |cost, other| unsafe { _mm256_min_epu8(cost, other) })
        }

        #[inline(always)]
        fn not(self) -> Self {
            // SAFETY: see above.
            self.with(Self::of(0), |cost, zero| unsafe {
                _mm256_cmpeq_epi8(cost, zero)
            })
        }

        #[inline(always)]
        fn count_zeros(self, other: Self) -> Self {
            // SAFETY: see above. Zeros are -1.
            self.with(other.not(), |count, zero| unsafe {
                _mm256_sub_epi8(count, zero)
            })
        }

        #[inline(always)]
        fn equals(self, other: Self) -> bool {
            // SAFETY: see above.
            unsafe {
                let equal = _mm256_and_si256(
                    _mm256_cmpeq_epi8(self.0, other.0),
                    _mm256_cmpeq_epi8(self.1, other.1),
                );
                _mm256_movemask_epi8(equal) == -1
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What each operation makes of two registers.
    #[inline(always)]
    fn results<V: Vector>(left: &Costs, right: &Costs) -> Vec<Costs> {
        let (left, right) = (V::read(left), V::read(right));
        let results = [
            left,
            V::of(7),
            left.plus(right),
            left.min(right),
            left.not(),
            left.count_zeros(right),
            V::of(u8::from(left.equals(right))),
            V::of(u8::from(right.equals(right))),
        ];
        let written = results.map(|result| {
            let mut costs = Costs([1; WIDTH]);
            result.write(&mut costs);
            costs
        });
        written.to_vec()
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn results_with_avx2(left: &Costs, right: &Costs) -> Vec<Costs> {
        results::<Avx2>(left, right)
    }

    #[test]
    fn operations_are_those_of_single_costs() {
        let costs = |factor: usize| Costs(std::array::from_fn(|at| (at * factor % 256) as u8));
        let mut last_differs = costs(36);
        last_differs.0[WIDTH - 1] ^= 1;
        for (left, right) in [
            (costs(0), costs(5)),
            (costs(36), costs(52)),
            (costs(36), last_differs),
            (costs(255), costs(0)),
        ] {
            let found = results::<Portable>(&left, &right);
            for at in 0..WIDTH {
                let (left, right) = (left.0[at], right.0[at]);
                let expected = [
                    left,
                    7,
                    left.saturating_add(right),
                    left.min(right),
                    if left == 0 { UNREACHABLE } else { 0 },
                    left.wrapping_add(u8::from(right == 0)),
                ];
                for (costs, expected) in found.iter().zip(expected) {
                    assert_eq!(costs.0[at], expected);
                }
            }
            assert_eq!(found[6].0[0] == 1, left == right);
            assert_eq!(found[7].0[0], 1);
            #[cfg(target_arch = "x86_64")]
            if std::arch::is_x86_feature_detected!("avx2") {
                // SAFETY: the processor has AVX2, as just detected.
                assert_eq!(unsafe { results_with_avx2(&left, &right) }, found);
            }
        }
    }
}
