//! Memory in huge pages and prefetches, for tables with random access.
//!
//! Huge pages cost fewer TLB misses. The system is only advised: where it does not follow, the
//! memory works the same and is slower.
//!
//! Invariant: the memory is not touched, so unused parts take no physical pages.
//!
//! Never knows: what is stored there.

/// An empty vector with capacity for `count` values, in huge pages where the system has them.
pub fn room_for<T>(count: usize) -> Vec<T> {
    let room = Vec::<T>::with_capacity(count);
    #[cfg(all(target_os = "linux", not(miri)))]
    {
        /// Advice is for whole pages only.
        const PAGE: usize = 4096;
        let start = room.as_ptr().addr();
        let end = (start + count * size_of::<T>()) / PAGE * PAGE;
        let skipped = start.next_multiple_of(PAGE) - start;
        if let Some(length) = end.checked_sub(start + skipped)
            && length > 0
        {
            let first = room.as_ptr().cast::<u8>().wrapping_add(skipped);
            // SAFETY: the pages lie within memory that the vector owns, and this advice changes
            // nothing of what they hold.
            let advised = unsafe {
                rustix::mm::madvise(
                    first.cast_mut().cast(),
                    length,
                    rustix::mm::Advice::LinuxHugepage,
                )
            };
            if let Err(error) = advised {
                tracing::debug!(%error, "the system has no huge pages");
            }
        }
    }
    room
}

/// Starts to load what will be read soon, while other work goes on.
#[inline(always)]
pub fn prefetch<T: ?Sized>(place: &T) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch changes nothing and does not fault.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(place).cast()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_of_any_size_can_be_filled() {
        for count in [0, 1, 100, 5_000, 1_000_000] {
            let mut room = room_for::<u32>(count);
            assert!(room.is_empty() && room.capacity() >= count);
            room.extend(0..count as u32);
            assert!(room.iter().copied().eq(0..count as u32));
        }
    }

    #[test]
    fn a_place_can_be_prefetched() {
        let numbers = [1, 2, 3];
        prefetch(&numbers);
        assert_eq!(numbers, [1, 2, 3]);
    }
}
