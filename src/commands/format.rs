//! `panza format`: a rulesheet in one layout.
//!
//! Prints it, or with `--write` puts it in the place of the file. A file is replaced as a whole or
//! not at all, and only when the layout changes it.

use std::fs;
use std::io::Write;
use std::path::Path;

use anyhow::{Context, bail};
use clap::Args;
use serde::Serialize;

use super::check::{ShownDiagnostic, shown};
use panza_cli::{Outcome, Output, Rulesheet};
use panza_gdl::{Encoding, text};

#[derive(Args, Debug)]
pub struct FormatArguments {
    /// Path to a rulesheet, or the name of a game.
    game: String,
    /// Rewrite the file instead of printing.
    #[arg(long)]
    write: bool,
}

#[derive(Serialize)]
struct Report<'a> {
    file: &'a str,
    /// Whether the layout differs from the text as it was.
    changed: bool,
    written: bool,
    /// The layout, unless it was written to the file or there is none.
    text: Option<&'a str>,
    diagnostics: Vec<ShownDiagnostic<'a>>,
}

/// Runs the command. Parentheses that do not match make it [`Outcome::DoesNotHold`].
pub fn run(arguments: &FormatArguments, output: Output) -> anyhow::Result<Outcome> {
    let sheet = Rulesheet::find(&arguments.game)?;
    let target = match (arguments.write, &sheet.file) {
        (false, _) => None,
        (true, Some(file)) => Some(file),
        (true, None) => bail!(
            "`{}` is a copy inside the program or standard input, and cannot be rewritten; \
             expected the path of a file",
            arguments.game
        ),
    };
    let text = match sheet.dialect().format(&sheet.text) {
        Ok(text) => text,
        Err(faults) => {
            for fault in &faults {
                output.complain_of(fault, &sheet.origin, &sheet.text);
            }
            output.object(&Report {
                file: &sheet.origin,
                changed: false,
                written: false,
                text: None,
                diagnostics: faults.iter().map(|f| shown(f, &sheet.text)).collect(),
            })?;
            return Ok(Outcome::DoesNotHold);
        }
    };
    let changed = text != sheet.text || sheet.encoding != Encoding::Utf8;
    match target {
        Some(path) if changed => replace(path, &sheet, &text)?,
        Some(_) => {}
        None => output.text(&text)?,
    }
    if target.is_some() {
        let what = if changed { "rewritten" } else { "unchanged" };
        output.line(format_args!("{}: {what}", sheet.origin))?;
    }
    output.object(&Report {
        file: &sheet.origin,
        changed,
        written: changed && target.is_some(),
        text: target.is_none().then_some(&text),
        diagnostics: Vec::new(),
    })?;
    Ok(Outcome::Holds)
}

/// Puts a text in the place of a rulesheet's file: written beside it first, so that whoever reads
/// the file finds the old text or the new one.
fn replace(path: &Path, sheet: &Rulesheet, layout: &str) -> anyhow::Result<()> {
    let shown = &sheet.origin;
    // A link stays a link.
    let path = fs::canonicalize(path).with_context(|| format!("cannot find `{shown}`"))?;
    let before = fs::read(&path).with_context(|| format!("cannot read `{shown}`"))?;
    // Whether a text is Latin-1 is a guess.
    let is_guessed = matches!(sheet.encoding, Encoding::Latin1 { .. });
    if is_guessed || text::decode(&before).0 != sheet.text {
        bail!(
            "`{shown}` is not UTF-8, or was changed meanwhile; it is left as it is, so that nothing in it is lost"
        );
    }
    let write = || {
        let folder = path.parent().unwrap_or(Path::new("."));
        let mut beside = tempfile::NamedTempFile::new_in(folder)?;
        beside.write_all(layout.as_bytes())?;
        let permissions = fs::metadata(&path)?.permissions();
        beside.as_file().set_permissions(permissions)?;
        beside.as_file().sync_all()?;
        beside.persist(&path)?;
        anyhow::Ok(())
    };
    write().with_context(|| format!("cannot rewrite `{shown}`"))
}
