//! Reduction: the game without what changes nothing about its end and its goals.
//!
//! The *live* bases are those on which the end, the goals and the legality of the moves that act on
//! live bases depend, directly or through next values. What a state means for the rest of the game
//! is told by its live bases, and by which moves are legal. The other bases are dead: they matter
//! only in that moves on them may be legal. Such a move is one of three.
//!
//! - It is *covered* by another move of its role with the same effect on the live bases, which is
//!   legal wherever it is. Both are one move of the reduced game.
//! - It is *idle* if it changes no live base. In its stead the role may make a live move at once.
//!   Where there are several roles, each idle move has to use up a fact that no idle move restores:
//!   else a role could put off its loss for ever.
//! - It is a *pass*: it changes live bases, as whose turn it is. Passes are pooled in a *supply*
//!   if each asks for a *token*, facts of its own, uses it up for good, and leaves other tokens as
//!   they are. Then the number of tokens left says for how long there are passes.
//!
//! The dead bases of all other moves count as live.
//!
//! Whether a move changes a base is found out for turns, see `contexts`: where roles choose at
//! once, moves are covered only. Games with a chance role are not reduced, as the number of its
//! moves decides their probabilities.
//!
//! Invariants: the reduced game has the same value for each role as the game, in each state that
//! agrees with a context: nothing is sampled, and in doubt a base is live. A game in which all
//! matches end is assumed for games of one role only: idle moves for ever reach no goal.
//! Names do not matter.

mod contexts;
mod moves;
mod steps;
mod supplies;
#[cfg(test)]
mod tests;

use self::contexts::Contexts;
use self::moves::Moves;
use self::steps::{Context, Step, steps_of};
use self::supplies::Passes;
use super::ternary::support;
use panza_gdl::{BaseId, CHANCE_ROLE, IdVec, MoveId, RoleId};
use panza_machine::{Condition, Supply};
use panza_propnet::{Network, Signal, effects};
use panza_sync::Budget;

/// The share of the moves that a reduced game has at most. Where less falls away, what is known of
/// the whole game is worth more.
const MOVES_SHARE: (usize, usize) = (7, 8);

/// A move of the reduced game.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReducedMove {
    /// The role that makes it.
    pub role: RoleId,
    /// The moves of the game that it stands for.
    pub members: Vec<MoveId>,
    /// The supply that it takes a token of.
    pub supply: Option<usize>,
}

/// The game without what changes nothing about its end and its goals.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reduction {
    /// The live bases, in rising order.
    pub bases: Vec<BaseId>,
    /// The moves, by role.
    pub moves: Vec<ReducedMove>,
    /// The supplies of passes.
    pub supplies: Vec<Supply>,
    /// Moves that change nothing that is live, in rising order.
    pub idle: Vec<MoveId>,
    /// The reduction is proven for states that agree with one of these.
    pub contexts: Vec<Vec<Condition>>,
}

/// The facts that nothing reads, in rising order: neither the end, a goal nor a legal move depends
/// on them, directly or through other facts.
pub fn unread_facts(network: &Network) -> Vec<BaseId> {
    let outputs = ends(network).chain(network.legal.iter().copied());
    let is_read = support(network, outputs, |_| true);
    let facts = network.facts.ids();
    facts.filter(|&base| !is_read[base]).collect()
}

/// The end and the goals.
fn ends(network: &Network) -> impl Iterator<Item = Signal> {
    let goals = network.goals.iter().map(|&(_, _, signal)| signal);
    goals.chain([network.terminal])
}

/// Reduces a game. `None` where there is little to leave out, or the budget is over first.
///
/// The network should be as built: passes take the conditions of the rules apart.
pub fn reduction(network: &Network, limits: &Budget) -> Option<Reduction> {
    let budget = &mut limits.clone();
    let is_live = support(network, ends(network), |_| true);
    let has_chance = network.roles.iter().any(|role| role == CHANCE_ROLE);
    if has_chance || is_live.iter().all(|&is_live| is_live) {
        return None;
    }
    let contexts = Contexts::find(network, budget)?;
    let effects = effects(network, limits)?;
    let steps = match contexts.have_turns {
        true => {
            let outputs = ends(network).chain(network.legal.iter().copied());
            let is_read = support(network, outputs, |_| true);
            let facts = network.facts.ids();
            let read: Vec<BaseId> = facts.filter(|&base| is_read[base]).collect();
            Some(steps_of(network, &contexts.all, &read, budget)?)
        }
        false => None,
    };
    let game = Game {
        network,
        contexts: &contexts.all,
        goes_on: &contexts.goes_on,
        steps: steps.as_deref(),
    };
    let mut moves = Moves::new(&game, &effects, is_live, budget)?;
    let passes = loop {
        moves.classify(&game, budget)?;
        if moves.pull_acting(&game, budget)? {
            continue;
        }
        moves.find_idle(&game);
        let passes = Passes::find(&game, &moves, budget)?;
        if !moves.pull(&game, passes.rejected.clone(), budget)? {
            break passes;
        }
    };
    let reduction = moves.into_reduction(&game, passes.moves, passes.supplies);
    let most = game.possible().len() * MOVES_SHARE.0 / MOVES_SHARE.1;
    let is_smaller = reduction.moves.len() <= most && reduction.bases.len() < network.facts.len();
    is_smaller.then_some(reduction)
}

/// A game and what its joint moves may change.
struct Game<'a> {
    network: &'a Network,
    contexts: &'a [Context],
    /// Whether each base changes as the game goes on, whatever is done.
    goes_on: &'a IdVec<BaseId, bool>,
    /// `None` where roles choose at once.
    steps: Option<&'a [Step]>,
}

impl Game<'_> {
    /// The moves that may be legal, in rising order.
    fn possible(&self) -> Vec<MoveId> {
        let of_roles = self
            .contexts
            .iter()
            .flat_map(|context| context.moves.iter());
        let mut possible: Vec<MoveId> = of_roles.flatten().copied().collect();
        possible.sort_unstable();
        possible.dedup();
        possible
    }

    /// Whether each move may be made where its role has no choice but another role may have one.
    fn waits(&self) -> IdVec<MoveId, bool> {
        let mut waits: IdVec<MoveId, bool> = self.network.moves.iter().map(|_| false).collect();
        for context in self.contexts {
            let is_alone = self.network.roles.len() == 1;
            for moves in context.moves.iter().filter(|_| !is_alone) {
                if let [only] = moves[..] {
                    waits[only] = true;
                }
            }
        }
        waits
    }
}
