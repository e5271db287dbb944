//! Components of mutually dependent relations, in the order of evaluation.
//!
//! Each component comes after all those it depends on. Its [`Stage`] is the lifetime of its facts.

use std::collections::HashMap;

use panza_gdl::ids::define_id;
use panza_gdl::{Id, IdVec, RelationGraph, Rule, Signature, keyword};

define_id! { RelationId }

impl RelationId {
    /// `true` and `does` have these numbers in every prover.
    pub const TRUE: Self = Self(0);
    pub const DOES: Self = Self(1);
}

define_id! { ComponentId }

/// How long the facts of a component stay valid.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Stage {
    Static,
    State,
    Moves,
}

/// Relations that depend on each other, or one alone.
#[derive(Clone, Debug)]
pub struct Component {
    pub relations: Vec<RelationId>,
    /// Positions of its rules in the list of rules.
    pub rules: Vec<usize>,
    /// Other components in its bodies.
    pub needs: Vec<ComponentId>,
    /// Whether some body has a relation of the component.
    pub is_recursive: bool,
    /// Whether some body has a negated relation of the component.
    pub has_inner_negation: bool,
    pub stage: Stage,
}

#[derive(Clone, Debug)]
pub struct Dependencies {
    pub relations: IdVec<RelationId, Signature>,
    /// Each component after all those it needs.
    pub components: IdVec<ComponentId, Component>,
    pub component_of: IdVec<RelationId, ComponentId>,
    by_signature: HashMap<Signature, usize>,
}

/// Relations that a state or a joint move gives, and no rule derives.
pub const TRUE: Signature = (keyword::TRUE, 1);
pub const DOES: Signature = (keyword::DOES, 2);

impl Dependencies {
    /// Analyses rules. Rules for `true` and `does` must have been left out.
    pub fn of(rules: &[Rule]) -> Self {
        // The first two get the numbers `RelationId::TRUE` and `RelationId::DOES`.
        let first = [
            TRUE,
            DOES,
            (keyword::ROLE, 1),
            (keyword::INIT, 1),
            (keyword::NEXT, 1),
            (keyword::LEGAL, 2),
            (keyword::GOAL, 2),
            (keyword::TERMINAL, 0),
        ];
        let mut graph = RelationGraph::new(&first, rules.iter().enumerate());
        for uses in &mut graph.uses {
            uses.sort_unstable();
            uses.dedup();
        }
        let (mut groups, component_of) = graph.components();
        groups.iter_mut().for_each(|group| group.sort_unstable());
        let component_of = component_of.into_iter().map(ComponentId::from_index);
        let component_of: IdVec<RelationId, ComponentId> = component_of.collect();
        let mut components: IdVec<ComponentId, Component> = IdVec::new();
        for group in groups {
            let own = ComponentId::from_index(components.len());
            let mut component = Component {
                relations: group.iter().copied().map(RelationId).collect(),
                rules: (group.iter())
                    .flat_map(|&member| graph.rules_of[member as usize].clone())
                    .collect(),
                needs: Vec::new(),
                is_recursive: false,
                has_inner_negation: false,
                stage: Stage::Static,
            };
            component.rules.sort_unstable();
            for member in group.into_iter().map(|member| member as usize) {
                component.stage = component.stage.max(match graph.signatures[member] {
                    TRUE => Stage::State,
                    DOES => Stage::Moves,
                    _ => Stage::Static,
                });
                for &(to, is_negative) in &graph.uses[member] {
                    let to = component_of[RelationId::from_index(to)];
                    if to == own {
                        component.is_recursive = true;
                        component.has_inner_negation |= is_negative;
                    } else {
                        component.stage = component.stage.max(components[to].stage);
                        component.needs.push(to);
                    }
                }
            }
            component.needs.sort_unstable();
            component.needs.dedup();
            components.push(component);
        }
        Self {
            relations: IdVec::from_vec(graph.signatures),
            components,
            component_of,
            by_signature: graph.numbers,
        }
    }

    pub fn find(&self, signature: Signature) -> Option<RelationId> {
        let number = self.by_signature.get(&signature)?;
        Some(RelationId::from_index(*number))
    }

    /// The components to evaluate for a relation, in order, its own last.
    pub fn needed_for(&self, relation: RelationId) -> Vec<ComponentId> {
        let mut is_needed = vec![false; self.components.len()];
        is_needed[self.component_of[relation].index()] = true;
        for component in self.components.ids().rev() {
            if is_needed[component.index()] {
                for need in &self.components[component].needs {
                    is_needed[need.index()] = true;
                }
            }
        }
        let components = self.components.ids();
        components
            .filter(|component| is_needed[component.index()])
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use panza_gdl::{read, sexpr};

    fn shown(text: &str) -> Vec<String> {
        let (rules, _) = read::read_rules(&sexpr::parse(text).0);
        let dependencies = Dependencies::of(&rules.rules);
        dependencies
            .components
            .iter()
            .filter(|component| !component.rules.is_empty())
            .map(|component| {
                let names: Vec<&str> = component
                    .relations
                    .iter()
                    .map(|&r| rules.symbols.name(dependencies.relations[r].0))
                    .collect();
                format!(
                    "{} {:?}{}{}",
                    names.join("+"),
                    component.stage,
                    if component.is_recursive {
                        " recursive"
                    } else {
                        ""
                    },
                    if component.has_inner_negation {
                        " negative"
                    } else {
                        ""
                    },
                )
            })
            .collect()
    }

    #[test]
    fn components_stand_behind_what_they_need() {
        assert_eq!(
            shown(
                "(<= (a ?x) (b ?x)) (<= (b ?x) (c ?x) (not (a ?x))) (<= (b ?x) (true ?x)) (c 1)
                 (<= (d ?x) (does ?r ?x) (e)) (<= e (not d)) (<= (f ?x) (f ?x))"
            ),
            [
                "c Static",
                "a+b State recursive negative",
                "e Static",
                "d Moves",
                "f Static recursive"
            ]
        );
    }
}
