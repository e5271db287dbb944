//! Growing the graph: what the writer asks the game itself, and what it makes of the answers of
//! workers.
//!
//! Workers (see `worker`) look at new positions: what state a joint move leads to, whether the game
//! is over there, which moves are legal, how its children begin. Here that becomes a node. The
//! writer itself asks the game only about the state of the match.
//!
//! A state in which every role has just one legal move is walked through on the way: a node is a
//! state that offers a choice. What was played out from the states before stays valid, since every
//! playout had to go the same way.
//!
//! Invariant: a node that is open has the legal moves of its own state.

use super::backup::News;
use super::graph::{Entries, Graph};
use super::pool::Place;
use super::record::{EntryId, SEVERAL};
use super::worker::Look;
use crate::analysis::symmetry::Symmetries;
use crate::ids::{Id, MoveId, NodeId, RoleId};
use crate::machine::Reasoner;
use crate::machine::random::Random;

/// Forced joint moves walked in one go; a longer forced line is walked further at the next visit.
pub(super) const FORCED_AT_ONCE: u16 = 256;

/// The searching thread's hands on the game, with the buffers that it needs again and again.
pub(super) struct Hands {
    pub(super) reasoner: Box<dyn Reasoner>,
    pub(super) random: Random,
    /// The state computed last.
    pub(super) next: Vec<u64>,
    /// Room for a state that is stored in parts.
    pub(super) buffer: Vec<u64>,
    /// The goals found last, one per role.
    pub(super) goals: Vec<u8>,
    found: Vec<Option<u8>>,
    pub(super) legal: Vec<MoveId>,
    pub(super) ends: Vec<u32>,
}

/// Where a walk through forced moves ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Walked {
    /// Where somebody has a choice: the legal moves are there.
    Choice,
    /// Where the game is over: the goals are there.
    End,
    /// Somewhere on the way.
    OnTheWay,
}

impl Hands {
    /// Hands on a game with this many roles.
    pub(super) fn new(reasoner: Box<dyn Reasoner>, random: Random, roles: usize) -> Self {
        Self {
            reasoner,
            random,
            next: Vec::new(),
            buffer: Vec::new(),
            goals: vec![0; roles],
            found: vec![None; roles],
            legal: Vec::new(),
            ends: Vec::new(),
        }
    }

    /// Writes the goals here to `goals`; an undefined one counts as 0.
    pub(super) fn read_goals(&mut self) {
        self.reasoner.goals(&mut self.found);
        for (goal, found) in self.goals.iter_mut().zip(&self.found) {
            *goal = found.unwrap_or(0).min(100);
        }
    }

    /// Reads the legal moves here. `false` when a role has none, which is the end.
    fn read_legal(&mut self) -> bool {
        self.legal.clear();
        self.ends.clear();
        for role in 0..self.goals.len() {
            let moves = self.reasoner.legal_moves(RoleId::from_index(role));
            if moves.is_empty() {
                return false;
            }
            self.legal.extend_from_slice(moves);
            self.ends.push(self.legal.len() as u32);
        }
        true
    }

    /// Walks from a state on through forced moves. Where it ends is in `next`; how many moves were
    /// walked is returned.
    pub(super) fn walk(&mut self, state: &[u64]) -> (Walked, u16) {
        self.next.clear();
        self.next.extend_from_slice(state);
        let mut walked = 0;
        loop {
            self.reasoner.set_state(&self.next);
            if self.reasoner.is_terminal() || !self.read_legal() {
                self.read_goals();
                return (Walked::End, walked);
            }
            if self.legal.len() > self.goals.len() {
                return (Walked::Choice, walked);
            }
            if walked == FORCED_AT_ONCE {
                return (Walked::OnTheWay, walked);
            }
            self.reasoner.next_state(&self.legal, &mut self.next);
            walked += 1;
        }
    }
}

impl Hands {
    /// Leaves one of each class of equivalent moves of the role, where it alone has a choice in the
    /// state walked to. Where several choose, a class has to be mixed.
    pub(super) fn fold(&mut self, role: usize, symmetries: &Symmetries) {
        let start =
            |role: usize| role.checked_sub(1).map_or(0, |before| self.ends[before]) as usize;
        let n_moves = |role: usize| self.ends[role] as usize - start(role);
        let others = (0..self.ends.len()).filter(|&other| other != role);
        if n_moves(role) < 2 || others.map(n_moves).any(|count| count > 1) {
            return;
        }
        let run = start(role)..self.ends[role] as usize;
        let classes = symmetries.equivalent_moves(&self.next, &self.legal[run.clone()]);
        let mut kept = run.start;
        for (place, &class) in classes.iter().enumerate() {
            if class == place {
                self.legal[kept] = self.legal[run.start + place];
                kept += 1;
            }
        }
        self.legal.drain(kept..run.end);
        let folded = (run.end - kept) as u32;
        for end in &mut self.ends[role..] {
            *end -= folded;
        }
    }
}

impl Graph {
    /// Makes of what was seen below `node`, behind the joint move of `picks`, its child, or finds
    /// the node that already is that state. None when there is no memory. The node is on a path
    /// under way.
    pub(super) fn attach(
        &mut self,
        node: NodeId,
        picks: &[EntryId],
        look: &Look,
        random: &mut Random,
    ) -> NodeId {
        let there = self.child(node, picks);
        if there.is_some() {
            // Another path was quicker.
            return there;
        }
        let known = if look.terminal {
            None
        } else {
            self.find(&look.state)
        };
        let child = match known {
            Some(known) => known,
            None => {
                let goals = look.terminal.then_some(look.goals.as_slice());
                let Some(made) = self.make_node(&look.state, goals) else {
                    return NodeId::NONE;
                };
                self.nodes[made].forced = look.forced;
                made
            }
        };
        // Making room must not free what is not linked yet.
        self.nodes[child].in_flight += 1;
        let linked = self.set_child(node, picks, child);
        if linked && !look.terminal && !self.nodes[child].is_open() {
            self.open(child, look, random);
        }
        self.nodes[child].in_flight -= 1;
        if linked { child } else { NodeId::NONE }
    }

    /// Takes in what was seen at a closed node itself, which is on a path under way.
    pub(super) fn see(&mut self, node: NodeId, look: &Look, random: &mut Random) {
        let record = &self.nodes[node];
        if record.is_open() || record.terminal {
            return;
        }
        self.nodes[node].forced = self.nodes[node].forced.saturating_add(look.forced);
        if look.terminal {
            self.end(node, &look.goals);
        } else if look.forced == 0 || self.store_state(node, &look.state) {
            self.open(node, look, random);
        }
    }

    /// Opens the root, unless it is open or over, with the legal moves that the hands have read
    /// there.
    pub(super) fn open_root(&mut self, hands: &mut Hands) {
        let root = self.root;
        let record = &mut self.nodes[root];
        if record.is_open() || record.terminal {
            return;
        }
        record.in_flight += 1;
        let mut start = 0;
        for &end in &hands.ends {
            shuffle(&mut hands.legal[start..end as usize], &mut hands.random);
            start = end as usize;
        }
        self.open_with(root, &hands.legal, &hands.ends, Entries::None);
        self.nodes[root].in_flight -= 1;
    }

    /// Opens a closed node with what was seen, if legal moves were looked for. Where there is no
    /// memory it stays closed.
    fn open(&mut self, node: NodeId, look: &Look, random: &mut Random) {
        if look.ends.is_empty() {
            return;
        }
        debug_assert_eq!(look.ends.len(), self.roles);
        if !look.children.is_empty() {
            let entries = look
                .sole_reply(self.roles)
                .map_or(Entries::All, Entries::Only);
            if self.open_with(node, &look.legal, &look.ends, entries) {
                self.estimate(node, look, entries);
            }
            return;
        }
        // Which moves are tried first is left to chance.
        let mut legal = std::mem::take(&mut self.shuffled);
        legal.clear();
        legal.extend_from_slice(&look.legal);
        let mut start = 0;
        for &end in &look.ends {
            shuffle(&mut legal[start..end as usize], random);
            start = end as usize;
        }
        self.open_with(node, &legal, &look.ends, Entries::None);
        self.shuffled = legal;
    }

    /// Gives the entries of a fresh node of one decider their first estimates, and what is certain
    /// about children in which the game is over.
    fn estimate(&mut self, node: NodeId, look: &Look, entries: Entries) {
        let decider = self.nodes[node].decider;
        if decider == SEVERAL {
            return;
        }
        let decider = decider as usize;
        let mut index = match entries {
            Entries::Only(index) => index,
            _ => 0,
        };
        let mut last = EntryId::NONE;
        let mut goals = std::mem::take(&mut self.goals);
        let best = look.best_end(decider, self.roles);
        let mut at = self.nodes[node].first;
        while at.is_some() {
            let (len, link) = (self.chunks[at].len as usize, self.chunks[at].link);
            for slot in 0..len {
                let child = look.children[index];
                let totals = &look.totals[index * self.roles..][..self.roles];
                index += 1;
                let chunk = &mut self.chunks[at];
                if !child.terminal {
                    let promise = look.promises.get((index - 1) * self.roles + decider);
                    if child.playouts > 0 {
                        chunk.visits[slot] = 1;
                        chunk.means[slot] = totals[decider] as f32 / child.playouts as f32;
                        if let Some(promise) = promise {
                            chunk.means[slot] +=
                                (promise - chunk.means[slot]) * self.evaluation_share;
                        }
                    } else if let Some(&promise) = promise {
                        chunk.visits[slot] = 1;
                        chunk.means[slot] = promise;
                    }
                    continue;
                }
                let goal = totals[decider] as u8;
                chunk.visits[slot] = 1;
                chunk.means[slot] = f32::from(goal);
                chunk.lower[slot] = goal;
                chunk.upper[slot] = goal;
                // What is worse than a sure thing is never played, and nobody asks what it means
                // for others.
                if best.is_some_and(|best| totals[decider] < best) {
                    continue;
                }
                goals.clear();
                goals.extend(totals.iter().map(|&goal| goal as u8));
                let entry = EntryId::new(at, slot);
                if let Some(child) = self.make_node(&[], Some(&goals)) {
                    self.nodes[child].in_flight += 1;
                    self.set_child(node, &[entry], child);
                    self.nodes[child].in_flight -= 1;
                    self.chunks[at].solved |= 1 << slot;
                    last = entry;
                }
            }
            at = link;
        }
        self.goals = goals;
        let end = if last.is_some() {
            self.child_of(last)
        } else {
            NodeId::NONE
        };
        if end.is_some() {
            let mut facts = std::mem::take(&mut self.facts);
            facts.clear();
            facts.extend_from_slice(&self.bounds[end]);
            self.refresh(node, &[last], News::terminal(), &mut facts);
            self.facts = facts;
        }
    }
}

fn shuffle(moves: &mut [MoveId], random: &mut Random) {
    for last in (1..moves.len()).rev() {
        moves.swap(last, random.below(last as u32 + 1) as usize);
    }
}
