//! Scores: what a position is worth to the first role.
//!
//! A score is a logit of the first role's share of the goals, in units of 1/200. Wins and losses
//! that are proven lie beyond all others, less the number of joint moves until then, so that a
//! shorter win is worth more and a longer loss costs less.
//!
//! Invariants: a score fits 16 bits; one beyond [`PROVEN`] is a result with best play, in every
//! search of any depth.
//!
//! Never uses: machines, searches.

/// What a position is worth.
pub(super) type Score = i32;

/// A logit of 1.
pub(super) const LOGIT: f32 = 200.0;
/// The score of a win at the root.
pub(super) const WIN: Score = 30_000;
/// Scores above this are proven wins, those below its negative proven losses.
pub(super) const PROVEN: Score = 25_000;
/// Beyond all scores.
pub(super) const INFINITE: Score = 32_000;
/// The largest score that is not proven.
const MAX_STATIC: Score = 12_000;
/// What is neither won nor lost has a share at least this far from both.
const MIN_SHARE: f32 = 0.001;

/// The score of a logit.
#[inline]
pub(super) fn of_logit(logit: f32) -> Score {
    ((logit * LOGIT) as Score).clamp(-MAX_STATIC, MAX_STATIC)
}

/// The score of an end after `ply` joint moves. `goal` is that of the first role, `sum` that of
/// both.
pub(super) fn of_goal(goal: u8, sum: f32, ply: usize) -> Score {
    let share = f32::from(goal) / sum.max(1.0);
    if share >= 1.0 {
        return WIN - ply as Score;
    }
    if share <= 0.0 {
        return ply as Score - WIN;
    }
    let share = share.clamp(MIN_SHARE, 1.0 - MIN_SHARE);
    of_logit((share / (1.0 - share)).ln())
}

/// The first role's share of the goals, 0 to 1.
pub(super) fn share(score: Score) -> f32 {
    if score > PROVEN {
        return 1.0;
    }
    if score < -PROVEN {
        return 0.0;
    }
    1.0 / (1.0 + (-score as f32 / LOGIT).exp())
}

/// The score of a node at `ply` as seen from the node itself, for other paths to it.
#[inline]
pub(super) fn from_here(score: Score, ply: usize) -> Score {
    shifted(score, ply as Score)
}

/// The reverse of [`from_here`].
#[inline]
pub(super) fn from_root(score: Score, ply: usize) -> Score {
    shifted(score, -(ply as Score))
}

#[inline]
fn shifted(score: Score, by: Score) -> Score {
    if score > PROVEN {
        score + by
    } else if score < -PROVEN {
        score - by
    } else {
        score
    }
}

/// The alpha-beta window: between its bounds a score has to be exact.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Window {
    pub alpha: Score,
    pub beta: Score,
}

impl Window {
    /// All scores.
    pub const FULL: Self = Self {
        alpha: -INFINITE,
        beta: INFINITE,
    };

    /// The window for the view of `sign`, 1 for the first role and -1 for the second.
    #[inline]
    pub fn seen_by(self, sign: Score) -> Self {
        match sign {
            1 => self,
            _ => Self {
                alpha: -self.beta,
                beta: -self.alpha,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goals_have_scores_in_their_order() {
        let scores = [0, 20, 50, 80, 100].map(|goal| of_goal(goal, 100.0, 3));
        assert!(scores.is_sorted(), "{scores:?}");
        assert_eq!(scores[2], 0);
        assert_eq!((scores[0], scores[4]), (3 - WIN, WIN - 3));
        assert!(scores[1] > -PROVEN && scores[3] < PROVEN);
        assert_eq!(
            [scores[0], scores[2], scores[4]].map(share),
            [0.0, 0.5, 1.0]
        );
    }

    #[test]
    fn wins_are_counted_from_the_node_in_tables() {
        for score in [WIN - 9, 9 - WIN, 1234, 0] {
            let here = from_here(score, 4);
            assert_eq!(from_root(here, 4), score);
        }
        assert_eq!(from_here(WIN - 9, 4), WIN - 5);
        assert_eq!(from_here(9 - WIN, 4), 5 - WIN);
    }

    #[test]
    fn windows_turn_with_the_view() {
        let window = Window {
            alpha: -5,
            beta: 30,
        };
        assert_eq!(window.seen_by(1), window);
        let turned = window.seen_by(-1);
        assert_eq!((turned.alpha, turned.beta), (-30, 5));
        assert_eq!(turned.seen_by(-1), window);
    }
}
