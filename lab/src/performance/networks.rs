//! What the passes make of a game's network: sizes after each of them, and the gates that only
//! goals need.

use serde::Serialize;

use panza::gdl::Rules;
use panza::ground::{self, Budget};
use panza::ids::Id;
use panza::propnet::passes::{self, PassSet};
use panza::propnet::{self, Network, Node, Signal};

/// How large a network is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Size {
    /// Its gates.
    pub gates: usize,
    /// Its edges from node to gate.
    pub edges: usize,
}

/// A network's size at some stage.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Stage {
    /// What it came out of.
    pub after: String,
    /// How large it is.
    #[serde(flatten)]
    pub size: Size,
}

/// The sizes of a game's network from stage to stage.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Stages {
    /// Before the passes, after each pass of the first round, and after all rounds.
    pub whole: Vec<Stage>,
    /// Gates of the network after all rounds that nothing but goals needs.
    pub gates_for_goals: usize,
}

impl Size {
    fn of(network: &Network) -> Self {
        Self {
            gates: network.gates.len(),
            edges: network.n_edges(),
        }
    }
}

/// Follows a game's network through the passes.
///
/// # Errors
/// The budget ended a stage, or the rules have no finite ground form.
pub fn stages(rules: &Rules, budget: Budget) -> Result<Stages, String> {
    let program = ground::ground(rules, budget).map_err(|error| error.to_string())?;
    let full = propnet::build(&program, budget).map_err(|error| error.to_string())?;
    drop(program);
    let stage = |after: &str, network: &Network| Stage {
        after: after.to_string(),
        size: Size::of(network),
    };
    let mut whole = vec![stage("full", &full)];
    let mut network = full.clone();
    for pass in PassSet::default().iter() {
        network = pass
            .apply(&network, budget)
            .map_err(|error| error.to_string())?;
        whole.push(stage(pass.name(), &network));
    }
    let network = passes::optimise(full, budget);
    whole.push(stage("all rounds", &network));
    Ok(Stages {
        whole,
        gates_for_goals: gates_for_goals(&network),
    })
}

/// How many gates matter to goals and to nothing else.
fn gates_for_goals(network: &Network) -> usize {
    let mut is_needed = vec![false; network.gates.len()];
    let mut left: Vec<Signal> = Vec::new();
    left.extend(network.next.iter());
    left.extend(network.legal.iter());
    left.push(network.terminal);
    while let Some(signal) = left.pop() {
        if let Node::Gate(gate) = network.node(signal)
            && !std::mem::replace(&mut is_needed[gate.index()], true)
        {
            left.extend(network.inputs(gate));
        }
    }
    is_needed.iter().filter(|&&is_needed| !is_needed).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use panza::commands::game_source::Game;

    #[test]
    fn stages_end_where_the_machine_begins() {
        let game = Game::load("connectFour").unwrap();
        let budget = Budget::generous();
        let stages = stages(&game.rules, budget).unwrap();
        let compiled = panza::player::compile(&game.rules, budget).unwrap();
        let gates = |stage: Option<&Stage>| stage.unwrap().size.gates;
        assert_eq!(gates(stages.whole.first()), compiled.gates_full);
        assert_eq!(gates(stages.whole.last()), compiled.gates_optimised);
        assert_eq!(stages.whole.len(), PassSet::default().iter().count() + 2);
    }

    #[test]
    fn gates_that_only_goals_need_are_counted() {
        let (rules, _) = panza::gdl::load(
            "(role a) (init (p 1)) (init (p 2)) (init (p 3))
             (legal a stay) (legal a go)
             (<= (next (p ?x)) (true (p ?x)) (does a stay))
             (<= terminal (true (p 1)) (true (p 2)))
             (<= (goal a 100) (true (p 1)) (true (p 2)))
             (<= (goal a 50) (true (p 2)) (true (p 3)))",
        );
        // The first goal has its gate in common with `terminal`.
        assert_eq!(
            stages(&rules, Budget::generous()).unwrap().gates_for_goals,
            1
        );
    }
}
