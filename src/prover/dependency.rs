//! Which relation needs which: the order of evaluation.
//!
//! Relations that need each other form a component; components come in an order in which each
//! stands behind everything it needs. A component's [`Stage`] says how long its facts live.

use std::collections::HashMap;

use crate::gdl::{Literal, Rule, keyword};
use crate::ids::{Id, IdVec, Symbol};

/// A relation: a name with an arity.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RelationId(pub u32);

impl Id for RelationId {
    fn from_index(index: usize) -> Self {
        Self(index as u32)
    }
    fn index(self) -> usize {
        self.0 as usize
    }
}

impl RelationId {
    /// `true`, in every list of relations.
    pub const TRUE: Self = Self(0);
    /// `does`, in every list of relations.
    pub const DOES: Self = Self(1);
}

/// A component: relations that need each other.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ComponentId(pub u32);

impl Id for ComponentId {
    fn from_index(index: usize) -> Self {
        Self(index as u32)
    }
    fn index(self) -> usize {
        self.0 as usize
    }
}

/// How long facts live.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Stage {
    /// For ever: nothing below depends on the state.
    Static,
    /// As long as the state.
    State,
    /// As long as state and joint move.
    Moves,
}

/// Relations that need each other.
#[derive(Clone, Debug)]
pub struct Component {
    /// Its relations.
    pub relations: Vec<RelationId>,
    /// The rules whose heads they are, by position in the list of rules.
    pub rules: Vec<usize>,
    /// The components that its bodies name, itself left out.
    pub needs: Vec<ComponentId>,
    /// Whether some body names a relation of the component.
    pub is_recursive: bool,
    /// Whether some body names a relation of the component under `not`.
    pub has_inner_negation: bool,
    /// How long its facts live.
    pub stage: Stage,
}

/// The relations of a list of rules and their components.
#[derive(Clone, Debug)]
pub struct Dependencies {
    /// Name and arity of each relation.
    pub relations: IdVec<RelationId, (Symbol, usize)>,
    /// The components, each behind all it needs.
    pub components: IdVec<ComponentId, Component>,
    /// Where each relation is.
    pub component_of: IdVec<RelationId, ComponentId>,
    by_signature: HashMap<(Symbol, usize), RelationId>,
}

/// Relations that a state or a joint move gives, and no rule derives.
pub const TRUE: (Symbol, usize) = (keyword::TRUE, 1);
/// See [`TRUE`].
pub const DOES: (Symbol, usize) = (keyword::DOES, 2);

impl Dependencies {
    /// Analyses rules. Rules for `true` and `does` must have been left out.
    pub fn of(rules: &[Rule]) -> Self {
        let mut relations = IdVec::new();
        let mut by_signature = HashMap::new();
        let mut relation = |signature: (Symbol, usize)| -> RelationId {
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
        let groups = strongly_connected(&edges);
        let mut component_of = IdVec::from_vec(vec![ComponentId(0); relations.len()]);
        for (number, group) in groups.iter().enumerate() {
            for &member in group {
                component_of[RelationId::from_index(member)] = ComponentId::from_index(number);
            }
        }
        let mut components: IdVec<ComponentId, Component> = IdVec::new();
        for group in groups {
            let own = ComponentId::from_index(components.len());
            let mut component = Component {
                relations: group.iter().map(|&r| RelationId::from_index(r)).collect(),
                rules: group.iter().flat_map(|&r| rules_of[r].clone()).collect(),
                needs: Vec::new(),
                is_recursive: false,
                has_inner_negation: false,
                stage: Stage::Static,
            };
            component.rules.sort_unstable();
            for &member in &group {
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

    /// The relation of this name and arity, if the rules name it.
    pub fn find(&self, signature: (Symbol, usize)) -> Option<RelationId> {
        self.by_signature.get(&signature).copied()
    }

    /// Everything that a relation needs, itself included, in the order of evaluation.
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

/// Tarjan's algorithm with a stack of its own; components come out behind what they point to.
fn strongly_connected(edges: &[Vec<(RelationId, bool)>]) -> Vec<Vec<usize>> {
    const UNSEEN: usize = usize::MAX;
    let mut order = vec![UNSEEN; edges.len()];
    let mut lowest = vec![UNSEEN; edges.len()];
    let mut is_open = vec![false; edges.len()];
    let mut open = Vec::new();
    let mut groups = Vec::new();
    let mut n_seen = 0;
    for root in 0..edges.len() {
        if order[root] != UNSEEN {
            continue;
        }
        // Each entry: a node, and how many of its edges have been followed.
        let mut path = vec![(root, 0)];
        while let Some((node, followed)) = path.last_mut() {
            let node = *node;
            if *followed == 0 && order[node] == UNSEEN {
                order[node] = n_seen;
                lowest[node] = n_seen;
                n_seen += 1;
                open.push(node);
                is_open[node] = true;
            }
            if let Some(&(to, _)) = edges[node].get(*followed) {
                *followed += 1;
                let to = to.index();
                if order[to] == UNSEEN {
                    path.push((to, 0));
                } else if is_open[to] {
                    lowest[node] = lowest[node].min(order[to]);
                }
                continue;
            }
            path.pop();
            if let Some(&(parent, _)) = path.last() {
                lowest[parent] = lowest[parent].min(lowest[node]);
            }
            if lowest[node] == order[node] {
                let mut group = Vec::new();
                while let Some(member) = open.pop() {
                    is_open[member] = false;
                    group.push(member);
                    if member == node {
                        break;
                    }
                }
                group.sort_unstable();
                groups.push(group);
            }
        }
    }
    groups
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
