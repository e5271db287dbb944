//! Slab allocation for the graph: pools of equal records, addressed by typed `u32` ids, under one
//! bound in bytes.
//!
//! A [`Pool`] reserves address space in segments and commits memory record by record, so that
//! growth neither moves nor copies records. A segment has a power of two of records, and at most
//! [`SEGMENT_BYTES`] unless one record takes more. Freed records form a free list and are reused
//! last in, first out. Values whose number is known only at run time (one score per role) lie
//! beside a pool in a [`Strided`] table with the same ids. Segments ask for huge pages, since a
//! descent accesses them at random.
//!
//! Invariants: an id is valid from `allocate` to `release`; a record counts against the
//! [`ByteCount`] from its creation until the pool is dropped; a segment that the system does not
//! give is a record that cannot be allocated. Huge pages may exceed the counted bytes by one page
//! (2 MiB on most machines) a segment.
//!
//! Never uses: what the records mean.

use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

use panza_gdl::{Id, NodeId};
use panza_sync::pages::Room;

/// The most bytes of a segment of several records.
const SEGMENT_BYTES: usize = 16 << 20;
/// The most records of a segment, as a power of two.
const MAX_SEGMENT_BITS: u32 = 18;
/// Records that a pool may create regardless of the bound in bytes.
pub(super) const MIN_RECORDS: usize = 1024;

/// Base-2 logarithm of the records in a segment, for records of `record_bytes` bytes.
const fn segment_bits(record_bytes: usize) -> u32 {
    let mut bits = MAX_SEGMENT_BITS;
    while bits > 0 && record_bytes > SEGMENT_BYTES >> bits {
        bits -= 1;
    }
    bits
}

/// An id with a reserved value for "none", which keeps a link at four bytes.
pub(super) trait PoolId: Id {
    const NONE: Self;

    #[inline]
    fn is_some(self) -> bool {
        self != Self::NONE
    }
}

impl PoolId for NodeId {
    const NONE: Self = NodeId(u32::MAX);
}

/// Declares id types of pools.
macro_rules! define_pool_ids {
    ($($(#[$meta:meta])* $name:ident;)*) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub(super) struct $name(pub(super) u32);

        impl panza_gdl::Id for $name {
            #[inline]
            fn from_index(index: usize) -> Self {
                Self(index as u32)
            }
            #[inline]
            fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl $crate::pool::PoolId for $name {
            const NONE: Self = Self(u32::MAX);
        }
    )*};
}
pub(super) use define_pool_ids;

#[derive(Debug)]
pub(super) struct ByteCount {
    pub(super) limit: usize,
    pub(super) used: usize,
}

impl ByteCount {
    /// A bound of `limit` bytes.
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, used: 0 }
    }

    /// Whether `bytes` more bytes would stay within the limit.
    fn has(&self, bytes: usize) -> bool {
        bytes <= self.limit.saturating_sub(self.used)
    }

    /// Counts bytes, if necessary beyond the bound.
    pub(super) fn take(&mut self, bytes: usize) {
        self.used = self.used.saturating_add(bytes);
    }
}

/// A record with a link field; the free list uses it.
pub(super) trait Linked<I>: Copy {
    /// A fresh record.
    const BLANK: Self;

    /// The next record of the list.
    fn link(&mut self) -> &mut I;
}

/// Records of one type.
pub(super) struct Pool<I, T> {
    segments: Vec<Room<T>>,
    /// Head of the list of freed records.
    free: I,
    /// Records created so far; their ids are the smaller ones.
    pub(super) created: usize,
    pub(super) in_use: usize,
    /// Greatest number of records.
    pub(super) limit: usize,
    /// Bytes of a record and of its rows in strided tables.
    record_bytes: usize,
}

impl<I, T> Pool<I, T> {
    const SEGMENT_BITS: u32 = segment_bits(size_of::<T>());
    const SEGMENT: usize = 1 << Self::SEGMENT_BITS;
}

impl<I: PoolId, T: Linked<I>> Pool<I, T> {
    /// An empty pool of at most `limit` records with `row_bytes` in strided tables each.
    pub(super) fn new(limit: usize, row_bytes: usize) -> Self {
        Self {
            segments: Vec::new(),
            free: I::NONE,
            created: 0,
            in_use: 0,
            limit: limit.min(u32::MAX as usize - 1),
            record_bytes: size_of::<T>() + row_bytes,
        }
    }

    /// The number of records created once another one has been allocated.
    #[inline]
    pub(super) fn created_after_next(&self) -> usize {
        let is_new = !self.free.is_some() && self.created < self.limit;
        self.created + usize::from(is_new)
    }

    /// A record with the contents of its last use; `None` when the limit or the budget is reached,
    /// or the system gives no memory.
    pub(super) fn allocate(&mut self, budget: &mut ByteCount) -> Option<I> {
        if self.free.is_some() {
            let id = self.free;
            self.free = *self[id].link();
            self.in_use += 1;
            return Some(id);
        }
        if self.created >= self.limit {
            return None;
        }
        if !budget.has(self.record_bytes) && self.created >= MIN_RECORDS {
            return None;
        }
        if self.created == self.segments.len() * Self::SEGMENT {
            let left = (self.limit - self.created).min(Self::SEGMENT);
            self.segments.push(Room::new(left)?);
        }
        budget.take(self.record_bytes);
        if let Some(segment) = self.segments.last_mut() {
            segment.push(T::BLANK);
        }
        let id = I::from_index(self.created);
        self.created += 1;
        self.in_use += 1;
        Some(id)
    }

    pub(super) fn release(&mut self, id: I) {
        let next = std::mem::replace(&mut self.free, id);
        *self[id].link() = next;
        self.in_use -= 1;
    }

    /// All created records, free ones included.
    pub(super) fn all_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.segments
            .iter_mut()
            .flat_map(|segment| segment.iter_mut())
            .take(self.created)
    }
}

impl<I: Id, T: Copy> Index<I> for Pool<I, T> {
    type Output = T;
    #[inline]
    fn index(&self, id: I) -> &T {
        let at = id.index();
        &self.segments[at >> Self::SEGMENT_BITS][at & (Self::SEGMENT - 1)]
    }
}

impl<I: Id, T: Copy> IndexMut<I> for Pool<I, T> {
    #[inline]
    fn index_mut(&mut self, id: I) -> &mut T {
        let at = id.index();
        &mut self.segments[at >> Self::SEGMENT_BITS][at & (Self::SEGMENT - 1)]
    }
}

/// Rows of `stride` values, one for each record of a pool.
pub(super) struct Strided<I, T> {
    segments: Vec<Room<T>>,
    rows: usize,
    stride: usize,
    /// The rows of a segment, as a power of two.
    bits: u32,
    marker: PhantomData<fn(I)>,
}

impl<I: Id, T: Copy + Default> Strided<I, T> {
    /// An empty table.
    pub(super) fn new(stride: usize) -> Self {
        Self {
            segments: Vec::new(),
            rows: 0,
            stride,
            bits: segment_bits(Self::row_bytes(stride)),
            marker: PhantomData,
        }
    }

    pub(super) fn row_bytes(stride: usize) -> usize {
        stride * size_of::<T>()
    }

    /// Grows to a number of rows; `None` when the system gives no memory.
    #[inline]
    pub(super) fn grow_to(&mut self, rows: usize) -> Option<()> {
        while self.rows < rows {
            self.add_row()?;
        }
        Some(())
    }

    fn add_row(&mut self) -> Option<()> {
        if self.rows == self.segments.len() << self.bits {
            self.segments.push(Room::new(self.stride << self.bits)?);
        }
        if let Some(segment) = self.segments.last_mut() {
            (0..self.stride).for_each(|_| segment.push(T::default()));
        }
        self.rows += 1;
        Some(())
    }

    /// The segment of a row, and where the row starts in it.
    #[inline(always)]
    fn place(&self, id: I) -> (usize, usize) {
        let at = id.index();
        let row = at & ((1 << self.bits) - 1);
        (at >> self.bits, row * self.stride)
    }
}

impl<I: Id, T: Copy + Default> Index<I> for Strided<I, T> {
    type Output = [T];
    #[inline]
    fn index(&self, id: I) -> &[T] {
        let (segment, start) = self.place(id);
        &self.segments[segment][start..start + self.stride]
    }
}

impl<I: Id, T: Copy + Default> IndexMut<I> for Strided<I, T> {
    #[inline]
    fn index_mut(&mut self, id: I) -> &mut [T] {
        let (segment, start) = self.place(id);
        &mut self.segments[segment][start..start + self.stride]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    define_pool_ids! {
        /// A record of the tests.
        RecordId;
    }

    #[derive(Clone, Copy)]
    struct Record {
        link: RecordId,
        value: u32,
    }

    impl Linked<RecordId> for Record {
        const BLANK: Self = Self {
            link: RecordId::NONE,
            value: 0,
        };
        fn link(&mut self) -> &mut RecordId {
            &mut self.link
        }
    }

    #[test]
    fn a_pool_stops_at_its_limit_and_reuses_released_records() {
        let mut budget = ByteCount::new(1 << 20);
        let mut pool = Pool::<RecordId, Record>::new(1500, 0);
        let ids: Vec<RecordId> = std::iter::from_fn(|| pool.allocate(&mut budget)).collect();
        assert_eq!(ids.len(), 1500);
        for (value, &id) in ids.iter().enumerate() {
            pool[id].value = value as u32;
        }
        assert!((0..1500).all(|value| pool[ids[value]].value == value as u32));
        pool.release(ids[700]);
        pool.release(ids[3]);
        assert_eq!(pool.in_use, 1498);
        assert_eq!(pool.allocate(&mut budget), Some(ids[3]));
        assert_eq!(pool.allocate(&mut budget), Some(ids[700]));
        assert_eq!(pool.allocate(&mut budget), None);
    }

    #[test]
    fn pools_share_the_budget_and_may_exceed_it_by_min_records() {
        let bytes = MIN_RECORDS * size_of::<Record>();
        let mut budget = ByteCount::new(2 * bytes + 1);
        let mut first = Pool::<RecordId, Record>::new(usize::MAX, 0);
        let taken = std::iter::from_fn(|| first.allocate(&mut budget)).count();
        assert_eq!((taken, budget.used), (2 * MIN_RECORDS, 2 * bytes));
        let mut second = Pool::<RecordId, Record>::new(usize::MAX, 0);
        let taken = std::iter::from_fn(|| second.allocate(&mut budget)).count();
        assert_eq!((taken, budget.used), (MIN_RECORDS, 3 * bytes));
    }

    #[test]
    fn rows_of_a_strided_table_do_not_overlap() {
        let mut budget = ByteCount::new(1 << 20);
        let mut pool = Pool::<RecordId, Record>::new(2000, Strided::<RecordId, u8>::row_bytes(3));
        let mut rows = Strided::<RecordId, u8>::new(3);
        let ids: Vec<RecordId> = std::iter::from_fn(|| pool.allocate(&mut budget)).collect();
        rows.grow_to(pool.created).unwrap();
        for &id in &ids {
            rows[id].fill((id.0 % 251) as u8);
        }
        assert!(ids.iter().all(|&id| rows[id] == [(id.0 % 251) as u8; 3]));
    }

    #[test]
    fn rows_of_any_length_take_segments_of_bounded_size() {
        let mut rows = Strided::<RecordId, u64>::new(3 << 18);
        assert_eq!(rows.bits, 1, "a row takes 6 MiB");
        rows.grow_to(3).unwrap();
        for id in (0..3).map(RecordId) {
            rows[id][..2].fill(u64::from(id.0));
        }
        assert!((0..3).all(|id| rows[RecordId(id)][1] == u64::from(id)));
        assert_eq!(rows.segments.len(), 2);
        let mut rows = Strided::<RecordId, u64>::new(1 << 58);
        assert_eq!((rows.bits, rows.grow_to(1)), (0, None));
    }
}
