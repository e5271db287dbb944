//! Relations and what they depend on.
//!
//! A relation is a name with an arity. It is dynamic when it depends on `true` or `does`, directly
//! or through others, or when it stands in a static recursion through negation, which only the
//! ground program can order; all others are static. Static relations come sorted so that each group
//! depends on earlier groups only.

use std::collections::HashMap;

use super::prepare::PreparedRules;
use crate::gdl::components::strongly_connected;
use crate::gdl::keyword;
use crate::gdl::rules::{Literal, Signature};

/// The relations of some rules, static and dynamic.
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
            rules
                .iter()
                .enumerate()
                .filter(|(index, _)| !prepared.is_gone(*index))
        };
        let mut numbers: HashMap<Signature, u32> = HashMap::new();
        let mut signatures: Vec<Signature> = Vec::new();
        let mut number = |signature: Signature| {
            *numbers.entry(signature).or_insert_with(|| {
                signatures.push(signature);
                signatures.len() as u32 - 1
            })
        };
        // The edges of the relaxed game: a head depends on its body, `true` on `next` and so on
        // need no edge, since `true` and `does` are dynamic by definition.
        let mut edges: Vec<(u32, u32, bool)> = Vec::new();
        for (_, rule) in live() {
            let head = number(rule.head.signature());
            for literal in &rule.body {
                if let Some(atom) = literal.atom() {
                    edges.push((
                        head,
                        number(atom.signature()),
                        matches!(literal, Literal::Negative(_)),
                    ));
                }
            }
        }
        let n = signatures.len();
        let mut targets: Vec<Vec<u32>> = vec![Vec::new(); n];
        for &(from, to, _) in &edges {
            targets[from as usize].push(to);
        }
        let groups = strongly_connected(n, |node| targets[node].iter().map(|&to| to as usize));
        let mut group_of = vec![0usize; n];
        for (index, group) in groups.iter().enumerate() {
            group
                .iter()
                .for_each(|&node| group_of[node as usize] = index);
        }
        let mut is_dynamic = vec![false; n];
        for (node, &(name, arity)) in signatures.iter().enumerate() {
            let is_given =
                (name == keyword::TRUE && arity == 1) || (name == keyword::DOES && arity == 2);
            // Outputs stay in the ground program even when they depend on nothing.
            let is_output = matches!(
                (name, arity),
                (keyword::LEGAL | keyword::GOAL, 2) | (keyword::NEXT, 1) | (keyword::TERMINAL, 0)
            );
            is_dynamic[node] = is_given || is_output;
        }
        for &(from, to, is_negative) in &edges {
            if is_negative && group_of[from as usize] == group_of[to as usize] {
                is_dynamic[from as usize] = true;
            }
        }
        // Groups come dependencies first, so one pass settles what is dynamic.
        for group in &groups {
            let depends = group.iter().any(|&node| {
                is_dynamic[node as usize]
                    || targets[node as usize]
                        .iter()
                        .any(|&to| is_dynamic[to as usize])
            });
            if depends {
                group
                    .iter()
                    .for_each(|&node| is_dynamic[node as usize] = true);
            }
        }
        // Static relations that nothing asks for (`base` and `input`, as a rule) are not evaluated.
        let is_asked =
            |(name, arity): Signature| matches!((name, arity), (keyword::INIT | keyword::ROLE, 1));
        let mut is_wanted: Vec<bool> = signatures
            .iter()
            .zip(&is_dynamic)
            .map(|(&signature, &dynamic)| dynamic || is_asked(signature))
            .collect();
        // Dependents come after what they depend on, so going backwards meets every asker first,
        // apart from those inside one group, which want each other as soon as one is wanted.
        for group in groups.iter().rev() {
            if group.iter().any(|&node| is_wanted[node as usize]) {
                for &node in group {
                    is_wanted[node as usize] = true;
                    targets[node as usize]
                        .iter()
                        .for_each(|&to| is_wanted[to as usize] = true);
                }
            }
        }
        let mut static_groups: Vec<Vec<usize>> = vec![Vec::new(); groups.len()];
        let mut dynamic_rules = Vec::new();
        for (index, rule) in live() {
            let head = numbers[&rule.head.signature()] as usize;
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
