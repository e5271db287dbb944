//! The page of `cargo lab corpus`: totals, faults, known defects, and a row per game.

use panza_cli::EngineKind;
use serde::Serialize;

use super::examine::{Built, Finding, Verified};
use super::known::KNOWN;
use crate::children::Findings;
use crate::page::{Page, Table, count, or_dash};

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
        "Games",
        "Build s is wall-clock time, processor s the processor time of it. States are those \
         compared on each engine.",
        &table(games),
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

fn table(games: &[GameReport]) -> Table {
    let mut table = Table::new([
        "game",
        "engine",
        "gates, full",
        "optimised",
        "by phase",
        "build s",
        "processor s",
        "peak MiB",
        "states, counter",
        "states, prover",
        "disagreements",
    ])
    .with_text_columns(&[0, 1]);
    for game in games {
        let built = game.built.as_ref();
        let network = network(game);
        let phases = network.map(|built| built.gates_of_phases.iter().map(|&gates| count(gates)));
        let phases: Vec<String> = phases.into_iter().flatten().collect();
        table.push(vec![
            game.game.clone(),
            or_dash(built.map(|built| built.machine)),
            or_dash(network.and_then(|built| built.gates_full).map(count)),
            or_dash(network.and_then(|built| built.gates_optimised).map(count)),
            or_dash((!phases.is_empty()).then(|| phases.join(" + "))),
            or_dash(built.map(|built| format!("{:.4}", built.build_seconds))),
            or_dash(built.and_then(|built| Some(format!("{:.4}", built.processor_seconds?)))),
            or_dash(built.and_then(|built| Some(format!("{:.1}", mib(built.peak_bytes?))))),
            or_dash(game.states(EngineKind::Counter).map(count)),
            or_dash(game.states(EngineKind::Prover).map(count)),
            match game.failure {
                Some(_) => "failed".to_string(),
                None => count(game.sum(|verified| verified.disagreements)),
            },
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
    fn the_page_lists_totals_faults_defects_and_games() {
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
        let (totals, table) = (totals(&games).to_string(), table(&games).to_string());
        for expected in [
            "| games | 4 | - | - |",
            "| games on a network | 2 | - | - |",
            "| games that failed | 1 | - | - |",
            "| states on the counter engine | 2,000 | - | - |",
            "| disagreements | 2 | - | - |",
            "| known defects | 7 | - | - |",
            "| build s | 0.7500 | 0.5000 | 0.5000 (test_case_3a) |",
        ] {
            assert!(totals.contains(expected), "no `{expected}` in\n{totals}");
        }
        for expected in [
            "| fast | counter | 1,200 | 30 | 10 + 12 | 0.2500 | 0.1250 | 3.0 | 1,000 | 1,000 | 0 |",
            "| large | prover | - | - | - | 60.0000 | 30.0000 | 3.0 | - | 1,000 | 2 |",
            "| dead | - | - | - | - | - | - | - | - | - | failed |",
        ] {
            assert!(table.contains(expected), "no `{expected}` in\n{table}");
        }
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
}
