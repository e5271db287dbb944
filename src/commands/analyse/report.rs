//! The report on one game: the JSON object for scripts, and tables for people.
//!
//! Statistics of states and lengths are those of random games. What is unknown is null in JSON, and
//! so is a value that was not always the same.

use serde::Serialize;
use serde_json::{Value, json};

use panza_analysis::distances::Target;
use panza_analysis::mutex_groups::parts;
use panza_analysis::reduction::unread_facts;
use panza_analysis::{Autonomous, Distances, Symmetries};
use panza_cli::output::{Column, counted, grouped, table};
use panza_game::{BuiltGame, ReducedGame};
use panza_gdl::{BaseId, Id};
use panza_learning::Heuristic;
use panza_learning::statistics::{GoalSpread, Sampled, SampledRole, Spread, Turns};
use panza_metagame::{Preparation, Structure};
use panza_propnet::Network;

/// Facts, mutex groups and factors that are listed at most.
const MAX_LISTED: usize = 4;
/// Kinds of facts whose weights are listed at most.
const MAX_KINDS: usize = 8;
/// Facts and moves nearest to a target that are listed at most.
const MAX_NEAREST: usize = 3;
/// Distances to a target that are listed at most.
const MAX_DISTANCES: usize = 6;
/// Goal values of a role that are listed with their shares at most.
const MAX_GOALS: usize = 6;

#[derive(Serialize)]
struct FactorReport {
    bases: usize,
    /// Number of moves that act in it, of all roles.
    moves: usize,
    roles: Vec<String>,
    /// Whether the end or some goal depends on it.
    is_relevant: bool,
}

/// The distances of one kind of facts or moves to a target.
#[derive(Serialize)]
struct DistanceSummary {
    /// The number of them at each distance, from 0.
    counts: Vec<usize>,
    /// Those that never matter.
    never: usize,
    /// The nearest.
    nearest: Vec<String>,
}

/// The distances of all facts and moves to a target.
#[derive(Serialize)]
struct DistanceReport {
    /// The role, or null for the end.
    role: Option<String>,
    goal: Option<u8>,
    facts_true: DistanceSummary,
    facts_false: DistanceSummary,
    moves: DistanceSummary,
    /// The same for each of the conditions any of which is enough, where there are a few.
    conditions: Vec<DistanceReport>,
}

impl DistanceReport {
    fn new(network: &Network, found: &Distances) -> Self {
        let facts = network.facts.iter().map(String::as_str);
        let facts = facts.zip(found.facts.iter());
        let (role, goal) = match found.target {
            Target::Goal(role, goal) => (Some(role), Some(goal)),
            Target::End => (None, None),
        };
        let moves = network.moves.iter().zip(found.moves.iter());
        let moves = moves.map(|((_, text), distance)| (text.as_str(), distance.on));
        Self {
            role: role.map(|role| network.roles[role].clone()),
            goal,
            facts_true: DistanceSummary::new(facts.clone().map(|(text, it)| (text, it.on))),
            facts_false: DistanceSummary::new(facts.map(|(text, it)| (text, it.off))),
            moves: DistanceSummary::new(moves),
            conditions: found
                .conditions
                .iter()
                .map(|it| Self::new(network, it))
                .collect(),
        }
    }

    /// The name of the target.
    fn name(&self) -> String {
        match (&self.role, self.goal) {
            (Some(role), Some(goal)) => format!("{role} {goal}"),
            _ => "the end".to_string(),
        }
    }
}

impl DistanceSummary {
    fn new<'a>(distances: impl Iterator<Item = (&'a str, Option<u16>)> + Clone) -> Self {
        let least = distances.clone().filter_map(|(_, distance)| distance).min();
        let mut summary = Self {
            counts: Vec::new(),
            never: 0,
            nearest: Vec::new(),
        };
        for (text, distance) in distances {
            let Some(distance) = distance else {
                summary.never += 1;
                continue;
            };
            let place = usize::from(distance);
            if summary.counts.len() <= place {
                summary.counts.resize(place + 1, 0);
            }
            summary.counts[place] += 1;
            if Some(distance) == least && summary.nearest.len() < MAX_NEAREST {
                summary.nearest.push(text.to_string());
            }
        }
        summary
    }

    /// The first few distances with their numbers of facts or moves, and the farthest.
    fn histogram(&self) -> String {
        let shown =
            |(distance, count): (usize, &usize)| format!("{distance}: {}", grouped(*count as u64));
        let all = self.counts.iter().enumerate();
        let found: Vec<String> = all.filter(|(_, count)| **count > 0).map(shown).collect();
        let mut parts = found;
        if parts.len() > MAX_DISTANCES {
            let last = parts.split_off(MAX_DISTANCES - 1).pop();
            parts.extend(["..".to_string()].into_iter().chain(last));
        }
        if self.never > 0 {
            parts.push(format!("never: {}", grouped(self.never as u64)));
        }
        parts.join(", ")
    }
}

/// A game that was studied.
pub struct Report {
    /// The name of the game.
    pub name: String,
    /// Why the prover runs it, where it does.
    pub reason: Option<String>,
    /// Seconds to build it.
    pub build_seconds: f64,
    /// Seconds to study it.
    pub seconds: f64,
    /// The game.
    pub game: BuiltGame,
    /// What was found.
    pub study: Preparation,
}

impl Report {
    /// The object for scripts.
    pub fn json(&self) -> Value {
        let Report { game, study, .. } = self;
        let structure = &study.structure;
        let sampled = study.sampled.as_ref();
        let autonomous = study.autonomous.as_ref();
        let evaluation = study.evaluation.as_ref();
        let validation = &study.validation;
        let small = |order: Option<u128>| order.and_then(|order| u64::try_from(order).ok());
        json!({
            "game": self.name,
            "roles": game.info().n_roles(),
            "simultaneous": sampled
                .and_then(|sampled| sampled.turns)
                .map(|turns| turns == Turns::Simultaneous),
            "fixed_sum": sampled.and_then(|sampled| sampled.fixed_sum),
            "fixed_length": match sampled {
                Some(sampled) if sampled.ends_seen > 0 => sampled.fixed_length,
                _ => autonomous.and_then(proven_length),
            },
            "mean_length": sampled
                .and_then(|sampled| sampled.length.as_ref())
                .map(|length| length.mean),
            "branching": sampled
                .and_then(|sampled| sampled.branching.as_ref())
                .map(|branching| branching.mean),
            "factors": self.factors(),
            "latches": structure.latches.as_ref().map(|latches| json!({
                "positive": latches.positive.len(),
                "negative": latches.negative.len(),
                "conditional": latches.conditional.len(),
                "bounds": structure.score_ranges.as_ref().map(|ranges| ranges.len()),
                "is_complete": latches.is_complete,
            })),
            "symmetries": structure.symmetries.as_ref().map(|found| json!({
                "order": small(found.order),
                "order_at_start": small(found.order_at_start),
                "generators": found.generators.len(),
                "swaps_roles": !found.role_swaps.is_empty(),
            })),
            "heuristics": evaluation.map(|_| json!({
                "games": study.games,
                "positions": validation.positions,
                "correlation": validation.evaluation,
                "correlation_of_playouts": validation.playouts,
                "kinds": study.heuristics,
                "kinds_at_start": self.kinds_at_start(),
            })),
            "parameters": evaluation.map(|_| json!({
                "evaluation_share": study.parameters.evaluation_share,
            })),
            "machine": game.machine.kind(),
            "reason": self.reason,
            "build_seconds": self.build_seconds,
            "seconds": self.seconds,
            "study": {
                "network": game.network.as_ref().map(|network| json!({
                    "bases": network.facts.len(),
                    "moves": network.moves.len(),
                    "gates": network.gates.len(),
                    "edges": network.n_edges(),
                })),
                "mutex_groups": self.mutex_groups(),
                "unread_facts": self.unread().map(|facts| json!({
                    "count": facts.len(),
                    "first": facts.iter().take(MAX_LISTED).collect::<Vec<_>>(),
                })),
                "reduced": game.reduced.as_ref().map(|reduced| json!({
                    "bases": reduced.part.bases.len(),
                    "moves": reduced.part.is_pass.len(),
                    "supplies": supplies(reduced),
                })),
                "autonomous": autonomous.map(|found| json!({
                    "step_counter": self.names(&found.step_counter),
                    "turn": self.names(&found.turn),
                    "others": found.others.len(),
                    "horizon": found.horizon,
                    "earliest_end": found.earliest_end,
                })),
                "distances": self.distances(),
                "sampled": sampled,
            },
        })
    }

    fn names(&self, bases: &[BaseId]) -> Vec<String> {
        let facts = self.game.info().facts().unwrap_or_default();
        let names = bases.iter().filter_map(|base| facts.get(base.index()));
        names.cloned().collect()
    }

    /// The distances to each target.
    fn distances(&self) -> Option<Vec<DistanceReport>> {
        let network = self.game.network.as_ref()?;
        let of_targets = self.study.distances.as_ref()?.iter();
        Some(
            of_targets
                .map(|it| DistanceReport::new(network, it))
                .collect(),
        )
    }

    /// For each kind of facts with a value, how many hold at the start.
    fn kinds_at_start(&self) -> Vec<usize> {
        let info = self.game.info();
        let state = self.game.machine.initial_state();
        let facts = info.state_facts(&state);
        let facts: Vec<Vec<&str>> = facts.iter().map(|fact| parts(fact)).collect();
        let count = |kind: &Heuristic| {
            let pattern = parts(&kind.facts);
            let is_one = |fact: &&Vec<&str>| {
                let mut pairs = pattern.iter().zip(fact.iter());
                pattern.len() == fact.len()
                    && pairs.all(|(wanted, part)| wanted == part || *wanted == "*")
            };
            facts.iter().filter(is_one).count()
        };
        self.study.heuristics.iter().map(count).collect()
    }

    fn mutex_groups(&self) -> Vec<Vec<String>> {
        let groups = self.game.mutex_groups.iter();
        groups.map(|group| self.names(group)).collect()
    }

    /// The facts that nothing reads.
    fn unread(&self) -> Option<Vec<String>> {
        let network = self.game.network.as_ref()?;
        Some(self.names(&unread_facts(network)))
    }

    /// The facts that nothing reads, for people.
    fn unread_row(&self) -> Option<String> {
        let facts = self.unread()?;
        Some(match facts.len() {
            0 => "none".to_string(),
            count => format!("{count}: {}", listed(facts, ", ")),
        })
    }

    /// The factors, or the whole game as one without its autonomous facts.
    fn factors(&self) -> Option<Vec<FactorReport>> {
        let found = self.study.structure.factors.as_ref()?;
        let network = self.game.network.as_ref()?;
        if !found.is_split() {
            return Some(vec![FactorReport {
                bases: network.facts.len() - found.autonomous.len(),
                moves: network.moves.len(),
                roles: self.game.info().roles(),
                is_relevant: true,
            }]);
        }
        let factors = found.factors.iter().map(|factor| FactorReport {
            bases: factor.bases.len(),
            moves: factor.moves.iter().map(Vec::len).sum(),
            roles: factor
                .roles
                .iter()
                .map(|&role| network.roles[role].clone())
                .collect(),
            is_relevant: factor.is_relevant,
        });
        Some(factors.collect())
    }

    /// The report for people, without a line end at the end.
    pub fn text(&self) -> String {
        let study = &self.study;
        let roles = self.game.info().roles();
        let parts = [
            format!(
                "{}: {}, {}",
                self.name,
                counted(roles.len() as u64, "role"),
                roles.join(", ")
            ),
            labelled(&self.rows()),
            study
                .sampled
                .as_ref()
                .map_or(String::new(), |sampled| role_table(&sampled.roles)),
            self.distances()
                .map_or(String::new(), |found| distance_table(&found)),
            kind_table(&roles, &study.heuristics, &self.kinds_at_start()),
        ];
        let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        parts.join("\n\n")
    }

    fn rows(&self) -> Vec<(&'static str, String)> {
        let study = &self.study;
        let mut rows = vec![("network", self.network())];
        if self.game.network.is_some() {
            let groups = self.mutex_groups();
            let groups = groups.iter().map(|group| group.join(" | "));
            rows.push(("mutex groups", listed(groups.collect(), "; ")));
            let autonomous = study.autonomous.as_ref();
            let autonomous = autonomous.map(|found| self.autonomous(found));
            rows.push(("autonomous", known(autonomous)));
            rows.push(("factors", known(self.factors().as_deref().map(factors))));
            rows.push(("unread facts", known(self.unread_row())));
            if let Some(reduced) = &self.game.reduced {
                rows.push(("reduced game", reduced_game(reduced)));
            }
            rows.push(("latches", known(latches(&study.structure))));
            let symmetries = study.structure.symmetries.as_deref().map(symmetries);
            rows.push(("symmetries", known(symmetries)));
        }
        if let Some(sampled) = &study.sampled {
            let length = sampled
                .length
                .map(|length| format!("{} joint moves", spread(&length)));
            rows.push(("turns", known(sampled.turns.map(|_| turns(sampled)))));
            rows.push(("length", known(length)));
            let branching = sampled.branching.as_ref().map(spread);
            rows.push(("branching", known(branching)));
            if self.game.info().n_roles() > 1 {
                let sum = sampled
                    .fixed_sum
                    .map_or("not constant".to_string(), |sum| sum.to_string());
                rows.push(("goal sum", known((sampled.ends_seen > 0).then_some(sum))));
                rows.push(("draws", known(sampled.draws.map(percent))));
            }
        }
        if study.evaluation.is_some() {
            let correlations = format!(
                "correlation with results {:.2}, that of playouts {:.2}; {} of self-play",
                study.validation.evaluation,
                study.validation.playouts,
                counted(study.games as u64, "game")
            );
            let share = percent(study.parameters.evaluation_share.into());
            let parameters = format!("evaluation share {share}");
            rows.extend([("evaluation", correlations), ("parameters", parameters)]);
        }
        if let Some(sampled) = &study.sampled {
            let sample = format!(
                "{} with {}, {} cut off; {}; {:.2} s",
                counted(sampled.games.into(), "game"),
                counted(sampled.states, "state"),
                grouped((sampled.cut_off + sampled.unfinished).into()),
                counted(sampled.playouts, "playout"),
                self.seconds
            );
            rows.push(("sample", sample));
        }
        rows
    }

    fn autonomous(&self, found: &Autonomous) -> String {
        let mut parts = Vec::new();
        if let [first, .., last] = self.names(&found.step_counter).as_slice() {
            parts.push(format!("step counter {first} to {last}"));
        }
        if !found.turn.is_empty() {
            parts.push(format!("turn {}", listed(self.names(&found.turn), ", ")));
        }
        if !found.others.is_empty() {
            parts.push(counted(found.others.len() as u64, "other fact"));
        }
        match (found.horizon, proven_length(found)) {
            (_, Some(length)) => parts.push(format!(
                "every game has {}",
                counted(length.into(), "joint move")
            )),
            (Some(horizon), None) => {
                parts.push(format!("at most {}", counted(horizon.into(), "joint move")))
            }
            (None, None) => {}
        }
        match parts.is_empty() {
            true => "none".to_string(),
            false => parts.join("; "),
        }
    }

    fn network(&self) -> String {
        let size = match (&self.game.network, &self.reason) {
            (Some(network), _) => format!(
                "{}, {}, {}",
                counted(network.facts.len() as u64, "fact"),
                counted(network.moves.len() as u64, "move"),
                counted(network.gates.len() as u64, "gate")
            ),
            (None, Some(reason)) => return format!("none, run by the prover: {reason}"),
            (None, None) => "too large to analyse".to_string(),
        };
        let (seconds, machine) = (self.build_seconds, self.game.machine.kind());
        format!("{size}; built in {seconds:.3} s, run by {machine}")
    }
}

/// The joint moves of every game, where the rules allow no other length.
fn proven_length(found: &Autonomous) -> Option<u32> {
    let is_exact = |&horizon: &u32| horizon == found.earliest_end;
    found.horizon.filter(is_exact)
}

/// The number of passes in each supply of a reduced game.
fn supplies(reduced: &ReducedGame) -> Vec<usize> {
    let supplies = reduced.part.supplies.iter();
    supplies.map(|supply| supply.tokens.len()).collect()
}

fn reduced_game(reduced: &ReducedGame) -> String {
    let part = &reduced.part;
    let passes = supplies(reduced).into_iter();
    let passes =
        passes.map(|count| format!(", at most {} elsewhere", counted(count as u64, "move")));
    format!(
        "{}, {}{}",
        counted(part.bases.len() as u64, "fact"),
        counted(part.is_pass.len() as u64, "move"),
        passes.collect::<String>()
    )
}

fn factors(factors: &[FactorReport]) -> String {
    let sizes = factors.iter().map(|factor| {
        let idle = match factor.is_relevant {
            true => "",
            false => " (irrelevant)",
        };
        let facts = counted(factor.bases as u64, "fact");
        format!("{facts}, {}{idle}", counted(factor.moves as u64, "move"))
    });
    match factors.len() {
        0 | 1 => "1".to_string(),
        count => format!("{count}: {}", listed(sizes.collect(), "; ")),
    }
}

fn latches(structure: &Structure) -> Option<String> {
    let latches = structure.latches.as_ref()?;
    let incomplete = match latches.is_complete {
        true => "",
        false => "; incomplete",
    };
    let bounds = structure.score_ranges.as_ref();
    let bounds = bounds.map_or("unknown goal bounds".to_string(), |it| {
        counted(it.len() as u64, "goal bound")
    });
    Some(format!(
        "{} positive, {} negative, {} conditional; {bounds}{incomplete}",
        grouped(latches.positive.len() as u64),
        grouped(latches.negative.len() as u64),
        grouped(latches.conditional.len() as u64)
    ))
}

fn symmetries(found: &Symmetries) -> String {
    let order = found
        .order
        .map_or("unknown order".to_string(), |order| order.to_string());
    let at_start = found.order_at_start.map_or(String::new(), |order| {
        format!(", {order} of the initial state")
    });
    let swaps = match found.role_swaps.is_empty() {
        true => "",
        false => ", roles exchangeable",
    };
    let n_generators = counted(found.generators.len() as u64, "generator");
    format!("{order}{at_start}, {n_generators}{swaps}")
}

fn turns(sampled: &Sampled) -> String {
    match sampled.turns {
        None | Some(Turns::Nobody) => "no choices".to_string(),
        Some(Turns::One) => "one role has all choices".to_string(),
        Some(Turns::Alternating) => "alternating".to_string(),
        Some(Turns::Varying) => "one role at a time, in varying order".to_string(),
        Some(Turns::Simultaneous) => {
            let share = percent(sampled.several_choose.unwrap_or(0.0));
            format!("simultaneous in {share} of the states")
        }
    }
}

fn role_table(roles: &[SampledRole]) -> String {
    let columns = [
        Column::text("role"),
        Column::figure("states with a choice"),
        Column::figure("moves"),
        Column::figure("mean goal"),
        Column::text("goals"),
    ];
    let rows = roles.iter().map(|role| {
        vec![
            role.name.clone(),
            percent(role.chooses),
            role.moves.as_ref().map_or("-".to_string(), spread),
            role.goals
                .mean
                .map_or("-".to_string(), |mean| format!("{mean:.1}")),
            goals(&role.goals),
        ]
    });
    table(&columns, &rows.collect::<Vec<_>>())
}

/// For each target the numbers of facts and moves at each distance, and the nearest ones.
fn distance_table(targets: &[DistanceReport]) -> String {
    let columns = [
        Column::text("transitions before"),
        Column::text("what"),
        Column::text("distances"),
        Column::text("nearest"),
    ];
    let of_targets = targets.iter().flat_map(|target| {
        let conditions = target.conditions.iter().enumerate();
        let conditions = conditions.map(|(index, condition)| {
            let name = format!("{} by condition {}", target.name(), index + 1);
            (name, condition)
        });
        [(target.name(), target)].into_iter().chain(conditions)
    });
    let rows = of_targets.flat_map(|(name, target)| {
        let kinds = [
            ("facts true", &target.facts_true),
            ("facts false", &target.facts_false),
            ("moves", &target.moves),
        ];
        kinds.map(|(kind, summary)| {
            vec![
                name.clone(),
                kind.to_string(),
                summary.histogram(),
                summary.nearest.join(", "),
            ]
        })
    });
    table(&columns, &rows.collect::<Vec<_>>())
}

/// Each goal value with its share, or the range of many.
fn goals(goals: &GoalSpread) -> String {
    let total = goals.values.iter().map(|(_, count)| count).sum::<u64>() + goals.undefined;
    let share = |count: u64| percent(count as f64 / total.max(1) as f64);
    let n_values = goals.values.len();
    let shown = |(goal, count): &(_, u64)| format!("{goal}: {}", share(*count));
    let mut parts: Vec<String> = match goals.values.as_slice() {
        [(first, _), .., (last, _)] if n_values > MAX_GOALS => {
            vec![format!("{n_values} values from {first} to {last}")]
        }
        values => values.iter().map(shown).collect(),
    };
    if goals.undefined > 0 {
        parts.push(format!("none: {}", share(goals.undefined)));
    }
    parts.join(", ")
}

/// The weights of kinds of facts in points of each role.
fn kind_table(roles: &[String], kinds: &[Heuristic], at_start: &[usize]) -> String {
    if kinds.is_empty() {
        return String::new();
    }
    let columns = [
        Column::text("facts"),
        Column::figure("at the start"),
        Column::text("points per role"),
    ];
    let rows = kinds
        .iter()
        .zip(at_start)
        .take(MAX_KINDS)
        .map(|(kind, count)| {
            let points = roles.iter().zip(&kind.worth);
            let points = points.map(|(role, points)| format!("{role} {points:+.1}"));
            let points: Vec<String> = points.collect();
            vec![kind.facts.clone(), count.to_string(), points.join(", ")]
        });
    table(&columns, &rows.collect::<Vec<_>>())
}

fn labelled(rows: &[(&str, String)]) -> String {
    let lines = rows
        .iter()
        .map(|(label, value)| format!("  {label:<13} {value}"));
    lines.collect::<Vec<_>>().join("\n")
}

fn known(value: Option<String>) -> String {
    value.unwrap_or_else(|| "unknown, the time was too short".to_string())
}

/// The first few of some texts, and the number of the others.
fn listed(texts: Vec<String>, separator: &str) -> String {
    let shown = texts[..texts.len().min(MAX_LISTED)].join(separator);
    match texts.len().saturating_sub(MAX_LISTED) {
        0 if texts.is_empty() => "none".to_string(),
        0 => shown,
        more => format!("{shown}{separator}{more} more"),
    }
}

fn spread(spread: &Spread) -> String {
    let (least, greatest) = (grouped(spread.least), grouped(spread.greatest));
    match spread.least == spread.greatest {
        true => least,
        false => {
            let [first, median, third] = spread.quartiles.map(grouped);
            let mean = spread.mean;
            format!("{mean:.1} ({least} to {greatest}, quartiles {first}, {median}, {third})")
        }
    }
}

fn percent(share: f64) -> String {
    match 100.0 * share {
        percent if percent > 0.0 && percent < 1.0 || percent > 99.0 && percent < 100.0 => {
            format!("{percent:.2} %")
        }
        percent => format!("{percent:.0} %"),
    }
}
