//! `cargo lab hostile`: hostile rulesheets, each sent as START and opened as a table.
//!
//! Each time the server is a process of its own with the default settings. The match is aborted,
//! or the table closed, after [`HELD`]; what the process holds [`REST`] later is compared with what
//! it held before.

mod sheets;

use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use clap::Args;
use panza_cli::{Outcome, Output};
use serde::Serialize;
use serde_json::{Value, json};

use crate::messages::client::{Connection, post, post_to};
use crate::page::Table;
use crate::server::{Server, program};
use sheets::Sheet;

/// From START to ABORT, and from the opening of a table to its end.
const HELD: Duration = Duration::from_secs(3);
/// From ABORT until the process is looked at.
const REST: Duration = Duration::from_secs(1);
/// More or fewer threads than before that are no fault.
const MORE_THREADS: usize = 2;
/// More resident memory than before that is no fault, in MiB.
const MORE_MIB: f64 = 50.0;
const MATCH: &str = "hostile";

#[derive(Args, Debug)]
pub struct HostileArguments {
    /// The sheet of this seed; can be repeated. [default: those of fifty seeds, from 0]
    #[arg(long, value_name = "N")]
    seed: Vec<u64>,
    /// Write the sheets, and send nothing.
    #[arg(long)]
    print: bool,
    /// Limit the address space of the server.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1024))]
    address_space_gib: Option<u64>,
    /// The program `panza`. [default: the one beside this program]
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,
}

/// How a sheet is sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
enum Way {
    Start,
    Table,
}

/// What a sheet did to a server.
#[derive(Serialize)]
struct Line {
    seed: u64,
    parts: String,
    way: Way,
    bytes: usize,
    /// The answer to START, or to the opening of the table.
    answer: String,
    /// The answer to ABORT, or to the end of the table.
    end: String,
    peak_mib: f64,
    /// Before, and [`REST`] after the end.
    memory_mib: [f64; 2],
    threads: [usize; 2],
    /// What should not have been.
    faults: Vec<String>,
}

/// Runs the command. It is [`Outcome::DoesNotHold`] when a server ended or panicked, did not
/// answer, or held more after a sheet than before.
pub fn run(arguments: &HostileArguments, output: Output) -> anyhow::Result<Outcome> {
    let program = match arguments.print {
        true => PathBuf::new(),
        false => program(arguments.program.as_deref())?,
    };
    let seeds = match arguments.seed.as_slice() {
        [] => (0..sheets::SEEDS).collect(),
        seeds => seeds.to_vec(),
    };
    let mut table = Table::new([
        "seed",
        "parts",
        "way",
        "bytes",
        "answer",
        "peak, MiB",
        "MiB",
        "threads",
        "faults",
    ]);
    table = table.with_text_columns(&[1, 2, 4, 8]);
    let mut holds = true;
    for seed in seeds {
        let sheet = sheets::sheet(seed);
        if arguments.print {
            output.text(&sheet.rules)?;
            continue;
        }
        for way in [Way::Start, Way::Table] {
            let line = send(&program, seed, &sheet, way, arguments.address_space_gib)?;
            holds &= line.faults.is_empty();
            output.object(&line)?;
            if !line.faults.is_empty() {
                output.complaint(format_args!(
                    "seed {seed} ({}) as {way:?}: {}",
                    line.parts,
                    line.faults.join("; ")
                ));
            }
            table.push(line.cells());
        }
    }
    if !arguments.print {
        output.text(&table.to_string())?;
    }
    Ok(Outcome::holds_if(holds))
}

impl Line {
    fn cells(&self) -> Vec<String> {
        vec![
            self.seed.to_string(),
            self.parts.clone(),
            format!("{:?}", self.way).to_lowercase(),
            self.bytes.to_string(),
            self.answer.chars().take(60).collect(),
            format!("{:.0}", self.peak_mib),
            format!("{:.0} to {:.0}", self.memory_mib[0], self.memory_mib[1]),
            format!("{} to {}", self.threads[0], self.threads[1]),
            self.faults.join("; "),
        ]
    }
}

/// Sends a sheet to a new server, ends the match or the table, and looks at the process.
fn send(
    program: &Path,
    seed: u64,
    sheet: &Sheet,
    way: Way,
    address_space_gib: Option<u64>,
) -> anyhow::Result<Line> {
    let folder = tempfile::tempdir()?;
    let settings = ["logs.level=error".to_string()];
    let mut server = Server::start(program, folder.path(), &settings)?;
    if let Some(gib) = address_space_gib {
        server.limit_address_space(gib << 30)?;
    }
    // The first request makes what the server needs for any.
    let mut faults = Vec::new();
    let asked = ask(&server, &post(b"( INFO )", false));
    faults.extend(asked.err().map(|error| format!("INFO before: {error}")));
    let before = server.figures()?;
    let (answer, end) = match way {
        Way::Start => as_match(&server, sheet),
        Way::Table => as_table(&server, sheet),
    };
    thread::sleep(REST);
    let mut line = Line {
        seed,
        parts: sheet.parts.clone(),
        way,
        bytes: sheet.rules.len(),
        answer: shown(&answer, &mut faults, "the sheet"),
        end: shown(&end, &mut faults, "its end"),
        peak_mib: 0.0,
        memory_mib: [before.memory_mib, 0.0],
        threads: [before.threads, 0],
        faults,
    };
    match (server.ended(), server.figures()) {
        (None, Ok(after)) => {
            line.peak_mib = after.peak_mib;
            line.memory_mib[1] = after.memory_mib;
            line.threads[1] = after.threads;
            if after.threads.abs_diff(before.threads) > MORE_THREADS {
                line.faults.push(format!(
                    "{} threads, {} before",
                    after.threads, before.threads
                ));
            }
            if after.memory_mib > before.memory_mib + MORE_MIB {
                let (after, before) = (after.memory_mib, before.memory_mib);
                line.faults
                    .push(format!("{after:.0} MiB, {before:.0} before"));
            }
            if let Err(error) = ask(&server, &post(b"( INFO )", false)) {
                line.faults.push(format!("INFO after: {error}"));
            }
        }
        (status, _) => {
            let how = status.map_or("an unknown status".to_string(), |it| it.to_string());
            line.faults.push(format!("the server ended with {how}"));
            line.faults.extend(server.reason());
        }
    }
    let panics = server.panics()?;
    line.faults.extend(panics.into_iter().take(3));
    Ok(line)
}

type Answer = std::io::Result<(u16, String)>;

/// An answer, which may come after its time but must come.
fn shown(answer: &Answer, faults: &mut Vec<String>, what: &str) -> String {
    match answer {
        Ok((status, text)) => {
            let start: String = text.trim().chars().take(200).collect();
            format!("{status} {start}")
        }
        Err(error) => {
            faults.push(format!("no answer to {what}: {error}"));
            "none".to_string()
        }
    }
}

fn ask(server: &Server, request: &[u8]) -> Answer {
    let mut connection = Connection::new(server.address)?;
    // A server may refuse before all is sent.
    let written = connection.write(request);
    connection
        .answer_text()
        .or_else(|error| written.and(Err(error)))
}

/// START, and ABORT while its answer is awaited.
fn as_match(server: &Server, sheet: &Sheet) -> (Answer, Answer) {
    let start = format!(
        "( START {MATCH} {} (\n{}\n) 60 10 )",
        sheet.role, sheet.rules
    );
    thread::scope(|scope| {
        let starting = scope.spawn(|| ask(server, &post(start.as_bytes(), false)));
        thread::sleep(HELD);
        let end = ask(
            server,
            &post(format!("( ABORT {MATCH} )").as_bytes(), false),
        );
        let answer = starting.join();
        let panicked = |_| Err(std::io::Error::other("the sender panicked"));
        (answer.unwrap_or_else(panicked), end)
    })
}

/// Opens a table as the page does, and closes it.
fn as_table(server: &Server, sheet: &Sheet) -> (Answer, Answer) {
    let opening = json!({ "name": "hostile", "rules": sheet.rules, "people": "first" });
    let tables = "/api/tables";
    let answer = ask(server, &post_to(tables, opening.to_string().as_bytes()));
    let table = answer.as_ref().ok().and_then(|(_, text)| {
        let object: Value = serde_json::from_str(text).ok()?;
        Some(object["table"].as_str()?.to_string())
    });
    let Some(table) = table else {
        // Refused: there is nothing to close.
        return (answer, Ok((200, String::new())));
    };
    thread::sleep(HELD);
    let order = json!({ "do": "close" }).to_string();
    let end = ask(
        server,
        &post_to(&format!("{tables}/{table}"), order.as_bytes()),
    );
    (answer, end)
}
