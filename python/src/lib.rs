//! Games in GDL as batched environments for Python: the native part of the package `panza_ggp`.
//!
//! `core` compiles a game, `batch` advances many of its states, `planes` makes observations
//! of them, and `jobs` are searches and random games. `game` and `states` are their classes
//! in Python, with `arrays` of numpy in and out. Long calls release the interpreter lock and end
//! by Ctrl-C (`interrupt`).
//!
//! Invariants: nothing that a caller passes makes the process abort; wrong arguments are
//! exceptions that say what was expected. A state belongs to the game that made it.
//!
//! Never uses: match clocks, servers, files other than rulesheets.

#![forbid(unsafe_code)]

mod arrays;
mod batch;
mod batch_error;
mod calls;
mod core;
mod errors;
mod game;
mod game_methods;
mod interrupt;
mod jobs;
mod planes;
mod roles;
mod states;

use pyo3::prelude::*;

/// The native part of `panza_ggp`.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    // Without it the first array would panic.
    module.py().import("numpy")?;
    errors::add(module)?;
    module.add_class::<game::Game>()?;
    module.add_class::<game::PyDiagnostic>()?;
    module.add_class::<states::States>()?;
    module.add_class::<calls::Evaluation>()?;
    module.add_function(wrap_pyfunction!(game::load, module)?)?;
    module.add_function(wrap_pyfunction!(game::games, module)?)?;
    module.add_function(wrap_pyfunction!(game::load_again, module)?)?;
    module.add_function(wrap_pyfunction!(states::states_again, module)?)?;
    module.add_function(wrap_pyfunction!(states::concatenate, module)?)?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))
}
