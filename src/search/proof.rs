//! Proof: what is certain about a node, from what is certain about its children.
//!
//! Every node holds a lower and an upper bound of every role's goal (score bounds; Cazenave and
//! Saffidine 2010); a goal is proven when they meet. Bounds hold for best play, which means here:
//! each role maximises its own goal, and where several moves are equally good for it, two roles
//! play against each other (the one that moves picks what is worst for the other), while with more
//! than two roles the others play against the searching role. That is minimax in zero-sum games,
//! and the cautious reading of any other.
//!
//! One decider `d`, children `c`: its lower bound is the best lower, its upper the best upper. A
//! child is *possible* when its upper reaches the lower of `d`, and *sure* when its lower reaches
//! the upper of `d`. The role that ties are broken against can count on the least lower of the
//! possible, and on no more than the least upper of the sure; any third role on something between
//! the extremes of the possible. A move not tried is a child of which nothing is known. So a found
//! win decides a node at once, and a lost node is decided with its last child.
//!
//! Several deciders: nothing is assumed about the others. A move of role `r` is worth at least the
//! least and at most the greatest of its *row*, that is of all joint moves that contain it, once
//! all of them are in the tree; rows of more than [`ROW`] joint moves are not looked at. The best
//! row bounds the node for `r`. That is sound for any theory of simultaneous play, and proves
//! dominated games, not mixed equilibria. It proves less than could be: joint moves that no role
//! wants are seldom looked at, and a row with one of them missing says nothing.
//!
//! A fixed sum of all goals, if analysis found one, narrows each role's bounds by the others'.
//!
//! Invariant: bounds only ever narrow, since each source speaks the truth about the same game.

use super::backup::News;
use super::graph::Graph;
use super::pool::Place;
use super::record::{Bounds, EntryId, SEVERAL};
use crate::ids::NodeId;

/// The most joint moves in a row that is looked at.
const ROW: usize = 1024;

/// Buffers of the proof rules, kept so that judging allocates nothing.
#[derive(Default)]
pub(super) struct Judgement {
    /// The bounds of the node being judged, one per role.
    spans: Vec<Bounds>,
    /// What each role gets over all possible children.
    possible: Vec<Bounds>,
    /// The least upper bound of each role over the sure children.
    sure: Vec<u8>,
    /// The entries of each decider, one decider after the other.
    entries: Vec<EntryId>,
    /// Where each decider's entries end.
    ends: Vec<usize>,
    /// Which entry of each decider the joint move at hand contains.
    places: Vec<usize>,
    picks: Vec<EntryId>,
}

impl Graph {
    /// Judges a node anew after news from the child that `picks` lead to, whose bounds are in
    /// `facts`. If that changed anything about the node, its own bounds are in `facts` afterwards
    /// and its news are returned.
    pub(super) fn refresh(
        &mut self,
        node: NodeId,
        picks: &[EntryId],
        heard: News,
        facts: &mut [Bounds],
    ) -> Option<News> {
        let mut judgement = std::mem::take(&mut self.judgement);
        judgement.spans.clear();
        judgement.spans.extend_from_slice(&self.bounds[node]);
        let was_solved = self.nodes[node].solved;
        if self.nodes[node].decider == SEVERAL {
            self.judge_several(node, picks, heard, &mut judgement);
        } else {
            self.judge_alone(node, picks[0], heard, facts, &mut judgement);
        }
        self.use_fixed_sum(&mut judgement.spans);
        let changed = judgement.spans != self.bounds[node];
        if changed {
            self.bounds[node].copy_from_slice(&judgement.spans);
        }
        let record = &mut self.nodes[node];
        record.solved |= judgement.spans.iter().all(|bounds| bounds.is_exact());
        facts.copy_from_slice(&judgement.spans);
        self.judgement = judgement;
        let record = &self.nodes[node];
        (changed || record.solved != was_solved).then(|| News {
            solved: record.solved,
            length: record.length_from_parent(),
        })
    }

    /// One role has a choice. Narrows `judgement.spans`, the node's bounds.
    fn judge_alone(
        &mut self,
        node: NodeId,
        pick: EntryId,
        heard: News,
        facts: &[Bounds],
        judgement: &mut Judgement,
    ) {
        let decider = self.nodes[node].decider as usize;
        let chunk = &mut self.chunks[pick.chunk()];
        let slot = pick.slot();
        let entry = chunk.bounds(slot).and(facts[decider]);
        chunk.lower[slot] = entry.lower;
        chunk.upper[slot] = entry.upper;
        chunk.solved |= u8::from(heard.solved) << slot;

        let choice = *self.choice(node, decider);
        let untried = choice.has_untried();
        let own = &mut judgement.spans[decider];
        own.lower = own.lower.max(entry.lower);
        if untried && own.lower < own.upper {
            // An untried move may be better than all others, so nothing else can have changed.
            return;
        }
        if !untried {
            let best = self
                .chunks_of(&choice)
                .flat_map(|(_, chunk)| &chunk.upper[..chunk.len as usize])
                .max();
            *own = own.and(Bounds {
                lower: own.lower,
                upper: best.copied().unwrap_or(100),
            });
        }
        let own = *own;

        // What the possible and the sure children say about the other roles. A child of which
        // nothing is known is possible: an untried move, or one whose node was freed.
        let start = if untried {
            Bounds::OPEN
        } else {
            Bounds {
                lower: 100,
                upper: 0,
            }
        };
        judgement.possible.clear();
        judgement.possible.resize(self.roles, start);
        judgement.sure.clear();
        judgement.sure.resize(self.roles, u8::MAX);
        let mut settled = !untried;
        let mut length = None;
        for (id, chunk) in self.chunks_of(&choice) {
            for slot in 0..chunk.len as usize {
                if chunk.upper[slot] < own.lower {
                    continue;
                }
                settled &= chunk.is_solved(slot);
                let sure = chunk.lower[slot] >= own.upper;
                let child = self.child_of(EntryId::new(id, slot));
                let known = if EntryId::new(id, slot) == pick {
                    Some(facts)
                } else if child.is_some() {
                    Some(&self.bounds[child])
                } else {
                    None
                };
                for role in 0..self.roles {
                    let known = known.map_or(Bounds::OPEN, |known| known[role]);
                    let possible = &mut judgement.possible[role];
                    possible.lower = possible.lower.min(known.lower);
                    possible.upper = possible.upper.max(known.upper);
                    if sure {
                        judgement.sure[role] = judgement.sure[role].min(known.upper);
                    }
                }
                if sure && child.is_some() {
                    let line = self.nodes[child].length_from_parent();
                    length = Some(better_line(own, line, length));
                }
            }
        }
        let spited = self.spited(decider);
        for role in (0..self.roles).filter(|&role| role != decider) {
            let mut known = judgement.possible[role];
            if spited == Some(role) {
                known.upper = known.upper.min(judgement.sure[role]);
            }
            judgement.spans[role] = judgement.spans[role].and(known);
        }
        let record = &mut self.nodes[node];
        record.solved |= settled;
        if own.is_exact() {
            record.proof_length = length.unwrap_or(heard.length);
        }
    }

    /// The role against which a decider breaks ties.
    fn spited(&self, decider: usize) -> Option<usize> {
        match self.roles {
            1 => None,
            2 => Some(1 - decider),
            _ => (decider != self.searcher).then_some(self.searcher),
        }
    }

    /// Several roles choose at once. Narrows `judgement.spans`, the node's bounds.
    fn judge_several(
        &mut self,
        node: NodeId,
        picks: &[EntryId],
        heard: News,
        judgement: &mut Judgement,
    ) {
        judgement.entries.clear();
        judgement.ends.clear();
        // How many deciders have untried moves, and which of them is the last.
        let mut with_untried = 0;
        let mut last_with_untried = 0;
        for role in 0..self.roles {
            let choice = self.choice(node, role);
            if choice.decides() {
                if choice.has_untried() {
                    with_untried += 1;
                    last_with_untried = judgement.ends.len();
                }
                judgement.entries.extend(self.entries(choice));
                judgement.ends.push(judgement.entries.len());
            }
        }
        let mut decider = 0;
        for role in 0..self.roles {
            let choice = *self.choice(node, role);
            let own = choice.decides().then_some(decider);
            decider += usize::from(choice.decides());
            // A row is complete only when all others have tried all their moves.
            let others_tried =
                with_untried == 0 || (with_untried == 1 && own == Some(last_with_untried));
            if !others_tried {
                continue;
            }
            let fixed = own.map(|own| (own, picks[own]));
            let row = self.row(node, role, fixed, judgement);
            let Some((_, pick)) = fixed else {
                judgement.spans[role] = judgement.spans[role].and(row);
                continue;
            };
            let chunk = &mut self.chunks[pick.chunk()];
            let slot = pick.slot();
            let entry = chunk.bounds(slot).and(row);
            chunk.lower[slot] = entry.lower;
            chunk.upper[slot] = entry.upper;
            let upper = if choice.has_untried() {
                100
            } else {
                self.chunks_of(&choice)
                    .flat_map(|(_, chunk)| &chunk.upper[..chunk.len as usize])
                    .max()
                    .copied()
                    .unwrap_or(100)
            };
            judgement.spans[role] = judgement.spans[role].and(Bounds {
                lower: entry.lower,
                upper,
            });
        }
        self.nodes[node].proof_length = heard.length;
    }

    /// What a role can get in a row: all joint moves of the entries in `judgement`, one decider's
    /// entry fixed. Nothing is known while one of them is missing in the tree.
    fn row(
        &self,
        node: NodeId,
        role: usize,
        fixed: Option<(usize, EntryId)>,
        judgement: &mut Judgement,
    ) -> Bounds {
        let deciders = judgement.ends.len();
        let is_fixed = |decider| fixed.is_some_and(|(fixed, _)| fixed == decider);
        let start = |decider: usize| decider.checked_sub(1);
        judgement.places.clear();
        judgement.picks.clear();
        let mut joint_moves = 1usize;
        for decider in 0..deciders {
            let start = start(decider).map_or(0, |before| judgement.ends[before]);
            judgement.places.push(start);
            match fixed {
                Some((fixed, pick)) if fixed == decider => judgement.picks.push(pick),
                _ => {
                    judgement.picks.push(judgement.entries[start]);
                    joint_moves = joint_moves.saturating_mul(judgement.ends[decider] - start);
                }
            }
        }
        if joint_moves > ROW {
            return Bounds::OPEN;
        }
        let mut row = Bounds {
            lower: 100,
            upper: 0,
        };
        loop {
            let child = self.child(node, &judgement.picks);
            if !child.is_some() {
                return Bounds::OPEN;
            }
            let known = self.bounds[child][role];
            row.lower = row.lower.min(known.lower);
            row.upper = row.upper.max(known.upper);
            if row == Bounds::OPEN {
                return row;
            }
            // Counts up: the first decider that has a next entry takes it, those before it start
            // again.
            let mut decider = 0;
            loop {
                if decider == deciders {
                    return row;
                }
                if !is_fixed(decider) {
                    judgement.places[decider] += 1;
                    let more = judgement.places[decider] < judgement.ends[decider];
                    if !more {
                        judgement.places[decider] =
                            start(decider).map_or(0, |before| judgement.ends[before]);
                    }
                    judgement.picks[decider] = judgement.entries[judgement.places[decider]];
                    if more {
                        break;
                    }
                }
                decider += 1;
            }
        }
    }

    /// Narrows each role's bounds by what the others leave of the fixed sum.
    fn use_fixed_sum(&self, spans: &mut [Bounds]) {
        let Some(sum) = self.fixed_sum else { return };
        let lower: u32 = spans.iter().map(|bounds| u32::from(bounds.lower)).sum();
        let upper: u32 = spans.iter().map(|bounds| u32::from(bounds.upper)).sum();
        for bounds in spans {
            let least = (sum + u32::from(bounds.upper)).saturating_sub(upper);
            let most = (sum + u32::from(bounds.lower)).saturating_sub(lower);
            *bounds = bounds.and(Bounds {
                lower: least.min(100) as u8,
                upper: most.min(100) as u8,
            });
        }
    }
}

/// The line to take of two that lead to the same proven goal: the shorter to a good one, the longer
/// to a bad one.
pub(super) fn better_line(goal: Bounds, line: u16, other: Option<u16>) -> u16 {
    match other {
        None => line,
        Some(other) if goal.lower > 50 => line.min(other),
        Some(other) => line.max(other),
    }
}
