//! The statements of two rulesheets that make a difference.
//!
//! Rules are compared as text with numbered variables and sorted conditions. Of the rules that one
//! rulesheet alone has, those count on which the difference depends. They are returned if there is
//! at most one of them in each rulesheet.

use std::collections::{BTreeSet, HashMap, HashSet};

use panza_gdl::rules::Signature;
use panza_gdl::{Rule, Rules, Span, keyword};

use super::difference::{Aspect, Difference};

/// The numbers of the rules that one of the rulesheets alone has, for each of the two.
pub fn differing(first: &Rules, second: &Rules) -> [Vec<usize>; 2] {
    let texts = [first, second].map(|rules| {
        let texts = rules.rules.iter().map(|rule| plain(rules, rule));
        texts.collect::<Vec<String>>()
    });
    let sets: [HashSet<&str>; 2] =
        [0, 1].map(|side| texts[side].iter().map(String::as_str).collect());
    [0, 1].map(|side| {
        let own = texts[side].iter().enumerate();
        let alone = own.filter(|(_, text)| !sets[1 - side].contains(text.as_str()));
        alone.map(|(index, _)| index).collect()
    })
}

/// A rule with numbered variables and sorted conditions.
fn plain(rules: &Rules, rule: &Rule) -> String {
    let mut conditions: Vec<String> = rule
        .body
        .iter()
        .map(|literal| {
            let alone = Rule {
                head: rule.head.clone(),
                body: vec![literal.clone()],
                variables: Vec::new(),
                span: rule.span,
            };
            rules.show_rule(&alone)
        })
        .collect();
    conditions.sort();
    conditions.dedup();
    let head = rules.show_atom(&rule.head, &[]);
    format!("{head} {}", conditions.join(" "))
}

/// The statements that make a difference, where they can be told. `has_same_facts`: the states
/// before and at the difference have the same facts, so that older ones do not matter.
pub fn statements(
    first: &Rules,
    second: &Rules,
    difference: &Difference,
    has_same_facts: bool,
) -> [Option<Span>; 2] {
    let mut roots: Vec<Signature> = match difference.aspect {
        Aspect::Roles => return [None, None],
        Aspect::Legal => vec![(keyword::LEGAL, 2)],
        Aspect::Terminal => vec![(keyword::TERMINAL, 0)],
        Aspect::Goal => vec![(keyword::GOAL, 2)],
        Aspect::Facts if difference.evidence.moves.is_empty() => vec![(keyword::INIT, 1)],
        Aspect::Facts => vec![(keyword::NEXT, 1)],
    };
    if !has_same_facts {
        roots.extend([(keyword::NEXT, 1), (keyword::INIT, 1)]);
    }
    let alone = differing(first, second);
    let spans: [BTreeSet<Span>; 2] = [0, 1].map(|side| {
        let rules = [first, second][side];
        let needed = closure(rules, &roots);
        let own = alone[side].iter().map(|&index| &rules.rules[index]);
        let concerned = own.filter(|rule| needed.contains(&rule.head.signature()));
        concerned.map(|rule| rule.span).collect()
    });
    match spans.iter().all(|spans| spans.len() <= 1) {
        true => spans.map(|spans| spans.first().copied()),
        false => [None, None],
    }
}

/// The relations that these depend on, with them.
fn closure(rules: &Rules, roots: &[Signature]) -> HashSet<Signature> {
    let mut of_head: HashMap<Signature, Vec<&Rule>> = HashMap::new();
    for rule in &rules.rules {
        of_head.entry(rule.head.signature()).or_default().push(rule);
    }
    let mut found: HashSet<Signature> = roots.iter().copied().collect();
    let mut open = roots.to_vec();
    while let Some(relation) = open.pop() {
        for rule in of_head.get(&relation).into_iter().flatten() {
            for atom in rule.body.iter().filter_map(|literal| literal.atom()) {
                if found.insert(atom.signature()) {
                    open.push(atom.signature());
                }
            }
        }
    }
    found
}
