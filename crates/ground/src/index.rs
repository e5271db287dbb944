//! Indexes of the atoms found so far, by relation and by the values at chosen places.
//!
//! A [`Skeleton`] identifies an index: the shape of an atom with some places marked as keys.
//! Buckets are found by a hash of the keys, and different keys may share a bucket, so the caller
//! matches each atom again.

use std::hash::{BuildHasher, Hasher};

use rustc_hash::{FxBuildHasher, FxHashMap, FxHasher};

use super::pattern::Pattern;
use panza_gdl::{Signature, Symbol, TermId, TermTable};

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Skeleton {
    Any,
    Key,
    Function(Symbol, Box<[Skeleton]>),
}

impl Skeleton {
    /// The skeleton of a pattern whose bound places are keys, and the patterns of those places in
    /// order.
    pub fn of(pattern: &Pattern) -> (Skeleton, Vec<Pattern>) {
        let mut keys = Vec::new();
        // The relation's own name is the index's, never a key.
        let skeleton = match pattern {
            Pattern::Function(..) => Self::collect_inner(pattern, &mut keys),
            other => Self::collect(other, &mut keys),
        };
        (skeleton, keys)
    }

    fn collect(pattern: &Pattern, keys: &mut Vec<Pattern>) -> Skeleton {
        if pattern.is_bound() {
            keys.push(pattern.clone());
            return Skeleton::Key;
        }
        Self::collect_inner(pattern, keys)
    }

    fn collect_inner(pattern: &Pattern, keys: &mut Vec<Pattern>) -> Skeleton {
        let Pattern::Function(name, patterns) = pattern else {
            return Skeleton::Any;
        };
        let patterns = patterns.iter().map(|inner| Self::collect(inner, keys));
        Skeleton::Function(*name, patterns.collect())
    }

    /// Feeds the key values of a term to the hasher; false when the shape does not fit.
    fn hash_keys(&self, term: TermId, terms: &TermTable, hasher: &mut FxHasher) -> bool {
        match self {
            Skeleton::Any => true,
            Skeleton::Key => {
                hasher.write_u32(term.0);
                true
            }
            Skeleton::Function(name, inner) => {
                let arguments = terms.arguments(term);
                let mut pairs = inner.iter().zip(arguments);
                terms.name(term) == *name
                    && arguments.len() == inner.len()
                    && pairs.all(|(inner, &argument)| inner.hash_keys(argument, terms, hasher))
            }
        }
    }
}

pub fn hash_of_keys(keys: impl Iterator<Item = TermId>) -> u64 {
    let mut hasher = FxBuildHasher.build_hasher();
    keys.for_each(|key| hasher.write_u32(key.0));
    hasher.finish()
}

#[derive(Debug)]
struct Index {
    skeleton: Skeleton,
    buckets: FxHashMap<u64, Vec<TermId>>,
    entries: usize,
}

impl Index {
    fn insert(&mut self, atom: TermId, terms: &TermTable) {
        let mut hasher = FxBuildHasher.build_hasher();
        if self.skeleton.hash_keys(atom, terms, &mut hasher) {
            self.buckets.entry(hasher.finish()).or_default().push(atom);
            self.entries += 1;
        }
    }
}

#[derive(Debug, Default)]
pub struct Indexes {
    atoms: FxHashMap<Signature, Vec<TermId>>,
    of_relation: FxHashMap<Signature, Vec<usize>>,
    by_skeleton: FxHashMap<(Signature, Skeleton), usize>,
    all: Vec<Index>,
    entries: usize,
    n_buckets: usize,
}

impl Indexes {
    pub fn insert(&mut self, atom: TermId, terms: &TermTable) {
        let signature = (terms.name(atom), terms.arguments(atom).len());
        self.atoms.entry(signature).or_default().push(atom);
        self.entries += 1;
        for &index in self.of_relation.get(&signature).into_iter().flatten() {
            let before = self.all[index].buckets.len();
            self.all[index].insert(atom, terms);
            self.n_buckets += self.all[index].buckets.len() - before;
            self.entries += 1;
        }
    }

    pub fn atoms(&self, signature: Signature) -> &[TermId] {
        self.atoms.get(&signature).map_or(&[], Vec::as_slice)
    }

    /// The index with this skeleton; new indexes are added and filled.
    pub fn index(&mut self, signature: Signature, skeleton: Skeleton, terms: &TermTable) -> usize {
        if let Some(&index) = self.by_skeleton.get(&(signature, skeleton.clone())) {
            return index;
        }
        let mut index = Index {
            skeleton: skeleton.clone(),
            buckets: FxHashMap::default(),
            entries: 0,
        };
        for &atom in self.atoms(signature) {
            index.insert(atom, terms);
        }
        self.entries += index.entries;
        self.n_buckets += index.buckets.len();
        let number = self.all.len();
        self.all.push(index);
        self.of_relation.entry(signature).or_default().push(number);
        self.by_skeleton.insert((signature, skeleton), number);
        number
    }

    pub fn mean_bucket(&self, index: usize) -> f64 {
        let index = &self.all[index];
        index.entries as f64 / index.buckets.len().max(1) as f64
    }

    #[inline]
    pub fn in_bucket(&self, index: usize, hash: u64, n: usize) -> Option<TermId> {
        self.all[index].buckets.get(&hash)?.get(n).copied()
    }

    pub fn bucket_len(&self, index: usize, hash: u64) -> usize {
        self.all[index].buckets.get(&hash).map_or(0, Vec::len)
    }

    pub fn bytes(&self) -> usize {
        // A bucket is a key, a vector's head and its first allocation.
        self.entries * 8 + self.n_buckets * 64
    }
}
