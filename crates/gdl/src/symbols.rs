//! Names as numbers.
//!
//! Symbols are case-sensitive apart from GDL's own words, which are lower case here however they
//! were written.

use std::collections::HashMap;

use crate::ids::{Id, Symbol};

/// The name of the chance role, which draws uniformly among its legal moves and has no aim. As a
/// word of GDL it is lower case in every table.
pub const CHANCE_ROLE: &str = "random";

/// GDL's own words, at fixed numbers in every table.
pub mod keyword {
    use crate::ids::Symbol;

    /// `(role ?r)`
    pub const ROLE: Symbol = Symbol(0);
    /// `(init ?f)`
    pub const INIT: Symbol = Symbol(1);
    /// `(true ?f)`
    pub const TRUE: Symbol = Symbol(2);
    /// `(next ?f)`
    pub const NEXT: Symbol = Symbol(3);
    /// `(does ?r ?m)`
    pub const DOES: Symbol = Symbol(4);
    /// `(legal ?r ?m)`
    pub const LEGAL: Symbol = Symbol(5);
    /// `(goal ?r ?v)`
    pub const GOAL: Symbol = Symbol(6);
    /// `terminal`
    pub const TERMINAL: Symbol = Symbol(7);
    /// `(base ?f)`
    pub const BASE: Symbol = Symbol(8);
    /// `(input ?r ?m)`
    pub const INPUT: Symbol = Symbol(9);
    /// `random`, the name of the [chance role](super::CHANCE_ROLE).
    pub const RANDOM: Symbol = Symbol(10);

    /// How many arguments GDL's own relations take.
    pub const ARITIES: [(Symbol, usize); 10] = [
        (ROLE, 1),
        (INIT, 1),
        (TRUE, 1),
        (NEXT, 1),
        (DOES, 2),
        (LEGAL, 2),
        (GOAL, 2),
        (TERMINAL, 0),
        (BASE, 1),
        (INPUT, 2),
    ];

    /// The word of this name in any letter case, as it is written in every table.
    pub fn of(name: &str) -> Option<Symbol> {
        use crate::ids::Id;
        let position = WORDS
            .iter()
            .position(|word| word.eq_ignore_ascii_case(name));
        position.map(Symbol::from_index)
    }

    /// All of them.
    pub const WORDS: [&str; 11] = [
        "role",
        "init",
        "true",
        "next",
        "does",
        "legal",
        "goal",
        "terminal",
        "base",
        "input",
        super::CHANCE_ROLE,
    ];
}

/// The only one of some things whose text differs from `text` in letter case alone. Some programs
/// send moves in capitals.
pub fn only_in_other_case<T>(
    text: &str,
    things: impl IntoIterator<Item = T>,
    shown: impl Fn(&T) -> String,
) -> Option<T> {
    let lower = text.to_lowercase();
    let things = things.into_iter();
    let mut same = things.filter(|thing| shown(thing).to_lowercase() == lower);
    same.next().filter(|_| same.next().is_none())
}

/// The table of names of one rulesheet.
#[derive(Clone, Debug)]
pub struct Symbols {
    names: Vec<Box<str>>,
    // The default hasher: names come from outside.
    by_name: HashMap<Box<str>, Symbol>,
}

impl Symbols {
    /// A table that holds the keywords only.
    pub fn new() -> Self {
        let mut symbols = Self {
            names: Vec::new(),
            by_name: HashMap::new(),
        };
        for word in keyword::WORDS {
            symbols.add(word);
        }
        symbols
    }

    /// The number of a name; new names are added.
    pub fn intern(&mut self, name: &str) -> Symbol {
        match self.find(name) {
            Some(symbol) => symbol,
            None => self.add(name),
        }
    }

    /// The number of a name, if it is known.
    pub fn find(&self, name: &str) -> Option<Symbol> {
        self.by_name.get(name).copied().or_else(|| {
            // Most names need no look at the words.
            let may_be_word = name.len() <= 8 && name.bytes().any(|byte| byte.is_ascii_uppercase());
            may_be_word.then(|| keyword::of(name)).flatten()
        })
    }

    /// The name of a number that this table gave out.
    pub fn name(&self, symbol: Symbol) -> &str {
        &self.names[symbol.index()]
    }

    /// How many names there are.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Never true: the keywords are always there.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    fn add(&mut self, name: &str) -> Symbol {
        let symbol = Symbol::from_index(self.names.len());
        self.names.push(name.into());
        self.by_name.insert(name.into(), symbol);
        symbol
    }
}

impl Default for Symbols {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_fold_case_and_other_names_do_not() {
        let mut symbols = Symbols::new();
        assert_eq!(symbols.intern("LEGAL"), keyword::LEGAL);
        assert_eq!(symbols.intern("terminal"), keyword::TERMINAL);
        assert_eq!(symbols.name(keyword::RANDOM), "random");
        assert_ne!(symbols.intern("cell"), symbols.intern("Cell"));
    }
}
