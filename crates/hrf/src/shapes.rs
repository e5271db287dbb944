//! Which values the arguments of relations can have, whatever the state.
//!
//! A [`Shape`] holds the constants of a place and, for each function, the shapes of its arguments;
//! which values occur together is not known. The shapes are the least fixpoint of the rules in
//! which negation and the order of moves are ignored, so they hold every value that can occur.
//! Numbers are computed inside a bounded range only, since counting would not end.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};

use super::compile::Special;
use super::numbers::{self, Arithmetic, Comparison};
use panza_gdl::{Atom, Id, Literal, Rule, Signature, Span, Symbol, Symbols, Term, keyword};

/// Functions nested deeper are not followed.
const MAX_SHAPE_DEPTH: usize = 8;
/// Steps of the fixpoint, each about the look at one constant.
const MAX_WORK: usize = 1 << 23;
/// Constants and functions of one shape, at most.
pub const MAX_SIZE: usize = 1 << 16;

/// The values of a place.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Shape {
    pub constants: BTreeSet<Symbol>,
    pub functions: BTreeMap<Signature, Vec<Shape>>,
}

impl Shape {
    pub fn is_empty(&self) -> bool {
        self.constants.is_empty() && self.functions.is_empty()
    }

    fn size(&self) -> usize {
        let inner = self.functions.values().flatten().map(Shape::size);
        1 + self.constants.len() + inner.sum::<usize>()
    }

    /// Adds the values of another shape; whether any of them is new.
    fn add(&mut self, other: &Shape, depth: usize) -> bool {
        let n_before = self.constants.len();
        self.constants.extend(&other.constants);
        let mut changed = self.constants.len() > n_before;
        if depth >= MAX_SHAPE_DEPTH {
            return changed;
        }
        for (signature, arguments) in &other.functions {
            let own = self.functions.entry(*signature).or_insert_with(|| {
                changed = true;
                vec![Shape::default(); arguments.len()]
            });
            for (own, other) in own.iter_mut().zip(arguments) {
                changed |= own.add(other, depth + 1);
            }
        }
        changed
    }

    fn meet(&self, other: &Shape) -> Shape {
        let mut functions = BTreeMap::new();
        for (signature, arguments) in &self.functions {
            let Some(others) = other.functions.get(signature) else {
                continue;
            };
            let pairs = arguments.iter().zip(others);
            let met: Vec<Shape> = pairs.map(|(own, other)| own.meet(other)).collect();
            if met.iter().all(|shape| !shape.is_empty()) {
                functions.insert(*signature, met);
            }
        }
        Shape {
            constants: &self.constants & &other.constants,
            functions,
        }
    }

    /// All terms of this shape, nothing if there are more than `limit`.
    pub fn terms(&self, limit: usize) -> Option<Vec<Term>> {
        let mut terms: Vec<Term> = self.constants.iter().copied().map(Term::Constant).collect();
        for (&(name, _), arguments) in &self.functions {
            let mut tuples: Vec<Vec<Term>> = vec![Vec::new()];
            for argument in arguments {
                let values = argument.terms(limit)?;
                if tuples.len().saturating_mul(values.len()) > limit {
                    return None;
                }
                let longer = |tuple: &Vec<Term>, value: &Term| {
                    let mut tuple = tuple.clone();
                    tuple.push(value.clone());
                    tuple
                };
                let tuples_of = |tuple: &Vec<Term>| {
                    values
                        .iter()
                        .map(|it| longer(tuple, it))
                        .collect::<Vec<_>>()
                };
                tuples = tuples.iter().flat_map(tuples_of).collect();
            }
            let new = tuples.into_iter().map(|it| Term::Function(name, it.into()));
            terms.extend(new);
        }
        (terms.len() <= limit).then_some(terms)
    }
}

/// The values of each argument of each relation.
pub struct Shapes {
    /// By relation: what its facts have.
    pub facts: HashMap<Signature, Vec<Shape>>,
    /// By special relation of a domain: its values.
    pub domains: HashMap<Symbol, Shape>,
    /// The rows of arithmetic and comparisons that can be asked for.
    pub rows: BTreeMap<Symbol, BTreeSet<Vec<Symbol>>>,
    /// Where a number beyond the range would have been computed.
    pub cut: Option<Span>,
    /// Whether the fixpoint was given up.
    pub is_unfinished: bool,
}

/// The values of the variables of a rule; nothing for one that no condition restricts.
type Values = Vec<Option<Shape>>;

struct Fixpoint<'a> {
    symbols: &'a mut Symbols,
    specials: &'a HashMap<Symbol, Special>,
    shapes: Shapes,
    /// By relation: the heads whose places domains are of.
    domains_of: HashMap<Symbol, Vec<Symbol>>,
    /// Relations that may have no facts before their callers' values are known.
    awaiting: HashSet<Signature>,
    numbers: HashMap<Symbol, Option<f64>>,
    range: (f64, f64),
    work: usize,
}

/// Computes the shapes of all relations.
pub fn shapes(
    rules: &[Rule],
    symbols: &mut Symbols,
    specials: &HashMap<Symbol, Special>,
) -> Shapes {
    let mut domains_of: HashMap<Symbol, Vec<Symbol>> = HashMap::new();
    for (&domain, special) in specials {
        if let Special::Domain { of, .. } = special {
            domains_of.entry(*of).or_default().push(domain);
        }
    }
    let names = (0..symbols.len()).map(Symbol::from_index);
    let numbers: HashMap<Symbol, Option<f64>> = names
        .map(|symbol| (symbol, numbers::number(symbols.name(symbol))))
        .collect();
    // Twice the span of the numbers of the sheet, which includes that of the rewards.
    let known = || numbers.values().flatten().copied();
    let (low, high) = (known().fold(0.0, f64::min), known().fold(100.0, f64::max));
    let margin = (high - low) / 2.0;
    let mut fixpoint = Fixpoint {
        symbols,
        specials,
        shapes: Shapes {
            facts: HashMap::new(),
            domains: HashMap::new(),
            rows: BTreeMap::new(),
            cut: None,
            is_unfinished: false,
        },
        domains_of,
        awaiting: HashSet::new(),
        numbers,
        range: (low - margin, high + margin),
        work: 0,
    };
    fixpoint.run(rules);
    fixpoint.shapes
}

impl Fixpoint<'_> {
    fn run(&mut self, rules: &[Rule]) {
        let mut users: HashMap<Signature, Vec<usize>> = HashMap::new();
        for (number, rule) in rules.iter().enumerate() {
            for literal in &rule.body {
                let Some(atom) = literal.atom() else { continue };
                let read = match self.specials.get(&atom.relation) {
                    Some(Special::Count { of, outer }) => (*of, outer.len() + 1),
                    _ => atom.signature(),
                };
                users.entry(read).or_default().push(number);
            }
        }
        self.awaiting = self.awaiting(rules, &users);
        // Facts first, so that rules are applied to all of them at once.
        let (facts, others): (Vec<usize>, Vec<usize>) =
            (0..rules.len()).partition(|&number| rules[number].body.is_empty());
        let mut is_open = vec![true; rules.len()];
        let mut open: VecDeque<usize> = facts.into_iter().chain(others).collect();
        while let Some(number) = open.pop_front() {
            is_open[number] = false;
            if self.work > MAX_WORK {
                self.shapes.is_unfinished = true;
                return;
            }
            for changed in self.apply(&rules[number]) {
                for &user in users.get(&changed).into_iter().flatten() {
                    if !std::mem::replace(&mut is_open[user], true) {
                        open.push_back(user);
                    }
                }
            }
        }
        for rule in rules {
            self.note_rows(rule);
        }
    }

    /// The relations with a domain in a rule, and those that use them.
    fn awaiting(
        &self,
        rules: &[Rule],
        users: &HashMap<Signature, Vec<usize>>,
    ) -> HashSet<Signature> {
        let mut open: Vec<Signature> = users.keys().copied().collect();
        open.retain(|(relation, _)| {
            matches!(self.specials.get(relation), Some(Special::Domain { .. }))
        });
        let mut found = HashSet::new();
        while let Some(signature) = open.pop() {
            for &user in users.get(&signature).into_iter().flatten() {
                let head = rules[user].head.signature();
                if found.insert(head) {
                    open.push(head);
                }
            }
        }
        found
    }

    /// Applies a rule; the relations that have new values.
    fn apply(&mut self, rule: &Rule) -> Vec<Signature> {
        let mut changed = Vec::new();
        // A relation may hold for none but the values that are asked for.
        self.calls(rule, &mut changed);
        let Some(values) = self.values(rule, None) else {
            return changed;
        };
        let head = &rule.head;
        let mut targets = vec![head.signature()];
        match head.signature() {
            (keyword::INIT | keyword::NEXT, 1) => targets.push((keyword::TRUE, 1)),
            (keyword::LEGAL, 2) => targets.push((keyword::DOES, 2)),
            _ => {}
        }
        for (index, argument) in head.arguments.iter().enumerate() {
            let shape = self.shape_of(argument, &values);
            for &target in &targets {
                let facts = self.shapes.facts.entry(target);
                let facts = facts.or_insert_with(|| vec![Shape::default(); target.1]);
                if facts[index].add(&shape, 0) {
                    changed.push(target);
                }
            }
        }
        if head.arguments.is_empty() && !self.shapes.facts.contains_key(&head.signature()) {
            self.shapes.facts.insert(head.signature(), Vec::new());
            changed.push(head.signature());
        }
        changed
    }

    /// The values of a rule's variables under its conditions, or those that hold where one of them
    /// is asked for; nothing where that never happens.
    ///
    /// A condition after the one that is asked for may have no facts until that one has its values,
    /// so it counts only where it awaits no values. Otherwise each could wait for the other.
    fn values(&mut self, rule: &Rule, asked: Option<usize>) -> Option<Values> {
        let mut values: Values = vec![None; rule.variables.len()];
        let is_known = |literal: &Literal| {
            literal.atom().is_some_and(|atom| {
                let is_special = self.specials.contains_key(&atom.relation);
                !is_special && !self.awaiting.contains(&atom.signature())
            })
        };
        let numbered = rule.body.iter().enumerate();
        let literals = numbered.filter(|(number, literal)| {
            asked.is_none_or(|asked| *number < asked || *number > asked && is_known(literal))
        });
        let literals: Vec<&Literal> = literals.map(|(_, literal)| literal).collect();
        for literal in &literals {
            let Literal::Positive(atom) = literal else {
                continue;
            };
            match self.specials.get(&atom.relation) {
                None => self.restrict_by_facts(atom, &mut values)?,
                Some(Special::Domain { .. }) => {
                    let shape = self.shapes.domains.get(&atom.relation)?.clone();
                    self.restrict(&atom.arguments[0], &shape, &mut values)?;
                }
                Some(Special::Count { of, outer }) => {
                    let shape = self.counts(*of, outer.len());
                    let count = atom.arguments.last()?;
                    self.restrict(count, &shape, &mut values)?;
                }
                Some(Special::Compute(_) | Special::Compare(_)) => {}
            }
        }
        for literal in &literals {
            let Literal::Positive(atom) = literal else {
                continue;
            };
            match (self.specials.get(&atom.relation), &atom.arguments[..]) {
                (Some(Special::Compute(function)), [inputs @ .., result]) => {
                    let shape = self.results(*function, inputs, &values, atom.span);
                    self.restrict(result, &shape, &mut values)?;
                }
                (Some(Special::Compare(comparison)), [left, right]) => {
                    self.restrict_compared(*comparison, left, right, &mut values)?;
                }
                _ => {}
            }
        }
        Some(values)
    }

    /// Restricts two terms to the numbers for which a comparison holds with any of the other's.
    fn restrict_compared(
        &mut self,
        comparison: Comparison,
        left: &Term,
        right: &Term,
        values: &mut Values,
    ) -> Option<()> {
        let lefts = self.numbers_of(left, values);
        let rights = self.numbers_of(right, values);
        let least = lefts.iter().map(|it| it.1).fold(f64::INFINITY, f64::min);
        let most = rights
            .iter()
            .map(|it| it.1)
            .fold(f64::NEG_INFINITY, f64::max);
        let kept = |all: &[(Symbol, f64)], is_kept: &dyn Fn(f64) -> bool| Shape {
            constants: (all.iter())
                .filter(|(_, number)| is_kept(*number))
                .map(|(symbol, _)| *symbol)
                .collect(),
            functions: BTreeMap::new(),
        };
        let lefts = kept(&lefts, &|number| comparison.holds(number, most));
        let rights = kept(&rights, &|number| comparison.holds(least, number));
        self.restrict(left, &lefts, values)?;
        self.restrict(right, &rights, values)
    }

    fn restrict_by_facts(&mut self, atom: &Atom, values: &mut Values) -> Option<()> {
        let facts = self.shapes.facts.get(&atom.signature())?;
        for (term, shape) in atom.arguments.iter().zip(facts) {
            restrict(term, shape, values, &mut self.work)?;
        }
        Some(())
    }

    fn restrict(&mut self, term: &Term, shape: &Shape, values: &mut Values) -> Option<()> {
        restrict(term, shape, values, &mut self.work)
    }

    /// The shape of a term; variables without values give none.
    fn shape_of(&mut self, term: &Term, values: &Values) -> Shape {
        match term {
            Term::Variable(variable) => {
                let shape = values[*variable as usize].clone().unwrap_or_default();
                self.work += shape.size();
                shape
            }
            Term::Constant(name) => Shape {
                constants: [*name].into(),
                functions: BTreeMap::new(),
            },
            Term::Function(name, arguments) => {
                let arguments = arguments.iter().map(|term| self.shape_of(term, values));
                let arguments: Vec<Shape> = arguments.collect();
                if arguments.iter().map(Shape::size).sum::<usize>() > MAX_SIZE {
                    self.shapes.is_unfinished = true;
                    return Shape::default();
                }
                Shape {
                    constants: BTreeSet::new(),
                    functions: [((*name, arguments.len()), arguments)].into(),
                }
            }
        }
    }

    /// Adds what a rule asks of relations whose domains are wanted.
    fn calls(&mut self, rule: &Rule, changed: &mut Vec<Signature>) {
        for (number, literal) in rule.body.iter().enumerate() {
            let Some(atom) = literal.atom() else { continue };
            let counted = match self.specials.get(&atom.relation) {
                Some(Special::Count { of, .. }) => self.domains_of.get(of),
                _ => None,
            };
            let own = self.domains_of.get(&atom.relation);
            let domains: Vec<Symbol> = (own.into_iter().chain(counted).flatten())
                .copied()
                .collect();
            if domains.is_empty() {
                continue;
            }
            let Some(values) = self.values(rule, Some(number)) else {
                continue;
            };
            for domain in domains {
                let Some(Special::Domain { place, .. }) = self.specials.get(&domain) else {
                    continue;
                };
                // A count has the arguments of what it counts, but for the last.
                let Some(argument) = atom.arguments.get(place.argument) else {
                    continue;
                };
                let shape = self.shape_of(argument, &values);
                let mut inner = Some(&shape);
                for (function, index) in &place.path {
                    let arguments = inner.and_then(|shape| shape.functions.get(function));
                    inner = arguments.and_then(|arguments| arguments.get(*index));
                }
                let own = self.shapes.domains.entry(domain).or_default();
                if inner.is_some_and(|inner| own.add(inner, 0)) {
                    changed.push((domain, 1));
                }
            }
        }
    }

    /// The numbers from 0 to how many values a relation can have for the same first arguments.
    fn counts(&mut self, of: Symbol, n_outer: usize) -> Shape {
        let facts = self.shapes.facts.get(&(of, n_outer + 1));
        let shape = facts.and_then(|facts| facts.last());
        let terms = shape.map_or(Some(Vec::new()), |shape| shape.terms(MAX_COUNTED));
        let most = terms.map_or(MAX_COUNTED, |terms| terms.len());
        self.work += most;
        let constants = (0..=most).map(|number| self.number(number as f64));
        Shape {
            constants: constants.collect(),
            functions: BTreeMap::new(),
        }
    }

    fn number(&mut self, number: f64) -> Symbol {
        // Writing a number and looking it up takes as long as a look at some constants.
        self.work += 8;
        let symbol = self.symbols.intern(&numbers::shown(number));
        self.numbers.insert(symbol, Some(number));
        symbol
    }

    fn numbers_of(&mut self, term: &Term, values: &Values) -> Vec<(Symbol, f64)> {
        let number = |symbol: &Symbol| {
            let number = self.numbers.get(symbol).copied().flatten()?;
            Some((*symbol, number))
        };
        match term {
            Term::Constant(name) => number(name).into_iter().collect(),
            Term::Function(..) => Vec::new(),
            Term::Variable(variable) => {
                let shape = values[*variable as usize].as_ref();
                let constants = shape.into_iter().flat_map(|shape| &shape.constants);
                constants.filter_map(number).collect()
            }
        }
    }

    fn results(
        &mut self,
        function: Arithmetic,
        inputs: &[Term],
        values: &Values,
        span: Span,
    ) -> Shape {
        let mut found = BTreeSet::new();
        let mut is_cut = false;
        self.computed(function, inputs, values, |_, value| match value {
            Some(value) => drop(found.insert(value.to_bits())),
            None => is_cut = true,
        });
        if is_cut {
            self.shapes.cut = self.shapes.cut.or(Some(span));
        }
        let constants = found.into_iter();
        let constants = constants.map(|bits| self.number(f64::from_bits(bits)));
        Shape {
            constants: constants.collect(),
            functions: BTreeMap::new(),
        }
    }

    /// Calls `visit` for the inputs that can occur, with their result unless it lies beyond the
    /// range. What is no number is left out.
    fn computed(
        &mut self,
        function: Arithmetic,
        inputs: &[Term],
        values: &Values,
        mut visit: impl FnMut(&[Symbol], Option<f64>),
    ) {
        let (low, high) = self.range;
        let lefts = inputs.first().map(|term| self.numbers_of(term, values));
        let rights = inputs.get(1).map(|term| self.numbers_of(term, values));
        for (left, left_value) in lefts.unwrap_or_default() {
            let mut one = |row: &[Symbol], right_value: f64| {
                if let Some(value) = function.value(left_value, right_value) {
                    visit(row, (low..=high).contains(&value).then_some(value));
                }
            };
            let Some(rights) = &rights else {
                one(&[left], 0.0);
                continue;
            };
            self.work += rights.len();
            if self.work > MAX_WORK {
                return;
            }
            for (right, right_value) in rights {
                one(&[left, *right], *right_value);
            }
        }
    }

    /// The rows of arithmetic that a rule asks for.
    fn note_rows(&mut self, rule: &Rule) {
        let is_asked = |literal: &Literal| {
            let special = literal
                .atom()
                .and_then(|it| self.specials.get(&it.relation));
            matches!(special, Some(Special::Compute(_) | Special::Compare(_)))
        };
        if !rule.body.iter().any(is_asked) {
            return;
        }
        let Some(values) = self.values(rule, None) else {
            return;
        };
        for literal in &rule.body {
            let Some(atom) = literal.atom() else { continue };
            let mut rows: Vec<Vec<Symbol>> = Vec::new();
            match (self.specials.get(&atom.relation), &atom.arguments[..]) {
                (Some(Special::Compute(function)), [inputs @ .., result]) => {
                    let results = self.numbers_of(result, &values);
                    let results: HashSet<Symbol> = results.iter().map(|(it, _)| *it).collect();
                    let mut found: Vec<(Vec<Symbol>, f64)> = Vec::new();
                    self.computed(*function, inputs, &values, |row, value| {
                        found.extend(value.map(|value| (row.to_vec(), value)));
                    });
                    for (mut row, value) in found {
                        let value = self.number(value);
                        if results.contains(&value) {
                            row.push(value);
                            rows.push(row);
                        }
                    }
                }
                (Some(Special::Compare(comparison)), [left, right]) => {
                    let rights = self.numbers_of(right, &values);
                    for (left, number) in self.numbers_of(left, &values) {
                        self.work += rights.len();
                        let holds = rights.iter().filter(|it| comparison.holds(number, it.1));
                        rows.extend(holds.map(|(right, _)| vec![left, *right]));
                        if self.work > MAX_WORK {
                            break;
                        }
                    }
                }
                _ => continue,
            }
            self.shapes
                .rows
                .entry(atom.relation)
                .or_default()
                .extend(rows);
        }
        self.shapes.is_unfinished |= self.work > MAX_WORK;
    }
}

/// Counts of more values are not supported.
pub const MAX_COUNTED: usize = 256;

/// Restricts the variables of a term to a shape; nothing where no value is left.
fn restrict(term: &Term, shape: &Shape, values: &mut Values, work: &mut usize) -> Option<()> {
    *work += 1;
    match term {
        Term::Variable(variable) => {
            let value = &mut values[*variable as usize];
            let met = match value {
                None => shape.clone(),
                Some(own) => own.meet(shape),
            };
            *work += met.size();
            let is_possible = !met.is_empty();
            *value = Some(met);
            is_possible.then_some(())
        }
        Term::Constant(name) => shape.constants.contains(name).then_some(()),
        Term::Function(name, arguments) => {
            let shapes = shape.functions.get(&(*name, arguments.len()))?;
            for (term, shape) in arguments.iter().zip(shapes) {
                restrict(term, shape, values, work)?;
            }
            Some(())
        }
    }
}
