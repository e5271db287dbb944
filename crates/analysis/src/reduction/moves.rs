//! The moves of a game by what they do to the live bases.

use std::collections::HashMap;

use super::{Game, ReducedMove, Reduction};
use crate::factors::moves::{bases_of, conjuncts};
use crate::ternary::support;
use panza_gdl::{BaseId, IdVec, MoveId, RoleId};
use panza_machine::{Condition, Supply};
use panza_propnet::{Effects, Network, Node, Signal, VisitedNodes};
use panza_sync::Budget;

/// What the legality of a move on dead bases means for the reduced game.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// Its legality reads live bases only.
    Live,
    /// Another move with its effect is legal wherever it is.
    Covered,
    /// It changes nothing that is live.
    Idle,
    /// Its legality reads dead bases.
    Open,
}

/// A condition of the legality of a move.
pub(super) struct Conjunct {
    pub signal: Signal,
    /// The bases that it reads.
    pub bases: Vec<BaseId>,
}

impl Conjunct {
    /// The condition on one base that it is, if it is one.
    pub fn condition(&self, network: &Network) -> Option<Condition> {
        match network.node(self.signal) {
            Node::Base(base) => Some((base, !self.signal.is_inverted())),
            _ => None,
        }
    }
}

/// The moves that may be legal, and the live bases so far.
pub(super) struct Moves<'a> {
    effects: &'a Effects,
    pub is_live: IdVec<BaseId, bool>,
    /// In rising order.
    pub possible: Vec<MoveId>,
    /// Whether each is a role's only move while another role may choose.
    waits: IdVec<MoveId, bool>,
    /// For each move, what its legality asks for.
    pub conditions: IdVec<MoveId, Vec<Conjunct>>,
    /// For each move, the number of its effect on the live bases; equal for equal effects of moves
    /// of one role.
    pub effect: IdVec<MoveId, usize>,
    pub kinds: IdVec<MoveId, Kind>,
}

impl<'a> Moves<'a> {
    /// `None` when the budget is spent.
    pub fn new(
        game: &Game<'_>,
        effects: &'a Effects,
        is_live: IdVec<BaseId, bool>,
        budget: &mut Budget,
    ) -> Option<Self> {
        let network = game.network;
        let possible = game.possible();
        let mut seen = VisitedNodes::default();
        let mut conditions: IdVec<MoveId, Vec<Conjunct>> =
            network.moves.iter().map(|_| Vec::new()).collect();
        for &mv in &possible {
            let asked = conjuncts(network, network.legal[mv]).into_iter();
            for signal in asked.filter(|&signal| signal != Signal::TRUE) {
                let bases = bases_of(network, [signal], &mut seen, budget)?;
                conditions[mv].push(Conjunct { signal, bases });
            }
        }
        Some(Self {
            effects,
            is_live,
            possible,
            waits: game.waits(),
            conditions,
            effect: network.moves.iter().map(|_| 0).collect(),
            kinds: network.moves.iter().map(|_| Kind::Open).collect(),
        })
    }

    /// Whether a condition reads live bases only.
    pub fn is_on_live(&self, conjunct: &Conjunct) -> bool {
        conjunct.bases.iter().all(|&base| self.is_live[base])
    }

    /// Compares the effects of the moves on the live bases, and tells which moves are live and
    /// which are covered. All others are open.
    pub fn classify(&mut self, game: &Game<'_>, budget: &mut Budget) -> Option<()> {
        let network = game.network;
        let mut effects: HashMap<(RoleId, Vec<(BaseId, Signal)>), usize> = HashMap::new();
        let mut live: HashMap<usize, Vec<MoveId>> = HashMap::new();
        for &mv in &self.possible {
            let all = self.effects.with(mv);
            budget.spend(all.len() + self.conditions[mv].len() + 1)?;
            let on_live = all.iter().filter(|(base, _)| self.is_live[*base]);
            let effect = (network.moves[mv].0, on_live.copied().collect());
            let n_effects = effects.len();
            self.effect[mv] = *effects.entry(effect).or_insert(n_effects);
            let mut conditions = self.conditions[mv].iter();
            self.kinds[mv] = Kind::Open;
            if conditions.all(|conjunct| self.is_on_live(conjunct)) {
                self.kinds[mv] = Kind::Live;
                live.entry(self.effect[mv]).or_default().push(mv);
            }
        }
        for &mv in &self.possible {
            let own = &self.conditions[mv];
            let asks = |wanted: &Conjunct| own.iter().any(|it| it.signal == wanted.signal);
            let alike = live.get(&self.effect[mv]).into_iter().flatten();
            let mut n_compared = 0;
            let is_covered = self.kinds[mv] == Kind::Open
                && alike.into_iter().any(|&other| {
                    let of_other = &self.conditions[other];
                    n_compared += own.len() * of_other.len() + 1;
                    of_other.iter().all(asks)
                });
            budget.spend(n_compared)?;
            if is_covered {
                self.kinds[mv] = Kind::Covered;
            }
        }
        Some(())
    }

    /// Makes the bases that the legality of these moves reads live; whether any was dead.
    pub fn pull(
        &mut self,
        game: &Game<'_>,
        moves: Vec<MoveId>,
        budget: &mut Budget,
    ) -> Option<bool> {
        if moves.is_empty() {
            return Some(false);
        }
        let legal = moves.iter().map(|&mv| game.network.legal[mv]);
        let found = support(game.network, legal, |base| !self.is_live[base]);
        budget.spend(game.network.gates.len() + game.network.facts.len())?;
        let mut is_any = false;
        for (base, &is_found) in found.enumerate() {
            is_any |= is_found && !self.is_live[base];
            self.is_live[base] |= is_found;
        }
        Some(is_any)
    }

    /// Makes live what the open moves read that act on live bases, or with which a role waits.
    /// What changes as the game goes on, or under most moves, is no action.
    pub fn pull_acting(&mut self, game: &Game<'_>, budget: &mut Budget) -> Option<bool> {
        let mut acts: IdVec<MoveId, bool> = self.waits.clone();
        match game.steps {
            Some(steps) => {
                let mut n_making: HashMap<Condition, usize> = HashMap::new();
                for step in steps {
                    budget.spend(step.may.len() + 1)?;
                    let all = step.may.iter();
                    all.for_each(|&change| *n_making.entry(change).or_default() += 1);
                }
                for step in steps {
                    let is_action = |change: &Condition| {
                        let base = change.0;
                        let is_usual = 2 * n_making[change] > steps.len();
                        self.is_live[base] && !game.goes_on[base] && !is_usual
                    };
                    if let Some(mv) = step.choice {
                        acts[mv] |= step.may.iter().any(is_action);
                    }
                }
            }
            None => acts.iter_mut().for_each(|acts| *acts = true),
        }
        let open = self.possible.iter().copied();
        let acting = open.filter(|&mv| self.kinds[mv] == Kind::Open && acts[mv]);
        self.pull(game, acting.collect(), budget)
    }

    /// Tells which of the open moves are idle.
    pub fn find_idle(&mut self, game: &Game<'_>) {
        let mut changes: IdVec<MoveId, bool> = game.network.moves.iter().map(|_| false).collect();
        for step in game.steps.into_iter().flatten() {
            if let Some(mv) = step.choice {
                changes[mv] |= step.may.iter().any(|&(base, _)| self.is_live[base]);
            }
        }
        let open = self.possible.iter().copied();
        let mut idle: Vec<MoveId> = open
            .filter(|&mv| self.kinds[mv] == Kind::Open && !changes[mv])
            .collect();
        if game.network.roles.len() > 1 {
            idle = self.used_up(game, idle);
        }
        idle.into_iter().for_each(|mv| self.kinds[mv] = Kind::Idle);
    }

    /// Those of some moves that use up a fact which none of them restores.
    fn used_up(&self, game: &Game<'_>, mut idle: Vec<MoveId>) -> Vec<MoveId> {
        let steps_of = |mv: MoveId| {
            let steps = game.steps.into_iter().flatten();
            steps.filter(move |step| step.choice == Some(mv))
        };
        let all_may: HashMap<MoveId, Vec<Condition>> = idle
            .iter()
            .map(|&mv| (mv, steps_of(mv).flat_map(|step| step.may.clone()).collect()))
            .collect();
        loop {
            let restored: std::collections::HashSet<Condition> =
                idle.iter().flat_map(|mv| &all_may[mv]).copied().collect();
            let uses_up = |&mv: &MoveId| {
                let conditions = self.conditions[mv].iter();
                let mut conditions = conditions.filter_map(|it| it.condition(game.network));
                conditions.any(|(base, value)| {
                    !restored.contains(&(base, value))
                        && steps_of(mv).all(|step| step.must.contains(&(base, !value)))
                })
            };
            let kept: Vec<MoveId> = idle.iter().copied().filter(uses_up).collect();
            if kept.len() == idle.len() {
                return kept;
            }
            idle = kept;
        }
    }

    /// The reduced game with these passes.
    pub fn into_reduction(
        self,
        game: &Game<'_>,
        passes: Vec<ReducedMove>,
        supplies: Vec<Supply>,
    ) -> Reduction {
        let mut places: HashMap<usize, usize> = HashMap::new();
        let mut moves: Vec<ReducedMove> = Vec::new();
        // Moves that are live come first: they say where the reduced move is legal.
        for wanted in [Kind::Live, Kind::Covered] {
            let possible = self.possible.iter().copied();
            for mv in possible.filter(|&mv| self.kinds[mv] == wanted) {
                let place = *places.entry(self.effect[mv]).or_insert_with(|| {
                    moves.push(ReducedMove {
                        role: game.network.moves[mv].0,
                        members: Vec::new(),
                        supply: None,
                    });
                    moves.len() - 1
                });
                moves[place].members.push(mv);
            }
        }
        moves.extend(passes);
        moves.sort_by_key(|mv| mv.role);
        let facts = game.network.facts.ids();
        let possible = self.possible.iter().copied();
        let contexts = game.contexts.iter();
        Reduction {
            bases: facts.filter(|&base| self.is_live[base]).collect(),
            moves,
            supplies,
            idle: possible
                .filter(|&mv| self.kinds[mv] == Kind::Idle)
                .collect(),
            contexts: contexts.map(|context| context.values.clone()).collect(),
        }
    }
}
