//! `cargo lab fingerprint`: network sizes and playout statistics of games, in a file whose diff
//! shows what a change changes.
//!
//! [`Behaviour`] depends on the rules and a seed alone: moves are drawn in the order of their texts
//! and states are hashed as sorted texts, so that neither numberings nor the engine matter, and the
//! prover gives the same. The engine's own playouts ([`EnginePlayouts`]) have fields of their own.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, anyhow};
use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use panza_cli::game_source::EMBEDDED;
use panza_cli::output::progress_bar;
use panza_cli::playouts::MAX_STEPS;
use panza_cli::{Game, Outcome, Output};

use panza_gdl::{Id, RoleId};
use panza_machine::{Machine, PlayoutEnd};
use panza_sync::{Budget, Random};

#[derive(Args, Debug)]
pub(crate) struct FingerprintArguments {
    /// Paths to rulesheets, or names of games; all games that come with the program when none is
    /// named.
    #[arg(value_name = "GAME")]
    games: Vec<String>,
    /// Write the fingerprints to this file instead of standard output.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Compare with the fingerprints of this file, with its seed and number of playouts.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["out", "seed", "playouts"])]
    against: Option<PathBuf>,
    /// Seed of the random numbers.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Playouts of each game.
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..))]
    playouts: u32,
}

/// A file of fingerprints.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fingerprints {
    /// Seed of the random numbers.
    pub seed: u64,
    /// Playouts of each game.
    pub playouts: u32,
    /// One per game.
    pub games: Vec<Fingerprint>,
}

/// The fingerprint of one game.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Fingerprint {
    /// The game's name.
    pub game: String,
    /// The sizes of its network.
    #[serde(flatten)]
    pub sizes: Sizes,
    /// Statistics of playouts by the order of move texts.
    #[serde(flatten)]
    pub behaviour: Behaviour,
    /// Statistics of the engine's own playouts.
    #[serde(flatten)]
    pub engine: EnginePlayouts,
}

/// The sizes of a game's network.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Sizes {
    /// Facts that can ever be true.
    pub bases: usize,
    /// Moves that can ever be legal, of all roles together.
    pub moves: usize,
    /// Instances of rules.
    pub ground_rules: usize,
    /// Gates before the passes.
    pub gates_full: usize,
    /// Gates after them.
    pub gates_optimised: usize,
    /// Gates of each phase's network; empty when the game has no phases.
    pub gates_of_phases: Vec<usize>,
}

/// Statistics of random playouts.
///
/// Each role that has several legal moves draws one of them, roles in their order, moves in the
/// order of their texts.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Behaviour {
    /// Joint moves made.
    pub steps: u64,
    /// States visited, the initial state once for each playout.
    pub states: u64,
    /// Playouts that reached the length limit.
    pub cut_off: u32,
    /// Sum of each role's goals over the finished playouts; an undefined goal counts 0.
    pub goal_sums: Vec<u64>,
    /// FNV-1a over the facts of all visited states, in hexadecimal digits.
    pub states_hash: String,
}

/// Statistics of the engine's own playouts, which depend on the order in which it draws moves.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct EnginePlayouts {
    /// Joint moves made, those of playouts that were cut off included.
    pub engine_steps: u64,
    /// Sum of each role's goals over the finished playouts.
    pub engine_goal_sums: Vec<u64>,
}

pub(crate) fn run(arguments: &FingerprintArguments, output: Output) -> anyhow::Result<Outcome> {
    let against = arguments.against.as_deref();
    let recorded = against.map(Fingerprints::read).transpose()?;
    let (seed, playouts) = match &recorded {
        Some(recorded) => (recorded.seed, recorded.playouts),
        None => (arguments.seed, arguments.playouts),
    };
    let names: Vec<String> = match (arguments.games.as_slice(), &recorded) {
        ([], Some(recorded)) => {
            let games = recorded.games.iter();
            games.map(|game| game.game.clone()).collect()
        }
        ([], None) => EMBEDDED.iter().map(|(name, _)| name.to_string()).collect(),
        (named, _) => named.to_vec(),
    };
    let bar = progress_bar(names.len() as u64, "games");
    let mut games = Vec::new();
    for name in &names {
        let game = Game::load(name)?;
        bar.set_message(game.sheet.name.clone());
        let fingerprint = fingerprint(&game, seed, playouts)?;
        output.object(&fingerprint)?;
        games.push(fingerprint);
        bar.inc(1);
    }
    bar.finish_and_clear();
    let found = Fingerprints {
        seed,
        playouts,
        games,
    };
    if let Some(mut recorded) = recorded {
        let is_found = |old: &Fingerprint| found.games.iter().any(|new| new.game == old.game);
        recorded.games.retain(is_found);
        let differences = differences(&recorded, &found);
        for difference in &differences {
            output.line(difference)?;
        }
        return Ok(Outcome::holds_if(differences.is_empty()));
    }
    match &arguments.out {
        Some(file) => fs::write(file, found.text()?)
            .with_context(|| format!("cannot write `{}`", file.display()))?,
        None => output.text(&found.text()?)?,
    }
    Ok(Outcome::Holds)
}

/// The fingerprint of a game. Fails where it cannot be compiled.
pub fn fingerprint(game: &Game, seed: u64, playouts: u32) -> anyhow::Result<Fingerprint> {
    let compiled = panza_game::compile(&game.rules, &Budget::generous())
        .map_err(|reason| anyhow!("{}: no compiled machine: {reason}", game.sheet.origin))?;
    let sizes = Sizes {
        bases: compiled.bases,
        moves: compiled.moves,
        ground_rules: compiled.ground_rules,
        gates_full: compiled.gates_full,
        gates_optimised: compiled.gates_optimised,
        gates_of_phases: compiled.gates_of_phases,
    };
    let machine: Arc<dyn Machine> = Arc::new(compiled.machine);
    Ok(Fingerprint {
        game: game.sheet.name.clone(),
        sizes,
        behaviour: behaviour(&machine, seed, playouts),
        engine: engine_playouts(&machine, seed, playouts),
    })
}

/// Where random playouts lead; the same on every correct machine.
pub fn behaviour(machine: &Arc<dyn Machine>, seed: u64, playouts: u32) -> Behaviour {
    let mut random = Random::new(seed);
    let mut reasoner = Arc::clone(machine).reasoner();
    let info = machine.info();
    let n_roles = info.n_roles();
    let mut goals = vec![None; n_roles];
    let mut found = Behaviour {
        goal_sums: vec![0; n_roles],
        ..Behaviour::default()
    };
    let mut hash = Fnv::new();
    let mut joint_move = Vec::new();
    for _ in 0..playouts {
        let mut state = machine.initial_state();
        let mut steps = 0;
        loop {
            found.states += 1;
            for fact in info.state_facts(&state) {
                hash.add(fact.as_bytes());
                hash.add(b"\n");
            }
            // An empty line cannot be a fact, so it separates states.
            hash.add(b"\n");
            reasoner.set_state(&state);
            let mut is_over = reasoner.is_terminal();
            joint_move.clear();
            for role in (0..n_roles).map(RoleId::from_index) {
                if is_over {
                    break;
                }
                let mut legal = reasoner.legal_moves(role).to_vec();
                legal.sort_by_cached_key(|&mv| info.move_text(mv));
                match legal.len() {
                    0 => is_over = true,
                    1 => joint_move.push(legal[0]),
                    count => joint_move.push(legal[random.below(count as u32) as usize]),
                }
            }
            if is_over {
                reasoner.goals(&mut goals);
                for (sum, goal) in found.goal_sums.iter_mut().zip(&goals) {
                    *sum += u64::from(goal.unwrap_or(0));
                }
                break;
            }
            if steps == MAX_STEPS {
                found.cut_off += 1;
                break;
            }
            reasoner.next_state(&joint_move, &mut state);
            steps += 1;
        }
        found.steps += u64::from(steps);
    }
    found.states_hash = format!("{:016x}", hash.0);
    found
}

fn engine_playouts(machine: &Arc<dyn Machine>, seed: u64, playouts: u32) -> EnginePlayouts {
    let mut random = Random::new(seed);
    let mut reasoner = Arc::clone(machine).reasoner();
    let initial = machine.initial_state();
    let mut goals = vec![0; machine.info().n_roles()];
    let mut found = EnginePlayouts {
        engine_steps: 0,
        engine_goal_sums: vec![0; goals.len()],
    };
    for _ in 0..playouts {
        reasoner.set_state(&initial);
        let steps = match reasoner.playout(&mut random, MAX_STEPS, &mut goals) {
            PlayoutEnd::Finished { steps } => {
                for (sum, goal) in found.engine_goal_sums.iter_mut().zip(&goals) {
                    *sum += u64::from(*goal);
                }
                steps
            }
            PlayoutEnd::CutOff => MAX_STEPS,
        };
        found.engine_steps += u64::from(steps);
    }
    found
}

impl Fingerprints {
    /// Reads a file. Fails where it cannot be read, or is no file of fingerprints.
    pub fn read(file: &Path) -> anyhow::Result<Self> {
        let shown = file.display();
        let text = fs::read_to_string(file).with_context(|| format!("cannot read `{shown}`"))?;
        serde_json::from_str(&text).with_context(|| format!("`{shown}` is no file of fingerprints"))
    }

    /// The file's text: JSON with one game per line.
    pub fn text(&self) -> serde_json::Result<String> {
        let games = self.games.iter().map(serde_json::to_string);
        let games: Vec<String> = games.collect::<Result<_, _>>()?;
        Ok(format!(
            "{{\n\"seed\": {},\n\"playouts\": {},\n\"games\": [\n{}\n]\n}}\n",
            self.seed,
            self.playouts,
            games.join(",\n")
        ))
    }
}

/// The differences, one line for each field: `game: field old → new`.
pub fn differences(old: &Fingerprints, new: &Fingerprints) -> Vec<String> {
    let mut lines = Vec::new();
    for (what, old, new) in [
        ("seed", old.seed, new.seed),
        ("playouts", old.playouts.into(), new.playouts.into()),
    ] {
        if old != new {
            lines.push(format!("{what} {old} → {new}"));
        }
    }
    let find = |list: &Fingerprints, name: &str| {
        let game = list.games.iter().find(|game| game.game == name)?;
        serde_json::to_value(game).ok()
    };
    let games = old.games.iter().chain(&new.games);
    for name in games.map(|game| &game.game).collect::<BTreeSet<_>>() {
        match (find(old, name), find(new, name)) {
            (Some(Value::Object(old)), Some(Value::Object(new))) => {
                let fields: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
                for field in fields {
                    let (old, new) = (&old.get(field), &new.get(field));
                    if old != new {
                        lines.push(format!("{name}: {field} {} → {}", show(old), show(new)));
                    }
                }
            }
            (None, _) => lines.push(format!("{name}: new")),
            (_, _) => lines.push(format!("{name}: gone")),
        }
    }
    lines
}

fn show(value: &Option<&Value>) -> String {
    value.map_or("nothing".to_string(), Value::to_string)
}

/// The hash FNV-1a (Fowler, Noll, Vo) with 64 bits, which no version of a library changes.
struct Fnv(u64);

impl Fnv {
    fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    fn add(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use panza_cli::engine_choice::build_prover;

    #[test]
    fn the_hash_is_fnv_1a() {
        let mut hash = Fnv::new();
        hash.add(b"foobar");
        assert_eq!(hash.0, 0x8594_4171_f739_67e8);
    }

    #[test]
    fn the_prover_has_the_same_behaviour_as_the_compiled_machine() {
        for name in ["ticTacToe", "connectFourSimultaneous", "hanoi"] {
            let game = Game::load(name).unwrap();
            let found = fingerprint(&game, 3, 4).unwrap();
            let prover = build_prover(&game.rules).unwrap();
            assert_eq!(behaviour(&prover, 3, 4), found.behaviour, "{name}");
            assert_eq!(found.behaviour.states, found.behaviour.steps + 4, "{name}");
            let other = behaviour(&prover, 4, 4);
            assert_ne!(other.states_hash, found.behaviour.states_hash, "{name}");
        }
    }

    #[test]
    fn files_are_read_as_written_and_differences_name_the_field() {
        let game = fingerprint(&Game::load("ticTacToe").unwrap(), 1, 3).unwrap();
        let old = Fingerprints {
            seed: 1,
            playouts: 3,
            games: vec![game.clone()],
        };
        let text = old.text().unwrap();
        assert_eq!(text.lines().count(), 7, "{text}");
        assert_eq!(serde_json::from_str::<Fingerprints>(&text).unwrap(), old);
        assert_eq!(differences(&old, &old), Vec::<String>::new());

        let mut new = old.clone();
        new.games[0].sizes.gates_full = 7;
        new.games[0].behaviour.goal_sums = vec![1, 2];
        let mut other = game.clone();
        other.game = "other".to_string();
        new.games.push(other);
        let (full, sums) = (game.sizes.gates_full, &game.behaviour.goal_sums);
        assert_eq!(
            differences(&old, &new),
            [
                "other: new".to_string(),
                format!("ticTacToe: gates_full {full} → 7"),
                format!("ticTacToe: goal_sums [{},{}] → [1,2]", sums[0], sums[1]),
            ]
        );
        assert_eq!(differences(&new, &old).first().unwrap(), "other: gone");
    }
}
