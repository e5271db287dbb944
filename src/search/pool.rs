//! Memory of the tree: pools of equal records, addressed by typed `u32` ids, under one bound in
//! bytes.
//!
//! A [`Pool`] lies in segments of [`SEGMENT`] records, for which address space is set aside at once
//! and memory as they are made, so that growing never moves a record nor pauses to copy one. Freed
//! records are handed out again, last freed first. Records of a length known only at run time (one
//! score per role) lie beside a pool in a [`Strided`] table with the same ids. A descent through a
//! large graph jumps from one end of memory to the other, so the system is asked for large pages,
//! which it can find its way in more quickly.
//!
//! Invariants: an id is valid from `allocate` to `release`; a record is counted in the [`Budget`]
//! when it is made and stays until the pool is dropped; free records form a list through their own
//! link field. What the system hands out in large pages exceeds what is counted by less than one of
//! them (2 MiB on most machines) a segment.
//!
//! Never knows: what the records mean.

use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

use crate::ids::{Id, NodeId};
use crate::sync::pages::room_for;

const SEGMENT_BITS: u32 = 18;
/// Records in a segment.
pub(super) const SEGMENT: usize = 1 << SEGMENT_BITS;
/// Records that a pool may always make, whatever the bound in bytes.
pub(super) const ALWAYS: usize = 1024;

/// An id with one value set apart for "none", which keeps a link at four bytes.
pub(super) trait Place: Id {
    /// No record.
    const NONE: Self;

    /// Whether it names a record.
    #[inline]
    fn is_some(self) -> bool {
        self != Self::NONE
    }
}

impl Place for NodeId {
    const NONE: Self = NodeId(u32::MAX);
}

/// Declares one id type of a pool.
macro_rules! define_place {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub(super) struct $name(pub(super) u32);

        impl $crate::ids::Id for $name {
            #[inline]
            fn from_index(index: usize) -> Self {
                Self(index as u32)
            }
            #[inline]
            fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl $crate::search::pool::Place for $name {
            const NONE: Self = Self(u32::MAX);
        }
    };
}
pub(super) use define_place;

/// The bytes that all pools of a tree share.
#[derive(Debug)]
pub(super) struct Budget {
    limit: usize,
    used: usize,
}

impl Budget {
    /// A bound of `limit` bytes, nothing of it used.
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, used: 0 }
    }

    /// Bytes taken so far.
    pub(super) fn used(&self) -> usize {
        self.used
    }

    /// Counts bytes in, unless they go beyond the bound.
    pub(super) fn take(&mut self, bytes: usize) -> bool {
        let fits = bytes <= self.limit.saturating_sub(self.used);
        if fits {
            self.used += bytes;
        }
        fits
    }

    /// Takes the bound away and returns it.
    pub(super) fn lift(&mut self) -> usize {
        std::mem::replace(&mut self.limit, usize::MAX)
    }

    /// Sets the bound again.
    pub(super) fn restore(&mut self, limit: usize) {
        self.limit = limit;
    }

    /// Counts bytes in, whether they fit or not.
    pub(super) fn take_anyway(&mut self, bytes: usize) {
        self.used += bytes;
    }
}

/// A record that can be linked into a list; the pool links the free ones.
pub(super) trait Linked<I>: Copy {
    /// What a record holds before anyone writes to it.
    const BLANK: Self;

    /// The next record of the list.
    fn link(&self) -> I;

    /// Sets the next record of the list.
    fn set_link(&mut self, next: I);
}

/// Records of one type.
pub(super) struct Pool<I, T> {
    segments: Vec<Vec<T>>,
    /// Head of the list of freed records.
    free: I,
    /// Records ever handed out: those behind it are still blank.
    made: usize,
    in_use: usize,
    /// The most records that may ever be made.
    limit: usize,
    /// What a record costs, with what lies beside it in strided tables.
    record_bytes: usize,
}

impl<I: Place, T: Linked<I>> Pool<I, T> {
    /// An empty pool of at most `limit` records, each costing `beside` bytes more than its own
    /// size.
    pub(super) fn new(limit: usize, beside: usize) -> Self {
        Self {
            segments: Vec::new(),
            free: I::NONE,
            made: 0,
            in_use: 0,
            limit: limit.min(u32::MAX as usize - 1),
            record_bytes: size_of::<T>() + beside,
        }
    }

    /// A record to fill, with whatever its last owner left in it; `None` when the limit or the
    /// budget is reached.
    pub(super) fn allocate(&mut self, budget: &mut Budget) -> Option<I> {
        if self.free.is_some() {
            let id = self.free;
            self.free = self[id].link();
            self.in_use += 1;
            return Some(id);
        }
        if self.made >= self.limit {
            return None;
        }
        if !budget.take(self.record_bytes) {
            if self.made >= ALWAYS {
                return None;
            }
            budget.take_anyway(self.record_bytes);
        }
        if self.made == self.segments.len() * SEGMENT {
            let left = (self.limit - self.made).min(SEGMENT);
            self.segments.push(room_for(left));
        }
        if let Some(segment) = self.segments.last_mut() {
            segment.push(T::BLANK);
        }
        let id = I::from_index(self.made);
        self.made += 1;
        self.in_use += 1;
        Some(id)
    }

    /// Takes a record back.
    pub(super) fn release(&mut self, id: I) {
        let free = self.free;
        self[id].set_link(free);
        self.free = id;
        self.in_use -= 1;
    }

    /// How many records are in use.
    pub(super) fn in_use(&self) -> usize {
        self.in_use
    }

    /// The most records that may ever be in use.
    pub(super) fn limit(&self) -> usize {
        self.limit
    }

    /// Takes the bound in records away and returns it.
    pub(super) fn raise_limit(&mut self) -> usize {
        std::mem::replace(&mut self.limit, u32::MAX as usize - 1)
    }

    /// Sets the bound in records again.
    pub(super) fn restore_limit(&mut self, limit: usize) {
        self.limit = limit;
    }

    /// Records ever handed out: their ids are those below.
    pub(super) fn made(&self) -> usize {
        self.made
    }

    /// Every record ever handed out, the freed ones included.
    pub(super) fn all_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.segments
            .iter_mut()
            .flat_map(|segment| segment.iter_mut())
            .take(self.made)
    }
}

impl<I: Id, T> Index<I> for Pool<I, T> {
    type Output = T;
    #[inline]
    fn index(&self, id: I) -> &T {
        let at = id.index();
        &self.segments[at >> SEGMENT_BITS][at & (SEGMENT - 1)]
    }
}

impl<I: Id, T> IndexMut<I> for Pool<I, T> {
    #[inline]
    fn index_mut(&mut self, id: I) -> &mut T {
        let at = id.index();
        &mut self.segments[at >> SEGMENT_BITS][at & (SEGMENT - 1)]
    }
}

/// Rows of a fixed number of values, one row for each record of a pool.
pub(super) struct Strided<I, T> {
    segments: Vec<Vec<T>>,
    rows: usize,
    stride: usize,
    marker: PhantomData<fn(I)>,
}

impl<I: Id, T: Copy + Default> Strided<I, T> {
    /// No rows yet, of `stride` values each.
    pub(super) fn new(stride: usize) -> Self {
        Self {
            segments: Vec::new(),
            rows: 0,
            stride,
            marker: PhantomData,
        }
    }

    /// What a row costs.
    pub(super) fn row_bytes(stride: usize) -> usize {
        stride * size_of::<T>()
    }

    /// Grows to as many rows as the pool it lies beside has made records.
    #[inline]
    pub(super) fn follow(&mut self, made: usize) {
        while self.rows < made {
            if self.rows == self.segments.len() * SEGMENT {
                self.segments.push(room_for(SEGMENT * self.stride));
            }
            if let Some(segment) = self.segments.last_mut() {
                segment.resize(segment.len() + self.stride, T::default());
            }
            self.rows += 1;
        }
    }
}

impl<I: Id, T> Index<I> for Strided<I, T> {
    type Output = [T];
    #[inline]
    fn index(&self, id: I) -> &[T] {
        let at = id.index();
        let start = (at & (SEGMENT - 1)) * self.stride;
        &self.segments[at >> SEGMENT_BITS][start..start + self.stride]
    }
}

impl<I: Id, T> IndexMut<I> for Strided<I, T> {
    #[inline]
    fn index_mut(&mut self, id: I) -> &mut [T] {
        let at = id.index();
        let start = (at & (SEGMENT - 1)) * self.stride;
        &mut self.segments[at >> SEGMENT_BITS][start..start + self.stride]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    define_place! {
        /// A record of the tests.
        RecordId
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
        fn link(&self) -> RecordId {
            self.link
        }
        fn set_link(&mut self, next: RecordId) {
            self.link = next;
        }
    }

    #[test]
    fn a_pool_stops_at_its_limit_and_reuses_what_was_released() {
        let mut budget = Budget::new(1 << 20);
        let mut pool = Pool::<RecordId, Record>::new(1500, 0);
        let ids: Vec<RecordId> = std::iter::from_fn(|| pool.allocate(&mut budget)).collect();
        assert_eq!(ids.len(), 1500);
        for (value, &id) in ids.iter().enumerate() {
            pool[id].value = value as u32;
        }
        assert!((0..1500).all(|value| pool[ids[value]].value == value as u32));
        pool.release(ids[700]);
        pool.release(ids[3]);
        assert_eq!(pool.in_use(), 1498);
        assert_eq!(pool.allocate(&mut budget), Some(ids[3]));
        assert_eq!(pool.allocate(&mut budget), Some(ids[700]));
        assert_eq!(pool.allocate(&mut budget), None);
    }

    #[test]
    fn the_budget_is_shared_and_the_first_records_are_always_given() {
        let bytes = ALWAYS * size_of::<Record>();
        let mut budget = Budget::new(2 * bytes + 1);
        let mut first = Pool::<RecordId, Record>::new(usize::MAX, 0);
        let taken = std::iter::from_fn(|| first.allocate(&mut budget)).count();
        assert_eq!((taken, budget.used()), (2 * ALWAYS, 2 * bytes));
        let mut second = Pool::<RecordId, Record>::new(usize::MAX, 0);
        let taken = std::iter::from_fn(|| second.allocate(&mut budget)).count();
        assert_eq!((taken, budget.used()), (ALWAYS, 3 * bytes));
    }

    #[test]
    fn rows_beside_a_pool_keep_apart() {
        let mut budget = Budget::new(1 << 20);
        let mut pool = Pool::<RecordId, Record>::new(2000, Strided::<RecordId, u8>::row_bytes(3));
        let mut rows = Strided::<RecordId, u8>::new(3);
        let ids: Vec<RecordId> = std::iter::from_fn(|| pool.allocate(&mut budget)).collect();
        rows.follow(pool.made());
        for &id in &ids {
            rows[id].fill((id.0 % 251) as u8);
        }
        assert!(ids.iter().all(|&id| rows[id] == [(id.0 % 251) as u8; 3]));
    }
}
