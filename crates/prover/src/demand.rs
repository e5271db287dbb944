//! Goal-directed evaluation of chosen relations by the magic-set transformation (Bancilhon, Maier,
//! Sagiv, Ullman, 1986; Beeri and Ramakrishnan, 1991).
//!
//! A relation on demand is derived only for the calls made to it. Each pattern of bound arguments
//! has a copy of the relation and a relation of its calls. A rule of the copy starts with the call;
//! a rule that makes the call also derives it from the conditions before it.
//!
//! The transformation serves relations whose bottom-up evaluation is infinite or far too large, and
//! rules with head variables that only the caller binds. Calls within a recursion bind no function
//! terms, so that calls are finite where bottom-up evaluation is. Calls from rules that depend on
//! the joint move have copies of their own, so that answers about a state do not depend on it.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::dependency::{ComponentId, Dependencies, Stage};
use super::names::Names;
use panza_gdl::modes::Modes;
use panza_gdl::{Atom, Literal, Rule, Signature, Symbol, Term};

/// A copy of a relation: the arguments bound at the call, and what the caller depends on.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Copy {
    relation: Signature,
    is_bound: Vec<bool>,
    stage: Stage,
}

struct Transformation<'a> {
    rules_of: HashMap<Signature, Vec<usize>>,
    on_demand: &'a BTreeSet<Signature>,
    dependencies: &'a Dependencies,
    modes: Modes<'a>,
    names: &'a mut Names,
    known: HashSet<Copy>,
    waiting: Vec<Copy>,
    output: Vec<Rule>,
    origins: HashMap<Signature, Signature>,
}

pub struct Rewritten {
    pub rules: Vec<Rule>,
    /// From copies and relations of calls to the relation they stand for.
    pub origins: HashMap<Signature, Signature>,
}

/// Rewrites rules so that the relations of `on_demand` are derived for the calls made to them
/// alone. `dependencies` are those of the given rules.
pub fn on_demand(
    rules: &[Rule],
    on_demand: &BTreeSet<Signature>,
    dependencies: &Dependencies,
    names: &mut Names,
) -> Rewritten {
    let mut rules_of: HashMap<Signature, Vec<usize>> = HashMap::new();
    for (index, rule) in rules.iter().enumerate() {
        let own = rules_of.entry(rule.head.signature()).or_default();
        own.push(index);
    }
    let mut transformation = Transformation {
        rules_of,
        on_demand,
        dependencies,
        modes: Modes::new(rules),
        names,
        known: HashSet::new(),
        waiting: Vec::new(),
        output: Vec::new(),
        origins: HashMap::new(),
    };
    for rule in rules {
        let signature = rule.head.signature();
        if !on_demand.contains(&signature) {
            let component = transformation.component_of(signature);
            let stage = component.map(|id| dependencies.components[id].stage);
            transformation.rewrite(rule, None, stage.unwrap_or(Stage::Static));
        }
    }
    while let Some(copy) = transformation.waiting.pop() {
        let own = transformation.rules_of.get(&copy.relation).cloned();
        for index in own.unwrap_or_default() {
            transformation.rewrite(&rules[index], Some(&copy), copy.stage);
        }
    }
    Rewritten {
        rules: transformation.output,
        origins: transformation.origins,
    }
}

impl Transformation<'_> {
    fn component_of(&self, signature: Signature) -> Option<ComponentId> {
        let relation = self.dependencies.find(signature)?;
        Some(self.dependencies.component_of[relation])
    }

    fn names_of(&mut self, copy: &Copy) -> (Symbol, Symbol) {
        let mut name = self.names.symbols.name(copy.relation.0).to_string();
        name.push('$');
        name.push(match copy.stage {
            Stage::Static => 's',
            Stage::State => 't',
            Stage::Moves => 'd',
        });
        let bound = copy.is_bound.iter();
        name.extend(bound.map(|is_bound| if *is_bound { 'b' } else { 'f' }));
        let answers = self.names.helper(&name);
        let calls = self.names.helper(&format!("{name}?"));
        (answers, calls)
    }

    /// The call that an atom of this copy makes.
    fn call(&mut self, copy: &Copy, atom: &Atom) -> Atom {
        let (_, calls) = self.names_of(copy);
        let arguments = atom.arguments.iter().zip(&copy.is_bound);
        Atom {
            relation: calls,
            arguments: arguments
                .filter(|(_, is_bound)| **is_bound)
                .map(|(argument, _)| argument.clone())
                .collect(),
            span: atom.span,
        }
    }

    /// Adds the rule, for this copy of its head if any, and a rule for each call that it makes.
    fn rewrite(&mut self, rule: &Rule, copy: Option<&Copy>, stage: Stage) {
        let mut is_bound = vec![false; rule.variables.len()];
        let mut head = rule.head.clone();
        let mut done: Vec<Literal> = Vec::new();
        if let Some(copy) = copy {
            let call = self.call(copy, &rule.head);
            call.for_each_variable(&mut |variable| is_bound[variable as usize] = true);
            done.push(Literal::Positive(call));
            head.relation = self.names_of(copy).0;
        }
        let mut waiting: Vec<&Literal> = rule.body.iter().collect();
        while !waiting.is_empty() {
            // Whatever is fully bound comes first, other conditions than calls before calls. Then
            // the first condition of the text that binds something, calls with nothing bound last,
            // and after them those that need more to be bound. Then what nothing will ever bind.
            let next = waiting
                .iter()
                .enumerate()
                .min_by_key(|(position, literal)| {
                    let is_call = self.is_call(literal);
                    let rank = match literal {
                        Literal::Positive(atom) if is_call && !self.is_safe(atom, &is_bound) => 4,
                        _ if all_bound(literal, &is_bound) => usize::from(is_call),
                        Literal::Positive(atom) if is_call && !any_bound(atom, &is_bound) => 3,
                        Literal::Positive(_) => 2,
                        _ => 5,
                    };
                    (rank, *position)
                })
                .map(|(position, _)| position);
            let Some(next) = next else { break };
            let literal = waiting.remove(next);
            let literal = match self.is_call(literal) {
                true => self.rewrite_call(literal, &is_bound, stage, &done, rule),
                false => literal.clone(),
            };
            if let Literal::Positive(atom) = &literal {
                atom.for_each_variable(&mut |variable| is_bound[variable as usize] = true);
            }
            done.push(literal);
        }
        self.output.push(Rule {
            head,
            body: done,
            variables: rule.variables.clone(),
            span: rule.span,
        });
    }

    fn is_call(&self, literal: &Literal) -> bool {
        let atom = literal.atom();
        atom.is_some_and(|atom| self.on_demand.contains(&atom.signature()))
    }

    /// Whether a call leaves no head variable open, with these variables bound.
    fn is_safe(&mut self, atom: &Atom, is_bound: &[bool]) -> bool {
        let mut given = |argument: usize| is_term_bound(&atom.arguments[argument], is_bound);
        self.modes.is_safe(atom.signature(), &mut given)
    }

    /// The literal with the copy's name in place of the relation's; adds the rule for the call.
    fn rewrite_call(
        &mut self,
        literal: &Literal,
        is_bound: &[bool],
        stage: Stage,
        before: &[Literal],
        rule: &Rule,
    ) -> Literal {
        let (Literal::Positive(atom) | Literal::Negative(atom)) = literal else {
            return literal.clone();
        };
        // A call that puts a term together could call for ever larger ones, if it comes back to the
        // caller.
        let caller = self.component_of(rule.head.signature());
        let is_recursive = caller == self.component_of(atom.signature());
        let may_bind = |term: &Term| match term {
            Term::Function(..) => term.is_ground() || !is_recursive,
            _ => true,
        };
        let arguments = atom.arguments.iter();
        let mut given: Vec<bool> = arguments
            .map(|term| may_bind(term) && is_term_bound(term, is_bound))
            .collect();
        if !self
            .modes
            .is_safe(atom.signature(), &mut |argument| given[argument])
        {
            // Larger terms are no worse than a rule that derives nothing.
            let arguments = atom.arguments.iter();
            given = arguments
                .map(|term| is_term_bound(term, is_bound))
                .collect();
        }
        let copy = Copy {
            relation: atom.signature(),
            is_bound: given,
            stage,
        };
        let call = self.call(&copy, atom);
        let name = self.names_of(&copy).0;
        if self.known.insert(copy.clone()) {
            let own = (name, atom.arguments.len());
            self.origins
                .extend([call.signature(), own].map(|copy| (copy, atom.signature())));
            self.waiting.push(copy);
        }
        let is_trivial = before.iter().any(|literal| match literal {
            Literal::Positive(known) => {
                known.signature() == call.signature() && known.arguments == call.arguments
            }
            _ => false,
        });
        if !is_trivial {
            // More calls than needed are no harm, negation within a recursion is: calls under `not`
            // are left out.
            let is_kept = |literal: &&Literal| match literal {
                Literal::Negative(atom) => !self.origins.contains_key(&atom.signature()),
                _ => true,
            };
            let body = before.iter().filter(is_kept).cloned().collect();
            self.output.push(Rule {
                head: call,
                body,
                variables: rule.variables.clone(),
                span: rule.span,
            });
        }
        let renamed = Atom {
            relation: name,
            ..atom.clone()
        };
        match literal {
            Literal::Positive(_) => Literal::Positive(renamed),
            _ => Literal::Negative(renamed),
        }
    }
}

fn is_term_bound(term: &Term, is_bound: &[bool]) -> bool {
    let mut all = true;
    term.for_each_variable(&mut |variable| all &= is_bound[variable as usize]);
    all
}

fn any_bound(atom: &Atom, is_bound: &[bool]) -> bool {
    let mut arguments = atom.arguments.iter();
    arguments.any(|term| is_term_bound(term, is_bound))
}

fn all_bound(literal: &Literal, is_bound: &[bool]) -> bool {
    let mut all = true;
    literal.for_each_variable(&mut |variable| all &= is_bound[variable as usize]);
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use panza_gdl::{read, sexpr};

    fn transformed(text: &str, relation: &str, arity: usize) -> Vec<String> {
        let (rules, _) = read::read_rules(&sexpr::parse(text).0);
        let mut names = Names::new(rules.symbols.clone());
        let relation = names.symbols.find(relation).unwrap();
        let chosen = BTreeSet::from([(relation, arity)]);
        let dependencies = Dependencies::of(&rules.rules);
        let output = on_demand(&rules.rules, &chosen, &dependencies, &mut names);
        let shown = panza_gdl::Rules {
            symbols: names.symbols,
            rules: Vec::new(),
        };
        output
            .rules
            .iter()
            .map(|rule| shown.show_rule(rule))
            .collect()
    }

    #[test]
    fn a_recursion_hands_on_no_larger_terms() {
        assert_eq!(
            transformed(
                "(<= (p ?x) (p (f ?x))) (<= (p ?x) (q ?x)) (<= r (s ?x) (p (f ?x)))",
                "p",
                1
            ),
            [
                "(<= (p$sb? (f ?x)) (s ?x))",
                "(<= r (s ?x) (p$sb (f ?x)))",
                "(<= p$sf? (p$sb? ?x))",
                "(<= (p$sb ?x) (p$sb? ?x) (p$sf (f ?x)))",
                "(<= (p$sb ?x) (p$sb? ?x) (q ?x))",
                "(<= (p$sf ?x) p$sf? (p$sf (f ?x)))",
                "(<= (p$sf ?x) p$sf? (q ?x))",
            ]
        );
    }

    #[test]
    fn calls_restrict_what_is_derived() {
        assert_eq!(
            transformed(
                "(<= (path ?x ?y) (edge ?x ?y))
                 (<= (path ?x ?z) (path ?x ?y) (edge ?y ?z))
                 (<= (goal r 100) (true (at ?x)) (not (path ?x end)))",
                "path",
                2
            ),
            [
                "(<= (path$tbb? ?x end) (true (at ?x)))",
                "(<= (goal r 100) (true (at ?x)) (not (path$tbb ?x end)))",
                "(<= (path$tbb ?x ?y) (path$tbb? ?x ?y) (edge ?x ?y))",
                "(<= (path$tbf? ?x) (path$tbb? ?x ?z))",
                "(<= (path$tbb ?x ?z) (path$tbb? ?x ?z) (path$tbf ?x ?y) (edge ?y ?z))",
                "(<= (path$tbf ?x ?y) (path$tbf? ?x) (edge ?x ?y))",
                "(<= (path$tbf ?x ?z) (path$tbf? ?x) (path$tbf ?x ?y) (edge ?y ?z))",
            ]
        );
    }
}
