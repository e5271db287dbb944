//! What the search does beside principal variation search, in numbers of which 0 switches a part
//! off.

/// The parts of the search.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Switches {
    /// Plies of quiescence search; 0 takes static values at depth 0.
    pub quiescence: i32,
    /// Late moves are searched to less depth first: a factor on the plies.
    pub reductions: f32,
    /// Late moves of little promise are left out near the leaves: a factor on the moves that are
    /// not.
    pub late_pruning: f32,
    /// Reverse futility: near the leaves a node is cut where its static score exceeds beta by this
    /// factor times [`Units::change`](super::Units::change) times the depth.
    pub reverse_futility: f32,
    /// Entries of a greater depth count for a smaller one, and positions that repeat on a path are
    /// draws. Off, a search is plain minimax with the same results.
    pub sharing: bool,
}

impl Default for Switches {
    fn default() -> Self {
        Self {
            quiescence: 6,
            reductions: 1.0,
            late_pruning: 1.0,
            reverse_futility: 1.0,
            sharing: true,
        }
    }
}

impl Switches {
    /// Nothing that changes the result of a minimax search to the same depth.
    pub const PLAIN: Self = Self {
        quiescence: 0,
        reductions: 0.0,
        late_pruning: 0.0,
        reverse_futility: 0.0,
        sharing: false,
    };

    /// As training searches: nothing is left out.
    pub const TRAINING: Self = Self {
        quiescence: 4,
        sharing: true,
        ..Self::PLAIN
    };

    /// The names of the numbers.
    pub const NAMES: [&str; 4] = [
        "quiescence",
        "reductions",
        "late_pruning",
        "reverse_futility",
    ];

    /// Sets the number of this name, 0 to 100. Returns whether there is one and it was set.
    pub fn set(&mut self, name: &str, value: f32) -> bool {
        if !(0.0..=100.0).contains(&value) {
            return false;
        }
        match name {
            "quiescence" => self.quiescence = value as i32,
            "reductions" => self.reductions = value,
            "late_pruning" => self.late_pruning = value,
            "reverse_futility" => self.reverse_futility = value,
            _ => return false,
        }
        true
    }
}
