//! Static and dynamic relations.
//!
//! A relation is dynamic if it depends on `true` or `does`, directly or through others, or stands
//! in a recursion through negation, which only the ground program can order. Static relations come
//! in groups that depend on earlier groups only.

use std::collections::HashMap;

use super::prepare::PreparedRules;
use panza_gdl::{RelationGraph, Signature, keyword};

pub struct Relations {
    /// For each relation that is a head or occurs in a body: whether it is dynamic.
    pub is_dynamic: HashMap<Signature, bool>,
    /// Static rules in groups; a group depends on itself (without negation) and on earlier groups.
    pub static_groups: Vec<Vec<usize>>,
    pub dynamic_rules: Vec<usize>,
}

impl Relations {
    pub fn new(prepared: &PreparedRules) -> Self {
        let rules = prepared.rules();
        let live = || {
            let rules = rules.iter().enumerate();
            rules.filter(|(index, _)| !prepared.is_gone(*index))
        };
        // `true` follows from `next`, and `does` from `legal`, without an edge, since both are
        // dynamic by definition.
        let graph = RelationGraph::new(&[], live());
        let (groups, group_of) = graph.components();
        let signatures = &graph.signatures;
        let mut is_dynamic: Vec<bool> = (signatures.iter())
            .map(|signature| match *signature {
                (keyword::TRUE | keyword::NEXT, 1) | (keyword::DOES, 2) => true,
                // Outputs stay in the ground program even when they depend on nothing.
                (keyword::LEGAL | keyword::GOAL, 2) | (keyword::TERMINAL, 0) => true,
                _ => false,
            })
            .collect();
        for (from, uses) in graph.uses.iter().enumerate() {
            let recurs =
                |&(to, is_negative): &(usize, bool)| is_negative && group_of[from] == group_of[to];
            is_dynamic[from] |= uses.iter().any(recurs);
        }
        // Groups come dependencies first, so one pass is enough.
        for group in &groups {
            let is_group_dynamic = group.iter().any(|&relation| {
                let mut uses = graph.uses[relation as usize].iter();
                is_dynamic[relation as usize] || uses.any(|&(to, _)| is_dynamic[to])
            });
            for &relation in group {
                is_dynamic[relation as usize] |= is_group_dynamic;
            }
        }
        // Static relations that nothing uses (`base` and `input`, usually) are not evaluated.
        let mut is_wanted = is_dynamic.clone();
        for (relation, signature) in signatures.iter().enumerate() {
            is_wanted[relation] |= matches!(signature, (keyword::INIT | keyword::ROLE, 1));
        }
        // Dependents come last, so one backward pass is enough.
        for group in groups.iter().rev() {
            if group.iter().any(|&relation| is_wanted[relation as usize]) {
                for &relation in group {
                    is_wanted[relation as usize] = true;
                    for &(to, _) in &graph.uses[relation as usize] {
                        is_wanted[to] = true;
                    }
                }
            }
        }
        let mut static_groups: Vec<Vec<usize>> = vec![Vec::new(); groups.len()];
        let mut dynamic_rules = Vec::new();
        for (index, rule) in live() {
            let head = graph.numbers[&rule.head.signature()];
            if is_dynamic[head] {
                dynamic_rules.push(index);
            } else if is_wanted[head] {
                static_groups[group_of[head]].push(index);
            }
        }
        static_groups.retain(|group| !group.is_empty());
        let is_dynamic = signatures.iter().copied().zip(is_dynamic).collect();
        Self {
            is_dynamic,
            static_groups,
            dynamic_rules,
        }
    }
}
