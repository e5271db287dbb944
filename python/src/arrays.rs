//! Arrays of numpy: those that a caller supplies, and new ones.
//!
//! Invariant: an array of a wrong kind is a Python exception that says what was expected.

use numpy::{Element, IxDyn, PyArrayDyn, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;

/// The name of an element type in messages.
pub trait Named {
    /// As numpy spells it.
    const NAME: &'static str;
}

macro_rules! named {
    ($($kind:ty: $name:literal),*) => {
        $(impl Named for $kind {
            const NAME: &'static str = $name;
        })*
    };
}
named!(bool: "bool", u8: "uint8", i16: "int16", i32: "int32", u32: "uint32", u64: "uint64",
    i64: "int64", f32: "float32");

/// An array of a shape.
pub type Array<'py, T> = Bound<'py, PyArrayDyn<T>>;

/// The array that the caller supplies for results, or a new one of zeros.
///
/// # Errors
/// It has another shape or element type, is read only, or is not contiguous.
pub fn output<'py, T: Element + Named>(
    py: Python<'py>,
    out: Option<&Bound<'py, PyAny>>,
    shape: &[usize],
) -> PyResult<Array<'py, T>> {
    let Some(out) = out else {
        return Ok(PyArrayDyn::zeros(py, IxDyn(shape), false));
    };
    let expected = || {
        format!(
            "expected a C-contiguous {} array of shape {shape:?}",
            T::NAME
        )
    };
    let Ok(array) = out.cast::<PyArrayDyn<T>>() else {
        let kind = out.get_type().name()?;
        let dtype = out
            .getattr("dtype")
            .ok()
            .map(|dtype| format!(" of {dtype}"));
        let dtype = dtype.unwrap_or_default();
        return Err(PyTypeError::new_err(format!(
            "out: {}, found {kind}{dtype}",
            expected()
        )));
    };
    if array.shape() != shape || !array.is_c_contiguous() {
        let found = format!("out: {}, found shape {:?}", expected(), array.shape());
        let order = if array.is_c_contiguous() {
            ""
        } else {
            " that is not contiguous"
        };
        return Err(PyValueError::new_err(format!("{found}{order}")));
    }
    Ok(array.clone())
}

/// Lets `fill` write an array without the interpreter lock.
///
/// # Errors
/// The array is read only, or written elsewhere.
pub fn fill<T: Element>(array: &Array<'_, T>, fill: impl FnOnce(&mut [T]) + Send) -> PyResult<()> {
    let mut array_lock = array.try_readwrite().map_err(|error| {
        PyValueError::new_err(format!(
            "out: expected an array that can be written: {error}"
        ))
    })?;
    let slice = array_lock
        .as_slice_mut()
        .map_err(|_| PyValueError::new_err("out: expected a C-contiguous array"))?;
    if slice.len() < SMALL {
        fill(slice);
    } else {
        array.py().detach(|| fill(slice));
    }
    Ok(())
}

/// Elements below which releasing the interpreter lock costs more than it gives others.
const SMALL: usize = 1 << 12;

/// Integers of a caller: an array or what numpy makes one of.
pub enum Integers<'py> {
    /// As they came.
    Narrow(Array<'py, i32>),
    /// As they came, or converted.
    Wide(Array<'py, i64>),
}

impl<'py> Integers<'py> {
    /// Reads integers.
    ///
    /// # Errors
    /// They are no integers.
    pub fn read(name: &str, value: &Bound<'py, PyAny>) -> PyResult<Self> {
        if let Ok(array) = value.cast::<PyArrayDyn<i32>>()
            && array.is_c_contiguous()
        {
            return Ok(Self::Narrow(array.clone()));
        }
        if let Ok(array) = value.cast::<PyArrayDyn<i64>>()
            && array.is_c_contiguous()
        {
            return Ok(Self::Wide(array.clone()));
        }
        let py = value.py();
        let numpy = py.import(intern!(py, "numpy"))?;
        let wrong = |found: &str| {
            PyTypeError::new_err(format!(
                "{name}: expected an array of integers, found {found}"
            ))
        };
        let array = numpy
            .call_method1(intern!(py, "asarray"), (value,))
            .map_err(|error| wrong(&error.value(py).to_string()))?;
        let dtype = array.getattr(intern!(py, "dtype"))?;
        let kind: String = dtype.getattr(intern!(py, "kind"))?.extract()?;
        let is_empty = array.getattr(intern!(py, "size"))?.extract::<usize>()? == 0;
        if !matches!(kind.as_str(), "i" | "u") && !is_empty {
            return Err(wrong(&format!("{dtype}")));
        }
        let array = numpy.call_method1(
            intern!(py, "ascontiguousarray"),
            (array, intern!(py, "int64")),
        )?;
        Ok(Self::Wide(array.cast_into::<PyArrayDyn<i64>>()?))
    }

    /// The shape.
    pub fn shape(&self) -> &[usize] {
        match self {
            Self::Narrow(array) => array.shape(),
            Self::Wide(array) => array.shape(),
        }
    }
}
