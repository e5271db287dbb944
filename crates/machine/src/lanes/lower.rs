//! From a program to instructions on the vector registers of a processor.
//!
//! Both back-ends that make code share this: list scheduling keeps values close to their uses, and
//! register allocation keeps them in registers as far as possible.
//!
//! Never uses: the encoding of an instruction, the width of a vector.

mod allocate;
mod decompose;
mod order;

use super::program::{Location, Program};
use allocate::Allocated;
pub(super) use allocate::{BinaryOp, Operand, Register, Target, VectorOp};

/// The most vectors of a bank, so that every displacement fits 32 bits.
pub(super) const MAX_INDEX: usize = 1 << 24;

/// A program for a processor, and the memory that it accesses.
#[derive(Clone, Debug)]
pub(super) struct Lowered {
    pub ops: Vec<VectorOp>,
    /// The vectors of a bank of states.
    pub n_state: usize,
    pub n_slots: usize,
}

/// The instructions of a program on a processor. `None` for programs too large for the addressing.
pub(super) fn lower(program: &Program, target: Target) -> Option<Lowered> {
    let decomposed;
    let program = if target.has_tables {
        program
    } else {
        decomposed = decompose::decompose(program);
        &decomposed
    };
    let steps = order::order(program, target.n_registers);
    let Allocated { ops, n_slots } = allocate::allocate(program, &steps, target);
    let (n_state, n_accessed) = extent(&ops)?;
    Some(Lowered {
        ops,
        n_state,
        n_slots: n_accessed.max(n_slots as usize),
    })
}

/// The location that an instruction reads or writes.
pub(super) fn location_of(op: &VectorOp) -> Option<Location> {
    match *op {
        VectorOp::Load(_, location)
        | VectorOp::Store(location, _)
        | VectorOp::BinaryOp(_, _, _, Operand::Location(location))
        | VectorOp::Table {
            c: Operand::Location(location),
            ..
        } => Some(location),
        _ => None,
    }
}

/// The vectors that the ops access of each bank of states and of the slots. `None` above the
/// addressable number.
fn extent(ops: &[VectorOp]) -> Option<(usize, usize)> {
    let (mut n_state, mut n_slots) = (0, 0);
    for location in ops.iter().filter_map(location_of) {
        let (bank, index) = match location {
            Location::Now(index) | Location::Next(index) => (&mut n_state, index),
            Location::Slot(index) => (&mut n_slots, index),
        };
        *bank = (*bank).max(index as usize + 1);
    }
    (n_state.max(n_slots) <= MAX_INDEX).then_some((n_state, n_slots))
}
