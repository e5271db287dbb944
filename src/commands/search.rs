//! `panza search`: searches one position and shows visits and value of each move.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail};
use clap::Args;
use serde_json::{Map, Value, json};

use panza_cli::arguments::{parse_seconds, read_text, shown_path};
use panza_cli::engine_choice::{
    build_as_in_match, build_prover, build_reduced_to_search, build_to_search,
};
use panza_cli::output::{Column, countdown, counted, grouped, spinner, table};
use panza_cli::{Game, Outcome, Output, SearchChoice, interrupt};
use panza_config::Settings;
use panza_game::{BuiltGame, ReducedGame};
use panza_gdl::{Id, MoveId, RoleId, Sexpr, sexpr};
use panza_machine::Machine;
use panza_metagame::{Preparation, PreparationBudget, history, prepare, remembered};
use panza_search::{Line, LineLimits, Method, SearchReport, SearchStatistics, WhyTree, start};
use panza_sync::{Budget, thread_cpu_time};

/// The time limit for building a game that is studied.
const BUILD_TIME: Duration = Duration::from_secs(600);
/// The time limit where neither seconds nor iterations are given.
const DEFAULT_TIME: Duration = Duration::from_secs(5);
/// The lines that are found, and the moves of each that are shown, at most.
const LINES: LineLimits = LineLimits {
    lines: 3,
    moves: 64,
};
const MAX_SHOWN_MOVES: usize = 8;
/// Files with a position are smaller than this.
const MAX_STATE_BYTES: u64 = 16 << 20;

#[derive(Args, Debug)]
pub struct SearchArguments {
    /// Path to a rulesheet, or the name of a game.
    game: String,
    /// The position, as one list of facts; - is standard input. [default: the initial state]
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,
    /// The role to search for. [default: the first role with a choice]
    #[arg(long)]
    role: Option<String>,
    /// Seconds to study the game first, as a match does: train an evaluation, tune the settings.
    #[arg(long, value_name = "S", value_parser = parse_seconds)]
    study: Option<f64>,
    /// How to search: `tree` grows a tree with playouts, `alpha-beta` searches by depth, on values
    /// that --study trains or the memory has, and `auto` is what a match would do with these;
    /// without either it is the tree. Alpha-beta without values knows only ends of games.
    #[arg(long, value_name = "METHOD", default_value = "auto", value_parser = parse_method)]
    method: Method,
    #[command(flatten)]
    search: SearchChoice,
}

fn parse_method(text: &str) -> Result<Method, String> {
    let names = || Method::ALL.map(Method::name).join(", ");
    Method::find(text).ok_or_else(|| format!("expected one of {}", names()))
}

pub fn run(arguments: &SearchArguments, output: Output) -> anyhow::Result<Outcome> {
    let game = arguments.search.settings.game(&arguments.game)?;
    let facts = arguments.state.as_deref().map(read_position).transpose()?;
    let settings = arguments.search.settings.load([])?;
    let progress = spinner(format!("{}: compiling", game.sheet.name));
    let history = match arguments.method {
        Method::Tree => None,
        _ => history(&settings.memory, &game.rules),
    };
    let built = build(&game, arguments, &settings, history.is_some())?;
    let prior = history.and_then(|history| remembered(&built, &history));
    progress.finish_and_clear();
    let machine = &built.machine;
    let state = match facts {
        Some(facts) => machine.info().state_from_facts(&facts),
        None => Ok(machine.initial_state()),
    };
    let state = state.map_err(|why| anyhow!(why).context("the position cannot be set up"))?;
    let role = find_role(machine, &state, arguments.role.as_deref())?;

    let mut config = arguments.search.search_config()?;
    config.method = arguments.method;
    let stop = Arc::default();
    interrupt::stop(&stop)?;
    let study = arguments.study.map(|seconds| {
        let time = Duration::from_secs_f64(seconds);
        let progress = countdown(format!("{}: studying", game.sheet.name), Some(time));
        let budget = PreparationBudget {
            threads: config.rollout_threads.max(1),
            ..PreparationBudget::from_now(&settings.metagame, time, &stop)
        };
        let found = prepare(&built, prior.clone(), &config, &budget);
        progress.finish_and_clear();
        found
    });
    config = match (&study, &prior) {
        (Some(study), _) => study.apply(&config),
        (None, Some(prior)) => prior.apply(&config),
        (None, None) => config,
    };
    let searched = Searched::new(&built, &state);
    let started = start(searched.machine(), role, &searched.state(), &config);
    let why_tree = started.why_tree;
    let mut search = started.as_asked(config.method)?;
    let time = arguments.search.time(DEFAULT_TIME);
    let message = format!("{}: searching", game.sheet.name);
    let progress = countdown(message, time);
    let begun = Instant::now();
    let cpu_begun = thread_cpu_time();
    search.run(
        &Budget::generous()
            .until(time.map(|time| begun + time))
            .with_steps(arguments.search.iterations.unwrap_or(u64::MAX))
            .stopped_by(&stop),
    );
    let seconds = begun.elapsed().as_secs_f64();
    let cpu = thread_cpu_time().zip(cpu_begun);
    let cpu = cpu.map(|(now, before)| now.saturating_sub(before) + search.processor_time());
    search.settle();
    progress.finish_and_clear();
    let shown = Shown {
        game: &game.sheet.name,
        searched: &searched,
        role,
        report: search.report(LINES),
        statistics: search.statistics(),
        why_tree: why_tree.map(WhyTree::text),
        seconds,
        cpu,
        study: study.as_ref(),
    };
    shown.show(arguments.search.seed, output)?;
    Ok(outcome(&stop))
}

fn outcome(stop: &AtomicBool) -> Outcome {
    match stop.load(Ordering::Relaxed) {
        true => Outcome::Interrupted,
        false => Outcome::Holds,
    }
}

/// The game on the machine to search it with; that of a match where something is learned of it.
fn build(
    game: &Game,
    arguments: &SearchArguments,
    settings: &Settings,
    is_remembered: bool,
) -> anyhow::Result<BuiltGame> {
    if arguments.study.is_some() || is_remembered {
        let (built, reason) = build_as_in_match(&game.rules, BUILD_TIME)?;
        if let Some(reason) = reason {
            tracing::warn!("searching with the prover: {reason}");
        }
        return Ok(BuiltGame {
            // What is learned is learned of the whole game.
            reduced: None,
            ..built
        });
    }
    let threads = arguments.search.threads;
    let built = match settings.search.factored {
        true => build_reduced_to_search(&game.rules, threads),
        false => build_to_search(&game.rules, threads).map(BuiltGame::from),
    };
    match built {
        Ok(built) => Ok(built),
        Err(error) => {
            tracing::warn!("searching with the prover: {error}");
            Ok(build_prover(&game.rules)?.into())
        }
    }
}

/// The game that is searched: the reduced game where there is one, else the whole.
struct Searched<'a> {
    whole: &'a Arc<dyn Machine>,
    reduced: Option<&'a ReducedGame>,
    /// The state of the whole game.
    state: &'a [u64],
}

impl<'a> Searched<'a> {
    fn new(built: &'a BuiltGame, state: &'a [u64]) -> Self {
        let reduced = built.reduced.as_deref();
        Self {
            whole: &built.machine,
            reduced: reduced.filter(|reduced| reduced.is_proven_in(state)),
            state,
        }
    }

    /// What runs it.
    fn machine(&self) -> &Arc<dyn Machine> {
        self.reduced.map_or(self.whole, |it| &it.part.machine)
    }

    /// Its state.
    fn state(&self) -> Vec<u64> {
        let reduced = self.reduced.map(|it| it.state(self.state));
        reduced.unwrap_or_else(|| self.state.to_vec())
    }

    /// The text of one of its moves; a legal move of the whole game.
    fn move_text(&self, role: RoleId, mv: MoveId) -> String {
        let Some(reduced) = self.reduced else {
            return self.whole.info().move_text(mv);
        };
        let mut reasoner = Arc::clone(self.whole).reasoner();
        reasoner.set_state(self.state);
        let whole = reduced.legal_move(&mut *reasoner, role, mv);
        match whole {
            Some(whole) => self.whole.info().move_text(whole),
            None => self.machine().info().move_text(mv),
        }
    }
}

/// What a search has found, and what it took.
struct Shown<'a> {
    game: &'a str,
    searched: &'a Searched<'a>,
    role: RoleId,
    report: SearchReport,
    statistics: SearchStatistics,
    /// Why it is the tree, where alpha-beta is allowed.
    why_tree: Option<&'static str>,
    seconds: f64,
    /// Processor time of the search, without that of rollout threads.
    cpu: Option<Duration>,
    study: Option<&'a Preparation>,
}

impl Shown<'_> {
    fn show(&self, seed: u64, output: Output) -> anyhow::Result<()> {
        output.object(&self.object(seed))?;
        let report = &self.report;
        let info = self.searched.machine().info();
        let step = report.method.step();
        output.line(format_args!(
            "{} ({}), {}: {}, value {}, proven {}",
            self.game,
            self.searched.machine().kind(),
            info.role_name(self.role),
            self.best().as_deref().unwrap_or("no legal move"),
            shown_value(report.value),
            shown_goal(report.proven),
        ))?;
        output.line(format_args!(
            "{}: depth {} (longest line {}), {} ({} per second), {}, {}, {} MiB, {:.2} s",
            report.method.name(),
            report.depth,
            report.selective_depth,
            counted(report.steps, step),
            grouped(self.rate(report.steps).round() as u64),
            counted(report.playouts, "playout"),
            counted(report.nodes, "node"),
            report.bytes >> 20,
            self.seconds,
        ))?;
        if let Some(reason) = self.why_tree {
            output.line(format_args!("alpha-beta does not play: {reason}"))?;
        }
        if let Some(nanoseconds) = self.nanoseconds_a_step() {
            let stages = self.stages().map_or(String::new(), |stages| {
                let [select, send, expand, back_up] = stages;
                format!(
                    " (select {select:.0}, send {send:.0}, expand {expand:.0}, back up {back_up:.0})"
                )
            });
            output.line(format_args!(
                "{nanoseconds:.0} ns of processor time per {step} in the search{stages}"
            ))?;
        }
        output.line(format_args!("\n{}", self.moves_table()))?;
        if !report.lines.is_empty() {
            output.line(format_args!("\n{}", self.lines_table()))?;
        }
        Ok(())
    }

    fn rate(&self, count: u64) -> f64 {
        count as f64 / self.seconds.max(1e-9)
    }

    fn best(&self) -> Option<String> {
        let best = self.report.best;
        best.map(|mv| self.searched.move_text(self.role, mv))
    }

    fn nanoseconds_a_step(&self) -> Option<f64> {
        let steps = self.report.steps.max(1) as f64;
        self.cpu.map(|cpu| cpu.as_nanos() as f64 / steps)
    }

    /// The processor time of the stages of an iteration, where a search has them.
    fn stages(&self) -> Option<[f64; 4]> {
        let steps = self.report.steps.max(1) as f64;
        let SearchStatistics {
            requests, answers, ..
        } = self.statistics;
        let counts = [requests, answers].map(|count| count as f64 / steps);
        let means = self.report.times.means()?;
        Some(stages_within(means, counts, self.nanoseconds_a_step()))
    }

    fn object(&self, seed: u64) -> Value {
        let report = &self.report;
        let machine = self.searched.machine();
        let text = |mv| self.searched.move_text(self.role, mv);
        let moves = report.moves.iter().map(|found| {
            let mut object = json!({
                "move": text(found.mv),
                "visits": found.visits as u64,
                "value": decimal(found.value),
                "proven": found.proven(),
                "is_bound": found.is_bound,
            });
            if let Some(share) = found.probability {
                object["share"] = decimal(Some(share)).into();
            }
            object
        });
        let lines = report.lines.iter().map(|line| {
            json!({
                "value": decimal(line.first.value),
                "is_bound": line.first.is_bound,
                "moves": self.choices(line),
            })
        });
        let shares = report.shares.iter();
        let shares: Map<String, Value> = shares
            .map(|&(name, share)| (name.to_string(), share.into()))
            .collect();
        let mut object = json!({
            "game": self.game,
            "machine": machine.kind(),
            "method": report.method.name(),
            "why_tree": self.why_tree,
            "role": machine.info().role_name(self.role),
            "move": self.best(),
            "value": decimal(report.value),
            "proven": report.proven,
            "iterations": report.steps,
            "iterations_per_second": self.rate(report.steps),
            "nodes": report.nodes,
            "nodes_per_second": self.rate(report.nodes),
            "playouts": report.playouts,
            "playouts_per_second": self.rate(report.playouts),
            "writer_nanoseconds": self.nanoseconds_a_step(),
            "parts": self.stages().map(|[select, send, expand, back_up]| json!({
                "select": select, "send": send, "expand": expand, "back_up": back_up,
            })),
            "shares": shares,
            "bytes": report.bytes,
            "depth": report.depth,
            "selective_depth": report.selective_depth,
            "seconds": self.seconds,
            "seed": seed,
            "lines": lines.collect::<Vec<_>>(),
            "moves": moves.collect::<Vec<_>>(),
        });
        if let Some(study) = self.study {
            object["study"] = study.to_json();
        }
        object
    }

    /// The moves of a line of those who choose; joint moves where several do.
    fn choices(&self, line: &Line) -> Vec<String> {
        let machine = self.searched.machine();
        let info = machine.info();
        let mut reasoner = Arc::clone(machine).reasoner();
        let (mut state, mut next) = (self.searched.state(), Vec::new());
        let mut choices = Vec::new();
        for joint in &line.joint_moves {
            reasoner.set_state(&state);
            let roles = (0..joint.len()).map(RoleId::from_index).zip(joint);
            let chosen = roles.filter(|(role, _)| reasoner.legal_moves(*role).len() > 1);
            let texts: Vec<String> = chosen.map(|(_, &mv)| info.move_text(mv)).collect();
            if !texts.is_empty() {
                choices.push(texts.join(" | "));
            }
            next.clear();
            reasoner.next_state(joint, &mut next);
            std::mem::swap(&mut state, &mut next);
        }
        choices
    }

    /// The moves of the root as a table.
    fn moves_table(&self) -> String {
        let moves = &self.report.moves;
        let is_mixed = moves.iter().any(|found| found.probability.is_some());
        let mut columns = vec![Column::text("move")];
        columns.extend(["visits", "value", "proven"].map(Column::figure));
        columns.extend(is_mixed.then(|| Column::figure("share")));
        let rows = moves.iter().map(|found| {
            let text = self.searched.move_text(self.role, found.mv);
            let mut row = vec![text, grouped(found.visits as u64)];
            row.push(bounded(found.value, found.is_bound));
            row.push(shown_goal(found.proven()));
            let share = found.probability.unwrap_or(0.0);
            row.extend(is_mixed.then(|| format!("{:.1} %", 100.0 * share)));
            row
        });
        table(&columns, &rows.collect::<Vec<_>>())
    }

    /// The lines as a table.
    fn lines_table(&self) -> String {
        let columns = [Column::figure("value"), Column::text("line")];
        let rows = self.report.lines.iter().map(|line| {
            let mut moves = self.choices(line);
            if moves.len() > MAX_SHOWN_MOVES {
                moves.truncate(MAX_SHOWN_MOVES);
                moves.push("...".to_string());
            }
            vec![
                bounded(line.first.value, line.first.is_bound),
                moves.join(" "),
            ]
        });
        table(&columns, &rows.collect::<Vec<_>>())
    }
}

/// A value that may only be known not to be greater.
fn bounded(value: Option<f32>, is_bound: bool) -> String {
    let bound = if is_bound { "at most " } else { "" };
    format!("{bound}{}", shown_value(value))
}

fn shown_value(value: Option<f32>) -> String {
    value.map_or("-".to_string(), |value| format!("{value:.2}"))
}

fn shown_goal(proven: Option<u8>) -> String {
    proven.map_or("-".to_string(), |goal| goal.to_string())
}

/// The stages of an iteration in nanoseconds, of the mean times of the requests and answers that
/// were timed, and the numbers of both per iteration: a descent to a solved node makes none.
///
/// Samples are of elapsed time. The processor may do other work in one of them, which then counts
/// for all that were not timed. So the stages are made smaller in proportion where they take longer
/// than the whole, which is processor time.
fn stages_within(
    [select, send, expand, back_up]: [f64; 4],
    [requests, answers]: [f64; 2],
    whole: Option<f64>,
) -> [f64; 4] {
    let stages = [
        select * requests,
        send * requests,
        expand * answers,
        back_up * answers,
    ];
    let sum: f64 = stages.iter().sum();
    match whole {
        Some(whole) if sum > whole => stages.map(|stage| stage * whole / sum),
        _ => stages,
    }
}

/// The number with the digits that single precision needs.
fn decimal(value: Option<f32>) -> Option<f64> {
    value.and_then(|value| value.to_string().parse().ok())
}

/// The role of this name, or without a name the first one with a choice.
fn find_role(
    machine: &Arc<dyn Machine>,
    state: &[u64],
    name: Option<&str>,
) -> anyhow::Result<RoleId> {
    let roles = machine.info().roles();
    let found = match name {
        Some(name) => roles.iter().position(|role| role == name),
        None => {
            let mut reasoner = Arc::clone(machine).reasoner();
            reasoner.set_state(state);
            let mut ids = (0..roles.len()).map(RoleId::from_index);
            let chooser = ids.position(|role| reasoner.legal_moves(role).len() > 1);
            Some(chooser.unwrap_or(0))
        }
    };
    found.map(RoleId::from_index).with_context(|| {
        let name = name.unwrap_or_default();
        format!("no role `{name}`; the roles are {}", roles.join(", "))
    })
}

/// The facts of a file with one list of them.
fn read_position(path: &Path) -> anyhow::Result<Vec<String>> {
    let text = read_text(path, MAX_STATE_BYTES)?;
    read_facts(&text, &shown_path(path))
}

fn read_facts(text: &str, origin: &str) -> anyhow::Result<Vec<String>> {
    // Editors on Windows write a byte-order mark.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let (expressions, faults) = sexpr::parse(text);
    if let Some(fault) = faults.first() {
        bail!("{}", fault.one_line(origin, text));
    }
    let [Sexpr::List(items, _)] = expressions.as_slice() else {
        bail!(
            "{origin}: expected one list of facts, as in ((cell 1 1 x) (control o)), found {}",
            counted(expressions.len() as u64, "expression")
        );
    };
    let texts = items.iter().map(|item| item.fact().canonical());
    Ok(texts.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_take_no_longer_than_the_whole() {
        let means = [100.0, 200.0, 300.0, 400.0];
        assert_eq!(stages_within(means, [1.0, 1.0], Some(1000.0)), means);
        assert_eq!(stages_within(means, [1.0, 1.0], None), means);
        // Half of the iterations end in a solved node, and the answers to a fifth have not come.
        let fewer = stages_within(means, [0.5, 0.4], Some(2000.0));
        assert_eq!(fewer, [50.0, 100.0, 120.0, 160.0]);
        // A sample in which another program had the processor.
        let stages = stages_within([100.0, 31_757.0, 300.0, 400.0], [1.0, 1.0], Some(2929.0));
        assert!(stages.iter().sum::<f64>() <= 2929.001, "{stages:?}");
        assert!(stages[1] > stages[3] && stages[3] > stages[0], "{stages:?}");
    }

    #[test]
    fn positions_are_one_list_of_facts() {
        let facts =
            read_facts("; mine\n((cell 1  1 x)\n (true (control o)) (ready))", "p").unwrap();
        assert_eq!(facts, ["(cell 1 1 x)", "(control o)", "ready"]);
        assert_eq!(read_facts("\u{feff}((ready))", "p").unwrap(), ["ready"]);
        assert_eq!(read_facts("()", "p").unwrap(), Vec::<String>::new());
        let message = |text: &str| read_facts(text, "p").unwrap_err().to_string();
        assert!(message("(a) (b)").contains("expected one list of facts"));
        assert!(message("").contains("found 0 expressions"));
        assert!(
            message("((a)\n (b").starts_with("p:2:2: error"),
            "{}",
            message("((a)\n (b")
        );
    }
}
