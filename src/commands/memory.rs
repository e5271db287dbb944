//! `panza memory`: what is kept of games between matches, and carrying it to another machine.
//!
//! Invariant: a file that cannot be imported changes nothing.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, anyhow, ensure};
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use panza_analysis::signature;
use panza_cli::arguments::{read_text, shown_path};
use panza_cli::game_source::known_games;
use panza_cli::output::{Column, counted, grouped, spinner, table, write_whole};
use panza_cli::{Game, Outcome, Output, SettingsChoice};
use panza_config::Settings;
use panza_memory::{GameMemory, GameRecord, Kind, Store};
use panza_metagame::transfer::{Imported, MOST_FILE_BYTES, export, import};
use panza_metagame::{Progress, curve};

/// How long another program may hold the file.
const PATIENCE: Duration = Duration::from_secs(5);

#[derive(Args, Debug)]
pub struct MemoryArguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand, Debug)]
enum Action {
    /// List the games.
    List {
        #[command(flatten)]
        memory: MemoryChoice,
    },
    /// Show what is known of a game.
    Show {
        #[command(flatten)]
        game: OfGame,
        /// Draw the learning curve of its training into this file, as SVG.
        #[arg(long, value_name = "FILE")]
        svg: Option<PathBuf>,
    },
    /// Write what is known of a game to a file.
    Export {
        #[command(flatten)]
        game: OfGame,
        /// The file. [default: SIGNATURE.json]
        #[arg(short, long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Take over a file of export, after checks.
    Import {
        /// The file; - is standard input.
        file: PathBuf,
        /// Replace training of more games by this.
        #[arg(long)]
        replace: bool,
        #[command(flatten)]
        memory: MemoryChoice,
    },
    /// Remove what is known of a game.
    Forget(OfGame),
}

#[derive(Args, Debug)]
struct OfGame {
    /// Path to a rulesheet, name of a game, or a signature of the list.
    game: String,
    #[command(flatten)]
    memory: MemoryChoice,
}

/// Where the memory is: the setting memory.path.
#[derive(Args, Debug)]
struct MemoryChoice {
    #[command(flatten)]
    settings: SettingsChoice,
}

impl MemoryChoice {
    fn settings(&self) -> anyhow::Result<Settings> {
        self.settings.load([])
    }

    fn open(&self) -> anyhow::Result<Store> {
        let settings = self.settings()?.memory;
        Ok(Store::open(&settings.path, settings.max_games, PATIENCE)?)
    }
}

impl OfGame {
    fn signature(&self) -> anyhow::Result<String> {
        let is_signature =
            self.game.len() == 32 && self.game.bytes().all(|byte| byte.is_ascii_hexdigit());
        match is_signature {
            true => Ok(self.game.to_ascii_lowercase()),
            false => Ok(signature_of(&self.memory.settings.game(&self.game)?)),
        }
    }
}

fn signature_of(game: &Game) -> String {
    signature::signature(&game.rules, signature::WORK).to_string()
}

pub(super) fn run(arguments: &MemoryArguments, output: Output) -> anyhow::Result<Outcome> {
    match &arguments.action {
        Action::List { memory } => list(memory, output)?,
        Action::Show { game, svg } => {
            let (signature, record) = read(game)?;
            if let Some(path) = svg {
                let progress = note(&record.notes, Kind::Training).and_then(Progress::from_note);
                let progress = progress
                    .ok_or_else(|| anyhow!("{} was not trained; see `panza train`", game.game))?;
                write_whole(path, &curve(&game.game, &progress))?;
            }
            show(&signature, &record.notes, record.matches.len(), output)?;
        }
        Action::Export { game, out } => {
            let (signature, record) = read(game)?;
            let path = out.clone();
            let path = path.unwrap_or_else(|| PathBuf::from(format!("{signature}.json")));
            let text = export(&signature, &record)?;
            write_whole(&path, &text)?;
            output.object(&json!({ "file": path, "signature": signature, "bytes": text.len() }))?;
            output.line(format_args!(
                "{} bytes in {}",
                grouped(text.len() as u64),
                path.display()
            ))?;
        }
        Action::Import {
            file,
            replace,
            memory,
        } => {
            let text = read_text(file, MOST_FILE_BYTES)?;
            let Imported { rules, notes } = import(&text)
                .map_err(|why| anyhow!("`{}` is not imported: {why}", shown_path(file)))?;
            let settings = memory.settings()?.memory;
            let (mut game, known) = GameMemory::open(&settings.path, settings.max_games, &rules)?;
            if let Some(known) = known.as_ref().filter(|_| !replace) {
                let (here, there) = (trained_games(&known.notes), trained_games(&notes));
                ensure!(
                    here <= there,
                    "the memory has training of {here} games, the file of {there}; \
                     use --replace to take it nevertheless"
                );
            }
            game.write(&notes)?;
            let n_matches = known.map_or(0, |known| known.matches.len());
            show(game.signature(), &notes, n_matches, output)?;
        }
        Action::Forget(game) => {
            let signature = game.signature()?;
            ensure!(game.memory.open()?.remove(&signature)?, unknown(&signature));
            output.object(&json!({ "signature": signature, "forgotten": true }))?;
            output.line(format_args!("{signature}: forgotten"))?;
        }
    }
    Ok(Outcome::Holds)
}

fn unknown(signature: &str) -> String {
    format!("nothing is known of the game {signature}; `panza memory list` shows what is known")
}

fn read(game: &OfGame) -> anyhow::Result<(String, GameRecord)> {
    let signature = game.signature()?;
    let record = game.memory.open()?.read(&signature)?;
    let record = record.with_context(|| unknown(&signature))?;
    Ok((signature, record))
}

fn note(notes: &[(Kind, Value)], kind: Kind) -> Option<&Value> {
    let found = notes.iter().find(|(other, _)| *other == kind);
    found.map(|(_, value)| value)
}

fn trained_games(notes: &[(Kind, Value)]) -> u64 {
    let note = note(notes, Kind::Training);
    note.and_then(|note| note["progress"]["games"].as_u64())
        .unwrap_or(0)
}

fn show(
    signature: &str,
    notes: &[(Kind, Value)],
    n_matches: usize,
    output: Output,
) -> anyhow::Result<()> {
    let progress = note(notes, Kind::Training).map(|note| &note["progress"]);
    let kinds: Vec<&str> = notes.iter().map(|(kind, _)| kind.name()).collect();
    let parameters = note(notes, Kind::Parameters).map(|note| &note["parameters"]);
    output.object(&json!({
        "signature": signature,
        "notes": kinds,
        "matches": n_matches,
        "parameters": parameters,
        "training": progress,
    }))?;
    let mut lines = vec![
        format!("signature  {signature}"),
        format!("notes      {}", kinds.join(", ")),
        format!("matches    {n_matches}"),
    ];
    if let Some(progress) = progress {
        lines.push(format!(
            "training   generation {}, {:+.0} Elo, {} games, {:.2} h",
            progress["generation"],
            progress["elo"].as_f64().unwrap_or(0.0),
            grouped(progress["games"].as_u64().unwrap_or(0)),
            progress["seconds"].as_f64().unwrap_or(0.0) / 3600.0
        ));
    }
    if let Some(parameters) = parameters {
        lines.push(format!("settings   {parameters}"));
    }
    output.line(lines.join("\n"))?;
    Ok(())
}

/// The names of the games with these signatures, where they are known.
fn names_of<'a>(
    signatures: impl Iterator<Item = &'a str>,
    of_settings: &[PathBuf],
) -> HashMap<String, String> {
    let mut nameless: HashSet<&str> = signatures.collect();
    let mut names = HashMap::new();
    for known in known_games(of_settings) {
        if nameless.is_empty() {
            break;
        }
        if let Ok((game, _)) = known.load() {
            let signature = signature_of(&game);
            if nameless.remove(signature.as_str()) {
                names.insert(signature, known.name);
            }
        }
    }
    names
}

fn list(memory: &MemoryChoice, output: Output) -> anyhow::Result<()> {
    let games = memory.open()?.list()?;
    let signatures = games.iter().map(|game| game.signature.as_str());
    let progress = spinner("looking up names");
    let names = names_of(signatures, &memory.settings()?.games.folders);
    progress.finish_and_clear();
    let mut rows = Vec::new();
    for game in &games {
        let name = names.get(&game.signature);
        let kinds: Vec<&str> = game.kinds.iter().map(|kind| kind.name()).collect();
        output.object(&json!({
            "signature": game.signature,
            "name": name,
            "matches": game.matches,
            "notes": kinds,
            "note_bytes": game.note_bytes,
            "last_seen": game.last_seen,
        }))?;
        rows.push(vec![
            game.signature.clone(),
            name.cloned().unwrap_or_default(),
            game.matches.to_string(),
            kinds.join(", "),
            grouped(game.note_bytes),
        ]);
    }
    let columns = [
        Column::text("signature"),
        Column::text("game"),
        Column::figure("matches"),
        Column::text("notes"),
        Column::figure("bytes"),
    ];
    if !rows.is_empty() {
        output.line(table(&columns, &rows))?;
    }
    output.line(counted(games.len() as u64, "game"))?;
    Ok(())
}
