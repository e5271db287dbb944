//! A program over costs, run for [`WIDTH`] states at once.
//!
//! A register has a cost for each state. Costs are bytes; sums stop at [`UNREACHABLE`]. The program
//! is run in rounds: in each, the costs of moves follow from those of facts, and a fact may become
//! cheaper by moves. After the last round the cost of the goal is read.
//!
//! Invariants: costs of facts never rise from round to round; a loop of rounds or of a block ends
//! when nothing changes, or after a fixed number of passes.
//!
//! Never uses: the network.

use crate::machine::lanes::transpose;
use crate::machine::multiversion::with_wide_vectors;

/// The states of a run.
pub(super) const WIDTH: usize = 64;
/// The cost of what no sequence of the role's moves leads to.
pub(super) const UNREACHABLE: u8 = u8::MAX;

/// Passes over a block, at most. Costs that would still fall then stay too great.
const MAX_PASSES: usize = 64;

/// Passes over a block and rounds that the size of a program assumes.
const USUAL_PASSES: usize = 12;
const USUAL_ROUNDS: usize = 4;

/// A register's number.
pub(super) type Register = u32;

/// The registers that are always 0, and always [`UNREACHABLE`].
pub(super) const FREE: Register = 0;
pub(super) const NEVER: Register = 1;

type Costs = [u8; WIDTH];

/// How the cost of a gate follows from those of its inputs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// The sum of the costs of its inputs.
    Sum,
    /// The least of them.
    Least,
    /// 0 where the input costs something, else unreachable.
    Not,
}

/// One step of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Step {
    pub kind: Kind,
    pub to: Register,
    /// The inputs: `operands[start..end]`.
    pub start: u32,
    pub end: u32,
}

/// Steps in order; each range of `blocks` is repeated until nothing changes.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Section {
    pub steps: Vec<Step>,
    /// Disjoint ranges of steps, in order.
    pub blocks: Vec<(u32, u32)>,
}

/// A fact in a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Fact {
    pub bit: u32,
    /// The costs of its being true, and false.
    pub on: Register,
    pub off: Register,
}

/// The program of a role.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Program {
    pub n_registers: usize,
    pub operands: Vec<Register>,
    /// Facts that are read, but for those that cost nothing.
    pub facts: Vec<Fact>,
    /// What legal moves need.
    pub legal: Section,
    /// What next states need.
    pub next: Section,
    /// What the goal needs beyond.
    pub goal: Section,
    /// The costs of the role's moves that have an effect.
    pub moves: Vec<Register>,
    /// The first costs at most one more than the second after a round.
    pub updates: Vec<(Register, Register)>,
    /// The cost of the goal.
    pub distance: Register,
    /// Rounds, at most; at least 1.
    pub rounds: usize,
}

/// The registers of all programs, which use them one after another.
#[derive(Clone, Debug)]
pub(super) struct Buffer {
    registers: Vec<Costs>,
}

impl Buffer {
    pub fn new<'a>(programs: impl Iterator<Item = &'a Program>) -> Self {
        let most = programs.map(|program| program.n_registers).max();
        let mut registers = vec![[UNREACHABLE; WIDTH]; most.unwrap_or(0).max(2)];
        registers[FREE as usize] = [0; WIDTH];
        Self { registers }
    }
}

impl Program {
    /// Steps and operands of a run: those of blocks as often as passes are usual, and those of
    /// rounds as often as rounds are usual.
    pub fn size(&self) -> usize {
        let of_round = self.size_of(&self.legal) + self.size_of(&self.next);
        let rounds = if self.updates.is_empty() {
            1
        } else {
            self.rounds.min(USUAL_ROUNDS)
        };
        rounds * of_round + self.size_of(&self.goal)
    }

    fn size_of(&self, section: &Section) -> usize {
        let size = |steps: &[Step]| -> usize {
            let sizes = steps
                .iter()
                .map(|step| 1 + (step.end - step.start) as usize);
            sizes.sum()
        };
        let blocks = section.blocks.iter();
        let blocks = blocks.map(|&(start, end)| size(&section.steps[start as usize..end as usize]));
        size(&section.steps) + (USUAL_PASSES - 1) * blocks.sum::<usize>()
    }

    /// Leaves out the distance, so that only the numbers of moves are computed.
    pub fn leave_out_distance(&mut self) {
        self.next = Section::default();
        self.goal = Section::default();
        self.updates.clear();
        self.distance = NEVER;
    }

    /// The distance and the number of moves for each of some states, at most [`WIDTH`].
    pub fn run(&self, states: &[&[u64]], buffer: &mut Buffer) -> (Costs, [u16; WIDTH]) {
        let registers = buffer.registers.as_mut_slice();
        self.load(states, registers);
        let mut n_moves = [0; WIDTH];
        for round in 0..self.rounds {
            self.run_section(&self.legal, registers);
            if round == 0 {
                for &cost in &self.moves {
                    count_free(&registers[cost as usize], &mut n_moves);
                }
            }
            if self.updates.is_empty() {
                break;
            }
            self.run_section(&self.next, registers);
            let mut is_changed = false;
            for &(fact, next) in &self.updates {
                let by_moves = registers[next as usize];
                is_changed |= lower(&mut registers[fact as usize], &by_moves);
            }
            if !is_changed {
                break;
            }
        }
        self.run_section(&self.goal, registers);
        (registers[self.distance as usize], n_moves)
    }

    /// Sets the costs of facts.
    fn load(&self, states: &[&[u64]], registers: &mut [Costs]) {
        // For 64 facts, the states in which each is true.
        let mut lanes = [0u64; 64];
        let mut loaded = usize::MAX;
        for fact in &self.facts {
            let index = fact.bit as usize / 64;
            if std::mem::replace(&mut loaded, index) != index {
                lanes.fill(0);
                for (word, state) in lanes.iter_mut().zip(states) {
                    *word = state.get(index).copied().unwrap_or(0);
                }
                transpose(&mut lanes);
            }
            let is_true = lanes[fact.bit as usize % 64];
            spread(is_true, &mut registers[fact.off as usize]);
            spread(!is_true, &mut registers[fact.on as usize]);
        }
    }

    fn run_section(&self, section: &Section, registers: &mut [Costs]) {
        let mut at = 0;
        for &(start, end) in &section.blocks {
            let (start, end) = (start as usize, end as usize);
            for step in &section.steps[at..start] {
                self.run_step(step, registers);
            }
            self.run_block(&section.steps[start..end], registers);
            at = end;
        }
        for step in &section.steps[at..] {
            self.run_step(step, registers);
        }
    }

    /// Repeats steps, forwards and backwards in turn, until no cost falls.
    fn run_block(&self, steps: &[Step], registers: &mut [Costs]) {
        for step in steps {
            registers[step.to as usize] = [UNREACHABLE; WIDTH];
        }
        for pass in 0..MAX_PASSES {
            let mut is_changed = false;
            for index in 0..steps.len() {
                let step = match pass % 2 {
                    0 => &steps[index],
                    _ => &steps[steps.len() - 1 - index],
                };
                is_changed |= self.run_step(step, registers);
            }
            if !is_changed {
                break;
            }
        }
    }

    /// Returns whether the costs are others than before.
    #[inline]
    fn run_step(&self, step: &Step, registers: &mut [Costs]) -> bool {
        let inputs = &self.operands[step.start as usize..step.end as usize];
        match step.kind {
            Kind::Sum => sum(inputs, step.to, registers),
            Kind::Least => least(inputs, step.to, registers),
            Kind::Not => not(inputs, step.to, registers),
        }
    }
}

// None of these is inlined: amid other code the compiler takes their vectors apart. Each writes the
// costs of a register, and returns whether they are others than before.

#[inline(never)]
fn sum(inputs: &[Register], to: Register, registers: &mut [Costs]) -> bool {
    with_wide_vectors(
        #[inline(always)]
        || {
            let mut costs = [0u8; WIDTH];
            for &input in inputs {
                for (cost, more) in costs.iter_mut().zip(&registers[input as usize]) {
                    *cost = cost.saturating_add(*more);
                }
            }
            replace(&mut registers[to as usize], &costs)
        },
    )
}

#[inline(never)]
fn least(inputs: &[Register], to: Register, registers: &mut [Costs]) -> bool {
    with_wide_vectors(
        #[inline(always)]
        || {
            let mut costs = [UNREACHABLE; WIDTH];
            for &input in inputs {
                for (cost, other) in costs.iter_mut().zip(&registers[input as usize]) {
                    *cost = (*cost).min(*other);
                }
            }
            replace(&mut registers[to as usize], &costs)
        },
    )
}

#[inline(never)]
fn not(inputs: &[Register], to: Register, registers: &mut [Costs]) -> bool {
    let input = inputs.first().map_or(NEVER, |&input| input);
    let costs = registers[input as usize].map(|cost| if cost == 0 { UNREACHABLE } else { 0 });
    replace(&mut registers[to as usize], &costs)
}

#[inline(always)]
fn replace(to: &mut Costs, costs: &Costs) -> bool {
    let mut changes = 0;
    for (cost, &now) in to.iter_mut().zip(costs) {
        changes |= *cost ^ now;
        *cost = now;
    }
    changes != 0
}

/// Lowers costs to one more than others, where that is less. Returns whether one fell.
#[inline(never)]
fn lower(costs: &mut Costs, others: &Costs) -> bool {
    let before = *costs;
    for (cost, other) in costs.iter_mut().zip(others) {
        *cost = (*cost).min(other.saturating_add(1));
    }
    *costs != before
}

#[inline(never)]
fn count_free(costs: &Costs, counts: &mut [u16; WIDTH]) {
    for (count, &cost) in counts.iter_mut().zip(costs) {
        *count = count.saturating_add(u16::from(cost == 0));
    }
}

/// For each byte its bits as bytes: [`UNREACHABLE`] for those that are on.
const BYTES: [[u8; 8]; 256] = {
    let mut bytes = [[0; 8]; 256];
    let mut number = 0;
    while number < 256 {
        let mut bit = 0;
        while bit < 8 {
            if number >> bit & 1 == 1 {
                bytes[number][bit] = UNREACHABLE;
            }
            bit += 1;
        }
        number += 1;
    }
    bytes
};

/// Makes the costs unreachable in these lanes, and 0 in all others.
#[inline]
fn spread(lanes: u64, costs: &mut Costs) {
    for (bytes, lanes) in costs.chunks_exact_mut(8).zip(lanes.to_le_bytes()) {
        bytes.copy_from_slice(&BYTES[usize::from(lanes)]);
    }
}
