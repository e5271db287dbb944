//! Register allocation for straight-line code.
//!
//! The value with the farthest next use loses its register: Belady's rule (1966). Values that are
//! in memory anyway are dropped without a store. An operand that is not worth a register is folded
//! into the instruction that reads it, one memory operand per instruction.
//!
//! Invariants: an operation reads only registers and locations written before it; spill slots lie
//! above the slots that the program names.
//!
//! Never uses: the encoding of an operation.

use super::super::program::{Input, Location, Operation, Program, permuted};
use super::order::ScheduleStep;
use panza_gdl::GroupedLists;

pub(in super::super) type Register = u8;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in super::super) enum Operand {
    Register(Register),
    Location(Location),
}

/// Functions of two values with a non-destructive instruction of their own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in super::super) enum BinaryOp {
    And,
    /// Not the first, and the second.
    AndNot,
    Or,
    Xor,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in super::super) enum VectorOp {
    Zeros(Register),
    Ones(Register),
    Load(Register, Location),
    Store(Location, Register),
    Copy(Register, Register),
    /// Where the loop begins.
    LoopStart,
    /// Jumps there if the register has a bit that is on.
    LoopWhileAny(Register),
    BinaryOp(BinaryOp, Register, Register, Operand),
    /// The table's first input is what `to` holds before.
    Table {
        table: u8,
        to: Register,
        b: Register,
        c: Operand,
    },
}

#[derive(Clone, Debug, Default)]
pub(super) struct Allocated {
    pub ops: Vec<VectorOp>,
    pub n_slots: u32,
}

/// No value, or no further use.
const NONE: u32 = u32::MAX;
/// A value that has to be stored when it loses its register keeps it unless another value's next
/// use is so many times farther away. Stores are slower than loads: 3 saves a fifth of the spills
/// of 1 for less than a hundredth more loads, 4 hardly more.
const STORE_WEIGHT: u32 = 3;
/// Not in a register.
const OUTSIDE: u8 = u8::MAX;

/// The processor that code is made for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in super::super) struct Target {
    /// At most 32.
    pub n_registers: usize,
    /// Whether there are [`VectorOp::Table`]s; else operations are [`BinaryOp`]s.
    pub has_tables: bool,
}

/// Allocates a register to every value where the steps use it.
pub(super) fn allocate(program: &Program, steps: &[ScheduleStep], target: Target) -> Allocated {
    let mut allocator = Allocator::new(program, steps, target);
    if let Some(repeat) = &program.repeat {
        allocator.ops.push(VectorOp::Zeros(0));
        let carried = repeat.carried.clone().map(Location::Slot);
        let cleared = carried.map(|location| VectorOp::Store(location, 0));
        allocator.ops.extend(cleared);
        allocator.ops.push(VectorOp::LoopStart);
    }
    for (time, &step) in steps.iter().enumerate() {
        allocator.time = time as u32;
        match step {
            ScheduleStep::Compute(number) => allocator.compute(number),
            ScheduleStep::Keep(value) => allocator.store_input(value.0),
            ScheduleStep::Carry(value, location) => allocator.carry(value.0, location),
        }
    }
    if let Some(repeat) = &program.repeat {
        let changed = Location::Slot(repeat.changed);
        let end = [VectorOp::Load(0, changed), VectorOp::LoopWhileAny(0)];
        allocator.ops.extend(end);
    }
    Allocated {
        ops: allocator.ops,
        n_slots: allocator.n_slots,
    }
}

/// The instruction of a two-input table, and whether its inputs are swapped.
fn binary_op_of(operation: &Operation) -> Option<(BinaryOp, bool)> {
    if operation.inputs().len() != 2 {
        return None;
    }
    // The results for neither, the second, the first, and both inputs.
    match [0, 2, 4, 6].map(|index| operation.table >> index & 1) {
        [0, 0, 0, 1] => Some((BinaryOp::And, false)),
        [0, 1, 0, 0] => Some((BinaryOp::AndNot, false)),
        [0, 0, 1, 0] => Some((BinaryOp::AndNot, true)),
        [0, 1, 1, 1] => Some((BinaryOp::Or, false)),
        [0, 1, 1, 0] => Some((BinaryOp::Xor, false)),
        _ => None,
    }
}

struct Allocator<'a> {
    program: &'a Program,
    ops: Vec<VectorOp>,
    uses: GroupedLists<u32>,
    /// How many of them have passed.
    past: Vec<u32>,
    /// The locations that each value is stored to.
    stores: GroupedLists<Location>,
    registers: Vec<Register>,
    homes: Vec<Option<Location>>,
    /// The value in each register, and its next use.
    holds: [u32; 32],
    next_uses: [u32; 32],
    /// The free registers, and all: one bit each.
    free: u32,
    all: u32,
    free_slots: Vec<u32>,
    first_own_slot: u32,
    n_slots: u32,
    time: u32,
    has_tables: bool,
}

impl<'a> Allocator<'a> {
    fn new(program: &'a Program, steps: &'a [ScheduleStep], target: Target) -> Self {
        let n_values = program.n_values();
        let uses = steps.iter().enumerate().flat_map(|(time, step)| {
            let needs = step.needs(program).iter();
            needs.map(move |value| (value.0 as usize, time as u32))
        });
        let stores = program.stores.iter();
        let stores = stores.filter(|(_, location)| !program.is_carried(*location));
        let stores = stores.map(|&(value, location)| (value.0 as usize, location));
        let mut homes = vec![None; n_values];
        for (home, input) in homes.iter_mut().zip(&program.inputs) {
            if let Input::Location(location) = *input {
                *home = Some(location);
            }
        }
        let all = ((1u64 << target.n_registers) - 1) as u32;
        Self {
            program,
            ops: Vec::with_capacity(steps.len() * 2),
            uses: GroupedLists::new(n_values, uses),
            past: vec![0; n_values],
            stores: GroupedLists::new(n_values, stores),
            registers: vec![OUTSIDE; n_values],
            homes,
            holds: [NONE; 32],
            next_uses: [NONE; 32],
            free: all,
            all,
            free_slots: Vec::new(),
            first_own_slot: program.n_slots(),
            n_slots: program.n_slots(),
            time: 0,
            has_tables: target.has_tables,
        }
    }

    /// The step that uses a value next, or [`NONE`].
    fn next_use(&self, value: u32) -> u32 {
        let next = self.past[value as usize] as usize;
        *self.uses.of(value as usize).get(next).unwrap_or(&NONE)
    }

    fn use_now(&mut self, value: u32) {
        self.past[value as usize] += 1;
        if let Some(register) = self.register(value) {
            self.next_uses[usize::from(register)] = self.next_use(value);
        }
    }

    fn register(&self, value: u32) -> Option<Register> {
        let register = self.registers[value as usize];
        (register != OUTSIDE).then_some(register)
    }

    fn put(&mut self, value: u32, register: Register) {
        self.registers[value as usize] = register;
        self.holds[usize::from(register)] = value;
        self.next_uses[usize::from(register)] = self.next_use(value);
        self.free &= !(1 << register);
    }

    fn release(&mut self, register: Register) {
        let value = std::mem::replace(&mut self.holds[usize::from(register)], NONE);
        if value != NONE {
            self.registers[value as usize] = OUTSIDE;
        }
        self.free |= 1 << register;
    }

    /// Whether a value is a constant, which is rematerialised instead of loaded.
    fn is_constant(&self, value: u32) -> bool {
        matches!(
            self.program.inputs.get(value as usize),
            Some(Input::Zeros | Input::Ones)
        )
    }

    /// The distance of a value's next use, weighted if its eviction needs no store.
    fn eviction_priority(&self, value: u32, next_use: u32) -> u32 {
        if next_use == NONE {
            return NONE;
        }
        let distance = next_use.saturating_sub(self.time);
        if self.homes[value as usize].is_some() || self.is_constant(value) {
            distance.saturating_mul(STORE_WEIGHT)
        } else {
            distance
        }
    }

    /// The occupied, unpinned register with the highest eviction priority, and that priority.
    fn victim(&self, pinned: u32) -> (Register, u32) {
        let mut best = (0, 0);
        let mut left = self.all & !pinned & !self.free;
        while left != 0 {
            let register = left.trailing_zeros() as Register;
            left &= left - 1;
            let index = usize::from(register);
            let found = self.eviction_priority(self.holds[index], self.next_uses[index]);
            if found >= best.1 {
                best = (register, found);
            }
        }
        best
    }

    fn free_register(&mut self, pinned: u32) -> Register {
        let free = self.free & !pinned;
        if free != 0 {
            return free.trailing_zeros() as Register;
        }
        let (register, _) = self.victim(pinned);
        self.evict(register);
        register
    }

    /// Frees a register, spilling its value if it is live and not in memory.
    fn evict(&mut self, register: Register) {
        let value = self.holds[usize::from(register)];
        if self.next_use(value) != NONE
            && self.homes[value as usize].is_none()
            && !self.is_constant(value)
        {
            let slot = self.free_slots.pop().unwrap_or_else(|| {
                self.n_slots += 1;
                self.n_slots - 1
            });
            let home = Location::Slot(slot);
            self.homes[value as usize] = Some(home);
            self.ops.push(VectorOp::Store(home, register));
        }
        self.release(register);
    }

    fn load(&mut self, value: u32, pinned: u32) -> Register {
        let to = self.free_register(pinned);
        self.ops.push(match self.homes[value as usize] {
            Some(home) => VectorOp::Load(to, home),
            None if self.program.inputs.get(value as usize) == Some(&Input::Ones) => {
                VectorOp::Ones(to)
            }
            None => VectorOp::Zeros(to),
        });
        self.put(value, to);
        to
    }

    fn store(&mut self, value: u32, from: Register) {
        for &location in self.stores.of(value as usize) {
            self.ops.push(VectorOp::Store(location, from));
            self.homes[value as usize].get_or_insert(location);
        }
    }

    fn free_if_dead(&mut self, value: u32) {
        if self.next_use(value) != NONE {
            return;
        }
        if let Some(register) = self.register(value) {
            self.release(register);
        }
        if let Some(Location::Slot(slot)) = self.homes[value as usize]
            && slot >= self.first_own_slot
        {
            self.free_slots.push(slot);
        }
    }

    /// Whether a value in memory should be held in a register until its next use.
    fn is_worth_a_register(&self, value: u32, pinned: u32) -> bool {
        let next_use = self.next_use(value);
        if next_use == NONE {
            return false;
        }
        (self.free & !pinned).count_ones() >= 2
            || self.victim(pinned).1 > self.eviction_priority(value, next_use)
    }

    fn store_input(&mut self, value: u32) {
        let from = self.loaded(value);
        self.use_now(value);
        self.store(value, from);
        self.free_if_dead(value);
    }

    /// Stores a value to the location of one that is no longer used.
    fn carry(&mut self, value: u32, location: Location) {
        let from = self.loaded(value);
        self.use_now(value);
        self.ops.push(VectorOp::Store(location, from));
        self.homes[value as usize].get_or_insert(location);
        self.free_if_dead(value);
    }

    fn loaded(&mut self, value: u32) -> Register {
        match self.register(value) {
            Some(register) => register,
            None => self.load(value, 0),
        }
    }

    fn compute(&mut self, number: u32) {
        let program = self.program;
        let operation = &program.operations[number as usize];
        let inputs = operation.inputs();
        let mut pinned = 0;
        let mut outside = [NONE; 3];
        let mut n_outside = 0;
        for input in inputs {
            self.use_now(input.0);
            match self.register(input.0) {
                Some(register) => pinned |= 1 << register,
                None => {
                    outside[n_outside] = input.0;
                    n_outside += 1;
                }
            }
        }
        let outside = &mut outside[..n_outside];
        outside.sort_unstable_by_key(|&value| self.next_use(value));

        // Values worth a register are loaded to stay.
        let mut left = [NONE; 3];
        let mut n_left = 0;
        for &value in outside.iter() {
            if self.is_worth_a_register(value, pinned) {
                pinned |= 1 << self.load(value, pinned);
            } else {
                left[n_left] = value;
                n_left += 1;
            }
        }

        // Of the others, one is folded into the instruction, and the rest are loaded for this use.
        let dying = inputs.iter().find_map(|input| {
            let register = self.register(input.0)?;
            (self.next_uses[usize::from(register)] == NONE).then_some(register)
        });
        let destroys = inputs.len() == 3;
        let left = &left[..n_left];
        let may_fold = n_left > 1 || !destroys || dying.is_some();
        // AVX2's and-not reads its first input only from a register.
        let only_register = match binary_op_of(operation) {
            Some((BinaryOp::AndNot, is_swapped)) if !self.has_tables => {
                Some(inputs[usize::from(is_swapped)].0)
            }
            _ => None,
        };
        let in_memory = |&&value: &&u32| {
            may_fold && self.homes[value as usize].is_some() && only_register != Some(value)
        };
        let folded = left.iter().rev().find(in_memory).copied();
        let mut passing = None;
        for &value in left {
            if Some(value) != folded {
                let register = self.load(value, pinned);
                pinned |= 1 << register;
                passing = passing.or(Some(register));
            }
        }

        let mut sources = [Operand::Register(0); 3];
        for (source, input) in sources.iter_mut().zip(inputs) {
            match (self.register(input.0), self.homes[input.0 as usize]) {
                (Some(register), _) => *source = Operand::Register(register),
                (None, Some(home)) => *source = Operand::Location(home),
                (None, None) => {}
            }
        }
        let sources = &sources[..inputs.len()];

        // The result replaces a dying value, else it takes a free register.
        let to = passing.or(dying).unwrap_or_else(|| self.free_register(0));
        let is_in_to = |&source: &Operand| source == Operand::Register(to);
        let mut in_to = sources.iter().position(is_in_to);
        if destroys && in_to.is_none() {
            for (position, &source) in sources.iter().enumerate() {
                if let Operand::Register(from) = source {
                    self.ops.push(VectorOp::Copy(to, from));
                    in_to = Some(position);
                    break;
                }
            }
        }
        self.push(operation, sources, to, in_to.unwrap_or(0));

        self.release(to);
        for &value in left {
            if let Some(register) = self.register(value) {
                self.release(register);
            }
        }
        for input in inputs {
            self.free_if_dead(input.0);
        }
        let value = program.inputs.len() as u32 + number;
        self.put(value, to);
        self.store(value, to);
        self.free_if_dead(value);
    }

    /// Emits the instruction of an operation. An operation of three inputs has the input at `in_to`
    /// in `to`.
    fn push(&mut self, operation: &Operation, sources: &[Operand], to: Register, in_to: usize) {
        if let (Some((pair, is_swapped)), &[a, b]) = (binary_op_of(operation), sources) {
            let (first, second) = if is_swapped { (b, a) } else { (a, b) };
            let op = match (pair, first, second) {
                (_, Operand::Register(first), _) => Some((first, second)),
                (BinaryOp::AndNot, ..) => None,
                (_, _, Operand::Register(second)) => Some((second, first)),
                _ => None,
            };
            if let Some((first, second)) = op {
                self.ops.push(VectorOp::BinaryOp(pair, to, first, second));
                return;
            }
        }
        // The last operand may be in memory. Functions of fewer than three values ignore `to`.
        let (mut from, b, c) = match *sources {
            [only] => ([1, 2, 0], Operand::Register(to), only),
            [a, b] => ([2, 0, 1], a, b),
            _ => {
                let others = [[1, 2], [0, 2], [0, 1]][in_to];
                let [b, c] = others.map(|position| sources[position]);
                ([in_to, others[0], others[1]], b, c)
            }
        };
        let (b, c) = match (b, c) {
            (Operand::Register(b), c) => (b, c),
            (c, Operand::Register(b)) => {
                from.swap(1, 2);
                (b, c)
            }
            (_, c) => (to, c),
        };
        self.ops.push(VectorOp::Table {
            table: permuted(operation.table, from),
            to,
            b,
            c,
        });
    }
}
