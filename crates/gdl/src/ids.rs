//! Typed indices and the vectors they index.
//!
//! Every table of the program is indexed by a `u32` newtype of its own, so that a role can never
//! index a table of gates. [`IdVec`] is a vector whose index type is fixed. Nothing here
//! knows what a role or a gate means.

use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// A typed index: a newtype of `u32`.
pub trait Id: Copy + Eq + std::hash::Hash + std::fmt::Debug {
    /// The id of an index. An index above `u32::MAX` is a defect of the caller, who bounds its
    /// tables.
    fn from_index(index: usize) -> Self;
    /// The index in the table.
    fn index(self) -> usize;
}

/// Declares one index type.
#[macro_export]
macro_rules! define_id {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub struct $name(pub u32);

        impl $crate::ids::Id for $name {
            #[inline(always)]
            fn from_index(index: usize) -> Self {
                debug_assert!(index <= u32::MAX as usize);
                Self(index as u32)
            }
            #[inline(always)]
            fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}
pub use crate::define_id;

define_id! {
    /// A role, in the order of the rulesheet's `role` facts.
    RoleId
}
define_id! {
    /// A name of the rulesheet: relation, function or constant.
    Symbol
}
define_id! {
    /// A ground term in a term table.
    TermId
}
define_id! {
    /// A ground atom of the ground program.
    AtomId
}
define_id! {
    /// A base proposition: one bit of a state.
    BaseId
}
define_id! {
    /// A role's move: an input of the network, unique over all roles.
    MoveId
}
define_id! {
    /// A gate of the network.
    GateId
}
define_id! {
    /// A node of the game tree.
    NodeId
}

/// A vector indexed by one id type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IdVec<I, T> {
    items: Vec<T>,
    marker: PhantomData<fn(I)>,
}

impl<I: Id, T> IdVec<I, T> {
    /// An empty vector.
    pub fn new() -> Self {
        Self::from_vec(Vec::new())
    }

    /// Wraps a vector.
    pub fn from_vec(items: Vec<T>) -> Self {
        Self {
            items,
            marker: PhantomData,
        }
    }

    /// Appends an item and returns its id.
    pub fn push(&mut self, item: T) -> I {
        let id = I::from_index(self.items.len());
        self.items.push(item);
        id
    }

    /// Number of items.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The item, or `None` when the id is out of range.
    pub fn get(&self, id: I) -> Option<&T> {
        self.items.get(id.index())
    }

    /// All ids in order.
    pub fn ids(
        &self,
    ) -> impl DoubleEndedIterator<Item = I> + ExactSizeIterator + Clone + use<I, T> {
        (0..self.items.len()).map(I::from_index)
    }

    /// All items in order.
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.items.iter()
    }

    /// All items in order, to be changed.
    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, T> {
        self.items.iter_mut()
    }

    /// Ids and items in order.
    pub fn enumerate(
        &self,
    ) -> impl DoubleEndedIterator<Item = (I, &T)> + ExactSizeIterator + Clone {
        self.items
            .iter()
            .enumerate()
            .map(|(index, item)| (I::from_index(index), item))
    }

    /// The items as a plain slice.
    pub fn as_slice(&self) -> &[T] {
        &self.items
    }
}

impl<I: Id, T> Default for IdVec<I, T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<I: Id, T> Index<I> for IdVec<I, T> {
    type Output = T;
    fn index(&self, id: I) -> &T {
        &self.items[id.index()]
    }
}

impl<I: Id, T> IndexMut<I> for IdVec<I, T> {
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.items[id.index()]
    }
}

impl<I: Id, T> FromIterator<T> for IdVec<I, T> {
    fn from_iter<It: IntoIterator<Item = T>>(items: It) -> Self {
        Self::from_vec(items.into_iter().collect())
    }
}

/// Lists of items by number, concatenated in one vector.
#[derive(Clone, Default, Debug)]
pub struct GroupedLists<T> {
    starts: Vec<u32>,
    items: Vec<T>,
}

impl<T: Copy> GroupedLists<T> {
    /// Sorts pairs of a list's number, below `n_lists`, and an item by number, stably.
    pub fn new(n_lists: usize, pairs: impl Iterator<Item = (usize, T)> + Clone) -> Self {
        let mut starts = vec![0u32; n_lists + 1];
        let mut items = Vec::new();
        for (list, item) in pairs.clone() {
            starts[list + 1] += 1;
            items.push(item);
        }
        for list in 0..n_lists {
            starts[list + 1] += starts[list];
        }
        let mut ends = starts.clone();
        for (list, item) in pairs {
            items[ends[list] as usize] = item;
            ends[list] += 1;
        }
        Self { starts, items }
    }

    /// The items of the n-th list.
    pub fn of(&self, list: usize) -> &[T] {
        &self.items[self.starts[list] as usize..self.starts[list + 1] as usize]
    }
}
