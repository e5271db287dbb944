//! Disjoint sets of bases: union-find with path halving. The root of a set is its first base.

use panza_gdl::{BaseId, Id};

/// Disjoint sets of bases, singletons at first.
#[derive(Clone, Debug)]
pub(super) struct DisjointSets {
    parents: Vec<u32>,
    /// The number of unions so far.
    pub n_united: usize,
}

impl DisjointSets {
    pub fn new(n_bases: usize) -> Self {
        Self {
            parents: (0..n_bases as u32).collect(),
            n_united: 0,
        }
    }

    /// The root of the set of a base.
    pub fn root(&mut self, base: BaseId) -> BaseId {
        let mut at = base.index();
        while self.parents[at] as usize != at {
            self.parents[at] = self.parents[self.parents[at] as usize];
            at = self.parents[at] as usize;
        }
        BaseId::from_index(at)
    }

    pub fn unite(&mut self, one: BaseId, other: BaseId) {
        let (one, other) = (self.root(one), self.root(other));
        if one != other {
            self.n_united += 1;
            let (first, second) = (one.min(other), one.max(other));
            self.parents[second.index()] = first.0;
        }
    }

    pub fn unite_all(&mut self, bases: &[BaseId]) {
        for pair in bases.windows(2) {
            self.unite(pair[0], pair[1]);
        }
    }

    /// The roots of some bases, each once, in rising order.
    pub fn roots(&mut self, bases: &[BaseId]) -> Vec<BaseId> {
        let mut roots: Vec<BaseId> = bases.iter().map(|&base| self.root(base)).collect();
        roots.sort_unstable();
        roots.dedup();
        roots
    }
}
