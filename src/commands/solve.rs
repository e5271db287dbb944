//! `panza solve`: a plan for a single-player game.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail};
use clap::Args;
use serde_json::json;

use panza_cli::arguments::parse_seconds;
use panza_cli::output::{counted, spinner};
use panza_cli::{Game, Outcome, Output};
use panza_game::ReducedGame;
use panza_machine::Machine;
use panza_planner::{Findings, Improvement, Planner, PlannerConfig, PlanningGame, SOLVERS};
use panza_sync::Budget;

/// Time to build a game; after that it is solved with the prover.
const BUILD_TIME: Duration = Duration::from_secs(120);
/// Bytes of memory of a build.
const BUILD_BYTES: usize = 4 << 30;
/// Time between two reports of progress.
const REPORT_EVERY: Duration = Duration::from_millis(500);

#[derive(Args, Debug)]
pub struct SolveArguments {
    /// Path to a rulesheet, or the name of a game; a game of one role.
    game: String,
    /// Seconds to search, after the build.
    #[arg(long, value_name = "S", default_value_t = 30.0, value_parser = parse_seconds)]
    seconds: f64,
    /// Shorten the plan in the time that is left once no better goal is possible.
    #[arg(long)]
    improve: bool,
    /// Use one solver only, instead of all in turn.
    #[arg(long, value_name = "NAME", value_parser = SOLVERS)]
    solver: Option<String>,
    /// Solvers that run at once.
    #[arg(short = 'j', long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=64))]
    threads: u16,
    /// Mebibytes for states.
    #[arg(long, value_name = "MIB", default_value_t = 2048, value_parser = clap::value_parser!(u32).range(16..))]
    memory: u32,
    /// Seed of the random numbers.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

pub fn run(arguments: &SolveArguments, output: Output) -> anyhow::Result<Outcome> {
    let game = Game::load(&arguments.game)?;
    let name = &game.sheet.name;
    let progress = spinner(format!("{name}: compiling"));
    let budget = Budget::within(BUILD_TIME, BUILD_BYTES);
    let built = panza_game::build(&game.rules, &budget).or_else(|reason| {
        tracing::warn!("solving with the prover: {reason}");
        panza_game::prover(&game.rules)
    });
    let built = built.map_err(|reason| anyhow!("{name} cannot be built: {reason}"))?;
    let config = PlannerConfig {
        threads: usize::from(arguments.threads),
        max_bytes: (arguments.memory as usize) << 20,
        seed: arguments.seed,
    };
    let machine = &built.machine;
    let reduced = built.reduced.as_deref();
    let searched = reduced.map_or_else(|| built.clone(), ReducedGame::game);
    let Some(planned) = PlanningGame::new(&searched.machine, searched.network.as_ref()) else {
        let roles = machine.info().n_roles();
        bail!("{name} has {roles} roles; plans are for games of one role");
    };
    let mut planner = Planner::new(&planned, &searched.machine.initial_state(), config);
    if let Some(solver) = &arguments.solver {
        planner.use_only(solver);
    }
    let started = Instant::now();
    let until = started + Duration::from_secs_f64(arguments.seconds);
    while !planner.findings().is_finished && Instant::now() < until {
        let next_report = until.min(Instant::now() + REPORT_EVERY);
        planner.run(next_report, &AtomicBool::new(false));
        let found = planner.findings();
        let goal = found.plan.as_ref().map(|plan| plan.goal);
        progress.set_message(format!(
            "{name}: {:.0} s, goal {} of at most {}, {}",
            started.elapsed().as_secs_f64(),
            goal.map_or("-".to_string(), |goal| goal.to_string()),
            found.bound,
            counted(found.n_states, "state"),
        ));
    }
    let mut found = planner.findings().clone();
    let n_moves_found = found.plan.as_ref().map(|plan| plan.moves.len());
    // Breadth-first search finds a plan of fewest moves first.
    let mut is_shortest = found.solver == "layers";
    if arguments.improve
        && let Some(mut improver) = planner.into_improver()
    {
        while !improver.found().is_finished && Instant::now() < until {
            improver.step(until, &AtomicBool::new(false));
            progress.set_message(format!(
                "{name}: {:.0} s, goal {} in {}",
                started.elapsed().as_secs_f64(),
                improver.found().plan.goal,
                counted(improver.found().plan.moves.len() as u64, "move"),
            ));
        }
        let Improvement {
            plan,
            is_shortest: is_proven,
            ..
        } = improver.found();
        is_shortest = is_proven || is_shortest && n_moves_found == Some(plan.moves.len());
        found.is_best |= plan.goal >= found.bound;
        found.plan = Some(plan);
    }
    let seconds = started.elapsed().as_secs_f64();
    progress.finish_and_clear();
    if let (Some(reduced), Some(plan)) = (reduced, &mut found.plan) {
        let moves = reduced.legal_moves(machine, &machine.initial_state(), &plan.moves);
        plan.moves = moves.context("a plan of the reduced game is none of the game")?;
    }
    let solved = Solved {
        found,
        n_moves_found,
        is_shortest,
        seconds,
    };
    show(arguments, name, machine, &solved, output)
}

/// What was found in a game.
struct Solved {
    found: Findings,
    /// The moves of the plan before it was improved.
    n_moves_found: Option<usize>,
    is_shortest: bool,
    seconds: f64,
}

fn show(
    arguments: &SolveArguments,
    name: &str,
    machine: &Arc<dyn Machine>,
    solved: &Solved,
    output: Output,
) -> anyhow::Result<Outcome> {
    let &Solved {
        ref found,
        n_moves_found,
        is_shortest,
        seconds,
    } = solved;
    let plan = found.plan.as_ref();
    let info = machine.info();
    let moves = plan.map(|plan| plan.moves.iter().map(|&mv| info.move_text(mv)));
    let moves: Vec<String> = moves.into_iter().flatten().collect();
    let mut object = json!({
        "game": name,
        "machine": machine.kind(),
        "goal": plan.map(|plan| plan.goal),
        "plan": plan.map(|_| &moves),
        "proven_best": found.is_best,
        "bound": found.bound,
        "solver": plan.map(|_| found.solver),
        "nodes": found.n_states,
        "seconds": seconds,
        "seed": arguments.seed,
    });
    if arguments.improve {
        object["improved_from"] = json!(n_moves_found);
        object["proven_shortest"] = json!(is_shortest);
    }
    output.object(&object)?;
    let Some(plan) = plan else {
        output.line(format_args!(
            "{name}: no plan in {seconds:.2} s and {}",
            counted(found.n_states, "state")
        ))?;
        return Ok(Outcome::DoesNotHold);
    };
    output.line(format_args!(
        "{name}: goal {}, {}; {}, {}{}; found by the {} solver in {seconds:.2} s, {}",
        plan.goal,
        if found.is_best {
            "the best there is".to_string()
        } else {
            format!("at most {} is possible", found.bound)
        },
        counted(plan.moves.len() as u64, "move"),
        match n_moves_found {
            Some(n_moves) if n_moves > plan.moves.len() => format!("shortened from {n_moves}, "),
            _ => String::new(),
        },
        if is_shortest {
            "shown shortest"
        } else {
            "not shown shortest"
        },
        found.solver,
        counted(found.n_states, "state"),
    ))?;
    for (index, text) in moves.iter().enumerate() {
        output.line(format_args!("{:>4}  {text}", index + 1))?;
    }
    Ok(Outcome::Holds)
}
