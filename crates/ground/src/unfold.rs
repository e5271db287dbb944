//! Binds at the call what the rules of a helper leave open.
//!
//! `(<= (other ?x ?y) (distinct ?x ?y))` has no list of atoms to ground: it says something of given
//! arguments only. So such a helper is evaluated where it is asked for.
//!
//! - A rule with the helper as a condition becomes one rule for each rule of the helper, with its
//!   conditions in place of the helper (unfolding: Tamaki, Sato, *Unfold/Fold Transformation of
//!   Logic Programs*, 1984).
//! - A negated helper becomes a negated new relation, which is derived for those arguments alone
//!   with which the calling rule can ask. It has a rule for each rule of the helper. What such a
//!   rule leaves open ranges over a *domain*: the values that conditions of the calling rule bind.
//!
//! Refused are helpers that call themselves, and conditions with arguments that nothing binds.
//!
//! Invariant: afterwards no condition has a relation with a rule that leaves its head open.

use std::collections::{HashMap, HashSet};

use super::GroundError;
use panza_gdl::modes::{ASKED, Modes};
use panza_gdl::read::{Copies, TooLarge, unified};
use panza_gdl::{Atom, Literal, RelationGraph, Rule, Rules, Signature, Symbol, Term};

/// Rules without calls of open relations.
#[derive(Default)]
pub struct Unfolded {
    pub rules: Vec<Rule>,
    /// The relations that are domains.
    pub domains: HashSet<Symbol>,
}

/// Unfolds rules, with names from `source` and from `new_relation`.
pub fn unfold(
    source: &Rules,
    rules: Vec<Rule>,
    new_relation: &mut dyn FnMut(&str) -> Symbol,
) -> Result<Unfolded, GroundError> {
    let mut modes = Modes::new(&rules);
    for rule in &rules {
        if ASKED.contains(&rule.head.signature())
            && let Some(atom) = modes.unsafe_condition(rule).and_then(Literal::atom)
        {
            let call = source.show_atom(atom, &rule.variables);
            return Err(GroundError::OpenCall { call });
        }
    }
    let uncalled = modes.uncalled();
    let open = modes.open_relations();
    if open.is_empty() {
        let domains = HashSet::new();
        return Ok(Unfolded { rules, domains });
    }
    let is_open = |rule: &Rule| open.contains(&rule.head.signature());
    let helpers = rules.iter().enumerate().filter(|(_, rule)| is_open(rule));
    let graph = RelationGraph::new(&[], helpers);
    let (_, component_of) = graph.components();
    let mut unfolding = Unfolding {
        source,
        rules: &rules,
        open: &open,
        graph: &graph,
        component_of,
        callers: HashMap::new(),
        copies: Copies::default(),
        waiting: Vec::new(),
        unfolded: Unfolded::default(),
        new_relation,
    };
    for rule in rules.iter().filter(|rule| !is_open(rule)) {
        // What nothing asks for is left out, faulty or not.
        if !uncalled.contains(&rule.head.signature()) {
            unfolding.waiting.push(rule.clone());
        }
        while let Some(rule) = unfolding.waiting.pop() {
            unfolding.settle(rule)?;
        }
    }
    Ok(unfolding.unfolded)
}

/// What a new relation knows of the rule that asks for its negation.
struct Caller {
    /// Its variables that are the arguments of the relation.
    variables: Vec<u32>,
    /// The places among them of those that its conditions bind, and conditions that do.
    arguments: Vec<usize>,
    binders: Vec<Literal>,
    /// Names of all its variables.
    names: Vec<Box<str>>,
    /// The domain of the bound arguments, once it is needed.
    domain: Option<Symbol>,
}

struct Unfolding<'a> {
    source: &'a Rules,
    rules: &'a [Rule],
    open: &'a HashSet<Signature>,
    /// The open relations and what their rules ask for.
    graph: &'a RelationGraph,
    component_of: Vec<usize>,
    callers: HashMap<Symbol, Caller>,
    copies: Copies,
    /// Rules that may have calls.
    waiting: Vec<Rule>,
    unfolded: Unfolded,
    new_relation: &'a mut dyn FnMut(&str) -> Symbol,
}

impl Unfolding<'_> {
    /// Replaces the first positive call of a rule, or, where there is none, all negated ones.
    fn settle(&mut self, mut rule: Rule) -> Result<(), GroundError> {
        let call = rule.body.iter().position(|literal| {
            matches!(literal, Literal::Positive(atom) if self.open.contains(&atom.signature()))
        });
        if let Some(place) = call {
            let after = rule.body.split_off(place + 1);
            if let Some(Literal::Positive(call)) = rule.body.pop() {
                let resolved = self.resolve(&call, &rule, &after)?;
                self.waiting.extend(resolved.into_iter().rev());
            }
            return Ok(());
        }
        self.bind_by_domain(&mut rule);
        for place in 0..rule.body.len() {
            if let Literal::Negative(call) = &rule.body[place]
                && self.open.contains(&call.signature())
            {
                let call = call.clone();
                let alone = Rule {
                    head: self.relation_of(&call, &rule),
                    body: Vec::new(),
                    variables: rule.variables.clone(),
                    span: rule.span,
                };
                let resolved = self.resolve(&call, &alone, &[])?;
                self.waiting.extend(resolved);
                rule.body[place] = Literal::Negative(alone.head);
            }
        }
        self.unfolded.rules.push(rule);
        Ok(())
    }

    /// The rule with a call between its conditions and those of `after`: one for each rule of the
    /// relation called, with its conditions in place of the call.
    fn resolve(
        &mut self,
        call: &Atom,
        rule: &Rule,
        after: &[Literal],
    ) -> Result<Vec<Rule>, GroundError> {
        let refusal = |why| GroundError::OpenHelper {
            call: self.source.show_atom(call, &rule.variables),
            why,
        };
        let relation = self.graph.numbers[&call.signature()];
        let component = self.component_of[relation];
        let mut uses = self.graph.uses[relation].iter();
        if uses.any(|&(used, _)| self.component_of[used] == component) {
            return Err(refusal("its rules ask for it again"));
        }
        let mut resolved = Vec::new();
        for &number in &self.graph.rules_of[relation] {
            // The helper's variables are numbered after the caller's.
            let mut rename = |leaf: &mut Term| {
                if let Term::Variable(variable) = leaf {
                    *variable += rule.variables.len() as u32;
                }
            };
            let mut helper = self.rules[number].clone();
            let in_body = helper.body.iter_mut().flat_map(Literal::terms_mut);
            let terms = helper.head.arguments.iter_mut().chain(in_body);
            terms.for_each(|term| term.for_each_leaf(&mut rename));
            let body = rule.body.iter().chain(&helper.body).chain(after);
            let body: Vec<Literal> = body.cloned().collect();
            let names = rule.variables.iter().chain(&helper.variables);
            let names: Vec<Box<str>> = names.cloned().collect();
            let equal = helper
                .head
                .arguments
                .into_iter()
                .zip(call.arguments.clone());
            let copies = &mut self.copies;
            let joined = copies.charge(body.len() + names.len()).and_then(|()| {
                let (head, span) = (rule.head.clone(), rule.span);
                unified(head, body, equal.collect(), &names, span, copies)
            });
            let too_large = "its rules are too large in its place";
            resolved.extend(joined.map_err(|TooLarge| refusal(too_large))?);
        }
        Ok(resolved)
    }

    /// A new relation of the variables of a negated call.
    fn relation_of(&mut self, call: &Atom, rule: &Rule) -> Atom {
        let mut variables = Vec::new();
        call.for_each_variable(&mut |variable| {
            if !variables.contains(&variable) {
                variables.push(variable);
            }
        });
        // The narrowest condition says most about the variable alone.
        let binder = |variable: u32| {
            let places = rule.body.iter().enumerate();
            let binders = places.filter_map(|(place, literal)| {
                let mut own = Vec::new();
                literal.for_each_variable(&mut |variable| own.push(variable));
                let is_binder = matches!(literal, Literal::Positive(_)) && own.contains(&variable);
                is_binder.then_some((own.len(), place))
            });
            binders.min().map(|(_, place)| place)
        };
        let binders: Vec<Option<usize>> = variables.iter().map(|&it| binder(it)).collect();
        let mut places: Vec<usize> = binders.iter().copied().flatten().collect();
        places.sort_unstable();
        places.dedup();
        let relation = (self.new_relation)("open");
        let caller = Caller {
            arguments: (0..variables.len())
                .filter(|&it| binders[it].is_some())
                .collect(),
            binders: places.iter().map(|&it| rule.body[it].clone()).collect(),
            variables: variables.clone(),
            names: rule.variables.clone(),
            domain: None,
        };
        self.callers.insert(relation, caller);
        Atom {
            relation,
            arguments: variables.into_iter().map(Term::Variable).collect(),
            span: call.span,
        }
    }

    /// Adds the domain to a rule of a new relation that leaves an argument open.
    fn bind_by_domain(&mut self, rule: &mut Rule) {
        let Some(caller) = self.callers.get_mut(&rule.head.relation) else {
            return;
        };
        let bound = rule.bound_variables();
        let mut is_open = false;
        rule.head
            .for_each_variable(&mut |variable| is_open |= !bound[variable as usize]);
        if !is_open {
            return;
        }
        let span = rule.span;
        let of = |relation, arguments| Atom {
            relation,
            arguments,
            span,
        };
        let domain = *caller.domain.get_or_insert_with(|| {
            let relation = (self.new_relation)("domain");
            self.unfolded.domains.insert(relation);
            let arguments = caller.arguments.iter();
            let arguments = arguments.map(|&it| Term::Variable(caller.variables[it]));
            self.unfolded.rules.push(Rule {
                head: of(relation, arguments.collect()),
                body: caller.binders.clone(),
                variables: caller.names.clone(),
                span,
            });
            relation
        });
        let arguments = caller.arguments.iter();
        let arguments = arguments.map(|&it| rule.head.arguments[it].clone());
        let condition = Literal::Positive(of(domain, arguments.collect()));
        rule.body.push(condition);
    }
}
