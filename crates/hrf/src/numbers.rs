//! Numbers as the dialect has them: names that read as a number, computed as 64-bit floats.

/// A function of numbers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Arithmetic {
    Plus,
    Minus,
    Times,
    Quotient,
    Remainder,
    Min,
    Max,
    Abs,
}

impl Arithmetic {
    /// The function with this name and number of inputs. A function of more than two inputs is
    /// that of the first two, then of the result and the next.
    pub fn of(name: &str, n_inputs: usize) -> Option<Self> {
        let function = match name {
            "plus" => Self::Plus,
            "minus" => Self::Minus,
            "times" => Self::Times,
            "quotient" => Self::Quotient,
            "remainder" => Self::Remainder,
            "min" => Self::Min,
            "max" => Self::Max,
            "abs" => Self::Abs,
            _ => return None,
        };
        let is_sound = match function {
            Self::Quotient | Self::Remainder => n_inputs == 2,
            Self::Abs => n_inputs == 1,
            _ => n_inputs >= 2,
        };
        is_sound.then_some(function)
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Plus => "plus",
            Self::Minus => "minus",
            Self::Times => "times",
            Self::Quotient => "quotient",
            Self::Remainder => "remainder",
            Self::Min => "min",
            Self::Max => "max",
            Self::Abs => "abs",
        }
    }

    /// The value, unless it is no finite number. `right` is not used by a function of one input.
    pub fn value(self, left: f64, right: f64) -> Option<f64> {
        let value = match self {
            Self::Plus => left + right,
            Self::Minus => left - right,
            Self::Times => left * right,
            Self::Quotient => left / right,
            Self::Remainder => left % right,
            Self::Min => left.min(right),
            Self::Max => left.max(right),
            Self::Abs => left.abs(),
        };
        // Zero has one sign here.
        value.is_finite().then_some(value + 0.0)
    }
}

/// A relation of two numbers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Comparison {
    AtMost,
    Less,
}

impl Comparison {
    pub fn name(self) -> &'static str {
        match self {
            Self::AtMost => "leq",
            Self::Less => "less",
        }
    }

    pub fn holds(self, left: f64, right: f64) -> bool {
        match self {
            Self::AtMost => left <= right,
            Self::Less => left < right,
        }
    }
}

/// The number that a name is.
pub fn number(name: &str) -> Option<f64> {
    let is_start = |first: char| first.is_ascii_digit() || first == '-' || first == '.';
    let value: f64 = name.starts_with(is_start).then(|| name.parse().ok())??;
    value.is_finite().then_some(value)
}

/// The name of a number.
pub fn shown(number: f64) -> String {
    format!("{number}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_numbers_if_they_read_as_one() {
        assert_eq!(number("12"), Some(12.0));
        assert_eq!(number("-3"), Some(-3.0));
        assert_eq!(number("a1"), None);
        assert_eq!(number("inf"), None);
        assert_eq!(number("1/2"), None);
        assert_eq!(shown(3.0), "3");
        assert_eq!(shown(-0.5), "-0.5");
        assert_eq!(
            Arithmetic::Times.value(-1.0, 0.0).map(shown).as_deref(),
            Some("0")
        );
        assert_eq!(Arithmetic::Quotient.value(1.0, 0.0), None);
        assert_eq!(Arithmetic::of("plus", 1), None);
    }
}
