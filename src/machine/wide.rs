//! Wide vectors for plain code: work is compiled twice, for any processor and for one with AVX2,
//! and the fitting one is run.
//!
//! Loops over rows of numbers then work on eight at a time instead of four, without a word about
//! vectors in them. Both ways do the same operations in the same order on each number, so the
//! results are the same.
//!
//! Never knows: what the work is.

/// Does the work, with the widest vectors that the compiler may use for it. What it calls is only
/// compiled anew where it is inlined.
#[inline]
pub fn widely<R>(work: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has just said that it has AVX2, which is all that `with_avx2` asks
        // for.
        return unsafe { with_avx2(work) };
    }
    work()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn with_avx2<R>(work: impl FnOnce() -> R) -> R {
    work()
}

#[cfg(test)]
mod tests {
    use super::widely;

    #[test]
    fn work_comes_to_the_same_wide_or_not() {
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
        assert_eq!(widely(work), work());
    }
}
