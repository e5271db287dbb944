//! How fast games are searched: iterations, nodes and playouts a second, and what the parts of an
//! iteration take.
//!
//! The search starts afresh in the initial state of each game, with the machine and the settings
//! that a match has. Its section of the page has conditions of its own, so that it can be measured
//! by itself: where no other games are named, the rest of the page stays as it stands.
//!
//! Never knows: how the search works inside.

use std::fmt::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::bail;
use serde::Serialize;

use super::measure::Rate;
use super::page::{Conditions, cell};
use panza::commands::engine_choice::build_faster;
use panza::commands::game_source::Game;
use panza::commands::output::grouped;
use panza::config::Settings;
use panza::ids::RoleId;
use panza::player::{Playing, search_config};
use panza::search::{Limit, Search};
use panza::sync::clock::thread_cpu_time;

/// What stands between this and [`SECTION_END`] is replaced when searches are measured.
pub const SECTION: &str = "<!-- searching -->";
/// The end of the section.
pub const SECTION_END: &str = "<!-- /searching -->";
/// The section goes before this one where a page has none yet.
const NEXT_SECTION: &str = "\n## Tried and rejected\n";

/// A game that was searched.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct SearchReport {
    /// The game's name.
    pub game: String,
    /// Threads, the one that grows the graph among them.
    pub threads: usize,
    /// Iterations per second of the clock on the wall.
    pub iterations: Option<Rate>,
    /// Iterations per second of processor time of the thread that grows the graph.
    pub by_writer: Option<Rate>,
    /// Nodes made per second.
    pub nodes: Option<Rate>,
    /// Playouts per second.
    pub playouts: Option<Rate>,
    /// What going down, sending a request, growing and backing up take, in nanoseconds; of the last
    /// run.
    pub parts: Option<[f64; 4]>,
    /// Bytes of the graph for each node; of the last run.
    pub bytes_per_node: Option<f64>,
    /// Whether the game was proven before the time was over, and how long that took.
    pub proven_in: Option<f64>,
    /// Why there are no figures.
    pub failure: Option<String>,
}

/// Searches a game, in so many runs of so many seconds.
///
/// # Errors
/// The settings cannot be read.
pub fn measure(
    game: &Game,
    threads: usize,
    runs: u32,
    seconds: f64,
    seed: u64,
    mut on_run: impl FnMut(),
) -> anyhow::Result<SearchReport> {
    let mut report = SearchReport {
        game: game.sheet.name.clone(),
        threads,
        iterations: None,
        by_writer: None,
        nodes: None,
        playouts: None,
        parts: None,
        bytes_per_node: None,
        proven_in: None,
        failure: None,
    };
    let machine = match build_faster(&game.rules, Playing::Decisively) {
        Ok(machine) => machine,
        Err(error) => {
            report.failure = Some(error.to_string());
            return Ok(report);
        }
    };
    let settings = Settings::load(None, &[])?;
    let mut rates: [Vec<f64>; 4] = Default::default();
    for run in 0..runs {
        on_run();
        let mut config = search_config(&settings.search, seed.wrapping_add(run.into()));
        config.rollout_threads = threads.saturating_sub(1);
        let mut search = Search::new(Arc::clone(&machine), RoleId(0), config);
        let (started, cpu_started) = (Instant::now(), thread_cpu_time());
        search.run(Limit {
            until: Some(started + Duration::from_secs_f64(seconds)),
            ..Limit::default()
        });
        let took = started.elapsed().as_secs_f64().max(1e-9);
        let cpu = thread_cpu_time().zip(cpu_started);
        let cpu = cpu.map(|(now, before)| now.saturating_sub(before).as_secs_f64().max(1e-9));
        let root = search.root();
        let statistics = search.statistics();
        let made = f64::from(statistics.nodes) + statistics.recycled as f64;
        rates[0].push(root.iterations as f64 / took);
        rates[1].extend(cpu.map(|cpu| root.iterations as f64 / cpu));
        rates[2].push(made / took);
        rates[3].push(root.playouts as f64 / took);
        report.parts = search.times().means();
        report.bytes_per_node =
            (statistics.nodes > 0).then(|| statistics.bytes as f64 / f64::from(statistics.nodes));
        report.proven_in = root.proven.map(|_| took);
    }
    let [iterations, by_writer, nodes, playouts] = rates.map(Rate::of);
    report.iterations = iterations;
    report.by_writer = by_writer;
    report.nodes = nodes;
    report.playouts = playouts;
    Ok(report)
}

/// The section of the page, between its marks.
pub fn section(conditions: &Conditions, command: &str, reports: &[SearchReport]) -> String {
    if reports.is_empty() {
        return String::new();
    }
    let threads = reports.first().map_or(0, |report| report.threads);
    let mut out = format!(
        "\n{SECTION}\n## Searching\n\n\
        From the initial state, {threads} threads, {} of {} s each: medians, with the slowest and the fastest run. An iteration goes down the\n\
        graph, looks at a position or meets a known one, and backs up what came of it, one playout or more. Its parts are those of the thread\n\
        that grows the graph, in nanoseconds, one in 64 timed; that thread is by itself as fast as stands under *by its own time*.\n\
        Commit {}, {}, {}.\n\n```\n{command}\n```\n\n\
        | game | iterations a second | min - max | by its own time | nodes a second | playouts a second | select | send | grow | back up | bytes a node |\n\
        |---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n",
        match conditions.runs {
            1 => "one run".to_string(),
            runs => format!("{runs} runs"),
        },
        conditions.seconds,
        conditions.commit.as_deref().unwrap_or("unknown"),
        conditions
            .processor
            .as_deref()
            .unwrap_or("unknown processor"),
        conditions.date,
    );
    let number = |value: f64| grouped(value.round() as u64);
    let median = |rate: &Option<Rate>| rate.as_ref().map_or("-".into(), |rate| number(rate.median));
    let mut notes = String::new();
    for report in reports {
        let spread = report.iterations.as_ref().map_or("-".into(), |rate| {
            format!("{} - {}", number(rate.min), number(rate.max))
        });
        let parts = match report.parts {
            Some(parts) => parts.map(number).join(" | "),
            None => "- | - | - | -".to_string(),
        };
        let _ = writeln!(
            out,
            "| {} | {} | {spread} | {} | {} | {} | {parts} | {} |",
            cell(&report.game),
            median(&report.iterations),
            median(&report.by_writer),
            median(&report.nodes),
            median(&report.playouts),
            report.bytes_per_node.map_or("-".into(), number),
        );
        if let Some(seconds) = report.proven_in {
            let _ = writeln!(notes, "- {}: proven in {seconds:.2} s.", report.game);
        }
        if let Some(failure) = &report.failure {
            let _ = writeln!(notes, "- {}: {failure}", report.game);
        }
    }
    if !notes.is_empty() {
        let _ = write!(out, "\n{notes}");
    }
    let _ = writeln!(out, "{SECTION_END}");
    out
}

/// The section that stands in a page, marks and all; nothing where there is none.
///
/// # Errors
/// One of the marks is missing or stands there twice.
pub fn section_of(page: &str) -> anyhow::Result<Option<&str>> {
    let count = |mark| page.matches(mark).count();
    match (count(SECTION), count(SECTION_END)) {
        (0, 0) => Ok(None),
        (1, 1) => {
            let start = page.find(&format!("\n{SECTION}"));
            let end = page.find(&format!("{SECTION_END}\n"));
            match (start, end) {
                (Some(start), Some(end)) if start < end => {
                    Ok(Some(&page[start..end + SECTION_END.len() + 1]))
                }
                _ => bail!(
                    "expected `{SECTION}` and `{SECTION_END}` on lines of their own, in this order"
                ),
            }
        }
        _ => bail!("expected `{SECTION}` and `{SECTION_END}` once each"),
    }
}

/// A page with its section replaced, or put in where there was none.
///
/// # Errors
/// As [`section_of`], or the page has no place for it.
pub fn put_into(page: &str, section: &str) -> anyhow::Result<String> {
    if let Some(old) = section_of(page)? {
        return Ok(page.replacen(old, section, 1));
    }
    match page.find(NEXT_SECTION) {
        Some(place) => Ok(format!("{}{section}{}", &page[..place], &page[place..])),
        None => bail!(
            "expected a section `Tried and rejected`, to put the section on searching before it"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use panza::commands::game_source::Rulesheet;

    #[test]
    fn a_section_is_put_in_and_replaced_and_the_rest_stays() {
        let page = "# Page\n\n## Tried and rejected\n\nnotes\n";
        let first = format!("\n{SECTION}\none\n{SECTION_END}\n");
        let with = put_into(page, &first).unwrap();
        assert_eq!(
            with,
            format!("# Page\n{first}\n## Tried and rejected\n\nnotes\n")
        );
        assert_eq!(section_of(&with).unwrap(), Some(first.as_str()));
        let second = format!("\n{SECTION}\ntwo\n{SECTION_END}\n");
        let replaced = put_into(&with, &second).unwrap();
        assert_eq!(replaced, with.replace("one", "two"));
        assert!(put_into("# Page\n", &first).is_err());
        assert!(section_of(&format!("{SECTION}\n")).is_err());
    }

    #[test]
    fn a_game_that_is_proven_at_once_has_figures_too() {
        let game = Game::from_sheet(Rulesheet::find("ticTacToe").unwrap()).unwrap();
        let mut n_runs = 0;
        let report = measure(&game, 1, 2, 20.0, 1, || n_runs += 1).unwrap();
        assert_eq!(n_runs, 2);
        assert!(report.proven_in.is_some() && report.failure.is_none());
        let iterations = report.iterations.unwrap();
        assert!(iterations.median > 0.0 && report.nodes.unwrap().median > 0.0);
    }
}
