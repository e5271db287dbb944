//! `panza search`: searches one position and shows visits and value of each move.

use super::search_depth::ByDepth;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail};
use clap::Args;
use serde_json::json;

use panza_cli::analyse::examine::build_as_in_match;
use panza_cli::arguments::{parse_seconds, read_text, shown_path};
use panza_cli::engine_choice::{build_prover, build_reduced_to_search, build_to_search};
use panza_cli::output::{Column, countdown, counted, grouped, spinner, table};
use panza_cli::{Game, Outcome, Output, SearchChoice, interrupt};
use panza_game::{BuiltGame, ReducedGame};
use panza_gdl::{Id, MoveId, RoleId, Sexpr, sexpr};
use panza_machine::Machine;
use panza_metagame::{Study, StudyBudget, study};
use panza_search::{Method, RootReport, Search, SearchConfig};
use panza_sync::{Budget, thread_cpu_time};

/// The time limit for building a game that is studied.
const BUILD_TIME: Duration = Duration::from_secs(600);
/// The time limit where neither seconds nor iterations are given.
const DEFAULT_TIME: Duration = Duration::from_secs(5);
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
    #[arg(long, value_name = "S", value_parser = parse_seconds, allow_negative_numbers = true)]
    study: Option<f64>,
    /// How to search: `tree` grows a tree with playouts, `alpha-beta` searches by depth, on values
    /// that --study trains, and `auto` is what a match would do after the study.
    #[arg(long, value_name = "METHOD", default_value = "tree", value_parser = parse_method)]
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
    let progress = spinner(format!("{}: compiling", game.sheet.name));
    let built = build(&game, arguments)?;
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
        let found = studied(arguments, &built, &config, time, &stop);
        progress.finish_and_clear();
        found
    });
    let study = study.transpose()?;
    if let Some(study) = &study {
        config = study.apply(&config);
    }
    if arguments.method == Method::AlphaBeta || config.depth_values.is_some() {
        let by_depth = ByDepth {
            game: &game.sheet.name,
            machine,
            state: &state,
            role,
            config: &config,
            study: study.as_ref(),
        };
        let time = arguments.search.time(DEFAULT_TIME);
        by_depth.run(time, arguments.search.iterations, &stop, output)?;
        return Ok(outcome(&stop));
    }
    let searched = Searched::new(&built, &state);
    let mut search = Search::new(Arc::clone(searched.machine()), role, config);
    search.set_state(&searched.state());
    let time = arguments.search.time(DEFAULT_TIME);
    let message = format!("{}: searching", game.sheet.name);
    let progress = countdown(message, time);
    let started = Instant::now();
    let cpu_started = thread_cpu_time();
    search.run(
        &Budget::generous()
            .until(time.map(|time| started + time))
            .with_steps(arguments.search.iterations.unwrap_or(u64::MAX))
            .stopped_by(&stop),
    );
    let seconds = started.elapsed().as_secs_f64();
    let cpu = thread_cpu_time().zip(cpu_started);
    let cpu = cpu.map(|(now, before)| now.saturating_sub(before));
    search.settle();
    progress.finish_and_clear();
    let measured = Measured {
        game: &game.sheet.name,
        role,
        seconds,
        cpu,
        study: study.as_ref(),
    };
    show(arguments, &searched, &mut search, &measured, output)?;
    Ok(outcome(&stop))
}

fn outcome(stop: &AtomicBool) -> Outcome {
    match stop.load(Ordering::Relaxed) {
        true => Outcome::Interrupted,
        false => Outcome::Holds,
    }
}

/// What is known of a search beside what it holds.
struct Measured<'a> {
    game: &'a str,
    role: RoleId,
    seconds: f64,
    /// Processor time of the thread of the graph.
    cpu: Option<Duration>,
    study: Option<&'a Study>,
}

/// The game on the machine to search it with; that of a match where it is studied.
fn build(game: &Game, arguments: &SearchArguments) -> anyhow::Result<BuiltGame> {
    if arguments.study.is_some() {
        let (built, reason) = build_as_in_match(game, BUILD_TIME)?;
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
    let built = match arguments.search.settings.load([])?.search.factored {
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

/// Studies the game.
fn studied(
    arguments: &SearchArguments,
    game: &BuiltGame,
    config: &SearchConfig,
    time: Duration,
    stop: &Arc<AtomicBool>,
) -> anyhow::Result<Study> {
    let settings = arguments.search.settings.load([])?;
    let budget = StudyBudget {
        threads: config.rollout_threads.max(1),
        ..StudyBudget::from_now(&settings.metagame, time, stop)
    };
    Ok(study(game, None, config, &budget))
}

fn show(
    arguments: &SearchArguments,
    searched: &Searched<'_>,
    search: &mut Search,
    measured: &Measured<'_>,
    output: Output,
) -> anyhow::Result<()> {
    let &Measured {
        game,
        role,
        seconds,
        cpu,
        study,
    } = measured;
    let machine = searched.machine();
    let info = machine.info();
    let best = search.best_move();
    let best = best.map(|mv| searched.move_text(role, mv));
    let root = search.root();
    let rate = |count: u64| count as f64 / seconds.max(1e-9);
    // Processor time per iteration of the thread that owns the graph, and of its stages.
    let writer = cpu.map(|cpu| cpu.as_nanos() as f64 / root.iterations.max(1) as f64);
    let statistics = search.statistics();
    let per_iteration = |count: u64| count as f64 / root.iterations.max(1) as f64;
    let counts = [statistics.requests, statistics.answers].map(per_iteration);
    let stages = search.times().means();
    let stages = stages.map(|means| stages_within(means, counts, writer));
    let bytes = statistics.bytes;
    let moves = root.moves.iter().map(|report| {
        let mut object = json!({
            "move": searched.move_text(role, report.mv),
            "visits": report.visits as u64,
            "value": decimal(report.value),
            "proven": report.proven(),
        });
        if let Some(share) = report.probability {
            object["share"] = decimal(Some(share)).into();
        }
        object
    });
    let mut object = json!({
        "game": game,
        "machine": machine.kind(),
        "role": info.role_name(role),
        "move": best,
        "value": decimal(root.value),
        "proven": root.proven,
        "iterations": root.iterations,
        "iterations_per_second": rate(root.iterations),
        "nodes": root.nodes,
        "playouts": root.playouts,
        "playouts_per_second": rate(root.playouts),
        "writer_nanoseconds": writer,
        "parts": stages.map(|[select, send, expand, back_up]| json!({
            "select": select, "send": send, "expand": expand, "back_up": back_up,
        })),
        "bytes": bytes,
        "depth": root.max_depth,
        "seconds": seconds,
        "seed": arguments.search.seed,
        "moves": moves.collect::<Vec<_>>(),
    });
    if let Some(study) = study {
        object["study"] = study.to_json();
    }
    output.object(&object)?;

    output.line(format_args!(
        "{} ({}), {}: {}, value {}, proven {}\n\
         {} ({} per second), {}, {}, {} MiB, depth {}, {seconds:.2} s",
        game,
        machine.kind(),
        info.role_name(role),
        best.as_deref().unwrap_or("no legal move"),
        shown_value(root.value),
        shown_goal(root.proven),
        counted(root.iterations, "iteration"),
        grouped(rate(root.iterations).round() as u64),
        counted(root.playouts, "playout"),
        counted(root.nodes.into(), "node"),
        bytes >> 20,
        root.max_depth,
    ))?;
    if let Some(writer) = writer {
        let stages = stages.map_or(String::new(), |[select, send, expand, back_up]| {
            format!(
                " (select {select:.0}, send {send:.0}, expand {expand:.0}, back up {back_up:.0})"
            )
        });
        output.line(format_args!(
            "{writer:.0} ns of processor time per iteration in the thread of the graph{stages}"
        ))?;
    }
    output.line(format_args!("\n{}", moves_table(searched, role, &root)))?;
    Ok(())
}

/// The moves of the root as a table.
fn moves_table(searched: &Searched<'_>, role: RoleId, root: &RootReport) -> String {
    let is_mixed = root.moves.iter().any(|report| report.probability.is_some());
    let mut columns = vec![Column::text("move")];
    columns.extend(["visits", "value", "proven"].map(Column::figure));
    columns.extend(is_mixed.then(|| Column::figure("share")));
    let rows = root.moves.iter().map(|report| {
        let visits = grouped(report.visits as u64);
        let mut row = vec![searched.move_text(role, report.mv), visits];
        row.extend([shown_value(report.value), shown_goal(report.proven())]);
        let share = report.probability.unwrap_or(0.0);
        row.extend(is_mixed.then(|| format!("{:.1} %", 100.0 * share)));
        row
    });
    table(&columns, &rows.collect::<Vec<_>>())
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
