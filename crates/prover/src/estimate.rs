//! Estimates of a literal's matches, from samples of states.

use std::collections::HashMap;

use hashbrown::HashSet;
use rustc_hash::FxBuildHasher;

use super::dependency::DOES;
use super::index::{Pattern, matches};
use super::relation::Relation;
use panza_gdl::{Signature, TermId, TermTable};

/// Assumed size of a relation without samples.
const UNKNOWN_SIZE: f64 = 40.0;
/// Assumed selectivity of a bound argument without samples.
const UNKNOWN_NARROWING: f64 = 0.15;

type Question = (Signature, Vec<Pattern>, Vec<Option<TermId>>);

#[derive(Default)]
pub struct Estimates {
    /// By relation, per sampled state the concatenated arguments of its facts.
    samples: HashMap<Signature, Vec<Vec<TermId>>>,
    answers: HashMap<Question, f64>,
}

impl Estimates {
    pub fn add(&mut self, signature: Signature, arguments: Vec<TermId>) {
        self.samples.entry(signature).or_default().push(arguments);
    }

    pub fn is_known(&self, signature: Signature) -> bool {
        self.samples.contains_key(&signature)
    }

    pub fn restart(&mut self) {
        self.answers.clear();
    }

    /// The average number of matches of `patterns`, given the values of the known keys and some
    /// value that occurs for each other key. `relation` counts as a sample when there is no other
    /// and something holds in it.
    pub fn expected(
        &mut self,
        signature: Signature,
        relation: &Relation,
        terms: &TermTable,
        patterns: Vec<Pattern>,
        known: Vec<Option<TermId>>,
    ) -> f64 {
        let question = (signature, patterns, known);
        if let Some(answer) = self.answers.get(&question) {
            return *answer;
        }
        let (_, patterns, known) = &question;
        let mut count = Count {
            terms,
            patterns,
            known,
            n_matches: 0,
            n_keys: 0,
        };
        let answer = match self.samples.get(&signature) {
            Some(samples) => {
                for sample in samples {
                    count.sample(sample.chunks_exact(signature.1.max(1)));
                }
                count.average()
            }
            None if !relation.holding().is_empty() => {
                let facts = relation.holding().iter();
                count.sample(facts.map(|&fact| relation.arguments(fact)));
                count.average()
            }
            None if signature == DOES => 1.0,
            None => UNKNOWN_SIZE * UNKNOWN_NARROWING.powi(known.len() as i32),
        };
        self.answers.insert(question, answer);
        answer
    }
}

struct Count<'a> {
    terms: &'a TermTable,
    patterns: &'a [Pattern],
    known: &'a [Option<TermId>],
    n_matches: usize,
    n_keys: usize,
}

impl Count<'_> {
    fn sample<'a>(&mut self, facts: impl Iterator<Item = &'a [TermId]>) {
        let mut seen: HashSet<Vec<TermId>, FxBuildHasher> = HashSet::default();
        let (mut keys, mut outputs) = (Vec::new(), Vec::new());
        for arguments in facts {
            keys.clear();
            outputs.clear();
            let is_match = matches(
                self.patterns,
                arguments,
                self.terms,
                &mut keys,
                &mut outputs,
            );
            let mut pairs = keys.iter().zip(self.known);
            if is_match && pairs.all(|(key, known)| known.is_none_or(|known| known == *key)) {
                self.n_matches += 1;
                if !seen.contains(&keys) {
                    seen.insert(keys.clone());
                }
            }
        }
        self.n_keys += seen.len().max(1);
    }

    fn average(&self) -> f64 {
        self.n_matches as f64 / self.n_keys.max(1) as f64
    }
}
