//! An OR of all combinations becomes a product of ORs.
//!
//! Pattern: `(a ∧ c) ∨ (a ∧ d) ∨ (b ∧ c) ∨ (b ∧ d) ∨ e` becomes `((a ∨ b) ∧ (c ∨ d)) ∨ e`, for any
//! number of factors of any width. Sound by distributivity: each combination is looked up among the
//! OR's terms, and a term may belong to several products since `t ∨ t = t`. Such ORs come from
//! rules that join several facts over a variable that is not in the head, such as 'these four
//! pieces have some property in common': thousands of instances are a handful of products. A
//! product is widened greedily from a term with few neighbours, since such a term belongs to one
//! product only; it is taken when it saves edges. Terms with other users stay.
//!
//! Gain: quarto 49,197 gates become 1,502 and the updates per step that legal moves and the end of
//! the game cost fall from 932 to 68 (with it the phases pay as well); hex 67,565 become 65,351,
//! updates 25 to 13. Most games have no such OR, which a few comparisons per term show.

use rustc_hash::FxHashMap;

use super::{Context, rewrite};
use crate::{Network, NetworkError, Signal};
use panza_sync::Budget;

/// Smaller ORs are left to [`super::factors`].
const MIN_TERMS: usize = 12;
/// Wider terms are skipped.
const MAX_WIDTH: usize = 8;
/// Combinations in one product.
const MAX_COMBINATIONS: usize = 1 << 14;
/// Start terms compared before a product is widened from the best.
const N_STARTS: usize = 8;
/// Comparisons and look-ups without a product, per input of the terms, after which the search in an
/// OR ends.
const MAX_WORK_PER_INPUT: usize = 4;

pub(super) fn products(network: &Network, budget: &Budget) -> Result<Network, NetworkError> {
    rewrite(network, budget, |context: &mut Context<'_>, inputs| {
        let mut by_width: Vec<Vec<(Signal, Vec<Signal>)>> = vec![Vec::new(); MAX_WIDTH + 1];
        for &input in inputs.iter().filter(|input| input.is_inverted()) {
            if let Some(term) = context.single_and(input)
                && let Some(terms) = by_width.get_mut(term.len())
            {
                terms.push((input, term.to_vec()));
            }
        }
        let mut found: Vec<Vec<Vec<Signal>>> = Vec::new();
        for terms in by_width.iter().filter(|terms| terms.len() >= MIN_TERMS) {
            let mut cover = ProductCover::new(terms.iter().map(|(_, term)| &term[..]).collect());
            found.extend(cover.products(&mut |steps| context.builder.is_over_after(steps)));
            let mut covered = terms
                .iter()
                .zip(&cover.is_covered)
                .filter(|(_, is_covered)| **is_covered);
            if let Some(first) = covered.next() {
                let mut gone: Vec<Signal> = vec![first.0.0];
                gone.extend(covered.map(|((input, _), _)| *input));
                gone.sort_unstable();
                inputs.retain(|input| gone.binary_search(input).is_err());
            }
        }
        for sides in found {
            let mut product: Vec<Signal> = sides
                .into_iter()
                .map(|mut side| context.builder.or(&mut side))
                .collect();
            let product = context.builder.and(&mut product);
            inputs.push(!product);
        }
        context.builder.and(inputs)
    })
}

struct ProductCover<'a> {
    terms: Vec<&'a [Signal]>,
    by_content: FxHashMap<&'a [Signal], usize>,
    by_signal: FxHashMap<Signal, Vec<u32>>,
    is_covered: Vec<bool>,
}

impl<'a> ProductCover<'a> {
    fn new(terms: Vec<&'a [Signal]>) -> Self {
        let mut by_content = FxHashMap::default();
        let mut by_signal: FxHashMap<Signal, Vec<u32>> = FxHashMap::default();
        for (index, &term) in terms.iter().enumerate() {
            by_content.insert(term, index);
            for &signal in term {
                by_signal.entry(signal).or_default().push(index as u32);
            }
        }
        ProductCover {
            is_covered: vec![false; terms.len()],
            terms,
            by_content,
            by_signal,
        }
    }

    /// Per input of a term, the signals that replace it in other terms.
    fn neighbours(&self, term: usize, work: &mut usize) -> Vec<Vec<Signal>> {
        let term = self.terms[term];
        let of_input = |(index, &input): (usize, &Signal)| {
            let others = term.iter().enumerate().filter(|&(other, _)| other != index);
            // The terms that contain the rarest of the other inputs.
            let others = others.map(|(_, signal)| &self.by_signal[signal]);
            let Some(near) = others.min_by_key(|terms| terms.len()) else {
                return Vec::new();
            };
            *work += near.len();
            let near = near.iter().map(|&other| self.terms[other as usize]);
            near.filter_map(|other| difference(term, other))
                .filter_map(|(removed, added)| (removed == input).then_some(added))
                .collect()
        };
        term.iter().enumerate().map(of_input).collect()
    }

    /// Calls `visit` with the term index of each combination of one signal per side. Stops with
    /// false when a combination is no term or `visit` returns false.
    fn all_combinations(
        &self,
        sides: &[Vec<Signal>],
        work: &mut usize,
        mut visit: impl FnMut(usize) -> bool,
    ) -> bool {
        let mut places = vec![0usize; sides.len()];
        let mut term: Vec<Signal> = Vec::with_capacity(sides.len());
        loop {
            term.clear();
            term.extend(sides.iter().zip(&places).map(|(side, &place)| side[place]));
            term.sort_unstable();
            *work += 1;
            let found = self.by_content.get(&term[..]);
            if !found.is_some_and(|&found| visit(found)) {
                return false;
            }
            let Some(side) = (0..sides.len()).find(|&side| places[side] + 1 < sides[side].len())
            else {
                return true;
            };
            places[side] += 1;
            places[..side].fill(0);
        }
    }

    /// The products that save edges, each given by its sides.
    /// `is_over_after` counts steps, and tells whether to end.
    fn products(&mut self, is_over_after: &mut dyn FnMut(usize) -> bool) -> Vec<Vec<Vec<Signal>>> {
        let mut found = Vec::new();
        let max_work =
            MAX_WORK_PER_INPUT * self.terms.len() * self.terms.first().map_or(0, |term| term.len());
        let work = &mut 0;
        let mut waiting: Vec<usize> = (0..self.terms.len()).rev().collect();
        let mut counted = 0;
        while *work < max_work && !is_over_after(work.saturating_sub(counted)) {
            counted = *work;
            let mut starts: Vec<(usize, Vec<Vec<Signal>>)> = Vec::new();
            while starts.len() < N_STARTS && *work < max_work {
                let Some(term) = waiting.pop() else { break };
                if self.is_covered[term] {
                    continue;
                }
                let neighbours = self.neighbours(term, work);
                if neighbours.iter().filter(|side| !side.is_empty()).count() >= 2 {
                    starts.push((term, neighbours));
                }
            }
            let size = |neighbours: &[Vec<Signal>]| neighbours.iter().map(Vec::len).sum::<usize>();
            let Some(best) = (0..starts.len()).min_by_key(|&start| size(&starts[start].1)) else {
                break;
            };
            let (start, neighbours) = starts.swap_remove(best);
            waiting.extend(starts.into_iter().rev().map(|(term, _)| term));
            let sides = self.widened(start, &neighbours, work);
            let n_wide = sides.iter().filter(|side| side.len() > 1).count();
            let width = sides.len();
            let mut n_new = 0;
            self.all_combinations(&sides, work, |term| {
                n_new += usize::from(!self.is_covered[term]);
                true
            });
            let edges_after = sides.iter().map(Vec::len).sum::<usize>() + n_wide + 1;
            if n_wide < 2 || edges_after >= n_new * (width + 1) {
                continue;
            }
            let mut is_covered = std::mem::take(&mut self.is_covered);
            self.all_combinations(&sides, work, |term| {
                is_covered[term] = true;
                true
            });
            self.is_covered = is_covered;
            found.push(sides);
            *work = 0;
            counted = 0;
        }
        found
    }

    /// The sides of a product, widened from one term until no side can be.
    fn widened(
        &self,
        term: usize,
        neighbours: &[Vec<Signal>],
        work: &mut usize,
    ) -> Vec<Vec<Signal>> {
        let mut sides: Vec<Vec<Signal>> = self.terms[term]
            .iter()
            .map(|&signal| vec![signal])
            .collect();
        for (side, candidates) in neighbours.iter().enumerate() {
            for &candidate in candidates {
                let n_others: usize = sides
                    .iter()
                    .enumerate()
                    .filter(|&(other, _)| other != side)
                    .map(|(_, signals)| signals.len())
                    .product();
                if n_others * (sides[side].len() + 1) > MAX_COMBINATIONS {
                    break;
                }
                let wide = std::mem::replace(&mut sides[side], vec![candidate]);
                let fits = self.all_combinations(&sides, work, |_| true);
                sides[side] = wide;
                if fits {
                    sides[side].push(candidate);
                }
            }
        }
        sides
    }
}

/// The signals by which two sorted terms of one width differ, if that is one signal in each.
fn difference(term: &[Signal], other: &[Signal]) -> Option<(Signal, Signal)> {
    let mut removed = None;
    let mut added = None;
    let (mut left, mut right) = (0, 0);
    while left < term.len() || right < other.len() {
        match (term.get(left), other.get(right)) {
            (Some(mine), Some(its)) if mine == its => {
                left += 1;
                right += 1;
            }
            (Some(&mine), its) if its.is_none_or(|&its| mine < its) => {
                if removed.replace(mine).is_some() {
                    return None;
                }
                left += 1;
            }
            (_, Some(&its)) => {
                if added.replace(its).is_some() {
                    return None;
                }
                right += 1;
            }
            _ => return None,
        }
    }
    removed.zip(added)
}
