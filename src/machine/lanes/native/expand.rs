//! Programs for processors without three-input logic.
//!
//! Every operation becomes a few of two inputs that are one instruction each: and, and-not, or,
//! exclusive or. A value may be held as its opposite, which whatever uses it allows for, so that
//! nothing but what is stored is ever inverted.
//!
//! Invariants: the result stores the same bits; its operations have two inputs and one of four
//! tables. Never knows: registers.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::super::program::{Input, Operation, Program, Value};

/// The tables of the functions with an instruction of their own: and, the second without the first,
/// or, exclusive or.
const AND: u8 = 0xc0;
const AND_NOT: u8 = 0x0c;
const OR: u8 = 0xfc;
const XOR: u8 = 0x3c;

/// The tables that are the first, the second and the third input.
const INPUTS: [u8; 3] = [0xf0, 0xcc, 0xaa];
/// As many operations as a function of three inputs takes at most.
const MOST_OPERATIONS: usize = 4;

/// How a function of three inputs is made of others, given by their tables.
#[derive(Clone, Copy, Debug)]
enum Recipe {
    /// The n-th input.
    Input(usize),
    And(u8, u8),
    Xor(u8, u8),
}

/// For each table the recipe for it or, where the second part says so, for its opposite: that of
/// fewest operations, if nothing is shared. Constants have none.
static RECIPES: LazyLock<[Option<(Recipe, bool)>; 256]> = LazyLock::new(|| {
    let mut recipes = [None; 256];
    // What so many operations make.
    let mut made_by: Vec<Vec<u8>> = vec![Vec::new()];
    for (position, &table) in INPUTS.iter().enumerate() {
        recipes[usize::from(table)] = Some((Recipe::Input(position), false));
        recipes[usize::from(!table)] = Some((Recipe::Input(position), true));
        made_by[0].extend([table, !table]);
    }
    for n_operations in 1..=MOST_OPERATIONS {
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

/// A value of the old program in the new one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Held {
    value: Value,
    /// Whether the new value is the opposite of the old.
    is_inverted: bool,
}

impl Held {
    fn inverted_if(self, condition: bool) -> Self {
        Self {
            is_inverted: self.is_inverted ^ condition,
            ..self
        }
    }
}

/// The same program in operations of two inputs.
pub(super) fn expand(program: &Program) -> Program {
    let mut inputs = program.inputs.clone();
    let mut input = |wanted: Input| {
        let position = inputs.iter().position(|&input| input == wanted);
        Value(position.unwrap_or_else(|| {
            inputs.push(wanted);
            inputs.len() - 1
        }) as u32)
    };
    let (zeros, ones) = (input(Input::Zeros), input(Input::Ones));
    let mut expander = Expander {
        ones,
        program: Program {
            inputs,
            n_reserved: program.n_slots(),
            ..Program::default()
        },
        made: HashMap::new(),
    };
    let mut held: Vec<Held> = Vec::with_capacity(program.n_values());
    for (index, &input) in program.inputs.iter().enumerate() {
        held.push(match input {
            Input::Zeros => expander.constant(false),
            Input::Ones => expander.constant(true),
            Input::Place(_) => Held {
                value: Value(index as u32),
                is_inverted: false,
            },
        });
    }
    for operation in &program.operations {
        let inputs = operation.inputs();
        let inputs = [0, 1, 2].map(|position: usize| {
            let input = inputs[position.min(inputs.len() - 1)];
            held[input.0 as usize]
        });
        held.push(expander.make(operation.table, inputs));
    }
    let mut stores = Vec::with_capacity(program.stores.len());
    for &(value, place) in &program.stores {
        let held = held[value.0 as usize];
        let value = match (held.is_inverted, held.value == ones) {
            (false, _) => held.value,
            (true, true) => zeros,
            (true, false) => expander.push(XOR, held.value, ones),
        };
        stores.push((value, place));
    }
    stores.sort_unstable();
    expander.program.stores = stores;
    expander.program
}

struct Expander {
    program: Program,
    ones: Value,
    /// Table and inputs of the operations that there are.
    made: HashMap<(u8, Value, Value), Value>,
}

impl Expander {
    fn constant(&self, is_on: bool) -> Held {
        Held {
            value: self.ones,
            is_inverted: !is_on,
        }
    }

    /// A function of three inputs.
    fn make(&mut self, table: u8, inputs: [Held; 3]) -> Held {
        let Some((recipe, is_opposite)) = RECIPES[usize::from(table)] else {
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
        made.inverted_if(is_opposite)
    }

    fn and(&mut self, first: Held, second: Held) -> Held {
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
        Held {
            value: self.push(table, a, b),
            is_inverted: table == OR,
        }
    }

    fn xor(&mut self, first: Held, second: Held) -> Held {
        let is_inverted = first.is_inverted ^ second.is_inverted;
        if first.value == second.value {
            return self.constant(is_inverted);
        }
        for (one, other) in [(first, second), (second, first)] {
            if one.value == self.ones {
                return other.inverted_if(!one.is_inverted);
            }
        }
        Held {
            value: self.push(XOR, first.value, second.value),
            is_inverted,
        }
    }

    /// The value of an operation, which is made unless there is one like it.
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
        assert_eq!(most, Some(MOST_OPERATIONS));
    }
}
