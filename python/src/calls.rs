//! Jobs as Python sees them: arguments, and results as dicts of arrays.

use std::sync::Arc;
use std::time::Duration;

use numpy::{IntoPyArray, PyArray1, PyArrayMethods};
use panza_gdl::MoveId;
use panza_learning::Evaluation as Network;
use panza_machine::GameInfo;
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::batch::{Batch, Options};
use crate::core::{Core, NOBODY, OVER};
use crate::errors::GameTooLargeError;
use crate::game::{Game, MAX_STEPS, duration};
use crate::interrupt::interruptible;
use crate::jobs;
use crate::jobs::search::{SearchOptions, search as jobs_search};
use crate::states::States;
use panza_game::BuiltGame;
use panza_learning::Learned;
use panza_metagame::Preparation;
use panza_search::{Method, Parameter, SearchConfig, SearchReport, WhyTree};

/// The method of this name.
pub fn method(name: &str) -> PyResult<Method> {
    Method::find(name).ok_or_else(|| {
        let names = Method::ALL.map(|method| format!("\"{}\"", method.name()));
        let names = names.join(", ");
        PyValueError::new_err(format!("method: expected one of {names}, found \"{name}\""))
    })
}

/// A learned evaluation of a game. Made by `Game.study`.
#[pyclass(frozen, module = "panza_ggp")]
pub struct Evaluation {
    facts: Arc<[String]>,
    /// The network.
    pub network: Arc<Network>,
    /// The weight against playouts that predicts results best, 0 to 1.
    #[pyo3(get)]
    pub share: f32,
    /// The training games.
    #[pyo3(get)]
    games: usize,
    /// The mean number of joint moves of a training game.
    #[pyo3(get)]
    mean_length: f64,
    /// The correlation of its values with results of games outside the training set.
    #[pyo3(get)]
    correlation: f64,
    /// The same of playouts, without their noise.
    #[pyo3(get)]
    correlation_of_playouts: f64,
    /// The positions that these were measured on.
    #[pyo3(get)]
    positions: usize,
    /// The settings of searches that a study of both has found.
    learned: Option<Box<SearchConfig>>,
    /// The search that suits it.
    suited: Method,
}

impl Evaluation {
    /// What training gave.
    pub fn new(core: &Core, learned: Learned) -> Self {
        Self {
            facts: core.info.facts.as_slice().into(),
            network: Arc::new(learned.evaluation),
            share: learned.validation.share.clamp(0.0, 1.0) as f32,
            games: learned.games,
            mean_length: learned.mean_length,
            correlation: learned.validation.evaluation,
            correlation_of_playouts: learned.validation.playouts,
            positions: learned.validation.positions,
            learned: None,
            suited: Method::Tree,
        }
    }

    /// What a study of both searches gave, with this method. `None` where it trained nothing.
    fn of_study(core: &Core, study: Preparation, method: Method) -> Option<Self> {
        let by = |method| {
            study.apply(&SearchConfig {
                method,
                ..SearchConfig::deterministic(0)
            })
        };
        let suited = by(method).suited();
        // Alpha-beta keeps its values where the tree suits better: a caller may ask for it.
        let learned = by(match method {
            Method::Auto => Method::AlphaBeta,
            method => method,
        });
        Some(Self {
            facts: core.info.facts.as_slice().into(),
            share: study.validation.share.clamp(0.0, 1.0) as f32,
            games: study.games,
            mean_length: study.mean_length,
            correlation: study.validation.evaluation,
            correlation_of_playouts: study.validation.playouts,
            positions: study.validation.positions,
            learned: Some(Box::new(learned)),
            suited,
            network: study.evaluation?,
        })
    }

    /// The search that plays with it where this method is asked for: the tree or alpha-beta.
    fn method_of(&self, asked: Method) -> Method {
        match asked {
            Method::Auto => self.suited,
            asked => asked,
        }
    }

    fn fits(&self, core: &Core) -> PyResult<()> {
        match *self.facts == *core.info.facts.as_slice() {
            true => Ok(()),
            false => Err(PyValueError::new_err("the evaluation is of another game")),
        }
    }
}

#[pymethods]
impl Evaluation {
    /// The search that suits it: `"tree"` or `"alpha-beta"`.
    #[getter]
    fn method(&self) -> &'static str {
        self.suited.name()
    }

    /// (batch, roles) float32: the goal of each role that is expected, 0 to 100.
    fn values<'py>(
        &self,
        py: Python<'py>,
        states: &Bound<'py, States>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let states = states.borrow();
        let batch = &states.batch;
        self.fits(&batch.core)?;
        let n_roles = batch.core.sizes.n_roles;
        let values = py.detach(|| {
            let mut values = vec![0.0; batch.len() * n_roles];
            for (row, values) in values.chunks_exact_mut(n_roles).enumerate() {
                self.network.values(batch.state(row), values);
            }
            values
        });
        shaped(py, values, &[batch.len(), n_roles])
    }

    fn __repr__(&self) -> String {
        let Self {
            games, correlation, ..
        } = self;
        format!("<Evaluation: {games} training games, correlation {correlation:.2}>")
    }
}

/// An array of a shape from its elements.
pub fn shaped<'py, T: numpy::Element>(
    py: Python<'py>,
    elements: Vec<T>,
    shape: &[usize],
) -> PyResult<Bound<'py, PyAny>> {
    let array: Bound<'py, PyArray1<T>> = elements.into_pyarray(py);
    Ok(array.reshape(numpy::IxDyn(shape))?.into_any())
}

/// The game as a search wants it.
pub fn full(py: Python<'_>, core: &Arc<Core>) -> PyResult<BuiltGame> {
    let game = interruptible(py, |stop| core.full(stop))?;
    game.map_err(|error| GameTooLargeError::new_err(format!("the game was not built: {error}")))
}

/// The only state of a batch, or the initial one. The rules must not have ended the game.
fn single(core: &Arc<Core>, state: Option<&Bound<'_, States>>) -> PyResult<Batch> {
    let options = Options {
        seed: 0,
        auto_reset: false,
        max_steps: MAX_STEPS,
        threads: 1,
    };
    let batch = match state {
        None => Batch::initial(core, 1, options)?,
        Some(states) => {
            let states = states.borrow();
            if states.batch.core.info.facts != core.info.facts {
                return Err(PyValueError::new_err("the state is of another game"));
            }
            if states.batch.len() != 1 {
                let n = states.batch.len();
                let text = format!("expected one state such as states[0], found {n}");
                return Err(PyValueError::new_err(text));
            }
            states.batch.select(&[0])?
        }
    };
    match batch.is_over(0) {
        true => Err(PyValueError::new_err("the game is over in this state")),
        false => Ok(batch),
    }
}

/// The arguments of searches.
#[derive(Clone, Copy)]
pub struct SearchArguments<'a, 'py> {
    /// The position; `None` for the initial one.
    pub state: Option<&'a Bound<'py, States>>,
    /// The role; `None` for the player to move.
    pub role: Option<&'a Bound<'py, PyAny>>,
    /// The time in milliseconds.
    pub ms: Option<f64>,
    /// Iterations.
    pub iterations: Option<u64>,
    /// Threads.
    pub threads: usize,
    /// Seed.
    pub seed: u64,
    /// Weight of exploration.
    pub exploration: f32,
    /// Bytes.
    pub memory: usize,
    /// A learned evaluation.
    pub evaluation: Option<&'a Bound<'py, Evaluation>>,
    /// Its weight.
    pub evaluation_share: Option<f32>,
    /// Which search it is.
    pub method: Method,
}

impl Default for SearchArguments<'_, '_> {
    fn default() -> Self {
        Self {
            state: None,
            role: None,
            ms: None,
            iterations: None,
            threads: 1,
            seed: 0,
            exploration: 0.4,
            memory: 1 << 30,
            evaluation: None,
            evaluation_share: None,
            method: Method::Tree,
        }
    }
}

impl SearchArguments<'_, '_> {
    /// The search to use: the tree or alpha-beta.
    fn method(&self) -> Method {
        match (self.method, self.evaluation) {
            (Method::Auto, Some(evaluation)) => evaluation.get().method_of(Method::Auto),
            (Method::Auto, None) => Method::Tree,
            (method, _) => method,
        }
    }

    /// The options of a search for a role.
    pub fn options(&self, core: &Core, role: usize) -> PyResult<SearchOptions> {
        let threads = crate::game::threads(self.threads)?;
        in_range("exploration", self.exploration)?;
        let evaluation = match self.evaluation {
            None => None,
            Some(evaluation) => {
                let evaluation = evaluation.get();
                evaluation.fits(core)?;
                let share = self.evaluation_share.unwrap_or(evaluation.share);
                in_range("evaluation_share", share)?;
                Some((Arc::clone(&evaluation.network), share))
            }
        };
        let time = self.ms.map(|ms| duration("ms", ms / 1000.0)).transpose()?;
        let learned = self.evaluation.map(|evaluation| &evaluation.get().learned);
        let method = self.method();
        if method != Method::Tree && matches!(learned, Some(None)) {
            return Err(PyValueError::new_err(
                "the evaluation is for the tree: expected one of study(..., method=\"alpha-beta\")",
            ));
        }
        Ok(SearchOptions {
            method,
            learned: learned.and_then(Clone::clone),
            role,
            iterations: self.iterations,
            time,
            threads,
            seed: self.seed,
            exploration: self.exploration,
            proof_effort: 1.0,
            memory: self.memory,
            evaluation,
        })
    }
}

/// Refuses a value that the parameter of the search of this name does not allow.
fn in_range(name: &str, value: f32) -> PyResult<()> {
    match Parameter::find(name).filter(|it| !it.allows(value.into())) {
        None => Ok(()),
        Some(it) => {
            let text = format!("{name}: expected {}, found {value}", it.range());
            Err(PyValueError::new_err(text))
        }
    }
}

/// Searches a position; the result is a dict.
pub fn search<'py>(
    game: &Bound<'py, Game>,
    arguments: &SearchArguments<'_, 'py>,
) -> PyResult<Bound<'py, PyDict>> {
    let py = game.py();
    let core = &game.get().core;
    let batch = single(core, arguments.state)?;
    let role = match arguments.role {
        Some(role) => game.get().role_of(role)?,
        None => match batch.player[0] {
            NOBODY | OVER if core.sizes.n_roles > 1 => {
                return Err(PyValueError::new_err(
                    "no single role moves in this state: expected role=...",
                ));
            }
            player => usize::try_from(player).unwrap_or(0),
        },
    };
    if arguments.ms.is_none() && arguments.iterations.is_none() {
        return Err(PyTypeError::new_err("expected ms=... or iterations=..."));
    }
    let options = arguments.options(core, role)?;
    let built = full(py, core)?;
    let found = interruptible(py, |stop| {
        jobs_search(&built, batch.state(0), &options, stop)
    })?;
    found_dict(py, core, role, &found.map_err(refused)?)
}

/// Alpha-beta does not play the game.
fn refused(reason: WhyTree) -> PyErr {
    PyValueError::new_err(reason.to_string())
}

/// The texts of the moves of a line.
fn line_texts(core: &Core, line: &[Vec<MoveId>]) -> Vec<Vec<String>> {
    let of_joint_move = |moves: &Vec<MoveId>| {
        let texts = moves.iter().map(|&mv| core.info.move_text(mv));
        texts.collect()
    };
    line.iter().map(of_joint_move).collect()
}

fn found_dict<'py>(
    py: Python<'py>,
    core: &Core,
    role: usize,
    found: &SearchReport,
) -> PyResult<Bound<'py, PyDict>> {
    let first = core.moves_of(role).start;
    let action = |mv: MoveId| mv.0.saturating_sub(first);
    let text = |mv: MoveId| core.info.move_text(mv);
    let moves = &found.moves;
    let result = PyDict::new(py);
    result.set_item("method", found.method.name())?;
    result.set_item("role", role)?;
    result.set_item("action", found.best.map(action))?;
    result.set_item("move", found.best.map(text))?;
    result.set_item("value", found.value)?;
    result.set_item("proven", found.proven)?;
    let actions: Vec<i32> = moves.iter().map(|it| action(it.mv) as i32).collect();
    result.set_item("actions", actions.into_pyarray(py))?;
    let texts: Vec<String> = moves.iter().map(|it| text(it.mv)).collect();
    result.set_item("moves", texts)?;
    let visits: Vec<u32> = moves.iter().map(|it| it.visits as u32).collect();
    result.set_item("visits", visits.into_pyarray(py))?;
    let values = moves.iter().map(|it| it.value.unwrap_or(f32::NAN));
    result.set_item("values", values.collect::<Vec<f32>>().into_pyarray(py))?;
    let proofs = moves.iter().map(|it| it.proven().map_or(-1, i16::from));
    result.set_item("proofs", proofs.collect::<Vec<i16>>().into_pyarray(py))?;
    let strategy: Option<Vec<f32>> = moves.iter().map(|it| it.probability).collect();
    let strategy = strategy.filter(|strategy| !strategy.is_empty());
    result.set_item(
        "strategy",
        strategy.map(|strategy| strategy.into_pyarray(py)),
    )?;
    let best_line = found.lines.first();
    let best_line = best_line.map(|line| line_texts(core, &line.joint_moves));
    result.set_item("line", best_line.unwrap_or_default())?;
    result.set_item("iterations", found.steps)?;
    result.set_item("playouts", found.playouts)?;
    result.set_item("nodes", found.nodes)?;
    result.set_item("depth", found.depth)?;
    result.set_item("selective_depth", found.selective_depth)?;
    let lines = found.lines.iter().map(|line| {
        let dict = PyDict::new(py);
        dict.set_item("move", text(line.first.mv))?;
        dict.set_item("value", line.first.value)?;
        dict.set_item("is_bound", line.first.is_bound)?;
        dict.set_item("line", line_texts(core, &line.joint_moves))?;
        Ok(dict)
    });
    result.set_item("lines", lines.collect::<PyResult<Vec<_>>>()?)?;
    Ok(result)
}

/// Proves a position, or finds the best plan of a game of one role; the result is a dict.
pub fn solve<'py>(
    game: &Bound<'py, Game>,
    arguments: &SearchArguments<'_, 'py>,
    seconds: f64,
) -> PyResult<Bound<'py, PyDict>> {
    let py = game.py();
    let core = &game.get().core;
    let time = duration("seconds", seconds)?;
    let batch = single(core, arguments.state)?;
    let built = full(py, core)?;
    let result = PyDict::new(py);
    let options = arguments.options(core, 0)?;
    let plan = interruptible(py, |stop| {
        crate::jobs::search::plan(&built, batch.state(0), time, &options, stop)
    })?;
    if let Some(found) = plan {
        let texts = |moves: &[MoveId]| -> Vec<String> {
            moves.iter().map(|&mv| core.info.move_text(mv)).collect()
        };
        let goal = found.plan.as_ref().map(|plan| plan.goal);
        result.set_item("goals", vec![goal.filter(|_| found.is_best)])?;
        result.set_item("goal", goal)?;
        result.set_item("is_best", found.is_best)?;
        result.set_item("bound", found.bound)?;
        result.set_item("plan", found.plan.as_ref().map(|plan| texts(&plan.moves)))?;
        return Ok(result);
    }
    // The goals of the roles are proven one after the other; each proof may take what is left.
    let n_roles = core.sizes.n_roles;
    let started = std::time::Instant::now();
    let mut goals: Vec<Option<u8>> = vec![None; n_roles];
    let mut lines = Vec::new();
    for (role, goal) in goals.iter_mut().enumerate() {
        if core.chance == Some(role) {
            lines.push(Vec::new());
            continue;
        }
        let left = time.saturating_sub(started.elapsed()) / (n_roles - role) as u32;
        let options = SearchOptions {
            role,
            iterations: None,
            time: Some(left.max(Duration::from_millis(1))),
            ..options.clone()
        };
        let found = interruptible(py, |stop| {
            jobs_search(&built, batch.state(0), &options, stop)
        })?;
        let found = found.map_err(refused)?;
        *goal = found.proven;
        let line = found.lines.first();
        lines.push(line.map_or(Vec::new(), |line| line_texts(core, &line.joint_moves)));
    }
    let is_solved = goals.iter().enumerate();
    let is_solved = is_solved.filter(|(role, _)| core.chance != Some(*role));
    let is_solved = is_solved.map(|(_, goal)| goal).all(Option::is_some);
    result.set_item("is_best", is_solved)?;
    result.set_item("goals", goals)?;
    result.set_item("lines", lines)?;
    Ok(result)
}

/// Trains an evaluation.
pub fn study(
    game: &Bound<'_, Game>,
    seconds: f64,
    method: Method,
    (threads, seed): (usize, u64),
) -> PyResult<Evaluation> {
    let py = game.py();
    let core = &game.get().core;
    let time = duration("seconds", seconds)?;
    let threads = crate::game::threads(threads)?;
    let built = full(py, core)?;
    let evaluation = if method == Method::Tree {
        let learned = interruptible(py, |stop| {
            jobs::study::study(&built, time, threads, seed, stop)
        })?;
        learned.map(|learned| Evaluation::new(core, learned))
    } else {
        let study = interruptible(py, |stop| {
            jobs::study::study_both(&built, time, method, (threads, seed), stop)
        })?;
        let reason = study.why_tree;
        let found = Evaluation::of_study(core, study, method);
        let is_other = |it: &Evaluation| it.method_of(method) != it.suited;
        if found.as_ref().is_some_and(is_other) {
            return Err(refused(reason));
        }
        found
    };
    evaluation.ok_or_else(|| {
        PyRuntimeError::new_err(format!(
            "no evaluation of a game with {} roles and {} facts in {seconds} seconds",
            core.sizes.n_roles,
            core.info.facts.len()
        ))
    })
}

/// Statistics of random games and findings about the rules; the result is a dict.
pub fn analyse<'py>(
    game: &Bound<'py, Game>,
    seconds: f64,
    seed: u64,
) -> PyResult<Bound<'py, PyDict>> {
    let py = game.py();
    let core = &game.get().core;
    let time = duration("seconds", seconds)?;
    let built = full(py, core)?;
    let found = interruptible(py, |stop| {
        crate::jobs::study::analyse(&built, time, seed, stop)
    })?;
    let sampled = &found.sampled;
    let result = PyDict::new(py);
    result.set_item("games", sampled.ends_seen)?;
    result.set_item("cut_off", sampled.cut_off)?;
    let turns = sampled
        .turns
        .map(|turns| format!("{turns:?}").to_lowercase());
    result.set_item("turns", turns)?;
    let spread = |spread: panza_learning::statistics::Spread| -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        dict.set_item("mean", spread.mean)?;
        dict.set_item("least", spread.least)?;
        dict.set_item("quartiles", spread.quartiles)?;
        dict.set_item("greatest", spread.greatest)?;
        Ok(dict)
    };
    result.set_item("length", sampled.length.map(spread).transpose()?)?;
    result.set_item("branching", sampled.branching.map(spread).transpose()?)?;
    result.set_item("fixed_length", sampled.fixed_length)?;
    result.set_item("fixed_sum", sampled.fixed_sum)?;
    result.set_item("draws", sampled.draws)?;
    let roles = PyDict::new(py);
    for role in &sampled.roles {
        let dict = PyDict::new(py);
        dict.set_item("chooses", role.chooses)?;
        dict.set_item("moves", role.moves.map(spread).transpose()?)?;
        dict.set_item("mean_goal", role.goals.mean)?;
        roles.set_item(&role.name, dict)?;
    }
    result.set_item("roles", roles)?;
    let order = found.symmetries.as_ref().and_then(|found| found.order);
    result.set_item("symmetries", order)?;
    result.set_item("factors", found.n_factors)?;
    Ok(result)
}

/// Games that searches play against each other; the result is a dict of arrays.
pub fn self_play<'py>(
    game: &Bound<'py, Game>,
    arguments: &SearchArguments<'_, 'py>,
    games: usize,
    drawn_moves: u32,
    max_steps: u32,
) -> PyResult<Bound<'py, PyDict>> {
    let py = game.py();
    let core = &game.get().core;
    let options = crate::jobs::self_play::SelfPlayOptions {
        games,
        iterations: arguments.iterations.unwrap_or(1).max(1),
        drawn_moves,
        max_steps,
        threads: crate::game::threads(arguments.threads)?,
        search: arguments.options(core, 0)?,
    };
    let built = full(py, core)?;
    let played = interruptible(py, |stop| {
        crate::jobs::self_play::self_play(core, &built, &options, stop)
    })?;
    let (n_roles, n_facts) = (core.sizes.n_roles, core.info.facts.len());
    let n: usize = played.iter().map(|game| game.samples.len()).sum();
    let mut observations = vec![false; n * n_facts];
    let mut states = Vec::new();
    let (mut roles, mut actions, mut values) = (Vec::new(), Vec::new(), Vec::new());
    let (mut policies, mut outcomes, mut numbers) = (Vec::new(), Vec::new(), Vec::new());
    for (number, game) in played.iter().enumerate() {
        for sample in &game.samples {
            let row = roles.len();
            let bits = &mut observations[row * n_facts..(row + 1) * n_facts];
            crate::roles::write_bits(&sample.state, 0, bits);
            states.extend_from_slice(&sample.state);
            roles.push(sample.role as i16);
            actions.push(sample.action as i32);
            values.push(sample.value);
            policies.extend_from_slice(&sample.policy);
            let goals = game.goals.iter();
            outcomes.extend(goals.map(|goal| goal.map_or(f32::NAN, f32::from)));
            numbers.push(number as u32);
        }
    }
    let result = PyDict::new(py);
    result.set_item("observations", shaped(py, observations, &[n, n_facts])?)?;
    result.set_item("packed", shaped(py, states, &[n, core.sizes.state_words])?)?;
    result.set_item("roles", roles.into_pyarray(py))?;
    result.set_item("actions", actions.into_pyarray(py))?;
    result.set_item("policies", shaped(py, policies, &[n, core.max_moves])?)?;
    result.set_item("values", values.into_pyarray(py))?;
    result.set_item("goals", shaped(py, outcomes, &[n, n_roles])?)?;
    result.set_item("games", numbers.into_pyarray(py))?;
    Ok(result)
}

/// Random games from each state; the result is a dict of arrays.
pub fn rollouts<'py>(
    game: &Bound<'py, Game>,
    states: Option<&Bound<'py, States>>,
    asked: crate::jobs::rollouts::Rollouts,
) -> PyResult<Bound<'py, PyDict>> {
    let py = game.py();
    let core = &game.get().core;
    if asked.games == 0 {
        return Err(PyValueError::new_err(
            "expected at least one game from each state",
        ));
    }
    let options = Options {
        seed: 0,
        auto_reset: false,
        max_steps: MAX_STEPS,
        threads: 1,
    };
    let initial = Batch::initial(core, 1, options)?;
    let borrowed = states.map(|states| states.borrow());
    let batch = borrowed.as_ref().map_or(&initial, |states| &states.batch);
    if batch.core.info.facts != core.info.facts {
        return Err(PyValueError::new_err("the states are of another game"));
    }
    let means = interruptible(py, |stop| {
        crate::jobs::rollouts::rollouts(batch, asked, stop)
    })?;
    let n = batch.len();
    let result = PyDict::new(py);
    result.set_item("goals", shaped(py, means.goals, &[n, core.sizes.n_roles])?)?;
    result.set_item("lengths", means.lengths.into_pyarray(py))?;
    result.set_item("cut_off", means.cut_off.into_pyarray(py))?;
    Ok(result)
}
