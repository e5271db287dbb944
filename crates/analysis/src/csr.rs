//! Compressed sparse rows: a run of items per row, all in one vector.

use std::ops::Range;

/// Items by row.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Csr<T> {
    /// Per row the end of its items.
    ends: Vec<u32>,
    pub(super) items: Vec<T>,
}

impl<T: Copy + Default> Csr<T> {
    /// The rows of pairs of row and item. A row keeps the order of its pairs.
    pub(super) fn new(n_rows: usize, pairs: &[(u32, T)]) -> Self {
        let mut ends = vec![0u32; n_rows];
        for &(row, _) in pairs {
            ends[row as usize] += 1;
        }
        let mut end = 0;
        for count in &mut ends {
            let start = end;
            end += *count;
            // The start for now; filling moves it to the end.
            *count = start;
        }
        let mut items = vec![T::default(); pairs.len()];
        for &(row, item) in pairs {
            let place = &mut ends[row as usize];
            items[*place as usize] = item;
            *place += 1;
        }
        Self { ends, items }
    }

    /// The indices of a row's items.
    #[inline]
    pub(super) fn range(&self, row: usize) -> Range<usize> {
        let start = row.checked_sub(1).map_or(0, |before| self.ends[before]);
        start as usize..self.ends[row] as usize
    }

    /// The items of a row.
    #[inline]
    pub(super) fn row(&self, row: usize) -> &[T] {
        &self.items[self.range(row)]
    }
}
