//! Random programs, for the tests of the back-ends.

use super::program::{FixpointLoop, Input, Location, Operation, Program, Value, depends_on};
use panza_sync::Random;

/// What a random program is like.
pub(super) struct Shape {
    pub n_state: u32,
    pub n_slots: u32,
    pub n_operations: usize,
    /// How far back most inputs are taken from.
    pub reach: usize,
    /// A value is stored with the probability of one in this number.
    pub one_stored_in: u32,
}

/// A random program that keeps the invariants: takes from "now" and the lower half of the slots,
/// stores to "next" and the upper half.
pub(super) fn random_program(random: &mut Random, shape: &Shape) -> Program {
    let mut program = Program::default();
    program.inputs.extend([Input::Zeros, Input::Ones]);
    let now = (0..shape.n_state).map(Location::Now);
    let slots = (0..shape.n_slots).map(Location::Slot);
    program.inputs.extend(now.chain(slots).map(Input::Location));
    for _ in 0..shape.n_operations {
        let n_values = program.n_values();
        let table = random.below(256) as u8;
        let mut inputs: Vec<Value> = Vec::new();
        let n_inputs = 1 + (0..2).filter(|_| random.below(4) > 0).count();
        while inputs.len() < n_inputs {
            let reach = if random.below(8) == 0 {
                n_values
            } else {
                shape.reach.min(n_values)
            };
            let value = Value((n_values - 1 - random.below(reach as u32) as usize) as u32);
            if !inputs.contains(&value) {
                inputs.push(value);
            }
        }
        if let Some(operation) = operation(table, &inputs) {
            program.operations.push(operation);
        }
    }
    let next = (0..shape.n_state).map(Location::Next);
    let slots = (shape.n_slots..2 * shape.n_slots).map(Location::Slot);
    let mut free: Vec<Location> = next.chain(slots).collect();
    for value in 0..program.n_values() {
        while random.below(shape.one_stored_in) == 0 && !free.is_empty() {
            let location = free.swap_remove(random.below(free.len() as u32) as usize);
            program.stores.push((Value(value as u32), location));
        }
    }
    program.n_reserved = random.below(2 * shape.n_slots + 3);
    assert_eq!(program.check(), Ok(()));
    program
}

/// The operation of a table that is first made to ignore inputs that are missing; none if it
/// ignores one that is there.
fn operation(table: u8, inputs: &[Value]) -> Option<Operation> {
    let mut table = table;
    if inputs.len() < 3 {
        table = table & 0x55 | (table & 0x55) << 1;
    }
    if inputs.len() < 2 {
        table = table & 0x33 | (table & 0x33) << 2;
    }
    let depends = (0..inputs.len()).all(|position| depends_on(table, position));
    depends.then(|| Operation::new(table, inputs))
}

/// Whether a function of three values never switches off when an input switches on.
fn is_monotone(table: u8) -> bool {
    let is_on = |row: u8| table >> row & 1;
    (0..8u8).all(|row| [1, 2, 4].iter().all(|bit| is_on(row) <= is_on(row | bit)))
}

/// A random loop: monotone functions of the carried slots, of each other and of the state.
pub(super) fn random_loop(random: &mut Random, n_carried: u32, n_operations: usize) -> Program {
    let n_state = 5;
    let mut program = Program::default();
    program.inputs.extend([Input::Zeros, Input::Ones]);
    let now = (0..n_state).map(Location::Now);
    let carried = (0..n_carried).map(Location::Slot);
    program
        .inputs
        .extend(now.chain(carried).map(Input::Location));
    let n_inputs = program.inputs.len() as u32;
    while program.operations.len() < n_operations.max(n_carried as usize) {
        let table = random.below(256) as u8;
        let mut inputs: Vec<Value> = Vec::new();
        while inputs.len() < 1 + random.below(3) as usize {
            let value = Value(random.below(program.n_values() as u32));
            if !inputs.contains(&value) {
                inputs.push(value);
            }
        }
        let operation = operation(table, &inputs).filter(|made| is_monotone(made.table));
        program.operations.extend(operation);
    }
    let n_computed = program.operations.len() as u32;
    let mut changed: Option<Value> = None;
    for slot in 0..n_carried {
        // Some carry the value that another slot carries.
        let value = Value(n_inputs + random.below(n_computed));
        program.stores.push((value, Location::Slot(slot)));
        let before = Value(2 + n_state + slot);
        let operation = match changed {
            None => Operation::new(0x3c, &[before, value]),
            Some(changed) => Operation::new(0xf6, &[changed, before, value]),
        };
        program.operations.push(operation);
        changed = Some(Value(program.n_values() as u32 - 1));
    }
    program
        .stores
        .extend(changed.map(|value| (value, Location::Slot(n_carried))));
    for next in 0..n_state {
        let value = Value(random.below(n_inputs + n_computed));
        program.stores.push((value, Location::Next(next)));
    }
    program.stores.sort_by_key(|&(value, _)| value);
    program.n_reserved = n_carried + 1 + random.below(3);
    program.repeat = Some(FixpointLoop {
        carried: 0..n_carried,
        changed: n_carried,
    });
    assert_eq!(program.check(), Ok(()));
    program
}

/// Each function of three values, and each of two and one, with inputs that live on and inputs that
/// do not.
pub(super) fn programs_of_every_table() -> Vec<Program> {
    let mut programs = Vec::new();
    for table in 0..=255 {
        for n_inputs in 1..=3u32 {
            let inputs: Vec<Value> = (0..n_inputs).map(Value).collect();
            let Some(first) = operation(table, &inputs) else {
                continue;
            };
            // The second takes its inputs from memory and registers in another order.
            let result = Value(3);
            let mut others: Vec<Value> = vec![result, Value(2), Value(0)];
            others.truncate(n_inputs as usize);
            let Some(second) = operation(table, &others) else {
                continue;
            };
            let program = Program {
                inputs: (0..3)
                    .map(|index| Input::Location(Location::Now(index)))
                    .collect(),
                operations: vec![first, second],
                stores: vec![(result, Location::Next(0)), (Value(4), Location::Next(1))],
                ..Program::default()
            };
            assert_eq!(program.check(), Ok(()));
            programs.push(program);
        }
    }
    programs
}
