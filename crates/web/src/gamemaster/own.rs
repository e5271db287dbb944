//! The exchange with a page of Gamemaster where there are no threads.
//!
//! A message is taken and its reply looked for later: the player answers while it works.
//!
//! Invariant: a message has its reply in the end, also where the player gives no answer.
//!
//! Never uses: HTTP, logs.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::Duration;

use super::companions::Orders;
use super::relay::{MatchProgress, RelayReply, RelayedMessage};
use super::{Gamemaster, Translation};
use panza_config::Settings;
use panza_player::{Answer, Companions, GameBuilders, Player, PlayerWork};
use panza_sync::Instant;

/// A player without threads, and its matches in Gamemaster.
pub struct OwnPlayer {
    gamemaster: Gamemaster,
    player: Player,
    work: PlayerWork,
}

/// A reply that is awaited.
pub struct AwaitedReply {
    answer: Receiver<Answer>,
}

/// What becomes of a message.
pub enum Relay {
    /// It has its reply.
    Reply(RelayReply),
    /// The player answers it later.
    Awaited(AwaitedReply),
}

impl OwnPlayer {
    /// A player with these settings, whose matches the companions with these orders search too.
    pub fn new(settings: &Settings, orders: Option<Arc<Orders>>) -> Self {
        let companions = orders.map(|orders| orders as Arc<dyn Companions>);
        let builders = GameBuilders::standard();
        let (player, work) = Player::without_threads(settings, builders, companions);
        Self {
            gamemaster: Gamemaster::default(),
            player,
            work,
        }
    }

    /// The player, for those who are silent while it plays.
    pub fn player(&self) -> &Player {
        &self.player
    }

    /// Takes the message that a page passes on.
    ///
    /// # Errors
    /// Says what is wrong with it.
    pub fn take(&mut self, body: &[u8]) -> Result<Relay, String> {
        let relayed = RelayedMessage::read(body)?;
        let messages = match self.gamemaster.translate(&relayed, Instant::now())? {
            Translation::Reply(reply) => {
                let progress = MatchProgress::default();
                return Ok(Relay::Reply(RelayReply { reply, progress }));
            }
            Translation::Messages(messages) => messages,
        };
        let mut answer = channel().1;
        for message in messages {
            let (sender, receiver) = channel();
            answer = receiver;
            let reply = move |answer| {
                // Only the last answer counts, and the page may have gone on.
                let _ = sender.send(answer);
            };
            self.player.handle(message, Box::new(reply));
        }
        Ok(Relay::Awaited(AwaitedReply { answer }))
    }

    /// The reply, if it is there.
    ///
    /// # Errors
    /// Says why the player does not play.
    pub fn reply(&self, awaited: &AwaitedReply) -> Option<Result<RelayReply, String>> {
        let answer = match awaited.answer.try_recv() {
            Ok(answer) => answer,
            Err(TryRecvError::Empty) => return None,
            Err(TryRecvError::Disconnected) => Answer::Busy,
        };
        Some(self.gamemaster.answer(&answer).map(|reply| RelayReply {
            reply,
            progress: MatchProgress::of(self.work.thoughts()),
        }))
    }

    /// Plays for about this time. Returns how long there is nothing to do then, unless a message
    /// comes.
    pub fn work(&mut self, time: Duration) -> Duration {
        self.work.work(time)
    }
}
