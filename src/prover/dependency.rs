//! Which relation needs which: the order of evaluation.
//!
//! Relations that need each other form a component; components come in an order in which each
//! stands behind everything it needs. A component's [`Stage`] says how long its facts live.

use std::collections::HashMap;

use crate::gdl::components::strongly_connected;
use crate::gdl::rules::Signature;
use crate::gdl::{Literal, Rule, keyword};
use crate::ids::{Id, IdVec, define_id};

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
    by_signature: HashMap<Signature, RelationId>,
}

/// Relations that a state or a joint move gives, and no rule derives.
pub const TRUE: Signature = (keyword::TRUE, 1);
pub const DOES: Signature = (keyword::DOES, 2);

impl Dependencies {
    /// Analyses rules. Rules for `true` and `does` must have been left out.
    pub fn of(rules: &[Rule]) -> Self {
        let mut relations = IdVec::new();
        let mut by_signature = HashMap::new();
        let mut relation = |signature: Signature| -> RelationId {
            *by_signature
                .entry(signature)
                .or_insert_with(|| relations.push(signature))
        };
        // In this order they get the numbers `RelationId::TRUE` and `RelationId::DOES`.
        for signature in [
            TRUE,
            DOES,
            (keyword::ROLE, 1),
            (keyword::INIT, 1),
            (keyword::NEXT, 1),
            (keyword::LEGAL, 2),
            (keyword::GOAL, 2),
            (keyword::TERMINAL, 0),
        ] {
            relation(signature);
        }
        // For each relation, what its rules name, and whether under `not`.
        let mut edges: Vec<Vec<(RelationId, bool)>> = Vec::new();
        let mut rules_of: Vec<Vec<usize>> = Vec::new();
        for (index, rule) in rules.iter().enumerate() {
            let head = relation(rule.head.signature()).index();
            let mut named: Vec<(RelationId, bool)> = Vec::new();
            for literal in &rule.body {
                if let Some(atom) = literal.atom() {
                    let is_negative = matches!(literal, Literal::Negative(_));
                    named.push((relation(atom.signature()), is_negative));
                }
            }
            let n_needed = named
                .iter()
                .map(|(relation, _)| relation.index())
                .max()
                .unwrap_or(0)
                .max(head)
                + 1;
            if edges.len() < n_needed {
                edges.resize(n_needed, Vec::new());
                rules_of.resize(n_needed, Vec::new());
            }
            edges[head].extend(named);
            rules_of[head].push(index);
        }
        edges.resize(relations.len(), Vec::new());
        rules_of.resize(relations.len(), Vec::new());
        for list in &mut edges {
            list.sort_unstable();
            list.dedup();
        }
        let targets = |node: usize| edges[node].iter().map(|(to, _)| to.index());
        let mut groups = strongly_connected(edges.len(), targets);
        groups.iter_mut().for_each(|group| group.sort_unstable());
        let mut component_of = IdVec::from_vec(vec![ComponentId(0); relations.len()]);
        for (number, group) in groups.iter().enumerate() {
            for &member in group {
                component_of[RelationId(member)] = ComponentId::from_index(number);
            }
        }
        let mut components: IdVec<ComponentId, Component> = IdVec::new();
        for group in groups {
            let own = ComponentId::from_index(components.len());
            let mut component = Component {
                relations: group.iter().copied().map(RelationId).collect(),
                rules: (group.iter())
                    .flat_map(|&member| rules_of[member as usize].clone())
                    .collect(),
                needs: Vec::new(),
                is_recursive: false,
                has_inner_negation: false,
                stage: Stage::Static,
            };
            component.rules.sort_unstable();
            for member in group.into_iter().map(|member| member as usize) {
                component.stage = component.stage.max(match relations.as_slice()[member] {
                    TRUE => Stage::State,
                    DOES => Stage::Moves,
                    _ => Stage::Static,
                });
                for &(to, is_negative) in &edges[member] {
                    let to = component_of[to];
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
            relations,
            components,
            component_of,
            by_signature,
        }
    }

    pub fn find(&self, signature: Signature) -> Option<RelationId> {
        self.by_signature.get(&signature).copied()
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
        self.components
            .ids()
            .filter(|component| is_needed[component.index()])
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gdl::{read, sexpr};

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
