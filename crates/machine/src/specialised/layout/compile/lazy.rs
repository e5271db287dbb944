//! Gates that are not kept up to date: lazy ones, evaluated on demand, and those of the goal
//! passes, evaluated together.

use rustc_hash::FxHashMap;

use panza_gdl::{BaseId, GateId, Id, IdVec, RoleId};
use panza_propnet::{Node, Signal, SpecialisedPhase};

use super::super::{FanInRun, GoalPass, Guarded, LazyGate, Operand};
use super::{Compiler, GateSlot};

/// The greatest depth of lazy gates, which are evaluated by recursion.
const MAX_DEPTH: u32 = 1000;
/// Goals that need more gates than this get a pass, unless the gates are wide: of a wide gate, the
/// first inputs mostly decide.
const MAX_LAZY_GOAL_GATES: usize = 48;
/// Mean fan-in from which gates are wide.
const MAX_MEAN_FAN_IN: usize = 5;
/// Inputs of a gate are guarded when at least so many can be.
const MIN_GUARDED: usize = 16;

impl Compiler<'_> {
    /// The gates in a phase's goals that nothing keeps up to date, by level and fan-in.
    pub(super) fn goal_gates(&self, phase: &SpecialisedPhase) -> Vec<GateId> {
        let network = self.network;
        let is_missing = |signal: Signal| match network.node(signal) {
            Node::Gate(gate) if !matches!(self.placement.slot[gate], GateSlot::Counted(_)) => {
                Some(gate)
            }
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

    pub(super) fn pays_as_pass(&self, gates: &[GateId]) -> bool {
        let n_inputs: usize = gates
            .iter()
            .map(|&gate| self.network.inputs(gate).len())
            .sum();
        gates.len() > MAX_LAZY_GOAL_GATES && n_inputs < MAX_MEAN_FAN_IN * gates.len()
    }

    /// The numbers of a pass's gates, by their nodes.
    pub(super) fn numbers_in_pass(&self, gates: &[GateId], pass: usize) -> FxHashMap<usize, u32> {
        let first_gate = self.network.first_gate();
        let numbers = self.goal_passes[pass].first..;
        gates
            .iter()
            .map(|gate| first_gate + gate.index())
            .zip(numbers)
            .collect()
    }

    pub(super) fn goal_pass(&mut self, gates: &[GateId]) -> usize {
        let first = self.placement.values.len() as u32;
        self.placement
            .values
            .resize(self.placement.values.len() + gates.len(), 0);
        self.goal_passes.push(GoalPass {
            runs: Vec::new(),
            operands: Vec::new(),
            first,
        });
        let index = self.goal_passes.len() - 1;
        let numbers = self.numbers_in_pass(gates, index);
        let (mut runs, mut operands): (Vec<FanInRun>, Vec<u32>) = (Vec::new(), Vec::new());
        for &gate in gates {
            let inputs = self.network.inputs(gate);
            let fan_in = inputs.len() as u32;
            match runs.last_mut() {
                Some(run) if run.fan_in == fan_in => run.n_gates += 1,
                _ => runs.push(FanInRun { fan_in, n_gates: 1 }),
            }
            for &input in inputs {
                let number = match numbers.get(&input.node_number()) {
                    Some(&number) => number,
                    // Other inputs are counted values; constants do not occur.
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

    pub(super) fn goals(
        &mut self,
        phase: &SpecialisedPhase,
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

    /// Places the gates in the cones of effects, and of goals without a pass.
    pub(super) fn place_lazy_gates(&mut self, has_lazy_goals: &[bool]) -> Option<()> {
        let network = self.network;
        let mut is_wanted = vec![false; network.gates.len()];
        for (phase, &is_lazy) in self.specialised.phases.iter().zip(has_lazy_goals) {
            let effects = phase.effects.iter().flatten().flatten();
            let goals = phase
                .goals
                .iter()
                .filter(|_| is_lazy)
                .map(|&(_, _, signal)| signal);
            for signal in effects.map(|&(_, signal)| signal).chain(goals) {
                if let Node::Gate(gate) = network.node(signal) {
                    is_wanted[gate.index()] = true;
                }
            }
        }
        for gate in network.gates.ids().rev() {
            if is_wanted[gate.index()] && self.placement.slot[gate] == GateSlot::Unplaced {
                for &input in network.inputs(gate) {
                    if let Node::Gate(inner) = network.node(input) {
                        is_wanted[inner.index()] = true;
                    }
                }
            }
        }
        for gate in network.gates.ids() {
            if !is_wanted[gate.index()] || self.placement.slot[gate] != GateSlot::Unplaced {
                continue;
            }
            let start = self.lazy.operands.len();
            let guarded = self.guarded_inputs(gate);
            for &input in network.inputs(gate) {
                if guarded
                    .binary_search_by_key(&input, |&(_, input)| input)
                    .is_err()
                {
                    let operand = self.operand(input);
                    self.lazy.operands.push(operand);
                }
            }
            let end = self.lazy.operands.len() as u32;
            // Values of the array come first, then flat gates, then those evaluated by recursion.
            self.lazy.operands[start..]
                .sort_by_key(|operand| (operand.is_lazy(), !operand.is_flat()));
            let guards = self.add_guarded(guarded);
            let depth = self.lazy.operands[start..]
                .iter()
                .filter(|operand| operand.is_lazy())
                .map(|operand| self.depth[operand.number() as usize] + 1)
                .max()
                .unwrap_or(0);
            if depth > MAX_DEPTH {
                return None;
            }
            self.placement.slot[gate] = GateSlot::Lazy(self.lazy.gates.len() as u32);
            // A gate with guarded operands is not flat.
            let depth = if guards.0 < guards.1 {
                depth.max(1)
            } else {
                depth
            };
            self.lazy.gates.push(LazyGate {
                operands: (start as u32, end),
                guarded: guards,
            });
            self.depth.push(depth);
        }
        Some(())
    }

    /// The guarded inputs of a wide gate: inverted conjunctions with a base, which are on unless
    /// the base is true. Sorted by input, each with its base; none when there are few.
    pub(super) fn guarded_inputs(&self, gate: GateId) -> Vec<(BaseId, Signal)> {
        let network = self.network;
        let is_initial = |base: BaseId| network.initial.binary_search(&base).is_ok();
        let guard_of = |input: Signal| {
            let Node::Gate(term) = network.node(input) else {
                return None;
            };
            if !input.is_inverted() || matches!(self.placement.slot[term], GateSlot::Counted(_)) {
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
            // A base that is false initially is probably false often.
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

    pub(super) fn add_guarded(&mut self, mut guarded: Vec<(BaseId, Signal)>) -> (u32, u32) {
        let first = self.lazy.guarded.len() as u32;
        guarded.sort_unstable();
        for of_base in guarded.chunk_by(|left, right| left.0 == right.0) {
            let base = of_base[0].0;
            let word = base.0 / 64;
            let is_new = self.lazy.guarded.len() as u32 == first
                || self
                    .lazy
                    .guarded
                    .last()
                    .is_none_or(|last| last.word != word);
            if is_new {
                self.lazy.guarded.push(Guarded {
                    word,
                    mask: 0,
                    first: self.lazy.guarded_operands.len() as u32,
                });
            }
            if let Some(last) = self.lazy.guarded.last_mut() {
                last.mask |= 1 << (base.0 % 64);
            }
            let start = self.lazy.operands.len() as u32;
            for &(_, input) in of_base {
                let operand = self.operand(input);
                self.lazy.operands.push(operand);
            }
            self.lazy
                .guarded_operands
                .push((start, self.lazy.operands.len() as u32));
        }
        (first, self.lazy.guarded.len() as u32)
    }
}
