#![doc = include_str!("../README.md")]
//!
//! [`compile`](compile()) grounds the rules, builds and optimises the network and lays it out for
//! the counter engine. [`fastest`] measures counters against lanes. A game that falls into factors
//! gets a machine for each. Rules without a network within the budget are played by
//! [`ProverMachine`].
//!
//! # From rules to a machine
//!
//! 1. `panza_gdl::load` returns `Rules`: heads with bodies that are plain conjunctions. Every
//!    fault is a `Diagnostic`; faulty statements are left out. `panza_hrf` does the same for the
//!    dialect HRF, so that nothing after it knows of dialects.
//! 2. `panza_ground::ground` computes every atom that can hold, by a semi-naive fixpoint over the
//!    relaxed game (`does` follows from `legal`, `true` from `init` and `next`), and writes each
//!    instance of a rule once. Static relations are evaluated away.
//! 3. `panza_propnet::build` makes gates: ANDs over signals, a signal being a node or its inverse.
//!    Equal gates are merged. Atoms that depend on each other become a *block* of ANDs and ORs with
//!    least-fixpoint meaning.
//! 4. `panza_propnet::passes` shrink the network, one file for each pass.
//! 5. `panza_analysis::mutex_groups` finds sets of facts of which exactly one is true in each
//!    state, such as whose turn it is. `panza_propnet::phases` makes a smaller network for each
//!    fact of such a group.
//! 6. `panza_propnet::specialise` evaluates the phases, or the whole game, partially for each
//!    move: most of the next state follows from the current one by masks.
//! 7. `panza_machine::specialised` lays that out in bytes. `panza_game` compares the work of a few
//!    mutex groups and of none on sampled positions, and takes the layout with the least work;
//!    nothing is timed.
//! 8. `panza_machine::compile` lays out the network of the whole game too: one counter per
//!    component whose top bit is its value. `panza_machine::counter` runs both.
//! 9. `panza_machine::lanes` compiles the network, or phases that follow each other in a fixed
//!    order, to straight-line programs over vectors of bits. `panza_game` measures the counter
//!    engine and lanes of three widths for some hundredths of a second each; the one with the best
//!    speed for its delay makes the playouts. Single states stay on the counter engine.
//! 10. Before step 4, `panza_analysis::factors` looks for independent games within the game. If
//!     several of them matter, `panza_propnet::part` makes a network of each, and steps 4 to 9 a
//!     machine of each. Else `panza_analysis::reduction` looks for what changes nothing about the
//!     end and the goals, and the rest of the game gets a machine in the same way.
//!
//! Steps 2 and 3 have a budget of time and memory and end with a reason when it is spent. The game
//! is then played on the prover. If it is spent later, the game is run on what there is by then.
//! The loops of all steps ask the budget, which also has a flag that stops them when the match is
//! over.
//!
//! # What holds
//!
//! Invariants: facts and moves have the numbers of the network built from the rules in counters,
//! lanes and analyses of the whole game; parts and the prover tell theirs apart. What is chosen by
//! measurement changes speed only, never legal moves, states or goals.
//!
//! Never uses: matches and their clocks (it is handed deadlines), search trees.

#![cfg_attr(test, allow(clippy::disallowed_methods))]
#![forbid(unsafe_code)]

mod error;
mod evidence;
mod lanes;
mod compile;
mod measure;
mod parts;
mod prover_machine;
mod quick;
mod reduced;
pub mod equality;
pub mod trial;
pub mod turns;

use std::sync::Arc;

use panza_analysis::Factors;
use panza_gdl::Rules;
use panza_machine::{GameInfo, GameParts, Machine};
use panza_propnet::{MutexGroup, Network, PassSet};
use panza_sync::Budget;

pub use compile::{Compiled, compile, compile_whole, compile_with};
pub use error::BuildError;
pub use evidence::Evidence;
pub use lanes::{LanesSource, compile_lanes, compile_steps};
pub use measure::{Speed, fastest};
pub use panza_ground::examine;
pub use panza_machine::PlayoutPolicy;
pub use prover_machine::ProverMachine;
pub use reduced::{ReducedGame, ReducedNetwork};

/// A game that is ready to be played and analysed.
#[derive(Clone)]
pub struct BuiltGame {
    /// What runs the game.
    pub machine: Arc<dyn Machine>,
    /// The network as built from the rules, before the passes: symmetries and factors of the rules
    /// are plain in it. `None` for the prover and for very large games.
    pub network: Option<Arc<Network>>,
    /// Mutex groups that were weighed as phases.
    pub mutex_groups: Vec<MutexGroup>,
    /// The factors of the game. `None` where they were not found in time.
    pub factors: Option<Arc<Factors>>,
    /// The factors with a machine each. `None` where the game has one factor.
    pub parts: Option<Arc<GameParts>>,
    /// The game without what changes nothing about its end and its goals. `None` where all of it
    /// matters, or several factors do.
    pub reduced: Option<Arc<ReducedGame>>,
}

impl BuiltGame {
    /// The names of roles, moves and facts.
    pub fn info(&self) -> &dyn GameInfo {
        self.machine.info()
    }

    /// The parts as games of their own; empty where the game has one factor.
    pub fn games_of_parts(&self) -> Vec<BuiltGame> {
        let Some(parts) = &self.parts else {
            return Vec::new();
        };
        let parts = parts.parts.iter().zip(&parts.networks);
        let games = parts.map(|(part, network)| BuiltGame {
            network: Some(Arc::clone(network)),
            ..Arc::clone(&part.machine).into()
        });
        games.collect()
    }
}

impl From<Arc<dyn Machine>> for BuiltGame {
    /// A game of which only the machine is known.
    fn from(machine: Arc<dyn Machine>) -> Self {
        Self {
            machine,
            network: None,
            mutex_groups: Vec::new(),
            factors: None,
            parts: None,
            reduced: None,
        }
    }
}

/// Builds games from rules.
///
/// It runs on a thread of its own. A panic counts as an error.
pub trait GameBuilder: Send + Sync {
    /// Builds the game. The stop of the budget is set once the game is no longer needed; the game
    /// may keep it.
    ///
    /// # Errors
    /// Why there is none.
    fn build(&self, rules: &Rules, budget: &Budget) -> Result<BuiltGame, BuildError>;
}

impl<F> GameBuilder for F
where
    F: Fn(&Rules, &Budget) -> Result<BuiltGame, BuildError> + Send + Sync,
{
    fn build(&self, rules: &Rules, budget: &Budget) -> Result<BuiltGame, BuildError> {
        self(rules, budget)
    }
}

/// Which of the builders of a player makes a game.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BuildKind {
    /// The game to play.
    Main,
    /// The substitute, see [`GameBuilders::fallback`].
    Fallback,
}

/// How the games of a player are built.
#[derive(Clone)]
pub struct GameBuilders {
    /// Builds the game to play.
    pub main: Arc<dyn GameBuilder>,
    /// Builds a substitute when the main build is late or fails, or its game fails in play.
    pub fallback: Option<Arc<dyn GameBuilder>>,
}

impl GameBuilders {
    /// The builder of this kind, if there is one.
    pub fn of(&self, kind: BuildKind) -> Option<&Arc<dyn GameBuilder>> {
        match kind {
            BuildKind::Main => Some(&self.main),
            BuildKind::Fallback => self.fallback.as_ref(),
        }
    }

    /// Compiled networks, with the prover as fallback.
    pub fn standard() -> Self {
        Self {
            main: Arc::new(build),
            fallback: Some(Arc::new(prover_within)),
        }
    }
}

/// Compiles the rules, chooses the fastest engine for playouts, and does the same for each relevant
/// factor of the game.
///
/// # Errors
/// As [`compile`](compile()).
pub fn build(rules: &Rules, limits: &Budget) -> Result<BuiltGame, BuildError> {
    let grounded = compile::GroundNetwork::new(rules, limits)?;
    let factors = parts::factors(&grounded.network, limits);
    let parts = factors.as_ref().and_then(|factors| {
        let parts = parts::part_networks(&grounded.network, factors, limits)?;
        Some((parts, factors.is_joint))
    });
    let reduced = match parts {
        Some(_) => None,
        None => ReducedNetwork::new(&grounded.network, limits),
    };
    let compiled = compile::compile_network(grounded, &PassSet::default(), limits)?;
    let network = compiled.network.clone();
    let mutex_groups = compiled.lanes.mutex_groups.clone();
    let machine = fastest(compiled, limits, PlayoutPolicy::Decisive).0;
    let parts = parts.and_then(|(parts, is_joint)| {
        let networks = parts.iter().map(|part| Arc::new(part.network().clone()));
        let networks = networks.collect();
        let parts = parts.into_iter().map(|part| {
            part.build(limits, |network, policy| {
                let grounded = compile::GroundNetwork::of_part(network);
                let compiled = compile::compile_network(grounded, &PassSet::default(), limits);
                Some(fastest(compiled.ok()?, limits, policy).0)
            })
        });
        let parts = parts.collect::<Option<Vec<_>>>()?;
        Some(Arc::new(GameParts {
            parts,
            networks,
            is_joint,
        }))
    });
    let reduced = reduced.and_then(|reduced| {
        reduced.build(limits, |compiled, policy| {
            fastest(compiled, limits, policy).0
        })
    });
    Ok(BuiltGame {
        machine,
        network,
        mutex_groups,
        factors: factors.map(Arc::new),
        parts,
        reduced: reduced.map(Arc::new),
    })
}

/// A game that evaluates the rules themselves: slow, and built at once.
///
/// # Errors
/// The rules name no role, or what holds in every state cannot be evaluated.
pub fn prover(rules: &Rules) -> Result<BuiltGame, BuildError> {
    prover_within(rules, &Budget::generous())
}

fn prover_within(rules: &Rules, budget: &Budget) -> Result<BuiltGame, BuildError> {
    let machine = ProverMachine::within(rules, budget)?;
    let machine: Arc<dyn Machine> = Arc::new(machine);
    Ok(machine.into())
}
