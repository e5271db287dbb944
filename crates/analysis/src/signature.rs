//! The identity of a game under any names: a signature of the rules, and canonical names.
//!
//! Two rulesheets that differ in the names of symbols and variables, or in the order of rules,
//! conditions and the arguments of `or` and `distinct`, have the same [`Signature`]. It is a hash
//! of the rules after colour refinement of the symbols (Weisfeiler and Leman 1968; `colours`).
//! Where symbols still share a colour, one of them is individualised and the refinement continues,
//! until the colouring is discrete. In the order of colours symbols get their [canonical
//! names](Canonical::to_canonical); the rules in these names are the canonical text (`text`).
//! Games with equal texts are isomorphic, and facts and moves translate from one to the other.
//!
//! Keywords of GDL and numbers that may be goals (`goal_numbers`) keep their names; all other
//! numbers are names.
//!
//! Invariants: all results are functions of the rules, the same on every machine and in every run.
//! All symbols of a cell are tried for individualisation as far as the budget of work allows, so
//! the canonical text almost never depends on the order of the rulesheet. Where it does,
//! [`Canonical::matching`] tries further namings.
//!
//! Never uses: networks, machines, clocks (its budget is an amount of work).

mod colours;
mod goal_numbers;
mod text;

use std::collections::HashMap;
use std::fmt;

use panza_gdl::{Id, Rules, Sexpr, Symbol, Symbols, sexpr};

use colours::{Partition, Sheet};

/// The budget to name the symbols of a game, in terms visited: at most about 0.1 s. A signature
/// takes about a hundredth of it.
pub const WORK: u64 = 6_000_000;
/// The most namings that are compared with a stored text.
const MAX_TRIED: usize = 64;

/// A hash of the rules up to renaming and reordering, written as 32 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Signature(pub u128);

impl fmt::Display for Signature {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:032x}", self.0)
    }
}

/// The canonical form of a game.
#[derive(Clone, Debug)]
pub struct Canonical {
    signature: Signature,
    symbols: Symbols,
    /// The canonical name of each symbol; `None` for symbols in no rule.
    names: Vec<Option<Box<str>>>,
    by_name: HashMap<Box<str>, Symbol>,
    text: String,
}

/// The signature of rules, within a budget of about `work` terms.
pub fn signature(rules: &Rules, work: u64) -> Signature {
    let sheet = Sheet::new(rules);
    let mut left = work;
    let partition = Partition::refined(&sheet, &mut left);
    sheet.signature(&partition)
}

/// The signature of rules and their canonical form; `None` for the latter if the budget of `work`
/// terms is spent first.
pub fn identify(rules: &Rules, work: u64) -> (Signature, Option<Canonical>) {
    let mut namings = Namings::new(rules, work);
    (namings.signature, namings.next())
}

impl Canonical {
    /// The canonical form of rules whose text is `text`; `None` if no such naming was found within
    /// the budget of `work` terms.
    pub fn matching(rules: &Rules, text: &str, work: u64) -> Option<Canonical> {
        let mut namings = Namings::new(rules, work);
        namings.branches = true;
        namings
            .take(MAX_TRIED)
            .find(|canonical| canonical.text == text)
    }

    /// The signature of the rules.
    pub fn signature(&self) -> Signature {
        self.signature
    }

    /// The rules in canonical names, sorted, one per line. Games with equal texts are isomorphic.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The canonical name of a symbol of the rules.
    pub fn name(&self, symbol: Symbol) -> Option<&str> {
        self.names.get(symbol.index())?.as_deref()
    }

    /// A fact or move of the game in canonical names; `None` if it is no ground term, or has
    /// unknown names.
    pub fn to_canonical(&self, term: &str) -> Option<String> {
        renamed(term, &|name| self.name(self.symbols.find(name)?))
    }

    /// A fact or move in the names of the game, from canonical names.
    pub fn from_canonical(&self, term: &str) -> Option<String> {
        renamed(term, &|name| {
            Some(self.symbols.name(*self.by_name.get(name)?))
        })
    }
}

/// A ground term with its names replaced, one space between elements.
fn renamed<'a>(term: &str, rename: &impl Fn(&str) -> Option<&'a str>) -> Option<String> {
    let (expressions, faults) = sexpr::parse(term);
    match expressions.as_slice() {
        [expression] if faults.is_empty() => {
            let mut out = String::with_capacity(term.len());
            write_renamed(expression, rename, &mut out)?;
            Some(out)
        }
        _ => None,
    }
}

// Parsing bounds the depth of recursion.
fn write_renamed<'a>(
    expression: &Sexpr,
    rename: &impl Fn(&str) -> Option<&'a str>,
    out: &mut String,
) -> Option<()> {
    match expression {
        Sexpr::Symbol(name, _) => out.push_str(rename(name)?),
        Sexpr::List(items, _) => {
            let (name, arguments) = items.split_first()?;
            name.symbol()?;
            // A function without arguments is a constant.
            if arguments.is_empty() {
                return write_renamed(name, rename, out);
            }
            out.push('(');
            write_renamed(name, rename, out)?;
            for argument in arguments {
                out.push(' ');
                write_renamed(argument, rename, out)?;
            }
            out.push(')');
        }
    }
    Some(())
}

/// The namings of all symbols. The first one is the canonical form. The others differ from it only
/// where symbols share a colour and yet no automorphism maps them to each other.
struct Namings<'a> {
    rules: &'a Rules,
    sheet: Sheet<'a>,
    signature: Signature,
    /// Partitions to be refined further, the next one last.
    open: Vec<Partition>,
    /// The budget left.
    left: u64,
    /// The part of it that is reserved for one symbol of each cell.
    reserve: u64,
    /// Whether all best symbols of a cell are followed, not only the first.
    branches: bool,
}

impl<'a> Namings<'a> {
    fn new(rules: &'a Rules, work: u64) -> Self {
        let sheet = Sheet::new(rules);
        let mut left = work;
        let partition = Partition::refined(&sheet, &mut left);
        Self {
            signature: sheet.signature(&partition),
            rules,
            sheet,
            open: vec![partition],
            left,
            reserve: left / 2,
            branches: false,
        }
    }

    /// Individualises a symbol of this cell: one whose refined partition has the least hash, so
    /// that the result does not depend on the order of symbols.
    fn individualise(&mut self, partition: &Partition, cell: &[u32]) {
        let mut best: Vec<Partition> = Vec::new();
        let mut least = u64::MAX;
        // Half of the rest is left for other cells.
        let enough = self.reserve + self.left.saturating_sub(self.reserve) / 2;
        for &symbol in cell {
            if !best.is_empty() && self.left <= enough {
                break;
            }
            let mut trial = partition.clone();
            self.left = self.left.saturating_sub(trial.size());
            trial.individualise(symbol);
            trial.refine(&self.sheet, vec![symbol], &mut self.left);
            let hash = trial.hash(&self.sheet);
            if hash < least || best.is_empty() {
                best.clear();
                least = hash;
            }
            if hash == least && (best.is_empty() || self.branches) {
                best.push(trial);
            }
        }
        best.reverse();
        self.open.append(&mut best);
    }

    fn named(&self, partition: &Partition) -> Canonical {
        let symbols = &self.rules.symbols;
        let mut names: Vec<Option<Box<str>>> = vec![None; symbols.len()];
        let mut number = 0;
        for symbol in partition.in_order(&self.sheet) {
            let own = symbols.name(Symbol(symbol));
            let name = if self.sheet.is_fixed(symbol) {
                own.into()
            } else {
                number += 1;
                // Neither a number nor a keyword.
                format!("c{number}").into()
            };
            names[symbol as usize] = Some(name);
        }
        let by_name = names
            .iter()
            .enumerate()
            .filter_map(|(symbol, name)| Some((name.clone()?, Symbol::from_index(symbol))))
            .collect();
        let text = text::canonical(&self.rules.rules, &names);
        Canonical {
            signature: self.signature,
            symbols: symbols.clone(),
            names,
            by_name,
            text,
        }
    }
}

impl Iterator for Namings<'_> {
    type Item = Canonical;

    fn next(&mut self) -> Option<Canonical> {
        while let Some(partition) = self.open.pop() {
            match partition.open_cell() {
                None => return Some(self.named(&partition)),
                Some(_) if self.left == 0 => return None,
                Some(cell) => self.individualise(&partition, cell),
            }
        }
        None
    }
}

#[cfg(test)]
mod tests;
