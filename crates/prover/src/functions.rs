//! Hash maps from function arguments to terms, faster than the table of all terms.
//!
//! Each function that a plan builds has a map. The maps add the term table's new terms before each
//! use, which may be millions; once no answer is needed any more they stay incomplete.

use std::collections::HashMap;

use super::error::Limits;
use super::tuple_map::TupleMap;
use panza_gdl::{Id, Signature, Symbol, TermId, TermTable};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FunctionId(u32);

/// How a step obtains a term.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Build {
    Known(TermId),
    Register(u32),
    Apply(FunctionId, Box<[Build]>),
}

struct Function {
    name: Symbol,
    terms: TupleMap<TermId>,
}

/// Terms between two looks at whether an answer is still needed.
const LOOK_EVERY: usize = 1 << 12;

#[derive(Default)]
pub struct Functions {
    functions: Vec<Function>,
    by_signature: HashMap<Signature, FunctionId>,
    n_seen: usize,
}

impl Functions {
    /// The number of a function; new functions are added.
    pub fn function(
        &mut self,
        name: Symbol,
        arity: usize,
        terms: &TermTable,
        limits: &Limits,
    ) -> FunctionId {
        if let Some(known) = self.by_signature.get(&(name, arity)) {
            return *known;
        }
        self.catch_up(terms, limits);
        let new = FunctionId(self.functions.len() as u32);
        self.by_signature.insert((name, arity), new);
        self.functions.push(Function {
            name,
            terms: TupleMap::new(),
        });
        for index in 0..self.n_seen {
            if index.is_multiple_of(LOOK_EVERY) && limits.is_stopped() {
                break;
            }
            self.take(TermId::from_index(index), terms);
        }
        new
    }

    pub fn name(&self, function: FunctionId) -> Symbol {
        self.functions[function.0 as usize].name
    }

    #[inline]
    pub fn catch_up(&mut self, terms: &TermTable, limits: &Limits) {
        while self.n_seen < terms.len() {
            if self.n_seen.is_multiple_of(LOOK_EVERY) && limits.is_stopped() {
                return;
            }
            self.take(TermId::from_index(self.n_seen), terms);
            self.n_seen += 1;
        }
    }

    fn take(&mut self, term: TermId, terms: &TermTable) {
        let arguments = terms.arguments(term);
        let signature = (terms.name(term), arguments.len());
        if !arguments.is_empty()
            && let Some(function) = self.by_signature.get(&signature)
        {
            let function = &mut self.functions[function.0 as usize];
            function.terms.get_or_insert(arguments, term);
        }
    }

    /// The term of a function, if it is known. The functions must have caught up.
    #[inline]
    pub fn find(&self, function: FunctionId, arguments: &[TermId]) -> Option<TermId> {
        self.functions[function.0 as usize].terms.get(arguments)
    }
}
