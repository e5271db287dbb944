//! `Game`: rules that were loaded; its methods are in `game_methods`.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use panza_gdl::span::line_and_column;
use panza_gdl::{Diagnostic, Severity};
use panza_hrf::Dialect;
use panza_sync::Budget;
use pyo3::exceptions::{PyFileNotFoundError, PyIndexError, PyKeyError, PyOSError, PyValueError};
use pyo3::prelude::*;

use crate::arrays::Integers;
use crate::core::Core;
use crate::errors::{GameTooLargeError, GdlError};
use crate::interrupt::interruptible;
use numpy::{PyArrayMethods, PyUntypedArrayMethods};

/// The rulesheets inside the package: name and text, sorted by name.
pub const EMBEDDED: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/embedded_games.rs"));

/// Bytes of a rulesheet that is read from a file, at most.
const MAX_FILE_BYTES: u64 = 64 << 20;
/// Warnings that are given of one rulesheet, at most.
const MAX_WARNINGS: usize = 20;
/// Steps after which a game is truncated, unless the caller says otherwise.
pub const MAX_STEPS: u32 = 10_000;

/// A fault in a rulesheet.
#[pyclass(frozen, get_all, module = "panza_ggp", name = "Diagnostic")]
pub struct PyDiagnostic {
    /// `error` or `warning`.
    severity: &'static str,
    /// A stable name in kebab case, such as `unsafe-variable`.
    code: &'static str,
    /// The line, counted from 1.
    line: usize,
    /// The column, counted from 1.
    column: usize,
    /// What was found and what was expected, in one sentence.
    message: String,
    /// How to mend it; may be empty.
    help: String,
}

#[pymethods]
impl PyDiagnostic {
    fn __str__(&self) -> String {
        let Self {
            severity,
            code,
            line,
            column,
            message,
            ..
        } = self;
        format!("{line}:{column}: {severity}[{code}]: {message}")
    }

    fn __repr__(&self) -> String {
        format!("<Diagnostic {}>", self.__str__())
    }
}

impl PyDiagnostic {
    /// The diagnostic of a text.
    pub fn new(fault: &Diagnostic, text: &str) -> Self {
        let (line, column) = line_and_column(text, fault.span.start);
        Self {
            severity: fault.severity.as_str(),
            code: fault.code,
            line,
            column,
            message: fault.message.clone(),
            help: fault.help.clone(),
        }
    }
}

/// A game. Made by `load`.
#[pyclass(frozen, module = "panza_ggp")]
pub struct Game {
    /// The compiled game.
    pub core: Arc<Core>,
    /// Its name, or the path it came from.
    #[pyo3(get)]
    pub name: String,
    /// The rulesheet.
    #[pyo3(get)]
    pub text: String,
    /// The dialect of the text.
    pub dialect: Dialect,
    /// The faults of the rules.
    pub faults: Vec<Diagnostic>,
    /// The seconds that were given to `load`.
    pub seconds: f64,
    /// The bytes that were given to `load`.
    pub memory: usize,
}

/// Rules: their name, the name of their file, and their text.
struct Source {
    name: String,
    file: String,
    text: String,
}

/// Where rules come from.
fn source(source: &Bound<'_, PyAny>) -> PyResult<Source> {
    let py = source.py();
    let given = match source.extract::<String>() {
        Ok(text) => text,
        Err(_) => py
            .import("os")?
            .call_method1("fspath", (source,))?
            .extract()?,
    };
    if let Some((name, text)) = EMBEDDED.iter().find(|(name, _)| *name == given) {
        return Ok(Source {
            name: (*name).to_string(),
            file: String::new(),
            text: (*text).to_string(),
        });
    }
    if given.contains('(') {
        return Ok(Source {
            name: String::new(),
            file: String::new(),
            text: given,
        });
    }
    let path = Path::new(&given);
    let size = match std::fs::metadata(path) {
        Ok(found) if found.is_file() => found.len(),
        _ => {
            let names: Vec<&str> = EMBEDDED.iter().map(|(name, _)| *name).collect();
            return Err(PyFileNotFoundError::new_err(format!(
                "`{given}` is no file, no rules, and none of the games inside: {}",
                names.join(", ")
            )));
        }
    };
    if size > MAX_FILE_BYTES {
        return Err(PyValueError::new_err(format!("`{given}` has {size} bytes")));
    }
    let bytes = std::fs::read(path)
        .map_err(|error| PyOSError::new_err(format!("`{given}` cannot be read: {error}")))?;
    let name = path
        .file_stem()
        .map_or(given.clone(), |stem| stem.to_string_lossy().into_owned());
    Ok(Source {
        name,
        text: panza_gdl::text::decode(&bytes).0.into_owned(),
        file: given,
    })
}

/// The dialect that a caller names.
fn named_dialect(name: &str) -> PyResult<Dialect> {
    let mut known = [Dialect::Kif, Dialect::Hrf].into_iter();
    let wrong = || PyValueError::new_err(format!("dialect: expected kif or hrf, found {name}"));
    known.find(|known| known.name() == name).ok_or_else(wrong)
}

/// A time in seconds of a caller.
///
/// # Errors
/// It is no positive number, or too large.
pub fn duration(name: &str, seconds: f64) -> PyResult<Duration> {
    let wrong = || format!("{name}: expected a number above 0 and below 1e9, found {seconds}");
    if !(seconds > 0.0 && seconds < 1e9) {
        return Err(PyValueError::new_err(wrong()));
    }
    Ok(Duration::from_secs_f64(seconds))
}

/// The number of threads of a caller.
///
/// # Errors
/// None, or too many.
pub fn threads(threads: usize) -> PyResult<usize> {
    if !(1..=256).contains(&threads) {
        let text = format!("threads: expected 1 to 256, found {threads}");
        return Err(PyValueError::new_err(text));
    }
    Ok(threads)
}

/// Load a game.
///
/// `rules` is the name of a game inside the package (see `games()`), the path of a rulesheet, or
/// the text of one. `dialect` is `"kif"` or `"hrf"`; without it the ending of the file and the text
/// say in which of the two the rules are written. Facts and moves are terms of KIF in both.
///
/// Raises `GdlError` if the rules have faults, with `diagnostics`: each has a line and a column.
/// With `strict=False` it is only raised where nothing playable is left. What else there is to say
/// about rules becomes a warning each. Raises `GameTooLargeError` if the rules do not become a
/// network within `seconds` and `memory` bytes.
///
/// >>> g = panza_ggp.load("ticTacToe")
/// >>> g.roles
/// ['xplayer', 'oplayer']
#[pyfunction]
#[pyo3(signature = (rules, *, dialect=None, strict=true, seconds=60.0, memory=4 << 30))]
pub fn load(
    py: Python<'_>,
    rules: &Bound<'_, PyAny>,
    dialect: Option<&str>,
    strict: bool,
    seconds: f64,
    memory: usize,
) -> PyResult<Game> {
    let Source { name, file, text } = source(rules)?;
    let dialect = dialect.map(named_dialect).transpose()?;
    let dialect = dialect.unwrap_or_else(|| Dialect::of(&file, &text));
    let time = duration("seconds", seconds)?;
    let (rules, faults) = py.detach(|| {
        let (rules, mut faults) = dialect.load(&text);
        panza_game::examine(&rules, &mut faults, &Budget::within(time, memory));
        (rules, faults)
    });
    let has_errors = faults.iter().any(|fault| fault.severity == Severity::Error);
    if !panza_gdl::is_playable(&rules, &faults) || strict && has_errors {
        return Err(gdl_error(py, &text, &faults)?);
    }
    let core = interruptible(py, |stop| Core::new(rules, (time, memory), stop))?;
    let core = match core {
        Ok(core) => core,
        Err(_) if has_errors => return Err(gdl_error(py, &text, &faults)?),
        Err(error) => {
            let text = format!("the rules do not become a network: {error}");
            return Err(GameTooLargeError::new_err(text));
        }
    };
    let warnings = py.import("warnings")?;
    for fault in faults.iter().take(MAX_WARNINGS) {
        warnings.call_method1("warn", (PyDiagnostic::new(fault, &text).__str__(),))?;
    }
    Ok(Game {
        core: Arc::new(core),
        name,
        text,
        dialect,
        faults,
        seconds,
        memory,
    })
}

fn gdl_error(py: Python<'_>, text: &str, faults: &[Diagnostic]) -> PyResult<PyErr> {
    let diagnostics: Vec<PyDiagnostic> = faults
        .iter()
        .map(|fault| PyDiagnostic::new(fault, text))
        .collect();
    let mut lines: Vec<String> = diagnostics.iter().map(PyDiagnostic::__str__).collect();
    const SHOWN: usize = 10;
    if lines.len() > SHOWN {
        let left = format!("and {} more", lines.len() - SHOWN);
        lines.truncate(SHOWN);
        lines.push(left);
    }
    if lines.is_empty() {
        lines.push("the text has no role, or no move".to_string());
    }
    let error = GdlError::new_err(lines.join("\n"));
    let value = error.value(py);
    let main = panza_gdl::main_error(faults).map(|fault| PyDiagnostic::new(fault, text));
    if let Some(first) = main.as_ref().or(diagnostics.first()) {
        value.setattr("line", first.line)?;
        value.setattr("column", first.column)?;
    }
    let diagnostics = diagnostics.into_iter().map(|one| Py::new(py, one));
    value.setattr("diagnostics", diagnostics.collect::<PyResult<Vec<_>>>()?)?;
    Ok(error)
}

/// The names of the games inside the package.
#[pyfunction]
pub fn games() -> Vec<&'static str> {
    EMBEDDED.iter().map(|(name, _)| *name).collect()
}

impl Game {
    /// Whether another game has the same rules.
    pub fn is_same(&self, other: &Self) -> bool {
        self.text == other.text && self.dialect == other.dialect
    }

    /// A role given by its number or its name.
    pub fn role_of(&self, role: &Bound<'_, PyAny>) -> PyResult<usize> {
        let roles = self.core.info.roles.as_slice();
        if let Ok(name) = role.extract::<String>() {
            let found = roles.iter().position(|role| *role == name);
            let wrong = || PyKeyError::new_err(format!("no role `{name}` in {roles:?}"));
            return found.ok_or_else(wrong);
        }
        let index: usize = role.extract()?;
        if index >= roles.len() {
            let text = format!("role {index} of a game with {} roles", roles.len());
            return Err(PyIndexError::new_err(text));
        }
        Ok(index)
    }
}

/// Loads a game that was pickled.
#[pyfunction]
#[pyo3(name = "_load_again")]
pub fn load_again(
    py: Python<'_>,
    name: String,
    text: &Bound<'_, PyAny>,
    seconds: f64,
    memory: usize,
    dialect: &str,
) -> PyResult<Game> {
    let game = load(py, text, Some(dialect), false, seconds, memory)?;
    Ok(Game { name, ..game })
}

/// The rows that a caller names: a slice, an integer, integers or a mask.
pub fn rows(index: &Bound<'_, PyAny>, n: usize) -> PyResult<Vec<usize>> {
    if let Ok(slice) = index.cast::<pyo3::types::PySlice>() {
        let found = slice.indices(n as isize)?;
        let rows = (0..found.slicelength as isize).map(|at| found.start + at * found.step);
        return Ok(rows.map(|row| row as usize).collect());
    }
    if let Ok(mask) = index.cast::<numpy::PyArray1<bool>>() {
        if mask.len() != n {
            let text = format!("expected a mask of {n} states, found {}", mask.len());
            return Err(PyIndexError::new_err(text));
        }
        let mask = mask.readonly();
        let mask = mask.as_array();
        let rows = mask.iter().enumerate().filter(|(_, is_on)| **is_on);
        return Ok(rows.map(|(row, _)| row).collect());
    }
    let of = |row: i64| {
        let row_number = if row < 0 { row + n as i64 } else { row };
        match usize::try_from(row_number).ok().filter(|&row| row < n) {
            Some(row) => Ok(row),
            None => Err(PyIndexError::new_err(format!("state {row} of {n}"))),
        }
    };
    if let Ok(row) = index.extract::<i64>() {
        return Ok(vec![of(row)?]);
    }
    match Integers::read("index", index)? {
        Integers::Narrow(array) => {
            let array = array.readonly();
            array
                .as_slice()?
                .iter()
                .map(|&row| of(i64::from(row)))
                .collect()
        }
        Integers::Wide(array) => array
            .readonly()
            .as_slice()?
            .iter()
            .map(|&row| of(row))
            .collect(),
    }
}
