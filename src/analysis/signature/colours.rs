//! Colours of symbols, refined until they stay.
//!
//! A colour is a hash of all that is known about where a symbol stands. Symbols of one colour form
//! a cell. When a cell is split, the rules that name the new colours are hashed again, which may
//! split the cells of the symbols in them. The largest part of a cell keeps its colour, after
//! Hopcroft: what can be told by the parts, can be told by all of them but one, so each symbol is
//! recoloured a logarithmic number of times.

use std::collections::{BTreeMap, HashMap};

use super::Signature;
use super::kept::goal_numbers;
use crate::gdl::{Atom, Literal, Rule, Rules, Term, keyword};
use crate::ids::{Id, Symbol};

/// What variables look like is refined so many times at most.
const VARIABLE_ROUNDS: usize = 8;

/// Tells what kind of thing is hashed.
mod kind {
    pub const SYMBOL: u64 = 1;
    pub const WORD: u64 = 2;
    pub const NUMBER: u64 = 3;
    pub const CONSTANT: u64 = 4;
    pub const FUNCTION: u64 = 5;
    pub const VARIABLE: u64 = 6;
    pub const HEAD: u64 = 7;
    pub const POSITIVE: u64 = 8;
    pub const NEGATIVE: u64 = 9;
    pub const DISTINCT: u64 = 10;
    pub const SPECIAL: u64 = 11;
    pub const ARGUMENT: u64 = 12;
    pub const RULE: u64 = 13;
    // A change in what a signature is changes these.
    pub const LOW: u64 = 0x70_61_6e_7a_61_00_01_00;
    pub const HIGH: u64 = 0x70_61_6e_7a_61_00_01_01;
}

/// Spreads 64 bits over 64 bits, one to one: the last step of MurmurHash3.
fn spread(mut x: u64) -> u64 {
    x = (x ^ (x >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    x = (x ^ (x >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    x ^ (x >> 33)
}

/// Hashes two things in this order. Always the same, since signatures are stored.
pub(super) fn mix(left: u64, right: u64) -> u64 {
    let left = spread(left.wrapping_add(0x9e37_79b9_7f4a_7c15));
    spread(left.rotate_left(29) ^ right.wrapping_mul(0xd6e8_feb8_6659_fd93))
}

/// Hashes things whose order does not matter.
fn together(hashes: impl Iterator<Item = u64>) -> u64 {
    hashes.fold(0, |sum, hash| sum.wrapping_add(mix(kind::ARGUMENT, hash)))
}

/// A look at a rule in colours: of its symbols by number, and of its variables.
struct Look<'a> {
    symbols: &'a [u64],
    variables: Vec<u64>,
}

impl Look<'_> {
    fn term(&self, term: &Term) -> u64 {
        match term {
            Term::Variable(variable) => mix(kind::VARIABLE, self.variables[*variable as usize]),
            Term::Constant(name) => mix(kind::CONSTANT, self.symbols[name.index()]),
            Term::Function(name, arguments) => self.applied(kind::FUNCTION, *name, arguments),
        }
    }

    fn applied(&self, kind: u64, name: Symbol, arguments: &[Term]) -> u64 {
        let hash = mix(kind, self.symbols[name.index()]);
        let all = arguments
            .iter()
            .fold(hash, |hash, term| mix(hash, self.term(term)));
        mix(all, arguments.len() as u64)
    }

    fn atom(&self, kind: u64, atom: &Atom) -> u64 {
        self.applied(kind, atom.relation, &atom.arguments)
    }

    fn literal(&self, literal: &Literal) -> u64 {
        match literal {
            Literal::Positive(atom) => self.atom(kind::POSITIVE, atom),
            Literal::Negative(atom) => self.atom(kind::NEGATIVE, atom),
            Literal::Distinct(left, right, _) => {
                let sides = [left, right].into_iter().map(|side| self.term(side));
                mix(kind::DISTINCT, together(sides))
            }
        }
    }

    /// The hash of the rule, and those of its head and conditions.
    fn rule(&self, rule: &Rule) -> (u64, u64, Vec<u64>) {
        let head = self.atom(kind::HEAD, &rule.head);
        let body: Vec<u64> = rule
            .body
            .iter()
            .map(|literal| self.literal(literal))
            .collect();
        let all = mix(mix(kind::RULE, head), together(body.iter().copied()));
        (all, head, body)
    }

    /// Calls `visit` for each name and variable of the rule with a hash of where it stands.
    fn places(
        &self,
        rule: &Rule,
        hashes: &(u64, u64, Vec<u64>),
        visit: &mut impl FnMut(Named, u64),
    ) {
        let (all, head, body) = hashes;
        place_applied(
            rule.head.relation,
            &rule.head.arguments,
            mix(*all, *head),
            visit,
        );
        for (literal, hash) in rule.body.iter().zip(body) {
            let place = mix(*all, *hash);
            match literal {
                Literal::Positive(atom) | Literal::Negative(atom) => {
                    place_applied(atom.relation, &atom.arguments, place, visit);
                }
                Literal::Distinct(left, right, _) => {
                    for side in [left, right] {
                        place_term(side, mix(place, self.term(side)), visit);
                    }
                }
            }
        }
    }
}

/// What stands at a place.
enum Named {
    Symbol(Symbol),
    Variable(u32),
}

fn place_applied(name: Symbol, arguments: &[Term], place: u64, visit: &mut impl FnMut(Named, u64)) {
    visit(Named::Symbol(name), mix(place, kind::FUNCTION));
    for (index, argument) in (0..).zip(arguments) {
        place_term(argument, mix(mix(place, kind::ARGUMENT), index), visit);
    }
}

fn place_term(term: &Term, place: u64, visit: &mut impl FnMut(Named, u64)) {
    match term {
        Term::Variable(variable) => visit(Named::Variable(*variable), place),
        Term::Constant(name) => visit(Named::Symbol(*name), mix(place, kind::CONSTANT)),
        Term::Function(name, arguments) => place_applied(*name, arguments, place, visit),
    }
}

/// How many different values there are.
fn n_different(values: &[u64]) -> usize {
    let mut values = values.to_vec();
    values.sort_unstable();
    values.dedup();
    values.len()
}

/// The colours of a rule's variables by where they stand, from these on; and how often the rule was
/// looked at.
pub(super) fn variables(rule: &Rule, symbols: &[u64], start: Vec<u64>) -> (Vec<u64>, u64) {
    let mut look = Look {
        symbols,
        variables: start,
    };
    let mut rounds = 0;
    let mut different = n_different(&look.variables);
    while rounds < VARIABLE_ROUNDS && different < look.variables.len() {
        let hashes = look.rule(rule);
        let mut sums = vec![0_u64; look.variables.len()];
        look.places(rule, &hashes, &mut |named, place| {
            if let Named::Variable(variable) = named {
                let sum = &mut sums[variable as usize];
                *sum = sum.wrapping_add(mix(kind::VARIABLE, place));
            }
        });
        for (colour, sum) in look.variables.iter_mut().zip(sums) {
            *colour = mix(*colour, sum);
        }
        rounds += 1;
        let now = n_different(&look.variables);
        if now == different {
            break;
        }
        different = now;
    }
    (look.variables, rounds as u64)
}

/// The rules as they are looked at here.
pub(super) struct Sheet<'a> {
    rules: &'a [Rule],
    /// By symbol, the rules that name it.
    rules_with: Vec<Vec<u32>>,
    /// Terms of each rule.
    sizes: Vec<u32>,
    /// By symbol, the colour that it keeps: that of a word of GDL or of a number that may be a
    /// goal.
    fixed: Vec<Option<u64>>,
}

impl<'a> Sheet<'a> {
    pub fn new(rules: &'a Rules) -> Self {
        let n_symbols = rules.symbols.len();
        let mut rules_with = vec![Vec::new(); n_symbols];
        let mut sizes = Vec::with_capacity(rules.rules.len());
        let nothing = Look {
            symbols: &[],
            variables: Vec::new(),
        };
        for (number, rule) in (0_u32..).zip(&rules.rules) {
            let mut size = 0;
            let mut visit = |named: Named, _: u64| {
                size += 1;
                if let Named::Symbol(symbol) = named {
                    let known: &mut Vec<u32> = &mut rules_with[symbol.index()];
                    if known.last() != Some(&number) {
                        known.push(number);
                    }
                }
            };
            nothing.names(rule, &mut visit);
            sizes.push(size);
        }
        let n_words = rules.symbols.len().min(keyword::RANDOM.index() + 1);
        let mut fixed = vec![None; n_symbols];
        for (word, colour) in fixed.iter_mut().enumerate().take(n_words) {
            *colour = Some(mix(kind::WORD, word as u64));
        }
        for (symbol, value) in goal_numbers(rules) {
            fixed[symbol.index()] = Some(mix(kind::NUMBER, u64::from(value)));
        }
        Self {
            rules: &rules.rules,
            rules_with,
            sizes,
            fixed,
        }
    }

    /// Whether a rule names the symbol.
    fn is_named(&self, symbol: u32) -> bool {
        !self.rules_with[symbol as usize].is_empty()
    }

    /// Whether the symbol keeps its name.
    pub fn is_fixed(&self, symbol: u32) -> bool {
        self.fixed[symbol as usize].is_some()
    }

    /// The hash of all rules in these colours.
    pub fn signature(&self, partition: &Partition) -> Signature {
        let (mut low, mut high) = (0_u64, 0_u64);
        for rule in self.rules {
            let hash = self.rule_hash(rule, &partition.colours);
            low = low.wrapping_add(mix(kind::LOW, hash));
            high = high.wrapping_add(mix(kind::HIGH, hash));
        }
        let low = mix(low, self.rules.len() as u64);
        Signature(u128::from(high) << 64 | u128::from(low))
    }

    fn rule_hash(&self, rule: &Rule, colours: &[u64]) -> u64 {
        let (variables, _) = variables(rule, colours, vec![0; rule.variables.len()]);
        let look = Look {
            symbols: colours,
            variables,
        };
        look.rule(rule).0
    }
}

impl Look<'_> {
    /// Calls `visit` for each name and variable of the rule, colours aside.
    fn names(&self, rule: &Rule, visit: &mut impl FnMut(Named, u64)) {
        place_applied(rule.head.relation, &rule.head.arguments, 0, visit);
        for literal in &rule.body {
            match literal {
                Literal::Positive(atom) | Literal::Negative(atom) => {
                    place_applied(atom.relation, &atom.arguments, 0, visit);
                }
                Literal::Distinct(left, right, _) => {
                    place_term(left, 0, visit);
                    place_term(right, 0, visit);
                }
            }
        }
    }
}

/// Which symbols look alike.
#[derive(Clone)]
pub(super) struct Partition {
    /// By symbol; those that no rule names have none that matters.
    colours: Vec<u64>,
    /// The symbols of each colour that several have, in the order of their numbers.
    cells: BTreeMap<u64, Vec<u32>>,
    /// How many symbols were made special.
    n_special: u64,
}

impl Partition {
    /// The partition of the symbols by where they stand. Stops short when more than `left` terms
    /// were looked at, which is taken off; it is the same for all orders and names even so.
    pub fn refined(sheet: &Sheet, left: &mut u64) -> Self {
        let mut partition = Partition {
            colours: Vec::with_capacity(sheet.fixed.len()),
            cells: BTreeMap::new(),
            n_special: 0,
        };
        let mut changed = Vec::new();
        for (symbol, fixed) in (0..).zip(&sheet.fixed) {
            let colour = fixed.unwrap_or(mix(kind::SYMBOL, 0));
            partition.colours.push(colour);
            if sheet.is_named(symbol) {
                partition.cells.entry(colour).or_default().push(symbol);
                changed.push(symbol);
            }
        }
        partition.cells.retain(|_, cell| cell.len() > 1);
        partition.refine(sheet, changed, left);
        partition
    }

    /// How much there is to copy.
    pub fn size(&self) -> u64 {
        self.colours.len() as u64
    }

    /// Gives a symbol a colour of its own.
    pub fn make_special(&mut self, symbol: u32) {
        let old = self.colours[symbol as usize];
        if let Some(cell) = self.cells.get_mut(&old) {
            cell.retain(|&other| other != symbol);
            if cell.len() < 2 {
                self.cells.remove(&old);
            }
        }
        // The rest of the cell may keep its colour, and have another of its symbols made special
        // later.
        self.n_special += 1;
        self.colours[symbol as usize] = mix(mix(kind::SPECIAL, self.n_special), old);
    }

    /// Splits cells until the symbols of each stand alike, after the colours of `changed` have
    /// changed.
    pub fn refine(&mut self, sheet: &Sheet, mut changed: Vec<u32>, left: &mut u64) {
        while !changed.is_empty() && *left > 0 {
            let mut rules: Vec<u32> = changed
                .iter()
                .flat_map(|&symbol| sheet.rules_with[symbol as usize].iter().copied())
                .collect();
            rules.sort_unstable();
            rules.dedup();
            let mut sums: HashMap<u32, u64> = HashMap::new();
            for number in rules {
                let rule = &sheet.rules[number as usize];
                let start = vec![0; rule.variables.len()];
                let (variables, rounds) = variables(rule, &self.colours, start);
                let look = Look {
                    symbols: &self.colours,
                    variables,
                };
                look.places(rule, &look.rule(rule), &mut |named, place| {
                    if let Named::Symbol(symbol) = named {
                        let sum = sums.entry(symbol.0).or_default();
                        *sum = sum.wrapping_add(mix(kind::SYMBOL, place));
                    }
                });
                let size = u64::from(sheet.sizes[number as usize]);
                *left = left.saturating_sub(size * (rounds + 1));
            }
            changed = self.split(&sums);
        }
    }

    /// Splits the cells of these symbols by their sums, and says who has a new colour.
    fn split(&mut self, sums: &HashMap<u32, u64>) -> Vec<u32> {
        let mut touched: Vec<u64> = sums
            .keys()
            .map(|&symbol| self.colours[symbol as usize])
            .collect();
        touched.sort_unstable();
        touched.dedup();
        let mut changed = Vec::new();
        for colour in touched {
            let Some(cell) = self.cells.get(&colour) else {
                continue;
            };
            let mut parts: BTreeMap<u64, Vec<u32>> = BTreeMap::new();
            for &symbol in cell {
                let sum = sums.get(&symbol).copied().unwrap_or(0);
                parts.entry(sum).or_default().push(symbol);
            }
            if parts.len() == 1 {
                continue;
            }
            // Of equal ones the first, which is that with the least sum whatever the symbols'
            // numbers.
            let mut keeps = 0;
            let mut largest = 0;
            for (&sum, part) in &parts {
                if part.len() > largest {
                    (keeps, largest) = (sum, part.len());
                }
            }
            self.cells.remove(&colour);
            for (sum, part) in parts {
                let mut now = colour;
                if sum != keeps {
                    now = mix(colour, sum);
                    for &symbol in &part {
                        self.colours[symbol as usize] = now;
                    }
                    changed.extend_from_slice(&part);
                }
                if part.len() > 1 {
                    self.cells.insert(now, part);
                }
            }
        }
        changed
    }

    /// A cell of several symbols, the smallest; nothing when each symbol has a colour of its own.
    pub fn open_cell(&self) -> Option<&[u32]> {
        // The first of the smallest, in the order of colours.
        let smallest = self.cells.values().min_by_key(|cell| cell.len());
        smallest.map(Vec::as_slice)
    }

    /// A hash of the colours that does not depend on the symbols' numbers.
    pub fn hash(&self, sheet: &Sheet) -> u64 {
        together(
            self.named(sheet)
                .map(|symbol| self.colours[symbol as usize]),
        )
    }

    /// All symbols that rules name, in the order of their colours.
    pub fn in_order(&self, sheet: &Sheet) -> Vec<u32> {
        let mut symbols: Vec<u32> = self.named(sheet).collect();
        symbols.sort_unstable_by_key(|&symbol| self.colours[symbol as usize]);
        symbols
    }

    fn named(&self, sheet: &Sheet) -> impl Iterator<Item = u32> {
        (0..self.colours.len() as u32).filter(|&symbol| sheet.is_named(symbol))
    }
}
