//! From the nodes of a circuit to a straight-line program.
//!
//! Nodes are emitted depth first, output by output, so that a value is used soon after it is
//! computed. The inverses that outputs need are operations of their own, each emitted once.
//!
//! Invariant: a node is emitted after its inputs. Never uses: the meaning of the nodes.

use rustc_hash::FxHashMap;

use super::super::program::{FixpointLoop, Input, Location, Operation, Program, Value};
use super::circuit::{Circuit, Literal, Node};

/// The tables of the functions of one value.
const IDENTITY: u8 = 0xf0;
const INVERSE: u8 = 0x0f;

/// A value under construction: the number of an input or operation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Made {
    Input(u32),
    Operation(u32),
}

struct Emitter<'a> {
    circuit: &'a Circuit,
    taken: &'a dyn Fn(usize) -> Option<Location>,
    inputs: Vec<Input>,
    operations: Vec<(u8, Vec<Made>)>,
    stores: Vec<(Made, Location)>,
    made: FxHashMap<u32, Made>,
}

impl Circuit {
    /// The program of some outputs, depth first so that a value is used soon after it is computed.
    /// Nodes for which `taken` returns a location are loaded from there.
    pub(super) fn emit(
        &self,
        outputs: &[(Literal, Location)],
        repeat: Option<FixpointLoop>,
        taken: impl Fn(usize) -> Option<Location>,
    ) -> Program {
        let mut emitter = Emitter {
            circuit: self,
            taken: &taken,
            inputs: Vec::new(),
            operations: Vec::new(),
            stores: Vec::new(),
            made: FxHashMap::default(),
        };
        for &(literal, location) in outputs {
            let mut made = emitter.make(literal);
            // A carried value is an operation's.
            let carried = repeat.as_ref().map(|repeat| &repeat.carried);
            if let (Made::Input(_), Location::Slot(slot), Some(carried)) = (made, location, carried)
                && carried.contains(&slot)
            {
                made = emitter.operation(IDENTITY, vec![made]);
            }
            emitter.stores.push((made, location));
        }
        Program {
            repeat,
            ..emitter.finish()
        }
    }
}

impl Emitter<'_> {
    fn input(&mut self, input: Input) -> Made {
        self.inputs.push(input);
        Made::Input(self.inputs.len() as u32 - 1)
    }

    fn operation(&mut self, table: u8, inputs: Vec<Made>) -> Made {
        self.operations.push((table, inputs));
        Made::Operation(self.operations.len() as u32 - 1)
    }

    fn make(&mut self, literal: Literal) -> Made {
        // Literals, not nodes, are the keys, so that an inverse is emitted once too.
        if let Some(&made) = self.made.get(&literal.0) {
            return made;
        }
        let made = match literal {
            Literal::FALSE => self.input(Input::Zeros),
            Literal::TRUE => self.input(Input::Ones),
            _ => {
                let plain = self.node(literal.node());
                if literal.is_inverted() {
                    self.operation(INVERSE, vec![plain])
                } else {
                    plain
                }
            }
        };
        self.made.insert(literal.0, made);
        made
    }

    fn node(&mut self, node: usize) -> Made {
        let mut stack = vec![node];
        while let Some(&node) = stack.last() {
            let key = Literal::of(node).0;
            if self.made.contains_key(&key) {
                stack.pop();
                continue;
            }
            let made = match ((self.taken)(node), self.circuit.nodes[node]) {
                (Some(location), _) | (None, Node::Location(location)) => {
                    self.input(Input::Location(location))
                }
                (None, Node::Constant) => self.input(Input::Zeros),
                (None, Node::Computed(function)) => {
                    let missing = function
                        .inputs()
                        .iter()
                        .find(|&&input| !self.made.contains_key(&Literal::of(input as usize).0));
                    if let Some(&input) = missing {
                        stack.push(input as usize);
                        continue;
                    }
                    let inputs = function
                        .inputs()
                        .iter()
                        .map(|&input| self.made[&Literal::of(input as usize).0])
                        .collect();
                    self.operation(function.table, inputs)
                }
            };
            self.made.insert(key, made);
            stack.pop();
        }
        self.made[&Literal::of(node).0]
    }

    fn finish(self) -> Program {
        let n_inputs = self.inputs.len() as u32;
        let value = |made: Made| match made {
            Made::Input(index) => Value(index),
            Made::Operation(index) => Value(n_inputs + index),
        };
        let operations = self
            .operations
            .iter()
            .map(|(table, inputs)| {
                let inputs: Vec<Value> = inputs.iter().map(|&made| value(made)).collect();
                Operation::new(*table, &inputs)
            })
            .collect();
        let mut stores: Vec<(Value, Location)> = self
            .stores
            .iter()
            .map(|&(made, location)| (value(made), location))
            .collect();
        stores.sort_by_key(|&(value, _)| value);
        Program {
            inputs: self.inputs,
            operations,
            stores,
            n_reserved: 0,
            repeat: None,
        }
    }
}
