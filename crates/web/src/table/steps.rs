//! The work of a table in steps: builds its game, trains, and plays or studies it.
//!
//! A table has a thread, which makes one step after the other. Where there are no threads,
//! `Tables::work` makes those of all tables in turns. The longest steps are the build and the
//! training.
//!
//! Invariant: a panic in a step ends the table, and what it shows says so.
//!
//! Never uses: other tables.

use std::mem;
use std::time::Duration;

use crossbeam::channel::{Receiver, RecvTimeoutError, TryRecvError};

use super::game::Game;
use crate::host::{Building, Command, Host, Rest};
use crate::study::StudySession;
use panza_game::GameBuilders;
use panza_sync::catch_panic;

/// A table and how far it is.
pub(crate) struct TableWork {
    host: Host,
    builders: GameBuilders,
    stage: Stage,
}

enum Stage {
    Building,
    Training(Box<Game>),
    Playing(Box<Game>),
    Studying(Box<StudySession>),
    Ended,
}

impl TableWork {
    /// A table whose game is still to be built.
    pub fn new(host: Host, builders: GameBuilders) -> Self {
        Self {
            host,
            builders,
            stage: Stage::Building,
        }
    }

    /// Makes steps until nobody wants the table any more. `is_busy` says whether a match runs.
    pub fn run(mut self, inbox: &Receiver<Command>, is_busy: impl Fn() -> bool + Sync) {
        let mut command = None;
        loop {
            command = match self.step(command.take(), &is_busy) {
                Rest::Ended => return,
                Rest::Sleep(time) => {
                    std::thread::sleep(time);
                    None
                }
                Rest::Wait(Duration::ZERO) => match inbox.try_recv() {
                    Ok(command) => Some(command),
                    Err(TryRecvError::Empty) => None,
                    Err(TryRecvError::Disconnected) => return self.end(),
                },
                Rest::Wait(time) => match inbox.recv_timeout(time) {
                    Ok(command) => Some(command),
                    Err(RecvTimeoutError::Timeout) => None,
                    Err(RecvTimeoutError::Disconnected) => return self.end(),
                },
            }
        }
    }

    /// Makes a step, with a command where the last one waited for one. `is_busy` says whether a
    /// match runs.
    pub fn step(&mut self, command: Option<Command>, is_busy: &(impl Fn() -> bool + Sync)) -> Rest {
        catch_panic(|| self.advance(command, is_busy)).unwrap_or_else(|text| {
            tracing::error!("a table ended: {text}");
            self.host.fail(&format!("this table failed: {text}"));
            Rest::Ended
        })
    }

    /// A step. The stage is that of the end where it panics.
    fn advance(&mut self, command: Option<Command>, is_busy: &(impl Fn() -> bool + Sync)) -> Rest {
        let host = &mut self.host;
        let at_once = Rest::Sleep(Duration::ZERO);
        let (stage, rest) = match mem::replace(&mut self.stage, Stage::Ended) {
            Stage::Building => match host.build(&self.builders, is_busy) {
                Ok(Building::After(time)) => (Stage::Building, Rest::Sleep(time)),
                Ok(Building::Done(built)) if host.view.study.is_some() => {
                    match host.begin_study(built.game) {
                        Ok(session) => (Stage::Studying(Box::new(session)), at_once),
                        Err(why) => return self.fail(&why),
                    }
                }
                Ok(Building::Done(built)) => {
                    let game = host.begin_game(built);
                    (Stage::Training(Box::new(game)), at_once)
                }
                Err(why) => return self.fail(&why),
            },
            Stage::Training(mut game) => match host.train(&mut game, is_busy) {
                Some(time) => (Stage::Training(game), Rest::Sleep(time)),
                None => {
                    host.resume(&mut game);
                    (Stage::Playing(game), at_once)
                }
            },
            Stage::Playing(mut game) => {
                let rest = host.play(&mut game, command, is_busy);
                (Stage::Playing(game), rest)
            }
            Stage::Studying(mut session) => {
                let rest = host.study(&mut session, command, is_busy);
                (Stage::Studying(session), rest)
            }
            Stage::Ended => (Stage::Ended, Rest::Ended),
        };
        self.stage = stage;
        rest
    }

    fn fail(&mut self, why: &str) -> Rest {
        self.host.fail(why);
        Rest::Ended
    }

    /// Keeps what was done, since the table is closed.
    pub fn end(&mut self) {
        match &mut self.stage {
            Stage::Playing(game) => {
                self.host.keep_game(game, true);
            }
            Stage::Studying(session) => {
                self.host.keep_study(session, true);
            }
            Stage::Building | Stage::Training(_) | Stage::Ended => {}
        }
    }
}
