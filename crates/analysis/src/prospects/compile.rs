//! From the network to the program of a role.
//!
//! Each node of the network has two costs, that of its being on and that of its being off. An AND
//! is on when all inputs are, and off when one of them is off. The costs that the goal, the legal
//! moves and the facts among them depend on are computed, in the order of the gates; no others are.
//!
//! A gate of a recursion starts as unreachable and becomes cheaper pass by pass. It counts as off
//! without cost as long as it is not on without cost.
//!
//! Invariant: a step reads registers of facts, of constants, of steps before it, or of its block.
//!
//! Never uses: states.

use super::program::{FREE, Fact, Kind, NEVER, Program, Register, Section, Step};
use crate::autonomous::autonomous_bases;
use panza_gdl::{BaseId, CHANCE_ROLE, GateId, Id, IdVec, MoveId, RoleId};
use panza_propnet::{GateKind, Network, Node, Signal};
use panza_sync::Budget;

/// Operands of a program, at most, and registers, of 64 bytes.
const MAX_OPERANDS: usize = 1 << 17;
const MAX_REGISTERS: u32 = 1 << 16;
/// Rounds of a program, at most: the moves of a sequence whose parts need each other.
const MAX_ROUNDS: usize = 12;
/// Facts without which a role may have no move are looked for among those that most gates read.
const MAX_TURN_FACTS: usize = 16;

/// The program of a role; `None` where it is too large or the budget is spent.
pub(super) fn compile(network: &Network, role: RoleId, budget: &mut Budget) -> Option<Program> {
    let mut compiler = Compiler::new(network, role, budget)?;
    let goal = network.greatest_goal(role);
    let goal = goal.map_or(Signal::FALSE, |(_, signal)| signal);
    let moves = network.role_moves()[role].clone().map(MoveId);
    let moves: Vec<MoveId> = moves.filter(|&mv| compiler.is_effective[mv]).collect();
    let legal_moves = moves.iter().map(|&mv| network.legal[mv]);
    compiler.demand(legal_moves.chain([goal]), budget)?;
    // Legal moves of this role and of chance, whose costs others depend on.
    let legal = network.legal.iter().copied();
    let legal = legal.filter(|&legal| compiler.is_wanted(Want::on(legal)));
    let under_legal = network.cone(legal);
    let wanted_next = network.next.enumerate().filter(|(base, _)| {
        let fact = Signal::of_base(*base);
        [fact, !fact]
            .iter()
            .any(|&it| compiler.is_wanted(Want::on(it)))
    });
    let under_next = network.cone(wanted_next.map(|(_, &next)| next));
    compiler.add_facts();
    let legal = compiler.section(|gate| under_legal[gate.index()])?;
    compiler.add_moves();
    let next = compiler.section(|gate| under_next[gate.index()] && !under_legal[gate.index()])?;
    let rest = |gate: GateId| !under_next[gate.index()] && !under_legal[gate.index()];
    let rest = compiler.section(rest)?;
    if compiler.n_registers > MAX_REGISTERS {
        return None;
    }
    let legal_moves = moves
        .iter()
        .map(|&mv| compiler.cost(Want::on(network.legal[mv])));
    let legal_moves = legal_moves.filter(|&register| register != NEVER);
    let updates = compiler.updates();
    let sections = [&legal, &next];
    let is_settled = is_settled_at_once(&updates, sections, &compiler.operands);
    Some(Program {
        n_registers: compiler.n_registers as usize,
        moves: legal_moves.collect(),
        updates,
        distance: compiler.cost(Want::on(goal)),
        facts: compiler.facts,
        operands: compiler.operands,
        legal,
        next,
        goal: rest,
        rounds: if is_settled { 1 } else { MAX_ROUNDS },
    })
}

/// A node's being on or off, by the number of that signal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Want(usize);

impl Want {
    /// That the signal is on.
    fn on(signal: Signal) -> Self {
        Self(2 * signal.node_number() + usize::from(signal.is_inverted()))
    }

    fn signal(self) -> Signal {
        Signal::of_node(self.0 / 2).inverted_if(self.is_off())
    }

    /// Whether it is a node's being off.
    fn is_off(self) -> bool {
        self.0 % 2 == 1
    }
}

struct Compiler<'a> {
    network: &'a Network,
    role: RoleId,
    is_effective: IdVec<MoveId, bool>,
    /// Facts that cost nothing.
    is_free: IdVec<BaseId, bool>,
    /// The only move of its role.
    is_forced: IdVec<MoveId, bool>,
    is_in_block: Vec<bool>,
    wanted: Vec<bool>,
    /// The registers of what is wanted.
    costs: Vec<Option<Register>>,
    n_registers: Register,
    facts: Vec<Fact>,
    operands: Vec<Register>,
}

impl<'a> Compiler<'a> {
    fn new(network: &'a Network, role: RoleId, budget: &mut Budget) -> Option<Self> {
        budget.spend(2 * network.size())?;
        let is_effective = network.effective_moves();
        let mut is_in_block = vec![false; network.gates.len()];
        for gate in network.blocks.iter().flatten() {
            is_in_block[gate.index()] = true;
        }
        let forced = network.forced_moves();
        let is_forced = forced.iter().map(|&forced| forced == Some(true));
        let mut is_free = autonomous_bases(network, |_| false);
        let moves = network.role_moves()[role].clone().map(MoveId);
        let legal: Vec<Signal> = moves
            .filter(|&mv| is_effective[mv])
            .map(|mv| network.legal[mv])
            .collect();
        let fan_out = network.base_fan_out();
        let mut candidates: Vec<BaseId> = network.facts.ids().collect();
        candidates.sort_by_key(|&base| std::cmp::Reverse(fan_out[base.index()]));
        for &base in candidates.iter().take(MAX_TURN_FACTS) {
            if !is_free[base] && !legal.is_empty() {
                budget.spend(network.size())?;
                is_free[base] = is_needed_by_all(network, base, &legal, &is_in_block);
            }
        }
        Some(Self {
            network,
            role,
            is_effective,
            is_free,
            is_forced: is_forced.collect(),
            is_in_block,
            wanted: vec![false; 2 * network.n_nodes()],
            costs: vec![None; 2 * network.n_nodes()],
            n_registers: NEVER + 1,
            facts: Vec::new(),
            operands: Vec::new(),
        })
    }

    /// Whether the move may be made: it is the role's, or drawn by chance.
    fn is_possible(&self, mv: MoveId) -> bool {
        let mover = self.network.moves[mv].0;
        mover == self.role || self.network.roles[mover] == CHANCE_ROLE
    }

    fn is_wanted(&self, want: Want) -> bool {
        self.wanted[want.0]
    }

    /// Marks all costs that those of some signals depend on.
    fn demand(&mut self, signals: impl Iterator<Item = Signal>, budget: &mut Budget) -> Option<()> {
        let mut open: Vec<Want> = signals.map(Want::on).collect();
        while let Some(want) = open.pop() {
            if std::mem::replace(&mut self.wanted[want.0], true) {
                continue;
            }
            let signal = want.signal();
            match self.network.node(signal) {
                Node::False => {}
                Node::Base(base) if self.is_free[base] => {}
                Node::Base(base) => {
                    open.push(Want::on(self.network.next[base].inverted_if(want.is_off())));
                }
                Node::Move(mv) => {
                    if !want.is_off() && self.is_possible(mv) && !self.is_forced[mv] {
                        open.push(Want::on(self.network.legal[mv]));
                    }
                }
                Node::Gate(gate) => {
                    let inputs = self.network.inputs(gate);
                    budget.spend(inputs.len() + 1)?;
                    if want.is_off() && self.is_in_block[gate.index()] {
                        open.push(Want(want.0 ^ 1));
                        continue;
                    }
                    let inputs = inputs.iter();
                    open.extend(inputs.map(|&it| Want::on(it.inverted_if(want.is_off()))));
                }
            }
        }
        Some(())
    }

    fn register(&mut self) -> Register {
        self.n_registers += 1;
        self.n_registers - 1
    }

    /// The cost of what is computed by now.
    fn cost(&self, want: Want) -> Register {
        match (self.costs[want.0], want.0) {
            (Some(register), _) => register,
            // The constants.
            (None, 1) => FREE,
            (None, _) => NEVER,
        }
    }

    fn add_facts(&mut self) {
        for base in self.network.facts.ids() {
            let fact = Signal::of_base(base);
            let wants = [fact, !fact].map(Want::on);
            if self.is_free[base] {
                wants
                    .iter()
                    .for_each(|want| self.costs[want.0] = Some(FREE));
            } else if wants.iter().any(|&want| self.is_wanted(want)) {
                let [on, off] = [self.register(), self.register()];
                self.facts.push(Fact {
                    bit: base.index() as u32,
                    on,
                    off,
                });
                self.costs[wants[0].0] = Some(on);
                self.costs[wants[1].0] = Some(off);
            }
        }
    }

    /// The costs of moves, once those of legal moves are there.
    fn add_moves(&mut self) {
        for mv in self.network.moves.ids() {
            let on = Want(2 * (1 + self.network.facts.len() + mv.index()));
            let (cost, cost_off) = match (self.is_forced[mv], self.is_possible(mv)) {
                (true, _) => (FREE, NEVER),
                (false, true) => (self.cost(Want::on(self.network.legal[mv])), FREE),
                (false, false) => (NEVER, FREE),
            };
            self.costs[on.0] = Some(cost);
            self.costs[on.0 ^ 1] = Some(cost_off);
        }
    }

    /// The steps of the chosen gates; `None` where there are too many operands.
    fn section(&mut self, is_chosen: impl Fn(GateId) -> bool) -> Option<Section> {
        let network = self.network;
        let mut section = Section::default();
        let mut blocks = network.blocks.iter().peekable();
        let mut gate = 0;
        while gate < network.gates.len() {
            let block = blocks.next_if(|block| block.first().is_some_and(|it| it.index() == gate));
            match block {
                Some(block) => {
                    if is_chosen(block[0]) {
                        self.add_block(block, &mut section);
                    }
                    gate += block.len();
                }
                None => {
                    let id = GateId::from_index(gate);
                    if is_chosen(id) {
                        self.add_gate(id, &mut section);
                    }
                    gate += 1;
                }
            }
            if self.operands.len() > MAX_OPERANDS {
                return None;
            }
        }
        Some(section)
    }

    fn wants_of(&self, gate: GateId) -> [Want; 2] {
        let on = Want(2 * (self.network.first_gate() + gate.index()));
        [on, Want(on.0 ^ 1)]
    }

    fn add_gate(&mut self, gate: GateId, section: &mut Section) {
        for want in self.wants_of(gate) {
            if !self.is_wanted(want) {
                continue;
            }
            let kind = match (self.network.gates[gate].kind, want.is_off()) {
                (GateKind::And, false) | (GateKind::Or, true) => Kind::Sum,
                (GateKind::And, true) | (GateKind::Or, false) => Kind::Least,
            };
            let inputs = self.network.inputs(gate).iter();
            let inputs = inputs.map(|&it| self.cost(Want::on(it.inverted_if(want.is_off()))));
            let mut inputs: Vec<Register> = inputs.collect();
            let (neutral, decisive) = match kind {
                Kind::Sum => (FREE, NEVER),
                _ => (NEVER, FREE),
            };
            inputs.retain(|&input| input != neutral);
            let register = match inputs[..] {
                _ if inputs.contains(&decisive) => decisive,
                [] => neutral,
                [only] => only,
                _ => {
                    let to = self.register();
                    self.push(section, kind, to, &inputs);
                    to
                }
            };
            self.costs[want.0] = Some(register);
        }
    }

    /// The gates of a recursion, and after them what is off of them.
    fn add_block(&mut self, block: &[GateId], section: &mut Section) {
        let gates = block.iter().copied();
        let gates = gates.filter(|&gate| self.is_wanted(self.wants_of(gate)[0]));
        let gates: Vec<GateId> = gates.collect();
        for &gate in &gates {
            let register = self.register();
            let [on, _] = self.wants_of(gate);
            self.costs[on.0] = Some(register);
        }
        let start = section.steps.len() as u32;
        for &gate in &gates {
            let kind = match self.network.gates[gate].kind {
                GateKind::And => Kind::Sum,
                GateKind::Or => Kind::Least,
            };
            let inputs = self.network.inputs(gate).iter();
            let inputs = inputs.map(|&it| self.cost(Want::on(it)));
            let inputs: Vec<Register> = inputs.collect();
            let to = self.cost(self.wants_of(gate)[0]);
            self.push(section, kind, to, &inputs);
        }
        section.blocks.push((start, section.steps.len() as u32));
        for &gate in &gates {
            let [on, off] = self.wants_of(gate);
            if self.is_wanted(off) {
                let (to, on) = (self.register(), self.cost(on));
                self.push(section, Kind::Not, to, &[on]);
                self.costs[off.0] = Some(to);
            }
        }
    }

    fn push(&mut self, section: &mut Section, kind: Kind, to: Register, inputs: &[Register]) {
        let start = self.operands.len() as u32;
        self.operands.extend_from_slice(inputs);
        section.steps.push(Step {
            kind,
            to,
            start,
            end: self.operands.len() as u32,
        });
    }

    /// The facts that may become cheaper, with the costs of their next values.
    fn updates(&self) -> Vec<(Register, Register)> {
        let mut updates = Vec::new();
        for fact in &self.facts {
            let base = BaseId::from_index(fact.bit as usize);
            let next = self.network.next[base];
            for (register, next) in [(fact.on, next), (fact.off, !next)] {
                let by_moves = self.cost(Want::on(next));
                if by_moves != NEVER && by_moves != register {
                    updates.push((register, by_moves));
                }
            }
        }
        updates
    }
}

/// Whether no cost of a fact that falls makes that of another fact fall, so that one round will do:
/// a fact may stay true by itself.
fn is_settled_at_once(
    updates: &[(Register, Register)],
    sections: [&Section; 2],
    operands: &[Register],
) -> bool {
    const MANY: usize = usize::MAX;
    if sections.iter().any(|section| !section.blocks.is_empty()) {
        return false;
    }
    // For each register the only fact whose cost is in it, as the place of its update plus 1, and
    // `MANY` for several.
    let steps = sections.into_iter().flat_map(|section| &section.steps);
    let n_registers = steps
        .clone()
        .map(|step| step.to)
        .chain(updates.iter().map(|it| it.0));
    let mut reads = vec![0; n_registers.max().unwrap_or(0) as usize + 1];
    for (place, &(fact, _)) in updates.iter().enumerate() {
        reads[fact as usize] = place + 1;
    }
    for step in steps {
        let inputs = &operands[step.start as usize..step.end as usize];
        let of_inputs = inputs
            .iter()
            .map(|&input| reads.get(input as usize).copied());
        let of_inputs = of_inputs.flatten().filter(|&it| it != 0);
        reads[step.to as usize] = of_inputs.fold(0, |all, it| match all {
            0 => it,
            _ if all == it => it,
            _ => MANY,
        });
    }
    updates.iter().enumerate().all(|(place, &(_, next))| {
        let read = reads.get(next as usize).copied().unwrap_or(0);
        read == 0 || read == place + 1
    })
}

/// Whether none of the signals can be on while the fact is false.
fn is_needed_by_all(
    network: &Network,
    fact: BaseId,
    signals: &[Signal],
    is_in_block: &[bool],
) -> bool {
    let mut values: Vec<Option<bool>> = vec![None; network.n_nodes()];
    values[0] = Some(false);
    values[1 + fact.index()] = Some(false);
    let first_gate = network.first_gate();
    let value = |values: &[Option<bool>], signal: Signal| {
        values[signal.node_number()].map(|value| value != signal.is_inverted())
    };
    for gate in network
        .gates
        .ids()
        .filter(|gate| !is_in_block[gate.index()])
    {
        let mut inputs = network.inputs(gate).iter();
        let is_off = inputs.any(|&input| value(&values, input) == Some(false));
        values[first_gate + gate.index()] = is_off.then_some(false);
    }
    let mut signals = signals.iter();
    signals.all(|&signal| value(&values, signal) == Some(false))
}
