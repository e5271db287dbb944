//! Indexes: buckets of a relation's facts with equal keys, as rows of output values.
//!
//! A [`Pattern`] marks keys and outputs. A fact's entry is computed once; after each change of the
//! relation the index adds one number per fact.

use super::relation::{FactId, Relation};
use super::tuple_map::TupleMap;
use panza_gdl::{Id, Symbol, TermId, TermTable};

/// The use of one argument of a fact, or of a term within it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Pattern {
    Ignored,
    Key,
    Output,
    /// Equal to an earlier output.
    SameAs(usize),
    /// This function; the whole term is an output too when `is_output`.
    Function {
        name: Symbol,
        arguments: Box<[Pattern]>,
        is_output: bool,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct BucketId(pub u32);

#[derive(Clone, Debug, Default)]
struct Bucket {
    /// The relation's generation that the items belong to.
    generation: u32,
    /// With one output: the value. Otherwise: where the row starts in the index's rows.
    items: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    bucket: u32,
    item: u32,
}

/// The fact has no entry yet.
const UNKNOWN: u32 = u32::MAX;
/// The fact does not match.
const NOWHERE: u32 = u32::MAX - 1;
/// Single keys below this are looked up in an array.
const DIRECT_KEYS: usize = 1 << 16;

#[derive(Clone, Debug)]
enum Buckets {
    One,
    /// One key: an array of bucket numbers plus one for small term ids, a table for the others.
    Single(Vec<u32>, TupleMap<BucketId>),
    Several(TupleMap<BucketId>),
}

#[derive(Clone, Debug)]
pub struct Index {
    patterns: Box<[Pattern]>,
    n_keys: usize,
    n_outputs: usize,
    numbers: Buckets,
    buckets: Vec<Bucket>,
    entries: Vec<Entry>,
    rows: Vec<TermId>,
    /// The relation's generation and how many of its facts are filled in.
    generation: u32,
    n_filled: usize,
}

impl Index {
    /// An empty index; one pattern per argument of the relation.
    pub fn new(patterns: Box<[Pattern]>) -> Self {
        fn count(patterns: &[Pattern], keys: &mut usize, outputs: &mut usize) {
            for pattern in patterns {
                match pattern {
                    Pattern::Ignored | Pattern::SameAs(_) => {}
                    Pattern::Key => *keys += 1,
                    Pattern::Output => *outputs += 1,
                    Pattern::Function {
                        arguments,
                        is_output,
                        ..
                    } => {
                        *outputs += usize::from(*is_output);
                        count(arguments, keys, outputs);
                    }
                }
            }
        }
        let (mut n_keys, mut n_outputs) = (0, 0);
        count(&patterns, &mut n_keys, &mut n_outputs);
        let (numbers, buckets) = match n_keys {
            0 => (Buckets::One, vec![Bucket::default()]),
            1 => (Buckets::Single(Vec::new(), TupleMap::new()), Vec::new()),
            _ => (Buckets::Several(TupleMap::new()), Vec::new()),
        };
        Self {
            patterns,
            n_keys,
            n_outputs,
            numbers,
            buckets,
            entries: Vec::new(),
            rows: Vec::new(),
            generation: 0,
            n_filled: 0,
        }
    }

    pub fn n_known(&self) -> usize {
        self.entries.len()
    }

    #[inline]
    pub fn find(&self, keys: &[TermId]) -> Option<BucketId> {
        match &self.numbers {
            Buckets::One => Some(BucketId(0)),
            Buckets::Single(direct, others) => {
                let key = keys[0].index();
                if key < DIRECT_KEYS {
                    match direct.get(key) {
                        None | Some(0) => None,
                        Some(number) => Some(BucketId(number - 1)),
                    }
                } else {
                    others.get(keys)
                }
            }
            Buckets::Several(table) => table.get(keys),
        }
    }

    /// The bucket of these keys; new buckets are added.
    pub fn bucket(&mut self, keys: &[TermId]) -> BucketId {
        if let Some(bucket) = self.find(keys) {
            return bucket;
        }
        let new = BucketId(self.buckets.len() as u32);
        self.buckets.push(Bucket::default());
        match &mut self.numbers {
            Buckets::One => {}
            Buckets::Single(direct, others) => {
                let key = keys[0].index();
                if key < DIRECT_KEYS {
                    if key >= direct.len() {
                        direct.resize(key + 1, 0);
                    }
                    direct[key] = new.0 + 1;
                } else {
                    others.get_or_insert(keys, new);
                }
            }
            Buckets::Several(table) => {
                table.get_or_insert(keys, new);
            }
        }
        new
    }

    /// Empties the index; the next use fills it again.
    pub fn restart(&mut self) {
        self.generation = 0;
        for bucket in &mut self.buckets {
            bucket.generation = 0;
        }
    }

    /// Adds the relation's new facts.
    #[inline]
    pub fn catch_up(&mut self, relation: &Relation, terms: &TermTable) {
        if self.generation != relation.generation() {
            self.generation = relation.generation();
            self.n_filled = 0;
        }
        if self.n_filled < relation.holding().len() {
            self.fill(relation, terms);
        }
    }

    fn fill(&mut self, relation: &Relation, terms: &TermTable) {
        for &fact in &relation.holding()[self.n_filled..] {
            let entry = match self.entries.get(fact.index()) {
                Some(entry) if entry.bucket != UNKNOWN => *entry,
                _ => self.place(fact, relation, terms),
            };
            if entry.bucket == NOWHERE {
                continue;
            }
            let bucket = &mut self.buckets[entry.bucket as usize];
            if bucket.generation != self.generation {
                bucket.generation = self.generation;
                bucket.items.clear();
            }
            bucket.items.push(entry.item);
        }
        self.n_filled = relation.holding().len();
    }

    #[cold]
    fn place(&mut self, fact: FactId, relation: &Relation, terms: &TermTable) -> Entry {
        let mut keys = Vec::with_capacity(self.n_keys);
        let mut outputs = Vec::with_capacity(self.n_outputs);
        let patterns = std::mem::take(&mut self.patterns);
        let arguments = relation.arguments(fact);
        let is_match = matches(&patterns, arguments, terms, &mut keys, &mut outputs);
        self.patterns = patterns;
        let no_entry = |bucket| Entry { bucket, item: 0 };
        let entry = if is_match {
            let item = match outputs.as_slice() {
                [value] => value.0,
                row => {
                    let start = self.rows.len() as u32;
                    self.rows.extend_from_slice(row);
                    start
                }
            };
            let bucket = self.bucket(&keys).0;
            Entry { bucket, item }
        } else {
            no_entry(NOWHERE)
        };
        if fact.index() >= self.entries.len() {
            self.entries.resize(fact.index() + 1, no_entry(UNKNOWN));
        }
        self.entries[fact.index()] = entry;
        entry
    }

    /// The items of a bucket. The index must have caught up.
    #[inline]
    pub fn items(&self, bucket: BucketId) -> &[u32] {
        let bucket = &self.buckets[bucket.0 as usize];
        if bucket.generation == self.generation {
            &bucket.items
        } else {
            &[]
        }
    }

    /// The outputs of an item of an index that has not exactly one output.
    #[inline]
    pub fn row(&self, item: u32) -> &[TermId] {
        &self.rows[item as usize..item as usize + self.n_outputs]
    }
}

/// Matches terms with patterns; appends keys and outputs.
pub fn matches(
    patterns: &[Pattern],
    arguments: &[TermId],
    terms: &TermTable,
    keys: &mut Vec<TermId>,
    outputs: &mut Vec<TermId>,
) -> bool {
    patterns
        .iter()
        .zip(arguments)
        .all(|(pattern, &term)| match pattern {
            Pattern::Ignored => true,
            Pattern::Key => {
                keys.push(term);
                true
            }
            Pattern::Output => {
                outputs.push(term);
                true
            }
            Pattern::SameAs(output) => outputs[*output] == term,
            Pattern::Function {
                name,
                arguments,
                is_output,
            } => {
                let inner = terms.arguments(term);
                if terms.name(term) != *name || inner.len() != arguments.len() {
                    return false;
                }
                if *is_output {
                    outputs.push(term);
                }
                matches(arguments, inner, terms, keys, outputs)
            }
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use panza_gdl::{Symbols, sexpr};

    #[test]
    fn facts_are_found_by_key_with_their_outputs() {
        let (mut symbols, mut terms) = (Symbols::new(), TermTable::new());
        let mut read = |text: &str| {
            let expression = sexpr::parse(text).0.remove(0);
            terms.intern_sexpr(&mut symbols, &expression).unwrap()
        };
        let cells = [
            read("(cell 1 1 x)"),
            read("(cell 1 2 o)"),
            read("(cell 2 2 x)"),
        ];
        let (control, one, two, x, o) = (
            read("(control x)"),
            read("1"),
            read("2"),
            read("x"),
            read("o"),
        );
        let cell = terms.name(cells[0]);
        let pattern = |column: Pattern, row: Pattern, is_output: bool| {
            let arguments = Box::new([column, row, Pattern::Output]);
            Box::new([Pattern::Function {
                name: cell,
                arguments,
                is_output,
            }])
        };
        let mut relation = Relation::new(1);
        for fact in [cells[0], control, cells[1], cells[2]] {
            relation.insert(&[fact]);
        }
        let mut by_column = Index::new(pattern(Pattern::Key, Pattern::Ignored, false));
        by_column.catch_up(&relation, &terms);
        let bucket = by_column.find(&[one]).unwrap();
        assert_eq!(by_column.items(bucket), [x.0, o.0]);
        let mut with_term = Index::new(pattern(Pattern::Output, Pattern::SameAs(1), true));
        with_term.catch_up(&relation, &terms);
        let rows: Vec<&[TermId]> = with_term
            .items(BucketId(0))
            .iter()
            .map(|&item| with_term.row(item))
            .collect();
        assert_eq!(rows, [[cells[0], one, x], [cells[2], two, x]]);

        relation.clear();
        relation.insert(&[cells[2]]);
        by_column.catch_up(&relation, &terms);
        assert!(by_column.items(bucket).is_empty());
        let bucket = by_column.find(&[two]).unwrap();
        assert_eq!(by_column.items(bucket), [x.0]);
        relation.insert(&[cells[0]]);
        by_column.catch_up(&relation, &terms);
        assert_eq!(by_column.items(by_column.find(&[one]).unwrap()), [x.0]);
    }
}
