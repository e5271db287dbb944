//! The memory of the programs: two banks of states and a bank of slots.
//!
//! Each run names the bank that is "now" and the one that is "next", so a step swaps the two
//! instead of copying.
//!
//! Invariants: vectors are `N` words long and aligned to their size, up to 64 bytes.
//! Never uses: programs.

/// 64 bytes, aligned to 64.
#[derive(Clone, Copy, Debug, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C, align(64))]
struct Line([u64; 8]);

/// A vector with a bit per lane.
pub type Vector<const N: usize> = [u64; N];

/// A function of the words of three vectors. Whole vectors are passed by value, so that the
/// compiler knows that nothing overlaps and uses vector registers.
#[inline(always)]
pub(super) fn combine<const N: usize>(
    a: Vector<N>,
    b: Vector<N>,
    c: Vector<N>,
    function: impl Fn(u64, u64, u64) -> u64,
) -> Vector<N> {
    let mut result = [0; N];
    for word in 0..N {
        result[word] = function(a[word], b[word], c[word]);
    }
    result
}

#[inline(always)]
pub(super) fn both<const N: usize>(left: &Vector<N>, right: &Vector<N>) -> Vector<N> {
    combine(*left, *right, *right, |left, right, _| left & right)
}

/// Which of the two banks of states is "now".
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Side {
    /// The first bank is now, the second is next.
    #[default]
    Even,
    /// The second bank is now, the first is next.
    Odd,
}

impl Side {
    /// The other side.
    pub fn swapped(self) -> Self {
        match self {
            Side::Even => Side::Odd,
            Side::Odd => Side::Even,
        }
    }
}

/// Vectors of `N` words: two banks of `n_state`, then slots.
#[derive(Clone, Debug)]
pub struct Memory<const N: usize> {
    lines: Vec<Line>,
    n_state: usize,
}

impl<const N: usize> Memory<N> {
    /// All off.
    pub fn new(n_state: usize, n_slots: usize) -> Self {
        let n_words = (2 * n_state + n_slots) * N;
        // 16 words are two lines: a whole number of vectors for every width.
        let n_lines = n_words.div_ceil(16) * 2;
        Self {
            lines: vec![Line::default(); n_lines],
            n_state,
        }
    }

    /// Everything: the first bank, the second, the slots.
    pub fn all(&mut self) -> &mut [Vector<N>] {
        bytemuck::cast_slice_mut(&mut self.lines)
    }

    /// The current state.
    pub fn now(&mut self, side: Side) -> &mut [Vector<N>] {
        let n_state = self.n_state;
        let start = match side {
            Side::Even => 0,
            Side::Odd => n_state,
        };
        &mut self.all()[start..start + n_state]
    }

    /// The state that comes next.
    pub fn next(&mut self, side: Side) -> &mut [Vector<N>] {
        self.now(side.swapped())
    }

    /// The values passed between programs.
    pub fn slots(&mut self) -> &mut [Vector<N>] {
        let n_state = self.n_state;
        &mut self.all()[2 * n_state..]
    }

    /// The number of vectors in a bank of states.
    pub fn n_state(&self) -> usize {
        self.n_state
    }
}
