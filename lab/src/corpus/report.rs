//! The page of `cargo lab corpus`: totals, faults, known defects, and the slowest games. `--json`
//! has every game.

use panza_cli::EngineKind;
use serde::Serialize;

use super::examine::{Built, Finding, Verified};
use super::known::KNOWN;
use crate::children::Findings;
use crate::page::{Page, Table, count, or_dash};

/// Rows of the table of the slowest games.
const N_SLOWEST: usize = 25;
/// Seconds of a build below which games are counted.
const BUILD_LIMITS: [f64; 4] = [0.01, 0.1, 1.0, 10.0];

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct GameReport {
    pub game: String,
    /// How it was built; nothing when its process failed before.
    pub built: Option<Built>,
    pub verified: Vec<Verified>,
    pub failure: Option<String>,
}

impl GameReport {
    pub fn new(game: &str, findings: Findings<Finding>) -> Self {
        let mut report = Self {
            game: game.to_string(),
            built: None,
            verified: Vec::new(),
            failure: findings.failure,
        };
        for finding in findings.found {
            match finding {
                Finding::Built(built) => report.built = Some(built),
                Finding::Verified(verified) => report.verified.push(verified),
            }
        }
        report
    }

    /// Whether the game was examined to the end without disagreements.
    pub fn holds(&self) -> bool {
        self.failure.is_none() && self.sum(|verified| verified.disagreements) == 0
    }

    /// The lines on what is not as it should be: no network, disagreements, a failure.
    pub fn faults(&self) -> Vec<String> {
        let reason = self.built.as_ref().and_then(|built| built.reason.as_ref());
        let reason = reason.map(|reason| format!("no network: {reason}"));
        let mut faults = Vec::from_iter(reason);
        faults.extend(self.verified.iter().filter_map(|verified| {
            let first = verified.first.as_ref()?;
            let (count, machine) = (count(verified.disagreements), verified.machine);
            Some(format!("{count} disagreements ({machine}), first {first}"))
        }));
        faults.extend(self.failure.clone());
        let faults = faults.into_iter();
        faults
            .map(|fault| format!("{}: {fault}", self.game))
            .collect()
    }

    fn states(&self, machine: EngineKind) -> Option<u64> {
        let mut verified = self.verified.iter();
        let of_machine = verified.find(|verified| verified.machine == machine);
        of_machine.map(|verified| verified.states)
    }

    fn sum(&self, number: fn(&Verified) -> u64) -> u64 {
        self.verified.iter().map(number).sum()
    }
}

pub fn new_page() -> Page {
    Page::new(
        "Published games",
        "Every game of a corpus of published games is built in a process of its own and compared \
         with its recorded playouts\n(initial state, legal moves, next states, terminality, goals) \
         on each engine. The recorders share no code with Panza.",
    )
}

pub fn fill(mut page: Page, games: &[GameReport]) -> Page {
    page.section(
        "Totals",
        "Times and memory are those of games on a network.",
        &totals(games),
    );
    let faults: Vec<String> = games.iter().flat_map(GameReport::faults).collect();
    page.list(&faults);
    let heads = ["game", "part", "reason", "differences"];
    let mut defects = Table::new(heads).with_text_columns(&[0, 1, 2]);
    for defect in KNOWN {
        if let Some(game) = games.iter().find(|game| game.game == defect.game) {
            let differences = count(game.sum(|verified| verified.known_defects));
            let words = [defect.game, defect.what, defect.reason].map(str::to_string);
            defects.push([&words[..], &[differences]].concat());
        }
    }
    let about = "Differences in these parts are counted apart.";
    page.section("Known defects of traces", about, &defects);
    page.section(
        "Slowest builds",
        "Build s is wall-clock time, processor s the processor time of it, states those that were \
         compared.\n`--json` prints a line for every game.",
        &slowest(games),
    );
    page
}

fn totals(games: &[GameReport]) -> Table {
    let networks = games
        .iter()
        .filter_map(|game| Some((network(game)?, &*game.game)));
    let networks: Vec<(&Built, &str)> = networks.collect();
    let mut table = Table::new(["", "total", "median", "worst"]);
    let mut total = |what: &str, number: u64| {
        table.push(
            [what, &count(number), "-", "-"]
                .map(str::to_string)
                .to_vec(),
        );
    };
    let sum = |number: fn(&Verified) -> u64| games.iter().map(|game| game.sum(number)).sum();
    let states = |machine| games.iter().filter_map(|game| game.states(machine)).sum();
    total("games", games.len() as u64);
    total("games on a network", networks.len() as u64);
    for limit in BUILD_LIMITS {
        let fast = networks
            .iter()
            .filter(|(built, _)| built.build_seconds <= limit);
        total(&format!("built within {limit} s"), fast.count() as u64);
    }
    total(
        "games that failed",
        games.iter().filter(|game| game.failure.is_some()).count() as u64,
    );
    total("states on the counter engine", states(EngineKind::Counter));
    total("states on the prover", states(EngineKind::Prover));
    total("disagreements", sum(|verified| verified.disagreements));
    total("known defects", sum(|verified| verified.known_defects));
    let mut spread = |what: &str, digits: usize, measure: fn(&Built) -> Option<f64>| {
        let measured = networks
            .iter()
            .filter_map(|(built, game)| Some((measure(built)?, *game)));
        let mut measured: Vec<(f64, &str)> = measured.collect();
        measured.sort_by(|one, other| one.0.total_cmp(&other.0));
        let (median, worst) = (measured.get(measured.len() / 2), measured.last());
        table.push(vec![
            what.to_string(),
            format!("{:.digits$}", measured.iter().map(|one| one.0).sum::<f64>()),
            or_dash(median.map(|(median, _)| format!("{median:.digits$}"))),
            or_dash(worst.map(|(worst, game)| format!("{worst:.digits$} ({game})"))),
        ]);
    };
    spread("build s", 4, |built| Some(built.build_seconds));
    spread("processor s", 4, |built| built.processor_seconds);
    spread("peak MiB", 1, |built| built.peak_bytes.map(mib));
    table
}

/// The games on a network that took the longest to build.
fn slowest(games: &[GameReport]) -> Table {
    let mut table = Table::new([
        "game",
        "gates, full",
        "optimised",
        "build s",
        "processor s",
        "peak MiB",
        "states",
    ]);
    let networks = games.iter().filter_map(|game| Some((network(game)?, game)));
    let mut networks: Vec<(&Built, &GameReport)> = networks.collect();
    networks.sort_by(|(one, _), (other, _)| other.build_seconds.total_cmp(&one.build_seconds));
    for (built, game) in networks.into_iter().take(N_SLOWEST) {
        table.push(vec![
            game.game.clone(),
            or_dash(built.gates_full.map(count)),
            or_dash(built.gates_optimised.map(count)),
            format!("{:.4}", built.build_seconds),
            or_dash(built.processor_seconds.map(|it| format!("{it:.4}"))),
            or_dash(built.peak_bytes.map(|bytes| format!("{:.1}", mib(bytes)))),
            or_dash(game.states(EngineKind::Counter).map(count)),
        ]);
    }
    table
}

fn network(game: &GameReport) -> Option<&Built> {
    let built = game.built.as_ref();
    built.filter(|built| built.machine == EngineKind::Counter)
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
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

    fn game(name: &str, found: Vec<Finding>, failure: Option<&str>) -> GameReport {
        let failure = failure.map(str::to_string);
        GameReport::new(name, Findings { found, failure })
    }

    #[test]
    fn the_page_lists_totals_faults_defects_and_the_slowest_games() {
        use EngineKind::{Counter, Prover};
        let fast = vec![
            built(Counter, 0.25),
            verified(Counter, 0, 0),
            verified(Prover, 0, 0),
        ];
        let games = [
            game("fast", fast, None),
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
        let holds = games.each_ref().map(GameReport::holds);
        assert_eq!(holds, [true, false, true, false]);
        let (totals, table) = (totals(&games).to_string(), slowest(&games).to_string());
        for expected in [
            "| games | 4 | - | - |",
            "| games on a network | 2 | - | - |",
            "| built within 0.1 s | 0 | - | - |",
            "| built within 1 s | 2 | - | - |",
            "| games that failed | 1 | - | - |",
            "| states on the counter engine | 2,000 | - | - |",
            "| disagreements | 2 | - | - |",
            "| known defects | 7 | - | - |",
            "| build s | 0.7500 | 0.5000 | 0.5000 (test_case_3a) |",
        ] {
            assert!(totals.contains(expected), "no `{expected}` in\n{totals}");
        }
        let rows: Vec<&str> = table.lines().skip(2).collect();
        assert_eq!(
            rows,
            [
                "| test_case_3a | 1,200 | 30 | 0.5000 | 0.2500 | 3.0 | 1,000 |",
                "| fast | 1,200 | 30 | 0.2500 | 0.1250 | 3.0 | 1,000 |",
            ]
        );
        assert_eq!(games[0].faults(), [""; 0]);
        assert_eq!(
            games[1].faults(),
            [
                "large: no network: too | large",
                "large: 2 disagreements (prover), first traces/x:1: legal differs",
            ]
        );
        assert_eq!(games[3].faults(), ["dead: ended with signal: 9"]);
    }
    #[test]
    fn the_table_of_the_slowest_games_has_a_bounded_number_of_rows() {
        let games: Vec<GameReport> = (0..N_SLOWEST + 5)
            .map(|index| {
                let found = vec![built(EngineKind::Counter, index as f64)];
                game(&format!("game{index}"), found, None)
            })
            .collect();
        let table = slowest(&games).to_string();
        let rows: Vec<&str> = table.lines().skip(2).collect();
        assert_eq!(rows.len(), N_SLOWEST);
        assert!(rows[0].starts_with(&format!("| game{} ", N_SLOWEST + 4)));
    }
}
