//! Pages of results: Markdown tables under notes on how they were made.
//!
//! Invariant: a page names no folder of this machine, as long as its cells name none.

use std::fmt::{self, Display, Write};
use std::fs;
use std::path::{Component, Path};
use std::process::Command;

use anyhow::{Context, bail};
use panza_cli::Output;
use panza_cli::output::grouped;
use panza_cli::provenance::{processor, today};

#[derive(Clone, PartialEq, Debug)]
pub struct Table {
    heads: Vec<String>,
    /// Columns of text; the others are figures, which are aligned to the right.
    text_columns: Vec<usize>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub fn new<S: Into<String>>(heads: impl IntoIterator<Item = S>) -> Self {
        Self {
            heads: heads.into_iter().map(Into::into).collect(),
            text_columns: vec![0],
            rows: Vec::new(),
        }
    }

    pub fn with_text_columns(mut self, columns: &[usize]) -> Self {
        self.text_columns = columns.to_vec();
        self
    }

    pub fn push(&mut self, cells: Vec<String>) {
        debug_assert_eq!(cells.len(), self.heads.len(), "{cells:?}");
        self.rows.push(cells);
    }
}

impl Display for Table {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut row = |cells: &[String]| {
            let cells = cells.iter().map(|cell| one_line(cell).replace('|', "\\|"));
            writeln!(out, "| {} |", cells.collect::<Vec<_>>().join(" | "))
        };
        row(&self.heads)?;
        let is_text = |column: usize| self.text_columns.contains(&column);
        let align = |column| if is_text(column) { "---" } else { "---:" }.to_string();
        row(&(0..self.heads.len()).map(align).collect::<Vec<_>>())?;
        self.rows.iter().try_for_each(|cells| row(cells))
    }
}

#[derive(Clone, PartialEq, Debug)]
pub struct Page {
    text: String,
}

impl Page {
    /// A page with a title, an introduction, and notes on how it is made: the command line, and the
    /// version, commit, date and processor as they are now.
    pub fn new(title: &str, about: &str) -> Self {
        let command = command_line(std::env::args().skip(1));
        let version = env!("CARGO_PKG_VERSION");
        let commit = commit().map_or(String::new(), |commit| format!(", commit {commit}"));
        let mut made = format!("Panza {version}{commit}");
        if cfg!(debug_assertions) {
            made.push_str(", a debug build, whose rates mean nothing");
        }
        let processor = processor().unwrap_or("unknown processor".to_string());
        Self {
            text: format!(
                "# {title}\n\n{about}\n\n- `{command}`\n- {made}, {}, {processor}\n",
                today()
            ),
        }
    }

    pub fn section(&mut self, heading: &str, about: &str, table: &Table) {
        let _ = write!(self.text, "\n## {heading}\n\n{about}\n\n{table}");
    }

    pub fn list(&mut self, items: &[String]) {
        for (index, item) in items.iter().enumerate() {
            let blank = if index == 0 { "\n" } else { "" };
            let _ = writeln!(self.text, "{blank}- {}", one_line(item));
        }
    }

    pub fn write(&self, out: Option<&Path>, output: Output) -> anyhow::Result<()> {
        match out {
            Some(path) => fs::write(path, &self.text)
                .with_context(|| format!("cannot write `{}`", path.display()))?,
            None => output.text(&self.text)?,
        }
        Ok(())
    }
}

/// Checks before long work that a page can be written there.
pub fn check_place(page: Option<&Path>) -> anyhow::Result<()> {
    let Some(page) = page else { return Ok(()) };
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

/// The command line without folders of this machine: of paths outside the working directory the
/// last part, of baselines the name.
fn command_line(arguments: impl Iterator<Item = String>) -> String {
    let mut line = "cargo lab".to_string();
    let mut is_baseline = false;
    for argument in arguments {
        let shown = match argument.split_once('=') {
            Some((name, _)) if is_baseline => format!("{name}=..."),
            _ => without_folders(&argument),
        };
        is_baseline = argument == "--baseline";
        let is_plain = |c: char| c.is_alphanumeric() || "-_./,=".contains(c);
        let _ = match !shown.is_empty() && shown.chars().all(is_plain) {
            true => write!(line, " {shown}"),
            false => write!(line, " '{shown}'"),
        };
    }
    line.replace('`', "'")
}

fn without_folders(argument: &str) -> String {
    let path = Path::new(argument);
    let is_normal = |component| matches!(component, Component::Normal(_));
    let is_inside = path.components().all(is_normal);
    match path.file_name() {
        Some(name) if !is_inside => name.to_string_lossy().into_owned(),
        _ => argument.to_string(),
    }
}

/// The commit of the source, when the working directory is the project's own.
fn commit() -> Option<String> {
    let manifest = fs::read_to_string("Cargo.toml").ok()?;
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

/// A value as a cell, a dash where there is none.
pub fn or_dash<T: Display>(value: Option<T>) -> String {
    value.map_or("-".to_string(), |value| value.to_string())
}

pub fn count(count: impl TryInto<u64>) -> String {
    grouped(count.try_into().unwrap_or(u64::MAX))
}

/// A measured quantity with three or more significant digits.
pub fn quantity(value: f64) -> String {
    match value {
        _ if value < 10.0 => format!("{value:.2}"),
        _ if value < 100.0 => format!("{value:.1}"),
        _ => grouped(value.round() as u64),
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_markdown() {
        let mut table = Table::new(["game", "rate", "fault"]).with_text_columns(&[0, 2]);
        table.push(vec!["a|b".into(), "1".into(), "two\nlines".into()]);
        assert_eq!(
            table.to_string(),
            "| game | rate | fault |\n| --- | ---: | --- |\n| a\\|b | 1 | two lines |\n"
        );
    }

    #[test]
    fn command_lines_name_no_folders() {
        let arguments = [
            "performance",
            "/home/me/my game.gdl",
            "../x/hex.kif",
            "--baseline",
            "RBG=/opt/rbg {rulesheet}",
            "--out",
            "docs/page.md",
            "",
        ];
        assert_eq!(
            command_line(arguments.iter().map(ToString::to_string)),
            "cargo lab performance 'my game.gdl' hex.kif --baseline RBG=... --out docs/page.md ''"
        );
    }

    #[test]
    fn quantities_have_significant_digits() {
        let shown = [0.256, 25.649, 256.49, 1_234_567.8].map(quantity);
        assert_eq!(shown, ["0.26", "25.6", "256", "1,234,568"]);
        assert_eq!(or_dash(None::<u32>), "-");
        assert_eq!(count(1000usize), "1,000");
    }
}
