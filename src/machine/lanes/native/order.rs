//! The order in which a program's operations are run.
//!
//! Invariants: a step comes after those that compute what it needs; operations that nothing needs are left out. Never
//! knows: registers.

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

/// The steps of a program as it stands.
pub(super) fn order(program: &Program) -> Vec<Step> {
    let n_inputs = program.inputs.len();
    let mut is_needed = vec![false; program.n_values()];
    let mut is_kept = vec![false; n_inputs];
    for &(value, _) in &program.stores {
        match is_kept.get_mut(value.0 as usize) {
            Some(is_kept) => *is_kept = true,
            None => is_needed[value.0 as usize] = true,
        }
    }
    for (index, operation) in program.operations.iter().enumerate().rev() {
        if is_needed[n_inputs + index] {
            for input in operation.inputs() {
                is_needed[input.0 as usize] = true;
            }
        }
    }
    let mut steps = Vec::with_capacity(program.operations.len());
    for (index, operation) in program.operations.iter().enumerate() {
        if !is_needed[n_inputs + index] {
            continue;
        }
        for &input in operation.inputs() {
            if let Some(is_kept) = is_kept.get_mut(input.0 as usize)
                && std::mem::take(is_kept)
            {
                steps.push(Step::Keep(input));
            }
        }
        steps.push(Step::Compute(index as u32));
    }
    for (index, is_kept) in is_kept.into_iter().enumerate() {
        if is_kept {
            steps.push(Step::Keep(Value(index as u32)));
        }
    }
    steps
}
