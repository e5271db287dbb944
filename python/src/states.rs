//! `States`: a batch of states of one game, with arrays of numpy in and out.

use numpy::PyArrayMethods;
use panza_machine::{GameInfo, NO_GOAL};
use pyo3::exceptions::{PyIndexError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::arrays::{Array, Integers, fill, output};
use crate::batch::{Actions, Batch, Options, TERMINATED, TRUNCATED};
use crate::batch_error::BatchError;
use crate::game::{Game, rows};

/// A batch of states of one game.
///
/// Made by `Game.init`, `Game.from_facts` and `Game.from_packed`. Every array has the batch as its
/// first dimension. Arrays that are returned are copies, unless the caller supplies them as `out`.
#[pyclass(module = "panza_ggp")]
pub struct States {
    game: Py<Game>,
    /// The states.
    pub batch: Batch,
}

impl States {
    /// States of a game.
    pub fn new(game: &Bound<'_, Game>, batch: Batch) -> Self {
        Self {
            game: game.clone().unbind(),
            batch,
        }
    }

    fn with(&self, py: Python<'_>, batch: Batch) -> Self {
        Self {
            game: self.game.clone_ref(py),
            batch,
        }
    }

    fn row(&self, index: isize) -> PyResult<usize> {
        let n = self.batch.len();
        let row = if index < 0 { index + n as isize } else { index };
        let row = usize::try_from(row).ok().filter(|&row| row < n);
        row.ok_or_else(|| PyIndexError::new_err(format!("state {index} of {n}")))
    }

    fn flags<'py>(&self, py: Python<'py>, flag: u8) -> PyResult<Array<'py, bool>> {
        let array = output::<bool>(py, None, &[self.batch.len()])?;
        fill(&array, |out| {
            let flags = self.batch.flags.iter();
            out.iter_mut()
                .zip(flags)
                .for_each(|(out, flags)| *out = flags & flag != 0);
        })?;
        Ok(array)
    }
}

#[pymethods]
impl States {
    /// The game.
    #[getter]
    fn game(&self, py: Python<'_>) -> Py<Game> {
        self.game.clone_ref(py)
    }

    fn __len__(&self) -> usize {
        self.batch.len()
    }

    /// (batch,) int16: the role that moves. -1: several roles choose at once, or every role has a
    /// single move. -2: the game is over.
    #[getter]
    fn current_player<'py>(&self, py: Python<'py>) -> PyResult<Array<'py, i16>> {
        let array = output::<i16>(py, None, &[self.batch.len()])?;
        fill(&array, |out| out.copy_from_slice(&self.batch.player))?;
        Ok(array)
    }

    /// (batch, roles, moves) bool: whether each action is legal. All are false once a game is over.
    #[getter]
    fn legal_action_mask<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.masks(py, false, None)
    }

    /// The same as `legal_action_mask`, into `out` if it is given.
    ///
    /// With `packed` the result is (batch, roles, ceil(moves / 8)) uint8; the lowest bit of a byte
    /// is the first action, as of `numpy.unpackbits(..., bitorder="little")`.
    #[pyo3(signature = (*, packed=false, out=None))]
    fn masks<'py>(
        &self,
        py: Python<'py>,
        packed: bool,
        out: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let core = &self.batch.core;
        let (n, n_roles) = (self.batch.len(), core.sizes.n_roles);
        if packed {
            let shape = [n, n_roles, core.max_moves.div_ceil(8).max(1)];
            let array = output::<u8>(py, out, &shape)?;
            fill(&array, |out| self.batch.write_packed_masks(out))?;
            return Ok(array.into_any());
        }
        let array = output::<bool>(py, out, &[n, n_roles, core.max_moves.max(1)])?;
        fill(&array, |out| self.batch.write_masks(out))?;
        Ok(array.into_any())
    }

    /// (batch, roles) float32: the goals over 100 where the last step ended a game, else 0.
    #[getter]
    fn rewards<'py>(&self, py: Python<'py>) -> PyResult<Array<'py, f32>> {
        let shape = [self.batch.len(), self.batch.core.sizes.n_roles];
        let array = output::<f32>(py, None, &shape)?;
        fill(&array, |out| self.batch.write_rewards(out))?;
        Ok(array)
    }

    /// (batch, roles) int16: the goals of the last end, 0 to 100; -1 where there is none.
    #[getter]
    fn goals<'py>(&self, py: Python<'py>) -> PyResult<Array<'py, i16>> {
        let shape = [self.batch.len(), self.batch.core.sizes.n_roles];
        let array = output::<i16>(py, None, &shape)?;
        fill(&array, |out| {
            for (out, &goal) in out.iter_mut().zip(&self.batch.goals) {
                *out = if goal == NO_GOAL { -1 } else { i16::from(goal) };
            }
        })?;
        Ok(array)
    }

    /// (batch,) bool: whether the rules ended the game, in the last step or before.
    #[getter]
    fn terminated<'py>(&self, py: Python<'py>) -> PyResult<Array<'py, bool>> {
        self.flags(py, TERMINATED)
    }

    /// (batch,) bool: whether the game was cut off: by `max_steps`, or since a role has no move.
    #[getter]
    fn truncated<'py>(&self, py: Python<'py>) -> PyResult<Array<'py, bool>> {
        self.flags(py, TRUNCATED)
    }

    /// (batch,) uint32: joint moves made since each game began.
    #[getter]
    fn steps<'py>(&self, py: Python<'py>) -> PyResult<Array<'py, u32>> {
        let array = output::<u32>(py, None, &[self.batch.len()])?;
        fill(&array, |out| out.copy_from_slice(&self.batch.steps))?;
        Ok(array)
    }

    /// (batch, words) uint64: the states, a bit for each fact of `Game.facts`.
    #[getter]
    fn packed<'py>(&self, py: Python<'py>) -> PyResult<Array<'py, u64>> {
        let shape = [self.batch.len(), self.batch.core.sizes.state_words];
        let array = output::<u64>(py, None, &shape)?;
        fill(&array, |out| out.copy_from_slice(&self.batch.states))?;
        Ok(array)
    }

    /// (batch,) uint64: a number for each state, the same for equal states.
    #[getter]
    fn hashes<'py>(&self, py: Python<'py>) -> PyResult<Array<'py, u64>> {
        let array = output::<u64>(py, None, &[self.batch.len()])?;
        fill(&array, |out| {
            for (row, out) in out.iter_mut().enumerate() {
                *out = self.batch.hash_of(row);
            }
        })?;
        Ok(array)
    }

    /// Bytes of memory that the batch takes.
    #[getter]
    fn nbytes(&self) -> usize {
        self.batch.len() * Batch::row_bytes(&self.batch.core)
    }

    /// Make a step in every state whose game is not over.
    ///
    /// `actions` is (batch, roles), or (batch,) for the player to move; the other roles then make
    /// their only move. -1 stands for the only legal move. Actions of games that are over are
    /// ignored. Raises `IllegalActionError` and changes nothing if an action is not legal. With
    /// `where`, (batch,) bool, only these states make a step.
    #[pyo3(signature = (actions, *, r#where=None))]
    fn step(
        &mut self,
        py: Python<'_>,
        actions: &Bound<'_, PyAny>,
        r#where: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let (n, n_roles) = (self.batch.len(), self.batch.core.sizes.n_roles);
        let actions = Integers::read("actions", actions)?;
        let is_joint = match actions.shape() {
            [rows, roles] if *rows == n && *roles == n_roles => true,
            [rows] if *rows == n => false,
            shape => {
                return Err(PyValueError::new_err(format!(
                    "actions: expected shape ({n}, {n_roles}) or ({n},), found {shape:?}"
                )));
            }
        };
        let held = match r#where {
            None => None,
            Some(steps) => {
                let array = output::<bool>(py, Some(steps), &[n])?;
                let array = array.readonly();
                Some(
                    array
                        .as_slice()?
                        .iter()
                        .map(|steps| !steps)
                        .collect::<Vec<bool>>(),
                )
            }
        };
        let held = held.as_deref();
        match actions {
            Integers::Narrow(array) => {
                let array = array.readonly();
                step(py, &mut self.batch, array.as_slice()?, is_joint, held)
            }
            Integers::Wide(array) => {
                let array = array.readonly();
                step(py, &mut self.batch, array.as_slice()?, is_joint, held)
            }
        }
    }

    /// (batch, roles) int32: a legal action for each role, drawn uniformly; -1 in games that are
    /// over. The same seed and the same calls give the same actions.
    #[pyo3(signature = (*, out=None))]
    fn random_actions<'py>(
        &mut self,
        py: Python<'py>,
        out: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Array<'py, i32>> {
        let shape = [self.batch.len(), self.batch.core.sizes.n_roles];
        let array = output::<i32>(py, out, &shape)?;
        let batch = &mut self.batch;
        fill(&array, |out| batch.random_actions(out))?;
        Ok(array)
    }

    /// Begin new games: in all states, or in those of `rows` (a mask, integers or a slice).
    #[pyo3(signature = (rows=None))]
    fn reset(&mut self, rows: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let n = self.batch.len();
        match rows {
            None => (0..n).for_each(|row| self.batch.set_initial(row)),
            Some(index) => {
                let chosen = self::rows(index, n)?;
                chosen
                    .into_iter()
                    .for_each(|row| self.batch.set_initial(row));
            }
        }
        Ok(())
    }

    /// Observations, into `out` if it is given.
    ///
    /// (batch, facts) bool: whether each fact of `Game.facts` holds. With `planes`, (batch, planes,
    /// lines, columns) bool, as `Game.planes` describes them.
    #[pyo3(signature = (*, planes=false, out=None))]
    fn observation<'py>(
        &self,
        py: Python<'py>,
        planes: bool,
        out: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Array<'py, bool>> {
        let n = self.batch.len();
        if !planes {
            let shape = [n, self.batch.core.info.facts.len().max(1)];
            let array = output::<bool>(py, out, &shape)?;
            fill(&array, |out| self.batch.write_facts(out))?;
            return Ok(array);
        }
        let planes = py.detach(|| self.batch.core.planes())?;
        let [n_planes, lines, columns] = planes.shape;
        let array = output::<bool>(py, out, &[n, n_planes, lines, columns])?;
        let n_words = self.batch.core.sizes.state_words;
        fill(&array, |out| planes.write(&self.batch.states, n_words, out))?;
        Ok(array)
    }

    /// The facts that hold in a state, sorted.
    fn facts(&self, index: isize) -> PyResult<Vec<String>> {
        let row = self.row(index)?;
        Ok(self.batch.core.info.state_facts(self.batch.state(row)))
    }

    /// The texts of the legal moves of a role in a state.
    fn legal_moves(&self, index: isize, role: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
        let row = self.row(index)?;
        let role = self.game.bind(role.py()).get().role_of(role)?;
        let core = &self.batch.core;
        let moves = &core.roles[role];
        let legal = self.batch.legal(row);
        let moves = (0..moves.count(legal)).filter_map(|nth| moves.nth(legal, nth));
        let first = core.roles[role].range.start;
        let texts = moves.filter_map(|mv| core.move_text(role, mv.0 - first));
        Ok(texts.map(str::to_string).collect())
    }

    /// A batch of its own with the same states.
    fn copy(&self, py: Python<'_>) -> PyResult<Self> {
        let every: Vec<usize> = (0..self.batch.len()).collect();
        let batch = py.detach(|| self.batch.select(&every))?;
        Ok(self.with(py, batch))
    }

    fn __copy__(&self, py: Python<'_>) -> PyResult<Self> {
        self.copy(py)
    }

    fn __deepcopy__(&self, py: Python<'_>, _memo: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.copy(py)
    }

    /// The states of a slice, of integers or of a mask, as a batch of its own.
    fn __getitem__(&self, index: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = index.py();
        let chosen = rows(index, self.batch.len())?;
        let batch = py.detach(|| self.batch.select(&chosen))?;
        Ok(self.with(py, batch))
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        let Ok(other) = other.cast::<Self>().map(Bound::borrow) else {
            return false;
        };
        self.batch.core.info.facts == other.batch.core.info.facts
            && self.batch.states == other.batch.states
            && self.batch.steps == other.batch.steps
            && self.batch.flags == other.batch.flags
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        let game = self.game.bind(py).repr();
        let game = game.map_or_else(|_| String::new(), |text| text.to_string());
        format!("<States: {} of {game}>", self.batch.len())
    }

    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let py = slf.py();
        let states = slf.borrow();
        let batch = &states.batch;
        let make = py.import("panza_ggp._native")?.getattr("_states_again")?;
        let Options {
            seed,
            auto_reset,
            max_steps,
            threads,
        } = batch.options;
        let bytes = |bytes: &[u8]| PyBytes::new(py, bytes);
        let words = |words: &[u64]| {
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            PyBytes::new(py, &bytes)
        };
        let steps: Vec<u8> = batch
            .steps
            .iter()
            .flat_map(|steps| steps.to_le_bytes())
            .collect();
        let arguments = (
            states.game.clone_ref(py),
            (seed, auto_reset, max_steps, threads, batch.draws),
            words(&batch.states),
            bytes(&batch.goals),
            bytes(&batch.flags),
            bytes(&steps),
        );
        Ok((make, arguments.into_pyobject(py)?))
    }
}

fn step<A: crate::batch::ActionNumber>(
    py: Python<'_>,
    batch: &mut Batch,
    actions: &[A],
    is_joint: bool,
    held: Option<&[bool]>,
) -> PyResult<()> {
    let actions = match is_joint {
        true => Actions::OfRoles(actions),
        false => Actions::OfPlayer(actions),
    };
    // Below, releasing the lock costs more than it gives others.
    const SMALL: usize = 16;
    let result: Result<(), BatchError> = match batch.len() <= SMALL {
        true => batch.step(actions, held),
        false => py.detach(|| batch.step(actions, held)),
    };
    Ok(result?)
}

/// Makes a batch that was pickled.
#[pyfunction]
#[pyo3(name = "_states_again")]
pub fn states_again(
    game: &Bound<'_, Game>,
    options: (u64, bool, u32, usize, u64),
    states: &[u8],
    goals: &[u8],
    flags: &[u8],
    steps: &[u8],
) -> PyResult<States> {
    let core = &game.get().core;
    let (seed, auto_reset, max_steps, threads, draws) = options;
    let options = Options {
        seed,
        auto_reset,
        max_steps,
        threads: threads.clamp(1, 256),
    };
    let words = states
        .chunks_exact(8)
        .map(|word| u64::from_le_bytes(word.try_into().unwrap_or([0; 8])));
    let words: Vec<u64> = words.collect();
    let mut batch = Batch::of_states(core, &words, options)?;
    let n = batch.len();
    let is_whole = words.len() == n * core.sizes.state_words
        && goals.len() == batch.goals.len()
        && flags.len() == n
        && steps.len() == 4 * n;
    if !is_whole {
        return Err(PyValueError::new_err("a pickled batch is of another game"));
    }
    for (row, steps) in steps.chunks_exact(4).enumerate() {
        batch.steps[row] = u32::from_le_bytes(steps.try_into().unwrap_or([0; 4]));
        if flags[row] & TRUNCATED != 0 && !auto_reset {
            batch.end(row);
        }
    }
    batch.goals.copy_from_slice(goals);
    batch.flags.copy_from_slice(flags);
    batch.draws = draws;
    Ok(States::new(game, batch))
}

/// One batch of the states of several of the same game, with the options of the first.
#[pyfunction]
pub fn concatenate(py: Python<'_>, batches: &Bound<'_, PyAny>) -> PyResult<States> {
    let mut whole: Option<States> = None;
    for item in batches.try_iter()? {
        let item = item?;
        let Ok(states) = item.cast::<States>().map(Bound::borrow) else {
            let found = item.get_type().name()?;
            return Err(PyTypeError::new_err(format!(
                "expected batches of states, found {found}"
            )));
        };
        let Some(whole) = &mut whole else {
            whole = Some(states.copy(py)?);
            continue;
        };
        if !std::sync::Arc::ptr_eq(&whole.batch.core, &states.batch.core)
            && !whole.game.get().is_same(states.game.get())
        {
            return Err(PyValueError::new_err("the batches are of different games"));
        }
        whole.batch.append(&states.batch)?;
    }
    whole.ok_or_else(|| PyValueError::new_err("expected at least one batch"))
}
