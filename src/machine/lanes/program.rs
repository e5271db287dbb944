//! Straight-line programs over vectors of bits: what a game is compiled to before any processor is
//! chosen.
//!
//! A value is a vector with one bit per lane. A program takes values from places, computes new ones
//! with functions of up to three values, each given by its truth table, and stores some into
//! places. It has no branches, so that all lanes go through it together, and every back-end that
//! follows it bit by bit gives the same result.
//!
//! Invariants of a [`Program`]: every value is defined before its use; no place is both taken and
//! stored to, and none is stored to twice; every operation depends on all inputs it names, and
//! those are distinct.
//!
//! Never knows: games, networks, how wide a vector is.

use std::fmt;

/// Where a vector lies in the memory of those who run programs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Place {
    /// The n-th vector of the state that the lanes stand on.
    Now(u32),
    /// The n-th vector of the state that comes next.
    Next(u32),
    /// The n-th vector of what passes from one program to another.
    Slot(u32),
}

/// A value: the number of its definition, inputs before operations.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Value(pub u32);

/// What a program starts from.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Input {
    /// Off in every lane.
    Zeros,
    /// On in every lane.
    Ones,
    /// What a place holds.
    Place(Place),
}

/// A function of one to three values.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Operation {
    /// The truth table: bit `4a + 2b + c` is the result for inputs `a`, `b`, `c`, as the
    /// processors' instruction for three-input logic has it. A missing input counts as either.
    pub table: u8,
    n_inputs: u8,
    inputs: [Value; 3],
}

impl Operation {
    /// A function of one, two or three values. The table has to give the same result for either
    /// value of an input that is missing (which would stand last).
    pub fn new(table: u8, inputs: &[Value]) -> Self {
        debug_assert!((1..=3).contains(&inputs.len()));
        let last = inputs.last().copied().unwrap_or(Value(0));
        let mut all = [last; 3];
        for (to, &from) in all.iter_mut().zip(inputs) {
            *to = from;
        }
        Self {
            table,
            n_inputs: inputs.len() as u8,
            inputs: all,
        }
    }

    /// The values it is a function of: one, two or three, all distinct.
    pub fn inputs(&self) -> &[Value] {
        &self.inputs[..usize::from(self.n_inputs)]
    }
}

/// A straight-line program.
#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
pub struct Program {
    /// The first values.
    pub inputs: Vec<Input>,
    /// The values after them.
    pub operations: Vec<Operation>,
    /// Values that are kept, and where, in the order of the values.
    pub stores: Vec<(Value, Place)>,
    /// Slots below this may hold what other programs need.
    pub n_reserved: u32,
}

impl Program {
    /// How many values there are.
    pub fn n_values(&self) -> usize {
        self.inputs.len() + self.operations.len()
    }

    /// The first slot above all that are named or reserved: from there on slots are free for a
    /// back-end's own use.
    pub fn n_slots(&self) -> u32 {
        let taken = self.inputs.iter().filter_map(|input| match input {
            Input::Place(place) => Some(*place),
            _ => None,
        });
        let stored = self.stores.iter().map(|&(_, place)| place);
        let slots = taken.chain(stored).filter_map(|place| match place {
            Place::Slot(slot) => Some(slot + 1),
            _ => None,
        });
        slots.max().unwrap_or(0).max(self.n_reserved)
    }

    /// Checks the invariants.
    ///
    /// # Errors
    /// Says which does not hold.
    pub fn check(&self) -> Result<(), String> {
        let mut taken = std::collections::HashSet::new();
        for input in &self.inputs {
            if let Input::Place(place) = input
                && !taken.insert(*place)
            {
                return Err(format!("{place} is taken twice"));
            }
        }
        for (index, operation) in self.operations.iter().enumerate() {
            let value = self.inputs.len() + index;
            let inputs = operation.inputs();
            if inputs.iter().any(|input| input.0 as usize >= value) {
                return Err(format!("{value} uses what comes later"));
            }
            for (position, input) in inputs.iter().enumerate() {
                if inputs[..position].contains(input) {
                    return Err(format!("{value} uses {} twice", input.0));
                }
            }
            for position in 0..3 {
                let depends = depends_on(operation.table, position);
                if depends != (position < inputs.len()) {
                    return Err(format!(
                        "{value} has table {:08b} with {} inputs",
                        operation.table,
                        inputs.len()
                    ));
                }
            }
        }
        let mut before = Value(0);
        for &(value, place) in &self.stores {
            if value < before || value.0 as usize >= self.n_values() {
                return Err(format!("{place} is stored out of order"));
            }
            if !taken.insert(place) {
                return Err(format!(
                    "{place} is stored to and taken, or stored to twice"
                ));
            }
            before = value;
        }
        Ok(())
    }
}

/// Whether a table gives different results for the two values of its n-th input.
pub fn depends_on(table: u8, position: usize) -> bool {
    let (mask, shift) = [(0x0f, 4), (0x33, 2), (0x55, 1)][position];
    (table >> shift) & mask != table & mask
}

/// The result of a table in 64 lanes.
#[inline(always)]
pub fn apply(table: u8, a: u64, b: u64, c: u64) -> u64 {
    let bit = |index: u8| u64::from(table >> index & 1).wrapping_neg();
    let of_c = |low: u8| bit(low) & !c | bit(low + 1) & c;
    let of_b = |low: u8| of_c(low) & !b | of_c(low + 2) & b;
    of_b(0) & !a | of_b(4) & a
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Now(index) => write!(f, "now {index}"),
            Place::Next(index) => write!(f, "next {index}"),
            Place::Slot(index) => write!(f, "slot {index}"),
        }
    }
}
