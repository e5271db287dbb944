//! Known defects of the corpus's recorded playouts. Differences in these parts are counted apart.

/// A part of a game's traces that is wrong by the rules of GDL.
#[derive(Clone, Copy, Debug)]
pub struct KnownDefect {
    /// The game's key.
    pub game: &'static str,
    /// The part, as in [`panza_cli::replay::Disagreement::what`].
    pub what: &'static str,
    /// Why the trace is wrong there.
    pub reason: &'static str,
}

/// All known defects.
pub const KNOWN: &[KnownDefect] = &[
    KnownDefect {
        game: "test_case_3a",
        what: "legal",
        reason: "the recorder takes `open2` and `(open2)` for two relations; here they are one",
    },
    KnownDefect {
        game: "test_case_3f",
        what: "goal",
        reason: "the recorder drops a `not` whose variable no positive condition binds",
    },
];

/// The parts of a game's traces that are wrong.
pub fn parts(game: &str) -> Vec<&'static str> {
    let of_game = KNOWN.iter().filter(|defect| defect.game == game);
    of_game.map(|defect| defect.what).collect()
}
