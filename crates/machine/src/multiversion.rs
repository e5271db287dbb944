//! Multiversioned code: work is compiled three times, for the baseline processor, AVX2 and AVX-512,
//! and the best version runs.
//!
//! The compiler then vectorises loops over rows of numbers eight or sixteen wide instead of four.
//! All versions do the same operations in the same order on each number, so the results are the
//! same.
//!
//! Never uses: what the work is.

/// Does the work with the widest vectors available. Functions that the work calls are compiled so
/// only where they are inlined, and so is the work itself: a long closure needs
/// `#[inline(always)]`.
#[inline]
pub fn with_wide_vectors<R>(work: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx512f")
        && std::arch::is_x86_feature_detected!("avx512vl")
        && std::arch::is_x86_feature_detected!("avx2")
    {
        // SAFETY: the processor has all that `with_avx512` requires, as just detected.
        return unsafe { with_avx512(work) };
    }
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2, as just detected, which is all that `with_avx2` requires.
        return unsafe { with_avx2(work) };
    }
    work()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn with_avx2<R>(work: impl FnOnce() -> R) -> R {
    work()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl,avx2")]
fn with_avx512<R>(work: impl FnOnce() -> R) -> R {
    work()
}

#[cfg(test)]
mod tests {
    use super::with_wide_vectors;

    #[test]
    fn all_versions_give_the_same_result() {
        let numbers: Vec<f32> = (0..1000).map(|number| (number as f32).sin()).collect();
        let work = || {
            let mut sums = [0.0f32; 8];
            for part in numbers.chunks_exact(8) {
                for (sum, number) in sums.iter_mut().zip(part) {
                    *sum += number * number;
                }
            }
            sums.iter().sum::<f32>()
        };
        assert_eq!(with_wide_vectors(work), work());
    }
}
