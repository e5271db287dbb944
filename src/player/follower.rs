//! A follower: a thread that knows a legal move of the position, whatever the match thread does.
//!
//! The match thread may be held up for longer than a clock, by a slow search, by one that hangs, or
//! by a panic. A follower makes the same moves on a position of its own and publishes the first
//! legal move of each. Each build of a game has one. That of the fallback leaves a position to that
//! of the machine, which is quicker, and makes its moves when that publishes nothing.
//!
//! Invariant: a panic of game code ends the follower only.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::link::{Advice, FollowerLink};
use super::position::Position;
use crate::build::BuiltGame;
use crate::telemetry::panic_text;

/// The time that the follower of the fallback gives that of the machine.
const PATIENCE: Duration = Duration::from_millis(50);

/// The follower of a build.
pub(super) struct Follower<'a> {
    position: Position,
    link: FollowerLink,
    /// Ends the follower.
    stop: &'a AtomicBool,
    /// Called whenever a legal move was published.
    wake: &'a dyn Fn(),
}

impl<'a> Follower<'a> {
    /// A follower of a role, which is given by its name and its place in the rulesheet. A legal
    /// move of the initial position is published.
    ///
    /// # Errors
    /// The text of a panic.
    pub fn new(
        game: &BuiltGame,
        (name, place): &(String, usize),
        link: FollowerLink,
        stop: &'a AtomicBool,
        wake: &'a dyn Fn(),
    ) -> Result<Self, String> {
        catching(|| {
            let mut follower = Self {
                position: Position::new(&game.machine, (name, *place)),
                link,
                stop,
                wake,
            };
            follower.publish(0);
            follower
        })
    }

    /// Follows the match to its end.
    ///
    /// # Errors
    /// The text of a panic.
    pub fn run(mut self) -> Result<(), String> {
        catching(|| {
            let mut n_made = 0;
            while let Some(moves) = self.link.next_moves(n_made, PATIENCE) {
                for moves in &moves {
                    if self.is_stopped() {
                        return;
                    }
                    self.position.advance(moves);
                }
                n_made += moves.len();
                let advice = self.publish(n_made);
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
        let advice = first_legal(&mut self.position, number);
        if self.is_stopped() {
            return None;
        }
        self.link.publish(advice.clone());
        (self.wake)();
        advice
    }
}

fn catching<T>(action: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(action)).map_err(|panic| panic_text(&*panic))
}

/// Our first legal move in the position with this number.
fn first_legal(position: &mut Position, number: usize) -> Option<Advice> {
    let first = position.legal_moves().first().copied()?;
    let text = position.info().move_text(first);
    (!text.is_empty()).then_some(Advice {
        position: number,
        text,
        value: None,
        visits: 0,
        is_proven: false,
        is_only: false,
        repeat_is_legal: true,
    })
}
