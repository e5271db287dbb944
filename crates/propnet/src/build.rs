//! From ground program to network.
//!
//! Each atom becomes the OR of its rules, each rule the AND of its body. The [`Builder`] merges
//! equal gates and folds constants as they arise. Atoms of a recursive component each get an OR
//! gate first, whose inputs are set when all atoms of the component have one.

use super::builder::{Builder, NetworkError};
use super::network::{GateKind, Network, Signal};
use super::normalise::normalised;
use panza_gdl::{AtomId, Id, IdVec};
use panza_ground::{AtomKind, GroundProgram, components};
use panza_sync::Budget;

/// Builds the network of a ground program.
///
/// # Errors
/// When the rules are not stratified, or the budget ends it; see [`NetworkError`].
pub fn build(program: &GroundProgram, budget: &Budget) -> Result<Network, NetworkError> {
    let components = components(program).map_err(|atom| NetworkError::NotStratified {
        atom: program.show(atom),
    })?;
    let by_head = program.rules_by_head();
    let mut builder = Builder::new(program.bases.len() + program.moves.len(), budget);
    let mut signal_of: IdVec<AtomId, Signal> =
        program.atoms.iter().map(|_| Signal::FALSE).collect();
    let mut body: Vec<Signal> = Vec::new();
    let mut alternatives: Vec<Signal> = Vec::new();
    for component in &components {
        if builder.is_over_after(component.atoms.len()) {
            break;
        }
        if component.is_cyclic {
            for &atom in &component.atoms {
                signal_of[atom] = builder.reserve(GateKind::Or);
            }
        }
        for &atom in &component.atoms {
            match program.atoms[atom].kind {
                AtomKind::Base(base) => {
                    signal_of[atom] = Signal::of_base(base);
                    continue;
                }
                AtomKind::Does(mv) => {
                    signal_of[atom] = Signal::of_node(1 + program.bases.len() + mv.index());
                    continue;
                }
                AtomKind::Derived => {}
            }
            alternatives.clear();
            for &rule in by_head.of(atom.index()) {
                body.clear();
                body.extend(
                    program.body(rule as usize).iter().map(|literal| {
                        signal_of[literal.atom()].inverted_if(literal.is_negative())
                    }),
                );
                let rule = builder.and(&mut body);
                if rule == Signal::TRUE {
                    alternatives.clear();
                    alternatives.push(rule);
                    break;
                }
                alternatives.push(rule);
            }
            if component.is_cyclic {
                // An atom cannot support itself.
                alternatives.retain(|&rule| rule != signal_of[atom]);
                builder.fill(signal_of[atom], &mut alternatives);
            } else {
                signal_of[atom] = builder.or(&mut alternatives);
            }
        }
    }
    let of = |atom: Option<AtomId>| atom.map_or(Signal::FALSE, |atom| signal_of[atom]);
    let (gates, inputs) = builder.into_gates()?;
    let network = Network {
        roles: program
            .roles
            .iter()
            .map(|&role| program.show_term(role))
            .collect(),
        facts: program
            .bases
            .iter()
            .map(|&fact| program.show_term(fact))
            .collect(),
        moves: program
            .moves
            .iter()
            .map(|mv| (mv.role, program.show_term(mv.term)))
            .collect(),
        initial: program.initial.clone(),
        next: program.next.iter().map(|&next| of(next)).collect(),
        legal: program.moves.iter().map(|mv| signal_of[mv.legal]).collect(),
        terminal: of(program.terminal),
        goals: program
            .goals
            .iter()
            .map(|&(role, value, atom)| (role, value, signal_of[atom]))
            .collect(),
        gates,
        inputs,
        blocks: Vec::new(),
    };
    normalised(network, budget)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::{Budget, NetworkError, build};

    #[test]
    fn what_is_stopped_ends_without_a_result() {
        let conditions: String = (0..300)
            .map(|index| format!(" (true (p {index}))"))
            .collect();
        let (rules, _) = panza_gdl::load(&format!(
            "(role r) (legal r m) (goal r 1) (init (p 0)) (<= terminal{conditions})"
        ));
        let program = panza_ground::ground(&rules, &Budget::generous()).unwrap();
        let stop = std::sync::Arc::new(AtomicBool::new(true));
        let stopped = Budget::generous().stopped_by(&stop);
        let ended = build(&program, &stopped).err();
        assert!(
            matches!(ended, Some(NetworkError::OutOfTime { .. })),
            "{ended:?}"
        );
    }
}
