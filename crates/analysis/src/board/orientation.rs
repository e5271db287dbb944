//! How a board lies: which way rows and columns run, and whether its cells are hexagons.
//!
//! Moves that name a direction show where it leads: facts that come with `(walk north)` belong
//! above those that go. A relation between cells, such as one of neighbours, that knows one of the
//! two diagonals only is that of a board of hexagons.
//!
//! Never uses: how a board is drawn.

use std::collections::{BTreeSet, HashMap};

use panza_gdl::{Rules, Term};
use panza_prover::{Limits, Prover};

/// How the two coordinates of a grid become lines and columns.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Orientation {
    /// Whether the first coordinate is the row, counted from the top.
    pub rows_first: bool,
    /// Whether lines run the other way than usual.
    pub is_upside_down: bool,
    /// Whether columns run the other way than usual.
    pub is_mirrored: bool,
}

/// Which diagonal neighbours of a cell touch it on a board of hexagons, in steps of coordinates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Slant {
    /// Those at (1, 1) and (-1, -1).
    Along,
    /// Those at (1, -1) and (-1, 1).
    Across,
}

/// Words of directions, in parts: lines down and columns to the right.
const DIRECTIONS: [(&str, i32, i32); 16] = [
    ("north", -1, 0),
    ("south", 1, 0),
    ("east", 0, 1),
    ("west", 0, -1),
    ("northeast", -1, 1),
    ("northwest", -1, -1),
    ("southeast", 1, 1),
    ("southwest", 1, -1),
    ("up", -1, 0),
    ("down", 1, 0),
    ("right", 0, 1),
    ("left", 0, -1),
    ("upright", -1, 1),
    ("upleft", -1, -1),
    ("downright", 1, 1),
    ("downleft", 1, -1),
];

/// The direction that the text of a move names, if it names one.
pub(super) fn direction(text: &str) -> Option<(i32, i32)> {
    let mut words = text.split([' ', '(', ')']).map(|word| {
        let word = word.to_ascii_lowercase().replace(['-', '_'], "");
        DIRECTIONS.iter().find(|(name, ..)| *name == word)
    });
    words.find_map(|found| found.map(|&(_, line, column)| (line, column)))
}

/// What moves in a direction have shown.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Votes {
    line: i32,
    column: i32,
}

impl Votes {
    /// Counts a move. `direction` is its name's direction and `shift` the distance that the pieces
    /// moved, in lines down and columns to the right.
    pub fn add(&mut self, direction: (i32, i32), shift: (f64, f64)) {
        let sign = |shift: f64| match shift {
            _ if shift > 0.01 => 1,
            _ if shift < -0.01 => -1,
            _ => 0,
        };
        self.line += direction.0 * sign(shift.0);
        self.column += direction.1 * sign(shift.1);
    }

    /// The orientation by these votes, from the one that they were counted in.
    pub fn turned(self, orientation: Orientation) -> Orientation {
        Orientation {
            is_upside_down: orientation.is_upside_down ^ (self.line < 0),
            is_mirrored: orientation.is_mirrored ^ (self.column < 0),
            ..orientation
        }
    }
}

/// Limits on the evaluation of relations, and on the rules in which they are looked for.
const MAX_FACTS: usize = 200_000;
const MAX_WORK: u64 = 5_000_000;
const MAX_RULES: usize = 5000;
/// Relations that are looked at, and instances of all of them together.
const MAX_RELATIONS: usize = 24;
const MAX_INSTANCES: usize = 50_000;

/// Static relations of four or five arguments, which may be those between neighbouring cells.
#[derive(Default)]
pub(super) struct Neighbours {
    /// The instances of each relation.
    relations: Vec<Vec<Vec<String>>>,
}

impl Neighbours {
    /// Evaluates the relations of the rules, within limits.
    pub fn find(rules: &Rules) -> Self {
        let mut found = Self::default();
        if rules.rules.len() > MAX_RULES {
            return found;
        }
        let heads = rules.rules.iter().map(|rule| &rule.head);
        let is_flat =
            |arguments: &[Term]| !arguments.iter().any(|it| matches!(it, Term::Function(..)));
        let signatures: BTreeSet<(String, usize)> = heads
            .filter(|head| (4..=5).contains(&head.arguments.len()) && is_flat(&head.arguments))
            .map(|head| {
                let name = rules.symbols.name(head.relation).to_string();
                (name, head.arguments.len())
            })
            .collect();
        if signatures.is_empty() {
            return found;
        }
        let Ok(mut prover) = Prover::untuned(rules, limits()) else {
            return found;
        };
        let mut left = MAX_INSTANCES;
        for (name, arity) in signatures.into_iter().take(MAX_RELATIONS) {
            let instances = prover.facts_of(&name, arity).unwrap_or_default();
            if instances.is_empty() || instances.len() > left {
                continue;
            }
            left -= instances.len();
            let texts = instances.iter().map(|arguments| {
                let terms = arguments.iter();
                terms.map(|&term| prover.show(term)).collect()
            });
            found.relations.push(texts.collect());
        }
        found
    }

    /// The slant of a grid with these coordinates, if one of the relations is that of hexagons.
    pub fn slant(&self, first: &[String], second: &[String]) -> Option<Slant> {
        let index = |values: &[String]| -> HashMap<String, i32> {
            let places = values.iter().cloned().zip(0..);
            places.collect()
        };
        let (first, second) = (index(first), index(second));
        self.relations.iter().find_map(|instances| {
            let steps = instances.iter().map(|texts| step(texts, &first, &second));
            slant_of(&steps.collect::<Option<BTreeSet<_>>>()?)
        })
    }
}

/// The step from one cell to the other that these arguments name. A fifth argument, which names a
/// direction, may stand before, between or after the cells.
fn step(
    texts: &[String],
    first: &HashMap<String, i32>,
    second: &HashMap<String, i32>,
) -> Option<(i32, i32)> {
    let cells: Vec<i32> = match texts {
        [a, b, c, d] => [first.get(a)?, second.get(b)?, first.get(c)?, second.get(d)?]
            .into_iter()
            .copied()
            .collect(),
        [_, rest @ ..] if first.contains_key(&rest[0]) && !first.contains_key(&texts[0]) => {
            return step(rest, first, second);
        }
        [a, b, _, c, d] if !first.contains_key(&texts[2]) => {
            return step(&[a, b, c, d].map(Clone::clone), first, second);
        }
        [rest @ .., _] if texts.len() == 5 => return step(rest, first, second),
        _ => return None,
    };
    Some((cells[2] - cells[0], cells[3] - cells[1]))
}

/// The slant of a relation with these steps: all four along the axes, and one diagonal.
fn slant_of(steps: &BTreeSet<(i32, i32)>) -> Option<Slant> {
    // A relation may name each pair of neighbours once.
    let has = |x: i32, y: i32| steps.contains(&(x, y)) || steps.contains(&(-x, -y));
    let are_near = steps.iter().all(|(x, y)| x.abs() <= 1 && y.abs() <= 1);
    let has_axes = has(1, 0) && has(0, 1);
    match (has(1, 1), has(1, -1)) {
        (true, false) if are_near && has_axes => Some(Slant::Along),
        (false, true) if are_near && has_axes => Some(Slant::Across),
        _ => None,
    }
}

fn limits() -> Limits {
    Limits {
        facts: MAX_FACTS,
        terms: MAX_FACTS,
        work: MAX_WORK,
        ..Limits::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moves_name_directions_in_several_ways() {
        assert_eq!(direction("(walk north)"), Some((-1, 0)));
        assert_eq!(direction("(move 3 8 northWest)"), Some((-1, -1)));
        assert_eq!(direction("(move 3 8 upper)"), None);
        assert_eq!(direction("left"), Some((0, -1)));
    }

    #[test]
    fn one_diagonal_makes_hexagons() {
        let grid = ["1", "2", "3"].map(String::from);
        let near =
            "(role a) (succ 1 2) (succ 2 3) (<= (near ?x ?y ?x ?z) (succ ?y ?z) (succ ?x ?w))
            (<= (near ?x ?y ?z ?y) (succ ?x ?z) (succ ?y ?w))";
        let slant_with = |diagonals: &str| {
            let rules = panza_gdl::load(&format!("{near} {diagonals}")).0;
            Neighbours::find(&rules).slant(&grid, &grid)
        };
        assert_eq!(slant_with(""), None);
        let along = "(<= (near ?a ?b ?c ?d) (succ ?a ?c) (succ ?b ?d))";
        let across = "(<= (near ?a ?d ?c ?b) (succ ?a ?c) (succ ?b ?d))";
        assert_eq!(slant_with(along), Some(Slant::Along));
        assert_eq!(slant_with(across), Some(Slant::Across));
        assert_eq!(slant_with(&format!("{along} {across}")), None);
    }
}
