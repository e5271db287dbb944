//! From a specialised game to its arrays: which gates are kept up to date, their numbers, leaves
//! and edges.
//!
//! Inputs are numbered before their users, so a value at rest is known as soon as it is numbered.

mod effects;
mod lazy;

use panza_gdl::{BaseId, GateId, Id, IdVec, MoveId, RoleId};
use panza_propnet::{Network, Node, Signal, SpecialisedGame, SpecialisedPhase};

use super::{
    EffectTables, Effects, GoalPass, LazyGate, LazyGates, NO_ROW, NextWord, Operand, PhaseLayout,
    RoleLayout, SpecialisedLayout, Users,
};

/// How effects update the bases that they list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum UpdateKind {
    /// Each takes the value of its signal.
    Assign,
    /// Each becomes false.
    Clear,
    /// Each becomes true if its signal is on, and else stays.
    Set,
}

/// The most inputs that seven bits count, with a margin at either end.
const MAX_INPUTS: usize = 60;
const ON: u8 = 0x80;
const OR_START: u8 = 0x7E;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum GateSlot {
    Unplaced,
    Counted(u32),
    Lazy(u32),
}

pub(super) struct Compiler<'a> {
    specialised: &'a SpecialisedGame,
    network: &'a Network,
    placement: Placement,
    lazy: LazyGates,
    /// By lazy gate: how deep its evaluation recurs.
    depth: Vec<u32>,
    effects: EffectTables,
    goal_passes: Vec<GoalPass>,
}

/// Where values stand, and the edges between those that are kept up to date.
struct Placement {
    fan_out: IdVec<GateId, u32>,
    slot: IdVec<GateId, GateSlot>,
    move_number: IdVec<MoveId, u32>,
    /// The array at rest.
    values: Vec<u8>,
    first_counted: u32,
    /// From, to, inverted.
    edges: Vec<(u32, u32, bool)>,
}

impl<'a> Compiler<'a> {
    pub(super) fn new(specialised: &'a SpecialisedGame) -> Self {
        let network = &specialised.network;
        Self {
            specialised,
            network,
            placement: Placement {
                fan_out: network.fan_out(),
                slot: network.gates.iter().map(|_| GateSlot::Unplaced).collect(),
                move_number: network.moves.iter().map(|_| NO_ROW).collect(),
                values: vec![0; network.facts.len()],
                first_counted: 0,
                edges: Vec::new(),
            },
            lazy: LazyGates::default(),
            depth: Vec::new(),
            effects: EffectTables::default(),
            goal_passes: Vec::new(),
        }
    }

    pub(super) fn run(mut self) -> Option<SpecialisedLayout> {
        self.number_moves();
        self.placement.first_counted = self.placement.values.len() as u32;
        self.place_counted_gates();
        let n_followed = self.placement.values.len() as u32;
        let specialised = self.specialised;
        let goal_gates: Vec<Vec<GateId>> = specialised
            .phases
            .iter()
            .map(|phase| self.goal_gates(phase))
            .collect();
        let has_lazy_goals: Vec<bool> = goal_gates
            .iter()
            .map(|gates| !self.pays_as_pass(gates))
            .collect();
        self.place_lazy_gates(&has_lazy_goals)?;
        let mut phases: Vec<PhaseLayout> = specialised
            .phases
            .iter()
            .map(|phase| self.phase(phase))
            .collect();
        let n_kept = self.placement.values.len() as u32;
        for (index, phase) in specialised.phases.iter().enumerate() {
            if has_lazy_goals[index] {
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
            let numbers = self.numbers_in_pass(&goal_gates[index], pass);
            let read =
                |compiler: &mut Self, signal: Signal| match numbers.get(&signal.node_number()) {
                    Some(&number) => Operand::value(number, signal.is_inverted()),
                    None => compiler.operand(signal),
                };
            phases[index].goals = self.goals(phase, read);
        }
        Some(self.finish(n_followed, n_kept, phases))
    }

    fn number_moves(&mut self) {
        let network = self.network;
        let inputs = network.gates.ids().flat_map(|gate| network.inputs(gate));
        for &signal in inputs.chain(network.next.iter()) {
            if let Node::Move(mv) = network.node(signal)
                && self.placement.move_number[mv] == NO_ROW
            {
                self.placement.move_number[mv] = self.placement.values.len() as u32;
                self.placement.values.push(0);
            }
        }
    }

    /// Outputs held by leaves: legality, and next values that are neither constant nor the base's
    /// own value.
    fn leaf_signals(phase: &SpecialisedPhase) -> impl Iterator<Item = Signal> {
        let legal = phase.legal.iter().flatten().map(|&(_, signal)| signal);
        let next = phase.next.enumerate();
        legal.chain(
            next.filter(|&(base, signal)| !is_itself(base, *signal))
                .map(|(_, &signal)| signal),
        )
    }

    /// Signals read at every step, whose gates are kept up to date besides those of leaves.
    fn counted_signals(phase: &SpecialisedPhase) -> impl Iterator<Item = Signal> {
        let keyed = phase.keyed.iter().flat_map(|keyed| {
            std::iter::once(keyed.key).chain(keyed.sets.iter().map(|&(_, signal)| signal))
        });
        keyed.chain([phase.terminal])
    }

    /// Whether a leaf counts the gate's inputs itself: the gate has no other user, or is small.
    fn is_counted_by_leaf(&self, gate: GateId) -> bool {
        let n_inputs = self.network.inputs(gate).len();
        n_inputs <= MAX_INPUTS && (self.placement.fan_out[gate] == 1 || n_inputs <= 2)
    }

    /// Decides which gates are kept up to date and numbers them, inputs first.
    fn place_counted_gates(&mut self) {
        let network = self.network;
        let mut wanted = Vec::new();
        for phase in &self.specialised.phases {
            for signal in Self::leaf_signals(phase) {
                match network.node(signal) {
                    Node::Gate(gate) if self.is_counted_by_leaf(gate) => {
                        wanted.extend(network.inputs(gate));
                    }
                    _ => wanted.push(signal),
                }
            }
            wanted.extend(Self::counted_signals(phase));
        }
        let is_wanted = network.cone(wanted);
        for gate in network.gates.ids().filter(|gate| is_wanted[gate.index()]) {
            let inputs = self.counted_inputs(network.inputs(gate), false);
            let number = self.add_counted(inputs, true);
            self.placement.slot[gate] = GateSlot::Counted(number);
        }
    }

    /// The numbers of signals, each inverted if `invert` says so.
    fn counted_inputs(&self, inputs: &[Signal], invert: bool) -> Vec<(u32, bool)> {
        let numbers = inputs.iter().filter_map(|&input| {
            let number = match self.network.node(input) {
                Node::False => return None,
                Node::Base(base) => base.0,
                Node::Move(mv) => self.placement.move_number[mv],
                Node::Gate(gate) => match self.placement.slot[gate] {
                    GateSlot::Counted(number) => number,
                    _ => return None,
                },
            };
            Some((number, input.is_inverted() != invert))
        });
        numbers.collect()
    }

    /// A new counted gate: the conjunction or disjunction of its inputs.
    fn add_counted(&mut self, inputs: Vec<(u32, bool)>, is_and: bool) -> u32 {
        let inputs = self.narrowed(inputs, is_and);
        let number = self.placement.values.len() as u32;
        self.placement.values.push(0);
        self.connect(number, &inputs, is_and);
        number
    }

    /// The inputs, reduced to at most [`MAX_INPUTS`] by intermediate gates of the same kind.
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

    /// Makes a number count its inputs, whose values at rest are known.
    fn connect(&mut self, number: u32, inputs: &[(u32, bool)], is_and: bool) {
        let mut counter = match is_and {
            true => ON - 2 * inputs.len() as u8,
            false => OR_START,
        };
        for &(from, is_inverted) in inputs {
            if (self.placement.values[from as usize] & ON != 0) != is_inverted {
                counter += 2;
            }
            self.placement.edges.push((from, number, is_inverted));
        }
        self.placement.values[number as usize] = counter;
    }

    /// The operand for a signal. A constant is a gate of no inputs.
    fn operand(&mut self, signal: Signal) -> Operand {
        let is_inverted = signal.is_inverted();
        match self.network.node(signal) {
            Node::False => {
                self.lazy.gates.push(LazyGate {
                    operands: (0, 0),
                    guarded: (0, 0),
                });
                self.depth.push(0);
                // An empty conjunction is on.
                Operand::lazy(self.lazy.gates.len() as u32 - 1, true, !is_inverted)
            }
            Node::Base(base) => Operand::value(base.0, is_inverted),
            Node::Move(mv) => Operand::value(self.placement.move_number[mv], is_inverted),
            Node::Gate(gate) => match self.placement.slot[gate] {
                GateSlot::Counted(number) => Operand::value(number, is_inverted),
                GateSlot::Lazy(number) => {
                    Operand::lazy(number, self.depth[number as usize] == 0, is_inverted)
                }
                // Every gate that is read was placed above.
                GateSlot::Unplaced => Operand::value(0, is_inverted),
            },
        }
    }

    /// Adds an empty row of leaves; returns its first number.
    fn add_row(&mut self) -> u32 {
        let first = self.placement.values.len().next_multiple_of(64);
        self.placement.values.resize(first + 64, 0);
        first as u32
    }

    fn fill_leaf(&mut self, leaf: u32, signal: Signal) {
        match self.network.node(signal) {
            Node::False => {
                self.placement.values[leaf as usize] = if signal.is_inverted() { ON } else { 0 }
            }
            Node::Gate(gate) if self.is_counted_by_leaf(gate) => {
                // By De Morgan's law, an inverted conjunction is a disjunction of inverted inputs.
                let inputs = self.counted_inputs(self.network.inputs(gate), signal.is_inverted());
                self.connect(leaf, &inputs, !signal.is_inverted());
            }
            _ => {
                let inputs = self.counted_inputs(&[signal], false);
                self.connect(leaf, &inputs, false);
            }
        }
    }

    fn phase(&mut self, phase: &SpecialisedPhase) -> PhaseLayout {
        let mut roles = IdVec::new();
        for (role, legal) in phase.legal.enumerate() {
            roles.push(self.role(role, legal, &phase.effects[role]));
        }
        PhaseLayout {
            terminal: self.operand(phase.terminal),
            roles,
            next: self.next_words(phase),
            clearing: self.key_words(phase, UpdateKind::Clear, |keyed| {
                keyed
                    .clears
                    .iter()
                    .map(|&base| (base, Signal::FALSE))
                    .collect()
            }),
            setting: self.key_words(phase, UpdateKind::Set, |keyed| keyed.sets.clone()),
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
                // The rows are consecutive.
                self.fill_leaf(rows[0] + index as u32, signal);
            }
        }
        let effects: Vec<Effects> = effects
            .iter()
            .map(|list| self.effects(list, UpdateKind::Assign))
            .collect();
        RoleLayout {
            row: rows.first().copied().unwrap_or(NO_ROW),
            n_rows: n_rows as u32,
            moves: legal.iter().map(|&(mv, _)| mv).collect(),
            effects: effects.into(),
            numbers: legal
                .iter()
                .map(|&(mv, _)| self.placement.move_number[mv])
                .collect(),
            // Another phase may have left one of the role's moves on.
            is_propagated: self
                .network
                .moves
                .enumerate()
                .any(|(mv, &(owner, _))| owner == role && self.placement.move_number[mv] != NO_ROW),
        }
    }

    fn next_words(&mut self, phase: &SpecialisedPhase) -> Box<[NextWord]> {
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

    fn finish(
        mut self,
        n_followed: u32,
        n_kept: u32,
        phases: Vec<PhaseLayout>,
    ) -> SpecialisedLayout {
        // Rows are read whole, so the last one is padded.
        let n = self.placement.values.len().next_multiple_of(64).max(64);
        self.placement.values.resize(n, 0);
        // The users of a value that is on at rest are up to date.
        for value in &mut self.placement.values[..n_followed as usize] {
            *value |= *value >> 7;
        }
        self.placement.edges.sort_unstable();
        let mut users = vec![Users::default(); n_followed as usize + 1];
        let mut left = &self.placement.edges[..];
        for from in 0..n_followed as usize {
            let n_users = left.partition_point(|&(other, _, _)| other as usize == from);
            let (of_number, rest) = left.split_at(n_users);
            let n_gates = of_number.partition_point(|&(_, to, _)| to < n_followed);
            left = rest;
            users[from].leaves = users[from].start + n_gates as u32;
            users[from + 1].start = users[from].start + n_users as u32;
        }
        let edges: Vec<u32> = self
            .placement
            .edges
            .iter()
            .map(|&(_, to, is_inverted)| to << 1 | u32::from(is_inverted))
            .collect();
        // The engine's unchecked accesses depend on these.
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
        SpecialisedLayout {
            n_bases: self.network.facts.len() as u32,
            n_followed,
            first_gate: self.placement.first_counted,
            at_rest: self.placement.values,
            users,
            edges,
            lazy: self.lazy,
            effects: self.effects,
            goal_passes: self.goal_passes,
            n_kept,
            phases,
        }
    }
}

fn is_itself(base: BaseId, signal: Signal) -> bool {
    signal == Signal::of_base(base)
}
