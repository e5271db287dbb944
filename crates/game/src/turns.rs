//! How the roles of a game take turns, found in random games.
//!
//! HRF has games in which one role moves in every state and the others wait. Whether a game is one
//! cannot be seen in its rules in general, so the states of random games are looked at. What holds
//! in all of them is taken to hold always.

use std::collections::BTreeMap;

use anyhow::bail;

use panza_gdl::{Id, RoleId, Rules, Sexpr, Term, TermId, sexpr};
use panza_hrf::{Control, Turns};
use panza_prover::Prover;
use panza_sync::Random;

/// States of random games that are looked at.
const STATES: usize = 400;
/// Joint moves of a game, at most.
const STEPS: usize = 100;
/// Random games have the same seed each time.
const SEED: u64 = 7;

/// What is seen of one state in which the game goes on.
struct Seen {
    /// By role: the legal moves as text.
    legal: Vec<Vec<String>>,
    /// The facts of one argument that is a role: name and role.
    facts: Vec<(String, usize)>,
    /// The joint move that led there, for messages.
    after: String,
}

/// Finds how the roles take turns.
///
/// # Errors
/// The game cannot be played, or several roles choose at once; the message names the position.
pub fn find_turns(rules: &Rules) -> anyhow::Result<Turns> {
    let names = rules.role_names();
    let seen = sample_states(rules)?;
    if names.len() <= 1 {
        let is_fact = seen.iter().all(|state| {
            let mut of_control = state.facts.iter().filter(|(name, _)| name == "control");
            of_control.next().is_some()
        });
        let name = rules.symbols.find("control").filter(|_| is_fact);
        return Ok(Turns {
            control: name.map_or(Control::Only, Control::Fact),
            waits: Vec::new(),
        });
    }
    let Some(waits) = waits(&seen, &names) else {
        for state in &seen {
            let chooses = |&role: &usize| state.legal[role].len() > 1;
            let choosing: Vec<usize> = (0..names.len()).filter(chooses).collect();
            if choosing.len() > 1 {
                bail!("{}", at_once(&choosing, &names, &state.after));
            }
        }
        bail!("a role never has to wait with a move, as roles that are not in control do in HRF");
    };
    let wait_terms = waits.iter().map(|text| match sexpr::parse(text).0.first() {
        Some(wait) => term(rules, wait),
        None => None,
    });
    let Some(wait_terms) = wait_terms.collect::<Option<Vec<Term>>>() else {
        bail!("the moves that roles wait with are not named in the rules");
    };
    let does_wait = |state: &Seen, role: usize| state.legal[role] == [waits[role].clone()];
    // The role in a fact moves, and the others wait.
    let mut named: Vec<&str> = match seen.first() {
        Some(first) => first.facts.iter().map(|(name, _)| name.as_str()).collect(),
        None => Vec::new(),
    };
    named.sort_by_key(|name| (*name != "control", name.to_string()));
    named.dedup();
    let is_control = |name: &&str| {
        seen.iter().all(|state| {
            let of_name = state.facts.iter().filter(|(own, _)| own == *name);
            let of_name: Vec<usize> = of_name.map(|(_, role)| *role).collect();
            match of_name[..] {
                [mover] => {
                    let others = (0..names.len()).filter(|&role| role != mover);
                    others.into_iter().all(|role| does_wait(state, role))
                }
                _ => false,
            }
        })
    };
    let control = named.iter().copied().find(|name| is_control(name));
    if let Some(name) = control.and_then(|name| rules.symbols.find(name)) {
        return Ok(Turns {
            control: Control::Fact(name),
            waits: wait_terms,
        });
    }
    for state in &seen {
        let roles = 0..names.len();
        let choosing: Vec<usize> = roles.filter(|&role| !does_wait(state, role)).collect();
        match choosing.len() {
            1 => {}
            0 => bail!(
                "no role has a choice {}, and HRF has one mover in every state",
                state.after
            ),
            _ => bail!("{}", at_once(&choosing, &names, &state.after)),
        }
    }
    Ok(Turns {
        control: Control::Choice,
        waits: wait_terms,
    })
}

/// The message that these roles move in one state.
fn at_once(roles: &[usize], names: &[String], place: &str) -> String {
    let roles: Vec<&str> = roles.iter().map(|&role| names[role].as_str()).collect();
    let roles = roles.join(" and ");
    format!("{roles} move at the same time {place}, and HRF has one mover in every state")
}

/// The states of random games.
fn sample_states(rules: &Rules) -> anyhow::Result<Vec<Seen>> {
    let mut prover = Prover::new(rules)?;
    let roles: Vec<String> = prover.roles().iter().map(|&it| prover.show(it)).collect();
    let mut random = Random::new(SEED);
    let mut seen = Vec::new();
    while seen.len() < STATES {
        let n_before = seen.len();
        let mut state = prover.initial_state();
        let mut after = "at the start".to_string();
        for _ in 0..STEPS {
            if prover.is_terminal(&state)? {
                break;
            }
            let of_role = (0..roles.len()).map(|role| {
                let moves = prover.legal_moves(&state, RoleId::from_index(role))?;
                Ok(moves)
            });
            let legal: Vec<Vec<TermId>> = of_role.collect::<anyhow::Result<_>>()?;
            let shown = |moves: &Vec<TermId>| moves.iter().map(|&it| prover.show(it)).collect();
            let facts = prover.facts(&state).iter().filter_map(|&fact| {
                let text = prover.show(fact);
                let inner = text.strip_prefix('(')?.strip_suffix(')')?;
                let (name, argument) = inner.split_once(' ')?;
                let role = roles.iter().position(|role| role == argument)?;
                Some((name.to_string(), role))
            });
            seen.push(Seen {
                legal: legal.iter().map(shown).collect(),
                facts: facts.collect(),
                after: after.clone(),
            });
            if legal.iter().any(Vec::is_empty) {
                break;
            }
            let any = |moves: &Vec<TermId>| moves[random.below(moves.len() as u32) as usize];
            let joint: Vec<TermId> = legal.iter().map(any).collect();
            let texts: Vec<String> = joint.iter().map(|&it| prover.show(it)).collect();
            after = format!("after {}", texts.join(", "));
            state = prover.next_state(&state, &joint)?;
        }
        if seen.len() == n_before {
            break;
        }
    }
    Ok(seen)
}

/// By role: the move that is most often its only one while another role has a choice. A role that
/// always has a choice gets the move of another role.
fn waits(seen: &[Seen], names: &[String]) -> Option<Vec<String>> {
    let mut waits: Vec<Option<String>> = Vec::new();
    for role in 0..names.len() {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for state in seen {
            let mut others = (0..names.len()).filter(|&other| other != role);
            if let [only] = &state.legal[role][..] {
                let has_choice = others.any(|other| state.legal[other].len() > 1);
                *counts.entry(only).or_default() += 1 + usize::from(has_choice) * STATES;
            }
        }
        let most = counts.into_iter().max_by_key(|(_, count)| *count);
        waits.push(most.map(|(wait, _)| wait.to_string()));
    }
    let any = waits.iter().flatten().next()?.clone();
    let waits = waits.into_iter();
    Some(waits.map(|wait| wait.unwrap_or(any.clone())).collect())
}

/// A term of the rules' names.
fn term(rules: &Rules, expression: &Sexpr) -> Option<Term> {
    match expression {
        Sexpr::Symbol(name, _) => Some(Term::Constant(rules.symbols.find(name)?)),
        Sexpr::List(items, _) => {
            let (name, arguments) = items.split_first()?;
            let name = rules.symbols.find(name.symbol()?)?;
            let arguments = arguments.iter().map(|argument| term(rules, argument));
            Some(Term::Function(name, arguments.collect::<Option<_>>()?))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turns(rules: &str) -> Result<Control, String> {
        let text = format!(
            "(role a) (role b) (init (at 0)) (succ 0 1) (succ 1 2) (succ 2 0) (goal a 1) (goal b 1)
             (<= (next (at ?m)) (true (at ?n)) (succ ?n ?m)) (<= terminal (true over)) {rules}"
        );
        let (rules, _) = panza_gdl::load(&text);
        let found = find_turns(&rules).map_err(|why| why.to_string())?;
        Ok(found.control)
    }

    #[test]
    fn the_mover_is_known_by_a_fact_or_by_having_a_choice() {
        let by_fact = "(init (turn a)) (<= (next (turn a)) (true (turn b)))
            (<= (next (turn b)) (true (turn a))) (<= (legal ?r (go ?n)) (true (turn ?r)) (succ ?n ?m))
            (<= (legal a wait) (true (turn b))) (<= (legal b pass) (true (turn a)))";
        assert!(matches!(turns(by_fact), Ok(Control::Fact(_))));
        let by_choice = "(<= (legal a (go ?n)) (true (at 0)) (succ ?n ?m))
            (<= (legal a wait) (not (true (at 0)))) (<= (legal b wait) (true (at 0)))
            (<= (legal b (go ?n)) (not (true (at 0))) (succ ?n ?m))";
        assert_eq!(turns(by_choice), Ok(Control::Choice));
    }

    #[test]
    fn moves_at_the_same_time_are_named_with_their_position() {
        let both =
            "(<= (legal a (go ?n)) (succ ?n ?m)) (<= (legal b (go ?n)) (true (at 1)) (succ ?n ?m))
            (<= (legal b wait) (not (true (at 1))))";
        let message = turns(both).unwrap_err();
        assert!(
            message.starts_with("a and b move at the same time after (go"),
            "{message}"
        );
        let late = "(<= (legal a (go ?n)) (not (true (at 2))) (succ ?n ?m)) (<= (legal a wait) (true (at 2)))
            (<= (legal b (go ?n)) (not (true (at 0))) (succ ?n ?m)) (<= (legal b wait) (true (at 0)))";
        let message = turns(late).unwrap_err();
        assert!(
            message.starts_with("a and b move at the same time after (go"),
            "{message}"
        );
    }
}
