//! How far facts, moves and goals are from each other.
//!
//! The distance from one to another is the least number of transitions that have to be crossed for
//! the first to have a say in the second. It is found going backwards: a fact depends on what its
//! `next` reads, one transition earlier, and a move on what its `legal` reads, at the same time.
//! (The dependency distances of Sancho's blog, which guide its local search.) Facts that are far
//! from all goals matter late; moves far from each other can be thought of apart.
//!
//! A distance is a lower bound and nothing else: influence may in truth take longer, or be none.
//! Rows are one byte per fact and move, made when they are asked for and kept while there is room:
//! large games have thousands of each.
//!
//! Never knows: states, what anybody wants.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use super::effort::Effort;
use crate::ids::{BaseId, GateId, Id, MoveId, RoleId};
use crate::propnet::{Network, Node, Signal};

/// What can be influenced.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Target {
    /// Whether a fact is true.
    Base(BaseId),
    /// Whether a move is legal.
    Move(MoveId),
    /// What a role's goals are.
    Goals(RoleId),
    /// Whether the game is over.
    End,
}

/// What can influence.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Source {
    /// Whether a fact is true.
    Base(BaseId),
    /// Whether a move is made.
    Move(MoveId),
}

/// Stands for 'no influence'.
const NONE: u8 = u8::MAX;
/// The farthest distance that is told exactly; what is farther is told as this.
pub const FARTHEST: u8 = u8::MAX - 1;

/// How far everything is from one target.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    n_bases: usize,
    bytes: Box<[u8]>,
}

impl Row {
    /// Transitions crossed between the source and the target of this row, at most [`FARTHEST`];
    /// nothing where there is no influence.
    pub fn at(&self, source: Source) -> Option<u8> {
        let place = match source {
            Source::Base(base) => base.index(),
            Source::Move(mv) => self.n_bases + mv.index(),
        };
        let distance = self.bytes.get(place).copied()?;
        (distance != NONE).then_some(distance)
    }

    /// One byte per fact; 255 where there is no influence.
    pub fn bases(&self) -> &[u8] {
        &self.bytes[..self.n_bases]
    }

    /// One byte per move; 255 where there is no influence.
    pub fn moves(&self) -> &[u8] {
        &self.bytes[self.n_bases..]
    }
}

/// Distances of one network: rows on demand.
pub struct Distances {
    network: Arc<Network>,
    rows: HashMap<Target, Arc<Row>>,
    /// In the order in which they were made.
    kept: VecDeque<Target>,
    max_rows: usize,
    /// Per gate, the last search that saw it.
    seen: Vec<u32>,
    search: u32,
}

impl Distances {
    /// No row yet, and room for so many bytes of them (one row at least).
    pub fn new(network: Arc<Network>, max_bytes: usize) -> Self {
        let row = network.facts.len() + network.moves.len();
        Self {
            rows: HashMap::new(),
            kept: VecDeque::new(),
            max_rows: (max_bytes / row.max(1)).max(1),
            seen: vec![0; network.gates.len()],
            search: 0,
            network,
        }
    }

    /// Transitions crossed between the two; nothing where there is no influence or the effort is
    /// spent.
    pub fn distance(&mut self, from: Source, to: Target, effort: &mut Effort) -> Option<u8> {
        self.row(to, effort)?.at(from)
    }

    /// How far everything is from a target. Nothing when the effort is spent.
    pub fn row(&mut self, target: Target, effort: &mut Effort) -> Option<Arc<Row>> {
        if let Some(row) = self.rows.get(&target) {
            return Some(Arc::clone(row));
        }
        let row = Arc::new(self.make(target, effort)?);
        if self.kept.len() >= self.max_rows
            && let Some(oldest) = self.kept.pop_front()
        {
            self.rows.remove(&oldest);
        }
        self.kept.push_back(target);
        self.rows.insert(target, Arc::clone(&row));
        Some(row)
    }

    fn make(&mut self, target: Target, effort: &mut Effort) -> Option<Row> {
        self.search += 1;
        let network = Arc::clone(&self.network);
        let n_bases = network.facts.len();
        let mut bytes = vec![NONE; n_bases + network.moves.len()].into_boxed_slice();
        if !effort.spend(bytes.len() as u64 / 8) {
            return None;
        }
        // What is read at the distance at hand, and the bases found there, whose `next` is read one
        // farther.
        let mut open: Vec<Signal> = Vec::new();
        let mut found: Vec<BaseId> = Vec::new();
        match target {
            Target::Base(base) => open.push(Signal::of_node(1 + base.index())),
            Target::Move(mv) => {
                bytes[n_bases + mv.index()] = 0;
                open.push(network.legal[mv]);
            }
            Target::Goals(role) => {
                let goals = network.goals.iter().filter(|(of, ..)| *of == role);
                open.extend(goals.map(|&(_, _, signal)| signal));
            }
            Target::End => open.push(network.terminal),
        }
        let mut distance = 0;
        loop {
            while let Some(signal) = open.pop() {
                match network.node(signal) {
                    Node::False => {}
                    Node::Base(base) => {
                        if bytes[base.index()] == NONE {
                            bytes[base.index()] = distance;
                            found.push(base);
                        }
                    }
                    Node::Move(mv) => {
                        let byte = &mut bytes[n_bases + mv.index()];
                        if *byte == NONE {
                            *byte = distance;
                            open.push(network.legal[mv]);
                        }
                    }
                    Node::Gate(gate) => open.extend(self.inputs_once(&network, gate, effort)?),
                }
            }
            if found.is_empty() {
                return Some(Row { n_bases, bytes });
            }
            distance = (distance + 1).min(FARTHEST);
            open.extend(found.drain(..).map(|base| network.next[base]));
        }
    }

    /// The gate's inputs, the first time that a search asks for them.
    fn inputs_once<'n>(
        &mut self,
        network: &'n Network,
        gate: GateId,
        effort: &mut Effort,
    ) -> Option<&'n [Signal]> {
        let seen = &mut self.seen[gate.index()];
        if *seen == self.search {
            return Some(&[]);
        }
        *seen = self.search;
        let inputs = network.inputs(gate);
        effort.spend(inputs.len() as u64).then_some(inputs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::testing::{base, effort, mv, network};

    /// Coins are dropped in, the third opens a door; the lamp has nothing to do with it.
    const DOOR: &str = "
        (role r) (init (coins 0)) (succ 0 1) (succ 1 2) (succ 2 3)
        (<= (legal r drop) (not (true open)))
        (<= (legal r switch) (true lamp)) (<= (legal r switch) (not (true lamp)))
        (<= (next (coins ?n)) (does r drop) (true (coins ?m)) (succ ?m ?n))
        (<= (next (coins ?n)) (does r switch) (true (coins ?n)))
        (<= (next open) (true (coins 3))) (<= (next open) (true open))
        (<= (next lamp) (does r switch) (not (true lamp)))
        (<= (next lamp) (does r drop) (true lamp))
        (<= terminal (true open)) (<= (goal r 100) (true open)) (<= (goal r 0) (not (true open)))";

    fn distances(network: Network) -> Distances {
        Distances::new(Arc::new(network), 1 << 20)
    }

    #[test]
    fn transitions_are_counted_backwards() {
        let network = network(DOOR);
        let of = |text: &str| Source::Base(base(&network, text));
        let (open, drop) = (base(&network, "open"), mv(&network, "drop"));
        let lamp = of("lamp");
        let coins: Vec<Source> = (0..4).map(|n| of(&format!("(coins {n})"))).collect();
        let mut distances = distances(network.clone());
        let mut effort = effort();
        let row = distances
            .row(Target::Goals(RoleId(0)), &mut effort)
            .unwrap();
        let found: Vec<_> = coins.iter().map(|&coin| row.at(coin)).collect();
        assert_eq!(found, [Some(4), Some(3), Some(2), Some(1)]);
        assert_eq!(row.at(Source::Base(open)), Some(0));
        assert_eq!(row.at(Source::Move(drop)), Some(2));
        assert_eq!(distances.row(Target::End, &mut effort), Some(row));
        assert_eq!(
            distances.distance(Source::Base(open), Target::Move(drop), &mut effort),
            Some(0),
            "legal feeds its move at no crossing"
        );
        assert_eq!(
            distances.distance(lamp, Target::Base(open), &mut effort),
            None,
            "`switch` is always legal, though its rules name the lamp"
        );
        assert_eq!(
            distances.distance(coins[0], Target::Move(mv(&network, "switch")), &mut effort),
            None
        );
    }

    #[test]
    fn rows_are_dropped_when_there_is_no_room_and_made_again() {
        let network = network(DOOR);
        let targets: Vec<Target> = network.facts.ids().map(Target::Base).collect();
        let mut all = distances(network.clone());
        let mut few = Distances::new(Arc::new(network), 1);
        for _ in 0..2 {
            for &target in &targets {
                let mut effort = effort();
                assert_eq!(all.row(target, &mut effort), few.row(target, &mut effort));
                assert_eq!(few.rows.len(), 1);
            }
        }
    }

    #[test]
    fn a_spent_effort_says_nothing() {
        let mut distances = distances(network(DOOR));
        assert_eq!(distances.row(Target::End, &mut Effort::new(2, None)), None);
    }
}
