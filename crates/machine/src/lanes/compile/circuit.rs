//! Circuits under construction: literals over values, simplified and shared as they are built.
//!
//! A literal is a value or its inverse. Any function of three values is one operation, so
//! inversions are free: they are folded into the tables of the users. Common subexpressions are
//! built once.
//!
//! Invariants: no operation has a constant input, the same value twice, or an input that it does
//! not depend on. Every operation's result is off when all its inputs are (else its inverse is
//! built), so a function and its inverse share a value.
//!
//! Never uses: networks, moves.

use rustc_hash::{FxHashMap, FxHashSet};

use super::super::program::{FixpointLoop, Location, Program, depends_on};

/// A value or its inverse, or a constant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Literal(pub(super) u32);

impl Literal {
    /// Off in every lane.
    pub(super) const FALSE: Literal = Literal(0);
    /// On in every lane.
    pub(super) const TRUE: Literal = Literal(1);

    pub(super) fn of(node: usize) -> Self {
        Literal((node as u32) << 1)
    }

    pub(super) fn node(self) -> usize {
        (self.0 >> 1) as usize
    }

    pub(super) fn is_inverted(self) -> bool {
        self.0 & 1 == 1
    }

    pub(super) fn is_constant(self) -> bool {
        self.0 <= 1
    }

    pub(super) fn inverted_if(self, condition: bool) -> Self {
        Literal(self.0 ^ u32::from(condition))
    }
}

impl std::ops::Not for Literal {
    type Output = Literal;
    fn not(self) -> Literal {
        Literal(self.0 ^ 1)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Function {
    n_inputs: u8,
    inputs: [u32; 3],
    /// Bit `4a + 2b + c`, whatever the number of inputs; it does not depend on missing ones.
    pub(super) table: u8,
}

const PROJECTIONS: [u8; 3] = [0xf0, 0xcc, 0xaa];

impl Function {
    pub(super) fn literal(literal: Literal) -> Self {
        let inversion = if literal.is_inverted() { 0xff } else { 0 };
        if literal.is_constant() {
            return Self {
                n_inputs: 0,
                inputs: [0; 3],
                table: inversion,
            };
        }
        Self {
            n_inputs: 1,
            inputs: [literal.node() as u32, 0, 0],
            table: PROJECTIONS[0] ^ inversion,
        }
    }

    pub(super) fn inputs(&self) -> &[u32] {
        &self.inputs[..usize::from(self.n_inputs)]
    }

    pub(super) fn n_inputs(&self) -> usize {
        usize::from(self.n_inputs)
    }

    pub(super) fn inverted_if(mut self, condition: bool) -> Self {
        if condition {
            self.table = !self.table;
        }
        self
    }

    pub(super) fn overlaps(&self, other: &Self) -> bool {
        self.inputs()
            .iter()
            .any(|node| other.inputs().contains(node))
    }

    /// The conjunction, if it depends on at most three nodes.
    pub(super) fn and(&self, other: &Self) -> Option<Self> {
        let mut inputs = self.inputs;
        let mut n_inputs = self.n_inputs();
        for &node in other.inputs() {
            if !inputs[..n_inputs].contains(&node) {
                if n_inputs == 3 {
                    return None;
                }
                inputs[n_inputs] = node;
                n_inputs += 1;
            }
        }
        let table = self.over(&inputs[..n_inputs]) & other.over(&inputs[..n_inputs]);
        Some(Self::reduced(table, &inputs[..n_inputs]))
    }

    /// The table over other inputs, which include its own.
    fn over(&self, inputs: &[u32]) -> u8 {
        let mut table = 0;
        for row in 0..8u8 {
            let mut own_row = 0;
            for (position, node) in self.inputs().iter().enumerate() {
                let at = inputs.iter().position(|other| other == node).unwrap_or(0);
                own_row |= (row >> (2 - at) & 1) << (2 - position);
            }
            table |= (self.table >> own_row & 1) << row;
        }
        table
    }

    /// The function of a table over distinct nodes, without those that it does not depend on, its
    /// nodes in rising order.
    fn reduced(table: u8, inputs: &[u32]) -> Self {
        let mut kept = [0u32; 3];
        let mut n_kept = 0;
        for (position, &node) in inputs.iter().enumerate() {
            if depends_on(table, position) {
                kept[n_kept] = node;
                n_kept += 1;
            }
        }
        kept[..n_kept].sort_unstable();
        let mut reduced = 0;
        for row in 0..8u8 {
            let mut old_row = 0;
            for (position, node) in inputs.iter().enumerate() {
                if let Some(at) = kept[..n_kept].iter().position(|other| other == node) {
                    old_row |= (row >> (2 - at) & 1) << (2 - position);
                }
            }
            reduced |= (table >> old_row & 1) << row;
        }
        Self {
            n_inputs: n_kept as u8,
            inputs: kept,
            table: reduced,
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Node {
    Constant,
    Location(Location),
    Computed(Function),
}

/// A part of a circuit that becomes a program.
#[derive(Clone, Default, Debug)]
pub(super) struct Stage {
    /// Values and the locations that they are stored to.
    pub(super) outputs: Vec<(Literal, Location)>,
    /// Nodes to compute here, for later stages.
    pub(super) early: Vec<u32>,
    pub(super) repeat: Option<FixpointLoop>,
}

/// A circuit: nodes in topological order.
#[derive(Clone, Debug)]
pub(super) struct Circuit {
    pub(super) nodes: Vec<Node>,
    locations: FxHashMap<Location, Literal>,
    computed: FxHashMap<(u8, [u32; 3]), Literal>,
}

impl Circuit {
    pub(super) fn new() -> Self {
        Self {
            nodes: vec![Node::Constant],
            locations: FxHashMap::default(),
            computed: FxHashMap::default(),
        }
    }

    pub(super) fn location(&mut self, location: Location) -> Literal {
        let nodes = &mut self.nodes;
        *self.locations.entry(location).or_insert_with(|| {
            nodes.push(Node::Location(location));
            Literal::of(nodes.len() - 1)
        })
    }

    /// The literal of a function; makes a node if there is none.
    pub(super) fn value(&mut self, function: Function) -> Literal {
        if function.n_inputs == 0 {
            return Literal::FALSE.inverted_if(function.table & 1 == 1);
        }
        let is_inverted = function.table & 1 == 1;
        let function = function.inverted_if(is_inverted);
        if function.n_inputs == 1 {
            return Literal::of(function.inputs[0] as usize).inverted_if(is_inverted);
        }
        let key = (function.table, function.inputs);
        let nodes = &mut self.nodes;
        let literal = *self.computed.entry(key).or_insert_with(|| {
            nodes.push(Node::Computed(function));
            Literal::of(nodes.len() - 1)
        });
        literal.inverted_if(is_inverted)
    }

    /// The function of a table of three literals, constants and repetitions allowed.
    fn function(table: u8, literals: [Literal; 3]) -> Function {
        let mut distinct: [u32; 3] = [0; 3];
        let mut n_distinct = 0;
        for literal in literals {
            let node = literal.node() as u32;
            if !literal.is_constant() && !distinct[..n_distinct].contains(&node) {
                distinct[n_distinct] = node;
                n_distinct += 1;
            }
        }
        let mut over_distinct = 0u8;
        for row in 0..8u8 {
            let mut inner = 0;
            for (position, literal) in literals.iter().enumerate() {
                let node = literal.node() as u32;
                let at = distinct[..n_distinct]
                    .iter()
                    .position(|&other| other == node);
                let plain = match at {
                    Some(at) if !literal.is_constant() => row >> (2 - at) & 1,
                    _ => 0,
                };
                inner |= (plain ^ u8::from(literal.is_inverted())) << (2 - position);
            }
            over_distinct |= (table >> inner & 1) << row;
        }
        Function::reduced(over_distinct, &distinct[..n_distinct])
    }

    pub(super) fn apply(&mut self, table: u8, a: Literal, b: Literal, c: Literal) -> Literal {
        let function = Self::function(table, [a, b, c]);
        self.value(function)
    }

    pub(super) fn and(&mut self, a: Literal, b: Literal) -> Literal {
        self.apply(0xc0, a, b, Literal::FALSE)
    }

    pub(super) fn and3(&mut self, a: Literal, b: Literal, c: Literal) -> Literal {
        self.apply(0x80, a, b, c)
    }

    pub(super) fn or(&mut self, a: Literal, b: Literal) -> Literal {
        self.apply(0xfc, a, b, Literal::FALSE)
    }

    pub(super) fn xor3(&mut self, a: Literal, b: Literal, c: Literal) -> Literal {
        self.apply(0x96, a, b, c)
    }

    pub(super) fn majority(&mut self, a: Literal, b: Literal, c: Literal) -> Literal {
        self.apply(0xe8, a, b, c)
    }

    /// `b` where `a` is on, else `c`.
    pub(super) fn choose(&mut self, a: Literal, b: Literal, c: Literal) -> Literal {
        self.apply(0xca, a, b, c)
    }

    /// The conjunction, in as few operations as three-input functions allow.
    pub(super) fn all(&mut self, operands: &[Literal]) -> Literal {
        let functions = operands.iter().map(|&literal| Function::literal(literal));
        let function = self.conjunction(functions.collect());
        self.value(function)
    }

    pub(super) fn any(&mut self, operands: &[Literal]) -> Literal {
        let inverted: Vec<Literal> = operands.iter().map(|&literal| !literal).collect();
        !self.all(&inverted)
    }

    /// The conjunction of functions; its last operation is left open to be merged into a user.
    /// Functions over the same nodes are merged, each function of two nodes is combined with a
    /// single node, and single nodes by threes.
    pub(super) fn conjunction(&mut self, functions: Vec<Function>) -> Function {
        let mut functions: Vec<Function> = functions
            .into_iter()
            .filter(|function| !(function.n_inputs == 0 && function.table & 1 == 1))
            .collect();
        if let Some(&off) = functions.iter().find(|function| function.n_inputs == 0) {
            return off;
        }
        if functions.len() <= MAX_MERGED {
            merge_overlapping(&mut functions);
        }
        let mut single = Vec::new();
        let mut double = Vec::new();
        let mut triple = Vec::new();
        for function in functions {
            match function.n_inputs {
                1 => single.push(function),
                2 => double.push(function),
                3 => triple.push(function),
                _ => return function,
            }
        }
        let is_alone = single.is_empty() && double.is_empty() && triple.len() == 1;
        if is_alone {
            return triple[0];
        }
        for function in triple {
            let literal = self.value(function);
            single.push(Function::literal(literal));
        }
        let on = Function::literal(Literal::TRUE);
        let close = |circuit: &mut Self, parts: &[Function]| {
            let mut whole = on;
            for part in parts {
                match whole.and(part) {
                    Some(both) => whole = both,
                    // Only constants among the values just made lead here.
                    None => {
                        let literal = circuit.value(whole);
                        whole = Function::literal(literal).and(part).unwrap_or(*part);
                    }
                }
            }
            whole
        };
        while let Some(pair) = double.pop() {
            match single.pop() {
                Some(other) => {
                    let whole = close(self, &[other, pair]);
                    if single.is_empty() && double.is_empty() {
                        return whole;
                    }
                    let literal = self.value(whole);
                    single.push(Function::literal(literal));
                }
                None if double.is_empty() => return pair,
                None => {
                    let literal = self.value(pair);
                    single.push(Function::literal(literal));
                }
            }
        }
        while single.len() > 3 {
            let parts = single.split_off(single.len() - 3);
            let whole = close(self, &parts);
            let literal = self.value(whole);
            single.push(Function::literal(literal));
        }
        close(self, &single)
    }

    /// The computed nodes that the outputs of a loop need and that are the same in every iteration:
    /// those that do not depend on the carried slots.
    pub(super) fn loop_invariants(&self, stage: &Stage) -> Vec<u32> {
        let Some(FixpointLoop { carried, .. }) = &stage.repeat else {
            return Vec::new();
        };
        // Nodes made before those of the carried slots do not depend on them.
        let slots = carried.clone().map(Location::Slot);
        let nodes = slots.filter_map(|slot| self.locations.get(&slot));
        let first = nodes.map(|literal| literal.node()).min().unwrap_or(0) as u32;
        let mut cone = FxHashSet::default();
        let outputs = stage.outputs.iter();
        let mut open: Vec<u32> = outputs.map(|(literal, _)| literal.node() as u32).collect();
        while let Some(node) = open.pop() {
            if cone.insert(node)
                && node >= first
                && let Node::Computed(function) = self.nodes[node as usize]
            {
                open.extend(function.inputs());
            }
        }
        let mut cone: Vec<u32> = cone.into_iter().collect();
        cone.sort_unstable();
        let mut changing = FxHashSet::default();
        let mut invariant = Vec::new();
        for node in cone {
            match self.nodes[node as usize] {
                Node::Location(Location::Slot(slot)) if carried.contains(&slot) => {
                    changing.insert(node);
                }
                Node::Computed(function) => {
                    let inputs = function.inputs().iter();
                    if inputs.clone().any(|input| changing.contains(input)) {
                        changing.insert(node);
                        let constant = inputs.filter(|input| !changing.contains(input));
                        invariant.extend(constant.copied());
                    }
                }
                _ => {}
            }
        }
        invariant.sort_unstable();
        invariant.dedup();
        invariant.retain(|&node| matches!(self.nodes[node as usize], Node::Computed(_)));
        invariant
    }

    /// A program per stage. Each stores its stage's outputs, and in slots from `first_slot` on the
    /// values that an operation or output of a later stage needs.
    pub(super) fn stages(&self, stages: &[Stage], first_slot: u32) -> (Vec<Program>, u32) {
        // The stage that computes each node: the first that needs it.
        const NEVER: usize = usize::MAX;
        let mut made_in = vec![NEVER; self.nodes.len()];
        let mut open: Vec<usize> = Vec::new();
        for (stage, Stage { outputs, early, .. }) in stages.iter().enumerate() {
            open.extend(outputs.iter().map(|(literal, _)| literal.node()));
            open.extend(early.iter().map(|&node| node as usize));
            while let Some(node) = open.pop() {
                if made_in[node] != NEVER {
                    continue;
                }
                made_in[node] = stage;
                if let Node::Computed(function) = self.nodes[node] {
                    open.extend(function.inputs().iter().map(|&input| input as usize));
                }
            }
        }
        // A value that its stage stores in a slot is taken from there.
        let mut stored: FxHashMap<Literal, Location> = FxHashMap::default();
        for (stage, Stage { outputs, .. }) in stages.iter().enumerate() {
            for &(literal, location) in outputs {
                if matches!(location, Location::Slot(_)) && made_in[literal.node()] == stage {
                    stored.entry(literal).or_insert(location);
                }
            }
        }
        let mut next_slot = first_slot;
        let mut passed: FxHashMap<u32, Location> = FxHashMap::default();
        let outputs = stages.iter().map(|stage| stage.outputs.clone());
        let mut outputs: Vec<Vec<(Literal, Location)>> = outputs.collect();
        let mut pass = |node: usize, stage: usize| {
            let is_computed = matches!(self.nodes[node], Node::Computed(_));
            if is_computed && made_in[node] < stage {
                passed.entry(node as u32).or_insert_with(|| {
                    let literal = Literal::of(node);
                    stored.get(&literal).copied().unwrap_or_else(|| {
                        let location = Location::Slot(next_slot);
                        next_slot += 1;
                        outputs[made_in[node]].push((literal, location));
                        location
                    })
                });
            }
        };
        for (node, &stage) in made_in.iter().enumerate().filter(|&(_, &in_)| in_ != NEVER) {
            if let Node::Computed(function) = self.nodes[node] {
                for &input in function.inputs() {
                    pass(input as usize, stage);
                }
            }
        }
        for (stage, Stage { outputs, .. }) in stages.iter().enumerate() {
            for (literal, _) in outputs {
                pass(literal.node(), stage);
            }
        }
        let programs = outputs.iter().enumerate().map(|(stage, outputs)| {
            self.emit(outputs, stages[stage].repeat.clone(), |node| {
                let is_earlier = made_in[node] < stage;
                passed.get(&(node as u32)).copied().filter(|_| is_earlier)
            })
        });
        let reserved = |program| Program {
            n_reserved: next_slot,
            ..program
        };
        (programs.map(reserved).collect(), next_slot)
    }
}

/// Conjunctions of more functions are not searched for overlapping ones.
const MAX_MERGED: usize = 24;

/// Merges functions over the same nodes while the conjunction depends on at most three nodes.
fn merge_overlapping(functions: &mut Vec<Function>) {
    let mut index = 0;
    while index < functions.len() {
        let found = (index + 1..functions.len()).find_map(|other| {
            let overlaps = functions[index].overlaps(&functions[other]);
            let both = overlaps.then(|| functions[index].and(&functions[other]))?;
            Some((other, both?))
        });
        match found {
            Some((other, both)) => {
                functions[index] = both;
                functions.swap_remove(other);
            }
            None => index += 1,
        }
    }
}
