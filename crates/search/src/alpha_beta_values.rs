//! What alpha-beta values positions with: an evaluation, its units, and whose turn it is.
//!
//! Never uses: a search, so that settings may hold the values of one.

use std::sync::Arc;

use super::turns::Turns;
use super::why_tree::WhyTree;
use panza_learning::evaluation::{Row, Weights};
use panza_learning::{Evaluation, Images, Known, fixed_sum};
use panza_machine::Machine;
use panza_sync::Random;

/// What static scores are counted in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Units {
    /// The change by a move that seven of ten moves do not exceed, beside `turn`.
    pub change: i32,
    /// The median change by a move, as seen by its mover: what it is worth to have moved.
    pub turn: i32,
}

impl Default for Units {
    fn default() -> Self {
        Self {
            change: 40,
            turn: 0,
        }
    }
}

/// What gives positions their static scores.
#[derive(Clone, Debug)]
pub struct AlphaBetaValues {
    /// The evaluation, of a single output.
    pub evaluation: Arc<Evaluation>,
    /// What its changes are counted in.
    pub units: Units,
    /// Whose turn it is.
    pub turns: Turns,
    /// Evaluation and images from which training in a match starts; `None` where none does.
    pub training: Option<Arc<TrainingBase>>,
}

/// Evaluation and symmetric images from which training in a match starts.
#[derive(Clone, Debug)]
pub struct TrainingBase {
    /// The evaluation and its training.
    pub known: Known,
    /// The images of positions.
    pub images: Images,
}

impl AlphaBetaValues {
    /// Values that know nothing, with which only ends and proofs count.
    ///
    /// # Errors
    /// Two roles do not take turns in the game, the sum of their goals differs between random
    /// games, or its states have no facts.
    pub fn unknown(machine: &Arc<dyn Machine>) -> Result<Self, WhyTree> {
        let facts = machine.info().facts();
        let n_facts = facts.ok_or(WhyTree::NoNetwork)?.len();
        let mut random = Random::new(1);
        let turns = Turns::find(machine, &mut random, || false);
        let turns = turns.ok_or(WhyTree::NotInTurns)?;
        let sum = fixed_sum(machine, &mut random, || false);
        let sum = sum.ok_or(WhyTree::SumNotFixed)?;
        let mut without_weights = || {
            let evaluation = Evaluation::new(2, n_facts, Some(sum), None, &mut random)?;
            let outputs = evaluation.weights().outputs.iter();
            let weights = Weights {
                outputs: outputs.map(|_| Row::ZERO).collect(),
                ..evaluation.weights().clone()
            };
            Evaluation::from_weights(2, None, None, weights)
        };
        let evaluation = without_weights().ok_or(WhyTree::NoFacts)?;
        Ok(Self {
            evaluation: Arc::new(evaluation),
            units: Units::default(),
            turns,
            training: None,
        })
    }
}
