//! Straight-line programs over vectors of bits: the intermediate representation of a game, before a
//! processor is chosen.
//!
//! A value is a vector with one bit per lane. A program loads values from locations, computes new
//! ones with functions of up to three values, each given by its truth table, and stores some to
//! locations. It has no branches, so all lanes go through it together, and all back-ends give the
//! same result bit by bit. A program with a loop runs until an iteration changes nothing.
//!
//! Invariants of a [`Program`]: every value is defined before its use; no location is both loaded
//! and stored, except carried slots of a loop, whose loaded values are those before the iteration;
//! no location is loaded or stored twice; every operation depends on all its inputs, and those are
//! distinct.
//!
//! Never uses: games, networks, the width of a vector.

use std::fmt;
use std::ops::Range;

/// Where a vector lies in a program's memory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Location {
    /// The n-th vector of the current state.
    Now(u32),
    /// The n-th vector of the next state.
    Next(u32),
    /// The n-th vector of the values passed between programs.
    Slot(u32),
}

/// A value: the number of its definition, inputs before operations.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Value(pub u32);

/// A source of a program.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Input {
    /// Off in every lane.
    Zeros,
    /// On in every lane.
    Ones,
    /// The vector at a location.
    Location(Location),
}

/// A function of one to three values.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Operation {
    /// The truth table: bit `4a + 2b + c` is the result for inputs `a`, `b`, `c`, as in
    /// `vpternlog`. It gives the same result for both values of a missing input.
    pub table: u8,
    n_inputs: u8,
    inputs: [Value; 3],
}

impl Operation {
    /// A function of one, two or three values. The table has to give the same result for both
    /// values of an input that is missing; missing inputs are the last ones.
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

    /// Its inputs: one, two or three, all distinct.
    pub fn inputs(&self) -> &[Value] {
        &self.inputs[..usize::from(self.n_inputs)]
    }

    /// Its inputs, the last one repeated in place of missing ones.
    pub(super) fn padded_inputs(&self) -> [Value; 3] {
        self.inputs
    }
}

/// The iteration of a program to a fixpoint, all lanes together.
///
/// The carried values are a monotone function of themselves. They start off in every lane, so they
/// only grow: every iteration but the last switches a bit on, and the loop ends.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct FixpointLoop {
    /// The slots whose stored values the next iteration loads. They are off before the first.
    pub carried: Range<u32>,
    /// The slot that an iteration sets in the lanes where another iteration is needed.
    pub changed: u32,
}

/// A straight-line program.
#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
pub struct Program {
    /// The first values.
    pub inputs: Vec<Input>,
    /// The values after them.
    pub operations: Vec<Operation>,
    /// The stored values and their locations, in the order of the values.
    pub stores: Vec<(Value, Location)>,
    /// Slots below this may hold values of other programs.
    pub n_reserved: u32,
    /// The loop, if the program is run until nothing changes.
    pub repeat: Option<FixpointLoop>,
}

impl Program {
    /// The number of values.
    pub fn n_values(&self) -> usize {
        self.inputs.len() + self.operations.len()
    }

    /// The first slot above all that are named or reserved, from which on slots are free for a
    /// back-end's temporaries.
    pub fn n_slots(&self) -> u32 {
        let loaded = self.inputs.iter().filter_map(|input| match input {
            Input::Location(location) => Some(*location),
            _ => None,
        });
        let stored = self.stores.iter().map(|&(_, location)| location);
        let slots = loaded.chain(stored).filter_map(|location| match location {
            Location::Slot(slot) => Some(slot + 1),
            _ => None,
        });
        slots.max().unwrap_or(0).max(self.n_reserved)
    }

    /// Whether a location is a carried slot.
    pub fn is_carried(&self, location: Location) -> bool {
        match (&self.repeat, location) {
            (Some(repeat), Location::Slot(slot)) => repeat.carried.contains(&slot),
            _ => false,
        }
    }

    /// Checks the invariants.
    ///
    /// # Errors
    /// Names the first that is violated.
    pub fn check(&self) -> Result<(), String> {
        let mut used = std::collections::HashSet::new();
        for input in &self.inputs {
            if let Input::Location(location) = input
                && !used.insert(*location)
            {
                return Err(format!("{location} is loaded twice"));
            }
        }
        for (index, operation) in self.operations.iter().enumerate() {
            let value = self.inputs.len() + index;
            let inputs = operation.inputs();
            if inputs.iter().any(|input| input.0 as usize >= value) {
                return Err(format!("{value} uses a later value"));
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
        let n_loaded = self.inputs.len();
        let mut stored = std::collections::HashSet::new();
        let mut before = Value(0);
        for &(value, location) in &self.stores {
            if value < before || value.0 as usize >= self.n_values() {
                return Err(format!("{location} is stored out of order"));
            }
            let is_carried = self.is_carried(location);
            if is_carried && (value.0 as usize) < n_loaded {
                return Err(format!("{location} is carried without an operation"));
            }
            if !is_carried && used.contains(&location) || !stored.insert(location) {
                return Err(format!("{location} is stored and loaded, or stored twice"));
            }
            before = value;
        }
        if let Some(repeat) = &self.repeat {
            let changed = std::iter::once(repeat.changed);
            for slot in repeat.carried.clone().chain(changed) {
                if !stored.contains(&Location::Slot(slot)) {
                    return Err(format!("the loop does not store slot {slot}"));
                }
            }
        }
        Ok(())
    }
}

/// The table of the same function with permuted inputs: the n-th of the new order is `from[n]` of
/// the old.
pub(super) fn permuted(table: u8, from: [usize; 3]) -> u8 {
    let old_row = |row: u8| -> u8 {
        let positions = from.into_iter().enumerate();
        positions
            .map(|(new, old)| (row >> (2 - new) & 1) << (2 - old))
            .sum()
    };
    (0..8).map(|row| (table >> old_row(row) & 1) << row).sum()
}

/// Whether a table depends on its n-th input.
pub fn depends_on(table: u8, position: usize) -> bool {
    let (mask, shift) = [(0x0f, 4), (0x33, 2), (0x55, 1)][position];
    (table >> shift) & mask != table & mask
}

/// The result of a table for 64 lanes.
#[inline(always)]
pub fn apply(table: u8, a: u64, b: u64, c: u64) -> u64 {
    let bit = |index: u8| u64::from(table >> index & 1).wrapping_neg();
    let of_c = |low: u8| bit(low) & !c | bit(low + 1) & c;
    let of_b = |low: u8| of_c(low) & !b | of_c(low + 2) & b;
    of_b(0) & !a | of_b(4) & a
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Location::Now(index) => write!(f, "now {index}"),
            Location::Next(index) => write!(f, "next {index}"),
            Location::Slot(index) => write!(f, "slot {index}"),
        }
    }
}
