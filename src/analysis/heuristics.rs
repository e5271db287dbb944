//! Heuristics that a person can read: what kinds of facts are worth, told from a learned
//! evaluation.
//!
//! Facts of one relation are sorted by one of their arguments, as the squares of a board by what
//! stands on them. Where kinds differ much more from each other than facts of a kind among
//! themselves, that argument says what counts: pieces and their values. Nothing is known of boards
//! or names; the worths alone tell.
//!
//! Never knows: how the evaluation was learned, what it is used for.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::evaluation::Evaluation;
use super::mutex_groups::parts;

/// Facts of a kind, and what one of them is worth.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Heuristic {
    /// The facts, with `*` in the places in which they differ, as `(cell * * black)`.
    pub facts: String,
    /// How many of them can ever hold.
    pub count: usize,
    /// What one of them is worth to each role, in points, in the mean.
    pub worth: Vec<f32>,
    /// How far single ones stray from it, for the first role.
    pub spread: f32,
}

/// So many facts make a kind at least, and so many kinds a relation at most.
const LEAST_FACTS: usize = 4;
const MOST_KINDS: usize = 16;
/// The part of what facts of a relation stray that their kinds must make up.
const LEAST_SHARE: f32 = 0.3;
/// Kinds that are worth less than this many points to every role are left out.
const LEAST_WORTH: f32 = 0.5;

/// What kinds of facts are worth, the weightiest first. `facts` are the texts of the state's bits,
/// in order.
pub fn of(evaluation: &Evaluation, facts: &[String]) -> Vec<Heuristic> {
    let worths: Vec<Vec<f32>> = (0..facts.len()).map(|bit| evaluation.worth(bit)).collect();
    // Relation and number of arguments, with the facts' places.
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
            .filter_map(|place| {
                let mut kinds: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
                for &bit in &bits {
                    kinds.entry(parts[bit][place]).or_default().push(bit);
                }
                let is_fit = (2..=MOST_KINDS).contains(&kinds.len())
                    && kinds.values().any(|bits| bits.len() >= LEAST_FACTS);
                let all: f32 = strays(bits.iter().map(first));
                let within: f32 = kinds
                    .values()
                    .map(|bits| strays(bits.iter().map(first)))
                    .sum();
                let share = if all > 0.0 { 1.0 - within / all } else { 0.0 };
                (is_fit && share >= LEAST_SHARE).then_some((share, place, kinds))
            })
            .max_by(|left, right| left.0.total_cmp(&right.0));
        let Some((_, place, kinds)) = best else {
            continue;
        };
        for (kind, bits) in kinds {
            if bits.len() < LEAST_FACTS {
                continue;
            }
            let n = bits.len() as f32;
            let n_roles = worths[bits[0]].len();
            let worth: Vec<f32> = (0..n_roles)
                .map(|role| bits.iter().map(|&bit| worths[bit][role]).sum::<f32>() / n)
                .collect();
            if worth.iter().all(|worth| worth.abs() < LEAST_WORTH) {
                continue;
            }
            let shown: Vec<&str> = (1..n_parts)
                .map(|other| if other == place { kind } else { "*" })
                .collect();
            found.push(Heuristic {
                facts: format!("({} {})", parts[bits[0]][0], shown.join(" ")),
                count: bits.len(),
                spread: (strays(bits.iter().map(first)) / n).sqrt(),
                worth,
            });
        }
    }
    found.sort_by(|left, right| {
        let weight = |heuristic: &Heuristic| {
            heuristic
                .worth
                .iter()
                .fold(0.0f32, |most, worth| most.max(worth.abs()))
        };
        weight(right)
            .total_cmp(&weight(left))
            .then_with(|| left.facts.cmp(&right.facts))
    });
    found
}

/// The sum of squared distances from the mean.
fn strays(numbers: impl Iterator<Item = f32> + Clone) -> f32 {
    let n = numbers.clone().count().max(1) as f32;
    let mean = numbers.clone().sum::<f32>() / n;
    numbers.map(|number| (number - mean).powi(2)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::evaluation::Teacher;
    use crate::machine::random::Random;

    /// Squares with men of two sides and nothing on them: who has more men wins.
    #[test]
    fn pieces_are_told_from_squares() {
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
        let mut teacher = Teacher::new(Evaluation::new(2, 64, Some(100), random).unwrap(), 0.1);
        for _ in 0..20_000 {
            let mut state = 0u64;
            let mut lead = 0i32;
            for square in 0..16u32 {
                let piece = random.below(3);
                lead += piece as i32 - 1;
                state |= 1 << (square / 4 * 12 + piece * 4 + square % 4);
            }
            let goal = 50.0 + 50.0 * lead.signum() as f32;
            teacher.show(&[state], &[goal, 100.0 - goal]);
        }
        let found = of(&teacher.evaluation, &facts);
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

    #[test]
    fn where_nothing_was_learned_there_are_none() {
        let evaluation = Evaluation::new(2, 64, Some(100), &mut Random::new(1)).unwrap();
        let facts: Vec<String> = (0..20).map(|at| format!("(on {at} {})", at % 2)).collect();
        assert_eq!(of(&evaluation, &facts), []);
    }
}
