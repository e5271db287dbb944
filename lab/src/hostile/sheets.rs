//! Rulesheets that are made to exhaust time, memory and stacks, by the number of a seed.
//!
//! A sheet is a small game and one to three parts that each make one thing large. The sheets of the
//! first seeds have one part each; the others combine two or three parts.
//!
//! Invariants: the same seed gives the same sheet; a sheet has at most [`MOST_BYTES`] bytes.

use std::fmt::Write as _;

use panza_sync::Random;

/// Seeds that are sent by default.
pub const SEEDS: u64 = 50;
/// Sheets are shorter than a message may be, which is 2²⁴ bytes.
pub const MOST_BYTES: usize = 15_000_000;

/// A rulesheet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sheet {
    /// Its parts, such as `roles(10000) arity(20000)`.
    pub parts: String,
    /// The first role.
    pub role: &'static str,
    pub rules: String,
}

/// What a part makes large, or wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Part {
    Roles,
    Facts,
    Moves,
    Arity,
    Nesting,
    Chain,
    Closure,
    Growing,
    Doubling,
    Product,
    LongBody,
    Disjunctions,
    Goals,
    Negation,
    LongSymbols,
    Control,
    Missing,
}

const PARTS: [Part; 17] = [
    Part::Roles,
    Part::Facts,
    Part::Moves,
    Part::Arity,
    Part::Nesting,
    Part::Chain,
    Part::Closure,
    Part::Growing,
    Part::Doubling,
    Part::Product,
    Part::LongBody,
    Part::Disjunctions,
    Part::Goals,
    Part::Negation,
    Part::LongSymbols,
    Part::Control,
    Part::Missing,
];

/// The small game that the parts are added to, one statement a line.
const GAME: [&str; 9] = [
    "(role r0)",
    "(init (step s0))",
    "(<= (legal ?r go) (role ?r))",
    "(<= (legal ?r stay) (role ?r))",
    "(<= (next (step s1)) (true (step s0)))",
    "(<= (next (step s0)) (true (step s1)))",
    "(<= terminal (true (step s9)))",
    "(<= (goal ?r 50) (role ?r) (not (true (step s9))))",
    "(<= (goal ?r 100) (role ?r) (true (step s9)))",
];

/// The sheet of a seed.
pub fn sheet(seed: u64) -> Sheet {
    let mut random = Random::new(seed);
    let chosen: Vec<Part> = match PARTS.get(seed as usize) {
        Some(&part) => vec![part],
        None => {
            let count = 2 + random.below(2) as usize;
            let mut parts = Vec::new();
            while parts.len() < count {
                let part = PARTS[random.below(PARTS.len() as u32) as usize];
                if !parts.contains(&part) {
                    parts.push(part);
                }
            }
            parts
        }
    };
    let mut game = GAME.to_vec();
    if chosen.contains(&Part::Missing) {
        game.remove(random.below(game.len() as u32) as usize);
    }
    let mut rules = game.join("\n");
    rules.push('\n');
    let mut names = Vec::new();
    let share = (MOST_BYTES - rules.len()) / chosen.len();
    for part in chosen {
        let (text, size) = part.text(share, &mut random);
        assert!(text.len() <= share, "{part:?}");
        rules.push_str(&text);
        names.push(format!("{}({size})", format!("{part:?}").to_lowercase()));
    }
    Sheet {
        parts: names.join(" "),
        role: "r0",
        rules,
    }
}

impl Part {
    /// The largest size and bytes for each unit of it, at most.
    fn limits(self) -> (usize, usize) {
        match self {
            Part::Roles => (10_000, 16),
            Part::Facts => (1_000_000, 15),
            Part::Moves => (6, 100),
            Part::Arity => (20_000, 40),
            Part::Nesting => (200_000, 8),
            Part::Chain => (100_000, 60),
            Part::Closure => (2_000, 60),
            Part::Growing | Part::Doubling => (8, 200),
            Part::Product => (1_000, 30),
            Part::LongBody => (20_000, 30),
            Part::Disjunctions => (200, 60),
            Part::Goals | Part::Negation | Part::Missing => (50, 200),
            Part::LongSymbols => (1_000_000, 10),
            Part::Control => (10_000, 40),
        }
    }

    /// Statements of at most `most` bytes, and their size: the greatest, or now and then a random
    /// one.
    fn text(self, most: usize, random: &mut Random) -> (String, usize) {
        let (greatest, bytes) = self.limits();
        let greatest = greatest.min((most - 2_000) / bytes);
        let size = match random.below(3) {
            0 => 1 + random.below(greatest as u32) as usize,
            _ => greatest,
        };
        let mut out = String::new();
        let n = size;
        let _ = match self {
            Part::Roles => repeat(&mut out, 1..n, |at| format!("(role r{at})")),
            Part::Facts => repeat(&mut out, 0..n, |at| format!("(fact f{at})")),
            Part::Moves => {
                let variables = join(0..n, |at| format!("?x{at}"));
                let domains = join(0..n, |at| format!("(digit ?x{at})"));
                let _ = repeat(&mut out, 0..10, |at| format!("(digit d{at})"));
                writeln!(
                    out,
                    "(<= (legal ?r (m {variables})) (role ?r) {domains})\n\
                     (<= (next (last ?x0)) (does ?r (m {variables})))"
                )
            }
            Part::Arity => {
                let constants = join(0..n, |at| format!("a{}", at % 10));
                let variables = join(0..n, |at| format!("?x{at}"));
                writeln!(
                    out,
                    "(init (wide {constants}))\n\
                     (<= (next (wide {variables})) (true (wide {variables})))"
                )
            }
            Part::Nesting => writeln!(out, "(init (deep {}z{}))", "(f ".repeat(n), ")".repeat(n)),
            Part::Chain => {
                let link = |at| format!("(<= (link{at} ?x) (link{} ?x))", at + 1);
                let _ = repeat(&mut out, 0..n, link);
                writeln!(out, "(link{n} a)\n(<= (next (end ?x)) (link0 ?x))")
            }
            Part::Closure => {
                let _ = repeat(&mut out, 0..n, |at| {
                    let (left, right) = ((at * 7 + 1) % n, (at * 3 + 2) % n);
                    format!("(edge v{at} v{left}) (edge v{at} v{right})")
                });
                writeln!(
                    out,
                    "(<= (path ?x ?y) (edge ?x ?y))\n(<= (path ?x ?z) (path ?x ?y) (path ?y ?z))\n\
                     (<= (next (reached ?y)) (path v0 ?y))"
                )
            }
            Part::Growing => repeat(&mut out, 0..n, |at| {
                format!(
                    "(init (grow{at} y)) (init (grow{at} z))\n\
                     (<= (next (grow{at} (f ?x ?y))) (true (grow{at} ?x)) (true (grow{at} ?y)))"
                )
            }),
            Part::Doubling => repeat(&mut out, 0..n, |at| {
                format!(
                    "(init (double{at} z))\n\
                     (<= (next (double{at} (left ?x))) (true (double{at} ?x)))\n\
                     (<= (next (double{at} (right ?x))) (true (double{at} ?x)))"
                )
            }),
            Part::Product => {
                let _ = repeat(&mut out, 0..n, |at| format!("(value v{at})"));
                let domains = join(0..6, |at| format!("(value ?x{at})"));
                writeln!(out, "(<= (next (all ?x0 ?x1 ?x2 ?x3 ?x4 ?x5)) {domains})")
            }
            Part::LongBody => {
                let _ = repeat(&mut out, 0..3, |at| format!("(item i{at})"));
                let body = join(0..n, |at| format!("(item ?x{at})"));
                writeln!(out, "(<= (next (joined y)) {body})")
            }
            Part::Disjunctions => {
                let _ = repeat(&mut out, 0..3, |at| format!("(choice c{at})"));
                let body = join(0..n, |at| {
                    format!("(or (choice ?x{at}) (true (step ?x{at})))")
                });
                writeln!(out, "(<= (next (either y)) {body})")
            }
            Part::Goals => repeat(&mut out, 0..n, |at| {
                format!("(<= (goal ?r {}) (role ?r))", GOALS[at % GOALS.len()])
            }),
            Part::Negation => repeat(&mut out, 0..n, |at| {
                let after = (at + 1) % n;
                format!(
                    "(<= (odd{at} ?r) (role ?r) (not (odd{after} ?r)))\n(<= (next (odd ?r)) (odd{at} ?r))"
                )
            }),
            Part::LongSymbols => {
                let symbol = "s".repeat(n);
                writeln!(
                    out,
                    "(init (long {symbol}))\n(<= (next (long ?{symbol})) (true (long ?{symbol})))"
                )
            }
            Part::Control => repeat(&mut out, 0..n, |at| {
                let character = char::from((at % 32) as u8);
                format!("(control c{at}{character}\u{7f}\u{85}\u{200b}\u{fffe})")
            }),
            Part::Missing => Ok(()),
        };
        (out, size)
    }
}

/// Goals that are none.
const GOALS: [&str; 5] = ["400", "-3", "word", "(f 1)", "99999999999999999999"];

/// Statements, each on a line.
fn repeat(
    out: &mut String,
    range: std::ops::Range<usize>,
    statement: impl Fn(usize) -> String,
) -> std::fmt::Result {
    range
        .into_iter()
        .try_for_each(|at| writeln!(out, "{}", statement(at)))
}

fn join(range: std::ops::Range<usize>, word: impl Fn(usize) -> String) -> String {
    range.map(word).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_always_gives_the_same_sheet_and_sheets_are_short_enough() {
        let mut largest = 0;
        let mut seen = std::collections::BTreeSet::new();
        for seed in 0..SEEDS {
            let made = sheet(seed);
            assert_eq!(made, sheet(seed), "{seed}");
            assert!(
                made.rules.len() <= MOST_BYTES,
                "{seed}: {}",
                made.rules.len()
            );
            largest = largest.max(made.rules.len());
            seen.insert(made.parts);
        }
        assert_eq!(seen.len(), SEEDS as usize);
        assert!(largest > 10_000_000, "{largest}");
    }

    #[test]
    fn every_part_occurs_alone() {
        for (seed, part) in (0..).zip(PARTS) {
            let name = format!("{part:?}(").to_lowercase();
            assert!(sheet(seed).parts.starts_with(&name), "{seed}");
            assert!(!sheet(seed).parts.contains(' '), "{seed}");
        }
    }
}
