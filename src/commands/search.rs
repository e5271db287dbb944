//! `panza search`: searches one position and shows what is known about each move.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail};
use clap::Args;
use serde::Serialize;

use super::arguments::SearchChoice;
use super::engine_choice::{build_prover, build_to_search};
use super::game_source::Game;
use super::outcome::Outcome;
use super::output::{Column, Output, countdown, grouped, spinner, table};
use super::trace::canonical;
use crate::gdl::{Sexpr, sexpr};
use crate::ids::{Id, RoleId};
use crate::machine::Machine;
use crate::search::{Limit, Search};
use crate::sync::clock::thread_cpu_time;

/// The time limit where neither seconds nor iterations are given.
const DEFAULT_TIME: Duration = Duration::from_secs(5);
/// Files with a position are smaller than this.
const MAX_STATE_BYTES: u64 = 16 << 20;

/// Arguments of `panza search`.
#[derive(Args, Debug)]
pub struct SearchArguments {
    /// Path to a rulesheet, or the name of a game.
    game: String,
    /// The position, as one list of facts. [default: the initial state]
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,
    /// The role to search for. [default: the first role with a choice]
    #[arg(long)]
    role: Option<String>,
    #[command(flatten)]
    search: SearchChoice,
}

#[derive(Serialize)]
struct Report<'a> {
    game: &'a str,
    machine: &'static str,
    role: String,
    #[serde(rename = "move")]
    best: Option<String>,
    value: Option<f32>,
    proven: Option<u8>,
    iterations: u64,
    iterations_per_second: f64,
    nodes: u32,
    playouts: u64,
    playouts_per_second: f64,
    /// Nanoseconds of processor time that an iteration took the thread that owns the graph, its own
    /// playouts included.
    writer_nanoseconds: Option<f64>,
    parts: Option<Parts>,
    bytes: usize,
    depth: u32,
    seconds: f64,
    seed: u64,
    moves: Vec<ReportedMove>,
}

/// What the parts of an iteration take that thread, in nanoseconds.
#[derive(Serialize)]
struct Parts {
    select: f64,
    send: f64,
    grow: f64,
    back_up: f64,
}

#[derive(Serialize)]
struct ReportedMove {
    #[serde(rename = "move")]
    mv: String,
    visits: u32,
    value: Option<f32>,
    proven: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    share: Option<f32>,
}

/// Runs the command.
///
/// # Errors
/// A game or position that cannot be read, an unknown role, or rules that no machine takes.
pub fn run(arguments: &SearchArguments, output: Output) -> anyhow::Result<Outcome> {
    let game = Game::load(&arguments.game)?;
    let facts = arguments.state.as_deref().map(read_position).transpose()?;
    let progress = spinner(format!("{}: compiling", game.sheet.name));
    let machine = match build_to_search(&game.rules, arguments.search.threads) {
        Ok(machine) => machine,
        Err(error) => {
            tracing::warn!("searching with the prover: {error}");
            build_prover(&game.rules)?
        }
    };
    let state = match facts {
        Some(facts) => machine
            .info()
            .state_from_facts(&facts)
            .map_err(|why| anyhow!(why)),
        None => Ok(machine.initial_state()),
    }
    .context("the position cannot be set up")?;
    let role = find_role(&machine, &state, arguments.role.as_deref())?;

    let config = arguments.search.search_config()?;
    let mut search = Search::new(Arc::clone(&machine), role, config);
    search.set_state(&state);
    let time = arguments.search.time(DEFAULT_TIME);
    progress.finish_and_clear();
    let message = format!("{}: searching", game.sheet.name);
    let progress = match time {
        Some(time) => countdown(message, time),
        None => spinner(message),
    };
    let started = Instant::now();
    let cpu_started = thread_cpu_time();
    search.run(Limit {
        until: time.map(|time| started + time),
        iterations: arguments.search.iterations,
        stop: None,
    });
    let seconds = started.elapsed().as_secs_f64();
    let cpu = thread_cpu_time()
        .zip(cpu_started)
        .map(|(now, before)| now.saturating_sub(before));
    search.settle();
    progress.finish_and_clear();

    let best = search.best_move().map(|mv| machine.info().move_text(mv));
    let root = search.root();
    let moves = root.moves.iter().map(|report| ReportedMove {
        mv: machine.info().move_text(report.mv),
        visits: report.visits,
        value: report.value,
        proven: report.proven,
        share: report.share,
    });
    let report = Report {
        game: &game.sheet.name,
        machine: machine.kind(),
        role: machine.info().role_name(role).to_string(),
        best,
        value: root.value,
        proven: root.proven,
        iterations: root.iterations,
        iterations_per_second: root.iterations as f64 / seconds.max(1e-9),
        nodes: root.nodes,
        playouts: root.playouts,
        playouts_per_second: root.playouts as f64 / seconds.max(1e-9),
        writer_nanoseconds: cpu.map(|cpu| cpu.as_nanos() as f64 / root.iterations.max(1) as f64),
        parts: search
            .times()
            .means()
            .map(|[select, send, grow, back_up]| Parts {
                select,
                send,
                grow,
                back_up,
            }),
        bytes: search.statistics().bytes,
        depth: root.max_depth,
        seconds,
        seed: arguments.search.seed,
        moves: moves.collect(),
    };
    output.object(&report)?;
    if !output.is_json() {
        output.line(text(&report))?;
    }
    Ok(Outcome::Holds)
}

fn text(report: &Report<'_>) -> String {
    let value = |value: Option<f32>| value.map_or("-".to_string(), |value| format!("{value:.2}"));
    let proven = |proven: Option<u8>| proven.map_or("-".to_string(), |goal| goal.to_string());
    let best = report.best.as_deref().unwrap_or("no legal move");
    let mut text = format!(
        "{} ({}), {}: {best}, value {}, proven {}\n\
         {} iterations ({} a second), {} playouts, {} nodes, {} MiB, depth {}, {:.2} s",
        report.game,
        report.machine,
        report.role,
        value(report.value),
        proven(report.proven),
        grouped(report.iterations),
        grouped(report.iterations_per_second.round() as u64),
        grouped(report.playouts),
        grouped(u64::from(report.nodes)),
        report.bytes >> 20,
        report.depth,
        report.seconds
    );
    if let Some(writer) = report.writer_nanoseconds {
        text.push_str(&format!(
            "\n{writer:.0} ns of processor time an iteration for the thread that grows the graph"
        ));
        if let Some(parts) = &report.parts {
            text.push_str(&format!(
                " (select {:.0}, send {:.0}, grow {:.0}, back up {:.0})",
                parts.select, parts.send, parts.grow, parts.back_up
            ));
        }
    }
    let is_mixed = report.moves.iter().any(|shown| shown.share.is_some());
    let mut columns = vec![Column::text("move")];
    columns.extend(["visits", "value", "proven"].map(Column::figure));
    columns.extend(is_mixed.then(|| Column::figure("share")));
    let rows = report.moves.iter().map(|shown| {
        let visits = grouped(u64::from(shown.visits));
        let mut row = vec![
            shown.mv.clone(),
            visits,
            value(shown.value),
            proven(shown.proven),
        ];
        let share = shown.share.unwrap_or(0.0);
        row.extend(is_mixed.then(|| format!("{:.1} %", 100.0 * share)));
        row
    });
    text + "\n\n" + &table(&columns, &rows.collect::<Vec<_>>())
}

/// The role of this name, or without a name the first that has a choice.
fn find_role(
    machine: &Arc<dyn Machine>,
    state: &[u64],
    name: Option<&str>,
) -> anyhow::Result<RoleId> {
    let roles: Vec<RoleId> = (0..machine.info().n_roles())
        .map(RoleId::from_index)
        .collect();
    let Some(name) = name else {
        let mut reasoner = Arc::clone(machine).reasoner();
        reasoner.set_state(state);
        let chooser = roles
            .into_iter()
            .find(|&role| reasoner.legal_moves(role).len() > 1);
        return Ok(chooser.unwrap_or(RoleId::from_index(0)));
    };
    let names = machine.info().roles();
    match names.iter().position(|known| known == name) {
        Some(position) => Ok(roles[position]),
        None => bail!("no role `{name}`; the roles are {}", names.join(", ")),
    }
}

/// The facts of a file that holds one list of them.
fn read_position(path: &Path) -> anyhow::Result<Vec<String>> {
    let shown = path.display();
    let length = fs::metadata(path)
        .with_context(|| format!("cannot read `{shown}`"))?
        .len();
    if length > MAX_STATE_BYTES {
        bail!("`{shown}` has {length} bytes; at most {MAX_STATE_BYTES} were expected");
    }
    let text = fs::read_to_string(path).with_context(|| format!("cannot read `{shown}`"))?;
    read_facts(&text, &shown.to_string())
}

fn read_facts(text: &str, origin: &str) -> anyhow::Result<Vec<String>> {
    let (expressions, faults) = sexpr::parse(text);
    if let Some(fault) = faults.first() {
        bail!("{}", fault.one_line(origin, text));
    }
    let [Sexpr::List(items, _)] = expressions.as_slice() else {
        bail!(
            "{origin}: expected one list of facts, as in ((cell 1 1 x) (control o)), found {} expressions",
            expressions.len()
        );
    };
    Ok(items
        .iter()
        .map(|fact| canonical(&bare(fact).to_string()))
        .collect())
}

/// A fact without the `true` that rules write around it.
fn bare(fact: &Sexpr) -> &Sexpr {
    match fact.list() {
        Some([word, inner])
            if word
                .symbol()
                .is_some_and(|word| word.eq_ignore_ascii_case("true")) =>
        {
            inner
        }
        _ => fact,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_one_list_of_facts() {
        let facts =
            read_facts("; mine\n((cell 1  1 x)\n (true (control o)) (ready))", "p").unwrap();
        assert_eq!(facts, ["(cell 1 1 x)", "(control o)", "ready"]);
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
