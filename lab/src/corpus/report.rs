//! The page that `cargo lab corpus` writes: a summary, what is open, and a row per game.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::bail;
use serde::Serialize;

use super::children::Told;
use super::examine::{Built, Finding, Verified};
use super::known::KNOWN;
use panza::commands::engine::EngineKind;
use panza::commands::output::grouped;

/// All that is known of one game.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct GameReport {
    /// The game's key.
    pub game: String,
    /// How it was built, if that was told.
    pub built: Option<Built>,
    /// What the traces said of each machine.
    pub verified: Vec<Verified>,
    /// Why there is no full answer, if there is none.
    pub failure: Option<String>,
}

/// Under what conditions the games were examined.
#[derive(Clone, Debug)]
pub struct Conditions {
    /// Seconds for building a game.
    pub seconds: f64,
    /// Memory for building a game.
    pub memory_mib: u32,
    /// Games examined at the same time.
    pub jobs: u16,
    /// The processor's name, if the system tells.
    pub processor: Option<String>,
    /// The commit of the source, if it is known.
    pub commit: Option<String>,
}

impl GameReport {
    /// Puts together what a child told.
    pub fn new(game: &str, told: Told<Finding>) -> Self {
        let mut report = Self {
            game: game.to_string(),
            built: None,
            verified: Vec::new(),
            failure: told.failure,
        };
        for finding in told.findings {
            match finding {
                Finding::Built(built) => report.built = Some(built),
                Finding::Verified(verified) => report.verified.push(verified),
            }
        }
        report
    }

    /// Whether there is a full answer, and no disagreement in it that nothing excuses.
    pub fn holds(&self) -> bool {
        self.failure.is_none() && self.disagreements() == 0
    }

    /// What is worth a line while the others are still to come.
    pub fn news(&self) -> Option<String> {
        let mut news = Vec::new();
        if let Some(reason) = self.built.as_ref().and_then(|built| built.reason.as_ref()) {
            news.push(format!("no network: {reason}"));
        }
        for verified in &self.verified {
            if let Some(first) = &verified.first {
                let (count, machine) = (grouped(verified.disagreements), verified.machine);
                news.push(format!("{count} disagreements ({machine}), first {first}"));
            }
        }
        news.extend(self.failure.clone());
        (!news.is_empty()).then(|| format!("{}: {}", self.game, news.join("; ")))
    }

    fn disagreements(&self) -> u64 {
        self.verified.iter().map(|v| v.disagreements).sum()
    }

    fn known_defects(&self) -> u64 {
        self.verified.iter().map(|v| v.known_defects).sum()
    }

    /// States compared on a machine; nothing when it was not compared.
    fn states(&self, machine: EngineKind) -> Option<u64> {
        let of_machine = self.verified.iter().find(|v| v.machine == machine);
        of_machine.map(|verified| verified.states)
    }

    /// The game's network, if it has one.
    fn network(&self) -> Option<&Built> {
        let built = self.built.as_ref();
        built.filter(|built| built.machine == EngineKind::Counter)
    }
}

/// What all games came to, in one line.
pub fn summary_line(games: &[GameReport]) -> String {
    let failures = games.iter().filter(|game| game.failure.is_some()).count();
    format!(
        "{} games, {} on a network, {} states, {} disagreements, {} known defects of traces, {failures} without a full answer",
        games.len(),
        games.iter().filter(|game| game.network().is_some()).count(),
        grouped(total(games, EngineKind::Counter) + total(games, EngineKind::Prover)),
        grouped(games.iter().map(GameReport::disagreements).sum()),
        grouped(games.iter().map(GameReport::known_defects).sum()),
    )
}

/// The page.
pub fn markdown(games: &[GameReport], conditions: &Conditions) -> String {
    let mut page = String::from(
        "# Published games\n\n\
        Every game of a corpus of published games is built in a process of its own, and then held against its recorded\n\
        playouts on each machine: initial state, legal moves, next states, terminality and goals. Playouts were recorded by\n\
        reasoners that share no code with this program. `cargo lab corpus FOLDER --out docs/corpus.md` writes this page.\n",
    );
    for section in [
        summary(games, conditions),
        without_network(games),
        disagreements(games),
        failures(games),
        defects(games),
        table(games),
    ] {
        page.push_str(&section);
    }
    page
}

fn summary(games: &[GameReport], conditions: &Conditions) -> String {
    let networks: Vec<&Built> = games.iter().filter_map(GameReport::network).collect();
    let median = |measure: fn(&Built) -> Option<f64>| {
        let mut measured: Vec<f64> = networks.iter().filter_map(|built| measure(built)).collect();
        measured.sort_by(f64::total_cmp);
        match measured.get(measured.len() / 2) {
            Some(median) => format!("{median:.4}"),
            None => "-".to_string(),
        }
    };
    let worst = |measure: fn(&Built) -> Option<f64>, digits: usize| {
        let measured = games
            .iter()
            .filter_map(|game| Some((measure(game.network()?)?, &game.game)));
        match measured.max_by(|one, other| one.0.total_cmp(&other.0)) {
            Some((most, game)) => format!("{most:.digits$} ({game})"),
            None => "-".to_string(),
        }
    };
    let failures = games.iter().filter(|game| game.failure.is_some()).count();
    let unknown = || "unknown".to_string();
    let version = env!("CARGO_PKG_VERSION");
    let rows = [
        ("games", games.len().to_string()),
        ("on a network", networks.len().to_string()),
        (
            "build seconds, median",
            median(|built| Some(built.build_seconds)),
        ),
        (
            "build seconds, worst",
            worst(|built| Some(built.build_seconds), 2),
        ),
        (
            "seconds on the processor, median",
            median(|built| built.processor_seconds),
        ),
        (
            "seconds on the processor, worst",
            worst(|built| built.processor_seconds, 2),
        ),
        (
            "peak MiB, worst",
            worst(|built| built.peak_bytes.map(mib), 1),
        ),
        (
            "states on the counter machine",
            grouped(total(games, EngineKind::Counter)),
        ),
        (
            "states on the prover",
            grouped(total(games, EngineKind::Prover)),
        ),
        (
            "disagreements",
            grouped(games.iter().map(GameReport::disagreements).sum()),
        ),
        (
            "known defects of traces",
            grouped(games.iter().map(GameReport::known_defects).sum()),
        ),
        ("games without a full answer", failures.to_string()),
        (
            "budget for building",
            format!(
                "{} s, {} MiB",
                conditions.seconds,
                grouped(u64::from(conditions.memory_mib))
            ),
        ),
        ("games at the same time", conditions.jobs.to_string()),
        (
            "processor",
            conditions.processor.clone().unwrap_or_else(unknown),
        ),
        (
            "panza",
            match &conditions.commit {
                Some(commit) => format!("{version} ({commit})"),
                None => version.to_string(),
            },
        ),
    ];
    let mut out = String::from("\n## Summary\n\n| | |\n|---|---:|\n");
    for (what, value) in rows {
        let _ = writeln!(out, "| {what} | {} |", cell(&value));
    }
    out.push_str(
        "\nTimes and memory are those of the games on a network, each built by one thread. Build seconds pass on the clock and\n\
        depend on what else the machine does; seconds on the processor hardly do.\n",
    );
    out
}

fn without_network(games: &[GameReport]) -> String {
    let mut out = String::from("\n## Played with the prover\n\n");
    let before = out.len();
    for game in games {
        let reason = game.built.as_ref().and_then(|built| built.reason.as_ref());
        if let Some(reason) = reason {
            let _ = writeln!(out, "- {}: {}", game.game, one_line(reason));
        }
    }
    if out.len() == before {
        out.push_str("None: every game has a network.\n");
    }
    out
}

fn disagreements(games: &[GameReport]) -> String {
    let mut out = String::from("\n## Disagreements\n\n");
    let before = out.len();
    for game in games {
        for verified in game.verified.iter().filter(|v| v.disagreements > 0) {
            let _ = write!(
                out,
                "{}, {}: {} differences, the first of them\n\n```text\n{}\n```\n\n",
                game.game,
                verified.machine,
                grouped(verified.disagreements),
                verified.first.as_deref().unwrap_or("unknown")
            );
        }
    }
    if out.len() == before {
        out.push_str("None.\n");
    } else {
        out.pop();
    }
    out
}

fn failures(games: &[GameReport]) -> String {
    let mut out = String::new();
    for game in games {
        if let Some(failure) = &game.failure {
            let _ = writeln!(out, "- {}: {}", game.game, one_line(failure));
        }
    }
    match out.is_empty() {
        true => out,
        false => format!("\n## Games without a full answer\n\n{out}"),
    }
}

fn defects(games: &[GameReport]) -> String {
    let mut out = String::from(
        "\n## Known defects of traces\n\n\
        Here the traces are wrong by the rules of GDL. Differences in these parts are counted apart, and nothing else is excused.\n\n\
        | game | part | differences | reason |\n|---|---|---:|---|\n",
    );
    for defect in KNOWN {
        let Some(game) = games.iter().find(|game| game.game == defect.game) else {
            continue;
        };
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} |",
            defect.game,
            defect.what,
            grouped(game.known_defects()),
            cell(defect.reason)
        );
    }
    out
}

fn table(games: &[GameReport]) -> String {
    let mut out = String::from(
        "\n## Games\n\n\
        | game | machine | gates, full | optimised | by phase | build s | processor s | peak MiB | states, counter | states, prover | disagreements |\n\
        |---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n",
    );
    let dash = || "-".to_string();
    for game in games {
        let built = game.built.as_ref();
        let network = game.network();
        let count = |count: Option<usize>| count.map_or_else(dash, |n| grouped(n as u64));
        let states = |machine| game.states(machine).map_or_else(dash, grouped);
        let phases = network.map(|built| built.gates_of_phases.as_slice());
        let phases: Vec<String> = phases
            .unwrap_or_default()
            .iter()
            .map(|&gates| grouped(gates as u64))
            .collect();
        let disagreements = match (&game.failure, game.known_defects()) {
            (Some(_), _) => "no full answer".to_string(),
            (None, 0) => grouped(game.disagreements()),
            (None, known) => format!(
                "{} (and {} known defects)",
                grouped(game.disagreements()),
                grouped(known)
            ),
        };
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {disagreements} |",
            cell(&game.game),
            built.map_or_else(dash, |built| built.machine.to_string()),
            count(network.and_then(|built| built.gates_full)),
            count(network.and_then(|built| built.gates_optimised)),
            if phases.is_empty() {
                dash()
            } else {
                phases.join(" + ")
            },
            built.map_or_else(dash, |built| format!("{:.4}", built.build_seconds)),
            built
                .and_then(|built| built.processor_seconds)
                .map_or_else(dash, |seconds| format!("{seconds:.4}")),
            built
                .and_then(|built| built.peak_bytes)
                .map_or_else(dash, |bytes| format!("{:.1}", mib(bytes))),
            states(EngineKind::Counter),
            states(EngineKind::Prover),
        );
    }
    out
}

/// States of all games compared on a machine.
fn total(games: &[GameReport], machine: EngineKind) -> u64 {
    games.iter().filter_map(|game| game.states(machine)).sum()
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// Whether a page can be written there, so far as can be seen before there is one.
///
/// # Errors
/// It is a folder, or in none that exists.
pub fn check_place(page: &Path) -> anyhow::Result<()> {
    let folder = match page.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    if !folder.is_dir() || page.is_dir() {
        bail!(
            "cannot write `{}`: expected a file in a folder that exists",
            page.display()
        );
    }
    Ok(())
}

/// Text without line ends.
pub fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Text that ends no cell of a table.
pub fn cell(text: &str) -> String {
    one_line(text).replace('|', "\\|")
}

/// The commit of the source, when the working directory is the project's own.
pub fn commit() -> Option<String> {
    let manifest = fs::read_to_string(Path::new("Cargo.toml")).ok()?;
    if !manifest.contains("\nname = \"panza\"\n") {
        return None;
    }
    let output = Command::new("git")
        .args(["rev-parse", "--short", "HEAD"])
        .output()
        .ok()?;
    let commit = String::from_utf8(output.stdout).ok()?.trim().to_string();
    (output.status.success() && !commit.is_empty()).then_some(commit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn built(machine: EngineKind, build_seconds: f64) -> Finding {
        let has_network = machine == EngineKind::Counter;
        Finding::Built(Built {
            machine,
            reason: (!has_network).then(|| "too | large".to_string()),
            gates_full: has_network.then_some(1200),
            gates_optimised: has_network.then_some(30),
            gates_of_phases: if has_network {
                vec![10, 12]
            } else {
                Vec::new()
            },
            build_seconds,
            processor_seconds: Some(build_seconds / 2.0),
            peak_bytes: Some(3 << 20),
        })
    }

    fn verified(machine: EngineKind, disagreements: u64, known_defects: u64) -> Finding {
        Finding::Verified(Verified {
            machine,
            states: 1000,
            disagreements,
            known_defects,
            first: (disagreements > 0).then(|| "traces/x:1: legal differs".to_string()),
            seconds: 0.5,
        })
    }

    fn game(name: &str, findings: Vec<Finding>, failure: Option<&str>) -> GameReport {
        let failure = failure.map(str::to_string);
        GameReport::new(name, Told { findings, failure })
    }

    fn page(games: &[GameReport]) -> String {
        let conditions = Conditions {
            seconds: 60.0,
            memory_mib: 4096,
            jobs: 1,
            processor: None,
            commit: Some("abc1234".to_string()),
        };
        markdown(games, &conditions)
    }

    #[test]
    fn the_page_says_what_was_found() {
        use EngineKind::{Counter, Prover};
        let games = [
            game(
                "fast",
                vec![
                    built(Counter, 0.25),
                    verified(Counter, 0, 0),
                    verified(Prover, 0, 0),
                ],
                None,
            ),
            game(
                "large",
                vec![built(Prover, 60.0), verified(Prover, 2, 0)],
                None,
            ),
            game(
                "test_case_3a",
                vec![built(Counter, 0.5), verified(Counter, 0, 7)],
                None,
            ),
            game("dead", vec![], Some("ended with signal: 9")),
        ];
        assert_eq!(
            games.each_ref().map(GameReport::holds),
            [true, false, true, false]
        );
        let page = page(&games);
        for expected in [
            "| games | 4 |",
            "| on a network | 2 |",
            "| build seconds, median | 0.5000 |",
            "| build seconds, worst | 0.50 (test_case_3a) |",
            "| seconds on the processor, worst | 0.25 (test_case_3a) |",
            "| states on the counter machine | 2,000 |",
            "| states on the prover | 2,000 |",
            "| disagreements | 2 |",
            "| known defects of traces | 7 |",
            "| games without a full answer | 1 |",
            "(abc1234) |",
            "- large: too | large\n",
            "large, prover: 2 differences, the first of them\n\n```text\ntraces/x:1: legal differs\n```\n",
            "- dead: ended with signal: 9\n",
            "| test_case_3a | legal | 7 | the recorder takes",
            "| fast | counter | 1,200 | 30 | 10 + 12 | 0.2500 | 0.1250 | 3.0 | 1,000 | 1,000 | 0 |",
            "| large | prover | - | - | - | 60.0000 | 30.0000 | 3.0 | - | 1,000 | 2 |",
            "| test_case_3a | counter | 1,200 | 30 | 10 + 12 | 0.5000 | 0.2500 | 3.0 | 1,000 | - | 0 (and 7 known defects) |",
            "| dead | - | - | - | - | - | - | - | - | - | no full answer |",
        ] {
            assert!(page.contains(expected), "no `{expected}` in\n{page}");
        }
        assert_eq!(
            summary_line(&games),
            "4 games, 2 on a network, 4,000 states, 2 disagreements, 7 known defects of traces, 1 without a full answer"
        );
        assert_eq!(games[0].news(), None);
        let news = games[1].news().unwrap();
        assert!(
            news.starts_with("large: no network: too | large; 2 disagreements (prover), first")
        );
    }

    #[test]
    fn nothing_to_tell_is_said() {
        let page = page(&[]);
        assert!(page.contains("None: every game has a network."), "{page}");
        assert!(page.contains("## Disagreements\n\nNone.\n"), "{page}");
        assert!(!page.contains("without a full answer\n\n-"), "{page}");
    }
}
