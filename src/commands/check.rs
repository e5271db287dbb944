//! `panza check`: what there is to say about rulesheets, by their text and by playing them.

use std::time::Duration;

use clap::Args;
use serde::Serialize;

use panza_cli::{Outcome, Output, Rulesheet, output};
use panza_game::Evidence;
use panza_game::trial::{self, Finding};
use panza_gdl::span::line_and_column;
use panza_gdl::{Diagnostic, Rules, Severity, Span, strict};
use panza_hrf::Dialect;
use panza_sync::Budget;

/// Time for building and playing a game.
const PLAY_TIME: Duration = Duration::from_millis(800);
/// Memory for building it.
const PLAY_BYTES: usize = 1 << 30;
/// Limits on grounding the rules. What it would show is left out beyond them.
const GROUNDING_TIME: Duration = Duration::from_secs(10);
const GROUNDING_BYTES: usize = 1 << 30;

#[derive(Args, Debug)]
pub struct CheckArguments {
    /// Paths to rulesheets, or names of games.
    #[arg(required = true, value_name = "GAME")]
    games: Vec<String>,
    /// Look at the text alone and play no random games.
    #[arg(long)]
    no_play: bool,
    /// Name as errors what the validator of ggp-base, the reference server, refuses
    /// (gdl-validation 0.2.2).
    #[arg(long)]
    strict: bool,
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
    /// A position that shows it, as one list of facts.
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<String>,
    /// The joint moves that lead there.
    #[serde(skip_serializing_if = "Option::is_none")]
    moves: Option<&'a [Vec<String>]>,
}

/// Runs the command. Errors in any of the rulesheets make it [`Outcome::DoesNotHold`]; warnings and
/// notes do not.
pub fn run(arguments: &CheckArguments, output: Output) -> anyhow::Result<Outcome> {
    let mut outcome = Outcome::Holds;
    // All are looked up first, so that a wrong name is told before long output.
    let sheets = arguments.games.iter().map(|game| Rulesheet::find(game));
    let sheets: Vec<Rulesheet> = sheets.collect::<anyhow::Result<_>>()?;
    for sheet in &sheets {
        let findings = findings(sheet, arguments);
        let of = |severity| {
            let all = findings.iter();
            all.filter(|it| it.diagnostic.severity == severity).count()
        };
        let (errors, warnings) = (of(Severity::Error), of(Severity::Warning));
        let notes = of(Severity::Note);
        if errors > 0 {
            outcome = Outcome::DoesNotHold;
        }
        if output.is_json() {
            let diagnostics = findings.iter().map(|it| shown_finding(it, &sheet.text));
            output.object(&Report {
                game: &sheet.name,
                file: &sheet.origin,
                errors,
                warnings,
                notes,
                diagnostics: diagnostics.collect(),
            })?;
            continue;
        }
        for finding in &findings {
            output.diagnostic(&finding.diagnostic, &sheet.origin, &sheet.text)?;
            if let Some(evidence) = &finding.evidence {
                output.line(format_args!("  state: {}", evidence.state_line()))?;
                if !evidence.moves.is_empty() {
                    output.line(format_args!("  moves: {}", evidence.moves_line()))?;
                }
            }
            output.line("")?;
        }
        let mut counts = vec![counted(errors, "error"), counted(warnings, "warning")];
        counts.extend((notes > 0).then(|| counted(notes, "note")));
        output.line(format_args!("{}: {}", sheet.origin, counts.join(", ")))?;
    }
    Ok(outcome)
}

/// What is found in the text and, where it has no errors, by playing.
fn findings(sheet: &Rulesheet, arguments: &CheckArguments) -> Vec<Finding> {
    let (rules, mut diagnostics) = sheet.load();
    let budget = Budget::within(GROUNDING_TIME, GROUNDING_BYTES);
    panza_ground::examine(&rules, &mut diagnostics, &budget);
    // What is wrong with the parentheses may cause the rest.
    diagnostics.sort_by_key(|diagnostic| !diagnostic.code.ends_with("-parenthesis"));
    let is_playable = diagnostics.iter().all(|it| it.severity != Severity::Error);
    if arguments.strict {
        diagnostics.extend(refusals(sheet, &rules));
    }
    let of_text = diagnostics.into_iter().map(|diagnostic| Finding {
        diagnostic,
        evidence: None,
    });
    let mut findings: Vec<Finding> = of_text.collect();
    if !arguments.no_play && is_playable {
        let budget = Budget::within(PLAY_TIME, PLAY_BYTES);
        match trial::try_out(&rules, &budget) {
            Ok(trial) => findings.extend(trial.findings),
            Err(why) => tracing::warn!(game = sheet.name, "no random games: {why}"),
        }
    }
    findings
}

/// What the validator of ggp-base refuses. It reads KIF: of rules in HRF the translation.
fn refusals(sheet: &Rulesheet, rules: &Rules) -> Vec<Diagnostic> {
    let of = |text: &str| strict::refusals(&panza_gdl::sexpr::parse(text).0);
    if sheet.dialect() == Dialect::Kif {
        return of(&sheet.text);
    }
    let mut found = of(&panza_gdl::format::rulesheet(rules));
    let places = found.iter_mut().map(|fault| &mut fault.span);
    places.for_each(|place| *place = Span::default());
    found
}

/// A finding in this text, as an object of the JSON output.
fn shown_finding<'a>(finding: &'a Finding, text: &str) -> ShownDiagnostic<'a> {
    let evidence = finding.evidence.as_ref();
    ShownDiagnostic {
        state: evidence.map(Evidence::state_line),
        moves: evidence.map(|it| &it.moves[..]),
        ..shown(&finding.diagnostic, text)
    }
}

/// A diagnostic in this text, as an object of the JSON output.
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
        state: None,
        moves: None,
    }
}

fn counted(count: usize, what: &str) -> String {
    match count {
        0 => format!("no {what}s"),
        _ => output::counted(count as u64, what),
    }
}
