//! The methods of `Game`: names, batches, and jobs.

use std::sync::Arc;

use pyo3::exceptions::{PyIndexError, PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use numpy::{PyArrayMethods, PyUntypedArrayMethods};

use crate::batch::{Batch, Options};
use crate::batch_error::BatchError;
use crate::calls::{self, Evaluation, SearchArguments};
use crate::core::Core;
use crate::game::{Game, MAX_STEPS, PyDiagnostic};
use crate::interrupt::interruptible;
use crate::jobs;
use crate::states::States;

#[pymethods]
impl Game {
    /// The dialect of the rulesheet: `"kif"` or `"hrf"`.
    #[getter]
    fn dialect(&self) -> &'static str {
        self.dialect.name()
    }

    /// The names of the roles, in the order of all arrays.
    #[getter]
    fn roles(&self) -> Vec<String> {
        self.core.info.roles.as_slice().to_vec()
    }

    /// For each role, by its number or its name, the texts of its moves; an action is an index of
    /// this list.
    #[getter]
    fn moves<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let roles = 0..self.n_roles();
        let of_role = |role: usize| {
            let moves = 0..self.core.roles[role].len() as u32;
            let texts = moves.filter_map(|action| self.core.move_text(role, action));
            texts.map(str::to_string).collect::<Vec<_>>()
        };
        let moves: Vec<_> = roles.map(of_role).collect();
        let by_role = py.import("panza_ggp.by_role")?.getattr("ByRole")?;
        by_role.call1((moves, self.roles()))
    }

    /// The facts that the bits of an observation stand for.
    #[getter]
    fn facts(&self) -> Vec<String> {
        self.core.info.facts.as_slice().to_vec()
    }

    /// The number of roles.
    #[getter]
    fn n_roles(&self) -> usize {
        self.core.sizes.n_roles
    }

    /// The most moves of a role: the last dimension of masks.
    #[getter]
    fn n_moves(&self) -> usize {
        self.core.max_moves
    }

    /// The number of facts: the last dimension of observations.
    #[getter]
    fn n_facts(&self) -> usize {
        self.core.info.facts.len()
    }

    /// The index of the role that draws its moves at random, or None.
    #[getter]
    fn chance_role(&self) -> Option<usize> {
        self.core.chance
    }

    /// Bytes of one state of a batch: its facts, its legal moves, and what else is kept.
    #[getter]
    fn bytes_per_state(&self) -> usize {
        Batch::row_bytes(&self.core)
    }

    /// Bytes of the facts of one state alone.
    #[getter]
    fn packed_bytes(&self) -> usize {
        8 * self.core.sizes.state_words
    }

    /// The faults that the rules were loaded in spite of.
    #[getter]
    fn diagnostics(&self) -> Vec<PyDiagnostic> {
        let faults = self.faults.iter();
        faults
            .map(|fault| PyDiagnostic::new(fault, &self.text))
            .collect()
    }

    /// What each plane of `States.observation(planes=True)` shows: a board with one content, or a
    /// fact that is on no board.
    #[getter]
    fn planes(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let planes = py.detach(|| self.core.planes())?;
        Ok(planes.names.clone())
    }

    /// The text of an action of a role.
    fn move_text(&self, role: &Bound<'_, PyAny>, action: u32) -> PyResult<String> {
        let role = self.role_of(role)?;
        let text = self.core.move_text(role, action).map(str::to_string);
        text.ok_or_else(|| {
            PyIndexError::new_err(format!(
                "action {action} of a role with {} moves",
                self.core.roles[role].len()
            ))
        })
    }

    /// The action of a role with this text.
    fn action(&self, role: &Bound<'_, PyAny>, text: &str) -> PyResult<u32> {
        let role = self.role_of(role)?;
        let action = self.core.action_of(role, text);
        action.ok_or_else(|| {
            let name = &self.core.info.roles.as_slice()[role];
            PyKeyError::new_err(format!("the role `{name}` has no move `{text}`"))
        })
    }

    /// A batch of `batch` initial states.
    ///
    /// With `auto_reset` a state whose game ends is replaced by the initial state in the same
    /// step; its rewards and flags tell of the game that ended. `max_steps` truncates longer
    /// games. `threads` share the work of each step.
    #[pyo3(signature = (batch=1, *, seed=0, auto_reset=false, max_steps=MAX_STEPS, threads=1))]
    fn init(
        slf: &Bound<'_, Self>,
        batch: usize,
        seed: u64,
        auto_reset: bool,
        max_steps: u32,
        threads: usize,
    ) -> PyResult<States> {
        let options = options(seed, auto_reset, max_steps, threads)?;
        states(slf, |core| Batch::initial(core, batch, options))
    }

    /// A batch of states given by lists of facts, one list for each state.
    #[pyo3(signature = (facts, *, seed=0, auto_reset=false, max_steps=MAX_STEPS, threads=1))]
    fn from_facts(
        slf: &Bound<'_, Self>,
        facts: Vec<Vec<String>>,
        seed: u64,
        auto_reset: bool,
        max_steps: u32,
        threads: usize,
    ) -> PyResult<States> {
        let options = options(seed, auto_reset, max_steps, threads)?;
        let core = &slf.get().core;
        let mut states = Vec::new();
        for (index, facts) in facts.iter().enumerate() {
            let state = core.state_from_facts(facts);
            let wrong = |error| PyValueError::new_err(format!("state {index}: {error}"));
            states.extend(state.map_err(wrong)?);
        }
        self::states(slf, |core| Batch::of_states(core, &states, options))
    }

    /// A batch of states given by their words: `(batch, words)` of uint64, as `States.packed`.
    #[pyo3(signature = (packed, *, seed=0, auto_reset=false, max_steps=MAX_STEPS, threads=1))]
    fn from_packed(
        slf: &Bound<'_, Self>,
        packed: &Bound<'_, PyAny>,
        seed: u64,
        auto_reset: bool,
        max_steps: u32,
        threads: usize,
    ) -> PyResult<States> {
        let options = options(seed, auto_reset, max_steps, threads)?;
        let core = &slf.get().core;
        let words = core.sizes.state_words;
        let wrong = |found: String| {
            PyValueError::new_err(format!(
                "packed: expected a C-contiguous uint64 array of shape (batch, {words}), found \
                 {found}"
            ))
        };
        let Ok(array) = packed.cast::<numpy::PyArray2<u64>>() else {
            return Err(wrong(packed.get_type().name()?.to_string()));
        };
        if array.shape()[1] != words || !array.is_c_contiguous() {
            return Err(wrong(format!("shape {:?}", array.shape())));
        }
        let states = array.readonly().as_slice()?.to_vec();
        let unused = 64 * words - core.info.facts.len();
        let mask = u64::MAX.checked_shl(64 - unused as u32).unwrap_or(0);
        if states
            .chunks_exact(words)
            .any(|state| state[words - 1] & mask != 0)
        {
            return Err(wrong("bits beyond the last fact".to_string()));
        }
        self::states(slf, |core| Batch::of_states(core, &states, options))
    }

    /// The faults of the rules, and what random games show.
    ///
    /// `games` random games of at most `max_steps` steps are played. The result is a dict:
    /// `diagnostics`, `games`, `terminated`, `stuck` (a role had no legal move), `cut_off`,
    /// `undefined_goals` and `longest`.
    #[pyo3(signature = (games=256, *, max_steps=1000, seed=1))]
    fn check<'py>(
        &self,
        py: Python<'py>,
        games: usize,
        max_steps: u32,
        seed: u64,
    ) -> PyResult<Bound<'py, PyDict>> {
        let core = &self.core;
        let found = interruptible(py, |stop| {
            jobs::check_games(core, games, max_steps, seed, stop)
        })??;
        let result = PyDict::new(py);
        result.set_item("diagnostics", self.diagnostics())?;
        result.set_item("games", games)?;
        result.set_item("terminated", found.terminated)?;
        result.set_item("stuck", found.stuck)?;
        result.set_item("cut_off", found.cut_off)?;
        result.set_item("undefined_goals", found.undefined_goals)?;
        result.set_item("longest", found.longest)?;
        Ok(result)
    }

    /// Sizes of the game as a dict, and how long the load took.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let core = &self.core;
        let result = PyDict::new(py);
        result.set_item("roles", self.n_roles())?;
        let moves: Vec<usize> = core.roles.iter().map(|moves| moves.len()).collect();
        result.set_item("moves", moves)?;
        result.set_item("facts", self.n_facts())?;
        result.set_item("ground_rules", core.built.ground_rules)?;
        result.set_item("gates", core.built.gates[0])?;
        result.set_item("gates_optimised", core.built.gates[1])?;
        result.set_item("load_seconds", core.built.load_time.as_secs_f64())?;
        result.set_item("engine", py.detach(|| core.engine()))?;
        result.set_item("packed_bytes", self.packed_bytes())?;
        result.set_item("bytes_per_state", self.bytes_per_state())?;
        Ok(result)
    }

    /// Play `games` uniformly random games from each state, or from the initial one.
    ///
    /// The result is a dict: `goals` (batch, roles) float32, the mean goals, 0 to 100; `lengths`
    /// (batch,) float32, the mean steps; `cut_off` (batch,) uint32, games cut off at `max_steps`.
    #[pyo3(signature = (states=None, games=1, *, max_steps=MAX_STEPS, seed=0, threads=1))]
    fn rollouts<'py>(
        slf: &Bound<'py, Self>,
        states: Option<&Bound<'py, States>>,
        games: u32,
        max_steps: u32,
        seed: u64,
        threads: usize,
    ) -> PyResult<Bound<'py, PyDict>> {
        let threads = crate::game::threads(threads)?;
        let asked = jobs::rollouts::Rollouts {
            games,
            max_steps,
            seed,
            threads,
        };
        calls::rollouts(slf, states, asked)
    }

    /// Search a state for `ms` milliseconds or `iterations`.
    ///
    /// `method` is `"tree"`, Monte Carlo tree search with proofs; `"alpha-beta"`, a search by depth
    /// of games of two roles in turns whose goals have a fixed sum (ValueError for others); or
    /// `"auto"`, the method of the evaluation, and the tree without one. For alpha-beta an
    /// iteration is a node of each thread, and `exploration` and `evaluation_share` do not matter.
    /// Its values are those of an evaluation of `study(..., method="alpha-beta")` or `"auto"`;
    /// without one only ends of games count.
    ///
    /// `state` is a batch of one state, or None for the initial one; `role` is needed where no
    /// single role moves. With one thread, a seed and `iterations` the result is always the same.
    ///
    /// The result is a dict: `method`, `role`, `action` and `move` to play, `value` (0 to 100; None
    /// before a depth is searched) and `proven` goal or None; for each legal move, the most visited
    /// first, `actions`, `moves`, `visits`, `values` (NaN: none yet) and `proofs` (-1: none);
    /// `strategy`, probabilities where several roles choose at once, else None; `line`, the joint
    /// moves of the most visited line; `iterations`, `playouts`, `nodes`, `depth`.
    ///
    /// Of alpha-beta, the best move is the first, `visits` are nodes, `line` is that of the best
    /// move, and `depth` is the last one searched in full; for the tree it is the longest descent.
    /// `selective_depth` is the longest line that was searched. `lines` are up to three dicts with
    /// `move`, `value`, `is_bound` and `line`; for the tree, and where the other role chooses, one.
    /// Values of other moves than the best are upper bounds where `is_bound`.
    #[pyo3(signature = (state=None, *, role=None, ms=None, iterations=None, threads=1, seed=0,
        exploration=0.4, memory=1 << 30, evaluation=None, evaluation_share=None, method="tree"))]
    #[expect(clippy::too_many_arguments, reason = "they have names in Python")]
    fn search<'py>(
        slf: &Bound<'py, Self>,
        state: Option<&Bound<'py, States>>,
        role: Option<&Bound<'py, PyAny>>,
        ms: Option<f64>,
        iterations: Option<u64>,
        threads: usize,
        seed: u64,
        exploration: f32,
        memory: usize,
        evaluation: Option<&Bound<'py, Evaluation>>,
        evaluation_share: Option<f32>,
        method: &str,
    ) -> PyResult<Bound<'py, PyDict>> {
        let method = calls::method(method)?;
        let arguments = SearchArguments {
            method,
            state,
            role,
            ms,
            iterations,
            threads,
            seed,
            exploration,
            memory,
            evaluation,
            evaluation_share,
        };
        calls::search(slf, &arguments)
    }

    /// Solve a state: prove the goal of each role under best play, or find the best plan of a game
    /// of one role, within `seconds`.
    ///
    /// The result is a dict: `goals`, for each role its proven goal or None, and `is_best`, whether
    /// all are proven; for one role also `goal`, `plan` (texts of moves, or None) and `bound`, a
    /// goal that no plan exceeds; for several `lines`, for each role the most visited line.
    #[pyo3(signature = (state=None, *, seconds=10.0, threads=1, seed=0, memory=1 << 30))]
    fn solve<'py>(
        slf: &Bound<'py, Self>,
        state: Option<&Bound<'py, States>>,
        seconds: f64,
        threads: usize,
        seed: u64,
        memory: usize,
    ) -> PyResult<Bound<'py, PyDict>> {
        let arguments = SearchArguments {
            state,
            threads,
            seed,
            memory,
            ..SearchArguments::default()
        };
        calls::solve(slf, &arguments, seconds)
    }

    /// What random games and the rules show, within about `seconds`, as a dict: `games`, `turns`
    /// (one, alternating, varying, simultaneous), `length` and `branching` with mean, least,
    /// quartiles and greatest, `fixed_length`, `fixed_sum`, `draws`, `roles`, `symmetries` and
    /// `factors`.
    #[pyo3(signature = (*, seconds=1.0, seed=1))]
    fn analyse<'py>(
        slf: &Bound<'py, Self>,
        seconds: f64,
        seed: u64,
    ) -> PyResult<Bound<'py, PyDict>> {
        calls::analyse(slf, seconds, seed)
    }

    /// Train an evaluation by self-play for `seconds`. It gives values, and a search may use it.
    ///
    /// With `method="alpha-beta"`, half of the time trains for a search by depth (ValueError where
    /// that does not apply). With `"auto"` a part of the time is for games of both searches, and
    /// `Evaluation.method` is the stronger one; where alpha-beta does not apply it is the tree.
    #[pyo3(signature = (seconds, *, threads=1, seed=0, method="tree"))]
    fn study(
        slf: &Bound<'_, Self>,
        seconds: f64,
        threads: usize,
        seed: u64,
        method: &str,
    ) -> PyResult<Evaluation> {
        let method = calls::method(method)?;
        calls::study(slf, seconds, method, (threads, seed))
    }

    /// Games that searches of `iterations` play against each other, for training.
    ///
    /// The first `drawn_moves` moves of a game are drawn by visits, the others are the best. The
    /// result is a dict of arrays with a row for each decision: `observations` (n, facts) bool,
    /// `packed` (n, words) uint64, `roles` (n,) int16, `actions` (n,) int32, `policies` (n, moves)
    /// float32, shares of visits; `values` (n,) float32, what the search expected for the role, 0
    /// to 100; `goals` (n, roles) float32, how the game ended (NaN: cut off); `games` (n,) uint32.
    #[pyo3(signature = (games, *, iterations=200, drawn_moves=10, max_steps=MAX_STEPS, threads=1,
        seed=0, exploration=0.4, memory=1 << 26, evaluation=None, evaluation_share=None))]
    #[expect(clippy::too_many_arguments, reason = "they have names in Python")]
    fn self_play<'py>(
        slf: &Bound<'py, Self>,
        games: usize,
        iterations: u64,
        drawn_moves: u32,
        max_steps: u32,
        threads: usize,
        seed: u64,
        exploration: f32,
        memory: usize,
        evaluation: Option<&Bound<'py, Evaluation>>,
        evaluation_share: Option<f32>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let arguments = SearchArguments {
            iterations: Some(iterations),
            threads,
            seed,
            exploration,
            memory,
            evaluation,
            evaluation_share,
            ..SearchArguments::default()
        };
        calls::self_play(slf, &arguments, games, drawn_moves, max_steps)
    }

    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let py = slf.py();
        let game = slf.get();
        let make = py.import("panza_ggp._native")?.getattr("_load_again")?;
        let dialect = game.dialect.name();
        let arguments = (&game.name, &game.text, game.seconds, game.memory, dialect);
        Ok((make, arguments.into_pyobject(py)?))
    }

    // A game never changes, so a copy is the same.
    fn __copy__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __deepcopy__<'py>(slf: Bound<'py, Self>, _memo: &Bound<'py, PyAny>) -> Bound<'py, Self> {
        slf
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other
            .cast::<Self>()
            .is_ok_and(|other| self.is_same(other.get()))
    }

    fn __hash__(&self) -> u64 {
        let bytes = self.text.bytes();
        bytes.fold(0, |hash, byte| crate::batch::mix(hash ^ u64::from(byte)))
    }

    fn __repr__(&self) -> String {
        let name = if self.name.is_empty() {
            "from text"
        } else {
            &self.name
        };
        format!(
            "<Game {name}: {} roles, up to {} moves, {} facts>",
            self.n_roles(),
            self.n_moves(),
            self.n_facts()
        )
    }
}

/// The options of a batch.
fn options(seed: u64, auto_reset: bool, max_steps: u32, threads: usize) -> PyResult<Options> {
    Ok(Options {
        seed,
        auto_reset,
        max_steps,
        threads: crate::game::threads(threads)?,
    })
}

/// States of a game, from a batch that is made without the interpreter's lock.
fn states(
    game: &Bound<'_, Game>,
    make: impl FnOnce(&Arc<Core>) -> Result<Batch, BatchError> + Send,
) -> PyResult<States> {
    let core = &game.get().core;
    let batch = game.py().detach(|| make(core))?;
    Ok(States::new(game, batch))
}
