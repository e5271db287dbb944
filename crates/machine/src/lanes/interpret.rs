//! The interpreter: programs as tables, without unsafe memory access.
//!
//! Operations of one level with equal truth tables form a run, whose function is a compile-time
//! constant, so there is one branch misprediction per run. Baseline, AVX2 and AVX-512 versions of
//! the same source give the same bits.
//!
//! Invariants: an operation reads locations written before it; temporaries lie above the slots that
//! the program names. Never uses: machine code.

use super::memory::{Memory, Side, Vector};
use super::program::{FixpointLoop, Input, Location, Program, Value, apply, permuted};
use super::rank::is_any;

/// The vector instructions of a processor.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Features {
    /// The baseline of the architecture.
    Portable,
    /// 128-bit vectors, in WebAssembly.
    Simd128,
    /// 256-bit vectors.
    Avx2,
    /// 512-bit vectors with three-input logic.
    Avx512,
}

impl Features {
    /// The best set that this processor has.
    pub fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::is_x86_feature_detected as has;
            // All features that the engine's functions are compiled for; a hypervisor may hide some
            // of them.
            let has_avx2 = has!("avx2") && has!("popcnt");
            let has_bits = has!("bmi1") && has!("bmi2") && has!("lzcnt");
            let has_avx512 =
                has!("avx512f") && has!("avx512vl") && has!("avx512bw") && has!("avx512dq");
            if has_avx2 && has_bits && has_avx512 {
                return Features::Avx512;
            }
            if has_avx2 {
                return Features::Avx2;
            }
        }
        #[cfg(target_family = "wasm")]
        if super::host::is_supported() {
            return Features::Simd128;
        }
        Features::Portable
    }
}

/// One operation: the addresses of inputs and result, in vectors from the memory's start.
#[derive(Clone, Copy, Debug)]
struct TableInstruction {
    a: u32,
    b: u32,
    c: u32,
    to: u32,
}

/// Independent operations with one truth table.
#[derive(Clone, Copy, Debug)]
struct TableRun {
    table: u8,
    end: u32,
}

/// A program as tables.
#[derive(Clone, Debug)]
pub struct Interpreted {
    instructions: [Vec<TableInstruction>; 2],
    runs: Vec<TableRun>,
    n_slots: u32,
    repeat: Option<FixpointLoop>,
}

/// The table of the function that is its last input.
const COPY: u8 = 0xaa;

impl Interpreted {
    /// Lays a program out for memories with `n_state` vectors per state.
    pub fn new(program: &Program, n_state: usize) -> Self {
        let mut scheduled = Scheduled::new(program);
        scheduled.location(program);
        let address = |side: Side, location: Location| -> u32 {
            let n_state = n_state as u32;
            match (location, side) {
                (Location::Now(index), Side::Even) | (Location::Next(index), Side::Odd) => index,
                (Location::Now(index), Side::Odd) | (Location::Next(index), Side::Even) => {
                    n_state + index
                }
                (Location::Slot(index), _) => 2 * n_state + index,
            }
        };
        let instructions = [Side::Even, Side::Odd].map(|side| {
            let encode = |operation: &ScheduledOperation| TableInstruction {
                a: address(side, operation.from[0]),
                b: address(side, operation.from[1]),
                c: address(side, operation.from[2]),
                to: address(side, operation.to),
            };
            scheduled.operations.iter().map(encode).collect()
        });
        let mut runs: Vec<TableRun> = Vec::new();
        let mut level = 0;
        for (index, operation) in scheduled.operations.iter().enumerate() {
            let end = index as u32 + 1;
            match runs.last_mut() {
                Some(run) if run.table == operation.table && level == operation.level => {
                    run.end = end
                }
                _ => runs.push(TableRun {
                    table: operation.table,
                    end,
                }),
            }
            level = operation.level;
        }
        Self {
            instructions,
            runs,
            n_slots: scheduled.n_slots,
            repeat: program.repeat.clone(),
        }
    }

    /// The slots that its memory needs.
    pub fn n_slots(&self) -> usize {
        self.n_slots as usize
    }

    /// Runs the program, with the given features as far as this processor has them.
    ///
    /// # Panics
    /// When the memory is too small.
    pub fn run<const N: usize>(&self, features: Features, memory: &mut Memory<N>, side: Side) {
        let Some(FixpointLoop { carried, changed }) = &self.repeat else {
            return self.iterate(features, memory, side);
        };
        memory.slots()[carried.start as usize..carried.end as usize].fill([0; N]);
        loop {
            self.iterate(features, memory, side);
            if !is_any(&memory.slots()[*changed as usize]) {
                return;
            }
        }
    }

    /// Runs the operations once.
    fn iterate<const N: usize>(&self, features: Features, memory: &mut Memory<N>, side: Side) {
        let instructions = match side {
            Side::Even => &self.instructions[0],
            Side::Odd => &self.instructions[1],
        };
        let all = memory.all();
        match features.min(Features::detect()) {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `Features::detect` has just detected the features.
            Features::Avx512 => unsafe { run_avx512(&self.runs, instructions, all) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Features::Avx2 => unsafe { run_avx2(&self.runs, instructions, all) },
            _ => run_portable(&self.runs, instructions, all),
        }
    }
}

#[derive(Clone, Debug)]
struct ScheduledOperation {
    table: u8,
    level: u32,
    /// The computed value; `None` for a copy to another location.
    value: Option<Value>,
    inputs: [Value; 3],
    from: [Location; 3],
    to: Location,
}

struct Scheduled {
    operations: Vec<ScheduledOperation>,
    n_slots: u32,
}

impl Scheduled {
    fn new(program: &Program) -> Self {
        let n_inputs = program.inputs.len();
        let mut levels = vec![0u32; program.n_values()];
        let mut operations = Vec::with_capacity(program.operations.len());
        let nowhere = Location::Slot(0);
        for (index, operation) in program.operations.iter().enumerate() {
            let inputs = operation.inputs();
            let level = inputs
                .iter()
                .map(|input| levels[input.0 as usize] + 1)
                .max()
                .unwrap_or(0);
            levels[n_inputs + index] = level;
            let (table, order) = least(operation.table);
            let inputs = operation.padded_inputs();
            operations.push(ScheduledOperation {
                table,
                level,
                value: Some(Value((n_inputs + index) as u32)),
                inputs: order.map(|position| inputs[position]),
                from: [nowhere; 3],
                to: nowhere,
            });
        }
        // The first store of an operation is its value's location; all others are copies. Carried
        // values are copied last, when those that they replace are no longer used.
        let last_level = levels.iter().max().map_or(0, |level| level + 1);
        let mut lives_in: Vec<Option<Location>> = vec![None; program.n_values()];
        for &(value, location) in &program.stores {
            let number = value.0 as usize;
            let is_carried = program.is_carried(location);
            if number >= n_inputs && lives_in[number].is_none() && !is_carried {
                lives_in[number] = Some(location);
            } else {
                operations.push(ScheduledOperation {
                    table: COPY,
                    level: match is_carried {
                        true => last_level,
                        false => levels[number] + 1,
                    },
                    value: None,
                    inputs: [value; 3],
                    from: [nowhere; 3],
                    to: location,
                });
            }
        }
        operations.sort_by_key(|operation| (operation.level, operation.table));
        Self {
            operations,
            n_slots: 0,
        }
    }

    /// Gives every value a location: its own where it is stored, else a slot that is free during
    /// its lifetime.
    fn location(&mut self, program: &Program) {
        let n_inputs = program.inputs.len();
        let first_free = program.n_slots();
        let (zeros, ones) = (Location::Slot(first_free), Location::Slot(first_free + 1));
        let mut n_slots = first_free + 2;
        let mut locations: Vec<Option<Location>> = vec![None; program.n_values()];
        for (location, input) in locations.iter_mut().zip(&program.inputs) {
            *location = Some(match *input {
                Input::Zeros => zeros,
                Input::Ones => ones,
                Input::Location(location) => location,
            });
        }
        for &(value, location) in &program.stores {
            let number = value.0 as usize;
            let is_carried = program.is_carried(location);
            if number >= n_inputs && locations[number].is_none() && !is_carried {
                locations[number] = Some(location);
            }
        }
        let mut last_use = vec![0usize; program.n_values()];
        for (index, operation) in self.operations.iter().enumerate() {
            for input in operation.inputs {
                last_use[input.0 as usize] = index;
            }
        }
        let is_stored: Vec<bool> = locations.iter().map(Option::is_some).collect();
        let mut free: Vec<u32> = Vec::new();
        let unplaced = Location::Slot(0);
        for (index, operation) in self.operations.iter_mut().enumerate() {
            operation.from = operation
                .inputs
                .map(|input| locations[input.0 as usize].unwrap_or(unplaced));
            let Some(value) = operation.value else {
                continue;
            };
            let to = locations[value.0 as usize].unwrap_or_else(|| {
                Location::Slot(free.pop().unwrap_or_else(|| {
                    n_slots += 1;
                    n_slots - 1
                }))
            });
            locations[value.0 as usize] = Some(to);
            operation.to = to;
            for (position, input) in operation.inputs.into_iter().enumerate() {
                // A repeated input, which stands in for a missing one, is freed once.
                if operation.inputs[..position].contains(&input) {
                    continue;
                }
                let number = input.0 as usize;
                if last_use[number] == index
                    && !is_stored[number]
                    && let Some(Location::Slot(slot)) = locations[number]
                {
                    free.push(slot);
                }
            }
        }
        self.n_slots = n_slots;
        // Constants are functions that give the same for every input.
        let constant = |table: u8, to: Location| ScheduledOperation {
            table,
            level: 0,
            value: None,
            inputs: [Value(0); 3],
            from: [zeros; 3],
            to,
        };
        let constants = [(Input::Zeros, 0x00, zeros), (Input::Ones, 0xff, ones)];
        let used = constants
            .iter()
            .filter(|(input, ..)| program.inputs.contains(input));
        let first = used.map(|&(_, table, to)| constant(table, to));
        self.operations.splice(0..0, first);
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,avx2,bmi1,bmi2")]
fn run_avx512<const N: usize>(
    runs: &[TableRun],
    instructions: &[TableInstruction],
    all: &mut [Vector<N>],
) {
    run_portable(runs, instructions, all);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn run_avx2<const N: usize>(
    runs: &[TableRun],
    instructions: &[TableInstruction],
    all: &mut [Vector<N>],
) {
    run_portable(runs, instructions, all);
}

#[inline(always)]
fn run_portable<const N: usize>(
    runs: &[TableRun],
    instructions: &[TableInstruction],
    all: &mut [Vector<N>],
) {
    let mut start = 0;
    for run in runs {
        let end = run.end as usize;
        run_table(run.table, &instructions[start..end], all);
        start = end;
    }
}

/// One run, with its table as a compile-time constant.
#[inline(always)]
fn run_of<const TABLE: u8, const N: usize>(
    instructions: &[TableInstruction],
    all: &mut [Vector<N>],
) {
    for instruction in instructions {
        let a = all[instruction.a as usize];
        let b = all[instruction.b as usize];
        let c = all[instruction.c as usize];
        let to = &mut all[instruction.to as usize];
        for word in 0..N {
            to[word] = apply(TABLE, a[word], b[word], c[word]);
        }
    }
}

macro_rules! dispatch {
    ($table:expr, $instructions:expr, $all:expr; $($known:literal)*) => {
        match $table {
            $($known => run_of::<$known, N>($instructions, $all),)*
            _ => debug_assert!(false, "the table is not the least of its kind"),
        }
    };
}

/// The table is the least of its permutation class: there are 80 of those.
#[inline(always)]
fn run_table<const N: usize>(table: u8, instructions: &[TableInstruction], all: &mut [Vector<N>]) {
    dispatch!(
        table, instructions, all;
        0 1 2 3 6 7 8 9 10 11 14 15 22 23 24 25 26 27 30 31
        40 41 42 43 44 45 46 47 60 61 62 63 104 105 106 107 110 111 126 127
        128 129 130 131 134 135 136 137 138 139 142 143 150 151 152 153 154 155 158 159
        168 169 170 171 172 173 174 175 188 189 190 191 232 233 234 235 238 239 254 255
    );
}

/// The least table over all permutations of a table's inputs, and that permutation.
fn least(table: u8) -> (u8, [usize; 3]) {
    let orders = [
        [0, 1, 2],
        [0, 2, 1],
        [1, 0, 2],
        [1, 2, 0],
        [2, 0, 1],
        [2, 1, 0],
    ];
    orders
        .map(|order| (permuted(table, order), order))
        .into_iter()
        .min()
        .unwrap_or((table, orders[0]))
}
