//! Colour refinement of the symbols of rules.
//!
//! A colour is a hash of the contexts in which a symbol occurs. Symbols of one colour form a cell.
//! When a cell is split, the rules with recoloured symbols are hashed again, which may split the
//! cells of other symbols in them. The largest part of a cell keeps its colour (Hopcroft 1971), so
//! each symbol is recoloured a logarithmic number of times.

use std::collections::{BTreeMap, HashMap};

use super::Signature;
use super::goal_numbers::goal_numbers;
use panza_gdl::{Atom, Id, Literal, Rule, Rules, Symbol, Term, keyword};

/// The most rounds of refinement of a rule's variables.
const VARIABLE_ROUNDS: usize = 8;

/// Tags of the kinds of hashed things.
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
    // Changed with the definition of the signature.
    pub const LOW: u64 = 0x70_61_6e_7a_61_00_01_00;
    pub const HIGH: u64 = 0x70_61_6e_7a_61_00_01_01;
}

/// The finaliser of MurmurHash3, a bijection.
fn spread(mut x: u64) -> u64 {
    x = (x ^ (x >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    x = (x ^ (x >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    x ^ (x >> 33)
}

/// Hashes an ordered pair. It must never change, since signatures are stored.
pub(super) fn mix(left: u64, right: u64) -> u64 {
    let left = spread(left.wrapping_add(0x9e37_79b9_7f4a_7c15));
    spread(left.rotate_left(29) ^ right.wrapping_mul(0xd6e8_feb8_6659_fd93))
}

/// Hashes a multiset.
fn together(hashes: impl Iterator<Item = u64>) -> u64 {
    hashes.fold(0, |sum, hash| sum.wrapping_add(mix(kind::ARGUMENT, hash)))
}

/// Hashes rules with the colours of symbols and of the rule's variables.
struct RuleHasher<'a> {
    symbols: &'a [u64],
    variables: Vec<u64>,
}

impl RuleHasher<'_> {
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

    /// Calls `visit` for each occurrence of a symbol or variable in the rule, with a hash of its
    /// context.
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

/// A symbol or variable of a rule.
enum Named {
    Symbol(Symbol),
    Variable(u32),
}

/// Calls `visit` for each occurrence of a symbol or variable in the rule, without contexts.
fn visit_names(rule: &Rule, visit: &mut impl FnMut(Named, u64)) {
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

/// The number of distinct values.
fn n_different(values: &[u64]) -> usize {
    let mut values = values.to_vec();
    values.sort_unstable();
    values.dedup();
    values.len()
}

/// The colours of a rule's variables, refined from `start`, and the number of rounds.
pub(super) fn variables(rule: &Rule, symbols: &[u64], start: Vec<u64>) -> (Vec<u64>, u64) {
    let mut hasher = RuleHasher {
        symbols,
        variables: start,
    };
    let mut rounds = 0;
    let mut different = n_different(&hasher.variables);
    while rounds < VARIABLE_ROUNDS && different < hasher.variables.len() {
        let hashes = hasher.rule(rule);
        let mut sums = vec![0_u64; hasher.variables.len()];
        hasher.places(rule, &hashes, &mut |named, place| {
            if let Named::Variable(variable) = named {
                let sum = &mut sums[variable as usize];
                *sum = sum.wrapping_add(mix(kind::VARIABLE, place));
            }
        });
        for (colour, sum) in hasher.variables.iter_mut().zip(sums) {
            *colour = mix(*colour, sum);
        }
        rounds += 1;
        let now = n_different(&hasher.variables);
        if now == different {
            break;
        }
        different = now;
    }
    (hasher.variables, rounds as u64)
}

/// The rules with an index by symbol.
pub(super) struct Sheet<'a> {
    rules: &'a [Rule],
    /// Per symbol the rules that contain it.
    rules_with: Vec<Vec<u32>>,
    /// Per rule its number of terms.
    sizes: Vec<u32>,
    /// Per symbol its fixed colour, for keywords of GDL and numbers that may be goals.
    fixed: Vec<Option<u64>>,
}

impl<'a> Sheet<'a> {
    pub fn new(rules: &'a Rules) -> Self {
        let n_symbols = rules.symbols.len();
        let mut rules_with = vec![Vec::new(); n_symbols];
        let mut sizes = Vec::with_capacity(rules.rules.len());
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
            visit_names(rule, &mut visit);
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

    /// Whether a rule contains the symbol.
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
        let hasher = RuleHasher {
            symbols: colours,
            variables,
        };
        hasher.rule(rule).0
    }
}

/// A partition of the symbols by colour.
#[derive(Clone)]
pub(super) struct Partition {
    /// Per symbol; meaningless for symbols in no rule.
    colours: Vec<u64>,
    /// The cells of more than one symbol, by colour, each in rising order.
    cells: BTreeMap<u64, Vec<u32>>,
    /// The number of individualised symbols.
    n_individualised: u64,
}

impl Partition {
    /// The stable partition of the symbols. Visited terms are taken off `left`; refinement stops
    /// when it is 0. The result does not depend on orders and names even so.
    pub fn refined(sheet: &Sheet, left: &mut u64) -> Self {
        let mut partition = Partition {
            colours: Vec::with_capacity(sheet.fixed.len()),
            cells: BTreeMap::new(),
            n_individualised: 0,
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

    /// The cost of a copy, in terms.
    pub fn size(&self) -> u64 {
        self.colours.len() as u64
    }

    /// Gives a symbol a unique colour.
    pub fn individualise(&mut self, symbol: u32) {
        let old = self.colours[symbol as usize];
        if let Some(cell) = self.cells.get_mut(&old) {
            cell.retain(|&other| other != symbol);
            if cell.len() < 2 {
                self.cells.remove(&old);
            }
        }
        // The rest of the cell keeps its colour, and may have another symbol individualised later.
        self.n_individualised += 1;
        self.colours[symbol as usize] = mix(mix(kind::SPECIAL, self.n_individualised), old);
    }

    /// Splits cells until the partition is stable, after the colours of `changed` have changed.
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
                let hasher = RuleHasher {
                    symbols: &self.colours,
                    variables,
                };
                hasher.places(rule, &hasher.rule(rule), &mut |named, place| {
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

    /// Splits the cells of these symbols by their sums. Returns the symbols with new colours.
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
            // Of equally large parts the one with the least sum keeps the colour.
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

    /// The smallest cell of more than one symbol; `None` if the partition is discrete.
    pub fn open_cell(&self) -> Option<&[u32]> {
        let smallest = self.cells.values().min_by_key(|cell| cell.len());
        smallest.map(Vec::as_slice)
    }

    /// A hash of the colours that does not depend on the order of symbols.
    pub fn hash(&self, sheet: &Sheet) -> u64 {
        together(
            self.named(sheet)
                .map(|symbol| self.colours[symbol as usize]),
        )
    }

    /// All symbols of the rules, in the order of their colours.
    pub fn in_order(&self, sheet: &Sheet) -> Vec<u32> {
        let mut symbols: Vec<u32> = self.named(sheet).collect();
        symbols.sort_unstable_by_key(|&symbol| self.colours[symbol as usize]);
        symbols
    }

    fn named(&self, sheet: &Sheet) -> impl Iterator<Item = u32> {
        (0..self.colours.len() as u32).filter(|&symbol| sheet.is_named(symbol))
    }
}
