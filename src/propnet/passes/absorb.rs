//! What another input of the same gate already says is left out.
//!
//! Patterns, inside one AND: `a ∧ (a ∨ b)` becomes `a`, since the OR follows; `a ∧ (¬a ∨ b)`
//! becomes `a ∧ b`, since that alternative is out; `a ∧ (a ∧ b)` becomes `a ∧ b`, and `a ∧ (¬a ∧
//! b)` never holds. Each is sound by itself as a law of propositional logic, and through inversion
//! each also holds for ORs. An OR that loses an alternative is made anew for this gate, so that is
//! done only to ORs that no other gate needs. Such patterns are left where rules overlap, and where
//! a base that is known in one phase has become a constant.
//!
//! Not applied unless asked for: of 17 games it takes 2 % of the gates of three and next to nothing
//! of the others', and what it takes may have been a guard: the updates per step of English
//! draughts rise from 342 to 406.

use super::{Context, rewrite};
use crate::ground::Budget;
use crate::propnet::{BuildError, Network, Signal};

/// Applies the pass.
///
/// # Errors
/// When the budget ends.
pub fn absorb(network: &Network, budget: Budget) -> Result<Network, BuildError> {
    let mut kept: Vec<Signal> = Vec::new();
    let mut shortened: Vec<Signal> = Vec::new();
    rewrite(network, budget, |context: &mut Context<'_>, inputs| {
        inputs.sort_unstable();
        inputs.dedup();
        kept.clear();
        // A gate's inputs are plain alternatives once it is inverted: `¬(¬a ∧ ¬b)` is `a ∨ b`.
        let mut is_inside: Vec<Signal> = Vec::new();
        for &input in inputs.iter() {
            if !input.is_inverted()
                && let Some(inner) = context.builder.and_inputs(input)
            {
                is_inside.extend_from_slice(inner);
            }
        }
        is_inside.sort_unstable();
        let holds = |signal: Signal| {
            inputs.binary_search(&signal).is_ok() || is_inside.binary_search(&signal).is_ok()
        };
        if is_inside.iter().any(|&signal| holds(!signal)) {
            return Signal::FALSE;
        }
        for &input in inputs.iter() {
            if is_inside.binary_search(&input).is_ok() {
                continue;
            }
            let Some(inner) = context
                .builder
                .and_inputs(input)
                .filter(|_| input.is_inverted())
            else {
                kept.push(input);
                continue;
            };
            // An alternative that holds makes the OR follow.
            if inner.iter().any(|&alternative| holds(!alternative)) {
                continue;
            }
            let n_out = inner
                .iter()
                .filter(|&&alternative| holds(alternative))
                .count();
            if n_out == 0 || (n_out + 1 < inner.len() && context.single_and(input).is_none()) {
                kept.push(input);
                continue;
            }
            shortened.clear();
            shortened.extend(inner.iter().filter(|&&alternative| !holds(alternative)));
            let rest = context.builder.and(&mut shortened);
            kept.push(!rest);
        }
        inputs.clone_from(&kept);
        context.builder.and(inputs)
    })
}
