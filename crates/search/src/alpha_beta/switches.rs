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
    /// Futility: near the leaves a move is left out whose static score is below alpha by this
    /// factor times [`Units::change`](super::Units::change) times the depth.
    pub futility: f32,
    /// Probcut: a node is cut where a shallow search of a promising move exceeds beta by this
    /// factor times [`Units::change`](super::Units::change).
    pub probcut: f32,
    /// Singular extension: the table's move is searched deeper where shallow searches find all
    /// others worse by this factor times [`Units::change`](super::Units::change).
    pub singular: f32,
    /// The weight of what a move earned after the move before it, beside what it earned anywhere.
    pub continuation: f32,
    /// Whether a deep node that the table knows no move of is searched a ply less.
    pub unknown_move: bool,
    /// Plies by which moves are reduced more where the mover's static score has not risen since
    /// its last turn, and less where a move has a good history.
    pub trend: f32,
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
            futility: 2.0,
            probcut: 2.0,
            singular: 1.0,
            continuation: 1.0,
            unknown_move: true,
            trend: 1.0,
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
        futility: 0.0,
        probcut: 0.0,
        singular: 0.0,
        continuation: 0.0,
        unknown_move: false,
        trend: 0.0,
        sharing: false,
    };

    /// As training searches: nothing is left out.
    pub const TRAINING: Self = Self {
        quiescence: 4,
        sharing: true,
        ..Self::PLAIN
    };

    /// The names of the numbers.
    pub const NAMES: [&str; 10] = [
        "quiescence",
        "reductions",
        "late_pruning",
        "reverse_futility",
        "futility",
        "probcut",
        "singular",
        "continuation",
        "unknown_move",
        "trend",
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
            "futility" => self.futility = value,
            "probcut" => self.probcut = value,
            "singular" => self.singular = value,
            "continuation" => self.continuation = value,
            "unknown_move" => self.unknown_move = value > 0.0,
            "trend" => self.trend = value,
            _ => return false,
        }
        true
    }
}
