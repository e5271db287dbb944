//! A hash table of fixed size that any number of threads read and write at once, without locks.
//!
//! An entry is a key and a datum of 64 bits each. The table is a cache: what is put may be lost to
//! another entry, and never comes back wrong. A writer stores the datum and the exclusive or of key
//! and datum, in two words; a reader takes an entry only where the two fit its key (Hyatt and Mann,
//! A lock-less transposition table, ICGA Journal 2002). Four entries share a cache line, and a key
//! has one line.
//!
//! | field | written by | read by | ordering | pairs with |
//! |---|---|---|---|---|
//! | `data` | `put`, `clear` | `get`, `put` | Relaxed | nothing: only trusted where `check` fits |
//! | `check` | `put`, `clear` | `get`, `put` | Relaxed | nothing: words of two writes do not fit |
//!
//! Invariants: `get` returns data that some `put` wrote for the same key; a datum of 0 is no entry.
//! Words of two writes fit together by chance once in 2^64 times for keys that are spread evenly.
//!
//! Never uses: what the data mean. It allocates when it is made and never after.

use super::primitives::{AtomicU64, Ordering};
use std::fmt;

/// Entries in a bucket.
const WAYS: usize = 4;

/// An entry: two words that fit together, or not.
struct Entry {
    check: AtomicU64,
    data: AtomicU64,
}

impl Entry {
    fn empty() -> Self {
        Self {
            check: AtomicU64::new(0),
            data: AtomicU64::new(0),
        }
    }

    /// The key and the datum that the two words say.
    #[inline]
    fn read(&self) -> (u64, u64) {
        let data = self.data.load(Ordering::Relaxed);
        (self.check.load(Ordering::Relaxed) ^ data, data)
    }

    #[inline]
    fn write(&self, key: u64, data: u64) {
        self.data.store(data, Ordering::Relaxed);
        self.check.store(key ^ data, Ordering::Relaxed);
    }
}

/// The entries of one cache line.
#[repr(align(64))]
struct Bucket([Entry; WAYS]);

/// A table of keys and data.
///
/// ```
/// let table = panza_sync::Table::new(1 << 16);
/// table.put(7, 42, |_| 0);
/// assert_eq!(table.get(7), Some(42));
/// assert_eq!(table.get(8), None);
/// ```
pub struct Table {
    buckets: Box<[Bucket]>,
}

impl Table {
    /// A table of `max_bytes` at most, but of one bucket (64 bytes) at least.
    pub fn new(max_bytes: usize) -> Self {
        let most = (max_bytes / size_of::<Bucket>()).max(1);
        let count = 1 << most.ilog2();
        let mut buckets = Vec::with_capacity(count);
        in_large_pages(buckets.spare_capacity_mut());
        buckets.resize_with(count, || Bucket(std::array::from_fn(|_| Entry::empty())));
        Self {
            buckets: buckets.into(),
        }
    }

    #[inline]
    fn bucket(&self, key: u64) -> &[Entry; WAYS] {
        // The number of buckets is a power of two.
        &self.buckets[key as usize & (self.buckets.len() - 1)].0
    }

    /// The datum of a key.
    #[inline]
    pub fn get(&self, key: u64) -> Option<u64> {
        let entries = self.bucket(key).iter().map(Entry::read);
        let mut found = entries.filter(|&(of, data)| of == key && data != 0);
        found.next().map(|(_, data)| data)
    }

    /// Puts a datum, which is not 0, in the place of that of the same key, of an empty entry, or of
    /// the one that is worth least.
    #[inline]
    pub fn put(&self, key: u64, data: u64, worth: impl Fn(u64) -> u32) {
        let mut least = (u32::MAX, &self.bucket(key)[0]);
        for entry in self.bucket(key) {
            let (of, known) = entry.read();
            if known == 0 || of == key {
                return entry.write(key, data);
            }
            let worth = worth(known);
            if worth < least.0 {
                least = (worth, entry);
            }
        }
        least.1.write(key, data);
    }

    /// Takes all entries out. What other threads put meanwhile may stay.
    pub fn clear(&self) {
        for bucket in &self.buckets {
            bucket.0.iter().for_each(|entry| entry.write(0, 0));
        }
    }

    /// Bytes of all entries.
    pub fn n_bytes(&self) -> usize {
        size_of_val(&*self.buckets)
    }
}

/// Asks the system for large pages, since every look at a large table is at another page.
#[cfg(target_os = "linux")]
fn in_large_pages<T>(memory: &mut [T]) {
    use rustix::mm::{Advice, madvise};

    const PAGE: usize = 1 << 12;
    let (start, length) = (memory.as_mut_ptr().cast::<u8>(), size_of_val(memory));
    let before = start.align_offset(PAGE);
    let length = length.saturating_sub(before) & !(PAGE - 1);
    if length == 0 {
        return;
    }
    // SAFETY: the pages lie within `memory`, and the advice changes no content.
    let advised = unsafe { madvise(start.add(before).cast(), length, Advice::LinuxHugepage) };
    if let Err(error) = advised {
        tracing::debug!(%error, "no large pages");
    }
}

#[cfg(not(target_os = "linux"))]
fn in_large_pages<T>(_: &mut [T]) {}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table")
            .field("n_bytes", &self.n_bytes())
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, not(panza_loom)))]
mod tests {
    use super::*;
    use crate::Random;

    #[test]
    fn a_full_bucket_loses_what_is_worth_least() {
        let table = Table::new(0);
        for key in 1..=4 {
            table.put(key, 10 * key, |data| data as u32);
        }
        table.put(5, 25, |data| data as u32);
        let found = (1..=5).map(|key| table.get(key));
        let left = [None, Some(20), Some(30), Some(40), Some(25)];
        assert!(found.eq(left));
        table.put(3, 1, |data| data as u32);
        assert_eq!((table.get(3), table.get(4)), (Some(1), Some(40)));
        table.clear();
        assert!((1..=5).all(|key| table.get(key).is_none()));
    }

    #[test]
    fn threads_never_read_what_was_not_put() {
        let table = Table::new(1 << 10);
        let datum = |key: u64| key.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        let n_rounds = if cfg!(miri) { 50 } else { 20_000 };
        std::thread::scope(|scope| {
            for seed in 0..3 {
                let table = &table;
                scope.spawn(move || {
                    let mut random = Random::new(seed);
                    for _ in 0..n_rounds {
                        let key = u64::from(random.below(200)) * 0x1234_5677;
                        match table.get(key) {
                            Some(found) => assert_eq!(found, datum(key)),
                            None => table.put(key, datum(key), |data| data as u32),
                        }
                    }
                });
            }
        });
    }
}
