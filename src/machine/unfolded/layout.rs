//! From an unfolded network to flat arrays.
//!
//! Everything with a value is one byte of one array: bases, those moves that are propagated, gates, and leaves. The top
//! bit is the value. The seven bits above the lowest count a gate's inputs, in steps of two; the lowest says what value
//! the users were last told. Leaves, which nothing but the engine reads, stand in rows of 64, so that 64 values are
//! taken at once: one row or more per role and phase for the legal moves, one per state word for the next state.
//!
//! A gate that only effects or goals need is not kept up to date; it is pulled when asked for.
//!
//! Invariants: a counted gate has at most [`MAX_INPUTS`] inputs (a wider one is a tree of such); numbers below
//! `n_followed` are bases, moves and gates, above are leaves, which have no users; every edge leads to a number of the
//! array; pulled gates are at most [`MAX_DEPTH`] deep.

use rustc_hash::FxHashMap;

use crate::ids::{BaseId, GateId, Id, IdVec, MoveId, RoleId};
use crate::propnet::{Keyed, Network, Node, Signal, Unfolded, UnfoldedPhase};

/// Seven bits count them, with room at either end.
const MAX_INPUTS: usize = 60;
/// A gate of no inputs that is on, and what a leaf that is always on holds.
const ON: u8 = 0x80;
/// An OR none of whose inputs is on.
const OR_START: u8 = 0x7E;
/// Pulled gates are evaluated by recursion.
const MAX_DEPTH: u32 = 1000;
/// Goals that need more gates than this get a pass, unless the gates are wide: of a wide gate, the first inputs mostly
/// say enough.
const MAX_PULLED_GOALS: usize = 48;
/// Mean fan-in from which gates are wide.
const MAX_MEAN_FAN_IN: usize = 5;
/// Wide gates have their inputs guarded, where at least so many can be.
const MIN_GUARDED: usize = 16;
/// Effects that copy at least so many bases do so by the word.
const MIN_COPIES: usize = 6;
/// No row.
pub(in crate::machine) const NO_ROW: u32 = u32::MAX;

/// Something to be read: a constant, a value of the array, or a pulled gate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::machine) struct Operand(u32);

impl Operand {
    const INVERTED: u32 = 1;
    const PULLED: u32 = 2;
    const FLAT: u32 = 4;

    fn value(number: u32, is_inverted: bool) -> Self {
        Self(number << 3 | u32::from(is_inverted))
    }

    /// A pulled gate; `is_flat` when values are all that it reads.
    fn pulled(number: u32, is_flat: bool, is_inverted: bool) -> Self {
        let flat = if is_flat { Self::FLAT } else { 0 };
        Self(number << 3 | flat | Self::PULLED | u32::from(is_inverted))
    }

    #[inline]
    pub(in crate::machine) fn is_pulled(self) -> bool {
        self.0 & Self::PULLED != 0
    }

    #[inline]
    pub(in crate::machine) fn number(self) -> u32 {
        self.0 >> 3
    }

    /// Whether it is a pulled gate that reads nothing but values.
    #[inline]
    pub(in crate::machine) fn is_flat(self) -> bool {
        self.0 & Self::FLAT != 0
    }

    /// 1 when the value is to be inverted.
    #[inline]
    pub(in crate::machine) fn inversion(self) -> u8 {
        (self.0 & Self::INVERTED) as u8
    }
}

/// What the next state takes from where, for one word.
#[derive(Clone, Copy, Debug)]
pub(in crate::machine) struct NextWord {
    /// Bases that stay as they are.
    pub keep: u64,
    /// Bases that are true.
    pub set: u64,
    /// The row of leaves for the others, or [`NO_ROW`].
    pub row: u32,
}

/// What a move or key does: runs of `masks`, `bits` and `copies`.
#[derive(Clone, Copy, Debug)]
pub(in crate::machine) struct Effects {
    pub masks: (u32, u32),
    pub bits: (u32, u32),
    pub copies: (u32, u32),
}

/// Bases of one word each of which, if it is true, makes another true in the next state: `targets[first]` for the
/// lowest of them, and so on.
#[derive(Clone, Copy, Debug)]
pub(in crate::machine) struct Copies {
    pub word: u32,
    pub mask: u64,
    pub first: u32,
}

/// Where a number's users start in the edge array, and where, from there, those of them start that are leaves. They end where the
/// next number's start.
#[derive(Clone, Copy, Default, Debug)]
pub(in crate::machine) struct Users {
    pub start: u32,
    pub leaves: u32,
}

/// A gate that is worked out when it is asked for: on when all its operands are. They are in a run of `operands` and, where
/// there are many, in a run of `guarded`.
#[derive(Clone, Copy, Debug)]
pub(in crate::machine) struct Pulled {
    pub operands: (u32, u32),
    pub guarded: (u32, u32),
}

/// Bases of one word each of which, if it is true, calls for a look at `guarded_operands[first]` for the lowest, and so on.
#[derive(Clone, Copy, Debug)]
pub(in crate::machine) struct Guarded {
    pub word: u32,
    pub mask: u64,
    pub first: u32,
}

/// Gates of equal fan-in that are worked out one after the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::machine) struct Run {
    pub fan_in: u32,
    pub n_gates: u32,
}

/// All that the goals of a phase need and nothing keeps up to date, worked out from front to back without a branch that hangs on a
/// value. Where there is much of it, that is faster than to ask for what is needed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::machine) struct GoalPass {
    pub runs: Vec<Run>,
    /// `2·number + inverted`, run after run.
    pub operands: Vec<u32>,
    /// The number of the first gate's value; the others follow.
    pub first: u32,
}

/// The bases of one state word that a move decides.
#[derive(Clone, Copy, Debug)]
pub(in crate::machine) struct Mask {
    pub word: u32,
    pub keep: u64,
    pub set: u64,
}

/// Up to 64 keys of one word or row.
#[derive(Clone, Copy, Debug)]
pub(in crate::machine) struct KeyWord {
    /// The state's word, when `row` is [`NO_ROW`].
    pub word: u32,
    /// The row of leaves.
    pub row: u32,
    /// Which of the bits are keys.
    pub mask: u64,
    /// What the lowest key does is `keyed[first]`, and so on.
    pub first: u32,
}

/// One role in one phase.
#[derive(Clone, Debug)]
pub(in crate::machine) struct RoleLayout {
    /// The first of the rows that say which of `moves` are legal; none when there is just one and it always is.
    pub row: u32,
    /// How many rows.
    pub n_rows: u32,
    /// Moves that may be legal, rising.
    pub moves: Box<[MoveId]>,
    /// What each does.
    pub effects: Box<[Effects]>,
    /// The number of each move's value, or [`NO_ROW`].
    pub numbers: Box<[u32]>,
    /// Whether gates follow the role's moves, in this phase or another.
    pub is_followed: bool,
}

/// One phase.
#[derive(Clone, Debug)]
pub(in crate::machine) struct PhaseLayout {
    pub terminal: Operand,
    pub roles: IdVec<RoleId, RoleLayout>,
    pub next: Box<[NextWord]>,
    /// What clears bases while it is on, 64 keys at a time.
    pub clearing: Box<[KeyWord]>,
    /// What sets bases while it is on.
    pub setting: Box<[KeyWord]>,
    /// Per role, from the highest value down.
    pub goals: IdVec<RoleId, Box<[(u8, Operand)]>>,
    /// Which of the goal passes has to come before the goals are read.
    pub goal_pass: Option<usize>,
}

/// An unfolded network, laid out. Never changes.
#[derive(Debug)]
pub struct UnfoldedLayout {
    pub(in crate::machine) n_bases: u32,
    pub(in crate::machine) n_followed: u32,
    /// Numbers below are bases' and moves'.
    pub(in crate::machine) first_gate: u32,
    /// The array with every base false and no move made.
    pub(in crate::machine) at_rest: Vec<u8>,
    /// Each followed number's users; one more for the end of the last.
    pub(in crate::machine) users: Vec<Users>,
    /// User and whether it takes the value inverted: `2·number + inverted`.
    pub(in crate::machine) edges: Vec<u32>,
    pub(in crate::machine) pulled: Vec<Pulled>,
    /// Of pulled gates, operands that are on unless a base is true, by that base.
    pub(in crate::machine) guarded: Vec<Guarded>,
    /// Runs of `operands`, per base of `guarded`.
    pub(in crate::machine) guarded_operands: Vec<(u32, u32)>,
    pub(in crate::machine) operands: Vec<Operand>,
    pub(in crate::machine) masks: Vec<Mask>,
    pub(in crate::machine) bits: Vec<(BaseId, Operand)>,
    /// What keys do.
    pub(in crate::machine) keyed: Vec<Effects>,
    pub(in crate::machine) copies: Vec<Copies>,
    pub(in crate::machine) targets: Vec<BaseId>,
    pub(in crate::machine) goal_passes: Vec<GoalPass>,
    /// Numbers from here on are the goal passes'.
    pub(in crate::machine) n_kept: u32,
    pub(in crate::machine) phases: Vec<PhaseLayout>,
}

impl UnfoldedLayout {
    /// Lays out an unfolded network. Nothing when its pulled gates are too deep.
    pub fn compile(unfolded: &Unfolded) -> Option<UnfoldedLayout> {
        Compiler::new(unfolded).run()
    }

    /// Gates that are kept up to date, leaves among them, and gates that are pulled.
    pub fn sizes(&self) -> (usize, usize) {
        (
            self.at_rest.len() - self.n_bases as usize,
            self.pulled.len(),
        )
    }
}

/// What effects do with the bases they name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Doing {
    /// Give them the values of their signals.
    Decides,
    /// Make them false.
    Clears,
    /// Make those true whose signals are on, and leave the others.
    Sets,
}

/// How a gate is held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    Nowhere,
    Counted(u32),
    Pulled(u32),
}

struct Compiler<'a> {
    unfolded: &'a Unfolded,
    network: &'a Network,
    /// Per gate, how often other gates and outputs need it.
    n_uses: IdVec<GateId, u32>,
    place: IdVec<GateId, Place>,
    /// The number of each move that gates follow.
    move_number: IdVec<MoveId, u32>,
    values: Vec<u8>,
    first_counted: u32,
    /// From, to, inverted.
    edges: Vec<(u32, u32, bool)>,
    pulled: Vec<Pulled>,
    guarded: Vec<Guarded>,
    guarded_operands: Vec<(u32, u32)>,
    depth: Vec<u32>,
    operands: Vec<Operand>,
    masks: Vec<Mask>,
    bits: Vec<(BaseId, Operand)>,
    keyed: Vec<Effects>,
    copies: Vec<Copies>,
    targets: Vec<BaseId>,
    goal_passes: Vec<GoalPass>,
}

impl<'a> Compiler<'a> {
    fn new(unfolded: &'a Unfolded) -> Self {
        let network = &unfolded.network;
        Self {
            unfolded,
            network,
            n_uses: network.gates.iter().map(|_| 0).collect(),
            place: network.gates.iter().map(|_| Place::Nowhere).collect(),
            move_number: network.moves.iter().map(|_| NO_ROW).collect(),
            values: vec![0; network.facts.len()],
            first_counted: 0,
            edges: Vec::new(),
            pulled: Vec::new(),
            guarded: Vec::new(),
            guarded_operands: Vec::new(),
            depth: Vec::new(),
            operands: Vec::new(),
            masks: Vec::new(),
            bits: Vec::new(),
            keyed: Vec::new(),
            copies: Vec::new(),
            targets: Vec::new(),
            goal_passes: Vec::new(),
        }
    }

    fn run(mut self) -> Option<UnfoldedLayout> {
        self.count_uses();
        self.number_moves();
        self.first_counted = self.values.len() as u32;
        self.count_gates();
        let n_followed = self.values.len() as u32;
        let unfolded = self.unfolded;
        let goal_gates: Vec<Vec<GateId>> = unfolded
            .phases
            .iter()
            .map(|phase| self.goal_gates(phase))
            .collect();
        let has_pass = |gates: &Vec<GateId>| {
            let network = &unfolded.network;
            let n_inputs: usize = gates.iter().map(|&gate| network.inputs(gate).len()).sum();
            gates.len() > MAX_PULLED_GOALS && n_inputs < MAX_MEAN_FAN_IN * gates.len()
        };
        let pulls_goals: Vec<bool> = goal_gates.iter().map(|gates| !has_pass(gates)).collect();
        self.pull_gates(&pulls_goals)?;
        let mut phases: Vec<PhaseLayout> = unfolded
            .phases
            .iter()
            .map(|phase| self.phase(phase))
            .collect();
        let n_kept = self.values.len() as u32;
        for (index, phase) in unfolded.phases.iter().enumerate() {
            if pulls_goals[index] {
                let read = |compiler: &mut Self, signal| compiler.operand(signal);
                phases[index].goals = self.goals(phase, read);
                continue;
            }
            // Phases whose goals are the same gates share the pass.
            let same = (0..index).find(|&other| goal_gates[other] == goal_gates[index]);
            let pass = match same.and_then(|other| phases[other].goal_pass) {
                Some(pass) => pass,
                None => self.goal_pass(&goal_gates[index]),
            };
            phases[index].goal_pass = Some(pass);
            let places = self.places_in_pass(&goal_gates[index], pass);
            let read = |compiler: &mut Self, signal: Signal| match places.get(&signal.node_number())
            {
                Some(&number) => Operand::value(number, signal.is_inverted()),
                None => compiler.operand(signal),
            };
            phases[index].goals = self.goals(phase, read);
        }
        Some(self.finish(n_followed, n_kept, phases))
    }

    fn count_uses(&mut self) {
        let network = self.network;
        let inputs = network.gates.ids().flat_map(|gate| network.inputs(gate));
        for &signal in inputs.chain(network.next.iter()) {
            if let Node::Gate(gate) = network.node(signal) {
                self.n_uses[gate] += 1;
            }
        }
    }

    /// Gives numbers to the moves that kept-up gates hang on.
    fn number_moves(&mut self) {
        let network = self.network;
        for gate in network.gates.ids() {
            for &input in network.inputs(gate) {
                if let Node::Move(mv) = network.node(input) {
                    self.number_move(mv);
                }
            }
        }
        for &signal in network.next.iter() {
            if let Node::Move(mv) = network.node(signal) {
                self.number_move(mv);
            }
        }
    }

    fn number_move(&mut self, mv: MoveId) {
        if self.move_number[mv] == NO_ROW {
            self.move_number[mv] = self.values.len() as u32;
            self.values.push(0);
        }
    }

    /// Outputs that leaves hold: legality, and next values that are more than a constant or the value as it is.
    fn leaf_signals(phase: &UnfoldedPhase) -> impl Iterator<Item = Signal> {
        let legal = phase.legal.iter().flatten().map(|&(_, signal)| signal);
        let next = phase.next.enumerate();
        legal.chain(
            next.filter(|&(base, signal)| !is_itself(base, *signal))
                .map(|(_, &signal)| signal),
        )
    }

    /// Gates that are kept up to date besides those that leaves need: they are read at every step.
    fn counted_signals(phase: &UnfoldedPhase) -> impl Iterator<Item = Signal> {
        let keyed = phase.keyed.iter().flat_map(|keyed| {
            std::iter::once(keyed.key).chain(keyed.sets.iter().map(|&(_, signal)| signal))
        });
        keyed.chain([phase.terminal])
    }

    /// A leaf counts the gate's inputs itself when the gate is of no other use, or small.
    fn is_counted_by_leaf(&self, gate: GateId) -> bool {
        let n_inputs = self.network.inputs(gate).len();
        n_inputs <= MAX_INPUTS && (self.n_uses[gate] == 1 || n_inputs <= 2)
    }

    /// Decides which gates are kept up to date and numbers them, inputs first.
    fn count_gates(&mut self) {
        let network = self.network;
        let mut is_wanted = vec![false; network.gates.len()];
        for phase in &self.unfolded.phases {
            for signal in Self::leaf_signals(phase) {
                if let Node::Gate(gate) = network.node(signal) {
                    if self.is_counted_by_leaf(gate) {
                        for &input in network.inputs(gate) {
                            if let Node::Gate(inner) = network.node(input) {
                                is_wanted[inner.index()] = true;
                            }
                        }
                    } else {
                        is_wanted[gate.index()] = true;
                    }
                }
            }
            for signal in Self::counted_signals(phase) {
                if let Node::Gate(gate) = network.node(signal) {
                    is_wanted[gate.index()] = true;
                }
            }
        }
        for gate in network.gates.ids().rev() {
            if is_wanted[gate.index()] {
                for &input in network.inputs(gate) {
                    if let Node::Gate(inner) = network.node(input) {
                        is_wanted[inner.index()] = true;
                    }
                }
            }
        }
        for gate in network.gates.ids() {
            if is_wanted[gate.index()] {
                let inputs = self.counted_inputs(network.inputs(gate), false);
                let number = self.add_counted(inputs, true);
                self.place[gate] = Place::Counted(number);
            }
        }
    }

    /// The numbers behind signals, each inverted if `invert` says so.
    fn counted_inputs(&self, inputs: &[Signal], invert: bool) -> Vec<(u32, bool)> {
        let numbers = inputs.iter().filter_map(|&input| {
            let number = match self.network.node(input) {
                Node::False => return None,
                Node::Base(base) => base.0,
                Node::Move(mv) => self.move_number[mv],
                Node::Gate(gate) => match self.place[gate] {
                    Place::Counted(number) => number,
                    _ => return None,
                },
            };
            Some((number, input.is_inverted() != invert))
        });
        numbers.collect()
    }

    /// A new counted gate: on when all inputs are, or when any is.
    fn add_counted(&mut self, inputs: Vec<(u32, bool)>, is_and: bool) -> u32 {
        let inputs = self.narrowed(inputs, is_and);
        let number = self.values.len() as u32;
        self.values.push(0);
        self.connect(number, &inputs, is_and);
        number
    }

    /// At most so many inputs as can be counted, by gates of the same kind in between.
    fn narrowed(&mut self, mut inputs: Vec<(u32, bool)>, is_and: bool) -> Vec<(u32, bool)> {
        while inputs.len() > MAX_INPUTS {
            let n_groups = inputs.len().div_ceil(MAX_INPUTS);
            let size = inputs.len().div_ceil(n_groups);
            let groups: Vec<Vec<(u32, bool)>> =
                inputs.chunks(size).map(<[(u32, bool)]>::to_vec).collect();
            inputs = groups
                .into_iter()
                .map(|group| (self.add_counted(group, is_and), false))
                .collect();
        }
        inputs
    }

    /// Makes a number count its inputs, which have their values at rest already.
    fn connect(&mut self, number: u32, inputs: &[(u32, bool)], is_and: bool) {
        let mut counter = match is_and {
            true => ON - 2 * inputs.len() as u8,
            false => OR_START,
        };
        for &(from, is_inverted) in inputs {
            if (self.values[from as usize] & ON != 0) != is_inverted {
                counter += 2;
            }
            self.edges.push((from, number, is_inverted));
        }
        self.values[number as usize] = counter;
    }

    /// The gates that a phase's goals need and nothing keeps up to date, by level and fan-in.
    fn goal_gates(&self, phase: &UnfoldedPhase) -> Vec<GateId> {
        let network = self.network;
        let is_missing = |signal: Signal| match network.node(signal) {
            Node::Gate(gate) if !matches!(self.place[gate], Place::Counted(_)) => Some(gate),
            _ => None,
        };
        let mut is_wanted = vec![false; network.gates.len()];
        let mut open: Vec<GateId> = phase
            .goals
            .iter()
            .filter_map(|&(_, _, signal)| is_missing(signal))
            .collect();
        let mut found = Vec::new();
        while let Some(gate) = open.pop() {
            if !std::mem::replace(&mut is_wanted[gate.index()], true) {
                found.push(gate);
                open.extend(
                    network
                        .inputs(gate)
                        .iter()
                        .filter_map(|&input| is_missing(input)),
                );
            }
        }
        found.sort_unstable();
        let mut level: FxHashMap<GateId, u32> = FxHashMap::default();
        for &gate in &found {
            let inputs = network
                .inputs(gate)
                .iter()
                .filter_map(|&input| is_missing(input));
            let above = inputs
                .filter_map(|inner| level.get(&inner))
                .max()
                .map_or(0, |top| top + 1);
            level.insert(gate, above);
        }
        found.sort_by_key(|gate| (level[gate], network.inputs(*gate).len(), *gate));
        found
    }

    /// The numbers of a pass's gates, by their nodes.
    fn places_in_pass(&self, gates: &[GateId], pass: usize) -> FxHashMap<usize, u32> {
        let first_gate = 1 + self.network.facts.len() + self.network.moves.len();
        let numbers = self.goal_passes[pass].first..;
        gates
            .iter()
            .map(|gate| first_gate + gate.index())
            .zip(numbers)
            .collect()
    }

    /// Makes the pass over some gates, which stand in order.
    fn goal_pass(&mut self, gates: &[GateId]) -> usize {
        let first = self.values.len() as u32;
        self.values.resize(self.values.len() + gates.len(), 0);
        self.goal_passes.push(GoalPass {
            runs: Vec::new(),
            operands: Vec::new(),
            first,
        });
        let index = self.goal_passes.len() - 1;
        let places = self.places_in_pass(gates, index);
        let (mut runs, mut operands): (Vec<Run>, Vec<u32>) = (Vec::new(), Vec::new());
        for &gate in gates {
            let inputs = self.network.inputs(gate);
            let fan_in = inputs.len() as u32;
            match runs.last_mut() {
                Some(run) if run.fan_in == fan_in => run.n_gates += 1,
                _ => runs.push(Run { fan_in, n_gates: 1 }),
            }
            for &input in inputs {
                let number = match places.get(&input.node_number()) {
                    Some(&number) => number,
                    // What is not of the pass is a value that is kept; constants do not occur.
                    None => self
                        .counted_inputs(&[input], false)
                        .first()
                        .map_or(0, |value| value.0),
                };
                operands.push(number << 1 | u32::from(input.is_inverted()));
            }
        }
        self.goal_passes[index].runs = runs;
        self.goal_passes[index].operands = operands;
        index
    }

    /// Each role's goals, from the highest value down.
    fn goals(
        &mut self,
        phase: &UnfoldedPhase,
        mut read: impl FnMut(&mut Self, Signal) -> Operand,
    ) -> IdVec<RoleId, Box<[(u8, Operand)]>> {
        let mut goals: IdVec<RoleId, Vec<(u8, Operand)>> =
            self.network.roles.iter().map(|_| Vec::new()).collect();
        for &(role, value, signal) in &phase.goals {
            goals[role].push((value, read(self, signal)));
        }
        goals
            .iter_mut()
            .for_each(|goals| goals.sort_by_key(|&(value, _)| std::cmp::Reverse(value)));
        goals.iter().map(|goals| goals.as_slice().into()).collect()
    }

    /// Gives each gate that only effects, or goals without a pass, need its operands.
    fn pull_gates(&mut self, pulls_goals: &[bool]) -> Option<()> {
        let network = self.network;
        let mut is_wanted = vec![false; network.gates.len()];
        for (phase, &pulls_goals) in self.unfolded.phases.iter().zip(pulls_goals) {
            let effects = phase.effects.iter().flatten().flatten();
            let goals = phase
                .goals
                .iter()
                .filter(|_| pulls_goals)
                .map(|&(_, _, signal)| signal);
            for signal in effects.map(|&(_, signal)| signal).chain(goals) {
                if let Node::Gate(gate) = network.node(signal) {
                    is_wanted[gate.index()] = true;
                }
            }
        }
        for gate in network.gates.ids().rev() {
            if is_wanted[gate.index()] && self.place[gate] == Place::Nowhere {
                for &input in network.inputs(gate) {
                    if let Node::Gate(inner) = network.node(input) {
                        is_wanted[inner.index()] = true;
                    }
                }
            }
        }
        for gate in network.gates.ids() {
            if !is_wanted[gate.index()] || self.place[gate] != Place::Nowhere {
                continue;
            }
            let start = self.operands.len();
            let guarded = self.guarded_inputs(gate);
            for &input in network.inputs(gate) {
                if guarded
                    .binary_search_by_key(&input, |&(_, input)| input)
                    .is_err()
                {
                    let operand = self.operand(input);
                    self.operands.push(operand);
                }
            }
            let end = self.operands.len() as u32;
            // Values that are there before those that have to be worked out.
            self.operands[start..].sort_by_key(|operand| (operand.is_pulled(), !operand.is_flat()));
            let guards = self.add_guarded(guarded);
            let depth = self.operands[start..]
                .iter()
                .filter(|operand| operand.is_pulled())
                .map(|operand| self.depth[operand.number() as usize] + 1)
                .max()
                .unwrap_or(0);
            if depth > MAX_DEPTH {
                return None;
            }
            self.place[gate] = Place::Pulled(self.pulled.len() as u32);
            // What is guarded is not flat, and so is who asks for it.
            let depth = if guards.0 < guards.1 {
                depth.max(1)
            } else {
                depth
            };
            self.pulled.push(Pulled {
                operands: (start as u32, end),
                guarded: guards,
            });
            self.depth.push(depth);
        }
        Some(())
    }

    /// Of a wide gate, the inputs that are on unless a base is true: inverted conjunctions with that base. Sorted by input, each
    /// with its base; none when they are few.
    fn guarded_inputs(&self, gate: GateId) -> Vec<(BaseId, Signal)> {
        let network = self.network;
        let is_initial = |base: BaseId| network.initial.binary_search(&base).is_ok();
        let guard_of = |input: Signal| {
            let Node::Gate(term) = network.node(input) else {
                return None;
            };
            if !input.is_inverted() || matches!(self.place[term], Place::Counted(_)) {
                return None;
            }
            let bases =
                network
                    .inputs(term)
                    .iter()
                    .filter_map(|&input| match network.node(input) {
                        Node::Base(base) if !input.is_inverted() => Some(base),
                        _ => None,
                    });
            // One that is false at the start is false often, most likely.
            bases.min_by_key(|&base| (is_initial(base), base))
        };
        let inputs = network.inputs(gate);
        if inputs.len() < MIN_GUARDED {
            return Vec::new();
        }
        let guarded = inputs
            .iter()
            .filter_map(|&input| Some((guard_of(input)?, input)));
        let guarded: Vec<(BaseId, Signal)> = guarded.collect();
        if guarded.len() < MIN_GUARDED {
            return Vec::new();
        }
        guarded
    }

    /// Lists guarded inputs by their bases' words.
    fn add_guarded(&mut self, mut guarded: Vec<(BaseId, Signal)>) -> (u32, u32) {
        let first = self.guarded.len() as u32;
        guarded.sort_unstable();
        for of_base in guarded.chunk_by(|left, right| left.0 == right.0) {
            let base = of_base[0].0;
            let word = base.0 / 64;
            let is_new = self.guarded.len() as u32 == first
                || self.guarded.last().is_none_or(|last| last.word != word);
            if is_new {
                self.guarded.push(Guarded {
                    word,
                    mask: 0,
                    first: self.guarded_operands.len() as u32,
                });
            }
            if let Some(last) = self.guarded.last_mut() {
                last.mask |= 1 << (base.0 % 64);
            }
            let start = self.operands.len() as u32;
            for &(_, input) in of_base {
                let operand = self.operand(input);
                self.operands.push(operand);
            }
            self.guarded_operands
                .push((start, self.operands.len() as u32));
        }
        (first, self.guarded.len() as u32)
    }

    /// How a signal that is no leaf is read. A constant is a gate of no inputs.
    fn operand(&mut self, signal: Signal) -> Operand {
        let is_inverted = signal.is_inverted();
        match self.network.node(signal) {
            Node::False => {
                self.pulled.push(Pulled {
                    operands: (0, 0),
                    guarded: (0, 0),
                });
                self.depth.push(0);
                // A conjunction of nothing is on.
                Operand::pulled(self.pulled.len() as u32 - 1, true, !is_inverted)
            }
            Node::Base(base) => Operand::value(base.0, is_inverted),
            Node::Move(mv) => Operand::value(self.move_number[mv], is_inverted),
            Node::Gate(gate) => match self.place[gate] {
                Place::Counted(number) => Operand::value(number, is_inverted),
                Place::Pulled(number) => {
                    Operand::pulled(number, self.depth[number as usize] == 0, is_inverted)
                }
                // Every gate that is read was placed above.
                Place::Nowhere => Operand::value(0, is_inverted),
            },
        }
    }

    /// Makes an empty row of leaves and gives its first number.
    fn add_row(&mut self) -> u32 {
        let first = self.values.len().next_multiple_of(64);
        self.values.resize(first + 64, 0);
        first as u32
    }

    /// Lets a leaf hold a signal.
    fn fill_leaf(&mut self, leaf: u32, signal: Signal) {
        match self.network.node(signal) {
            Node::False => self.values[leaf as usize] = if signal.is_inverted() { ON } else { 0 },
            Node::Gate(gate) if self.is_counted_by_leaf(gate) => {
                // An inverted conjunction is a disjunction of the inverted inputs.
                let inputs = self.counted_inputs(self.network.inputs(gate), signal.is_inverted());
                self.connect(leaf, &inputs, !signal.is_inverted());
            }
            _ => {
                let inputs = self.counted_inputs(&[signal], false);
                self.connect(leaf, &inputs, false);
            }
        }
    }

    fn phase(&mut self, phase: &UnfoldedPhase) -> PhaseLayout {
        let mut roles = IdVec::new();
        for (role, legal) in phase.legal.enumerate() {
            roles.push(self.role(role, legal, &phase.effects[role]));
        }
        PhaseLayout {
            terminal: self.operand(phase.terminal),
            roles,
            next: self.next_words(phase),
            clearing: self.key_words(phase, Doing::Clears, |keyed| {
                keyed
                    .clears
                    .iter()
                    .map(|&base| (base, Signal::FALSE))
                    .collect()
            }),
            setting: self.key_words(phase, Doing::Sets, |keyed| keyed.sets.clone()),
            // Filled in when all rows are made.
            goals: IdVec::new(),
            goal_pass: None,
        }
    }

    fn role(
        &mut self,
        role: RoleId,
        legal: &[(MoveId, Signal)],
        effects: &[Vec<(BaseId, Signal)>],
    ) -> RoleLayout {
        let is_forced = legal.len() == 1 && legal[0].1 == Signal::TRUE;
        let n_rows = if is_forced {
            0
        } else {
            legal.len().div_ceil(64)
        };
        let rows: Vec<u32> = (0..n_rows).map(|_| self.add_row()).collect();
        if !is_forced {
            for (index, &(_, signal)) in legal.iter().enumerate() {
                // Rows follow each other.
                self.fill_leaf(rows[0] + index as u32, signal);
            }
        }
        let programs: Vec<Effects> = effects
            .iter()
            .map(|list| self.effects(list, Doing::Decides))
            .collect();
        RoleLayout {
            row: rows.first().copied().unwrap_or(NO_ROW),
            n_rows: n_rows as u32,
            moves: legal.iter().map(|&(mv, _)| mv).collect(),
            effects: programs.into(),
            numbers: legal.iter().map(|&(mv, _)| self.move_number[mv]).collect(),
            // Another phase may have left one of the role's moves on.
            is_followed: self
                .network
                .moves
                .enumerate()
                .any(|(mv, &(owner, _))| owner == role && self.move_number[mv] != NO_ROW),
        }
    }

    /// Constants become masks, the rest bits to be fetched. The bases are in rising order.
    fn effects(&mut self, list: &[(BaseId, Signal)], doing: Doing) -> Effects {
        let (masks, bits) = (self.masks.len() as u32, self.bits.len() as u32);
        let copied = self.copied(list);
        for &(base, signal) in list {
            let (word, bit) = (base.0 / 64, 1u64 << (base.0 % 64));
            let is_new = self.masks.len() as u32 == masks
                || self.masks.last().is_none_or(|mask| mask.word != word);
            if is_new {
                self.masks.push(Mask {
                    word,
                    keep: u64::MAX,
                    set: 0,
                });
            }
            if let Some(mask) = self.masks.last_mut() {
                if doing != Doing::Sets {
                    mask.keep &= !bit;
                }
                if signal == Signal::TRUE {
                    mask.set |= bit;
                }
            }
            if !signal.is_constant() && copied.binary_search(&(signal, base)).is_err() {
                let operand = self.operand(signal);
                self.bits.push((base, operand));
            }
        }
        let copies = self.copies.len() as u32;
        let word_of = |signal: Signal| (signal.node_number() - 1) / 64;
        for of_word in copied.chunk_by(|left, right| word_of(left.0) == word_of(right.0)) {
            let bits = of_word
                .iter()
                .map(|&(signal, _)| 1 << ((signal.node_number() - 1) % 64));
            self.copies.push(Copies {
                word: word_of(of_word[0].0) as u32,
                mask: bits.fold(0, |mask, bit: u64| mask | bit),
                first: self.targets.len() as u32,
            });
            self.targets.extend(of_word.iter().map(|&(_, base)| base));
        }
        Effects {
            masks: (masks, self.masks.len() as u32),
            bits: (bits, self.bits.len() as u32),
            copies: (copies, self.copies.len() as u32),
        }
    }

    /// Those effects that make a base what another one is, sorted by the other, each other once; none when they are few.
    fn copied(&self, list: &[(BaseId, Signal)]) -> Vec<(Signal, BaseId)> {
        let mut copied: Vec<(Signal, BaseId)> = list
            .iter()
            .filter(|(_, signal)| {
                !signal.is_inverted() && matches!(self.network.node(*signal), Node::Base(_))
            })
            .map(|&(base, signal)| (signal, base))
            .collect();
        copied.sort_unstable();
        copied.dedup_by_key(|&mut (signal, _)| signal);
        if copied.len() < MIN_COPIES {
            copied.clear();
        }
        copied
    }

    fn next_words(&mut self, phase: &UnfoldedPhase) -> Box<[NextWord]> {
        let n_words = self.network.facts.len().div_ceil(64).max(1);
        let mut words = vec![
            NextWord {
                keep: 0,
                set: 0,
                row: NO_ROW
            };
            n_words
        ];
        for (base, &signal) in phase.next.enumerate() {
            let (word, bit) = (&mut words[base.index() / 64], 1u64 << (base.index() % 64));
            match signal {
                Signal::FALSE => {}
                Signal::TRUE => word.set |= bit,
                _ if is_itself(base, signal) => word.keep |= bit,
                _ => {
                    if word.row == NO_ROW {
                        word.row = self.add_row();
                    }
                    let leaf = word.row + base.0 % 64;
                    self.fill_leaf(leaf, signal);
                }
            }
        }
        words.into()
    }

    /// Keys and what they do, as far as `does` says they do something: bases by the words of the state, gates by rows
    /// of leaves that follow them.
    fn key_words(
        &mut self,
        phase: &UnfoldedPhase,
        does_what: Doing,
        does: impl Fn(&Keyed) -> Vec<(BaseId, Signal)>,
    ) -> Box<[KeyWord]> {
        let mut words: Vec<KeyWord> = Vec::new();
        let mut n_leaves = 0;
        for keyed in &phase.keyed {
            let list = does(keyed);
            if list.is_empty() {
                continue;
            }
            let (word, bit, is_leaf) = match self.network.node(keyed.key) {
                Node::Base(base) if !keyed.key.is_inverted() => (base.0 / 64, base.0 % 64, false),
                _ => {
                    n_leaves += 1;
                    (0, (n_leaves - 1) % 64, true)
                }
            };
            // Keys come in rising order, so a word's keys follow each other.
            let is_new = match words.last() {
                Some(last) if is_leaf => last.row == NO_ROW || bit == 0,
                Some(last) => last.row != NO_ROW || last.word != word,
                None => true,
            };
            if is_new {
                words.push(KeyWord {
                    word,
                    row: if is_leaf { self.add_row() } else { NO_ROW },
                    mask: 0,
                    first: self.keyed.len() as u32,
                });
            }
            if let Some(last) = words.last_mut() {
                last.mask |= 1 << bit;
                if is_leaf {
                    let leaf = last.row + bit;
                    self.fill_leaf(leaf, keyed.key);
                }
            }
            let effects = self.effects(&list, does_what);
            self.keyed.push(effects);
        }
        words.into()
    }

    fn finish(mut self, n_followed: u32, n_kept: u32, phases: Vec<PhaseLayout>) -> UnfoldedLayout {
        // Rows are read 64 at a time, whatever comes last.
        let n = self.values.len().next_multiple_of(64).max(64);
        self.values.resize(n, 0);
        // What is on at rest has been told.
        for value in &mut self.values[..n_followed as usize] {
            *value |= *value >> 7;
        }
        self.edges.sort_unstable();
        let mut users = vec![Users::default(); n_followed as usize + 1];
        let mut left = &self.edges[..];
        for from in 0..n_followed as usize {
            let n_users = left.partition_point(|&(other, _, _)| other as usize == from);
            let (of_number, rest) = left.split_at(n_users);
            let n_gates = of_number.partition_point(|&(_, to, _)| to < n_followed);
            left = rest;
            users[from].leaves = users[from].start + n_gates as u32;
            users[from + 1].start = users[from].start + n_users as u32;
        }
        let edges: Vec<u32> = self
            .edges
            .iter()
            .map(|&(_, to, is_inverted)| to << 1 | u32::from(is_inverted))
            .collect();
        // The engine's unchecked accesses rest on these.
        assert!(
            edges.iter().all(|&edge| ((edge >> 1) as usize) < n) && n_followed as usize <= n,
            "an edge leads out of the array"
        );
        assert!(
            users.len() == n_followed as usize + 1
                && users.windows(2).all(|pair| pair[0].start <= pair[0].leaves
                    && pair[0].leaves <= pair[1].start
                    && pair[1].start as usize <= edges.len()),
            "a number's users are out of order"
        );
        UnfoldedLayout {
            n_bases: self.network.facts.len() as u32,
            n_followed,
            first_gate: self.first_counted,
            at_rest: self.values,
            users,
            edges,
            pulled: self.pulled,
            guarded: self.guarded,
            guarded_operands: self.guarded_operands,
            operands: self.operands,
            masks: self.masks,
            bits: self.bits,
            keyed: self.keyed,
            copies: self.copies,
            targets: self.targets,
            goal_passes: self.goal_passes,
            n_kept,
            phases,
        }
    }
}

fn is_itself(base: BaseId, signal: Signal) -> bool {
    signal == Signal::of_node(1 + base.index())
}
