//! Which class a game belongs to, so that a table shows where a change helps.

/// Games by class. A game that is not listed has none.
const CLASSES: [(&str, &[&str]); 8] = [
    (
        "connection",
        &["hex", "hexPie", "pathRace", "quad", "quad_5x5", "quad_7x7"],
    ),
    (
        "race",
        &[
            "breakthrough",
            "breakthroughHoles",
            "breakthroughSmall",
            "breakthroughSmallHoles",
            "breakthroughWalls",
            "chineseCheckers2",
            "knightThrough",
            "racer",
            "racer4",
            "sheepAndWolf",
        ],
    ),
    (
        "capture",
        &[
            "atariGo_7x7",
            "checkers",
            "checkersSmall",
            "chess",
            "englishDraughts",
            "merrills",
            "minichess",
            "shogi_ctk",
            "skirmish",
            "speedChess",
            "ttcc4_2player",
        ],
    ),
    (
        "line",
        &[
            "biddingTicTacToe",
            "connectFour",
            "connectFourLarger",
            "connectFour_9x6",
            "cubicup",
            "gomoku_11x11",
            "nineBoardTicTacToe",
            "pentago",
            "quarto",
            "ticTacToe",
            "ticTacToeLarge",
        ],
    ),
    (
        "count",
        &[
            "dotsAndBoxes",
            "kalaha5x2x3",
            "kalaha6x2x4",
            "kalaha_2009",
            "othello-comp2007",
            "reversi",
            "reversiSuicide",
        ],
    ),
    (
        "simultaneous",
        &[
            "battle",
            "blocker",
            "chickentictactoe",
            "connectFourSimultaneous",
            "jointButtonsAndLights",
            "jointConnectFour",
            "point_grab",
            "roshamboTen",
            "tron_10x10",
        ],
    ),
    (
        "wide",
        &[
            "amazons",
            "amazonsSuicide",
            "amazonsTorus",
            "amazons_10x10",
            "amazons_8x8",
            "gomoku_15x15",
            "madBishops",
        ],
    ),
    ("slow", &["chinook", "blobwars", "snake_2009", "wargame02"]),
];

/// The class of the game, by the name of its rulesheet.
pub fn class_of(game: &str) -> Option<&'static str> {
    let mut classes = CLASSES.iter();
    classes
        .find(|(_, games)| games.contains(&game))
        .map(|&(class, _)| class)
}
