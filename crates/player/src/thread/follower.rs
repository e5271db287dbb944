//! A follower: a thread that finds a legal move of each position, independently of the match
//! thread.
//!
//! The match thread may be held up for longer than a clock, by a slow search, by one that hangs, or
//! by a panic. A follower makes the same moves on a position of its own and publishes the first
//! legal move of each, which is found before any other is listed. A move that is legal in every
//! position is published before the position is known. Each build of a game has one. That of the
//! fallback leaves a position to that of the machine, which is quicker, and makes its moves when
//! that publishes nothing.
//!
//! Invariant: a panic of game code ends the follower only.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::common::{Advice, FollowerLink, OurRole, Position};
use panza_game::BuiltGame;
use panza_gdl::{MoveId, RoleId};
use panza_sync::catch_panic;

/// The time for which the follower of the fallback waits for that of the machine.
const FALLBACK_DELAY: Duration = Duration::from_millis(50);

/// The follower of a build.
pub(crate) struct Follower<'a> {
    role: RoleId,
    position: Position,
    /// A move that is legal in every position.
    unconditional: Option<MoveId>,
    link: FollowerLink,
    /// Set to end the follower.
    stop: &'a AtomicBool,
}

impl<'a> Follower<'a> {
    /// A follower of a role. A legal move of the initial position is published.
    ///
    /// # Errors
    /// The text of a panic.
    pub fn new(
        game: &BuiltGame,
        role: &OurRole,
        link: FollowerLink,
        stop: &'a AtomicBool,
    ) -> Result<Self, String> {
        catch_panic(|| {
            let role = role.id(game.machine.info());
            let mut position = Position::new(&game.machine);
            position.set_urgent();
            let unconditional = position.unconditional_move(role);
            let mut follower = Self {
                role,
                position,
                unconditional,
                link,
                stop,
            };
            follower.publish(0);
            // Takes longer than what START needs, and would delay the first PLAY.
            game.machine.prepare();
            follower
        })
    }

    /// Follows the match to its end.
    ///
    /// # Errors
    /// The text of a panic.
    pub fn run(mut self) -> Result<(), String> {
        catch_panic(|| {
            let mut n_made = 0;
            while let Some(moves) = self.link.next_moves(n_made, FALLBACK_DELAY) {
                // It is known before the position is, which may be beyond the limits.
                n_made += moves.len();
                let unconditional = self.unconditional;
                let mut advice = unconditional.and_then(|mv| self.publish_move(n_made, mv));
                for moves in &moves {
                    if self.is_stopped() {
                        return;
                    }
                    self.position.advance(moves);
                }
                if advice.is_none() {
                    advice = self.publish(n_made);
                }
                // This takes more questions, so it comes after what an answer needs.
                if let (Some(mut advice), Some(last), false) =
                    (advice, moves.last(), self.is_stopped())
                {
                    let position = &mut self.position;
                    advice.repeat_is_legal = position.is_legal(last) && !position.is_terminal();
                    self.link.publish(Some(advice));
                }
            }
        })
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Publishes a legal move of the position with this number.
    fn publish(&mut self, number: usize) -> Option<Advice> {
        let first = self.position.first_legal(self.role)?;
        self.publish_move(number, first)
    }

    /// Publishes this legal move of the position.
    fn publish_move(&mut self, number: usize, mv: MoveId) -> Option<Advice> {
        let advice = advice(&self.position, number, mv);
        if self.is_stopped() || advice.is_none() {
            return None;
        }
        self.link.publish(advice.clone());
        self.link.wake();
        advice
    }
}

/// Advice of a legal move of the position with this number.
fn advice(position: &Position, number: usize, mv: MoveId) -> Option<Advice> {
    let text = position.info().move_text(mv);
    (!text.is_empty()).then_some(Advice::of_legal(number, text))
}
