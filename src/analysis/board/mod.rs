//! Boards, found in the facts of a game that nobody described.
//!
//! A board shows in the facts as a function such as `(cell 1 2 white)`: two of its arguments count
//! through a grid, the rest is what stands there. [`BoardPainter::learn`] looks for such functions
//! in sample states; a third argument, or two, may say which of several boards is meant, and the
//! nine names of the compass count as a small grid of their own. [`BoardPainter::draw`] shows a
//! state on what was found as text, [`BoardPainter::layouts`] says where everything stands, for
//! those who draw it otherwise.
//!
//! Invariants: drawing never fails; facts that fit no board are left out. Never knows: rules of any
//! one game.

mod layout;
mod shape;
mod sketch;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::gdl::{Rules, sexpr};
use crate::ids::{Id, MoveId, RoleId};
use crate::machine::random::Random;
use crate::machine::{Machine, Reasoner};
pub use layout::{Board, Content, Layout};
use shape::Shape;

/// Boards of one game.
#[derive(Clone, Debug, Default)]
pub struct BoardPainter {
    shapes: Vec<Shape>,
}

/// Boards that are drawn, at most.
const MAX_BOARDS: usize = 3;

/// A function's name and how many arguments it has.
type Signature = (String, usize);

/// The arguments of a fact as text.
type Arguments = Vec<String>;

impl BoardPainter {
    /// Looks for boards. Samples are states as lists of facts, the initial state first; the more of
    /// a game they show, the better. The rules tell which way round a board is, by the names of
    /// their variables.
    pub fn learn(samples: &[Vec<String>], rules: &Rules) -> Self {
        Self::learn_with(samples, &[], rules)
    }

    /// As [`learn`](Self::learn), with all facts that may ever hold: they name places that no
    /// sample has shown.
    pub fn learn_with(samples: &[Vec<String>], all: &[String], rules: &Rules) -> Self {
        let all = by_function(all);
        let samples: Vec<BTreeMap<Signature, Vec<Arguments>>> =
            samples.iter().map(|facts| by_function(facts)).collect();
        let mut signatures: Vec<&Signature> = samples.iter().flat_map(BTreeMap::keys).collect();
        signatures.sort();
        signatures.dedup();
        let mut shapes: Vec<Shape> = signatures
            .into_iter()
            .filter_map(|signature| {
                let states: Vec<&[Arguments]> = samples
                    .iter()
                    .map(|sample| sample.get(signature).map_or(&[][..], Vec::as_slice))
                    .collect();
                let all = all.get(signature).map_or(&[][..], Vec::as_slice);
                Shape::find(&signature.0, signature.1, &states, all, rules)
            })
            .collect();
        shapes.sort_by_key(|shape| std::cmp::Reverse(shape.n_cells()));
        shapes.truncate(MAX_BOARDS);
        Self { shapes }
    }

    /// Where everything stands on each function's boards, the function with most cells first.
    pub fn layouts(&self) -> Vec<Layout> {
        self.shapes.iter().map(layout::layout).collect()
    }

    /// The state's boards, one below the other; nothing when the game has none.
    pub fn draw(&self, facts: &[String]) -> Option<String> {
        let facts = by_function(facts);
        let drawn: Vec<String> = self
            .shapes
            .iter()
            .map(|shape| {
                let signature = (shape.function().to_string(), shape.arity());
                let facts = facts.get(&signature).map_or(&[][..], Vec::as_slice);
                sketch::draw(shape, facts)
            })
            .collect();
        (!drawn.is_empty()).then(|| drawn.join("\n"))
    }
}

/// States of random games, the initial state first, as lists of facts, for [`BoardPainter::learn`].
/// Stops at `limit` states, or when `go_on` says no.
pub fn sample_states(
    machine: &Arc<dyn Machine>,
    random: &mut Random,
    limit: usize,
    mut go_on: impl FnMut() -> bool,
) -> Vec<Vec<String>> {
    let initial = machine.initial_state();
    let mut reasoner = Arc::clone(machine).reasoner();
    let mut samples = vec![machine.info().state_facts(&initial)];
    let mut next = Vec::new();
    while samples.len() < limit && go_on() {
        match random_joint_move(machine, reasoner.as_mut(), random) {
            Some(joint_move) => reasoner.next_state(&joint_move, &mut next),
            None if samples.len() == 1 => break,
            None => next.clone_from(&initial),
        }
        reasoner.set_state(&next);
        samples.push(machine.info().state_facts(&next));
    }
    samples
}

/// A random joint move where the reasoner stands; nothing where the game is over or stuck.
fn random_joint_move(
    machine: &Arc<dyn Machine>,
    reasoner: &mut dyn Reasoner,
    random: &mut Random,
) -> Option<Vec<MoveId>> {
    if reasoner.is_terminal() {
        return None;
    }
    (0..machine.info().n_roles())
        .map(|role| {
            let legal = reasoner.legal_moves(RoleId::from_index(role));
            (!legal.is_empty()).then(|| legal[random.below(legal.len() as u32) as usize])
        })
        .collect()
}

/// Facts grouped by function, as the texts of their arguments.
fn by_function(facts: &[String]) -> BTreeMap<Signature, Vec<Arguments>> {
    let mut groups: BTreeMap<Signature, Vec<Arguments>> = BTreeMap::new();
    for fact in facts {
        let (expressions, _) = sexpr::parse(fact);
        let [expression] = expressions.as_slice() else {
            continue;
        };
        let Some([name, arguments @ ..]) = expression.list() else {
            continue;
        };
        let Some(name) = name.symbol() else {
            continue;
        };
        let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
        groups
            .entry((name.to_string(), arguments.len()))
            .or_default()
            .push(arguments);
    }
    groups
}

#[cfg(test)]
mod tests;
