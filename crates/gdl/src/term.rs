//! Ground terms, each stored once and known by a number.
//!
//! Equal terms have equal numbers, so comparing and hashing a term is comparing and hashing a
//! `u32`. An atom is stored the same way, as the relation's name applied to its arguments. A
//! function with no arguments is its constant. The table only grows.

use std::hash::BuildHasher;

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

use super::rules::Term;
use super::sexpr::Sexpr;
use super::symbols::Symbols;
use crate::ids::{Id, Symbol, TermId};

#[derive(Clone, Copy, Debug)]
struct Node {
    name: Symbol,
    /// Nesting: 0 for a constant.
    depth: u32,
    /// Names in its text.
    size: u32,
    start: u32,
    end: u32,
}

/// The longest text of a term, in names, that reasoners deal with. A term that holds another twice
/// at each level is small here, while its text doubles.
pub const MAX_SIZE: usize = 1 << 16;

/// Hash tables that share the terms.
const N_TABLES: usize = 32;

/// The table of ground terms.
#[derive(Clone, Debug, Default)]
pub struct TermTable {
    nodes: Vec<Node>,
    arguments: Vec<TermId>,
    /// Each term is in the table that its hash chooses. A hash table that grows moves all its
    /// entries at once; 32 tables pause 32 times shorter than one.
    numbers: [HashTable<TermId>; N_TABLES],
}

fn hash_of(name: Symbol, arguments: &[TermId]) -> u64 {
    FxBuildHasher.hash_one((name, arguments))
}

/// The number of the hash table for a hash, from bits that `HashTable` does not use itself: it uses
/// the highest seven and the lowest ones.
fn table_of(hash: u64) -> usize {
    (hash >> 50) as usize % N_TABLES
}

impl TermTable {
    /// An empty table.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many terms there are; ids run from 0 to this.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// How many arguments all terms have together.
    pub fn n_arguments(&self) -> usize {
        self.arguments.len()
    }

    /// Bytes held by the table, about.
    pub fn bytes(&self) -> usize {
        self.nodes.capacity() * size_of::<Node>()
            + self.arguments.capacity() * size_of::<TermId>()
            + self.numbers.iter().map(HashTable::capacity).sum::<usize>() * size_of::<TermId>()
    }

    /// The number of `name` applied to `arguments`, added when new.
    pub fn intern(&mut self, name: Symbol, arguments: &[TermId]) -> TermId {
        let hash = hash_of(name, arguments);
        let (nodes, stored) = (&self.nodes, &self.arguments);
        let is_same = |id: &TermId| {
            let node = &nodes[id.index()];
            node.name == name && stored[node.start as usize..node.end as usize] == *arguments
        };
        if let Some(id) = self.numbers[table_of(hash)].find(hash, is_same) {
            return *id;
        }
        let id = TermId::from_index(self.nodes.len());
        let start = self.arguments.len() as u32;
        self.arguments.extend_from_slice(arguments);
        let (depth, size) = self.extent(arguments);
        self.nodes.push(Node {
            name,
            depth,
            size,
            start,
            end: self.arguments.len() as u32,
        });
        let (nodes, stored) = (&self.nodes, &self.arguments);
        self.numbers[table_of(hash)].insert_unique(hash, id, |id| {
            let node = &nodes[id.index()];
            hash_of(node.name, &stored[node.start as usize..node.end as usize])
        });
        id
    }

    /// The number of `name` applied to `arguments`, if it is there.
    pub fn find(&self, name: Symbol, arguments: &[TermId]) -> Option<TermId> {
        let hash = hash_of(name, arguments);
        self.numbers[table_of(hash)]
            .find(hash, |id| {
                self.name(*id) == name && self.arguments(*id) == arguments
            })
            .copied()
    }

    /// The outermost name: constant, function or relation.
    pub fn name(&self, term: TermId) -> Symbol {
        self.nodes[term.index()].name
    }

    /// The arguments; none for a constant.
    pub fn arguments(&self, term: TermId) -> &[TermId] {
        let node = &self.nodes[term.index()];
        &self.arguments[node.start as usize..node.end as usize]
    }

    /// How many names its text has, also those that are written again; `u32::MAX` for more.
    pub fn size(&self, term: TermId) -> usize {
        self.nodes[term.index()].size as usize
    }

    /// Whether a name applied to `arguments` nests no deeper than `depth`, and has a text of no
    /// more than [`MAX_SIZE`] names.
    pub fn fits(&self, arguments: &[TermId], depth: usize) -> bool {
        let (own, size) = self.extent(arguments);
        own as usize <= depth && size as usize <= MAX_SIZE
    }

    /// Depth and size of a name applied to `arguments`.
    fn extent(&self, arguments: &[TermId]) -> (u32, u32) {
        let nodes = arguments
            .iter()
            .map(|argument| self.nodes[argument.index()]);
        nodes.fold((0, 1), |(depth, size): (u32, u32), node| {
            (depth.max(node.depth + 1), size.saturating_add(node.size))
        })
    }

    /// The number of a ground [`Term`]; nothing when it has a variable.
    pub fn intern_term(&mut self, term: &Term) -> Option<TermId> {
        match term {
            Term::Variable(_) => None,
            Term::Constant(name) => Some(self.intern(*name, &[])),
            Term::Function(name, arguments) => {
                let arguments: Option<Vec<TermId>> = arguments
                    .iter()
                    .map(|argument| self.intern_term(argument))
                    .collect();
                Some(self.intern(*name, &arguments?))
            }
        }
    }

    /// The number of the term that an s-expression writes, if names and term are known. Empty lists
    /// are no terms.
    pub fn find_sexpr(&self, symbols: &Symbols, expression: &Sexpr) -> Option<TermId> {
        let (name, arguments) = match expression {
            Sexpr::Symbol(..) => (expression, &[][..]),
            Sexpr::List(items, _) => items.split_first()?,
        };
        let name = symbols.find(name.symbol()?)?;
        let arguments: Option<Vec<TermId>> = (arguments.iter())
            .map(|argument| self.find_sexpr(symbols, argument))
            .collect();
        self.find(name, &arguments?)
    }

    /// The number of the term that an s-expression writes, added when new. Nothing for what is no
    /// term: an empty list, a list that starts with a list, a variable.
    pub fn intern_sexpr(&mut self, symbols: &mut Symbols, expression: &Sexpr) -> Option<TermId> {
        let (name, arguments) = match expression {
            Sexpr::Symbol(text, _) if text.starts_with('?') => return None,
            Sexpr::Symbol(..) => (expression, &[][..]),
            Sexpr::List(items, _) => items.split_first()?,
        };
        let name = symbols.intern(name.symbol()?);
        let arguments: Option<Vec<TermId>> = (arguments.iter())
            .map(|argument| self.intern_sexpr(symbols, argument))
            .collect();
        Some(self.intern(name, &arguments?))
    }

    /// The term as GDL text, one space between elements.
    pub fn show(&self, symbols: &Symbols, term: TermId) -> String {
        let mut text = String::new();
        self.write(symbols, term, &mut text);
        text
    }

    fn write(&self, symbols: &Symbols, term: TermId, text: &mut String) {
        let (name, arguments) = (symbols.name(self.name(term)), self.arguments(term));
        if arguments.is_empty() {
            return text.push_str(name);
        }
        text.push('(');
        text.push_str(name);
        for &argument in arguments {
            text.push(' ');
            self.write(symbols, argument, text);
        }
        text.push(')');
    }
}

#[cfg(test)]
mod tests {
    use super::super::sexpr;
    use super::*;

    #[test]
    fn equal_terms_have_equal_numbers() {
        let mut symbols = Symbols::new();
        let mut terms = TermTable::new();
        let mut read = |text: &str| {
            terms
                .intern_sexpr(&mut symbols, &sexpr::parse(text).0[0])
                .unwrap()
        };
        let cell = read("(cell 1 (pos 2 b))");
        assert_eq!(cell, read("( cell 1 (pos 2 b) )"));
        assert_ne!(cell, read("(cell 1 (pos b 2))"));
        assert_eq!(read("(go)"), read("go"));
        assert_eq!(terms.show(&symbols, cell).to_string(), "(cell 1 (pos 2 b))");
        assert_eq!(terms.size(cell), 5);
        assert_eq!(
            terms.find_sexpr(&symbols, &sexpr::parse("(cell 9)").0[0]),
            None
        );
    }

    #[test]
    fn what_is_no_term_is_refused() {
        let (mut symbols, mut terms) = (Symbols::new(), TermTable::new());
        for text in ["()", "((a) b)", "(a ?x)", "?x", "(a ())"] {
            assert_eq!(
                terms.intern_sexpr(&mut symbols, &sexpr::parse(text).0[0]),
                None,
                "{text}"
            );
        }
    }
}
