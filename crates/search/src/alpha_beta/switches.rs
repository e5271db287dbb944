//! The parts of the search that can be switched, and what they are measured in.

/// What the search does beside principal variation search.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Switches {
    /// Plies of quiescence search; 0 takes static values at depth 0.
    pub quiescence: i32,
    /// Late moves are searched to less depth first.
    pub reductions: bool,
    /// Late moves of little promise are left out near the leaves.
    pub late_pruning: bool,
    /// A node whose static value is far above the window is left near the leaves.
    pub reverse_futility: bool,
    /// Entries of a greater depth count for a smaller one, and positions that repeat on a path are
    /// draws. Off, a search is plain minimax with the same results.
    pub sharing: bool,
}

impl Default for Switches {
    fn default() -> Self {
        Self {
            quiescence: 6,
            reductions: true,
            late_pruning: true,
            reverse_futility: true,
            sharing: true,
        }
    }
}

impl Switches {
    /// Nothing that changes the result of a minimax search to the same depth.
    pub const PLAIN: Self = Self {
        quiescence: 0,
        reductions: false,
        late_pruning: false,
        reverse_futility: false,
        sharing: false,
    };

    /// As training searches: nothing is left out.
    pub const TRAINING: Self = Self {
        quiescence: 4,
        reductions: false,
        late_pruning: false,
        reverse_futility: false,
        sharing: true,
    };
}
