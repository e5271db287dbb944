//! Registers for straight-line code.
//!
//! What is needed again soonest stays in a register: Belady's rule (1966), for which all later uses
//! are known here, since the code has no branches. What lies in memory anyway (inputs, stored
//! values, values spilled once) is dropped without a store, and an operand that is not worth a
//! register is left to the instruction to read from memory, one operand an instruction.
//!
//! Invariants: a line reads only registers and places written before it; slots of its own lie above
//! those that the program names. Never knows: how a line is encoded.

use super::super::program::{Input, Operation, Place, Program};
use super::order::Step;

/// The number of a vector register.
pub(super) type Register = u8;

/// Where an instruction's last operand is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Source {
    Register(Register),
    Place(Place),
}

/// Functions of two values with an instruction of their own that keeps both.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Pair {
    And,
    /// Not the first, and the second.
    AndNot,
    Or,
    Xor,
}

/// One instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Line {
    Zeros(Register),
    Ones(Register),
    Load(Register, Place),
    Store(Place, Register),
    Copy(Register, Register),
    Pair(Pair, Register, Register, Source),
    /// The table's first input is what `to` holds before.
    Table {
        table: u8,
        to: Register,
        b: Register,
        c: Source,
    },
}

/// Code with registers.
#[derive(Clone, Debug, Default)]
pub(super) struct Allocated {
    pub lines: Vec<Line>,
    /// The slots that a memory needs.
    pub n_slots: u32,
}

/// No value, or no further use.
const NONE: u32 = u32::MAX;
/// How many times nearer its next use has to be for a value to keep its register against one that
/// need not be stored. What is given up at no cost but a load leaves the stores, which are slower,
/// to others: 3 saves a fifth of the spills of 1 for less than a hundredth more reads, 4 hardly
/// more.
const WORTH_OF_A_STORE: u32 = 3;
/// Not in a register.
const OUTSIDE: u8 = u8::MAX;

/// What code is made for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Target {
    /// At most 32.
    pub n_registers: usize,
    /// Whether there are [`Line::Table`]s; else operations are [`Pair`]s.
    pub has_tables: bool,
}

/// Gives every value that the steps need a register where it is used.
pub(super) fn allocate(program: &Program, steps: &[Step], target: Target) -> Allocated {
    let mut allocator = Allocator::new(program, steps, target);
    for (time, &step) in steps.iter().enumerate() {
        allocator.time = time as u32;
        match step {
            Step::Compute(number) => allocator.compute(number),
            Step::Keep(value) => allocator.keep(value.0),
        }
    }
    Allocated {
        lines: allocator.lines,
        n_slots: allocator.n_slots,
    }
}

/// The instruction of its own that a table has, and whether its inputs change places.
fn pair_of(operation: &Operation) -> Option<(Pair, bool)> {
    if operation.inputs().len() != 2 {
        return None;
    }
    // The results for neither, the second, the first, both.
    match [0, 2, 4, 6].map(|index| operation.table >> index & 1) {
        [0, 0, 0, 1] => Some((Pair::And, false)),
        [0, 1, 0, 0] => Some((Pair::AndNot, false)),
        [0, 0, 1, 0] => Some((Pair::AndNot, true)),
        [0, 1, 1, 1] => Some((Pair::Or, false)),
        [0, 1, 1, 0] => Some((Pair::Xor, false)),
        _ => None,
    }
}

/// The table of the same function with its inputs in another order: the n-th of the new order is
/// `from[n]` of the old.
fn permuted(table: u8, from: [usize; 3]) -> u8 {
    let mut result = 0;
    for index in 0..8u8 {
        let mut old = 0;
        for (position, &from) in from.iter().enumerate() {
            if index >> (2 - position) & 1 == 1 {
                old |= 4 >> from;
            }
        }
        result |= (table >> old & 1) << index;
    }
    result
}

/// A list for each value, all in one vector.
struct Lists {
    starts: Vec<u32>,
    items: Vec<u32>,
}

impl Lists {
    /// Sorts pairs of value and item by value; the order of a value's items stays.
    fn new(n_values: usize, pairs: impl Iterator<Item = (u32, u32)> + Clone) -> Self {
        let mut starts = vec![0u32; n_values + 1];
        for (value, _) in pairs.clone() {
            starts[value as usize + 1] += 1;
        }
        for value in 0..n_values {
            starts[value + 1] += starts[value];
        }
        let mut ends = starts.clone();
        let mut items = vec![0; starts[n_values] as usize];
        for (value, item) in pairs {
            let end = &mut ends[value as usize];
            items[*end as usize] = item;
            *end += 1;
        }
        Self { starts, items }
    }

    fn range(&self, value: u32) -> std::ops::Range<usize> {
        self.starts[value as usize] as usize..self.starts[value as usize + 1] as usize
    }
}

struct Allocator<'a> {
    program: &'a Program,
    lines: Vec<Line>,
    /// The steps that use a value.
    uses: Lists,
    /// How many of them are past.
    past: Vec<u32>,
    /// A value's stores, as positions in the program's.
    stores: Lists,
    /// The register that holds a value.
    registers: Vec<Register>,
    /// Where a value lies in memory.
    homes: Vec<Option<Place>>,
    /// What the registers hold, and when it is used next.
    holds: [u32; 32],
    next_uses: [u32; 32],
    /// Registers that hold nothing, and all: a bit each.
    free: u32,
    all: u32,
    free_slots: Vec<u32>,
    first_own_slot: u32,
    n_slots: u32,
    /// The step at hand.
    time: u32,
    has_tables: bool,
}

impl<'a> Allocator<'a> {
    fn new(program: &'a Program, steps: &'a [Step], target: Target) -> Self {
        let n_values = program.n_values();
        let uses = steps.iter().enumerate().flat_map(|(time, step)| {
            let needs = step.needs(program).iter();
            needs.map(move |value| (value.0, time as u32))
        });
        let stores = program.stores.iter().enumerate();
        let stores = stores.map(|(position, &(value, _))| (value.0, position as u32));
        let mut homes = vec![None; n_values];
        for (home, input) in homes.iter_mut().zip(&program.inputs) {
            if let Input::Place(place) = *input {
                *home = Some(place);
            }
        }
        let all = ((1u64 << target.n_registers) - 1) as u32;
        Self {
            program,
            lines: Vec::with_capacity(steps.len() * 2),
            uses: Lists::new(n_values, uses),
            past: vec![0; n_values],
            stores: Lists::new(n_values, stores),
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
        let range = self.uses.range(value);
        let next = range.start + self.past[value as usize] as usize;
        if next < range.end {
            self.uses.items[next]
        } else {
            NONE
        }
    }

    /// Counts the use that is at hand as past.
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

    /// A register that is free holds a value from now on.
    fn put(&mut self, value: u32, register: Register) {
        self.registers[value as usize] = register;
        self.holds[usize::from(register)] = value;
        self.next_uses[usize::from(register)] = self.next_use(value);
        self.free &= !(1 << register);
    }

    /// A register holds nothing from now on.
    fn release(&mut self, register: Register) {
        let value = std::mem::replace(&mut self.holds[usize::from(register)], NONE);
        if value != NONE {
            self.registers[value as usize] = OUTSIDE;
        }
        self.free |= 1 << register;
    }

    /// Whether a value is a constant, which is made, not read.
    fn is_constant(&self, value: u32) -> bool {
        matches!(
            self.program.inputs.get(value as usize),
            Some(Input::Zeros | Input::Ones)
        )
    }

    /// How little a value in a register is worth: how far away its next use is, and more if giving
    /// it up costs no store.
    fn dispensability(&self, value: u32, next_use: u32) -> u32 {
        if next_use == NONE {
            return NONE;
        }
        let distance = next_use.saturating_sub(self.time);
        if self.homes[value as usize].is_some() || self.is_constant(value) {
            distance.saturating_mul(WORTH_OF_A_STORE)
        } else {
            distance
        }
    }

    /// The register to give up, of those that are in use and not pinned, and how dispensable its
    /// value is.
    fn victim(&self, pinned: u32) -> (Register, u32) {
        let mut best = (0, 0);
        let mut left = self.all & !pinned & !self.free;
        while left != 0 {
            let register = left.trailing_zeros() as Register;
            left &= left - 1;
            let index = usize::from(register);
            let found = self.dispensability(self.holds[index], self.next_uses[index]);
            if found >= best.1 {
                best = (register, found);
            }
        }
        best
    }

    /// A register that holds nothing, emptied if need be; not one of the pinned.
    fn fresh(&mut self, pinned: u32) -> Register {
        let free = self.free & !pinned;
        if free != 0 {
            return free.trailing_zeros() as Register;
        }
        let (register, _) = self.victim(pinned);
        self.evict(register);
        register
    }

    /// Empties a register; what it holds is stored unless it can be had without.
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
            let home = Place::Slot(slot);
            self.homes[value as usize] = Some(home);
            self.lines.push(Line::Store(home, register));
        }
        self.release(register);
    }

    /// Brings a value that is in no register into one.
    fn load(&mut self, value: u32, pinned: u32) -> Register {
        let to = self.fresh(pinned);
        self.lines.push(match self.homes[value as usize] {
            Some(home) => Line::Load(to, home),
            None if self.program.inputs.get(value as usize) == Some(&Input::Ones) => Line::Ones(to),
            None => Line::Zeros(to),
        });
        self.put(value, to);
        to
    }

    /// Stores a value wherever the program wants it.
    fn store(&mut self, value: u32, from: Register) {
        for item in self.stores.range(value) {
            let (_, place) = self.program.stores[self.stores.items[item] as usize];
            self.lines.push(Line::Store(place, from));
            self.homes[value as usize].get_or_insert(place);
        }
    }

    /// Gives back what a value occupies, if nothing needs it any more.
    fn let_go(&mut self, value: u32) {
        if self.next_use(value) != NONE {
            return;
        }
        if let Some(register) = self.register(value) {
            self.release(register);
        }
        if let Some(Place::Slot(slot)) = self.homes[value as usize]
            && slot >= self.first_own_slot
        {
            self.free_slots.push(slot);
        }
    }

    /// Whether a value that lies in memory is better held in a register until its next use.
    fn is_worth_a_register(&self, value: u32, pinned: u32) -> bool {
        let next_use = self.next_use(value);
        if next_use == NONE {
            return false;
        }
        (self.free & !pinned).count_ones() >= 2
            || self.victim(pinned).1 > self.dispensability(value, next_use)
    }

    /// The stores of an input.
    fn keep(&mut self, value: u32) {
        let from = match self.register(value) {
            Some(register) => register,
            None => self.load(value, 0),
        };
        self.use_now(value);
        self.store(value, from);
        self.let_go(value);
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

        // What is worth it comes into a register for good.
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

        // Of the others the instruction reads one from memory, and the rest pass through registers.
        let dying = inputs.iter().find_map(|input| {
            let register = self.register(input.0)?;
            (self.next_uses[usize::from(register)] == NONE).then_some(register)
        });
        let destroys = inputs.len() == 3;
        let left = &left[..n_left];
        let may_fold = n_left > 1 || !destroys || dying.is_some();
        // Of the four functions with an instruction of their own, one takes an input only from a
        // register.
        let only_register = match pair_of(operation) {
            Some((Pair::AndNot, is_swapped)) if !self.has_tables => {
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

        let mut sources = [Source::Register(0); 3];
        for (source, input) in sources.iter_mut().zip(inputs) {
            match (self.register(input.0), self.homes[input.0 as usize]) {
                (Some(register), _) => *source = Source::Register(register),
                (None, Some(home)) => *source = Source::Place(home),
                (None, None) => {}
            }
        }
        let sources = &sources[..inputs.len()];

        // The result goes over a value that goes anyway, else into the register that is worth
        // least.
        let to = passing.or(dying).unwrap_or_else(|| self.fresh(0));
        let is_in_to = |&source: &Source| source == Source::Register(to);
        let mut in_to = sources.iter().position(is_in_to);
        if destroys && in_to.is_none() {
            for (position, &source) in sources.iter().enumerate() {
                if let Source::Register(from) = source {
                    self.lines.push(Line::Copy(to, from));
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
            self.let_go(input.0);
        }
        let value = program.inputs.len() as u32 + number;
        self.put(value, to);
        self.store(value, to);
        self.let_go(value);
    }

    /// The instruction for an operation, one of three inputs when the input at `in_to` lies in
    /// `to`.
    fn push(&mut self, operation: &Operation, sources: &[Source], to: Register, in_to: usize) {
        if let (Some((pair, is_swapped)), &[a, b]) = (pair_of(operation), sources) {
            let (first, second) = if is_swapped { (b, a) } else { (a, b) };
            let line = match (pair, first, second) {
                (_, Source::Register(first), _) => Some((first, second)),
                (Pair::AndNot, ..) => None,
                (_, _, Source::Register(second)) => Some((second, first)),
                _ => None,
            };
            if let Some((first, second)) = line {
                self.lines.push(Line::Pair(pair, to, first, second));
                return;
            }
        }
        // The last operand may be read from memory. Functions of fewer than three values do not
        // look at `to`.
        let (mut from, b, c) = match *sources {
            [only] => ([1, 2, 0], Source::Register(to), only),
            [a, b] => ([2, 0, 1], a, b),
            _ => {
                let others = [[1, 2], [0, 2], [0, 1]][in_to];
                let [b, c] = others.map(|position| sources[position]);
                ([in_to, others[0], others[1]], b, c)
            }
        };
        let (b, c) = match (b, c) {
            (Source::Register(b), c) => (b, c),
            (c, Source::Register(b)) => {
                from.swap(1, 2);
                (b, c)
            }
            (_, c) => (to, c),
        };
        self.lines.push(Line::Table {
            table: permuted(operation.table, from),
            to,
            b,
            c,
        });
    }
}
