//! The study of a game before it is played: every analysis, one after the other, under one budget.
//!
//! Structure comes first, since it is found quickly or not at all, and tells for certain; what is
//! left of the time is for playing at random. Each analysis has a share of the time that is left,
//! so that none can starve those behind it.
//!
//! Invariants: what is not known is `None`, and never stands for something that is known not to be
//! there. Facts and moves are told by their canonical text, so that a study can be kept and read
//! without the game.
//!
//! Never knows: matches, sockets, what is done with the findings.

mod learned;
mod structure;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::analysis::sample::{SampleBudget, Sampled, sample};
use crate::build::LanesSource;
use crate::config::MetagameSettings;
use crate::machine::Machine;
use crate::propnet::Network;
use crate::search::SearchConfig;
pub use learned::{Decided, Learned};
pub use structure::{AutonomousFound, Bound, FactorFound, Latched, Structure, SymmetriesFound};

/// What is studied.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    /// What the game is played with; all that is played at random is played on it.
    pub machine: &'a Arc<dyn Machine>,
    /// The network that the machine was made from; nothing for the prover, and then only playing
    /// tells.
    pub source: Option<&'a LanesSource>,
    /// The same network before the passes, where it was kept; without it no symmetries are looked
    /// for.
    pub built: Option<&'a Network>,
    /// What the player would search with if it knew nothing, and what it may learn; without it
    /// nothing is learned.
    pub search: Option<(&'a SearchConfig, &'a MetagameSettings)>,
}

/// What a study may take.
#[derive(Clone, Copy, Debug)]
pub struct StudyBudget {
    /// It is over by then, as nearly as its analyses keep to their deadlines.
    pub until: Option<Instant>,
    /// Games that are walked through at most.
    pub games: u32,
    /// Playouts beside them at most, where they are made many at once.
    pub playouts: u64,
    /// Fixes what is drawn at random.
    pub seed: u64,
}

impl StudyBudget {
    /// So much time from now on.
    pub fn of(time: Duration) -> Self {
        let most = SampleBudget::until(None);
        Self {
            until: Some(Instant::now() + time),
            games: most.games,
            playouts: most.playouts,
            seed: most.seed,
        }
    }
}

/// How large the network is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct NetworkSize {
    /// Facts that can ever be true.
    pub bases: usize,
    /// Moves that can ever be legal, of all roles together.
    pub moves: usize,
    /// Gates.
    pub gates: usize,
    /// Edges between them.
    pub edges: usize,
}

/// What a part of the study took.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Stage {
    /// Which.
    pub name: String,
    /// How long.
    pub seconds: f64,
}

/// All that was found out about a game.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Study {
    /// The kind of machine that the game is played with.
    pub machine: String,
    /// The roles' names, in order.
    pub roles: Vec<String>,
    /// Nothing for a game that is played with the prover.
    pub network: Option<NetworkSize>,
    /// Mutex groups from which the phases of the machine were chosen: exactly one fact of each was
    /// true in each state met.
    pub mutex_groups: Option<Vec<Vec<String>>>,
    /// What the network tells without playing; nothing for a game that is played with the prover.
    pub structure: Option<Structure>,
    /// What random games showed.
    pub sampled: Sampled,
    /// The evaluation learned by self-play; nothing where none was.
    pub heuristics: Option<Learned>,
    /// What the player would search with; nothing where nothing was learned.
    pub parameters: Option<Decided>,
    /// What each part of the study took, in order.
    pub stages: Vec<Stage>,
}

/// Studies a game.
pub fn study(subject: Subject<'_>, budget: StudyBudget) -> Study {
    let Subject {
        machine,
        source,
        built,
        search,
    } = subject;
    let mut stages = Stages::new(budget.until);
    let network = source.map(|source| &source.network);
    let structure = network.map(|network| structure::structure(&mut stages, network, built));

    // Half of what is left, unless nothing is learned after it.
    let sampling = match (search, source) {
        (Some(_), Some(_)) => 0.5,
        _ => 0.8,
    };
    let sampled = stages.run("sampling", sampling, |until| {
        let budget = SampleBudget {
            games: budget.games,
            playouts: budget.playouts,
            seed: budget.seed,
            ..SampleBudget::until(until)
        };
        sample(machine, budget)
    });
    let learned = stages.run("learning", 1.0, |until| {
        learned::learn(machine, search?, until?)
    });
    let (heuristics, parameters) = learned.unzip();

    Study {
        machine: machine.kind().to_string(),
        roles: machine.info().roles(),
        network: network.map(|network| NetworkSize {
            bases: network.facts.len(),
            moves: network.moves.len(),
            gates: network.gates.len(),
            edges: network.n_edges(),
        }),
        mutex_groups: source.map(|source| {
            let text = |&base| source.network.facts[base].clone();
            let groups = source.mutex_groups.iter();
            groups
                .map(|group| group.iter().map(text).collect())
                .collect()
        }),
        structure,
        sampled,
        heuristics,
        parameters,
        stages: stages.done,
    }
}

/// The parts of a study, each with its share of the time.
struct Stages {
    until: Option<Instant>,
    done: Vec<Stage>,
}

impl Stages {
    fn new(until: Option<Instant>) -> Self {
        Self {
            until,
            done: Vec::new(),
        }
    }

    /// Runs a part with a share of the time that is left.
    fn run<T>(&mut self, name: &str, share: f64, part: impl FnOnce(Option<Instant>) -> T) -> T {
        let started = Instant::now();
        let until = self.until.map(|until| {
            let left = until.saturating_duration_since(started);
            started + left.mul_f64(share)
        });
        let found = part(until);
        self.done.push(Stage {
            name: name.to_string(),
            seconds: started.elapsed().as_secs_f64(),
        });
        found
    }
}
