//! Steps: which bases a joint move may change.
//!
//! In a context in which at most one role has a choice, each of its moves is a joint move: the
//! other roles have one move at most. A ternary simulation of the next value of a base, in which
//! the context, the joint move and the base are known, says whether the base keeps its value.
//!
//! Invariant: a base that is not listed for a step keeps its value in it, whatever the other bases.

use crate::ternary::{May, Ternary, UNKNOWN};
use panza_gdl::{BaseId, GateId, Id, IdVec, MoveId, RoleId};
use panza_machine::Condition;
use panza_propnet::{Network, Node, VisitedNodes};
use panza_sync::Budget;

/// The most gates of the cones of all bases together.
const MAX_CONES: usize = 1 << 24;

/// What is known of some states.
#[derive(Clone, Debug)]
pub(super) struct Context {
    /// The values of some bases.
    pub values: Vec<Condition>,
    /// The moves of each role that may be legal, in rising order.
    pub moves: IdVec<RoleId, Vec<MoveId>>,
}

impl Context {
    /// Whether at most one role may have a choice.
    pub fn is_turn(&self) -> bool {
        let choices = self.moves.iter().filter(|moves| moves.len() > 1);
        choices.count() < 2
    }

    /// What is known where these bases have these values and no other moves may be legal.
    pub fn new(network: &Network, values: Vec<Condition>, legal: &[MoveId]) -> Context {
        let mut moves: IdVec<RoleId, Vec<MoveId>> =
            network.roles.iter().map(|_| Vec::new()).collect();
        for &mv in legal {
            moves[network.moves[mv].0].push(mv);
        }
        Context { values, moves }
    }
}

/// Up to 64 joint moves of a context that differ in the move of one role.
#[derive(Clone, Debug)]
pub(super) struct JointMoves {
    /// The moves of the role that chooses; empty where none does.
    pub choices: Vec<MoveId>,
}

impl JointMoves {
    /// All joint moves of a context in which at most one role has a choice. A single role chooses
    /// even if it has one move only.
    pub fn batches(context: &Context) -> Vec<JointMoves> {
        let is_alone = context.moves.len() == 1;
        let roles = context.moves.enumerate();
        let mut choosers = roles.filter(|(_, moves)| is_alone || moves.len() > 1);
        let Some((_, moves)) = choosers.next() else {
            let choices = Vec::new();
            return vec![JointMoves { choices }];
        };
        let batches = moves.chunks(64);
        let joint = batches.map(|choices| JointMoves {
            choices: choices.to_vec(),
        });
        joint.collect()
    }

    /// The lanes in use.
    pub fn lanes(&self) -> u64 {
        match self.choices.len() {
            0 => 1,
            n_choices => u64::MAX >> (64 - n_choices),
        }
    }
}

/// The next values of some bases under the joint moves of a context.
pub(super) struct Steps<'a> {
    network: &'a Network,
    bases: &'a [BaseId],
    /// For each base the gates on which its next value depends, in order.
    cones: Vec<Vec<GateId>>,
    n_gates: usize,
    ternary: Ternary<'a>,
}

impl<'a> Steps<'a> {
    /// `None` when the budget is spent, or the game is too large.
    pub fn new(network: &'a Network, bases: &'a [BaseId], budget: &mut Budget) -> Option<Self> {
        let mut seen = VisitedNodes::default();
        let mut cones = Vec::with_capacity(bases.len());
        let mut n_gates = 0;
        for &base in bases {
            seen.start(network.gates.len());
            let mut found: Vec<GateId> = Vec::new();
            let mut open = vec![network.next[base]];
            while let Some(signal) = open.pop() {
                if let Node::Gate(gate) = network.node(signal)
                    && seen.is_first(gate.index())
                {
                    found.push(gate);
                    budget.spend(network.inputs(gate).len() + 1)?;
                    open.extend(network.inputs(gate));
                }
            }
            found.sort_unstable();
            n_gates += found.len();
            if n_gates > MAX_CONES {
                return None;
            }
            cones.push(found);
        }
        Some(Steps {
            network,
            bases,
            cones,
            n_gates,
            ternary: Ternary::new(network),
        })
    }

    /// Steps of work for the next values of all bases.
    pub fn work(&self) -> usize {
        self.n_gates + self.network.facts.len() + self.network.moves.len()
    }

    /// Begins with these joint moves.
    pub fn set(&mut self, context: &Context, joint: &JointMoves) {
        let ternary = &mut self.ternary;
        ternary.bases.iter_mut().for_each(|may| *may = UNKNOWN);
        for &(base, value) in &context.values {
            ternary.bases[base] = May::known(value);
        }
        let moves = ternary.moves.iter_mut();
        moves.for_each(|may| *may = May::known(false));
        for moves in context.moves.iter() {
            if let [only] = moves[..] {
                ternary.moves[only] = May::known(true);
            }
        }
        for (lane, &mv) in joint.choices.iter().enumerate() {
            let on = 1 << lane;
            ternary.moves[mv] = May { on, off: !on };
        }
    }

    /// The next value of a base.
    pub fn next(&mut self, place: usize) -> May {
        self.ternary.run(&self.cones[place]);
        self.ternary.of(self.network.next[self.bases[place]])
    }

    /// The next value of a base that has this value; `None` where the context gives it the other.
    fn next_from(&mut self, place: usize, value: bool) -> Option<May> {
        let base = self.bases[place];
        let before = self.ternary.bases[base];
        if before == May::known(!value) {
            return None;
        }
        self.ternary.bases[base] = May::known(value);
        let next = self.next(place);
        self.ternary.bases[base] = before;
        Some(next)
    }
}

/// What a joint move may change.
#[derive(Clone, Debug, Default)]
pub(super) struct Step {
    /// The move of the role with a choice.
    pub choice: Option<MoveId>,
    /// Changes that may happen: the base, and its new value.
    pub may: Vec<(BaseId, bool)>,
    /// Those of them that happen wherever the base has the other value.
    pub must: Vec<(BaseId, bool)>,
}

/// All joint moves of all contexts, with what they may change among some bases.
pub(super) fn steps_of(
    network: &Network,
    contexts: &[Context],
    bases: &[BaseId],
    budget: &mut Budget,
) -> Option<Vec<Step>> {
    let mut steps = Steps::new(network, bases, budget)?;
    let mut found = Vec::new();
    for context in contexts {
        for joint in JointMoves::batches(context) {
            steps.set(context, &joint);
            budget.spend(2 * steps.work())?;
            let first = found.len();
            match joint.choices.len() {
                0 => found.push(Step::default()),
                _ => found.extend(joint.choices.iter().map(|&mv| Step {
                    choice: Some(mv),
                    ..Step::default()
                })),
            }
            for (place, &base) in bases.iter().enumerate() {
                for value in [false, true] {
                    let Some(next) = steps.next_from(place, value) else {
                        continue;
                    };
                    let (changed, kept) = match value {
                        false => (next.on, next.off),
                        true => (next.off, next.on),
                    };
                    let mut left = changed & joint.lanes();
                    while left != 0 {
                        let lane = left.trailing_zeros() as usize;
                        left &= left - 1;
                        let step = &mut found[first + lane];
                        step.may.push((base, !value));
                        if kept >> lane & 1 == 0 {
                            step.must.push((base, !value));
                        }
                    }
                }
            }
        }
    }
    Some(found)
}
