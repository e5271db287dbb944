//! Sorts terms by their canonical text without writing the text each time.
//!
//! Each sorted term gets a rank. Ranks have gaps, so that a new term fits between two others; when
//! a gap is used up, all ranks are spread out again.

use std::collections::BTreeMap;
use std::ops::Bound;

use panza_gdl::{Id, TermId};

/// The distance between ranks when they are spread out.
const SPREAD: u64 = 1 << 32;

#[derive(Default)]
pub struct TextOrder {
    by_text: BTreeMap<Box<str>, TermId>,
    /// By term; 0 when it has none.
    ranks: Vec<u64>,
}

impl TextOrder {
    /// Sorts terms by their text, compared by character code.
    pub fn sort(&mut self, terms: &mut [TermId], text: impl Fn(TermId) -> String) {
        if terms.len() < 2 {
            return;
        }
        let is_new = |term: &&TermId| self.rank(**term) == 0;
        let mut new: Vec<TermId> = terms.iter().filter(is_new).copied().collect();
        new.sort_unstable();
        new.dedup();
        if new.len() > self.by_text.len() {
            // Ranks would be spread out again and again.
            let texts = new.into_iter().map(|term| (text(term).into(), term));
            self.by_text.extend(texts);
            self.spread();
        } else {
            for term in new {
                self.add(term, text(term).into());
            }
        }
        terms.sort_unstable_by_key(|&term| self.rank(term));
    }

    #[inline]
    fn rank(&self, term: TermId) -> u64 {
        self.ranks.get(term.index()).copied().unwrap_or(0)
    }

    fn add(&mut self, term: TermId, text: Box<str>) {
        let after = (Bound::Excluded(&*text), Bound::Unbounded);
        let next = self.by_text.range::<str, _>(after).next();
        let before = (Bound::Unbounded, Bound::Excluded(&*text));
        let last = self.by_text.range::<str, _>(before).next_back();
        let low = last.map_or(0, |(_, &term)| self.rank(term));
        let high = match next {
            Some((_, &term)) => self.rank(term),
            None => low.saturating_add(2 * SPREAD),
        };
        let rank = low + (high - low) / 2;
        self.by_text.insert(text, term);
        if term.index() >= self.ranks.len() {
            self.ranks.resize(term.index() + 1, 0);
        }
        if rank > low && rank < high {
            self.ranks[term.index()] = rank;
            return;
        }
        self.spread();
    }

    /// Gives all terms ranks with gaps between them.
    fn spread(&mut self) {
        let most = self.by_text.values().map(|term| term.index()).max();
        let n_ranks = most.map_or(0, |most| most + 1).max(self.ranks.len());
        self.ranks.resize(n_ranks, 0);
        for (position, term) in self.by_text.values().enumerate() {
            self.ranks[term.index()] = (position as u64 + 1) * SPREAD;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_are_sorted_by_text_however_they_come() {
        let text = |term: TermId| format!("{:04}", term.0 % 1000);
        let mut order = TextOrder::default();
        // Falling numbers: each new text goes before all others, which uses up the first gap again
        // and again.
        for start in (0..900).rev().step_by(3) {
            let mut terms: Vec<TermId> = (start..start + 40).rev().map(TermId).collect();
            order.sort(&mut terms, text);
            assert!(terms.is_sorted(), "{terms:?}");
        }
        let mut terms: Vec<TermId> = (0..900).rev().map(TermId).collect();
        order.sort(&mut terms, text);
        assert!(terms.is_sorted());
    }
}
