//! Instruction scheduling: the order in which a program's operations run.
//!
//! A value that is used at once needs no memory. A first pass orders operations depth first from
//! the stores, so that what is computed is used soon. A second pass, a list scheduler, goes through
//! that order and moves forward operations whose inputs are still in registers, when that ends more
//! live ranges than it begins.
//!
//! Invariants: a step comes after those that compute its inputs; dead operations are dropped. Never
//! knows: the allocation of registers, only their number.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::super::program::{Input, Location, Program, Value};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ScheduleStep {
    Compute(u32),
    /// The stores of an input.
    Keep(Value),
    /// The store of a carried value, after all uses of the value that it replaces.
    Carry(Value, Location),
}

impl ScheduleStep {
    pub fn needs<'a>(&'a self, program: &'a Program) -> &'a [Value] {
        match self {
            ScheduleStep::Compute(number) => program.operations[*number as usize].inputs(),
            ScheduleStep::Keep(value) | ScheduleStep::Carry(value, _) => {
                std::slice::from_ref(value)
            }
        }
    }
}

/// The schedule of a program for a processor with so many registers.
pub(super) fn order(program: &Program, n_registers: usize) -> Vec<ScheduleStep> {
    let operations = list_schedule(program, &depth_first(program), n_registers);
    let mut is_kept = vec![false; program.inputs.len()];
    for &(value, _) in &program.stores {
        if let Some(is_kept) = is_kept.get_mut(value.0 as usize) {
            *is_kept = true;
        }
    }
    // An input is stored while it is in a register for its first use.
    let mut steps = Vec::with_capacity(operations.len() + program.stores.len());
    for number in operations {
        for &input in program.operations[number as usize].inputs() {
            if let Some(is_kept) = is_kept.get_mut(input.0 as usize)
                && std::mem::take(is_kept)
            {
                steps.push(ScheduleStep::Keep(input));
            }
        }
        steps.push(ScheduleStep::Compute(number));
    }
    for (index, is_kept) in is_kept.into_iter().enumerate() {
        if is_kept {
            steps.push(ScheduleStep::Keep(Value(index as u32)));
        }
    }
    with_carries(program, steps)
}

/// Adds the stores of carried values, each as soon as its value is computed and the last use of the
/// value that it replaces has passed.
fn with_carries(program: &Program, steps: Vec<ScheduleStep>) -> Vec<ScheduleStep> {
    if program.repeat.is_none() {
        return steps;
    }
    let n_inputs = program.inputs.len();
    // The step that computes or last uses each value.
    let mut last_step = vec![0; program.n_values()];
    for (time, step) in steps.iter().enumerate() {
        for value in step.needs(program) {
            last_step[value.0 as usize] = time;
        }
        if let ScheduleStep::Compute(number) = *step {
            let value = n_inputs + number as usize;
            last_step[value] = last_step[value].max(time);
        }
    }
    let loaded: HashMap<Location, usize> = program
        .inputs
        .iter()
        .enumerate()
        .filter_map(|(number, input)| match *input {
            Input::Location(location) => Some((location, number)),
            _ => None,
        })
        .collect();
    let mut after: Vec<Vec<ScheduleStep>> = vec![Vec::new(); steps.len()];
    let carried = program.stores.iter();
    for &(value, location) in carried.filter(|(_, location)| program.is_carried(*location)) {
        let computed = last_step[value.0 as usize];
        let replaced = loaded.get(&location).map(|&number| last_step[number]);
        let time = computed.max(replaced.unwrap_or(0));
        after[time].push(ScheduleStep::Carry(value, location));
    }
    let steps = steps.into_iter().zip(after);
    steps
        .flat_map(|(step, after)| std::iter::once(step).chain(after))
        .collect()
}

fn computed_inputs(program: &Program, number: u32) -> impl Iterator<Item = u32> {
    let n_inputs = program.inputs.len() as u32;
    let inputs = program.operations[number as usize].inputs().iter();
    inputs.filter_map(move |value| value.0.checked_sub(n_inputs))
}

/// Depth first from the stores, in their order. Of an operation's inputs the one that takes more
/// registers comes first, by the rule of Sethi and Ullman (1970), which is optimal for trees.
fn depth_first(program: &Program) -> Vec<u32> {
    let n_inputs = program.inputs.len();
    let mut registers_taken = vec![0u32; program.n_values()];
    for (index, operation) in program.operations.iter().enumerate() {
        let mut taken = [0; 3];
        for (taken, input) in taken.iter_mut().zip(operation.inputs()) {
            *taken = registers_taken[input.0 as usize];
        }
        taken.sort_unstable();
        registers_taken[n_inputs + index] = taken[2].max(taken[1] + 1).max(taken[0] + 2);
    }
    let mut is_done = vec![false; program.operations.len()];
    let mut order = Vec::with_capacity(program.operations.len());
    // Operations to schedule, and whether all their inputs are.
    let mut stack: Vec<(u32, bool)> = Vec::new();
    for &(value, _) in &program.stores {
        let Some(root) = value.0.checked_sub(n_inputs as u32) else {
            continue;
        };
        stack.push((root, false));
        while let Some((number, is_ready)) = stack.pop() {
            if is_done[number as usize] {
                continue;
            }
            if is_ready {
                is_done[number as usize] = true;
                order.push(number);
                continue;
            }
            stack.push((number, true));
            let first = stack.len();
            for input in computed_inputs(program, number) {
                if !is_done[input as usize] {
                    stack.push((input, false));
                }
            }
            stack[first..].sort_by_key(|&(input, _)| registers_taken[n_inputs + input as usize]);
        }
    }
    order
}

/// Users of a value that are considered for moving forward.
const USERS_CONSIDERED: usize = 3;
/// The gain of ending a live range that would otherwise be spilled.
const ENDS_COMPUTED: i32 = 6;
/// The gain of ending the live range of a value in memory.
const ENDS_OTHER: i32 = 4;
/// The cost of loading a value that has later uses.
const READS_EARLY: i32 = 2;
/// The cost of beginning a live range.
const BEGINS: i32 = 2;
/// The cost of beginning the live range of a stored value.
const BEGINS_STORED: i32 = 1;
/// The gain of an operation that enables another at once.
const ENABLES: i32 = 1;
/// The least priority for moving an operation forward.
const MIN_PRIORITY: i32 = -1;

/// Moves forward operations on values in registers. The weights above minimise the sum of loads and
/// spills over the programs of some forty games, found by search.
fn list_schedule(program: &Program, order: &[u32], n_registers: usize) -> Vec<u32> {
    let mut scheduler = ListScheduler::new(program, order, n_registers);
    let mut schedule = Vec::with_capacity(order.len());
    let mut rest = order.iter().copied();
    while schedule.len() < order.len() {
        let number = scheduler.best().or_else(|| {
            // The next operation of the given order is ready: all before it are scheduled.
            rest.find(|&number| !scheduler.is_done[number as usize])
        });
        let Some(number) = number else { break };
        scheduler.run(number);
        schedule.push(number);
    }
    schedule
}

struct ListScheduler<'a> {
    program: &'a Program,
    is_done: Vec<bool>,
    n_missing: Vec<u8>,
    is_stored: Vec<bool>,
    /// Another operation of the same inputs, such as the carry for a full adder's sum.
    twins: Vec<Option<u32>>,
    /// The unscheduled operations that use a value, mostly in the given order:
    /// `users[starts[value]..ends[value]]`.
    users: Vec<u32>,
    /// The positions of an operation in `users`, for each of its inputs.
    positions: Vec<[u32; 3]>,
    starts: Vec<u32>,
    ends: Vec<u32>,
    /// The values used last, as many as there are registers, with the times of their last uses.
    in_registers: Vec<(u32, u32)>,
    is_in_register: Vec<bool>,
    n_registers: usize,
    time: u32,
}

impl<'a> ListScheduler<'a> {
    fn new(program: &'a Program, order: &[u32], n_registers: usize) -> Self {
        let n_values = program.n_values();
        let n_operations = program.operations.len();
        let mut n_missing = vec![0; n_operations];
        let mut starts = vec![0u32; n_values + 1];
        for &number in order {
            n_missing[number as usize] = computed_inputs(program, number).count() as u8;
            for input in program.operations[number as usize].inputs() {
                starts[input.0 as usize + 1] += 1;
            }
        }
        for value in 0..n_values {
            starts[value + 1] += starts[value];
        }
        let mut ends = starts.clone();
        let mut users = vec![0; starts[n_values] as usize];
        let mut positions = vec![[0; 3]; n_operations];
        for &number in order {
            let inputs = program.operations[number as usize].inputs();
            for (position, input) in positions[number as usize].iter_mut().zip(inputs) {
                let end = &mut ends[input.0 as usize];
                users[*end as usize] = number;
                *position = *end;
                *end += 1;
            }
        }
        let mut is_stored = vec![false; n_values];
        for &(value, _) in &program.stores {
            is_stored[value.0 as usize] = true;
        }
        let mut twins = vec![None; n_operations];
        let mut of_inputs: HashMap<[Value; 3], u32> = HashMap::new();
        for &number in order {
            if let &[a, b, c] = program.operations[number as usize].inputs() {
                let mut inputs = [a, b, c];
                inputs.sort_unstable();
                match of_inputs.entry(inputs) {
                    Entry::Vacant(entry) => {
                        entry.insert(number);
                    }
                    Entry::Occupied(entry) => {
                        let first = entry.remove();
                        twins[first as usize] = Some(number);
                        twins[number as usize] = Some(first);
                    }
                }
            }
        }
        Self {
            program,
            is_done: vec![false; n_operations],
            twins,
            n_missing,
            is_stored,
            users,
            positions,
            starts,
            ends,
            in_registers: Vec::with_capacity(n_registers),
            is_in_register: vec![false; n_values],
            n_registers,
            time: 0,
        }
    }

    fn users(&self, value: u32) -> &[u32] {
        &self.users[self.starts[value as usize] as usize..self.ends[value as usize] as usize]
    }

    /// The operation of highest priority among those that are ready, or make another ready, with an
    /// input in a register; if its priority is high enough.
    fn best(&self) -> Option<u32> {
        let mut best = None;
        let mut highest = MIN_PRIORITY - 1;
        for &(value, _) in &self.in_registers {
            for &number in self.users(value).iter().take(USERS_CONSIDERED) {
                let found = match self.n_missing[number as usize] {
                    0 => Some((number, self.priority(number, None))),
                    1 => self.enabling(number),
                    _ => None,
                };
                if let Some((number, priority)) = found
                    && priority > highest
                {
                    highest = priority;
                    best = Some(number);
                }
            }
        }
        best
    }

    /// The ready operation that computes another's one missing input, and their joint priority.
    fn enabling(&self, number: u32) -> Option<(u32, i32)> {
        let missing = computed_inputs(self.program, number)
            .find(|&input| !self.is_done[input as usize])
            .filter(|&input| self.n_missing[input as usize] == 0)?;
        let between = self.program.inputs.len() as u32 + missing;
        let mut priority =
            self.priority(missing, None) + self.priority(number, Some(between)) + ENABLES;
        if self.users(between).len() == 1 {
            priority += self.cost_of_beginning(between);
        }
        Some((missing, priority))
    }

    /// The priority of an operation and its unscheduled twin, without the part of one input.
    fn priority(&self, number: u32, excluded: Option<u32>) -> i32 {
        let twin = self.twins[number as usize].filter(|&twin| !self.is_done[twin as usize]);
        let uses = 1 + usize::from(twin.is_some());
        let n_inputs = self.program.inputs.len() as u32;
        let mut priority = 0;
        for input in self.program.operations[number as usize].inputs() {
            let value = input.0;
            if excluded == Some(value) {
                continue;
            }
            let is_in_register = self.is_in_register[value as usize];
            if self.users(value).len() == uses {
                let is_computed = value >= n_inputs && !self.is_stored[value as usize];
                priority += if is_in_register && is_computed {
                    ENDS_COMPUTED
                } else {
                    ENDS_OTHER
                };
            } else if !is_in_register {
                priority -= READS_EARLY;
            }
        }
        for number in [Some(number), twin].into_iter().flatten() {
            let result = n_inputs + number;
            if !self.users(result).is_empty() {
                priority -= self.cost_of_beginning(result);
            }
        }
        priority
    }

    fn cost_of_beginning(&self, value: u32) -> i32 {
        if self.is_stored[value as usize] {
            BEGINS_STORED
        } else {
            BEGINS
        }
    }

    fn run(&mut self, number: u32) {
        let program = self.program;
        self.is_done[number as usize] = true;
        self.time += 1;
        let inputs = program.operations[number as usize].inputs();
        for (input, position) in inputs.iter().zip(self.positions[number as usize]) {
            self.remove_user(input.0, position as usize);
            self.touch(input.0);
        }
        let result = program.inputs.len() as u32 + number;
        for position in self.starts[result as usize]..self.ends[result as usize] {
            self.n_missing[self.users[position as usize] as usize] -= 1;
        }
        self.touch(result);
    }

    /// Removes an operation from the users of a value; the first of them takes its position.
    fn remove_user(&mut self, value: u32, position: usize) {
        let start = self.starts[value as usize] as usize;
        let first = self.users[start] as usize;
        self.users[position] = first as u32;
        let inputs = self.program.operations[first].inputs();
        if let Some(which) = inputs.iter().position(|input| input.0 == value) {
            self.positions[first][which] = position as u32;
        }
        self.starts[value as usize] += 1;
    }

    fn touch(&mut self, value: u32) {
        let is_needed = !self.users(value).is_empty();
        if self.is_in_register[value as usize] {
            let position = self.in_registers.iter().position(|&(at, _)| at == value);
            if let Some(position) = position {
                if is_needed {
                    self.in_registers[position].1 = self.time;
                } else {
                    self.in_registers.swap_remove(position);
                    self.is_in_register[value as usize] = false;
                }
            }
        } else if is_needed {
            if self.in_registers.len() >= self.n_registers {
                let oldest = (0..self.in_registers.len()).min_by_key(|&at| self.in_registers[at].1);
                if let Some(oldest) = oldest {
                    let (value, _) = self.in_registers.swap_remove(oldest);
                    self.is_in_register[value as usize] = false;
                }
            }
            self.in_registers.push((value, self.time));
            self.is_in_register[value as usize] = true;
        }
    }
}
