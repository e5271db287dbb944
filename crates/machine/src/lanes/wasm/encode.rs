//! Encoding of a program as a WebAssembly module.
//!
//! The module imports the memory `env.memory` and exports one function `run(now, next, slots)`,
//! which takes the addresses of the two banks of states and of the slots. A vector register of 128
//! bits works on a part of every vector, and the instructions run for one part after the other.
//!
//! Registers are locals, spilled here and not by the browser: its compilers keep the order of
//! operations less well, and the first of them, which compiles at once, does no more than it is
//! told. So both make code that is about equally fast. Long programs are cut into functions. `run`
//! calls each for all parts before the next, so that its code is in the processor's caches for all
//! but the first: up to a third faster. Registers that are used beyond a cut go through slots.
//!
//! There is no `bitselect`: it is three instructions on x86-64, as many as what it replaces.
//!
//! Invariants: the code accesses only the locations that its ops name and the slots that a cut
//! adds, and calls only its own functions. Never knows: values.

use wasm_encoder::{
    BlockType, CodeSection, EntityType, ExportKind, ExportSection, Function, FunctionSection,
    ImportSection, InstructionSink, MemArg, MemArgTarget, MemoryType, Module, TypeSection, ValType,
};

use super::super::lower::{BinaryOp, Lowered, MAX_INDEX, Operand, Register, Target, VectorOp};
use super::super::program::Location;

/// The bytes of a register.
const WIDTH: usize = 16;
/// Browsers have 16 registers on x86-64 processors, and use some for themselves. With 14 the code
/// is one to three hundredths faster than with 15, and four to twelve faster than with 28.
pub(super) const TARGET: Target = Target {
    n_registers: 14,
    has_tables: false,
};
/// The most instructions of a function.
const MAX_LENGTH: usize = 700;

/// The parameters of every function, in their order.
const BANKS: u32 = 3;
/// The name of the function that a module exports.
pub(super) const RUN: &str = "run";

/// A module, and the slots that its memory needs.
#[derive(Debug)]
pub(super) struct Encoded {
    pub bytes: Vec<u8>,
    pub n_slots: usize,
}

/// The module of a program for vectors of `n_words` words, an even number. `None` for programs too
/// large for the addressing.
pub(super) fn encode(lowered: &Lowered, n_words: usize) -> Option<Encoded> {
    let functions = Functions::new(lowered)?;
    let stride = 8 * n_words;
    let mut code = CodeSection::new();
    for ops in &functions.bodies {
        let mut writer = Writer::new(ops, 0, stride);
        for op in ops {
            writer.op(op);
        }
        code.function(&writer.finish());
    }
    code.function(&run(&functions, stride));
    let mut types = TypeSection::new();
    types.ty().function([ValType::I32; BANKS as usize], []);
    let mut imports = ImportSection::new();
    let memory = MemoryType {
        minimum: 0,
        maximum: None,
        memory64: false,
        shared: false,
        page_size_log2: None,
    };
    imports.import("env", "memory", EntityType::Memory(memory));
    let n_bodies = functions.bodies.len() as u32;
    let mut declared = FunctionSection::new();
    for _ in 0..=n_bodies {
        declared.function(0);
    }
    let mut exports = ExportSection::new();
    exports.export(RUN, ExportKind::Func, n_bodies);
    let mut module = Module::new();
    module
        .section(&types)
        .section(&imports)
        .section(&declared)
        .section(&exports)
        .section(&code);
    Some(Encoded {
        bytes: module.finish(),
        n_slots: functions.n_slots,
    })
}

/// The function that runs the others on every part of the vectors.
fn run(functions: &Functions, stride: usize) -> Function {
    let Functions { before, after, .. } = functions;
    let n_parts = (stride / WIDTH) as i32;
    let mut writer = Writer::new(before.iter().chain(after), 1, stride);
    let call = |writer: &mut Writer, body: usize| {
        let mut sink = writer.sink();
        for bank in 0..BANKS {
            sink.local_get(bank);
        }
        sink.call(body as u32);
    };
    let n_bodies = functions.bodies.len();
    if after.is_empty() {
        for body in 0..n_bodies {
            writer.for_each_part(n_parts, |writer| call(writer, body));
            if body + 1 < n_bodies {
                writer.advance(-n_parts);
            }
        }
    } else {
        // Each part has as many iterations as it needs.
        writer.for_each_part(n_parts, |writer| {
            before.iter().for_each(|op| writer.op(op));
            (0..n_bodies).for_each(|body| call(writer, body));
            after.iter().for_each(|op| writer.op(op));
        });
    }
    writer.finish()
}

/// The instructions of a module by functions.
struct Functions {
    /// What `run` does before it calls the bodies, up to the start of the loop if there is one.
    before: Vec<VectorOp>,
    bodies: Vec<Vec<VectorOp>>,
    /// What `run` does after that, up to the end of the loop.
    after: Vec<VectorOp>,
    n_slots: usize,
}

impl Functions {
    fn new(lowered: &Lowered) -> Option<Self> {
        let ops = lowered.ops.as_slice();
        let start = ops.iter().position(|&op| op == VectorOp::LoopStart);
        let (before, ops) = ops.split_at(start.map_or(0, |start| start + 1));
        // No register is used beyond the start or the end of a loop: the end loads what it tests.
        let n_after = match start {
            Some(_) => LOOP_END,
            None => 0,
        };
        let (ops, after) = ops.split_at(ops.len() - n_after);
        let mut functions = Self {
            before: before.to_vec(),
            bodies: Vec::new(),
            after: after.to_vec(),
            n_slots: lowered.n_slots,
        };
        functions.cut(ops);
        (functions.n_slots <= MAX_INDEX).then_some(functions)
    }

    /// Cuts instructions into functions of equal length.
    fn cut(&mut self, ops: &[VectorOp]) {
        let length = ops
            .len()
            .div_ceil(ops.len().div_ceil(MAX_LENGTH).max(1))
            .max(1);
        let first_slot = self.n_slots as u32;
        let slot = |register: &Register| Location::Slot(first_slot + u32::from(*register));
        let mut used_later: Vec<Register> = Vec::new();
        // From the last to the first, since what a function leaves is what later ones use.
        for part in ops.chunks(length).rev() {
            let used = used_at_start(part, &used_later);
            let loads = used.iter().map(|of| VectorOp::Load(*of, slot(of)));
            let stores = used_later.iter().map(|of| VectorOp::Store(slot(of), *of));
            let body = loads.chain(part.iter().copied()).chain(stores).collect();
            self.bodies.push(body);
            let n_slots = used.iter().map(|&register| usize::from(register) + 1);
            let n_slots = n_slots.max().unwrap_or(0);
            self.n_slots = self.n_slots.max(first_slot as usize + n_slots);
            used_later = used;
        }
        self.bodies.reverse();
    }
}

/// The instructions at the end of a loop: a load, and the jump.
const LOOP_END: usize = 2;

/// The registers whose values are used before some instructions set them, or after all of them.
fn used_at_start(ops: &[VectorOp], used_later: &[Register]) -> Vec<Register> {
    let mut used: u32 = used_later.iter().map(|register| 1 << register).sum();
    for op in ops.iter().rev() {
        if let Some(register) = set_by(op) {
            used &= !(1 << register);
        }
        for register in used_by(op).into_iter().flatten() {
            used |= 1 << register;
        }
    }
    (0..u32::BITS as Register)
        .filter(|register| used >> register & 1 == 1)
        .collect()
}

fn set_by(op: &VectorOp) -> Option<Register> {
    match *op {
        VectorOp::Zeros(to)
        | VectorOp::Ones(to)
        | VectorOp::Load(to, _)
        | VectorOp::Copy(to, _)
        | VectorOp::BinaryOp(_, to, ..)
        | VectorOp::Table { to, .. } => Some(to),
        VectorOp::Store(..) | VectorOp::LoopStart | VectorOp::LoopWhileAny(_) => None,
    }
}

fn used_by(op: &VectorOp) -> [Option<Register>; 3] {
    let register = |operand| match operand {
        Operand::Register(register) => Some(register),
        Operand::Location(_) => None,
    };
    match *op {
        VectorOp::Zeros(_) | VectorOp::Ones(_) | VectorOp::Load(..) | VectorOp::LoopStart => {
            [None; 3]
        }
        VectorOp::Store(_, from) | VectorOp::Copy(_, from) | VectorOp::LoopWhileAny(from) => {
            [Some(from), None, None]
        }
        VectorOp::BinaryOp(_, _, a, b) => [Some(a), register(b), None],
        VectorOp::Table { to, b, c, .. } => [Some(to), Some(b), register(c)],
    }
}

/// Writes a function.
struct Writer {
    function: Function,
    /// The local of the first register.
    first_register: u32,
    /// Bytes from one vector to the next.
    stride: usize,
}

impl Writer {
    /// A function with `n_numbers` locals of 32 bits, and a vector local for each register that the
    /// instructions set. `stride` is in bytes.
    fn new<'a>(ops: impl IntoIterator<Item = &'a VectorOp>, n_numbers: u32, stride: usize) -> Self {
        let registers = ops.into_iter().filter_map(set_by);
        let n_registers = registers.map(|register| u32::from(register) + 1).max();
        let locals = [
            (n_numbers, ValType::I32),
            (n_registers.unwrap_or(0), ValType::V128),
        ];
        Self {
            function: Function::new(locals),
            first_register: BANKS + n_numbers,
            stride,
        }
    }

    fn sink(&mut self) -> InstructionSink<'_> {
        self.function.instructions()
    }

    fn finish(mut self) -> Function {
        self.sink().end();
        self.function
    }

    /// Adds `n_parts` vectors of 128 bits to the addresses.
    fn advance(&mut self, n_parts: i32) {
        let mut sink = self.sink();
        for bank in 0..BANKS {
            sink.local_get(bank).i32_const(n_parts * WIDTH as i32);
            sink.i32_add().local_set(bank);
        }
    }

    /// Does something for every part of the vectors. The addresses are then behind the last part.
    fn for_each_part(&mut self, n_parts: i32, mut work: impl FnMut(&mut Self)) {
        let parts_left = BANKS;
        let mut sink = self.sink();
        sink.i32_const(n_parts).local_set(parts_left);
        sink.loop_(BlockType::Empty);
        work(self);
        self.advance(1);
        let mut sink = self.sink();
        sink.local_get(parts_left).i32_const(1).i32_sub();
        sink.local_tee(parts_left).br_if(0).end();
    }

    fn local(&self, register: Register) -> u32 {
        self.first_register + u32::from(register)
    }

    /// The bank of a location, and how far from its start that is.
    fn address(&self, location: Location) -> (u32, MemArg) {
        let (bank, index) = match location {
            Location::Now(index) => (0, index),
            Location::Next(index) => (1, index),
            Location::Slot(index) => (2, index),
        };
        let at = MemArg {
            offset: u64::from(index) * self.stride as u64,
            align: WIDTH.trailing_zeros(),
            target: MemArgTarget::Memory(0),
            ordering: None,
        };
        (bank, at)
    }

    fn load(&mut self, from: Location) {
        let (bank, at) = self.address(from);
        self.sink().local_get(bank).v128_load(at);
    }

    fn get(&mut self, operand: Operand) {
        match operand {
            Operand::Register(register) => {
                let local = self.local(register);
                self.sink().local_get(local);
            }
            Operand::Location(location) => self.load(location),
        }
    }

    fn set(&mut self, register: Register) {
        let local = self.local(register);
        self.sink().local_set(local);
    }

    fn op(&mut self, op: &VectorOp) {
        match *op {
            VectorOp::Zeros(to) => {
                self.sink().v128_const(0);
                self.set(to);
            }
            VectorOp::Ones(to) => {
                self.sink().v128_const(-1);
                self.set(to);
            }
            VectorOp::Load(to, from) => {
                self.load(from);
                self.set(to);
            }
            VectorOp::Store(to, from) => {
                let (bank, at) = self.address(to);
                let from = self.local(from);
                self.sink().local_get(bank).local_get(from).v128_store(at);
            }
            VectorOp::Copy(to, from) => {
                self.get(Operand::Register(from));
                self.set(to);
            }
            VectorOp::LoopStart => {
                self.sink().loop_(BlockType::Empty);
            }
            VectorOp::LoopWhileAny(register) => {
                self.get(Operand::Register(register));
                self.sink().v128_any_true().br_if(0).end();
            }
            VectorOp::BinaryOp(op, to, a, b) => self.binary(op, to, Operand::Register(a), b),
            VectorOp::Table { .. } => debug_assert!(false, "the target has no tables"),
        }
    }

    fn binary(&mut self, op: BinaryOp, to: Register, a: Operand, b: Operand) {
        // WebAssembly's and-not inverts its second input.
        let (a, b) = match op {
            BinaryOp::AndNot => (b, a),
            _ => (a, b),
        };
        self.get(a);
        self.get(b);
        let mut sink = self.sink();
        match op {
            BinaryOp::And => sink.v128_and(),
            BinaryOp::AndNot => sink.v128_andnot(),
            BinaryOp::Or => sink.v128_or(),
            BinaryOp::Xor => sink.v128_xor(),
        };
        self.set(to);
    }
}
