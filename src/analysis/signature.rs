//! What a game is, whatever its names: a signature of rules, and names that depend on nothing but
//! the rules' form.
//!
//! Two rulesheets that differ in names of symbols and variables, in the order of rules, of
//! conditions and of the arguments of `or` and `distinct` have the same [`Signature`]. Symbols get
//! colours by where they stand, over and over until nothing more is told apart (colour refinement,
//! after Weisfeiler and Leman); the signature is the hash of all rules in colours ([`colours`]).
//! Where symbols still share a colour, one of them is made special and the refinement goes on,
//! until each has a colour of its own; in the order of colours they get their [canonical
//! names](Canonical::to_canonical), and the rules in canonical names are the canonical text
//! ([`text`]). Where texts are equal, so are the games, and facts and moves can be carried from one
//! to the other without doubt.
//!
//! Words of GDL and numbers that may be goals ([`kept`]) stay what they are; all other numbers are
//! names like any other.
//!
//! Invariants: everything here is a function of the rules, the same on every machine and in every
//! run. Symbols that are made special are tried all, as far as the work allows, so the text nearly
//! never depends on the order of the rulesheet; where it does, [`Canonical::matching`] looks on,
//! and where that ends too, a game is recognised but nothing is carried over.
//!
//! Never knows: networks, machines, clocks (it is handed an amount of work).

mod colours;
mod kept;
mod text;

use std::collections::HashMap;
use std::fmt;

use crate::gdl::{Rules, Sexpr, Symbols, sexpr};
use crate::ids::{Id, Symbol};

use colours::{Partition, Sheet};

/// Terms that are looked at to name the symbols of a game, a tenth of a second's work or less. A
/// rulesheet's signature takes a hundredth of it, as a rule.
pub const WORK: u64 = 6_000_000;
/// So many ways to name the symbols are held against a text that was stored.
const MOST_TRIED: usize = 64;

/// A hash of rules that depends on nothing but their form; shown and kept as 32 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Signature(pub u128);

impl fmt::Display for Signature {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:032x}", self.0)
    }
}

/// A game in names of its own.
#[derive(Clone, Debug)]
pub struct Canonical {
    signature: Signature,
    symbols: Symbols,
    /// By symbol; none for symbols that no rule names.
    names: Vec<Option<Box<str>>>,
    by_name: HashMap<Box<str>, Symbol>,
    text: String,
}

/// The signature of rules. Each rule is looked at some times, in all not more than about `work`
/// terms.
pub fn signature(rules: &Rules, work: u64) -> Signature {
    let sheet = Sheet::new(rules);
    let mut left = work;
    let partition = Partition::refined(&sheet, &mut left);
    sheet.signature(&partition)
}

/// The signature of rules and, when `work` terms are enough to name every symbol, their canonical
/// form.
pub fn identify(rules: &Rules, work: u64) -> (Signature, Option<Canonical>) {
    let mut namings = Namings::new(rules, work);
    (namings.signature, namings.next())
}

impl Canonical {
    /// The canonical form of rules; nothing when `work` terms are not enough to name every symbol.
    pub fn of(rules: &Rules, work: u64) -> Option<Canonical> {
        Namings::new(rules, work).next()
    }

    /// The canonical form of rules whose text is `text`. Nothing when no naming with this text was
    /// found: the rules are others, or symbols look alike in so many ways that `work` terms did not
    /// get to the right one.
    pub fn matching(rules: &Rules, text: &str, work: u64) -> Option<Canonical> {
        let mut namings = Namings::new(rules, work);
        namings.keeps_all = true;
        namings
            .take(MOST_TRIED)
            .find(|canonical| canonical.text == text)
    }

    /// The signature of the rules.
    pub fn signature(&self) -> Signature {
        self.signature
    }

    /// The rules in canonical names, sorted, one a line. Games with equal texts are equal but for
    /// their names.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The canonical name of a symbol of the rules.
    pub fn name(&self, symbol: Symbol) -> Option<&str> {
        self.names.get(symbol.index())?.as_deref()
    }

    /// A ground term or atom of the game, a fact or a move as GDL text, in canonical names. Nothing
    /// for what is no term, and for names that the rules do not have.
    pub fn to_canonical(&self, term: &str) -> Option<String> {
        renamed(term, &|name| self.name(self.symbols.find(name)?))
    }

    /// A term in canonical names, in the game's own.
    pub fn from_canonical(&self, term: &str) -> Option<String> {
        renamed(term, &|name| {
            Some(self.symbols.name(*self.by_name.get(name)?))
        })
    }
}

/// A fact or a move of one game as the other game says it. Nothing when the canonical texts differ,
/// or for what is no term of the first game.
pub fn translate(term: &str, from: &Canonical, to: &Canonical) -> Option<String> {
    (from.text == to.text).then(|| to.from_canonical(&from.to_canonical(term)?))?
}

/// A ground term with other names, one space between elements.
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

// As deep as lists may nest, which parsing bounds.
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
            // A function without arguments is its constant.
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

/// Ways to name all symbols. The first one is the canonical form; the others differ from it only
/// where symbols look alike and yet are not interchangeable.
struct Namings<'a> {
    rules: &'a Rules,
    sheet: Sheet<'a>,
    signature: Signature,
    /// Partitions that are still to be taken further, the next one last.
    open: Vec<Partition>,
    left: u64,
    /// Of it, what is kept for going on with one symbol of each cell.
    reserve: u64,
    /// Whether symbols that look alike are all taken further, and not only one of them.
    keeps_all: bool,
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
            keeps_all: false,
        }
    }

    /// The partition after one more symbol of this cell got a colour of its own: those with the
    /// least hash of all the symbols that could be taken, so that it does not matter in which order
    /// they come.
    fn further(&mut self, partition: &Partition, cell: &[u32]) {
        let mut best: Vec<Partition> = Vec::new();
        let mut least = u64::MAX;
        // There are cells to come.
        let enough = self.reserve + self.left.saturating_sub(self.reserve) / 2;
        for &symbol in cell {
            if !best.is_empty() && self.left <= enough {
                break;
            }
            let mut trial = partition.clone();
            self.left = self.left.saturating_sub(trial.size());
            trial.make_special(symbol);
            trial.refine(&self.sheet, vec![symbol], &mut self.left);
            let hash = trial.hash(&self.sheet);
            if hash < least || best.is_empty() {
                best.clear();
                least = hash;
            }
            if hash == least && (best.is_empty() || self.keeps_all) {
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
                // No number and no word of GDL looks like this.
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
                Some(cell) => self.further(&partition, cell),
            }
        }
        None
    }
}

#[cfg(test)]
mod tests;
