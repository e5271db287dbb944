//! `cargo lab mutations`: how many changes of one condition `panza equal` finds, and whether it
//! tells equal games apart.
//!
//! A mutation changes one condition of one rule of a published game: it is dropped, negated, or one
//! of its names or variables becomes another one of the game. Games that are equal by construction
//! are the same rules under other names, in another order, and through HRF and back.
//!
//! Whether a mutation changes the game is not known beforehand. Those without a difference are
//! compared again for longer, and count as missed if there is one.
//!
//! Invariant: a seed gives the same mutations on every machine.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::Args;
use panza_cli::arguments::parse_seconds;
use panza_cli::{Outcome, Output};
use panza_game::equality::{CompareError, Comparison, Naming, compare};
use panza_game::turns::find_turns;
use panza_gdl::{Literal, Rule, Rules, Severity, Symbol, Term, check};
use panza_sync::{Budget, Random};
use panza_testing::corpus::Corpus;
use panza_testing::renamed::Disguise;
use serde::Serialize;

/// Attempts to mutate a game into rules without new faults.
const ATTEMPTS: usize = 200;
/// Memory for building a game.
const BYTES: usize = 1 << 30;
/// Larger rulesheets are left out: most of their time goes to building.
const MAX_TEXT: usize = 20_000;

#[derive(Args, Debug)]
pub struct MutationsArguments {
    /// The corpus of published games.
    folder: PathBuf,
    /// Games that are taken, evenly from the list.
    #[arg(long, default_value_t = 40, value_name = "N")]
    games: usize,
    /// Mutations of each game.
    #[arg(long, default_value_t = 5, value_name = "N")]
    mutations: usize,
    /// Seconds for a comparison.
    #[arg(long, default_value_t = 5.0, value_parser = parse_seconds, value_name = "S")]
    seconds: f64,
    /// Seconds for the comparison of mutations without a difference.
    #[arg(long, default_value_t = 30.0, value_parser = parse_seconds, value_name = "S")]
    again: f64,
    /// Seed of the mutations.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Compare games that are equal by construction, and no mutations.
    #[arg(long)]
    equal: bool,
}

/// One comparison.
#[derive(Serialize)]
struct Row<'a> {
    game: &'a str,
    /// `mutation`, `renamed`, `reordered` or `hrf`.
    kind: &'static str,
    seed: u64,
    /// The rule before and after.
    from: Option<String>,
    to: Option<String>,
    /// `found`, `missed` (only in the longer comparison), `equal`, or why it failed.
    result: String,
    what: Option<&'static str>,
    n_moves: Option<usize>,
    /// Whether the statements were told.
    told: bool,
    exhaustive: bool,
    seconds: f64,
}

/// Runs the command. A missed mutation beyond one in twenty, or equal games told apart, make it
/// [`Outcome::DoesNotHold`].
pub fn run(arguments: &MutationsArguments, output: Output) -> anyhow::Result<Outcome> {
    let corpus = Corpus::open(&arguments.folder)?;
    let mut games = Vec::new();
    for key in corpus.keys() {
        let path = corpus.rulesheet(key);
        let text =
            std::fs::read(&path).with_context(|| format!("cannot read `{}`", path.display()))?;
        let text = String::from_utf8_lossy(&text).into_owned();
        let (rules, faults) = panza_gdl::load(&text);
        if text.len() <= MAX_TEXT && faults.iter().all(|it| it.severity != Severity::Error) {
            games.push((key, text, rules));
        }
    }
    let every = games.len().div_ceil(arguments.games.max(1)).max(1);
    let (mut found, mut missed, mut wrong, mut equal) = (0, 0, 0, 0);
    for (key, text, rules) in games.iter().step_by(every) {
        let rows = match arguments.equal {
            true => equal_rows(arguments, key, text, rules),
            false => mutation_rows(arguments, key, rules),
        };
        for row in rows {
            match (row.result.as_str(), row.kind) {
                ("found", "mutation") => found += 1,
                ("missed", _) => missed += 1,
                ("found", _) => wrong += 1,
                _ => equal += 1,
            }
            output.object(&row)?;
            let shown = row.to.as_deref().unwrap_or_default();
            output.line(format_args!(
                "{} {} {}: {} {shown}",
                row.game, row.kind, row.seed, row.result
            ))?;
        }
    }
    output.line(format_args!(
        "{found} found, {missed} missed, {equal} without a difference, {wrong} equal games told apart"
    ))?;
    Ok(match missed * 19 > found || wrong > 0 {
        true => Outcome::DoesNotHold,
        false => Outcome::Holds,
    })
}

fn compared(
    first: &Rules,
    second: &Rules,
    seconds: f64,
) -> (Result<Comparison, CompareError>, f64) {
    let begun = Instant::now();
    let budget = Budget::within(Duration::from_secs_f64(seconds), BYTES);
    let result = compare(first, second, Naming::Any, &budget);
    (result, begun.elapsed().as_secs_f64())
}

fn row<'a>(
    game: &'a str,
    kind: &'static str,
    seed: u64,
    (result, seconds): (Result<Comparison, CompareError>, f64),
) -> Row<'a> {
    let found = result.as_ref().ok().and_then(|it| it.difference.as_ref());
    Row {
        game,
        kind,
        seed,
        from: None,
        to: None,
        what: found.map(|it| it.aspect.as_str()),
        n_moves: found.map(|it| it.evidence.moves.len()),
        told: found.is_some_and(|it| it.statements.iter().any(Option::is_some)),
        exhaustive: result.as_ref().is_ok_and(|it| it.is_exhaustive),
        result: match &result {
            Ok(it) if it.difference.is_some() => "found".to_string(),
            Ok(_) => "equal".to_string(),
            Err(why) => why.to_string(),
        },
        seconds,
    }
}

fn mutation_rows<'a>(arguments: &MutationsArguments, key: &'a str, rules: &Rules) -> Vec<Row<'a>> {
    let mut rows = Vec::new();
    for number in 0..arguments.mutations {
        let name = key.bytes().fold(0u64, |sum, byte| {
            sum.wrapping_mul(31).wrapping_add(byte.into())
        });
        let seed = arguments.seed.wrapping_mul(1_000_003) ^ name.wrapping_add(number as u64);
        let Some((mutated, index)) = mutation(rules, seed) else {
            continue;
        };
        let mut row = row(
            key,
            "mutation",
            seed,
            compared(rules, &mutated, arguments.seconds),
        );
        if row.result == "equal" && !row.exhaustive {
            let (again, _) = compared(rules, &mutated, arguments.again);
            if again.is_ok_and(|again| again.difference.is_some()) {
                row.result = "missed".to_string();
            }
        }
        row.from = Some(rules.show_rule(&rules.rules[index]));
        row.to = Some(mutated.show_rule(&mutated.rules[index]));
        rows.push(row);
    }
    rows
}

fn equal_rows<'a>(
    arguments: &MutationsArguments,
    key: &'a str,
    text: &str,
    rules: &Rules,
) -> Vec<Row<'a>> {
    let (statements, _) = panza_gdl::sexpr::parse(text);
    let load = |text: &str| panza_gdl::load(text).0;
    let seed = arguments.seed * 2 + 1;
    let renamed =
        Disguise::new(&statements, seed, |name| name.parse::<u32>().is_ok()).rulesheet(&statements);
    let reordered = Disguise::new(&statements, seed, |_| true).rulesheet(&statements);
    let mut pairs = vec![("renamed", load(&renamed)), ("reordered", load(&reordered))];
    if let Some(text) = find_turns(rules)
        .ok()
        .and_then(|turns| panza_hrf::write(rules, &turns).ok())
    {
        let read = panza_hrf::load(&text).0;
        pairs.push(("hrf", load(&panza_gdl::format::rulesheet(&read))));
    }
    let pairs = pairs.into_iter();
    pairs
        .map(|(kind, other)| row(key, kind, seed, compared(rules, &other, arguments.seconds)))
        .collect()
}

/// Rules with one changed condition, and the number of the changed rule.
fn mutation(rules: &Rules, seed: u64) -> Option<(Rules, usize)> {
    let mut random = Random::new(seed);
    let codes = |rules: &Rules| {
        let faults = check::check(rules, &Default::default());
        let mut codes: Vec<&str> = faults.iter().map(|fault| fault.code).collect();
        codes.retain(|code| !["single-variable", "unused-relation"].contains(code));
        codes.sort_unstable();
        codes
    };
    let before = codes(rules);
    let names: Vec<Symbol> = constants(rules);
    for _ in 0..ATTEMPTS {
        let index = random.below(u32::try_from(rules.rules.len()).ok()?) as usize;
        let mut mutated = rules.clone();
        let rule = &mut mutated.rules[index];
        if rule.body.is_empty() {
            continue;
        }
        change(rule, &names, &mut random);
        if *rule != rules.rules[index] && codes(&mutated) == before {
            return Some((mutated, index));
        }
    }
    None
}

/// The constants of the rules' conditions.
fn constants(rules: &Rules) -> Vec<Symbol> {
    let mut names = Vec::new();
    for literal in rules.rules.iter().flat_map(|rule| &rule.body) {
        for term in literal.terms() {
            term.clone().for_each_leaf(&mut |leaf| {
                if let Term::Constant(name) = leaf {
                    names.push(*name);
                }
            });
        }
    }
    names.sort_unstable();
    names.dedup();
    names
}

/// Changes one condition of a rule.
fn change(rule: &mut Rule, names: &[Symbol], random: &mut Random) {
    let at = random.below(rule.body.len() as u32) as usize;
    let kind = random.below(4);
    if kind == 0 {
        rule.body.remove(at);
        return;
    }
    let literal = &mut rule.body[at];
    if kind == 1 {
        *literal = match literal.clone() {
            Literal::Positive(atom) => Literal::Negative(atom),
            Literal::Negative(atom) => Literal::Positive(atom),
            distinct => distinct,
        };
        return;
    }
    let n_variables = rule.variables.len() as u32;
    let mut n_leaves = 0;
    let mut visit = |visit: &mut dyn FnMut(&mut Term)| {
        for term in literal.terms_mut() {
            term.for_each_leaf(&mut |leaf| visit(leaf));
        }
    };
    visit(&mut |_| n_leaves += 1);
    if n_leaves == 0 {
        return;
    }
    let chosen = random.below(n_leaves);
    let mut number = 0;
    visit(&mut |leaf| {
        if number == chosen {
            match leaf {
                Term::Variable(variable) => *variable = random.below(n_variables),
                Term::Constant(name) if !names.is_empty() => *name = *random.choose(names),
                _ => {}
            }
        }
        number += 1;
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mutation_changes_one_rule_and_adds_no_fault() {
        let text = "(role a) (init (at 0)) (succ 0 1) (succ 1 2) (legal a go)
            (<= (next (at ?m)) (true (at ?n)) (does a go) (succ ?n ?m))
            (<= terminal (true (at 2))) (<= (goal a 100) (true (at 2))) (<= (goal a 0) (true (at 0)))";
        let rules = panza_gdl::load(text).0;
        for seed in 0..50 {
            let (mutated, index) = mutation(&rules, seed).expect("some condition can be changed");
            let differs = |at: &usize| mutated.rules[*at] != rules.rules[*at];
            let changed: Vec<usize> = (0..rules.rules.len()).filter(differs).collect();
            assert_eq!(changed, [index]);
        }
    }
}
