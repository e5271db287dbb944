//! Patterns: terms with variables, compiled for one place of one plan.
//!
//! The variables bound at each place of a join are known at compile time, so each variable either
//! binds or compares, and matching needs no undo.

use panza_gdl::{Atom, Id, Symbol, Term, TermId, TermTable};

#[derive(Clone, Debug)]
pub enum Pattern {
    /// The variable's first occurrence: binds it.
    Bind(u32),
    /// A variable bound before this pattern; usable as a key.
    Check(u32),
    /// A variable bound earlier in this pattern; no key.
    Repeat(u32),
    Ground(TermId),
    /// A function or relation with variables inside.
    Function(Symbol, Box<[Pattern]>),
}

impl Pattern {
    /// Compiles a term; marks the variables that it binds.
    pub fn of_term(term: &Term, is_bound: &mut [bool], terms: &mut TermTable) -> Pattern {
        let before = is_bound.to_vec();
        Self::compile(term, &before, is_bound, terms)
    }

    /// Compiles an atom; marks the variables that it binds.
    pub fn of_atom(atom: &Atom, is_bound: &mut [bool], terms: &mut TermTable) -> Pattern {
        let before = is_bound.to_vec();
        Self::compile_applied(atom.relation, &atom.arguments, &before, is_bound, terms)
    }

    fn compile(
        term: &Term,
        before: &[bool],
        is_bound: &mut [bool],
        terms: &mut TermTable,
    ) -> Pattern {
        match term {
            Term::Variable(variable) => {
                let index = *variable as usize;
                let was_bound = std::mem::replace(&mut is_bound[index], true);
                match (before[index], was_bound) {
                    (true, _) => Pattern::Check(*variable),
                    (false, true) => Pattern::Repeat(*variable),
                    (false, false) => Pattern::Bind(*variable),
                }
            }
            Term::Constant(name) => Pattern::Ground(terms.intern(*name, &[])),
            Term::Function(name, arguments) => {
                Self::compile_applied(*name, arguments, before, is_bound, terms)
            }
        }
    }

    fn compile_applied(
        name: Symbol,
        arguments: &[Term],
        before: &[bool],
        is_bound: &mut [bool],
        terms: &mut TermTable,
    ) -> Pattern {
        let patterns = arguments.iter();
        let patterns = patterns.map(|term| Self::compile(term, before, is_bound, terms));
        let patterns: Vec<Pattern> = patterns.collect();
        let ground = |pattern: &Pattern| match pattern {
            Pattern::Ground(term) => Some(*term),
            _ => None,
        };
        match patterns.iter().map(ground).collect::<Option<Vec<_>>>() {
            Some(ground) => Pattern::Ground(terms.intern(name, &ground)),
            None => Pattern::Function(name, patterns.into()),
        }
    }

    /// Whether a term matches. Binds variables, even if it fails later.
    pub fn matches(&self, term: TermId, terms: &TermTable, bindings: &mut [TermId]) -> bool {
        match self {
            Pattern::Bind(variable) => {
                bindings[*variable as usize] = term;
                true
            }
            Pattern::Check(variable) | Pattern::Repeat(variable) => {
                bindings[*variable as usize] == term
            }
            Pattern::Ground(ground) => *ground == term,
            Pattern::Function(name, patterns) => {
                let arguments = terms.arguments(term);
                let mut pairs = patterns.iter().zip(arguments);
                terms.name(term) == *name
                    && arguments.len() == patterns.len()
                    && pairs.all(|(pattern, &argument)| pattern.matches(argument, terms, bindings))
            }
        }
    }

    /// The term under these bindings, added to the table when new. All variables must be bound.
    pub fn build(&self, terms: &mut TermTable, bindings: &[TermId]) -> TermId {
        match self {
            Pattern::Bind(variable) | Pattern::Check(variable) | Pattern::Repeat(variable) => {
                bindings[*variable as usize]
            }
            Pattern::Ground(term) => *term,
            Pattern::Function(name, patterns) => {
                let mut arguments = [TermId(0); INLINE];
                if patterns.len() <= INLINE {
                    for (slot, pattern) in arguments.iter_mut().zip(patterns) {
                        *slot = pattern.build(terms, bindings);
                    }
                    return terms.intern(*name, &arguments[..patterns.len()]);
                }
                let arguments = patterns
                    .iter()
                    .map(|pattern| pattern.build(terms, bindings));
                let arguments: Vec<TermId> = arguments.collect();
                terms.intern(*name, &arguments)
            }
        }
    }

    /// The term under these bindings, if the table has it.
    pub fn find(&self, terms: &TermTable, bindings: &[TermId]) -> Option<TermId> {
        match self {
            Pattern::Bind(variable) | Pattern::Check(variable) | Pattern::Repeat(variable) => {
                Some(bindings[*variable as usize])
            }
            Pattern::Ground(term) => Some(*term),
            Pattern::Function(name, patterns) => {
                let mut arguments = [TermId(0); INLINE];
                if patterns.len() <= INLINE {
                    for (slot, pattern) in arguments.iter_mut().zip(patterns) {
                        *slot = pattern.find(terms, bindings)?;
                    }
                    return terms.find(*name, &arguments[..patterns.len()]);
                }
                let arguments = patterns.iter().map(|pattern| pattern.find(terms, bindings));
                let arguments: Option<Vec<TermId>> = arguments.collect();
                terms.find(*name, &arguments?)
            }
        }
    }

    pub fn is_bound(&self) -> bool {
        match self {
            Pattern::Bind(_) | Pattern::Repeat(_) => false,
            Pattern::Check(_) | Pattern::Ground(_) => true,
            Pattern::Function(_, patterns) => patterns.iter().all(Pattern::is_bound),
        }
    }
}

/// Functions of at most this many arguments are built on the stack.
const INLINE: usize = 8;

/// The value of an unbound variable.
pub fn unbound() -> TermId {
    TermId::from_index(u32::MAX as usize)
}
