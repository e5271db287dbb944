//! The handle that callers hold, and the conductor's thread behind it; or [`PlayerWork`], where
//! there are no threads.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use crossbeam::channel::{
    Receiver, RecvTimeoutError, Sender, after, bounded, never, select, unbounded,
};

use super::Conductor;
use super::running::RunningMatch;
use crate::companions::Companions;
use crate::messages::{Answer, Message, Reply, Status};
use crate::thread::{MatchFactory, OwnMatch, Thoughts};
use panza_config::Settings;
use panza_game::GameBuilders;
use panza_memory::MemoryService;
use panza_sync::{Instant, after as at, catch_panic, is_past, left_until, lock, spawn};
use panza_telemetry::Archive;

/// How long a player without threads rests where it has no match.
const LONGEST_REST: Duration = Duration::from_secs(60);

/// An event for the conductor's thread.
enum Event {
    Message(Box<Message>, Reply),
    /// An answer took this long to reach the wire.
    Delay(Duration),
    ShutDown,
}

/// A player: it answers messages through callbacks, from a thread of its own.
///
/// Clones are handles of the same player. No method but [`shut_down`](Self::shut_down) waits.
/// The player ends with its last handle.
#[derive(Clone)]
pub struct Player {
    events: Sender<Event>,
    running: Arc<RunningMatch>,
    gone: Receiver<()>,
    archive: Arc<Archive>,
}

impl Player {
    /// A player that is available.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn new(settings: &Settings, builders: GameBuilders) -> io::Result<Player> {
        Self::with_companions(settings, builders, None)
    }

    /// A player that is available, without threads: its messages are answered and its match is
    /// played in [`PlayerWork::work`]. Nothing is remembered. Companions search its matches too.
    pub fn without_threads(
        settings: &Settings,
        builders: GameBuilders,
        companions: Option<Arc<dyn Companions>>,
    ) -> (Player, PlayerWork) {
        let (events, inbox) = unbounded();
        let (alive, gone) = bounded::<()>(0);
        let archive = Arc::new(Archive::new(&settings.logs.folder));
        let own = OwnMatch::default();
        let factory = MatchFactory {
            builders,
            companions,
            memory: None,
            archive: Arc::clone(&archive),
            // The conductor looks at the advice after each step.
            wake: bounded(1).0,
            alive,
            own: Some(Arc::clone(&own)),
        };
        let running = Arc::new(RunningMatch::default());
        let settings = Arc::new(settings.clone());
        let conductor = Conductor::new(settings, Arc::clone(&running), Box::new(factory));
        let player = Player {
            events,
            running,
            gone,
            archive,
        };
        let work = PlayerWork {
            conductor,
            inbox,
            own,
        };
        (player, work)
    }

    /// A player that is available, and whose matches other processes search too.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn with_companions(
        settings: &Settings,
        builders: GameBuilders,
        companions: Option<Arc<dyn Companions>>,
    ) -> io::Result<Player> {
        let (events, inbox) = unbounded();
        // Nothing is ever sent: the channel is disconnected when all threads of the player are
        // gone.
        let (alive, gone) = bounded::<()>(0);
        // A channel of its own, since a match thread that held the inbox would keep the player from
        // ending.
        let (wake, woken) = bounded::<()>(1);
        let running = Arc::new(RunningMatch::default());
        let settings = Arc::new(settings.clone());
        let archive = Arc::new(Archive::new(&settings.logs.folder));
        let memory = &settings.memory;
        let factory = MatchFactory {
            builders,
            companions,
            memory: memory
                .enabled
                .then(|| MemoryService::new(&memory.path, memory.max_games)),
            archive: Arc::clone(&archive),
            wake,
            alive: alive.clone(),
            own: None,
        };
        let conductor = Conductor::new(settings, Arc::clone(&running), Box::new(factory));
        spawn("player", move || {
            run(conductor, &inbox, &woken);
            drop(alive);
        })?;
        Ok(Player {
            events,
            running,
            gone,
            archive,
        })
    }

    /// Whether a match runs.
    pub fn info(&self) -> Status {
        if self.running.is_some() {
            Status::Busy
        } else {
            Status::Available
        }
    }

    /// Whether the match of this id runs.
    pub fn is_playing(&self, match_id: &str) -> bool {
        self.running.is(match_id)
    }

    /// The logs of this player's matches, and of all others in the same folder.
    pub fn archive(&self) -> Arc<Archive> {
        Arc::clone(&self.archive)
    }

    /// Handles a message; the reply gets its answer, now or later.
    pub fn handle(&self, message: Message, reply: Reply) {
        if let Err(lost) = self.events.send(Event::Message(Box::new(message), reply))
            && let Event::Message(_, reply) = lost.into_inner()
        {
            reply(Answer::Busy);
        }
    }

    /// Records the time of an answer from its callback to the wire, so that later ones leave
    /// earlier by as much.
    pub fn note_delay(&self, delay: Duration) {
        let _ = self.events.send(Event::Delay(delay));
    }

    /// Ends the running match, and the player; pending answers are given. Waits for all threads to
    /// end, for `timeout` at most, and returns whether they did.
    pub fn shut_down(&self, timeout: Duration) -> bool {
        let _ = self.events.send(Event::ShutDown);
        self.gone.recv_timeout(timeout) == Err(RecvTimeoutError::Disconnected)
    }
}

/// The conductor's thread: ends with a shutdown, or with the last handle.
fn run(mut conductor: Conductor, inbox: &Receiver<Event>, woken: &Receiver<()>) {
    loop {
        let next = conductor.next_tick(Instant::now());
        let alarm = next.map_or_else(never, |next| after(left_until(next)));
        let event = select! {
            recv(inbox) -> event => match event {
                Ok(Event::ShutDown) | Err(_) => break,
                Ok(event) => Some(event),
            },
            recv(woken) -> _ => None,
            recv(alarm) -> _ => None,
        };
        take(&mut conductor, event);
    }
    conductor.shut_down(Instant::now());
    // Messages that came in between.
    for event in inbox.try_iter() {
        if let Event::Message(_, reply) = event {
            reply(Answer::Busy);
        }
    }
}

/// Lets the conductor handle an event, or look at the clocks.
fn take(conductor: &mut Conductor, event: Option<Event>) {
    // No game code runs here; this keeps the player alive through a defect of its own.
    let outcome = catch_panic(|| match event {
        Some(Event::Message(message, reply)) => {
            conductor.handle(*message, reply, Instant::now());
        }
        Some(Event::Delay(delay)) => conductor.note_delay(delay),
        Some(Event::ShutDown) => conductor.shut_down(Instant::now()),
        None => conductor.tick(Instant::now()),
    });
    if let Err(panic) = outcome {
        tracing::error!("the conductor panicked: {panic}");
        conductor.recover();
    }
}

/// The work of a player without threads. Its steps are short but for three: the build of a game,
/// its preparation, and a question to a prover.
pub struct PlayerWork {
    conductor: Conductor,
    inbox: Receiver<Event>,
    own: OwnMatch,
}

impl PlayerWork {
    /// Answers messages and plays for about this time. Returns how long there is nothing to do
    /// then, unless a message comes.
    pub fn work(&mut self, time: Duration) -> Duration {
        let until = at(time);
        loop {
            let event = self.inbox.try_recv().ok();
            let has_event = event.is_some();
            if has_event {
                take(&mut self.conductor, event);
            }
            // Each event of a match is followed before the next one comes, which may be a START.
            let next = self.conductor.next_tick(Instant::now());
            let rest = self.step(next);
            take(&mut self.conductor, None);
            let next = self.conductor.next_tick(Instant::now());
            let rest = next.map_or(rest, |next| rest.min(left_until(next)));
            if !has_event && !rest.is_zero() || is_past(until) {
                return rest;
            }
        }
    }

    /// Makes a step of the match, if one runs, and searches until then at most.
    fn step(&self, until: Option<Instant>) -> Duration {
        let mut own = lock(&self.own);
        let Some(of_match) = own.as_mut() else {
            return LONGEST_REST;
        };
        of_match.step_alone(until).unwrap_or_else(|| {
            *own = None;
            LONGEST_REST
        })
    }

    /// What the match that runs thinks of its position; `None` where nothing is known yet.
    pub fn thoughts(&self) -> Option<Thoughts> {
        lock(&self.own).as_mut()?.thoughts()
    }
}

#[cfg(test)]
mod tests;
