//! Growing the tree: asking the game what is legal in a node, and what state a joint move leads to.
//!
//! A state in which every role has just one legal move is walked through when its node is opened: the node moves on
//! to the next state that offers a choice. What was played out from the old state stays valid, since every playout
//! had to go the same way.
//!
//! Invariant: these are the only places where the searching thread asks its reasoner about moves and states of nodes.

use super::graph::Graph;
use super::record::EntryId;
use crate::ids::{Id, MoveId, NodeId, RoleId};
use crate::machine::Reasoner;
use crate::machine::random::Random;

/// Forced joint moves walked at one opening; a longer forced line is walked further at the next visit.
const FORCED_AT_ONCE: u16 = 256;
/// Forced joint moves walked for one node at all; a line that never offers a choice ends here.
const FORCED_AT_MOST: u16 = 60_000;

/// The searching thread's hands on the game, with the buffers that it needs again and again.
pub(super) struct Hands {
    pub(super) reasoner: Box<dyn Reasoner>,
    pub(super) random: Random,
    /// The node and its generation on whose state the reasoner stands, if it stands on one.
    standing: Option<(NodeId, u32)>,
    /// The state computed last.
    pub(super) next: Vec<u64>,
    /// Room for a state that is stored in parts.
    pub(super) buffer: Vec<u64>,
    /// The goals found last, one per role.
    pub(super) goals: Vec<u8>,
    found: Vec<Option<u8>>,
    legal: Vec<MoveId>,
    ends: Vec<usize>,
}

impl Hands {
    /// Hands on a game with this many roles.
    pub(super) fn new(reasoner: Box<dyn Reasoner>, random: Random, roles: usize) -> Self {
        Self {
            reasoner,
            random,
            standing: None,
            next: Vec::new(),
            buffer: Vec::new(),
            goals: vec![0; roles],
            found: vec![None; roles],
            legal: Vec::new(),
            ends: Vec::new(),
        }
    }

    /// Stands on a node's state.
    pub(super) fn stand_on(&mut self, graph: &Graph, node: NodeId) {
        let wanted = Some((node, graph.nodes[node].generation));
        if self.standing != wanted {
            self.reasoner.set_state(graph.state(node, &mut self.buffer));
            self.standing = wanted;
        }
    }

    /// Stands on any state.
    pub(super) fn stand_on_state(&mut self, state: &[u64]) {
        self.wander();
        self.reasoner.set_state(state);
    }

    /// Remembers that the reasoner stands on `node`.
    fn arrived(&mut self, graph: &Graph, node: NodeId) {
        self.standing = Some((node, graph.nodes[node].generation));
    }

    /// Remembers that the reasoner leaves the node that it stands on.
    pub(super) fn wander(&mut self) {
        self.standing = None;
    }

    /// Writes the goals here to `goals`; an undefined one counts as 0.
    pub(super) fn read_goals(&mut self) {
        self.reasoner.goals(&mut self.found);
        for (goal, found) in self.goals.iter_mut().zip(&self.found) {
            *goal = found.unwrap_or(0).min(100);
        }
    }

    /// Steps to the state after a joint move.
    fn step(&mut self) {
        self.wander();
        self.reasoner.next_state(&self.legal, &mut self.next);
        self.reasoner.set_state(&self.next);
    }
}

/// What opening a node came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Opened {
    /// Its moves are there.
    Open,
    /// The game is over there: forced moves led to the end, or a role has no legal move.
    Ended,
    /// A forced line was walked some way and goes on.
    OnTheWay,
    /// There was no memory.
    Full,
}

/// What growing a child came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Grown {
    /// A child, closed.
    Child(NodeId),
    /// A terminal child.
    Terminal(NodeId),
    /// No memory; the reasoner stands on the child's state, which is in `next`.
    Full,
    /// No memory; the game is over there, with the goals in `goals`.
    FullTerminal,
}

impl Graph {
    /// Opens a closed node that is not terminal. When it is open, the reasoner stands on it.
    pub(super) fn open(&mut self, node: NodeId, hands: &mut Hands) -> Opened {
        hands.stand_on(self, node);
        let mut walked = 0;
        loop {
            let mut forced = true;
            hands.legal.clear();
            hands.ends.clear();
            for role in 0..self.roles {
                let moves = hands.reasoner.legal_moves(RoleId::from_index(role));
                if moves.is_empty() {
                    hands.read_goals();
                    self.walk_on(node, walked);
                    self.end(node, &hands.goals);
                    return Opened::Ended;
                }
                forced &= moves.len() == 1;
                hands.legal.extend_from_slice(moves);
                hands.ends.push(hands.legal.len());
            }
            if !forced {
                break;
            }
            if self.nodes[node].forced + walked >= FORCED_AT_MOST {
                return Opened::Full;
            }
            if walked == FORCED_AT_ONCE {
                return if self.store_state(node, &hands.next) {
                    self.walk_on(node, walked);
                    hands.arrived(self, node);
                    Opened::OnTheWay
                } else {
                    Opened::Full
                };
            }
            hands.step();
            walked += 1;
            if hands.reasoner.is_terminal() {
                hands.read_goals();
                self.walk_on(node, walked);
                self.end(node, &hands.goals);
                return Opened::Ended;
            }
        }
        if walked > 0 {
            if !self.store_state(node, &hands.next) {
                return Opened::Full;
            }
            self.walk_on(node, walked);
        }
        hands.arrived(self, node);
        let mut start = 0;
        for &end in &hands.ends {
            let moves = &mut hands.legal[start..end];
            for last in (1..moves.len()).rev() {
                moves.swap(last, hands.random.below(last as u32 + 1) as usize);
            }
            start = end;
        }
        if self.open_with(node, &hands.legal, &hands.ends) {
            Opened::Open
        } else {
            Opened::Full
        }
    }

    fn walk_on(&mut self, node: NodeId, walked: u16) {
        self.nodes[node].forced += walked;
    }

    /// Makes the child that these entries, one per decider in role order, lead to.
    pub(super) fn grow(&mut self, node: NodeId, picks: &[EntryId], hands: &mut Hands) -> Grown {
        hands.stand_on(self, node);
        hands.legal.clear();
        let mut picks_left = picks.iter();
        for choice in &self.choices[self.nodes[node].choices] {
            let pick = if choice.decides() {
                picks_left.next()
            } else {
                None
            };
            let mv = pick.map_or(choice.sole, |pick| {
                self.chunks[pick.chunk()].moves[pick.slot()]
            });
            hands.legal.push(mv);
        }
        hands.step();
        let terminal = hands.reasoner.is_terminal();
        if terminal {
            hands.read_goals();
        }
        let made = self.make_node(&hands.next, terminal.then_some(hands.goals.as_slice()));
        let child = made.filter(|&child| {
            let linked = self.set_child(node, picks, child);
            if !linked {
                self.discard(child);
            }
            linked
        });
        match (child, terminal) {
            (Some(child), true) => Grown::Terminal(child),
            (Some(child), false) => {
                hands.arrived(self, child);
                Grown::Child(child)
            }
            (None, true) => Grown::FullTerminal,
            (None, false) => Grown::Full,
        }
    }
}
