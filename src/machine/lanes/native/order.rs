//! The order in which a program's operations are run.
//!
//! Values that are needed at once need no memory. Two passes see to that. The first goes depth
//! first from the stores, so that what is computed is computed for a use that follows. The second
//! goes through that order and puts forward what can be run at once on values that are still in
//! registers, when that ends more values than it begins.
//!
//! Invariants: a step comes after those that compute what it needs; operations that nothing needs
//! are left out. Never knows: which register holds what, only that there are some.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::super::program::{Program, Value};

/// One step of the code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// The n-th operation.
    Compute(u32),
    /// An input's stores.
    Keep(Value),
}

impl Step {
    /// The values that a step needs.
    pub fn needs<'a>(&'a self, program: &'a Program) -> &'a [Value] {
        match self {
            Step::Compute(number) => program.operations[*number as usize].inputs(),
            Step::Keep(value) => std::slice::from_ref(value),
        }
    }
}

/// The steps of a program for a processor of so many registers.
pub(super) fn order(program: &Program, n_registers: usize) -> Vec<Step> {
    let operations = gathered(program, &depth_first(program), n_registers);
    let mut is_kept = vec![false; program.inputs.len()];
    for &(value, _) in &program.stores {
        if let Some(is_kept) = is_kept.get_mut(value.0 as usize) {
            *is_kept = true;
        }
    }
    // An input is stored when it is in a register for its first use.
    let mut steps = Vec::with_capacity(operations.len() + program.stores.len());
    for number in operations {
        for &input in program.operations[number as usize].inputs() {
            if let Some(is_kept) = is_kept.get_mut(input.0 as usize)
                && std::mem::take(is_kept)
            {
                steps.push(Step::Keep(input));
            }
        }
        steps.push(Step::Compute(number));
    }
    for (index, is_kept) in is_kept.into_iter().enumerate() {
        if is_kept {
            steps.push(Step::Keep(Value(index as u32)));
        }
    }
    steps
}

/// The operations that compute an operation's inputs.
fn computed_inputs(program: &Program, number: u32) -> impl Iterator<Item = u32> {
    let n_inputs = program.inputs.len() as u32;
    let inputs = program.operations[number as usize].inputs().iter();
    inputs.filter_map(move |value| value.0.checked_sub(n_inputs))
}

/// Depth first from the stores, in their order; of an operation's inputs first that which takes
/// more registers, by the rule of Sethi and Ullman (1970), which is exact for trees.
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
    // Operations to run, and whether all they need has been run.
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

/// How many uses of a value are looked at for one to put forward.
const USES_LOOKED_AT: usize = 3;
/// What it is worth to use a value for the last time: one that would have to be stored when it
/// loses its register.
const ENDS_COMPUTED: i32 = 6;
/// The same for a value that is in memory.
const ENDS_OTHER: i32 = 4;
/// What it costs to read a value from memory that is needed again.
const READS_EARLY: i32 = 2;
/// What it costs to begin a value.
const BEGINS: i32 = 2;
/// What it costs to begin a value that is stored anyway.
const BEGINS_STORED: i32 = 1;
/// What it is worth that an operation leads straight on to another.
const LEADS_ON: i32 = 1;
/// What an operation has to be worth to be put forward.
const LEAST_WORTH: i32 = -1;

/// Puts forward what can be run on values at hand. The weights above are what a search found best
/// for the sum of reads and spills over the programs and networks of some forty games.
fn gathered(program: &Program, order: &[u32], n_registers: usize) -> Vec<u32> {
    let mut gatherer = Gatherer::new(program, order, n_registers);
    let mut gathered = Vec::with_capacity(order.len());
    let mut rest = order.iter().copied();
    while gathered.len() < order.len() {
        let number = gatherer.best().or_else(|| {
            // What comes next in the order given can be run: everything before it has been.
            rest.find(|&number| !gatherer.is_done[number as usize])
        });
        let Some(number) = number else { break };
        gatherer.run(number);
        gathered.push(number);
    }
    gathered
}

struct Gatherer<'a> {
    program: &'a Program,
    is_done: Vec<bool>,
    /// How many of an operation's inputs are still to be computed.
    n_missing: Vec<u8>,
    is_stored: Vec<bool>,
    /// Another operation of the same inputs, as a full adder's sum and carry are.
    twins: Vec<Option<u32>>,
    /// The operations still to be run that use a value, for the most part in the order given:
    /// `users[starts[value]..ends[value]]`.
    users: Vec<u32>,
    /// Where in `users` an operation stands for each of its inputs.
    positions: Vec<[u32; 3]>,
    starts: Vec<u32>,
    ends: Vec<u32>,
    /// The values used last, as many as there are registers, with the times of their last uses.
    at_hand: Vec<(u32, u32)>,
    is_at_hand: Vec<bool>,
    n_registers: usize,
    time: u32,
}

impl<'a> Gatherer<'a> {
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
            at_hand: Vec::with_capacity(n_registers),
            is_at_hand: vec![false; n_values],
            n_registers,
            time: 0,
        }
    }

    /// The operations still to be run that use a value.
    fn users(&self, value: u32) -> &[u32] {
        &self.users[self.starts[value as usize] as usize..self.ends[value as usize] as usize]
    }

    /// The operation that is worth most of those that can be run on values at hand, or that lead
    /// straight on to one that then can; if it is worth enough.
    fn best(&self) -> Option<u32> {
        let mut best = None;
        let mut most = LEAST_WORTH - 1;
        for &(value, _) in &self.at_hand {
            for &number in self.users(value).iter().take(USES_LOOKED_AT) {
                let found = match self.n_missing[number as usize] {
                    0 => Some((number, self.worth(number, None))),
                    1 => self.way_to(number),
                    _ => None,
                };
                if let Some((number, worth)) = found
                    && worth > most
                {
                    most = worth;
                    best = Some(number);
                }
            }
        }
        best
    }

    /// The operation that computes the one input that another lacks, if it can be run, and what
    /// both are worth together.
    fn way_to(&self, number: u32) -> Option<(u32, i32)> {
        let missing = computed_inputs(self.program, number)
            .find(|&input| !self.is_done[input as usize])
            .filter(|&input| self.n_missing[input as usize] == 0)?;
        let between = self.program.inputs.len() as u32 + missing;
        let mut worth = self.worth(missing, None) + self.worth(number, Some(between)) + LEADS_ON;
        if self.users(between).len() == 1 {
            worth += self.cost_of_beginning(between);
        }
        Some((missing, worth))
    }

    /// What an operation, with its twin if that is still to be run, is worth apart from one of its
    /// inputs.
    fn worth(&self, number: u32, apart: Option<u32>) -> i32 {
        let twin = self.twins[number as usize].filter(|&twin| !self.is_done[twin as usize]);
        let uses = 1 + usize::from(twin.is_some());
        let n_inputs = self.program.inputs.len() as u32;
        let mut worth = 0;
        for input in self.program.operations[number as usize].inputs() {
            let value = input.0;
            if apart == Some(value) {
                continue;
            }
            let is_at_hand = self.is_at_hand[value as usize];
            if self.users(value).len() == uses {
                let is_computed = value >= n_inputs && !self.is_stored[value as usize];
                worth += if is_at_hand && is_computed {
                    ENDS_COMPUTED
                } else {
                    ENDS_OTHER
                };
            } else if !is_at_hand {
                worth -= READS_EARLY;
            }
        }
        for number in [Some(number), twin].into_iter().flatten() {
            let result = n_inputs + number;
            if !self.users(result).is_empty() {
                worth -= self.cost_of_beginning(result);
            }
        }
        worth
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
            self.take_out(input.0, position as usize);
            self.touch(input.0);
        }
        let result = program.inputs.len() as u32 + number;
        for position in self.starts[result as usize]..self.ends[result as usize] {
            self.n_missing[self.users[position as usize] as usize] -= 1;
        }
        self.touch(result);
    }

    /// Takes an operation out of the users of a value: the first of them comes to stand where it
    /// stood.
    fn take_out(&mut self, value: u32, position: usize) {
        let start = self.starts[value as usize] as usize;
        let first = self.users[start] as usize;
        self.users[position] = first as u32;
        let inputs = self.program.operations[first].inputs();
        if let Some(which) = inputs.iter().position(|input| input.0 == value) {
            self.positions[first][which] = position as u32;
        }
        self.starts[value as usize] += 1;
    }

    /// A value is used now: it is at hand, unless this was its last use.
    fn touch(&mut self, value: u32) {
        let is_needed = !self.users(value).is_empty();
        if self.is_at_hand[value as usize] {
            let position = self.at_hand.iter().position(|&(at, _)| at == value);
            if let Some(position) = position {
                if is_needed {
                    self.at_hand[position].1 = self.time;
                } else {
                    self.at_hand.swap_remove(position);
                    self.is_at_hand[value as usize] = false;
                }
            }
        } else if is_needed {
            if self.at_hand.len() >= self.n_registers {
                let oldest = (0..self.at_hand.len()).min_by_key(|&at| self.at_hand[at].1);
                if let Some(oldest) = oldest {
                    let (value, _) = self.at_hand.swap_remove(oldest);
                    self.is_at_hand[value as usize] = false;
                }
            }
            self.at_hand.push((value, self.time));
            self.is_at_hand[value as usize] = true;
        }
    }
}
