//! Rules as every reasoner takes them: heads, and bodies that are plain lists of literals.
//!
//! `or` is expanded and negation stands at atoms only, so a body is a conjunction. A relation is a
//! name with an arity: `(foo)` and `foo` are one, `(foo a)` is another. Variables are numbered per
//! rule.

use std::collections::HashSet;
use std::fmt;

use super::span::Span;
use super::symbols::Symbols;
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
    pub(super) fn for_each_leaf(&mut self, visit: &mut impl FnMut(&mut Term)) {
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
    pub(super) fn terms_mut(&mut self) -> impl Iterator<Item = &mut Term> {
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
    pub fn show_term<'a>(
        &'a self,
        term: &'a Term,
        names: &'a [Box<str>],
    ) -> impl fmt::Display + 'a {
        Shown(&self.symbols, names, Show::Term(term))
    }

    /// An atom as GDL text.
    pub fn show_atom<'a>(
        &'a self,
        atom: &'a Atom,
        names: &'a [Box<str>],
    ) -> impl fmt::Display + 'a {
        Shown(&self.symbols, names, Show::Atom(atom))
    }

    /// A rule as GDL text on one line.
    pub fn show_rule<'a>(&'a self, rule: &'a Rule) -> impl fmt::Display + 'a {
        Shown(&self.symbols, &rule.variables, Show::Rule(rule))
    }
}

enum Show<'a> {
    Term(&'a Term),
    Atom(&'a Atom),
    Rule(&'a Rule),
}

struct Shown<'a>(&'a Symbols, &'a [Box<str>], Show<'a>);

impl Shown<'_> {
    fn term(&self, term: &Term, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match term {
            Term::Variable(variable) => match self.1.get(*variable as usize) {
                Some(name) => out.write_str(name),
                None => write!(out, "?{variable}"),
            },
            Term::Constant(name) => out.write_str(self.0.name(*name)),
            Term::Function(name, arguments) => self.applied(*name, arguments, out),
        }
    }

    fn applied(
        &self,
        name: Symbol,
        arguments: &[Term],
        out: &mut fmt::Formatter<'_>,
    ) -> fmt::Result {
        if arguments.is_empty() {
            return out.write_str(self.0.name(name));
        }
        write!(out, "({}", self.0.name(name))?;
        for argument in arguments {
            out.write_str(" ")?;
            self.term(argument, out)?;
        }
        out.write_str(")")
    }

    fn atom(&self, atom: &Atom, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.applied(atom.relation, &atom.arguments, out)
    }
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.2 {
            Show::Term(term) => self.term(term, out),
            Show::Atom(atom) => self.atom(atom, out),
            Show::Rule(rule) if rule.body.is_empty() => self.atom(&rule.head, out),
            Show::Rule(rule) => {
                out.write_str("(<= ")?;
                self.atom(&rule.head, out)?;
                for literal in &rule.body {
                    out.write_str(" ")?;
                    match literal {
                        Literal::Positive(atom) => self.atom(atom, out)?,
                        Literal::Negative(atom) => {
                            out.write_str("(not ")?;
                            self.atom(atom, out)?;
                            out.write_str(")")?;
                        }
                        Literal::Distinct(left, right, _) => {
                            out.write_str("(distinct ")?;
                            self.term(left, out)?;
                            out.write_str(" ")?;
                            self.term(right, out)?;
                            out.write_str(")")?;
                        }
                    }
                }
                out.write_str(")")
            }
        }
    }
}
