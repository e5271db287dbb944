//! Memory in mappings of its own, in huge pages, and prefetches, for large tables that are accessed
//! at random.
//!
//! A [`Room`] is a vector of fixed capacity whose memory is a mapping of its own. The system
//! commits it page by page as it is written, takes it back as soon as the room is dropped, and
//! reserves nothing for what is not written yet. Huge pages cost fewer TLB misses. The system is
//! only advised: where it does not follow, the memory works the same and is slower.
//!
//! Invariants: the memory is not touched before it is written, so unused parts take no physical
//! pages; a mapping that the system refuses is `None` and never ends the process.
//!
//! Never uses: what is stored there.

use std::ops::{Deref, DerefMut};

pub use self::memory::Room;

/// Rooms in mappings.
#[cfg(not(any(miri, target_family = "wasm")))]
mod memory {
    use std::marker::PhantomData;

    use memmap2::{MmapMut, MmapOptions};

    /// Mappings have whole huge pages, whose size is this on most machines.
    const HUGE_PAGE: usize = 2 << 20;
    /// Mappings start at multiples of this.
    const PAGE: usize = 4096;

    /// A vector of fixed capacity in a mapping of its own.
    pub struct Room<T> {
        mapping: MmapMut,
        len: usize,
        capacity: usize,
        marker: PhantomData<T>,
    }

    impl<T: Copy> Room<T> {
        const IS_ALIGNED: () = assert!(align_of::<T>() <= PAGE);

        /// Room for `capacity` values; `None` where the system has no address space for it.
        pub fn new(capacity: usize) -> Option<Self> {
            let () = Self::IS_ALIGNED;
            let bytes = capacity.max(1).checked_mul(size_of::<T>().max(1))?;
            let bytes =
                bytes.checked_next_multiple_of(if bytes < HUGE_PAGE { PAGE } else { HUGE_PAGE })?;
            let mut options = MmapOptions::new();
            let mapping = options.len(bytes).no_reserve_swap().map_anon();
            let mapping = mapping
                .map_err(|error| tracing::warn!(%error, bytes, "the system gives no memory"))
                .ok()?;
            #[cfg(target_os = "linux")]
            if let Err(error) = mapping.advise(memmap2::Advice::HugePage) {
                tracing::debug!(%error, "the system has no huge pages");
            }
            Some(Self {
                mapping,
                len: 0,
                capacity,
                marker: PhantomData,
            })
        }

        /// Adds a value.
        ///
        /// # Panics
        /// The room is full.
        #[inline]
        pub fn push(&mut self, value: T) {
            assert!(self.len < self.capacity, "the room is full");
            let first = self.mapping.as_mut_ptr().cast::<T>();
            // SAFETY: the mapping has at least `capacity` values, starts at a page, whose size is a
            // multiple of the alignment, and is not shared.
            unsafe { first.add(self.len).write(value) };
            self.len += 1;
        }

        #[inline(always)]
        pub(super) fn values(&self) -> &[T] {
            // SAFETY: as in `push`, and the first `len` values were written there.
            unsafe { std::slice::from_raw_parts(self.mapping.as_ptr().cast::<T>(), self.len) }
        }

        #[inline(always)]
        pub(super) fn values_mut(&mut self) -> &mut [T] {
            let first = self.mapping.as_mut_ptr().cast::<T>();
            // SAFETY: as in `values`, and the room is borrowed exclusively.
            unsafe { std::slice::from_raw_parts_mut(first, self.len) }
        }
    }
}

/// The same in the memory of the allocator, without unsafe code.
#[cfg(any(miri, target_family = "wasm"))]
mod memory {
    /// A vector of fixed capacity.
    pub struct Room<T>(Vec<T>);

    impl<T: Copy> Room<T> {
        /// Room for `capacity` values.
        pub fn new(capacity: usize) -> Option<Self> {
            let mut values = Vec::new();
            values.try_reserve_exact(capacity).ok()?;
            Some(Self(values))
        }

        /// Adds a value.
        pub fn push(&mut self, value: T) {
            assert!(self.0.len() < self.0.capacity(), "the room is full");
            self.0.push(value);
        }

        pub(super) fn values(&self) -> &[T] {
            &self.0
        }

        pub(super) fn values_mut(&mut self) -> &mut [T] {
            &mut self.0
        }
    }
}

impl<T: Copy> Deref for Room<T> {
    type Target = [T];
    #[inline(always)]
    fn deref(&self) -> &[T] {
        self.values()
    }
}

impl<T: Copy> DerefMut for Room<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        self.values_mut()
    }
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
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = place;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rooms_of_any_size_hold_what_vectors_hold() {
        for capacity in [0, 1, 100, 5_000, 600_000] {
            let mut room = Room::<u32>::new(capacity).unwrap();
            let mut vector = Vec::new();
            assert!(room.is_empty());
            for value in 0..capacity as u32 {
                room.push(value);
                vector.push(value);
            }
            room.iter_mut().for_each(|value| *value ^= 5);
            vector.iter_mut().for_each(|value| *value ^= 5);
            assert_eq!(*room, vector);
        }
    }

    #[test]
    #[should_panic(expected = "the room is full")]
    fn a_full_room_takes_nothing() {
        let mut room = Room::new(1).unwrap();
        room.push((1_u8, 2_u64));
        room.push((3, 4));
    }

    #[test]
    fn more_memory_than_there_is_is_refused() {
        assert!(Room::<u64>::new(1 << 58).is_none());
        assert!(Room::<u64>::new(usize::MAX).is_none());
    }

    #[test]
    fn a_place_can_be_prefetched() {
        let numbers = [1, 2, 3];
        prefetch(&numbers);
        assert_eq!(numbers, [1, 2, 3]);
    }
}
