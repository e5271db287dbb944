//! Evaluation: what a state promises each role, as a small network of numbers over the facts that
//! hold in it.
//!
//! Every fact has a row of [`UNITS`] weights; the rows of the facts that hold are added up, what is
//! negative in the hidden units is cut off, and a weighted sum of the units is squashed to a goal.
//! A few units go past the cut, so that facts also count by themselves: with those alone it is a
//! sum of piece values, with the others facts may matter together. Since few facts hold at a time,
//! adding rows is as cheap as a table of pieces. (Shape and increments are those of Nasu's *NNUE*,
//! 2018; that such a sum can be learned for any game from its network's facts is Goldwaser and
//! Thielscher's, 2020.)
//!
//! Invariants: equal states of one machine have equal values, but for rounding where they are
//! reached from others by increments; values lie between 0 and 100, or the fixed sum of goals.
//!
//! Never knows: how games are played, clocks. What learns it is `learning`.

use crate::machine::random::Random;

/// Numbers in a row.
pub const UNITS: usize = 32;
/// Units that are not cut off, the first ones; the most outputs there can be.
pub const DIRECT: usize = 4;

/// A number for each unit.
#[derive(Clone, Copy, PartialEq, Debug)]
#[repr(align(64))]
pub struct Row(pub [f32; UNITS]);

impl Row {
    /// Nothing in every unit.
    pub const ZERO: Self = Self([0.0; UNITS]);

    #[inline]
    fn add(&mut self, other: &Self) {
        for (sum, more) in self.0.iter_mut().zip(&other.0) {
            *sum += more;
        }
    }

    #[inline]
    fn take(&mut self, other: &Self) {
        for (sum, less) in self.0.iter_mut().zip(&other.0) {
            *sum -= less;
        }
    }

    #[inline]
    fn dot(&self, other: &Self) -> f32 {
        // Eight sums side by side, which compilers turn into vectors; one sum alone they may not
        // reorder.
        let mut sums = [0.0f32; 8];
        for (left, right) in self.0.chunks_exact(8).zip(other.0.chunks_exact(8)) {
            for ((sum, left), right) in sums.iter_mut().zip(left).zip(right) {
                *sum += left * right;
            }
        }
        sums.iter().sum()
    }
}

/// A state's sums, from which those of states that differ little are found.
#[derive(Clone, Copy, Debug)]
pub struct Stand(Row);

/// Cuts off what is negative in the hidden units.
#[inline]
fn cut(units: &mut Row) {
    for unit in &mut units.0[DIRECT..] {
        *unit = unit.max(0.0);
    }
}

/// What states promise.
#[derive(Clone, PartialEq, Debug)]
pub struct Evaluation {
    n_roles: usize,
    /// The sum of both roles' goals, where there are two and it is always the same: then one output
    /// says both.
    sum: Option<f32>,
    /// One row for each bit of a state.
    rows: Vec<Row>,
    bias: Row,
    /// One row for each output; beyond the direct units it weighs the hidden ones.
    outputs: Vec<Row>,
}

/// The numbers of an evaluation.
#[derive(Clone, PartialEq, Debug)]
pub struct Parts {
    /// The sum of two roles' goals, where it is always the same.
    pub sum: Option<f32>,
    /// One row for each bit of a state.
    pub rows: Vec<Row>,
    /// What is added to each sum of rows.
    pub bias: Row,
    /// One row for each output: one for both roles where their goals have a fixed sum, else one for
    /// each role.
    pub outputs: Vec<Row>,
}

/// The most roles that are evaluated.
pub const MOST_ROLES: usize = DIRECT;

impl Evaluation {
    /// An evaluation that knows nothing: each state of so many facts promises 50 to each role.
    /// `sum` is the sum of two roles' goals where it is always the same. Nothing for more than
    /// [`MOST_ROLES`].
    pub fn new(
        n_roles: usize,
        n_facts: usize,
        sum: Option<u32>,
        random: &mut Random,
    ) -> Option<Self> {
        if n_roles > MOST_ROLES || n_roles == 0 {
            return None;
        }
        let sum = sum.filter(|_| n_roles == 2).map(|sum| sum as f32);
        let n_outputs = if sum.is_some() { 1 } else { n_roles };
        // Hidden units must differ from the start, else they stay alike for ever.
        let mut small = |scale: f32| {
            let mut row = Row::ZERO;
            for number in &mut row.0[DIRECT..] {
                *number = (fraction(random) - 0.5) * scale;
            }
            row
        };
        let rows = (0..n_facts).map(|_| small(0.2)).collect();
        let bias = small(0.2);
        let mut outputs: Vec<Row> = (0..n_outputs).map(|_| small(0.4)).collect();
        for (index, output) in outputs.iter_mut().enumerate() {
            output.0[index] = 1.0;
        }
        Some(Self {
            n_roles,
            sum,
            rows,
            bias,
            outputs,
        })
    }

    /// All its numbers, in a form that can be kept apart from the order of bits.
    pub fn parts(&self) -> Parts {
        Parts {
            sum: self.sum,
            rows: self.rows.clone(),
            bias: self.bias,
            outputs: self.outputs.clone(),
        }
    }

    /// The evaluation of these numbers, for so many roles; nothing where they do not fit together
    /// or are no numbers.
    pub fn from_parts(n_roles: usize, parts: Parts) -> Option<Self> {
        let n_outputs = if parts.sum.is_some() { 1 } else { n_roles };
        let fits = (1..=MOST_ROLES).contains(&n_roles)
            && parts.outputs.len() == n_outputs
            && (parts.sum.is_none() || n_roles == 2);
        let mut rows = parts.rows.iter().chain(&parts.outputs).chain([&parts.bias]);
        let are_numbers = rows.all(|row| row.0.iter().all(|number| number.is_finite()));
        drop(rows);
        let is_sound = fits && are_numbers && parts.sum.is_none_or(f32::is_finite);
        is_sound.then_some(Self {
            n_roles,
            sum: parts.sum,
            rows: parts.rows,
            bias: parts.bias,
            outputs: parts.outputs,
        })
    }

    /// How many roles it speaks of.
    pub fn n_roles(&self) -> usize {
        self.n_roles
    }

    /// Facts that it knows: the first bits of a state.
    pub fn n_facts(&self) -> usize {
        self.rows.len()
    }

    /// Writes each role's value, 0 to 100, which is the goal that the state promises it.
    #[inline]
    pub fn values(&self, state: &[u64], values: &mut [f32]) {
        self.read_values(&self.units(state), values);
    }

    /// Starts from a state for [`values_near`](Self::values_near).
    #[inline]
    pub fn stand_on(&self, state: &[u64]) -> Stand {
        Stand(self.sums(state))
    }

    /// As [`values`](Self::values) for a state that differs little from `near`, where `stand` is:
    /// only the rows of facts that changed are added or taken away. (Nasu's increments.)
    #[inline]
    pub fn values_near(&self, stand: &Stand, near: &[u64], state: &[u64], values: &mut [f32]) {
        let mut units = self.sums_near(stand, near, state);
        cut(&mut units);
        self.read_values(&units, values);
    }

    /// How good such a state is for each role, without bounds: what
    /// [`values_near`](Self::values_near) squashes.
    #[inline]
    pub fn urges_near(&self, stand: &Stand, near: &[u64], state: &[u64], urges: &mut [f32]) {
        let mut units = self.sums_near(stand, near, state);
        cut(&mut units);
        self.read_urges(&units, urges);
    }

    #[inline]
    fn sums_near(&self, stand: &Stand, near: &[u64], state: &[u64]) -> Row {
        let mut sums = stand.0;
        for (index, (&before, &after)) in near.iter().zip(state).enumerate() {
            let mut left = before ^ after;
            while left != 0 {
                let bit = left.trailing_zeros() as usize;
                left &= left - 1;
                if let Some(row) = self.rows.get(64 * index + bit) {
                    if after >> bit & 1 == 1 {
                        sums.add(row);
                    } else {
                        sums.take(row);
                    }
                }
            }
        }
        sums
    }

    #[inline]
    fn read_values(&self, units: &Row, values: &mut [f32]) {
        match self.sum {
            Some(sum) => {
                let share = squash(self.outputs[0].dot(units));
                values[0] = sum * share;
                values[1] = sum - values[0];
            }
            None => {
                for (value, output) in values.iter_mut().zip(&self.outputs) {
                    *value = 100.0 * squash(output.dot(units));
                }
            }
        }
    }

    #[inline]
    fn read_urges(&self, units: &Row, urges: &mut [f32]) {
        if self.sum.is_some() {
            urges[0] = self.outputs[0].dot(units);
            urges[1] = -urges[0];
        } else {
            for (urge, output) in urges.iter_mut().zip(&self.outputs) {
                *urge = output.dot(units);
            }
        }
    }

    /// The units after the cut.
    #[inline]
    fn units(&self, state: &[u64]) -> Row {
        let mut units = self.sums(state);
        cut(&mut units);
        units
    }

    /// The units before the cut.
    #[inline]
    fn sums(&self, state: &[u64]) -> Row {
        let mut sums = self.bias;
        for bit in bits(state) {
            if let Some(row) = self.rows.get(bit) {
                sums.add(row);
            }
        }
        sums
    }

    /// What a fact is worth to each role by itself, in points: how much more a state at par
    /// promises with it, hidden units left out.
    pub fn worth(&self, bit: usize) -> Vec<f32> {
        let Some(row) = self.rows.get(bit) else {
            return vec![0.0; self.n_roles];
        };
        let of = |output: &Row| {
            25.0 * output.0[..DIRECT]
                .iter()
                .zip(&row.0)
                .map(|(a, b)| a * b)
                .sum::<f32>()
        };
        match self.sum {
            Some(_) => vec![of(&self.outputs[0]), -of(&self.outputs[0])],
            None => self.outputs.iter().map(of).collect(),
        }
    }
}

/// Teaches an evaluation. (AdaGrad; Duchi, Hazan and Singer 2011: facts that are rarely true learn
/// faster.)
#[derive(Clone, Debug)]
pub struct Teacher {
    /// What is being taught.
    pub evaluation: Evaluation,
    rate: f32,
    /// Sums of squared slopes, of rows, bias and outputs.
    rows: Vec<Row>,
    bias: Row,
    outputs: Vec<Row>,
}

/// Squares that each sum starts with, so that first steps are not too long.
const PRIOR: f32 = 0.1;

impl Teacher {
    /// A teacher of this evaluation.
    pub fn new(evaluation: Evaluation, rate: f32) -> Self {
        let start = Row([PRIOR; UNITS]);
        Self {
            rows: vec![start; evaluation.rows.len()],
            bias: start,
            outputs: vec![start; evaluation.outputs.len()],
            evaluation,
            rate,
        }
    }

    /// Shows a state and the goals, 0 to 100, that it led to.
    #[inline]
    pub fn show(&mut self, state: &[u64], goals: &[f32]) {
        let evaluation = &mut self.evaluation;
        let sums = evaluation.sums(state);
        let mut units = sums;
        cut(&mut units);
        let mut slopes = Row::ZERO;
        for (index, output) in evaluation.outputs.iter_mut().enumerate() {
            let value = squash(output.dot(&units));
            let whole = evaluation.sum.unwrap_or(100.0).max(1.0);
            let error = value - (goals[index] / whole).clamp(0.0, 1.0);
            let mut output_slopes = Row::ZERO;
            for unit in 0..UNITS {
                slopes.0[unit] += error * output.0[unit];
                output_slopes.0[unit] = error * units.0[unit];
            }
            // The direct units stand for the outputs themselves.
            output_slopes.0[..DIRECT].fill(0.0);
            step(output, &mut self.outputs[index], &output_slopes, self.rate);
        }
        for unit in DIRECT..UNITS {
            if sums.0[unit] <= 0.0 {
                slopes.0[unit] = 0.0;
            }
        }
        step(&mut evaluation.bias, &mut self.bias, &slopes, self.rate);
        for bit in bits(state) {
            if let Some(row) = evaluation.rows.get_mut(bit) {
                step(row, &mut self.rows[bit], &slopes, self.rate);
            }
        }
    }

    /// Forgets half of what slopes were seen, after which steps get longer again: for when play has
    /// changed.
    pub fn refresh(&mut self) {
        let all = self.rows.iter_mut().chain(&mut self.outputs);
        for row in all.chain([&mut self.bias]) {
            for square in &mut row.0 {
                *square = (*square * 0.5).max(PRIOR);
            }
        }
    }
}

/// Takes a step down the slopes.
#[inline]
fn step(numbers: &mut Row, squares: &mut Row, slopes: &Row, rate: f32) {
    for ((number, square), slope) in numbers.0.iter_mut().zip(&mut squares.0).zip(&slopes.0) {
        *square += slope * slope;
        *number -= rate * slope / square.sqrt();
    }
}

/// The bits that are on in a state, in rising order.
#[inline]
fn bits(state: &[u64]) -> impl Iterator<Item = usize> {
    state.iter().enumerate().flat_map(|(index, &word)| {
        let mut left = word;
        std::iter::from_fn(move || {
            (left != 0).then(|| {
                let bit = left.trailing_zeros() as usize;
                left &= left - 1;
                64 * index + bit
            })
        })
    })
}

/// From any number to one between 0 and 1.
#[inline]
fn squash(number: f32) -> f32 {
    1.0 / (1.0 + (-number).exp())
}

/// A random number from 0 up to 1.
pub(super) fn fraction(random: &mut Random) -> f32 {
    (random.bits() >> 40) as f32 / (1u64 << 24) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fresh(n_roles: usize, sum: Option<u32>) -> Evaluation {
        Evaluation::new(n_roles, 128, sum, &mut Random::new(1)).unwrap()
    }

    #[test]
    fn who_knows_nothing_expects_half() {
        let mut values = [0.0; 3];
        fresh(3, None).values(&[0b1011, 1 << 40], &mut values);
        for value in values {
            assert!((value - 50.0).abs() < 10.0, "{value}");
        }
    }

    #[test]
    fn too_many_roles_are_not_evaluated() {
        let random = &mut Random::new(1);
        assert!(Evaluation::new(MOST_ROLES + 1, 64, None, random).is_none());
        assert!(Evaluation::new(0, 64, None, random).is_none());
    }

    #[test]
    fn a_state_is_worth_the_same_from_wherever_one_comes() {
        let evaluation = fresh(2, Some(100));
        let random = &mut Random::new(2);
        for _ in 0..200 {
            let from = [random.bits(), random.bits()];
            let to = [random.bits(), random.bits() & random.bits()];
            let stand = evaluation.stand_on(&from);
            let (mut near, mut plain) = ([0.0; 2], [0.0; 2]);
            evaluation.values_near(&stand, &from, &to, &mut near);
            evaluation.values(&to, &mut plain);
            for role in 0..2 {
                assert!((near[role] - plain[role]).abs() < 0.01);
            }
            evaluation.urges_near(&stand, &from, &to, &mut near);
            assert!((100.0 * squash(near[0]) - plain[0]).abs() < 0.01);
            assert!((near[1] + near[0]).abs() < 1e-6);
        }
    }

    #[test]
    fn goals_with_a_fixed_sum_share_it() {
        let mut values = [0.0; 2];
        fresh(2, Some(60)).values(&[7, 0], &mut values);
        assert!((values[0] + values[1] - 60.0).abs() < 1e-3);
    }

    /// Facts that count only together need the hidden units: a sum of facts cannot tell one of two
    /// from both or none.
    #[test]
    fn one_of_two_is_learned() {
        let mut teacher = Teacher::new(fresh(1, None), 0.1);
        let goal = |state: u64| if state.count_ones() == 1 { 100.0 } else { 0.0 };
        let random = &mut Random::new(5);
        for _ in 0..20_000 {
            let state = random.bits() & 3;
            teacher.show(&[state, 0], &[goal(state)]);
        }
        for state in 0..4 {
            let mut values = [0.0];
            teacher.evaluation.values(&[state, 0], &mut values);
            assert!(
                (values[0] - goal(state)).abs() < 15.0,
                "{state}: {values:?}"
            );
        }
    }
}
