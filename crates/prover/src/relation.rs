//! The facts of one relation.
//!
//! A fact keeps its number for ever. It holds if its stamp is the relation's generation, so that
//! clearing the relation is one increment and a warm state allocates nothing.

use super::tuple_map::TupleMap;
use panza_gdl::ids::define_id;
use panza_gdl::{Id, TermId};

define_id! { FactId }

#[derive(Clone, Debug)]
enum Numbers {
    /// Arity 0: the one fact is number 0.
    Nullary,
    /// Arity 1: by term, one more than the fact's number, 0 when it has none.
    Unary(Vec<u32>),
    Tuples(TupleMap<FactId>),
}

#[derive(Clone, Debug)]
pub struct Relation {
    arity: usize,
    numbers: Numbers,
    arguments: Vec<TermId>,
    /// By fact: the generation in which it held last.
    stamps: Vec<u32>,
    /// Raised each time the relation is emptied; never 0.
    generation: u32,
    /// What holds now, in the order of derivation.
    holding: Vec<FactId>,
    /// By fact: the last reference it was in; see [`Relation::keep_as_reference`].
    reference_stamps: Vec<u32>,
    reference: u32,
}

impl Relation {
    pub fn new(arity: usize) -> Self {
        Self {
            arity,
            numbers: match arity {
                0 => Numbers::Nullary,
                1 => Numbers::Unary(Vec::new()),
                _ => Numbers::Tuples(TupleMap::new()),
            },
            arguments: Vec::new(),
            stamps: if arity == 0 { vec![0] } else { Vec::new() },
            generation: 1,
            holding: Vec::new(),
            reference_stamps: Vec::new(),
            reference: 1,
        }
    }

    pub fn generation(&self) -> u32 {
        self.generation
    }

    /// What holds now, in the order of derivation. Grows while the relation is being evaluated.
    pub fn holding(&self) -> &[FactId] {
        &self.holding
    }

    pub fn arguments(&self, fact: FactId) -> &[TermId] {
        let start = fact.index() * self.arity;
        &self.arguments[start..start + self.arity]
    }

    pub fn n_known(&self) -> usize {
        self.stamps.len()
    }

    /// Empties the relation. True when the generations have wrapped around, so that every index
    /// must be [emptied](super::index::Index::restart) too.
    pub fn clear(&mut self) -> bool {
        self.holding.clear();
        if self.generation == u32::MAX {
            self.stamps.fill(0);
            self.generation = 1;
            return true;
        }
        self.generation += 1;
        false
    }

    /// The number of the fact with these arguments, if it ever held.
    #[inline]
    pub fn find(&self, arguments: &[TermId]) -> Option<FactId> {
        match &self.numbers {
            Numbers::Nullary => Some(FactId(0)),
            Numbers::Unary(by_term) => match by_term.get(arguments[0].index()) {
                None | Some(0) => None,
                Some(number) => Some(FactId(number - 1)),
            },
            Numbers::Tuples(table) => table.get(arguments),
        }
    }

    #[inline]
    pub fn holds(&self, fact: FactId) -> bool {
        self.stamps[fact.index()] == self.generation
    }

    #[inline]
    pub fn holds_with(&self, arguments: &[TermId]) -> bool {
        self.find(arguments).is_some_and(|fact| self.holds(fact))
    }

    /// The number of the fact with these arguments; new facts are added.
    #[inline]
    pub fn number(&mut self, arguments: &[TermId]) -> FactId {
        let new = FactId::from_index(self.stamps.len());
        let fact = match &mut self.numbers {
            Numbers::Nullary => return FactId(0),
            Numbers::Unary(by_term) => {
                let term = arguments[0].index();
                if term >= by_term.len() {
                    by_term.resize(term + term / 4 + 8, 0);
                }
                if by_term[term] != 0 {
                    return FactId(by_term[term] - 1);
                }
                by_term[term] = new.0 + 1;
                new
            }
            Numbers::Tuples(table) => table.get_or_insert(arguments, new),
        };
        if fact == new {
            self.arguments.extend_from_slice(arguments);
            self.stamps.push(0);
        }
        fact
    }

    /// Makes the fact with these arguments hold; true when it did not before.
    #[inline]
    pub fn insert(&mut self, arguments: &[TermId]) -> bool {
        let fact = self.number(arguments);
        self.insert_known(fact)
    }

    #[inline]
    pub fn insert_known(&mut self, fact: FactId) -> bool {
        let stamp = &mut self.stamps[fact.index()];
        if *stamp == self.generation {
            return false;
        }
        *stamp = self.generation;
        self.holding.push(fact);
        true
    }

    /// Keeps the facts that hold now as the reference for negation within the component.
    pub fn keep_as_reference(&mut self) {
        self.reference_stamps.resize(self.stamps.len(), 0);
        if self.reference == u32::MAX {
            self.reference_stamps.fill(0);
            self.reference = 0;
        }
        self.reference += 1;
        for fact in &self.holding {
            self.reference_stamps[fact.index()] = self.reference;
        }
    }

    pub fn clear_reference(&mut self) {
        self.reference_stamps.fill(0);
    }

    pub fn is_in_reference(&self, arguments: &[TermId]) -> bool {
        self.find(arguments)
            .is_some_and(|fact| self.reference_stamps.get(fact.index()) == Some(&self.reference))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(numbers: &[u32]) -> Vec<TermId> {
        numbers.iter().map(|&number| TermId(number)).collect()
    }

    #[test]
    fn facts_hold_until_the_relation_is_emptied_and_keep_their_numbers() {
        for arity in 0..4 {
            let mut relation = Relation::new(arity);
            let first = terms(&[7, 5, 3][..arity]);
            assert!(!relation.holds_with(&first), "arity {arity}");
            assert!(relation.insert(&first));
            assert!(!relation.insert(&first));
            assert!(relation.holds_with(&first));
            let number = relation.find(&first).unwrap();
            assert_eq!(relation.arguments(number), first);
            relation.clear();
            assert!(!relation.holds_with(&first));
            assert_eq!(relation.find(&first), Some(number));
            assert_eq!(relation.holding(), []);
            if arity > 0 {
                let second = terms(&[5, 7, 3][..arity]);
                assert!(relation.insert(&second));
                assert_ne!(relation.find(&second), Some(number));
                assert!(!relation.holds_with(&first));
            }
        }
    }

    #[test]
    fn generations_wrap_around() {
        let mut relation = Relation::new(1);
        relation.insert(&terms(&[1]));
        relation.generation = u32::MAX - 1;
        relation.insert(&terms(&[2]));
        assert!(!relation.clear());
        relation.insert(&terms(&[3]));
        assert!(relation.clear());
        assert_eq!(relation.generation(), 1);
        for number in 1..4 {
            assert!(!relation.holds_with(&terms(&[number])));
        }
    }

    #[test]
    fn a_reference_outlives_the_contents() {
        let mut relation = Relation::new(2);
        relation.insert(&terms(&[1, 2]));
        relation.keep_as_reference();
        relation.clear();
        relation.insert(&terms(&[3, 4]));
        assert!(relation.is_in_reference(&terms(&[1, 2])));
        assert!(!relation.is_in_reference(&terms(&[3, 4])));
        relation.clear_reference();
        assert!(!relation.is_in_reference(&terms(&[1, 2])));
    }
}
