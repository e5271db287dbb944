//! `panza check`: what there is to say about rulesheets.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use clap::Args;
use serde::Serialize;

use panza_cli::{Outcome, Output, Rulesheet, output};
use panza_gdl::span::line_and_column;
use panza_gdl::{Diagnostic, Id, RoleId, Rules, Severity, TermId};
use panza_prover::{Prover, ProverError};
use panza_sync::{Budget, Random};

/// Limits on grounding the rules. What it would show is left out beyond them.
const GROUNDING_TIME: Duration = Duration::from_secs(10);
const GROUNDING_BYTES: usize = 1 << 30;

/// Limits on random games, which are played only where the lists of facts and moves may leave some
/// out.
const MAX_STEPS: usize = 2000;
const PLAYING_TIME: Duration = Duration::from_secs(5);

#[derive(Args, Debug)]
pub struct CheckArguments {
    /// Paths to rulesheets, or names of games.
    #[arg(required = true, value_name = "GAME")]
    games: Vec<String>,
}

#[derive(Serialize)]
struct Report<'a> {
    game: &'a str,
    file: &'a str,
    errors: usize,
    warnings: usize,
    notes: usize,
    diagnostics: Vec<ShownDiagnostic<'a>>,
}

/// A diagnostic as scripts read it; lines and columns count from 1.
#[derive(Serialize)]
pub(super) struct ShownDiagnostic<'a> {
    severity: &'static str,
    code: &'static str,
    line: usize,
    column: usize,
    end_line: usize,
    end_column: usize,
    message: &'a str,
    help: &'a str,
}

/// Runs the command. Errors in any of the rulesheets make it [`Outcome::DoesNotHold`]; warnings and
/// notes do not.
pub fn run(arguments: &CheckArguments, output: Output) -> anyhow::Result<Outcome> {
    let mut outcome = Outcome::Holds;
    // All are looked up first, so that a wrong name is told before long output.
    let sheets = arguments.games.iter().map(|game| Rulesheet::find(game));
    let sheets: Vec<Rulesheet> = sheets.collect::<anyhow::Result<_>>()?;
    for sheet in &sheets {
        let (rules, mut diagnostics) = sheet.load();
        let budget = Budget::within(GROUNDING_TIME, GROUNDING_BYTES);
        let left_out = panza_ground::examine(&rules, &mut diagnostics, budget);
        if !left_out.is_empty() {
            let seen = come_up(&rules);
            diagnostics.extend(left_out.notes(|atom| seen.contains(atom)));
            diagnostics.sort_by_key(|diagnostic| diagnostic.span);
        }
        // What is wrong with the parentheses may cause the rest.
        diagnostics.sort_by_key(|diagnostic| !diagnostic.code.ends_with("-parenthesis"));
        let all = diagnostics.iter();
        let count = |severity| all.clone().filter(|d| d.severity == severity).count();
        let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
        let notes = count(Severity::Note);
        if errors > 0 {
            outcome = Outcome::DoesNotHold;
        }
        if output.is_json() {
            output.object(&Report {
                game: &sheet.name,
                file: &sheet.origin,
                errors,
                warnings,
                notes,
                diagnostics: diagnostics.iter().map(|d| shown(d, &sheet.text)).collect(),
            })?;
            continue;
        }
        for diagnostic in &diagnostics {
            let colour = output.has_colour();
            output.line(diagnostic.render(&sheet.origin, &sheet.text, colour))?;
            output.line("")?;
        }
        let mut counts = vec![counted(errors, "error"), counted(warnings, "warning")];
        counts.extend((notes > 0).then(|| counted(notes, "note")));
        output.line(format_args!("{}: {}", sheet.origin, counts.join(", ")))?;
    }
    Ok(outcome)
}

/// Facts and legal moves that come up in random games, as text.
fn come_up(rules: &Rules) -> HashSet<String> {
    let mut seen = HashSet::new();
    if let Err(error) = play(rules, &mut seen) {
        // What was seen before counts.
        tracing::debug!(%error, "random games end early");
    }
    seen
}

fn play(rules: &Rules, seen: &mut HashSet<String>) -> Result<(), ProverError> {
    let until = Instant::now() + PLAYING_TIME;
    let mut prover = Prover::new(rules)?;
    let roles: Vec<TermId> = prover.roles().to_vec();
    let mut random = Random::new(1);
    let mut state = prover.initial_state();
    for _ in 0..MAX_STEPS {
        if Instant::now() > until {
            break;
        }
        let facts = prover.facts(&state).iter();
        seen.extend(facts.map(|&fact| prover.show(fact)));
        if prover.is_terminal(&state)? {
            state = prover.initial_state();
            continue;
        }
        let mut joint_move = Vec::new();
        for (index, &role) in roles.iter().enumerate() {
            let moves = prover.legal_moves(&state, RoleId::from_index(index))?;
            let role = prover.show(role);
            let legal = |&mv: &TermId| format!("(legal {role} {})", prover.show(mv));
            seen.extend(moves.iter().map(legal));
            if !moves.is_empty() {
                joint_move.push(*random.choose(&moves));
            }
        }
        let is_stuck = joint_move.len() < roles.len();
        state = match is_stuck {
            true => prover.initial_state(),
            false => prover.next_state(&state, &joint_move)?,
        };
    }
    Ok(())
}

/// What scripts are told of a diagnostic in this text.
pub(super) fn shown<'a>(diagnostic: &'a Diagnostic, text: &str) -> ShownDiagnostic<'a> {
    let (line, column) = line_and_column(text, diagnostic.span.start);
    let (end_line, end_column) = line_and_column(text, diagnostic.span.end);
    ShownDiagnostic {
        severity: diagnostic.severity.as_str(),
        code: diagnostic.code,
        line,
        column,
        end_line,
        end_column,
        message: &diagnostic.message,
        help: &diagnostic.help,
    }
}

fn counted(count: usize, what: &str) -> String {
    match count {
        0 => format!("no {what}s"),
        _ => output::counted(count as u64, what),
    }
}
