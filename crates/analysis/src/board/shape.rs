//! Shapes of boards: which arguments of a function are coordinates, and the labels of contents.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::labels::{BLANK, label_contents, shortened};
use super::orientation::{Neighbours, Orientation, Slant, Votes};
use super::{Arguments, Functor};
use panza_gdl::{Literal, Rules, Symbol, Term, keyword};

/// The longest axis.
const MAX_AXIS: usize = 30;

/// The most boards of one function.
const MAX_SELECTORS: usize = 16;

/// The least share of cells seen for a grid, and for a grid of which each line and each column, at
/// least [`FULL`] of them, was seen.
const MIN_COVERAGE: f64 = 0.3;
const MIN_COVERAGE_OF_FULL: f64 = 0.12;
const FULL: usize = 5;

/// The most contents.
const MAX_CONTENTS: usize = 128;

/// The compass points as a grid, north on top, with their usual names.
const COMPASS: [[&[&str]; 3]; 3] = [
    [
        &["northwest", "nw", "upperleft", "topleft"],
        &["north", "n"],
        &["northeast", "ne", "upperright", "topright"],
    ],
    [
        &["west", "w"],
        &["centre", "center", "c", "middle"],
        &["east", "e"],
    ],
    [
        &["southwest", "sw", "lowerleft", "bottomleft"],
        &["south", "s"],
        &["southeast", "se", "lowerright", "bottomright"],
    ],
];

/// Coordinates: one or two arguments.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Coordinates {
    /// Two arguments with ordered values: across and up, or down and across.
    Grid {
        first: Vec<String>,
        second: Vec<String>,
    },
    /// One argument with these of the compass's names.
    Compass(Vec<String>),
    /// One argument with a few values that have no order of their own; or none at all.
    Row(Vec<String>),
}

impl Coordinates {
    /// How many arguments it takes.
    pub(super) fn n_arguments(&self) -> usize {
        match self {
            Coordinates::Grid { .. } => 2,
            Coordinates::Compass(_) => 1,
            Coordinates::Row(values) => usize::from(!values.is_empty()),
        }
    }

    fn n_places(&self) -> usize {
        match self {
            Coordinates::Grid { first, second } => first.len() * second.len(),
            Coordinates::Compass(_) => 9,
            Coordinates::Row(values) => values.len().max(1),
        }
    }

    /// Line and column of these arguments, line 0 on top.
    pub(super) fn locate(
        &self,
        arguments: &[String],
        orientation: Orientation,
    ) -> Option<(usize, usize)> {
        let at = |values: &[String], value: &String| values.iter().position(|own| own == value);
        match (self, arguments) {
            (Coordinates::Grid { first, second }, [a, b]) => {
                let (first_at, second_at) = (at(first, a)?, at(second, b)?);
                let (line, column) = match orientation.rows_first {
                    true => (first_at, second_at),
                    false => (second.len() - 1 - second_at, first_at),
                };
                let (n_lines, n_columns) = match orientation.rows_first {
                    true => (first.len(), second.len()),
                    false => (second.len(), first.len()),
                };
                Some((
                    turned(line, n_lines, orientation.is_upside_down),
                    turned(column, n_columns, orientation.is_mirrored),
                ))
            }
            (Coordinates::Compass(_), [name]) => compass_place(name),
            (Coordinates::Row(values), [value]) => Some((0, at(values, value)?)),
            (Coordinates::Row(values), []) if values.is_empty() => Some((0, 0)),
            _ => None,
        }
    }
}

/// Mirrors index `place` of `0..n`.
fn turned(place: usize, n: usize, is_turned: bool) -> usize {
    match is_turned {
        true => n - 1 - place,
        false => place,
    }
}

/// The boards of one function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Shape {
    function: String,
    arity: usize,
    /// The arguments that select the board.
    pub(super) selector: Coordinates,
    /// The coordinates of the cell.
    pub(super) cell: Coordinates,
    /// Which way the coordinates run.
    pub(super) orientation: Orientation,
    /// Which diagonals join the cells of a board of hexagons.
    pub(super) slant: Option<Slant>,
    /// The cells that facts may name, by the arguments of the cell, if known; no other place of the
    /// grid is a cell.
    known_cells: Option<HashSet<Vec<String>>>,
    /// The label of each content.
    labels: HashMap<Vec<String>, String>,
    /// Whether blank cells have facts; if so, a place without a fact is no cell.
    pub(super) has_blanks: bool,
}

impl Shape {
    /// The shape of a function with these facts in the sample states, the initial state first.
    /// `all` are the facts that may ever hold, if known.
    pub(super) fn find(
        function: &str,
        arity: usize,
        states: &[&[Arguments]],
        all: &[Arguments],
        rules: &Rules,
    ) -> Option<Self> {
        if !(2..=5).contains(&arity) {
            return None;
        }
        let orders = Orders::new(rules);
        let facts: Vec<&Arguments> = states.iter().copied().flatten().collect();
        // The shortest prefix that determines the content comes first.
        for n_contents in [2, 1, 0] {
            let Some(n_where) = arity.checked_sub(n_contents) else {
                continue;
            };
            // Facts without a content are marks on a single board.
            if n_where < 2
                || (n_contents == 0 && arity > 2)
                || !is_function_of_prefix(states, n_where)
            {
                continue;
            }
            // An ordered first content is a coordinate.
            let counts = |values: &[String]| values.len() > 1 && orders.ordered(values).is_some();
            if n_contents == 2
                && counts(&distinct(facts.iter().map(|arguments| &arguments[n_where])))
            {
                continue;
            }
            // Facts that may hold add cells that were not seen, but may also add places that are no
            // cells.
            let grids = [all, &[]].map(|all| places(&facts, all, n_where, &orders));
            let Some((selector, cell)) = grids.into_iter().flatten().next() else {
                continue;
            };
            let contents: HashSet<&[String]> = facts.iter().map(|fact| &fact[n_where..]).collect();
            if contents.len() > MAX_CONTENTS {
                continue;
            }
            let (mut labels, has_blanks) = label_contents(states, n_where);
            if n_contents == 0 {
                labels.insert(Vec::new(), shortened(&[function.to_string()], 1));
            }
            let orientation = Orientation {
                rows_first: names_rows_first(rules, function, arity, n_where),
                ..Orientation::default()
            };
            let from = n_where - cell.n_arguments();
            let known_cells = (!all.is_empty()).then(|| {
                let named = all.iter().chain(facts.iter().copied());
                named.map(|fact| fact[from..n_where].to_vec()).collect()
            });
            return Some(Self {
                function: function.to_string(),
                arity,
                selector,
                cell,
                orientation,
                slant: None,
                known_cells,
                labels,
                has_blanks,
            });
        }
        None
    }

    /// The function's name.
    pub(super) fn function(&self) -> &str {
        &self.function
    }

    /// Its arity.
    pub(super) fn arity(&self) -> usize {
        self.arity
    }

    /// Whether facts may name this cell.
    pub(super) fn has_cell(&self, arguments: &[String]) -> bool {
        let known = self.known_cells.as_ref();
        known.is_none_or(|known| known.contains(arguments))
    }

    /// Turns the board so that moves lead where their words say. `states` are those of the samples
    /// by function, `directions` as in [`Samples`](super::Samples).
    pub(super) fn turn(
        &mut self,
        states: &[BTreeMap<Functor, Vec<Arguments>>],
        directions: &[(usize, (i32, i32))],
    ) {
        let mut votes = Votes::default();
        for &(index, direction) in directions {
            let of = |index: usize| self.occupied(states.get(index));
            let (before, now) = (of(index - 1), of(index));
            let came = self.middle(now.difference(&before).copied());
            let went = self.middle(before.difference(&now).copied());
            if let (Some(came), Some(went)) = (came, went) {
                votes.add(direction, (came.0 - went.0, came.1 - went.1));
            }
        }
        self.orientation = votes.turned(self.orientation);
    }

    /// Makes the cells hexagons where a relation between neighbours is that of hexagons.
    pub(super) fn set_slant(&mut self, neighbours: &Neighbours) {
        if let Coordinates::Grid { first, second } = &self.cell {
            self.slant = neighbours.slant(first, second);
        }
    }

    /// The facts of a state that put something on the board.
    fn occupied<'a>(
        &self,
        state: Option<&'a BTreeMap<Functor, Vec<Arguments>>>,
    ) -> HashSet<&'a Arguments> {
        let functor = (self.function.clone(), self.arity);
        let facts = state.and_then(|state| state.get(&functor));
        let n_where = self.selector.n_arguments() + self.cell.n_arguments();
        let facts = facts.into_iter().flatten();
        facts
            .filter(|fact| self.label(&fact[n_where..]) != BLANK)
            .collect()
    }

    /// The middle of the cells of facts, by line and column.
    fn middle<'a>(&self, facts: impl Iterator<Item = &'a Arguments>) -> Option<(f64, f64)> {
        let from = self.selector.n_arguments();
        let to = from + self.cell.n_arguments();
        let places: Vec<(usize, usize)> = facts
            .filter_map(|fact| self.cell.locate(&fact[from..to], self.orientation))
            .collect();
        let mean = |sum: usize| sum as f64 / places.len() as f64;
        let lines = places.iter().map(|place| place.0).sum();
        let columns = places.iter().map(|place| place.1).sum();
        (!places.is_empty()).then(|| (mean(lines), mean(columns)))
    }

    /// The number of cells of all boards.
    pub(super) fn n_cells(&self) -> usize {
        self.selector.n_places() * self.cell.n_places()
    }

    /// The label of a content; one that no sample contains is abbreviated.
    pub(super) fn label(&self, content: &[String]) -> String {
        self.labels
            .get(content)
            .cloned()
            .unwrap_or_else(|| shortened(content, 1))
    }

    /// Every content seen, with its label and whether it is the blank.
    pub(super) fn contents(&self) -> impl Iterator<Item = (&[String], &str, bool)> {
        self.labels.iter().map(|(content, label)| {
            let is_blank = self.has_blanks && label == BLANK;
            (content.as_slice(), label.as_str(), is_blank)
        })
    }

    /// The width of the widest label.
    pub(super) fn label_width(&self) -> usize {
        let widths = self.labels.values().map(|label| label.chars().count());
        widths.max().unwrap_or(1)
    }
}

/// The names of the lines of a board, from the top, and of its columns; empty where they have none.
pub(super) fn cell_names(shape: &Shape) -> (Vec<String>, Vec<String>) {
    match &shape.cell {
        Coordinates::Grid { first, second } => {
            let Orientation {
                rows_first,
                is_upside_down,
                is_mirrored,
            } = shape.orientation;
            let (mut lines, mut columns) = match rows_first {
                true => (first.clone(), second.clone()),
                false => (second.iter().rev().cloned().collect(), first.clone()),
            };
            if is_upside_down {
                lines.reverse();
            }
            if is_mirrored {
                columns.reverse();
            }
            (lines, columns)
        }
        Coordinates::Compass(_) => (vec![String::new(); 3], vec![String::new(); 3]),
        Coordinates::Row(values) => (vec![String::new()], values.clone()),
    }
}

/// The selector and the coordinates, from the facts seen and those that may hold; `None` if they
/// form no grid, or too few cells were seen.
fn places(
    seen: &[&Arguments],
    all: &[Arguments],
    n_where: usize,
    orders: &Orders,
) -> Option<(Coordinates, Coordinates)> {
    let facts = || seen.iter().copied().chain(all);
    let values: Vec<Vec<String>> = (0..n_where)
        .map(|at| distinct(facts().map(|arguments| &arguments[at])))
        .collect();
    let (selector, cell) = orders.split(&values)?;
    let is_full = (n_where - 2..n_where).all(|at| {
        let seen = distinct(seen.iter().map(|arguments| &arguments[at]));
        let axis = orders
            .ordered(&values[at])
            .map_or(usize::MAX, |axis| axis.len());
        seen.len() >= FULL && seen.len() == axis
    });
    let least = if is_full {
        MIN_COVERAGE_OF_FULL
    } else {
        MIN_COVERAGE
    };
    let n_seen = seen
        .iter()
        .map(|fact| &fact[..n_where])
        .collect::<HashSet<_>>()
        .len();
    let n_cells = selector.n_places() * cell.n_places();
    (n_seen >= 4 && n_seen as f64 >= least * n_cells as f64).then_some((selector, cell))
}

/// Whether the first `n_where` arguments determine the fact in each state.
fn is_function_of_prefix(states: &[&[Arguments]], n_where: usize) -> bool {
    states.iter().all(|facts| {
        let mut seen = HashSet::new();
        facts.iter().all(|fact| seen.insert(&fact[..n_where]))
    })
}

fn distinct<'a>(values: impl Iterator<Item = &'a String>) -> Vec<String> {
    let values: BTreeSet<&String> = values.collect();
    values.into_iter().cloned().collect()
}

/// The orders that facts of the rules give to constants, such as `(succ 1 2) (succ 2 3)`. They do
/// not depend on names, as the order of numbers does.
struct Orders(Vec<Vec<String>>);

impl Orders {
    /// Each relation of two constants that forms one path.
    fn new(rules: &Rules) -> Self {
        let mut relations: BTreeMap<Symbol, Vec<(&str, &str)>> = BTreeMap::new();
        for rule in rules.rules.iter().filter(|rule| rule.body.is_empty()) {
            if let [Term::Constant(from), Term::Constant(to)] = &rule.head.arguments[..] {
                let pair = (rules.symbols.name(*from), rules.symbols.name(*to));
                relations.entry(rule.head.relation).or_default().push(pair);
            }
        }
        Self(relations.values().filter_map(|pairs| path(pairs)).collect())
    }

    /// The values in the order of a relation, else in that of their names. The names decide between
    /// an order and its reverse.
    fn ordered(&self, values: &[String]) -> Option<Vec<String>> {
        let named = ordered_by_name(values);
        let run = |path: &Vec<String>| {
            let at = |value| path.iter().position(|other| other == value);
            let places: Vec<usize> = values.iter().map(at).collect::<Option<_>>()?;
            let run = &path[*places.iter().min()?..=*places.iter().max()?];
            (run.len() <= MAX_AXIS).then(|| run.to_vec())
        };
        let related = self.0.iter().find_map(run);
        match (named, related) {
            (Some(named), Some(related)) if related.iter().rev().eq(&named) => Some(named),
            (named, related) => related.or(named),
        }
    }

    /// Splits the coordinates into selector and cell.
    fn split(&self, values: &[Vec<String>]) -> Option<(Coordinates, Coordinates)> {
        let one_board = Coordinates::Row(Vec::new());
        match values {
            [a, b] if is_compass(b) && is_compass(a) => Some((
                Coordinates::Compass(a.clone()),
                Coordinates::Compass(b.clone()),
            )),
            [a, b] => Some((one_board, self.grid(a, b)?)),
            [board, a, b] => Some((self.selector(board)?, self.grid(a, b)?)),
            [p, q, a, b] => {
                let boards = self.grid(p, q)?;
                (boards.n_places() <= MAX_SELECTORS).then_some((boards, self.grid(a, b)?))
            }
            _ => None,
        }
    }

    fn selector(&self, values: &[String]) -> Option<Coordinates> {
        if is_compass(values) {
            return Some(Coordinates::Compass(values.to_vec()));
        }
        let values = self.ordered(values).unwrap_or_else(|| values.to_vec());
        (values.len() <= MAX_SELECTORS).then_some(Coordinates::Row(values))
    }

    fn grid(&self, first: &[String], second: &[String]) -> Option<Coordinates> {
        let (first, second) = (self.ordered(first)?, self.ordered(second)?);
        let is_board = first.len() >= 2 && second.len() >= 2 && first.len() + second.len() >= 5;
        is_board.then_some(Coordinates::Grid { first, second })
    }
}

/// The constants of the pairs as one path, if they form one.
fn path(pairs: &[(&str, &str)]) -> Option<Vec<String>> {
    let next: HashMap<&str, &str> = pairs.iter().copied().collect();
    let reached: HashSet<&str> = pairs.iter().map(|(_, to)| *to).collect();
    if next.len() < pairs.len() || reached.len() < pairs.len() {
        return None;
    }
    let start = pairs.iter().find(|(from, _)| !reached.contains(from))?.0;
    let path: Vec<String> = std::iter::successors(Some(start), |from| next.get(from).copied())
        .map(str::to_string)
        .collect();
    (path.len() == pairs.len() + 1).then_some(path)
}

/// The values in order, if they are numbers (gaps are filled), single letters, or one word followed
/// by numbers.
fn ordered_by_name(values: &[String]) -> Option<Vec<String>> {
    if values.is_empty() || values.len() > MAX_AXIS {
        return None;
    }
    let is_letter = |value: &String| value.len() == 1 && value.as_bytes()[0].is_ascii_alphabetic();
    if values.iter().all(is_letter) {
        // Single letters have to be consecutive.
        let (first, last) = (values.first()?.as_bytes()[0], values.last()?.as_bytes()[0]);
        let is_run = usize::from(last - first) < values.len() + 2;
        return is_run.then(|| {
            (first..=last)
                .map(|letter| char::from(letter).to_string())
                .collect()
        });
    }
    let split_number = |value: &String| {
        let word = value.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        let number = value[word..].parse::<u32>().ok()?;
        Some((value[..word].to_string(), number))
    };
    let mut numbers: Vec<(String, u32)> = values.iter().map(split_number).collect::<Option<_>>()?;
    numbers.sort_by_key(|(_, number)| *number);
    let (word, lowest) = numbers.first()?;
    let (_, highest) = numbers.last()?;
    let fits =
        numbers.iter().all(|(other, _)| other == word) && ((highest - lowest) as usize) < MAX_AXIS;
    // Values such as `01` are not plain numbers.
    let is_plain = numbers
        .iter()
        .all(|(word, number)| values.contains(&format!("{word}{number}")));
    (fits && is_plain).then(|| (*lowest..=*highest).map(|n| format!("{word}{n}")).collect())
}

fn compass_place(name: &str) -> Option<(usize, usize)> {
    let name = name.to_ascii_lowercase();
    COMPASS.iter().enumerate().find_map(|(line, places)| {
        let column = places
            .iter()
            .position(|names| names.contains(&name.as_str()))?;
        Some((line, column))
    })
}

/// Whether these are compass points, enough of them for a grid.
fn is_compass(values: &[String]) -> bool {
    values.len() >= 4 && values.iter().all(|value| compass_place(value).is_some())
}

/// Whether the variables of the rules name the first coordinate a row and the second a column.
fn names_rows_first(rules: &Rules, function: &str, arity: usize, n_where: usize) -> bool {
    let Some(function) = rules.symbols.find(function) else {
        return false;
    };
    let mut votes = 0i64;
    for rule in &rules.rules {
        let atoms = rule.body.iter().filter_map(Literal::atom);
        for atom in std::iter::once(&rule.head).chain(atoms) {
            let holds_fact = matches!(
                atom.relation,
                keyword::INIT | keyword::TRUE | keyword::NEXT | keyword::BASE
            );
            let Some(Term::Function(name, arguments)) = atom.arguments.first() else {
                continue;
            };
            if !holds_fact || *name != function || arguments.len() != arity {
                continue;
            }
            let Some([first, second]) = n_where
                .checked_sub(2)
                .and_then(|at| arguments.get(at..n_where))
            else {
                continue;
            };
            for (argument, sign) in [(first, 1), (second, -1)] {
                if let Term::Variable(variable) = argument
                    && let Some(name) = rule.variables.get(*variable as usize)
                {
                    let name = name.to_ascii_lowercase();
                    votes += sign * i64::from(name.contains("row") || name.contains("rank"));
                    votes -= sign * i64::from(name.contains("col") || name.contains("file"));
                }
            }
        }
    }
    votes > 0
}
