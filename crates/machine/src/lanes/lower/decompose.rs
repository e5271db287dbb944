//! Decomposition for processors without three-input logic.
//!
//! Every operation becomes a few two-input ones with an instruction each: and, and-not, or, xor. A
//! value may be held inverted, which its users take into account, so only stored values are ever
//! inverted.
//!
//! Invariants: the result stores the same bits; its operations have two inputs and one of four
//! tables. Never uses: registers.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::super::program::{Input, Operation, Program, Value};

/// The tables of the functions with an instruction of their own: and, the second without the first,
/// or, xor.
const AND: u8 = 0xc0;
const AND_NOT: u8 = 0x0c;
const OR: u8 = 0xfc;
const XOR: u8 = 0x3c;

const INPUTS: [u8; 3] = [0xf0, 0xcc, 0xaa];
/// The most operations that a function of three inputs takes.
const MAX_OPERATIONS: usize = 4;

#[derive(Clone, Copy, Debug)]
enum Recipe {
    /// The n-th input.
    Input(usize),
    And(u8, u8),
    Xor(u8, u8),
}

/// Per table a decomposition with the fewest operations, of its inverse if the flag is set.
static RECIPES: LazyLock<[Option<(Recipe, bool)>; 256]> = LazyLock::new(|| {
    let mut recipes = [None; 256];
    // The tables by their number of operations.
    let mut made_by: Vec<Vec<u8>> = vec![Vec::new()];
    for (position, &table) in INPUTS.iter().enumerate() {
        recipes[usize::from(table)] = Some((Recipe::Input(position), false));
        recipes[usize::from(!table)] = Some((Recipe::Input(position), true));
        made_by[0].extend([table, !table]);
    }
    for n_operations in 1..=MAX_OPERATIONS {
        let mut made = Vec::new();
        for n_first in 0..n_operations {
            for &first in &made_by[n_first] {
                for &second in &made_by[n_operations - 1 - n_first] {
                    let and = (first & second, Recipe::And(first, second));
                    let xor = (first ^ second, Recipe::Xor(first, second));
                    for (table, recipe) in [and, xor] {
                        let is_constant = matches!(table, 0x00 | 0xff);
                        if !is_constant && recipes[usize::from(table)].is_none() {
                            recipes[usize::from(table)] = Some((recipe, false));
                            recipes[usize::from(!table)] = Some((recipe, true));
                            made.extend([table, !table]);
                        }
                    }
                }
            }
        }
        made_by.push(made);
    }
    recipes
});

/// An old program's value in the new one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct MappedValue {
    value: Value,
    /// Whether the new value is the inverse of the old.
    is_inverted: bool,
}

impl MappedValue {
    fn inverted_if(self, condition: bool) -> Self {
        Self {
            is_inverted: self.is_inverted ^ condition,
            ..self
        }
    }
}

pub(super) fn decompose(program: &Program) -> Program {
    let mut inputs = program.inputs.clone();
    let mut input = |wanted: Input| {
        let position = inputs.iter().position(|&input| input == wanted);
        Value(position.unwrap_or_else(|| {
            inputs.push(wanted);
            inputs.len() - 1
        }) as u32)
    };
    let (zeros, ones) = (input(Input::Zeros), input(Input::Ones));
    let n_inputs = inputs.len();
    let mut decomposer = Decomposer {
        ones,
        program: Program {
            inputs,
            n_reserved: program.n_slots(),
            repeat: program.repeat.clone(),
            ..Program::default()
        },
        made: HashMap::new(),
    };
    let mut held: Vec<MappedValue> = Vec::with_capacity(program.n_values());
    for (index, &input) in program.inputs.iter().enumerate() {
        held.push(match input {
            Input::Zeros => decomposer.constant(false),
            Input::Ones => decomposer.constant(true),
            Input::Location(_) => MappedValue {
                value: Value(index as u32),
                is_inverted: false,
            },
        });
    }
    for operation in &program.operations {
        let inputs = operation.padded_inputs();
        let inputs = inputs.map(|input| held[input.0 as usize]);
        held.push(decomposer.make(operation.table, inputs));
    }
    let mut stores = Vec::with_capacity(program.stores.len());
    for &(value, location) in &program.stores {
        let held = held[value.0 as usize];
        let mut value = match (held.is_inverted, held.value == ones) {
            (false, _) => held.value,
            (true, true) => zeros,
            (true, false) => decomposer.push(XOR, held.value, ones),
        };
        // A carried value is an operation's.
        if program.is_carried(location) && (value.0 as usize) < n_inputs {
            value = match value == zeros {
                true => decomposer.push(AND, zeros, ones),
                false => decomposer.push(OR, value, zeros),
            };
        }
        stores.push((value, location));
    }
    stores.sort_unstable();
    decomposer.program.stores = stores;
    decomposer.program
}

struct Decomposer {
    program: Program,
    ones: Value,
    made: HashMap<(u8, Value, Value), Value>,
}

impl Decomposer {
    fn constant(&self, is_on: bool) -> MappedValue {
        MappedValue {
            value: self.ones,
            is_inverted: !is_on,
        }
    }

    fn make(&mut self, table: u8, inputs: [MappedValue; 3]) -> MappedValue {
        let Some((recipe, is_inverse)) = RECIPES[usize::from(table)] else {
            return self.constant(table == 0xff);
        };
        let made = match recipe {
            Recipe::Input(position) => inputs[position],
            Recipe::And(first, second) => {
                let (first, second) = (self.make(first, inputs), self.make(second, inputs));
                self.and(first, second)
            }
            Recipe::Xor(first, second) => {
                let (first, second) = (self.make(first, inputs), self.make(second, inputs));
                self.xor(first, second)
            }
        };
        made.inverted_if(is_inverse)
    }

    fn and(&mut self, first: MappedValue, second: MappedValue) -> MappedValue {
        for (one, other) in [(first, second), (second, first)] {
            if one == other || one == self.constant(true) {
                return other;
            }
            if one == other.inverted_if(true) || one == self.constant(false) {
                return self.constant(false);
            }
        }
        let (table, a, b) = match (first.is_inverted, second.is_inverted) {
            (false, false) => (AND, first.value, second.value),
            (true, false) => (AND_NOT, first.value, second.value),
            (false, true) => (AND_NOT, second.value, first.value),
            (true, true) => (OR, first.value, second.value),
        };
        MappedValue {
            value: self.push(table, a, b),
            is_inverted: table == OR,
        }
    }

    fn xor(&mut self, first: MappedValue, second: MappedValue) -> MappedValue {
        let is_inverted = first.is_inverted ^ second.is_inverted;
        if first.value == second.value {
            return self.constant(is_inverted);
        }
        for (one, other) in [(first, second), (second, first)] {
            if one.value == self.ones {
                return other.inverted_if(!one.is_inverted);
            }
        }
        MappedValue {
            value: self.push(XOR, first.value, second.value),
            is_inverted,
        }
    }

    /// The value of an operation; equal operations share one.
    fn push(&mut self, table: u8, a: Value, b: Value) -> Value {
        let (a, b) = if table == AND_NOT || a < b {
            (a, b)
        } else {
            (b, a)
        };
        *self.made.entry((table, a, b)).or_insert_with(|| {
            let value = Value(self.program.n_values() as u32);
            self.program.operations.push(Operation::new(table, &[a, b]));
            value
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_has_a_recipe() {
        fn n_operations(table: u8) -> usize {
            match RECIPES[usize::from(table)].expect("there is a recipe").0 {
                Recipe::Input(_) => 0,
                Recipe::And(first, second) | Recipe::Xor(first, second) => {
                    1 + n_operations(first) + n_operations(second)
                }
            }
        }
        let most = (0x01..0xff).map(n_operations).max();
        assert_eq!(most, Some(MAX_OPERATIONS));
    }
}
