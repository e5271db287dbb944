//! Boards, recognised in the facts of sample states.
//!
//! A board is a function such as `(cell 1 2 white)`: two of its arguments are coordinates of a
//! grid, the rest is the content of the cell. One or two more arguments may select one of several
//! boards. The nine compass points count as a grid. [`BoardPainter::draw`] draws a state as text;
//! [`BoardPainter::layouts`] describes the boards for other displays.
//!
//! Invariants: drawing never fails; facts that fit no board are left out.

mod drawing;
mod labels;
mod layout;
mod orientation;
mod shape;

use std::collections::BTreeMap;
use std::sync::Arc;

pub use layout::{Board, Content, Form, HEXAGON_LINE, Layout};
use orientation::Neighbours;
use panza_gdl::{Rules, sexpr};
use panza_machine::Machine;
use panza_sync::Random;
use shape::Shape;

/// Boards of one game.
#[derive(Clone, Debug, Default)]
pub struct BoardPainter {
    shapes: Vec<Shape>,
}

/// The most functions that are drawn.
const MAX_BOARDS: usize = 3;

/// A function's name and arity.
type Functor = (String, usize);

/// The arguments of a fact as text.
type Arguments = Vec<String>;

impl BoardPainter {
    /// Finds boards in sample states. The names of variables in the rules decide the orientation of
    /// a board, and after them the moves that name a direction.
    pub fn learn(samples: &Samples, rules: &Rules) -> Self {
        Self::learn_with(samples, &[], rules)
    }

    /// As [`learn`](Self::learn), with all facts that may ever hold: they name cells that no sample
    /// contains.
    pub fn learn_with(samples: &Samples, all: &[String], rules: &Rules) -> Self {
        let all = by_function(all);
        let states: Vec<BTreeMap<Functor, Vec<Arguments>>> = samples
            .states
            .iter()
            .map(|facts| by_function(facts))
            .collect();
        let mut functors: Vec<&Functor> = states.iter().flat_map(BTreeMap::keys).collect();
        functors.sort();
        functors.dedup();
        let mut shapes: Vec<Shape> = functors
            .into_iter()
            .filter_map(|functor| {
                let states: Vec<&[Arguments]> = states
                    .iter()
                    .map(|sample| sample.get(functor).map_or(&[][..], Vec::as_slice))
                    .collect();
                let all = all.get(functor).map_or(&[][..], Vec::as_slice);
                Shape::find(&functor.0, functor.1, &states, all, rules)
            })
            .collect();
        shapes.sort_by_key(|shape| std::cmp::Reverse(shape.n_cells()));
        shapes.truncate(MAX_BOARDS);
        let neighbours = Neighbours::find(rules);
        for shape in &mut shapes {
            shape.turn(&states, &samples.directions);
            shape.set_slant(&neighbours);
        }
        Self { shapes }
    }

    /// The layout of each function's boards, the function with most cells first.
    pub fn layouts(&self) -> Vec<Layout> {
        self.shapes.iter().map(layout::layout).collect()
    }

    /// The boards of a state, one below the other; `None` if the game has none.
    pub fn draw(&self, facts: &[String]) -> Option<String> {
        let facts = by_function(facts);
        let drawn: Vec<String> = self
            .shapes
            .iter()
            .map(|shape| {
                let functor = (shape.function().to_string(), shape.arity());
                let facts = facts.get(&functor).map_or(&[][..], Vec::as_slice);
                drawing::draw(shape, facts)
            })
            .collect();
        (!drawn.is_empty()).then(|| drawn.join("\n"))
    }
}

/// Facts of all sampled states together, at most.
const MAX_SAMPLED_FACTS: usize = 100_000;

/// States to find boards in, the initial state first, as lists of facts.
#[derive(Clone, Default, Debug)]
pub struct Samples {
    states: Vec<Vec<String>>,
    /// Places of states to which the state before was left by a move that names a direction, in
    /// lines down and columns to the right.
    directions: Vec<(usize, (i32, i32))>,
}

impl From<Vec<Vec<String>>> for Samples {
    fn from(states: Vec<Vec<String>>) -> Self {
        Self {
            states,
            directions: Vec::new(),
        }
    }
}

/// States of random games, for [`BoardPainter::learn`]. Stops at `limit` states or
/// `MAX_SAMPLED_FACTS` facts, or when `go_on` returns false.
pub fn sample_states(
    machine: &Arc<dyn Machine>,
    random: &mut Random,
    limit: usize,
    mut go_on: impl FnMut() -> bool,
) -> Samples {
    let initial = machine.initial_state();
    let mut reasoner = Arc::clone(machine).reasoner();
    let mut n_left = MAX_SAMPLED_FACTS;
    let mut facts_of = |state: &[u64]| {
        let mut facts = machine.info().state_facts(state);
        facts.truncate(n_left);
        n_left -= facts.len();
        (facts, n_left > 0)
    };
    let (first, mut has_room) = facts_of(&initial);
    let mut samples = Samples::from(vec![first]);
    let mut next = Vec::new();
    while samples.states.len() < limit && has_room && go_on() {
        let joint_move = match reasoner.is_terminal() {
            true => None,
            false => reasoner.random_joint_move(machine.info().n_roles(), random),
        };
        match joint_move {
            Some(joint_move) => {
                let texts = joint_move.iter().map(|&mv| machine.info().move_text(mv));
                let mut named = texts.filter_map(|text| orientation::direction(&text));
                if let (Some(direction), None) = (named.next(), named.next()) {
                    samples.directions.push((samples.states.len(), direction));
                }
                reasoner.next_state(&joint_move, &mut next);
            }
            None if samples.states.len() == 1 => break,
            None => next.clone_from(&initial),
        }
        reasoner.set_state(&next);
        let (facts, is_open) = facts_of(&next);
        samples.states.push(facts);
        has_room = is_open;
    }
    samples
}

/// The argument texts of facts, by function.
fn by_function(facts: &[String]) -> BTreeMap<Functor, Vec<Arguments>> {
    let mut groups: BTreeMap<Functor, Vec<Arguments>> = BTreeMap::new();
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
