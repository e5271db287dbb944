//! Strongly connected components of ground atoms, dependencies first.

use super::program::GroundProgram;
use panza_gdl::{AtomId, Id, strongly_connected};

/// Atoms that depend on each other, or one that does not depend on itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Component {
    pub atoms: Vec<AtomId>,
    /// Whether they depend on each other (or the one on itself).
    pub is_cyclic: bool,
}

/// The atoms that depend on their own negation, each with the negated atom of its rule by which it
/// does.
pub(super) fn own_negations(program: &GroundProgram) -> Vec<(AtomId, AtomId)> {
    let (_, group_of) = groups(program);
    let mut found = Vec::new();
    for (index, rule) in program.rules.iter().enumerate() {
        let head = group_of[rule.head.index()];
        let negated = program.body(index).iter().filter(|it| it.is_negative());
        let own = negated.filter(|it| group_of[it.atom().index()] == head);
        found.extend(own.map(|literal| (rule.head, literal.atom())));
    }
    found
}

/// The groups of atoms that depend on each other, dependencies first, and the group of each atom.
fn groups(program: &GroundProgram) -> (Vec<Vec<u32>>, Vec<u32>) {
    let by_head = program.rules_by_head();
    let body_atoms = |node: usize| {
        let rules = by_head.of(node);
        rules
            .iter()
            .flat_map(|&rule| program.body(rule as usize))
            .map(|literal| literal.atom().index())
    };
    let groups = strongly_connected(program.atoms.len(), body_atoms);
    let mut group_of = vec![0u32; program.atoms.len()];
    for (index, group) in groups.iter().enumerate() {
        for &node in group {
            group_of[node as usize] = index as u32;
        }
    }
    (groups, group_of)
}

/// The components of a ground program, each after all those it depends on.
///
/// # Errors
/// The atom that depends on its own negation, if there is one.
pub fn components(program: &GroundProgram) -> Result<Vec<Component>, AtomId> {
    let by_head = program.rules_by_head();
    let (groups, group_of) = groups(program);
    let mut result = Vec::with_capacity(groups.len());
    for group in groups {
        let mut is_cyclic = false;
        for &node in &group {
            for &rule in by_head.of(node as usize) {
                for literal in program.body(rule as usize) {
                    if group_of[literal.atom().index()] == group_of[node as usize] {
                        if literal.is_negative() {
                            return Err(AtomId(node));
                        }
                        is_cyclic = true;
                    }
                }
            }
        }
        result.push(Component {
            atoms: group.into_iter().map(AtomId).collect(),
            is_cyclic,
        });
    }
    Ok(result)
}
