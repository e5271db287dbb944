//! The exceptions of the package.

use pyo3::create_exception;
use pyo3::exceptions::{PyMemoryError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;

use crate::batch_error::BatchError;

create_exception!(
    panza_ggp,
    GdlError,
    PyValueError,
    "Rules with faults. `diagnostics` lists them with line and column."
);
create_exception!(
    panza_ggp,
    GameTooLargeError,
    PyRuntimeError,
    "Rules that do not become a network within the limits of `load`."
);
create_exception!(
    panza_ggp,
    IllegalActionError,
    PyValueError,
    "An action that is not legal in its state. No state of the batch has changed."
);

impl From<BatchError> for PyErr {
    fn from(error: BatchError) -> Self {
        match error {
            BatchError::TooLarge(text) => PyMemoryError::new_err(text),
            BatchError::Illegal(text) => IllegalActionError::new_err(text),
        }
    }
}

/// Adds the exceptions to the module.
pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("GdlError", py.get_type::<GdlError>())?;
    module.add("GameTooLargeError", py.get_type::<GameTooLargeError>())?;
    module.add("IllegalActionError", py.get_type::<IllegalActionError>())
}
