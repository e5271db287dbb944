//! Heuristics that a person can read: mean values of kinds of facts in a learned evaluation, as
//! pieces and their values.
//!
//! Facts of one relation are grouped by one argument, as the squares of a board by the piece on
//! them. The argument is the one with the greatest mean square between its kinds (analysis of
//! variance): pieces of two colours before rows, whose values are as many as there are rows. Names
//! and boards play no role.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::evaluation::Evaluation;
use panza_analysis::mutex_groups::parts;

/// A kind of facts and its mean value.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Heuristic {
    /// The pattern, with `*` for arguments in which the facts differ, as `(cell * * black)`.
    pub facts: String,
    /// The number of facts.
    pub count: usize,
    /// The mean value of one fact for each role, in points.
    pub worth: Vec<f32>,
    /// The standard deviation of the values for the first role.
    pub spread: f32,
}

/// The fewest facts of a kind.
const MIN_FACTS: usize = 4;
/// The most kinds of a relation.
const MAX_KINDS: usize = 16;
/// The least mean square between the kinds of a relation, as a multiple of that within them. Among
/// many facts chance alone exceeds it in less than one case of a hundred.
const MIN_F: f32 = 7.0;
/// Kinds with a smaller absolute value, in points, for every role are left out.
const MIN_WORTH: f32 = 0.5;

/// The kinds of facts, the largest absolute value first. `facts` are the texts of the state's bits.
pub fn of(evaluation: &Evaluation, facts: &[String]) -> Vec<Heuristic> {
    let worths: Vec<Vec<f32>> = (0..facts.len()).map(|bit| evaluation.worth(bit)).collect();
    // The bits of each relation and arity.
    let mut relations: BTreeMap<(&str, usize), Vec<usize>> = BTreeMap::new();
    let parts: Vec<Vec<&str>> = facts.iter().map(|fact| parts(fact)).collect();
    for (bit, parts) in parts.iter().enumerate() {
        relations
            .entry((parts[0], parts.len()))
            .or_default()
            .push(bit);
    }
    let mut found = Vec::new();
    for ((_, n_parts), bits) in relations {
        let first = |bit: &usize| worths[*bit][0];
        let best = (1..n_parts)
            .filter_map(|argument| {
                let mut kinds: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
                for &bit in &bits {
                    kinds.entry(parts[bit][argument]).or_default().push(bit);
                }
                let is_fit = (2..=MAX_KINDS).contains(&kinds.len())
                    && kinds.values().any(|bits| bits.len() >= MIN_FACTS);
                let all: f32 = squared_deviations(bits.iter().map(first));
                let within: f32 = kinds
                    .values()
                    .map(|bits| squared_deviations(bits.iter().map(first)))
                    .sum();
                let between = (all - within) / (kinds.len() as f32 - 1.0);
                let chance = within / bits.len().saturating_sub(kinds.len()) as f32;
                let is_clear = between > 0.0 && between >= MIN_F * chance;
                (is_fit && is_clear).then_some((between, argument, kinds))
            })
            .max_by(|left, right| left.0.total_cmp(&right.0));
        let Some((_, argument, kinds)) = best else {
            continue;
        };
        for (kind, bits) in kinds {
            if bits.len() < MIN_FACTS {
                continue;
            }
            let n = bits.len() as f32;
            let n_roles = worths[bits[0]].len();
            let worth: Vec<f32> = (0..n_roles)
                .map(|role| bits.iter().map(|&bit| worths[bit][role]).sum::<f32>() / n)
                .collect();
            if worth.iter().all(|worth| worth.abs() < MIN_WORTH) {
                continue;
            }
            let shown: Vec<&str> = (1..n_parts)
                .map(|other| if other == argument { kind } else { "*" })
                .collect();
            found.push(Heuristic {
                facts: format!("({} {})", parts[bits[0]][0], shown.join(" ")),
                count: bits.len(),
                spread: (squared_deviations(bits.iter().map(first)) / n).sqrt(),
                worth,
            });
        }
    }
    found.sort_by(|left, right| {
        let weight = |heuristic: &Heuristic| {
            let worths = heuristic.worth.iter();
            worths.fold(0.0f32, |most, worth| most.max(worth.abs()))
        };
        weight(right)
            .total_cmp(&weight(left))
            .then_with(|| left.facts.cmp(&right.facts))
    });
    found
}

/// The sum of squared deviations from the mean.
fn squared_deviations(numbers: impl Iterator<Item = f32> + Clone) -> f32 {
    let n = numbers.clone().count().max(1) as f32;
    let mean = numbers.clone().sum::<f32>() / n;
    numbers.map(|number| (number - mean).powi(2)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluation::Trainer;
    use panza_sync::Random;

    /// Squares with pieces of two sides or none: the side with more pieces wins.
    #[test]
    fn kinds_are_pieces_and_not_squares() {
        let mut facts = Vec::new();
        for row in 1..=4 {
            for piece in ["black", "none", "white"] {
                for column in 1..=4 {
                    facts.push(format!("(at {column} {row} {piece})"));
                }
            }
        }
        facts.push("(turn black)".into());
        let random = &mut Random::new(1);
        let evaluation = Evaluation::new(2, 64, Some(100), None, random).unwrap();
        let mut trainer = Trainer::new(evaluation, None);
        for _ in 0..20_000 {
            let mut state = 0u64;
            let mut lead = 0i32;
            for square in 0..16u32 {
                let piece = random.below(3);
                lead += piece as i32 - 1;
                state |= 1 << (square / 4 * 12 + piece * 4 + square % 4);
            }
            let goal = 50.0 + 50.0 * lead.signum() as f32;
            trainer.train(&[state], &[goal / 100.0], 0.1);
        }
        let found = of(&trainer.evaluation, &facts);
        let worth = |kind: &str| {
            found
                .iter()
                .find(|found| found.facts == kind)
                .map(|found| found.worth[0])
        };
        assert!(worth("(at * * white)") > Some(1.0), "{found:?}");
        assert!(worth("(at * * black)") < Some(-1.0), "{found:?}");
        assert!(found.iter().all(|found| found.facts.starts_with("(at * *")));
    }

    /// Squares whose row matters more than the colour of the piece on them.
    #[test]
    fn colours_come_before_rows_that_explain_more() {
        let mut facts = Vec::new();
        for row in 1..=8 {
            for column in 1..=4 {
                facts.extend(["black", "white"].map(|it| format!("(cell {column} {row} {it})")));
            }
        }
        let random = &mut Random::new(1);
        let evaluation = Evaluation::new(2, facts.len(), Some(100), None, random).unwrap();
        let mut trainer = Trainer::new(evaluation, None);
        for _ in 0..20_000 {
            let mut state = 0u64;
            let mut lead = 0.0;
            for square in 0..32u32 {
                let piece = random.below(3);
                if piece < 2 {
                    let (row, side) = (square / 4, piece as f32 * 2.0 - 1.0);
                    lead += 0.9 * side + row as f32 - 3.5;
                    state |= 1 << (square * 2 + piece);
                }
            }
            let share = 1.0 / (1.0 + (-lead / 10.0).exp());
            trainer.train(&[state], &[share], 0.1);
        }
        let found = of(&trainer.evaluation, &facts);
        let mut kinds: Vec<&str> = found.iter().map(|it| &*it.facts).collect();
        kinds.sort_unstable();
        assert_eq!(kinds, ["(cell * * black)", "(cell * * white)"], "{found:?}");
    }

    #[test]
    fn an_untrained_evaluation_has_none() {
        let evaluation = Evaluation::new(2, 64, Some(100), None, &mut Random::new(1)).unwrap();
        let facts: Vec<String> = (0..20).map(|at| format!("(on {at} {})", at % 2)).collect();
        assert_eq!(of(&evaluation, &facts), []);
    }
}
