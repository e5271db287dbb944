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

#[cfg(target_arch = "x86_64")]
use super::vector::Avx2;
use super::vector::{Costs, Portable, UNREACHABLE, Vector, WIDTH};
use panza_machine::lanes::transpose;

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
        let mut registers = vec![Costs([UNREACHABLE; WIDTH]); most.unwrap_or(0).max(2)];
        registers[FREE as usize] = Costs([0; WIDTH]);
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
    pub fn run(&self, states: &[&[u64]], buffer: &mut Buffer) -> ([u8; WIDTH], [u16; WIDTH]) {
        let registers = buffer.registers.as_mut_slice();
        self.load(states, registers);
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has AVX2, as just detected.
            return unsafe { self.run_with_avx2(registers) };
        }
        self.run_with::<Portable>(registers)
    }

    /// The same on any processor.
    #[cfg(test)]
    pub fn run_portably(
        &self,
        states: &[&[u64]],
        buffer: &mut Buffer,
    ) -> ([u8; WIDTH], [u16; WIDTH]) {
        self.load(states, &mut buffer.registers);
        self.run_with::<Portable>(&mut buffer.registers)
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn run_with_avx2(&self, registers: &mut [Costs]) -> ([u8; WIDTH], [u16; WIDTH]) {
        self.run_with::<Avx2>(registers)
    }

    /// Inlined, like all that it calls, so that it is compiled for the processor of its caller.
    #[inline(always)]
    fn run_with<V: Vector>(&self, registers: &mut [Costs]) -> ([u8; WIDTH], [u16; WIDTH]) {
        let mut n_moves = [0; WIDTH];
        for round in 0..self.rounds {
            self.run_section::<V>(&self.legal, registers);
            if round == 0 {
                self.count_moves::<V>(registers, &mut n_moves);
            }
            if self.updates.is_empty() {
                break;
            }
            self.run_section::<V>(&self.next, registers);
            let mut is_changed = false;
            for &(fact, next) in &self.updates {
                let by_moves = V::read(&registers[next as usize]).plus(V::of(1));
                let fact = &mut registers[fact as usize];
                let before = V::read(fact);
                let after = before.min(by_moves);
                is_changed |= !after.equals(before);
                after.write(fact);
            }
            if !is_changed {
                break;
            }
        }
        self.run_section::<V>(&self.goal, registers);
        (registers[self.distance as usize].0, n_moves)
    }

    /// Counts the moves that cost nothing.
    #[inline(always)]
    fn count_moves<V: Vector>(&self, registers: &[Costs], n_moves: &mut [u16; WIDTH]) {
        // Counts are bytes, so that they hold at most 255 moves.
        for moves in self.moves.chunks(usize::from(u8::MAX)) {
            let mut counts = V::of(0);
            for &cost in moves {
                counts = counts.count_zeros(V::read(&registers[cost as usize]));
            }
            let mut numbers = Costs([0; WIDTH]);
            counts.write(&mut numbers);
            for (sum, number) in n_moves.iter_mut().zip(numbers.0) {
                *sum = sum.saturating_add(u16::from(number));
            }
        }
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

    #[inline(always)]
    fn run_section<V: Vector>(&self, section: &Section, registers: &mut [Costs]) {
        let mut at = 0;
        for &(start, end) in &section.blocks {
            let (start, end) = (start as usize, end as usize);
            self.run_once::<V>(&section.steps[at..start], registers);
            self.run_block::<V>(&section.steps[start..end], registers);
            at = end;
        }
        self.run_once::<V>(&section.steps[at..], registers);
    }

    #[inline(always)]
    fn run_once<V: Vector>(&self, steps: &[Step], registers: &mut [Costs]) {
        for step in steps {
            let costs = self.costs_after::<V>(step, registers);
            costs.write(&mut registers[step.to as usize]);
        }
    }

    /// Repeats steps, forwards and backwards in turn, until no cost falls.
    #[inline(always)]
    fn run_block<V: Vector>(&self, steps: &[Step], registers: &mut [Costs]) {
        for step in steps {
            V::of(UNREACHABLE).write(&mut registers[step.to as usize]);
        }
        for pass in 0..MAX_PASSES {
            let mut is_changed = false;
            for index in 0..steps.len() {
                let step = match pass % 2 {
                    0 => &steps[index],
                    _ => &steps[steps.len() - 1 - index],
                };
                let costs = self.costs_after::<V>(step, registers);
                let to = &mut registers[step.to as usize];
                is_changed |= !costs.equals(V::read(to));
                costs.write(to);
            }
            if !is_changed {
                break;
            }
        }
    }

    #[inline(always)]
    fn costs_after<V: Vector>(&self, step: &Step, registers: &[Costs]) -> V {
        let inputs = &self.operands[step.start as usize..step.end as usize];
        let mut inputs = inputs
            .iter()
            .map(|&input| V::read(&registers[input as usize]));
        match step.kind {
            Kind::Sum => inputs.fold(V::of(0), V::plus),
            Kind::Least => inputs.fold(V::of(UNREACHABLE), V::min),
            Kind::Not => inputs.next().unwrap_or(V::of(UNREACHABLE)).not(),
        }
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
    for (bytes, lanes) in costs.0.chunks_exact_mut(8).zip(lanes.to_le_bytes()) {
        bytes.copy_from_slice(&BYTES[usize::from(lanes)]);
    }
}
