//! The page that `cargo lab performance` writes: conditions, tables, and a section of notes written by
//! hand that stays.
//!
//! Invariant: no folder of the machine stands on it. Games are named by their rulesheets' names,
//! baselines by theirs.

use std::fmt::Write;

use anyhow::bail;
use serde::Serialize;

use super::caches::Caches;
use super::lanes::{self, LanesReport, ProfileReport, ThreadsReport};
use super::measure::{BaselineReport, GameReport, PassReport, Rate};
use super::networks::Size;
use super::page_lanes;
use super::searching::SearchReport;
use panza::commands::game_source::Game;
use panza::commands::output::grouped;

/// Text between this and [`NOTES_END`] is kept.
pub const NOTES: &str = "<!-- notes -->";
/// The end of such text.
pub const NOTES_END: &str = "<!-- /notes -->";

/// Under what conditions was measured.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Conditions {
    /// The program's version.
    pub version: &'static str,
    /// The commit of the source, if it is known.
    pub commit: Option<String>,
    /// How the program was compiled.
    pub build: &'static str,
    /// The day, as YYYY-MM-DD, in universal time.
    pub date: String,
    /// The processor's name, if the system tells.
    pub processor: Option<String>,
    /// Sizes of the processor's caches, if the system tells.
    pub caches: Option<Caches>,
    /// Threads that play.
    pub threads: u32,
    /// Runs of each program on each game.
    pub runs: u32,
    /// Seconds of each run.
    pub seconds: f64,
    /// The command line, without folders.
    pub command: String,
    /// The baselines' names.
    pub baselines: Vec<String>,
    /// Widths at which lanes are measured.
    pub widths: Vec<usize>,
}

/// All that was measured.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Reports {
    /// How fast games are.
    pub games: Vec<GameReport>,
    /// What passes do for some.
    pub passes: Vec<PassReport>,
    /// Where the time of a pass of lanes goes.
    pub profiles: Vec<ProfileReport>,
    /// Lanes on several threads.
    pub threads: Vec<ThreadsReport>,
    /// How fast games are searched.
    pub searches: Vec<SearchReport>,
    /// What the page says of that.
    pub search_section: String,
}

impl Reports {
    /// The width at which lanes are best at a game, as far as it was measured.
    pub fn best_width(&self, game: &Game) -> usize {
        let mut games = self.games.iter();
        let report = games.find(|report| report.game == game.sheet.name);
        let lanes = report.and_then(|report| report.lanes.as_ref());
        lanes::width_of(lanes.and_then(|lanes| lanes.best))
    }
}

/// What stands between the marks in an older page; nothing when there are none.
///
/// # Errors
/// One of the marks is missing, stands there twice, or they stand in the wrong order.
pub fn notes(page: &str) -> anyhow::Result<Option<&str>> {
    let count = |mark| page.matches(mark).count();
    match (count(NOTES), count(NOTES_END)) {
        (0, 0) => return Ok(None),
        (1, 1) => {}
        _ => bail!("expected `{NOTES}` and `{NOTES_END}` once each"),
    }
    match page.split_once(NOTES) {
        Some((_, rest)) if rest.contains(NOTES_END) => {
            Ok(rest.split_once(NOTES_END).map(|(notes, _)| notes))
        }
        _ => bail!("expected `{NOTES}` before `{NOTES_END}`"),
    }
}

/// The page, with the notes of an older one.
pub fn markdown(conditions: &Conditions, reports: &Reports, notes: Option<&str>) -> String {
    let mut page = String::from(
        "# Performance\n\n\
        Uniformly random playouts from the initial state to the end of the game, one thread, per second of processor time,\n\
        so that other work on the machine hardly matters. Programs that are compared play in turn, and the median of the runs\n\
        stands beside the slowest and the fastest. `cargo lab performance` writes this page; the notes at its end are written by\n\
        hand and kept.\n",
    );
    for section in [
        conditions_section(conditions),
        rates_section(conditions, &reports.games),
        page_lanes::rates_section(conditions, &reports.games),
        page_lanes::profile_section(conditions, &reports.profiles),
        page_lanes::threads_section(&reports.threads),
        networks_section(&reports.games),
        stages_section(&reports.passes),
        without_section(&reports.passes),
        reports.search_section.clone(),
    ] {
        page.push_str(&section);
    }
    let notes = notes.unwrap_or("\n");
    let _ = write!(
        page,
        "\n## Tried and rejected\n\n{NOTES}{notes}{NOTES_END}\n"
    );
    page
}

fn conditions_section(conditions: &Conditions) -> String {
    let unknown = || "unknown".to_string();
    let version = conditions.version;
    let rows = [
        (
            "panza",
            match &conditions.commit {
                Some(commit) => format!("{version} ({commit})"),
                None => version.to_string(),
            },
        ),
        ("build", conditions.build.to_string()),
        ("date", conditions.date.clone()),
        (
            "processor",
            conditions.processor.clone().unwrap_or_else(unknown),
        ),
        (
            "caches",
            conditions
                .caches
                .map_or_else(unknown, |caches| caches.to_string()),
        ),
        ("threads", conditions.threads.to_string()),
        (
            "runs",
            format!("{} of {} s each", conditions.runs, conditions.seconds),
        ),
    ];
    let mut out = String::from("\n## Conditions\n\n| | |\n|---|---|\n");
    for (what, value) in rows {
        let _ = writeln!(out, "| {what} | {} |", cell(&value));
    }
    let _ = write!(out, "\n```\n{}\n```\n", conditions.command);
    out
}

fn rates_section(conditions: &Conditions, games: &[GameReport]) -> String {
    let mut out =
        String::from("\n## Playouts per second\n\n| game | mean length | panza | min - max |");
    for name in &conditions.baselines {
        let _ = write!(out, " {name} | min - max | mean length | panza / {name} |");
    }
    out.push_str("\n|---|---:|---:|---:|");
    out.push_str(&"---:|".repeat(4 * conditions.baselines.len()));
    out.push('\n');
    let mut footnotes: Vec<String> = Vec::new();
    for game in games {
        let mut marks = String::new();
        if let Some(reason) = &game.reason {
            footnotes.push(format!("{}: played with the prover: {reason}", game.game));
            let _ = write!(marks, " ({})", footnotes.len());
        }
        if game.cut_off > 0 {
            let count = grouped(game.cut_off);
            footnotes.push(format!("{}: {count} playouts were cut off", game.game));
            let _ = write!(marks, " ({})", footnotes.len());
        }
        let (median, spread) = rate_cells(game.playouts_per_cpu_s.as_ref());
        let length = length_cell(game.mean_length);
        let _ = write!(
            out,
            "| {}{marks} | {length} | {median} | {spread} |",
            cell(&game.game)
        );
        for baseline in &game.baselines {
            let (mut median, spread) = rate_cells(baseline.playouts_per_cpu_s.as_ref());
            if let Some(failure) = &baseline.failure {
                footnotes.push(format!("{} on {}: {failure}", baseline.name, game.game));
                let _ = write!(median, " ({})", footnotes.len());
            }
            let ratio = baseline
                .ratio
                .map_or("-".to_string(), |ratio| format!("{ratio:.2}"));
            let length = length_cell(baseline.mean_length);
            let _ = write!(out, " {median} | {spread} | {length} | {ratio} |");
        }
        out.push('\n');
    }
    out.push_str(&numbered(&footnotes));
    for (index, name) in conditions.baselines.iter().enumerate() {
        let ratio = |game: &GameReport| game.baselines.get(index)?.ratio;
        out.push_str(&ratios_line(&format!("panza / {name}"), games, &ratio));
    }
    out
}

/// Footnotes under a table.
pub(super) fn numbered(footnotes: &[String]) -> String {
    let mut out = String::new();
    for (index, footnote) in footnotes.iter().enumerate() {
        let start = if index == 0 { "\n" } else { "" };
        let _ = writeln!(out, "{start}{}. {}", index + 1, one_line(footnote));
    }
    out
}

/// One line on a ratio over all games that have it.
pub(super) fn ratios_line(
    what: &str,
    games: &[GameReport],
    ratio: &dyn Fn(&GameReport) -> Option<f64>,
) -> String {
    let of_game = |game: &GameReport| Some((ratio(game)?, game.game.clone()));
    let mut ratios: Vec<(f64, String)> = games.iter().filter_map(of_game).collect();
    ratios.sort_by(|one, other| one.0.total_cmp(&other.0));
    let rate = Rate::of(ratios.iter().map(|(ratio, _)| *ratio).collect());
    match (ratios.first(), ratios.last(), rate) {
        (Some(least), Some(most), Some(rate)) => format!(
            "\n{what}, games {}: median {:.2}, least {:.2} ({}), most {:.2} ({}).\n",
            ratios.len(),
            rate.median,
            least.0,
            least.1,
            most.0,
            most.1
        ),
        _ => String::new(),
    }
}

fn networks_section(games: &[GameReport]) -> String {
    let mut out = String::from(
        "\n## Networks\n\n\
        | game | build s | processor s | gates, full | optimised | by phase | only for goals |\n\
        |---|---:|---:|---:|---:|---:|---:|\n",
    );
    let count = |count: Option<usize>| count.map_or("-".to_string(), |n| grouped(n as u64));
    for game in games {
        let phases: Vec<String> = game
            .gates_of_phases
            .iter()
            .map(|&gates| grouped(gates as u64))
            .collect();
        let _ = writeln!(
            out,
            "| {} | {:.4} | {} | {} | {} | {} | {} |",
            cell(&game.game),
            game.build_seconds,
            game.build_cpu_seconds
                .map_or("-".to_string(), |seconds| format!("{seconds:.4}")),
            count(game.gates_full),
            count(game.gates_optimised),
            or_dash(phases.join(" + ")),
            count(game.gates_for_goals),
        );
    }
    out.push_str(
        "\nBuild seconds pass on the clock from rules to machine. Gates only for goals are those of the whole game's network that\n\
        neither next states nor legal moves nor the end need.\n",
    );
    out
}

fn stages_section(passes: &[PassReport]) -> String {
    let followed = passes.iter().filter_map(|report| {
        let stages = report.stages.as_ref()?;
        Some((&report.game, stages, &report.phases))
    });
    let followed: Vec<_> = followed.collect();
    let Some((_, first, _)) = followed.first() else {
        return failures(passes);
    };
    let mut out = String::from("\n## What each pass makes of a network\n\n| game |");
    for stage in &first.whole {
        let _ = write!(out, " {} |", stage.after);
    }
    out.push_str(" by phase |\n|---|");
    out.push_str(&"---:|".repeat(first.whole.len() + 1));
    out.push('\n');
    let size = |size: Size| {
        format!(
            "{} / {}",
            grouped(size.gates as u64),
            grouped(size.edges as u64)
        )
    };
    for (game, stages, phases) in followed {
        let _ = write!(out, "| {} |", cell(game));
        for stage in &stages.whole {
            let _ = write!(out, " {} |", size(stage.size));
        }
        let phases: Vec<String> = phases.iter().map(|&phase| size(phase)).collect();
        let _ = writeln!(out, " {} |", or_dash(phases.join(" + ")));
    }
    out.push_str(
        "\nGates / edges of the whole game's network: in full, after each pass of the first round, and after all rounds, and then\n\
        of each phase's network.\n",
    );
    out.push_str(&failures(passes));
    out
}

fn failures(passes: &[PassReport]) -> String {
    let mut out = String::new();
    for report in passes {
        if let Some(failure) = &report.failure {
            let _ = writeln!(out, "\n{}: {}", report.game, one_line(failure));
        }
    }
    out
}

fn without_section(passes: &[PassReport]) -> String {
    let measured: Vec<&PassReport> = passes
        .iter()
        .filter(|report| report.all.is_some())
        .collect();
    let Some(first) = measured.first() else {
        return String::new();
    };
    let mut out = String::from(
        "\n## Playouts per second with a pass left out\n\n| game | all passes | min - max |",
    );
    for without in &first.without {
        let _ = write!(out, " without {} | min - max | change |", without.pass);
    }
    out.push_str("\n|---|---:|---:|");
    out.push_str(&"---:|".repeat(3 * first.without.len()));
    out.push('\n');
    for report in measured {
        let (median, spread) = rate_cells(report.all.as_ref());
        let _ = write!(out, "| {} | {median} | {spread} |", cell(&report.game));
        for without in &report.without {
            let rate = without.playouts_per_cpu_s.as_ref();
            let (median, spread) = rate_cells(rate);
            let change = match (rate, report.all.as_ref()) {
                (Some(rate), Some(all)) if all.median > 0.0 => {
                    format!("{:+.1} %", (rate.median / all.median - 1.0) * 100.0)
                }
                _ => "-".to_string(),
            };
            let _ = write!(out, " {median} | {spread} | {change} |");
        }
        out.push('\n');
    }
    out.push_str(
        "\nPhases have the same passes as the whole game. A change is from the median with all passes: below zero, the pass pays.\n",
    );
    out
}

pub(super) fn rate_cells(rate: Option<&Rate>) -> (String, String) {
    match rate {
        Some(rate) => (
            rate_text(rate.median),
            format!("{} - {}", rate_text(rate.min), rate_text(rate.max)),
        ),
        None => ("-".to_string(), "-".to_string()),
    }
}

/// Digits as long as they say something.
pub(super) fn rate_text(rate: f64) -> String {
    match rate {
        _ if rate < 10.0 => format!("{rate:.2}"),
        _ if rate < 100.0 => format!("{rate:.1}"),
        _ => grouped(rate.round() as u64),
    }
}

pub(super) fn length_cell(length: Option<f64>) -> String {
    length.map_or("-".to_string(), |length| format!("{length:.2}"))
}

fn or_dash(text: String) -> String {
    match text.is_empty() {
        true => "-".to_string(),
        false => text,
    }
}

pub(super) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Text that ends no cell of a table.
pub(super) fn cell(text: &str) -> String {
    one_line(text).replace('|', "\\|")
}

/// One line on what all games came to.
pub fn summary_line(reports: &Reports) -> String {
    let Reports { games, passes, .. } = reports;
    let reports = games.iter().flat_map(|game| &game.baselines);
    let failed = |baseline: &&BaselineReport| baseline.failure.is_some();
    let by_lanes = |game: &GameReport| {
        let lanes = game.lanes.as_ref();
        lanes.and_then(LanesReport::best_rate).is_some()
    };
    format!(
        "{} games measured, {} on a network, {} by lanes; {} followed through the passes; {} times a baseline gave no figure",
        games.len(),
        games.iter().filter(|game| game.reason.is_none()).count(),
        games.iter().filter(|game| by_lanes(game)).count(),
        passes
            .iter()
            .filter(|report| report.failure.is_none())
            .count(),
        reports.filter(failed).count(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_have_the_digits_that_say_something() {
        let shown = [0.256, 25.649, 256.49, 1_234_567.8].map(rate_text);
        assert_eq!(shown, ["0.26", "25.6", "256", "1,234,568"]);
    }

    #[test]
    fn notes_stand_between_their_marks() {
        let found = notes("a <!-- notes -->\nb\n<!-- /notes --> c").unwrap();
        assert_eq!(found, Some("\nb\n"));
        assert_eq!(notes("a").unwrap(), None);
        assert!(notes("<!-- notes --> b").is_err());
        assert!(notes("<!-- /notes --> b <!-- notes -->").is_err());
    }
}
