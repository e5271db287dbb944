//! `cargo lab oracle blunders`: how well the look for blunders agrees with proofs.
//!
//! Weak searches play matches from random openings. A move is a real blunder when the proof-number
//! search proves that it gives up the goal that the role could force. The review looks at the same
//! matches and names blunders. Only turns are counted whose positions are proven.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use clap::Args;
use panza_cli::engine_choice::build_to_search;
use panza_cli::output::{Column, progress_bar, table};
use panza_cli::{Game, Outcome, Output};
use panza_config::Settings;
use panza_gdl::{Id, MoveId, RoleId};
use panza_machine::Machine;
use panza_player::review::Grade;
use panza_player::{Review, ReviewSettings, search_config, whole_search};
use panza_referee::tournament::tally::wilson;
use panza_search::SearchConfig;
use panza_sync::{Budget, Random};
use serde::Serialize;

use super::prove::GoalProver;
use super::states::{Line, States, draw};

/// Joint moves of a match.
const MAX_TURNS: usize = 500;
/// Openings that are tried for each match.
const MAX_OPENINGS: u32 = 100;
/// Goals that a role may force; a position in which it forces another one stays unproven.
const GOALS: [u8; 3] = [0, 50, 100];

#[derive(Args, Debug)]
pub(super) struct BlundersArguments {
    /// A path to a rulesheet, or the name of a game.
    #[arg(default_value = "connectFour")]
    game: String,
    /// Matches for each strength.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    matches: u32,
    /// Strengths of the players, in iterations a move; 0 moves at random.
    #[arg(long, value_delimiter = ',', default_value = "0,30,300")]
    players: Vec<u64>,
    /// Random joint moves before the players begin.
    #[arg(long, value_name = "N", default_value_t = 16)]
    opening: usize,
    /// States to visit for the proof of a position, about 100 bytes each.
    #[arg(long, value_name = "N", default_value_t = 500_000, value_parser = clap::value_parser!(u32).range(1..))]
    states: u32,
    /// Iterations for each position.
    #[arg(long, value_name = "N", default_value_t = ReviewSettings::default().iterations)]
    iterations: u64,
    /// Points that a blunder loses.
    #[arg(long, default_value_t = ReviewSettings::THRESHOLD)]
    threshold: f64,
    /// Seed of openings and players.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Show each turn that lost something, by the review or by a proof.
    #[arg(long)]
    show: bool,
}

/// How review and proofs agree.
#[derive(Clone, Copy, Default, Serialize)]
struct Tally {
    matches: u32,
    /// Turns whose position was proven and whose mover had a choice.
    turns: u32,
    unproven: u32,
    /// Blunders by proof.
    real: u32,
    /// Blunders that the review names.
    named: u32,
    /// Those of both.
    found: u32,
}

impl Tally {
    fn add(&mut self, other: &Self) {
        self.matches += other.matches;
        self.turns += other.turns;
        self.unproven += other.unproven;
        self.real += other.real;
        self.named += other.named;
        self.found += other.found;
    }

    fn cells(&self, name: &str) -> Vec<String> {
        let share = |part: u32, all: u32| match all {
            0 => "-".to_string(),
            _ => {
                let share = f64::from(part) / f64::from(all);
                let (low, high) = wilson(share, all);
                let percent = |share: f64| format!("{:.1}", 100.0 * share);
                format!("{} ({} to {})", percent(share), percent(low), percent(high))
            }
        };
        vec![
            name.to_string(),
            self.matches.to_string(),
            self.turns.to_string(),
            self.unproven.to_string(),
            self.real.to_string(),
            self.named.to_string(),
            share(self.found, self.real),
            share(self.named - self.found, self.named),
        ]
    }
}

pub(super) fn run(arguments: &BlundersArguments, output: Output) -> anyhow::Result<Outcome> {
    let game = Game::load(&arguments.game)?;
    let machine = build_to_search(&game.rules, 1).with_context(|| game.sheet.name.clone())?;
    // A role that may choose anything proves no expected goal.
    ensure!(
        machine.info().chance_role().is_none(),
        "{}: nothing is proven in games with chance",
        game.sheet.name
    );
    let settings = Settings::load(None, &[])?;
    let config = SearchConfig {
        rollout_threads: 0,
        ..search_config(&settings.search, 1)
    };
    let (opening, states) = (arguments.opening, arguments.states as usize);
    let review = ReviewSettings {
        iterations: arguments.iterations,
        threshold: arguments.threshold,
        ..ReviewSettings::default()
    };
    let mut all = Tally::default();
    let mut rows = Vec::new();
    for &strength in &arguments.players {
        let mut random = Random::new(arguments.seed);
        let mut tally = Tally::default();
        let bar = progress_bar(arguments.matches.into(), "matches");
        for number in 0..arguments.matches {
            let opened = (0..MAX_OPENINGS).find_map(|_| open(&machine, opening, &mut random));
            let opened = opened.context("no opening is that long")?;
            let seed = arguments.seed.wrapping_add(u64::from(number));
            let line = play(&machine, opened, strength, &config, seed);
            let found = judge(&machine, &line, opening, states, &config, review);
            for turn in found.losses.iter().filter(|_| arguments.show) {
                bar.suspend(|| output.line(format_args!("match {number}, {turn}")))?;
            }
            tally.add(&found.tally);
            bar.inc(1);
        }
        bar.finish_and_clear();
        output.object(&serde_json::json!({
            "game": game.sheet.name, "iterations_a_move": strength, "tally": tally,
        }))?;
        rows.push(tally.cells(&strength.to_string()));
        all.add(&tally);
    }
    rows.push(all.cells("all"));
    let mut columns = vec![Column::text("iterations a move")];
    let heads = ["matches", "turns", "unproven", "real", "named"];
    columns.extend(heads.map(Column::figure));
    columns.extend(["found % (95 %)", "wrong % (95 %)"].map(Column::text));
    output.line(table(&columns, &rows))?;
    let n_wrong = all.named - all.found;
    let is_good = 20 * all.found >= 19 * all.real && 100 * n_wrong <= 3 * all.named;
    Ok(Outcome::holds_if(is_good))
}

/// A line of `steps` random joint moves; `None` if the game ends before.
fn open(machine: &Arc<dyn Machine>, steps: usize, random: &mut Random) -> Option<Line> {
    let mut states = States::new(machine);
    let mut line = Line::new(machine);
    for _ in 0..steps {
        let legal = states.choices(line.last())?;
        line.push(&mut states, draw(&legal, random));
    }
    states.choices(line.last()).is_some().then_some(line)
}

/// Plays on from an opening, both roles by searches of `strength` iterations a move.
fn play(
    machine: &Arc<dyn Machine>,
    mut line: Line,
    strength: u64,
    config: &SearchConfig,
    seed: u64,
) -> Line {
    let mut states = States::new(machine);
    let mut random = Random::new(seed);
    while let Some(legal) = states.choices(line.last()) {
        if line.joint_moves.len() >= MAX_TURNS {
            break;
        }
        let mut joint_move: Vec<MoveId> = legal.iter().map(|moves| moves[0]).collect();
        for (role, moves) in legal.iter().enumerate() {
            if moves.len() == 1 {
                continue;
            }
            let drawn = *random.choose(moves);
            joint_move[role] = match strength {
                0 => drawn,
                _ => {
                    let config = SearchConfig {
                        seed: seed.wrapping_mul(1_000) + line.joint_moves.len() as u64,
                        // Proofs would make even a weak player strong.
                        proof_effort: 0.0,
                        ..config.clone()
                    };
                    let role = RoleId::from_index(role);
                    let mut search = whole_search(machine, role, line.last(), config).search;
                    search.run(&Budget::of_steps(strength));
                    search.settle();
                    search.choose().map_or(drawn, |best| best.mv)
                }
            };
        }
        line.push(&mut states, joint_move);
    }
    line
}

struct Judged {
    tally: Tally,
    losses: Vec<String>,
}

/// Compares the review of a match with proofs, each of at most `n_states` states.
fn judge(
    machine: &Arc<dyn Machine>,
    line: &Line,
    opening: usize,
    n_states: usize,
    config: &SearchConfig,
    settings: ReviewSettings,
) -> Judged {
    let (start, moves) = (&line.states[opening], &line.joint_moves[opening..]);
    let mut review = Review::new(machine, start, moves, config.clone(), settings);
    let never = Arc::new(AtomicBool::new(false));
    while !review.step(Instant::now() + Duration::from_secs(1), &never) {}
    let mut blunders = review.graded();
    blunders.retain(|it| it.grade == Grade::Blunder);
    let worths = review.worths();
    let mut states = States::new(machine);
    let mut tally = Tally {
        matches: 1,
        ..Tally::default()
    };
    let mut losses = Vec::new();
    let roles = (0..machine.info().n_roles()).map(RoleId::from_index);
    let mut provers: Vec<GoalProver> = roles.map(|role| GoalProver::new(machine, role)).collect();
    // The last position first: what is proven there is part of the proofs before it.
    for (turn, made) in line.joint_moves.iter().enumerate().skip(opening).rev() {
        let legal = states.choices(&line.states[turn]).unwrap_or_default();
        let choosers: Vec<usize> = (0..legal.len()).filter(|&it| legal[it].len() > 1).collect();
        let &[mover] = &choosers[..] else { continue };
        provers[mover].budget = n_states;
        let Some(verdict) = provers[mover].judge(&line.states[turn], &GOALS) else {
            tally.unproven += 1;
            continue;
        };
        let is_real = verdict.bad.contains(&made[mover]);
        let named = blunders
            .iter()
            .find(|it| it.turn + opening == turn && it.role == mover);
        tally.turns += 1;
        tally.real += u32::from(is_real);
        tally.named += u32::from(named.is_some());
        tally.found += u32::from(is_real && named.is_some());
        let worth = |turn: usize| worths[turn - opening].and_then(|worth| worth.of(mover));
        let drop = worth(turn)
            .zip(worth(turn + 1))
            .map(|(before, after)| before - after);
        if is_real || named.is_some() || drop.is_some_and(|drop| drop >= 5.0) {
            let is_proven =
                |turn: usize| worths[turn - opening].is_some_and(|it| it.proven(mover).is_some());
            let shown = |turn: usize| {
                let value = worth(turn).map_or("-".to_string(), |it| format!("{it:.1}"));
                let proven = if is_proven(turn) { "!" } else { "" };
                format!("{value}{proven}")
            };
            let result = match (is_real, named.is_some()) {
                (true, true) => "found",
                (true, false) => "missed",
                (false, true) => "wrong",
                (false, false) => "good",
            };
            losses.push(format!(
                "turn {turn}: {result}: could force {}, by the review {} to {}",
                verdict.goal,
                shown(turn),
                shown(turn + 1),
            ));
        }
    }
    losses.reverse();
    Judged { tally, losses }
}
