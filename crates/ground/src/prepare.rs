//! The rules that are grounded, and the helper relations added to them.

use std::collections::HashSet;

use panza_gdl::{Atom, Literal, Rule, Rules, Symbol, Term, keyword};

use super::GroundError;
use super::split::split;
use super::unfold::unfold;
use panza_gdl::modes::open_role;

#[derive(Debug)]
pub struct PreparedRules {
    rules: Vec<Rule>,
    status: Vec<Status>,
    splits: Vec<SplitRecord>,
    /// Names of the helper relations; their symbols follow the rulesheet's.
    names: Vec<String>,
    n_source_names: usize,
    domains: HashSet<Symbol>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Status {
    Whole,
    /// Cannot be split, or without gain.
    Final,
    Part,
    Gone,
}

#[derive(Debug)]
struct SplitRecord {
    at: usize,
    original: Rule,
    helpers: std::ops::Range<usize>,
}

/// The rule with `(role ?r)` for a role that it leaves open.
fn with_role(rule: &Rule) -> Rule {
    let mut rule = rule.clone();
    if let Some(role) = open_role(&rule) {
        let role = Atom {
            relation: keyword::ROLE,
            arguments: [Term::Variable(role)].into(),
            span: rule.head.span,
        };
        rule.body.insert(0, Literal::Positive(role));
    }
    rule
}

impl PreparedRules {
    /// Unfolds open helpers and settles unsafe variables. A rule with one in its head derives
    /// nothing and is left out, but an open role means every role. In a negated atom it is
    /// projected away by a helper relation: `(not (p ?x ?free))` holds if no instance of `?free`
    /// does. A `distinct` with one is dropped.
    pub fn new(source: &Rules) -> Result<Self, GroundError> {
        let mut prepared = Self {
            rules: Vec::with_capacity(source.rules.len()),
            status: Vec::new(),
            splits: Vec::new(),
            names: Vec::new(),
            n_source_names: source.symbols.len(),
            domains: HashSet::new(),
        };
        // The state and the joint move give these.
        let is_given = |head| [(keyword::TRUE, 1), (keyword::DOES, 2)].contains(&head);
        let rules = source.rules.iter();
        let rules = rules.filter(|rule| !is_given(rule.head.signature()));
        let rules = rules.map(with_role).collect();
        let mut new_relation = |kind: &str| prepared.new_relation(kind);
        let unfolded = unfold(source, rules, &mut new_relation)?;
        prepared.domains = unfolded.domains;
        unfolded
            .rules
            .into_iter()
            .for_each(|rule| prepared.add(rule));
        prepared.status = vec![Status::Whole; prepared.rules.len()];
        Ok(prepared)
    }

    fn add(&mut self, rule: Rule) {
        let bound = rule.bound_variables();
        let mut head_has_free = false;
        rule.head
            .for_each_variable(&mut |variable| head_has_free |= !bound[variable as usize]);
        if head_has_free {
            return;
        }
        let mut body = Vec::with_capacity(rule.body.len());
        for literal in &rule.body {
            let mut has_free = false;
            literal.for_each_variable(&mut |variable| has_free |= !bound[variable as usize]);
            if !has_free {
                body.push(literal.clone());
                continue;
            }
            let atom = match literal {
                Literal::Negative(atom) => atom,
                Literal::Distinct(left, right, _) if left == right => return,
                _ => continue,
            };
            let mut arguments: Vec<Term> = Vec::new();
            atom.for_each_variable(&mut |variable| {
                if bound[variable as usize] && !arguments.contains(&Term::Variable(variable)) {
                    arguments.push(Term::Variable(variable));
                }
            });
            let head = Atom {
                relation: self.new_relation("some"),
                arguments: arguments.into(),
                span: atom.span,
            };
            self.rules.push(Rule {
                head: head.clone(),
                body: vec![Literal::Positive(atom.clone())],
                variables: rule.variables.clone(),
                span: rule.span,
            });
            body.push(Literal::Negative(head));
        }
        self.rules.push(Rule { body, ..rule });
    }

    fn new_relation(&mut self, kind: &str) -> Symbol {
        let symbol = Symbol((self.n_source_names + self.names.len()) as u32);
        // A name that no rulesheet can write.
        self.names.push(format!("{kind} {}", self.names.len()));
        symbol
    }

    /// All rules, including those taken back.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Helper relations that only say which values a variable may have: an atom of theirs that can
    /// be derived at all is as good as true.
    pub fn domains(&self) -> &HashSet<Symbol> {
        &self.domains
    }

    pub fn may_split(&self, rule: usize) -> bool {
        matches!(self.status[rule], Status::Whole | Status::Part)
    }

    pub fn split(&mut self, rule: usize) {
        let original = self.rules[rule].clone();
        let mut n_names = self.names.len();
        let first = self.n_source_names;
        let parts = split(&original, || {
            n_names += 1;
            Symbol((first + n_names - 1) as u32)
        });
        let Some(parts) = parts else {
            self.status[rule] = Status::Final;
            return;
        };
        while self.names.len() < n_names {
            self.names.push(format!("part {}", self.names.len()));
        }
        let helpers = self.rules.len()..self.rules.len() + parts.helpers.len();
        self.splits.push(SplitRecord {
            at: rule,
            original,
            helpers,
        });
        self.rules[rule] = parts.rule;
        self.rules.extend(parts.helpers);
        self.domains.extend(parts.domains);
        self.status[rule] = Status::Part;
        self.status.resize(self.rules.len(), Status::Part);
    }

    /// Takes back the split that a helper came from.
    pub fn take_back(&mut self, rule: usize) {
        let Some(record) = self.split_with(rule) else {
            return;
        };
        let SplitRecord {
            at, ref original, ..
        } = self.splits[record];
        self.rules[at] = original.clone();
        let mut open = vec![record];
        while let Some(record) = open.pop() {
            for helper in self.splits[record].helpers.clone() {
                self.status[helper] = Status::Gone;
                // What a helper was split into goes with it.
                let others = (0..self.splits.len()).filter(|&other| other != record);
                open.extend(others.filter(|&other| self.splits[other].at == helper));
            }
        }
        self.status[at] = Status::Final;
    }

    pub fn may_take_back(&self, rule: usize) -> bool {
        self.split_with(rule).is_some() && !self.is_gone(rule)
    }

    fn split_with(&self, helper: usize) -> Option<usize> {
        let mut splits = self.splits.iter();
        splits.position(|split| split.helpers.contains(&helper))
    }

    pub fn is_gone(&self, rule: usize) -> bool {
        self.status[rule] == Status::Gone
    }
}
