//! Strongly connected components of any graph, and the dependency graph of relations.
//!
//! Tarjan's algorithm (1972) with its own stack, so that a long chain costs memory and not the
//! thread's stack. Components come dependencies first.

use std::collections::{HashMap, HashSet};

use super::rules::{Literal, Rule, Signature};

/// Which relations stand in the bodies of which relation's rules.
#[derive(Debug, Default)]
pub struct RelationGraph {
    /// The relations, in the order of their numbers.
    pub signatures: Vec<Signature>,
    /// The number of each relation.
    pub numbers: HashMap<Signature, usize>,
    /// By relation: each atom in the bodies of its rules, and whether it is negated.
    pub uses: Vec<Vec<(usize, bool)>>,
    /// By relation: the positions of its rules.
    pub rules_of: Vec<Vec<usize>>,
}

impl RelationGraph {
    /// The graph of some rules, each with its position. Relations are numbered as they occur, those
    /// in `first` before all others.
    pub fn new<'a>(
        first: &[Signature],
        rules: impl Iterator<Item = (usize, &'a Rule)>,
    ) -> RelationGraph {
        let mut graph = Self::default();
        for &signature in first {
            graph.number(signature);
        }
        for (position, rule) in rules {
            let head = graph.number(rule.head.signature());
            graph.rules_of[head].push(position);
            for literal in &rule.body {
                if let Some(atom) = literal.atom() {
                    let used = graph.number(atom.signature());
                    graph.uses[head].push((used, matches!(literal, Literal::Negative(_))));
                }
            }
        }
        graph
    }

    fn number(&mut self, signature: Signature) -> usize {
        *self.numbers.entry(signature).or_insert_with(|| {
            self.signatures.push(signature);
            self.uses.push(Vec::new());
            self.rules_of.push(Vec::new());
            self.signatures.len() - 1
        })
    }

    /// The relations that depend on one of these, themselves included.
    pub fn dependents(&self, on: &[Signature]) -> HashSet<Signature> {
        let mut users: Vec<Vec<usize>> = vec![Vec::new(); self.signatures.len()];
        for (user, used) in self.uses.iter().enumerate() {
            used.iter().for_each(|&(used, _)| users[used].push(user));
        }
        let known = on.iter().filter_map(|relation| self.numbers.get(relation));
        let mut open: Vec<usize> = known.copied().collect();
        let mut found: HashSet<Signature> = on.iter().copied().collect();
        while let Some(relation) = open.pop() {
            let new = users[relation].iter();
            open.extend(new.filter(|&&user| found.insert(self.signatures[user])));
        }
        found
    }

    /// The components, dependencies first, and the component of each relation.
    pub fn components(&self) -> (Vec<Vec<u32>>, Vec<usize>) {
        let targets = |relation: usize| self.uses[relation].iter().map(|&(used, _)| used);
        let components = strongly_connected(self.signatures.len(), targets);
        let mut component_of = vec![0; self.signatures.len()];
        for (number, component) in components.iter().enumerate() {
            for &relation in component {
                component_of[relation as usize] = number;
            }
        }
        (components, component_of)
    }
}

/// Tarjan's strongly connected components of the graph `0..n` with these targets per node.
pub fn strongly_connected<It: Iterator<Item = usize>>(
    n: usize,
    mut targets: impl FnMut(usize) -> It,
) -> Vec<Vec<u32>> {
    const UNSEEN: u32 = u32::MAX;
    let mut order = vec![UNSEEN; n];
    let mut low = vec![0u32; n];
    let mut is_open = vec![false; n];
    let mut open: Vec<u32> = Vec::new();
    let mut next_order = 0u32;
    let mut components = Vec::new();
    // The call stack: a node and the iterator over the targets not yet looked at.
    let mut calls: Vec<(usize, It)> = Vec::new();
    for root in 0..n {
        if order[root] != UNSEEN {
            continue;
        }
        let mut entered = Some(root);
        loop {
            if let Some(node) = entered.take() {
                order[node] = next_order;
                low[node] = next_order;
                next_order += 1;
                open.push(node as u32);
                is_open[node] = true;
                calls.push((node, targets(node)));
            }
            let Some((node, rest)) = calls.last_mut() else {
                break;
            };
            let node = *node;
            if let Some(target) = rest.next() {
                if order[target] == UNSEEN {
                    entered = Some(target);
                } else if is_open[target] {
                    low[node] = low[node].min(order[target]);
                }
                continue;
            }
            calls.pop();
            if let Some((parent, _)) = calls.last() {
                low[*parent] = low[*parent].min(low[node]);
            }
            if low[node] == order[node] {
                let start = open
                    .iter()
                    .rposition(|&other| other as usize == node)
                    .unwrap_or(0);
                let group: Vec<u32> = open.split_off(start);
                group
                    .iter()
                    .for_each(|&other| is_open[other as usize] = false);
                components.push(group);
            }
        }
    }
    components
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_come_dependencies_first() {
        let edges = [vec![1], vec![2, 3], vec![1], vec![], vec![4, 0]];
        let groups = strongly_connected(5, |node| edges[node].iter().copied());
        let sorted: Vec<Vec<u32>> = groups
            .into_iter()
            .map(|mut group| {
                group.sort();
                group
            })
            .collect();
        assert_eq!(sorted, vec![vec![3], vec![1, 2], vec![0], vec![4]]);
    }

    #[test]
    fn a_long_chain_needs_no_deep_stack() {
        let n = 300_000;
        let groups = strongly_connected(n, |node| (node + 1 < n).then_some(node + 1).into_iter());
        assert_eq!(groups.len(), n);
        assert_eq!(groups[0], vec![n as u32 - 1]);
    }
}
