//! Rules as every reasoner takes them: heads, and bodies that are plain lists of literals.
//!
//! `or` is expanded and negation stands at atoms only, so a body is a conjunction. A relation is a
//! name with an arity: `(foo)` and `foo` are one, `(foo a)` is another. Variables are numbered per
//! rule.

use std::collections::HashSet;

use super::span::Span;
use super::symbols::{Symbols, keyword};
use crate::ids::Symbol;

/// A relation or fact: name and number of arguments.
pub type Signature = (Symbol, usize);

/// A term: variable, constant or function.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Term {
    /// The rule's n-th variable.
    Variable(u32),
    /// A constant; also a function written with no arguments.
    Constant(Symbol),
    /// A function with at least one argument.
    Function(Symbol, Box<[Term]>),
}

impl Term {
    /// Calls `visit` for each occurrence of a variable.
    pub fn for_each_variable(&self, visit: &mut impl FnMut(u32)) {
        match self {
            Term::Variable(variable) => visit(*variable),
            Term::Constant(_) => {}
            Term::Function(_, arguments) => arguments
                .iter()
                .for_each(|argument| argument.for_each_variable(visit)),
        }
    }

    /// Calls `visit` with name and number of arguments of each function in it.
    pub fn for_each_function(&self, visit: &mut impl FnMut(Symbol, usize)) {
        if let Term::Function(name, arguments) = self {
            visit(*name, arguments.len());
            let arguments = arguments.iter();
            arguments.for_each(|argument| argument.for_each_function(visit));
        }
    }

    /// Whether no variable occurs.
    pub fn is_ground(&self) -> bool {
        match self {
            Term::Variable(_) => false,
            Term::Constant(_) => true,
            Term::Function(_, arguments) => arguments.iter().all(Term::is_ground),
        }
    }

    /// Name and number of arguments; nothing for a variable.
    pub fn signature(&self) -> Option<Signature> {
        match self {
            Term::Variable(_) => None,
            Term::Constant(name) => Some((*name, 0)),
            Term::Function(name, arguments) => Some((*name, arguments.len())),
        }
    }

    /// Calls `visit` for each variable, function arguments included, and for each constant.
    pub fn for_each_leaf(&mut self, visit: &mut impl FnMut(&mut Term)) {
        match self {
            Term::Function(_, arguments) => {
                let arguments = arguments.iter_mut();
                arguments.for_each(|argument| argument.for_each_leaf(visit));
            }
            leaf => visit(leaf),
        }
    }
}

/// A relation applied to terms.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Atom {
    /// The relation's name.
    pub relation: Symbol,
    /// Its arguments.
    pub arguments: Box<[Term]>,
    /// Where it stands.
    pub span: Span,
}

impl Atom {
    /// Name and arity: what makes a relation.
    pub fn signature(&self) -> Signature {
        (self.relation, self.arguments.len())
    }

    /// Calls `visit` for each occurrence of a variable.
    pub fn for_each_variable(&self, visit: &mut impl FnMut(u32)) {
        self.arguments
            .iter()
            .for_each(|argument| argument.for_each_variable(visit));
    }

    /// Whether no variable occurs.
    pub fn is_ground(&self) -> bool {
        self.arguments.iter().all(Term::is_ground)
    }
}

/// One condition of a body.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Literal {
    /// The atom holds.
    Positive(Atom),
    /// The atom does not hold.
    Negative(Atom),
    /// The two terms differ.
    Distinct(Term, Term, Span),
}

impl Literal {
    /// Where it stands.
    pub fn span(&self) -> Span {
        match self {
            Literal::Positive(atom) | Literal::Negative(atom) => atom.span,
            Literal::Distinct(_, _, span) => *span,
        }
    }

    /// The atom of a positive or negative literal.
    pub fn atom(&self) -> Option<&Atom> {
        match self {
            Literal::Positive(atom) | Literal::Negative(atom) => Some(atom),
            Literal::Distinct(..) => None,
        }
    }

    /// Its arguments, or the two terms of `distinct`.
    pub fn terms(&self) -> impl Iterator<Item = &Term> {
        let (arguments, pair) = match self {
            Literal::Positive(atom) | Literal::Negative(atom) => (&atom.arguments[..], None),
            Literal::Distinct(left, right, _) => (&[][..], Some([left, right])),
        };
        arguments.iter().chain(pair.into_iter().flatten())
    }

    /// [`Literal::terms`], to be changed.
    pub fn terms_mut(&mut self) -> impl Iterator<Item = &mut Term> {
        let (arguments, pair) = match self {
            Literal::Positive(atom) | Literal::Negative(atom) => (&mut atom.arguments[..], None),
            Literal::Distinct(left, right, _) => (&mut [][..], Some([left, right])),
        };
        arguments.iter_mut().chain(pair.into_iter().flatten())
    }

    /// Calls `visit` for each occurrence of a variable.
    pub fn for_each_variable(&self, visit: &mut impl FnMut(u32)) {
        self.terms().for_each(|term| term.for_each_variable(visit));
    }
}

/// Head and body. A fact is a rule with an empty body.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rule {
    /// What is derived.
    pub head: Atom,
    /// What must hold, in the order of the text.
    pub body: Vec<Literal>,
    /// The variables' names with their `?`, by number.
    pub variables: Vec<Box<str>>,
    /// The statement it comes from; several rules share it when an `or` was expanded.
    pub span: Span,
}

impl Rule {
    /// Whether it derives roles from conditions, though roles are facts.
    pub fn defines_role(&self) -> bool {
        self.head.signature() == (keyword::ROLE, 1) && !self.body.is_empty()
    }

    /// Which variables some positive literal of the body binds.
    pub fn bound_variables(&self) -> Vec<bool> {
        let mut bound = vec![false; self.variables.len()];
        for literal in &self.body {
            if let Literal::Positive(atom) = literal {
                atom.for_each_variable(&mut |variable| bound[variable as usize] = true);
            }
        }
        bound
    }
}

/// A whole rulesheet.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// Its names.
    pub symbols: Symbols,
    /// Its facts and rules in the order of the text.
    pub rules: Vec<Rule>,
}

impl Rules {
    /// All atoms of heads and bodies, in the order of the text.
    pub fn atoms(&self) -> impl Iterator<Item = &Atom> {
        self.rules.iter().flat_map(|rule| {
            let in_body = rule.body.iter().filter_map(Literal::atom);
            std::iter::once(&rule.head).chain(in_body)
        })
    }

    /// The names of the roles, in the order of [`roles`](Self::roles).
    pub fn role_names(&self) -> Vec<String> {
        let name = |role| self.show_term(role, &[]).to_string();
        self.roles().iter().map(name).collect()
    }

    /// The roles, in the order of their `role` facts; each once.
    pub fn roles(&self) -> Vec<Term> {
        let mut roles: Vec<Term> = Vec::new();
        let mut known: HashSet<&Term> = HashSet::new();
        for rule in &self.rules {
            let is_role_fact =
                rule.head.signature() == (super::keyword::ROLE, 1) && rule.body.is_empty();
            if is_role_fact && rule.head.is_ground() && known.insert(&rule.head.arguments[0]) {
                roles.push(rule.head.arguments[0].clone());
            }
        }
        roles
    }

    /// A term as GDL text. Variables are shown by number unless `names` has them.
    pub fn show_term(&self, term: &Term, names: &[Box<str>]) -> String {
        match term {
            Term::Variable(variable) => match names.get(*variable as usize) {
                Some(name) => name.to_string(),
                None => format!("?{variable}"),
            },
            Term::Constant(name) => self.symbols.name(*name).to_string(),
            Term::Function(name, arguments) => {
                self.show_list(self.symbols.name(*name), arguments.iter(), names)
            }
        }
    }

    fn show_list<'a>(
        &self,
        name: &str,
        terms: impl Iterator<Item = &'a Term>,
        names: &[Box<str>],
    ) -> String {
        let terms: String = terms
            .map(|term| format!(" {}", self.show_term(term, names)))
            .collect();
        match terms.is_empty() {
            true => name.to_string(),
            false => format!("({name}{terms})"),
        }
    }

    /// An atom as GDL text.
    pub fn show_atom(&self, atom: &Atom, names: &[Box<str>]) -> String {
        self.show_list(
            self.symbols.name(atom.relation),
            atom.arguments.iter(),
            names,
        )
    }

    /// A rule as GDL text on one line.
    pub fn show_rule(&self, rule: &Rule) -> String {
        let names = &rule.variables;
        let head = self.show_atom(&rule.head, names);
        let body: String = (rule.body.iter())
            .map(|literal| match literal {
                Literal::Positive(atom) => format!(" {}", self.show_atom(atom, names)),
                Literal::Negative(atom) => format!(" (not {})", self.show_atom(atom, names)),
                Literal::Distinct(..) => {
                    format!(" {}", self.show_list("distinct", literal.terms(), names))
                }
            })
            .collect();
        match body.is_empty() {
            true => head,
            false => format!("(<= {head}{body})"),
        }
    }
}
