//! Groups of bases that belong together, as a forest of links to one of each group.

use crate::ids::{BaseId, Id};

/// Groups of bases; each stands alone at first.
#[derive(Clone, Debug)]
pub(super) struct Partition {
    above: Vec<u32>,
    /// How often two groups became one.
    pub n_united: usize,
}

impl Partition {
    pub fn new(n_bases: usize) -> Self {
        Self {
            above: (0..n_bases as u32).collect(),
            n_united: 0,
        }
    }

    /// The base that stands for the group of a base: the first of it.
    pub fn root(&mut self, base: BaseId) -> BaseId {
        let mut at = base.index();
        while self.above[at] as usize != at {
            self.above[at] = self.above[self.above[at] as usize];
            at = self.above[at] as usize;
        }
        BaseId::from_index(at)
    }

    pub fn unite(&mut self, one: BaseId, other: BaseId) {
        let (one, other) = (self.root(one), self.root(other));
        if one != other {
            self.n_united += 1;
            let (first, second) = (one.min(other), one.max(other));
            self.above[second.index()] = first.0;
        }
    }

    pub fn unite_all(&mut self, bases: &[BaseId]) {
        for pair in bases.windows(2) {
            self.unite(pair[0], pair[1]);
        }
    }

    /// The groups of some bases, each once, in rising order.
    pub fn roots(&mut self, bases: &[BaseId]) -> Vec<BaseId> {
        let mut roots: Vec<BaseId> = bases.iter().map(|&base| self.root(base)).collect();
        roots.sort_unstable();
        roots.dedup();
        roots
    }
}
