//! A report as text for people: each finding on a line, with what it means for whoever plays the
//! game.

use std::fmt::Write;

use super::findings::{Report, proven_length};
use crate::analysis::sample::{GoalSpread, Sampled, Spread, Turns};
use crate::analysis::validation::PLAYOUTS;
use crate::commands::output::grouped;
use crate::player::study::{
    AutonomousFound, FactorFound, Latched, Structure, Study, SymmetriesFound,
};

/// Sets of facts shown of what there may be many of.
const MOST_SHOWN: usize = 4;
/// What a finding says that its analysis has not come to.
const NOT_KNOWN: &str = "not known: the time was too short";

/// Different goals of a role that are shown with their shares.
const MOST_GOALS: usize = 6;

/// Lines with a label each.
struct Lines(String);

impl Lines {
    fn add(&mut self, label: &str, text: impl std::fmt::Display) {
        let _ = write!(self.0, "\n  {label:<15} {text}");
    }
}

/// The report as text, without a line end at its end.
pub fn text(report: &Report) -> String {
    let study = &report.study;
    let roles = match study.roles.as_slice() {
        [role] => format!("a game for {role} alone"),
        roles => format!("{} roles, {}", roles.len(), roles.join(", ")),
    };
    let mut lines = Lines(format!("{}: {roles}", report.game));
    structure(&mut lines, report);
    if let Some(structure) = &study.structure {
        network(&mut lines, structure);
    }
    sampled(&mut lines, study);
    learned(&mut lines, study);
    let sampled = &study.sampled;
    let cut_off = match sampled.cut_off {
        0 => String::new(),
        n => format!(", {} cut off", grouped(u64::from(n))),
    };
    let unfinished = match sampled.unfinished {
        0 => String::new(),
        n => format!(", {n} that time ended before they did"),
    };
    lines.add(
        "seen",
        format_args!(
            "{} games walked through{cut_off}{unfinished}, {} states; {} playouts; {:.2} s",
            grouped(u64::from(sampled.games)),
            grouped(sampled.states),
            grouped(sampled.playouts),
            report.seconds
        ),
    );
    lines.0.push_str(
        "\n  What is said of games and states was so in those seen; in others it may be otherwise.",
    );
    lines.0
}

fn structure(lines: &mut Lines, report: &Report) {
    let study = &report.study;
    match (&study.network, &report.reason) {
        (Some(size), _) => lines.add(
            "network",
            format_args!(
                "{} facts, {} moves, {} gates; built in {:.3} s, played by {}",
                grouped(size.bases as u64),
                grouped(size.moves as u64),
                grouped(size.gates as u64),
                report.build_seconds,
                report.machine
            ),
        ),
        (None, reason) => lines.add(
            "network",
            format_args!(
                "none, so the rules themselves are evaluated, slowly{}",
                reason
                    .as_ref()
                    .map_or(String::new(), |why| format!(" ({why})"))
            ),
        ),
    }
    if let Some(groups) = study.mutex_groups.as_ref().filter(|sets| !sets.is_empty()) {
        let shown = groups.iter().take(MOST_SHOWN).map(|set| set.join(" | "));
        lines.add(
            "mutex groups",
            format_args!(
                "{}: exactly one is true in each state",
                shown.collect::<Vec<_>>().join("; ")
            ),
        );
    }
}

fn network(lines: &mut Lines, structure: &Structure) {
    let or_unknown = |text: Option<String>| text.unwrap_or_else(|| NOT_KNOWN.to_string());
    lines.add(
        "autonomous",
        or_unknown(structure.autonomous.as_ref().map(autonomous)),
    );
    lines.add(
        "factors",
        or_unknown(structure.factors.as_deref().map(factors)),
    );
    lines.add(
        "latches",
        or_unknown(structure.latches.as_ref().map(latches)),
    );
    lines.add(
        "symmetries",
        or_unknown(structure.symmetries.as_ref().map(symmetries)),
    );
}

fn autonomous(found: &AutonomousFound) -> String {
    let mut parts = Vec::new();
    if let (Some(first), Some(last)) = (found.step_counter.first(), found.step_counter.last()) {
        parts.push(format!("a step counter from {first} to {last}"));
    }
    if !found.turn.is_empty() {
        parts.push(format!("turns by {}", listed(&found.turn)));
    }
    if found.others > 0 {
        parts.push(format!("{} other autonomous facts", found.others));
    }
    match (found.horizon, proven_length(found)) {
        (_, Some(length)) => parts.push(format!("proven: {length} joint moves")),
        (Some(horizon), None) => parts.push(format!("proven: {horizon} joint moves at most")),
        (None, None) => {}
    }
    match parts.is_empty() {
        true => "none".to_string(),
        false => parts.join("; "),
    }
}

fn factors(factors: &[FactorFound]) -> String {
    if factors.len() < 2 {
        return "none: it is one game".to_string();
    }
    let shown = factors.iter().take(2 * MOST_SHOWN).map(|factor| {
        let idle = match factor.is_relevant {
            true => "",
            false => " on which nothing hangs",
        };
        format!("{} facts and {} moves{idle}", factor.bases, factor.moves)
    });
    let shown: Vec<String> = shown.collect();
    let more = match factors.len() - shown.len() {
        0 => String::new(),
        more => format!("; {more} more"),
    };
    format!("{} games in one: {}{more}", factors.len(), shown.join("; "))
}

fn latches(latches: &Latched) -> String {
    let more = if latches.is_complete {
        ""
    } else {
        ", perhaps more"
    };
    let (positive, negative) = (latches.positive.len(), latches.negative.len());
    let bounds = match &latches.bounds {
        None => "what they say of goals is not known".to_string(),
        Some(bounds) if bounds.is_empty() => "none bounds a goal by itself".to_string(),
        Some(bounds) => format!(
            "goals are bounded in {} ways by single ones",
            grouped(bounds.len() as u64)
        ),
    };
    match positive + negative + latches.conditional {
        0 => format!("no fact stays what it is{more}"),
        _ => format!(
            "{} facts stay true, {} stay false, {} stay once another is settled{more}; {bounds}",
            grouped(positive as u64),
            grouped(negative as u64),
            grouped(latches.conditional as u64),
        ),
    }
}

fn symmetries(found: &SymmetriesFound) -> String {
    let swaps = match found.swaps_roles {
        true => "; roles can change places",
        false => "",
    };
    let at_start = match found.order_at_start {
        Some(order) => format!(", {} of them of the initial state", grouped(order)),
        None => String::new(),
    };
    match found.order {
        Some(1) => format!("none but doing nothing{swaps}"),
        Some(order) => format!("{}{at_start}{swaps}", grouped(order)),
        None => format!("{} generators, perhaps more{swaps}", found.generators),
    }
}

/// The first few of some facts.
fn listed(facts: &[String]) -> String {
    let shown = facts
        .iter()
        .take(MOST_SHOWN)
        .cloned()
        .collect::<Vec<_>>()
        .join(", ");
    match facts.len().saturating_sub(MOST_SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

fn sampled(lines: &mut Lines, study: &Study) {
    let sampled = &study.sampled;
    lines.add("turns", turns(sampled));
    lines.add("length", length(sampled));
    if let Some(branching) = sampled.branching {
        lines.add(
            "choices",
            format_args!(
                "{} joint moves to choose from in a state",
                spread(&branching)
            ),
        );
    }
    for role in &sampled.roles {
        let choice = match role.moves {
            Some(moves) => format!(
                "{} moves in {} of the states",
                spread(&moves),
                percent(role.chooses)
            ),
            None if sampled.states == 0 => "not known".to_string(),
            None => "never has a choice".to_string(),
        };
        lines.add("", format_args!("{}: {choice}", role.name));
    }
    lines.add("goals", sum(sampled));
    for role in &sampled.roles {
        lines.add("", format_args!("{}: {}", role.name, goals(&role.goals)));
    }
    if let Some(draws) = sampled.draws {
        lines.add(
            "draws",
            format_args!("all roles got the same in {} of the games", percent(draws)),
        );
    }
}

fn learned(lines: &mut Lines, study: &Study) {
    let (Some(learned), Some(decided)) = (&study.heuristics, &study.parameters) else {
        lines.add("heuristics", NOT_KNOWN);
        return;
    };
    lines.add(
        "heuristics",
        format_args!(
            "evaluation from {} games of self-play: correlation with results {:.2}, that of {} playouts {:.2}",
            grouped(learned.games as u64),
            learned.correlation,
            PLAYOUTS,
            learned.correlation_of_playouts
        ),
    );
    for kind in learned.kinds.iter().take(2 * MOST_SHOWN) {
        let worths = study.roles.iter().zip(&kind.worth);
        let worths = worths.map(|(role, worth)| format!("{worth:+.1} points for {role}"));
        let worths = worths.collect::<Vec<_>>().join(", ");
        lines.add("", format_args!("{}: {worths}", kind.facts));
    }
    let share = match decided.evaluation_share {
        0.0 => "playouts without evaluation".to_string(),
        1.0 => "evaluation without playouts".to_string(),
        share => format!("evaluation {:.0} %, playouts the rest", 100.0 * share),
    };
    lines.add(
        "parameters",
        format_args!("{share}; {:.2} times the exploration", decided.exploration),
    );
}

fn turns(sampled: &Sampled) -> String {
    let share = sampled.several_choose.unwrap_or(0.0);
    match sampled.turns {
        None => "not known: no move was seen".to_string(),
        Some(Turns::Nobody) => "nobody ever has a choice".to_string(),
        Some(Turns::One) => match sampled.roles.len() {
            1 => "a puzzle: nobody else plays".to_string(),
            _ => "one role alone has choices, so it is a puzzle".to_string(),
        },
        Some(Turns::Alternating) => "one role at a time, strictly in turn".to_string(),
        Some(Turns::Varying) => "one role at a time, in varying order".to_string(),
        Some(Turns::Simultaneous) => {
            format!(
                "several roles choose at once in {} of the states",
                percent(share)
            )
        }
    }
}

fn length(sampled: &Sampled) -> String {
    match (sampled.length, sampled.fixed_length) {
        (_, Some(length)) => format!("always {length} joint moves"),
        (Some(length), None) => format!("{} joint moves", spread(&length)),
        (None, None) => "not known: no game came to its end".to_string(),
    }
}

fn sum(sampled: &Sampled) -> String {
    let seen = grouped(sampled.ends_seen);
    match sampled.fixed_sum {
        Some(sum) => {
            format!("always add up to {sum}, in {seen} games: one's gain is the others' loss")
        }
        None if sampled.ends_seen == 0 => "not known: no game came to its end".to_string(),
        None if sampled.roles.len() == 1 => format!("over {seen} games"),
        None => format!("add up to different sums, over {seen} games"),
    }
}

fn goals(goals: &GoalSpread) -> String {
    let Some(mean) = goals.mean else {
        return "not known".to_string();
    };
    let total = goals.values.iter().map(|(_, count)| count).sum::<u64>() + goals.undefined;
    let share = |count: u64| percent(count as f64 / total as f64);
    let mut text = format!("{mean:.1} on average");
    let undefined = match goals.undefined {
        0 => String::new(),
        count => format!(", none in {}", share(count)),
    };
    match goals.values.as_slice() {
        [(first, _), .., (last, _)] if goals.values.len() > MOST_GOALS => {
            let _ = write!(
                text,
                ", {} different ones from {first} to {last}",
                goals.values.len()
            );
        }
        values => {
            let shown = values
                .iter()
                .map(|(goal, count)| format!("{goal} in {}", share(*count)));
            let shown: Vec<String> = shown.collect();
            if !shown.is_empty() {
                let _ = write!(text, ": {}", shown.join(", "));
            }
        }
    }
    text + &undefined
}

/// Numbers as mean and range.
fn spread(spread: &Spread) -> String {
    match spread.least == spread.greatest {
        true => grouped(spread.least),
        false => format!(
            "{:.1} ({} to {})",
            spread.mean,
            grouped(spread.least),
            grouped(spread.greatest)
        ),
    }
}

/// A share of 1 in per cent.
fn percent(share: f64) -> String {
    match 100.0 * share {
        0.0 => "none".to_string(),
        100.0 => "all".to_string(),
        percent if percent < 1.0 => format!("{percent:.2} %"),
        percent if percent > 99.0 => format!("{percent:.2} %"),
        percent => format!("{percent:.0} %"),
    }
}
