//! A game manager: plays one match with players over HTTP, as ggp-base's GameServer does.
//!
//! START goes to all players, then PLAY with the last joint move at each step, then STOP. A
//! missing, late or illegal move is replaced by a random legal one, and the fault is recorded. A
//! player that says that it failed at START has a fault too. In an [`Opening`] the players are
//! asked as always, and its moves are made instead of their answers.
//!
//! Invariants: each joint move is legal by the reference prover. A match ends within a given number
//! of joint moves. An interrupted match is aborted at all players.

pub mod messages;
mod opening;
mod referee;
pub(crate) mod wire;

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use thiserror::Error;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinSet;

pub use opening::Opening;
use panza_cli::output::counted;
use panza_gdl::{Rules, TermId};
use panza_prover::ProverError;
use panza_sync::{Random, lock};
use referee::Referee;
use wire::{Address, NoAnswer, Reply, ask};

/// A match of more joint moves than this is aborted.
pub const MAX_STEPS: u32 = 10_000;

/// The player of one role.
#[derive(Clone, Debug)]
pub struct Seat {
    /// Its name, as the `Receiver` header has it.
    pub name: String,
    /// How it is reached.
    pub player: SeatPlayer,
}

/// How a player is reached.
#[derive(Clone, Debug)]
pub enum SeatPlayer {
    /// Over HTTP.
    Remote(Address),
    /// The game manager plays its uniformly random legal moves; clones share the numbers.
    Random(Arc<Mutex<Random>>),
    /// The game manager plays its legal move whose text comes first.
    FirstLegal,
}

/// The clocks of a match, in seconds.
#[derive(Clone, Copy, Debug)]
pub struct Clocks {
    /// From START to the first PLAY.
    pub start: u32,
    /// For each move.
    pub play: u32,
}

/// Time limits beside the clocks.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// For a connection.
    pub connect: Duration,
    /// For a move, beyond the play clock.
    pub play_margin: Duration,
    /// For the answer to ABORT.
    pub abort: Duration,
}

impl Default for Patience {
    /// The limits of GameServer.
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            play_margin: Duration::from_secs(1),
            abort: Duration::from_secs(1),
        }
    }
}

/// A match to play.
#[derive(Clone, Debug)]
pub struct MatchPlan<'a> {
    /// Its name; one symbol.
    pub id: String,
    /// The rules.
    pub rules: &'a Rules,
    /// The rules as START carries them.
    pub rules_text: &'a str,
    /// One player per role, in role order.
    pub seats: Vec<Seat>,
    /// The clocks.
    pub clocks: Clocks,
    /// Time limits beside them.
    pub patience: Patience,
    /// The joint moves with which it begins.
    pub opening: Opening,
    /// A match of more joint moves than this is aborted; [`MAX_STEPS`] unless there is a reason.
    pub max_steps: u32,
    /// Seed of the moves that replace missing ones.
    pub seed: u64,
}

/// A kind of request.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Request {
    /// The match begins.
    Start,
    /// The next move is due.
    Play,
    /// The match is over.
    Stop,
}

impl Request {
    /// The clock that runs, for people.
    pub fn clock_name(self, step: u32) -> String {
        match self {
            Request::Start => "start clock".to_string(),
            Request::Play | Request::Stop => format!("step {}, play clock", step + 1),
        }
    }
}

/// A kind of fault of a player.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FaultKind {
    /// No answer within the clock.
    Timeout,
    /// No connection, or one that broke.
    Connection,
    /// An answer that is no legal move.
    Illegal,
    /// The player says by its HTTP status that it failed.
    Failed,
    /// The player was not fit for the match, by what was found out after it.
    Unfit,
}

impl FaultKind {
    /// Its name in results.
    pub fn as_str(self) -> &'static str {
        match self {
            FaultKind::Timeout => "timeout",
            FaultKind::Connection => "connection",
            FaultKind::Illegal => "illegal",
            FaultKind::Failed => "failed",
            FaultKind::Unfit => "unfit",
        }
    }
}

/// One fault.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Fault {
    /// The role, by position in role order.
    pub role: usize,
    /// The request without a proper answer.
    pub request: Request,
    /// Joint moves made before it.
    pub step: u32,
    /// The kind.
    pub kind: FaultKind,
    /// What came instead of a legal move, or why nothing came.
    pub detail: String,
}

/// One role's move in a step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RoleTurn {
    /// The move made, as text.
    pub mv: String,
    /// From request to answer or time limit.
    pub time: Duration,
    /// What was wrong with the answer, so that the move is not the player's.
    pub fault: Option<Fault>,
}

/// How a match ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ending {
    /// In a terminal state.
    Terminal,
    /// In a state that is not terminal and in which a role has no legal move.
    Stuck,
    /// Aborted after the greatest number of joint moves.
    Endless,
}

/// A match that was played.
#[derive(Clone, Debug)]
pub struct MatchRecord {
    /// How it ended.
    pub ending: Ending,
    /// The roles without a legal move in the last state, where that ended the match.
    pub stuck: Vec<usize>,
    /// Each role's goal in the last state; nothing where it is not defined.
    pub goals: Vec<Option<u8>>,
    /// The joint moves, each in role order.
    pub moves: Vec<Vec<String>>,
    /// The number of the first of them that the opening made.
    pub forced_steps: usize,
    /// All faults, in the order of the requests.
    pub faults: Vec<Fault>,
    /// From START to the end.
    pub time: Duration,
}

/// Why a match was not played to an end.
#[derive(Debug, Error)]
pub enum MatchError {
    /// The rules could not be evaluated.
    #[error(transparent)]
    Referee(#[from] ProverError),
    /// Not one player per role.
    #[error("{} for {}", counted(*found as u64, "player"), counted(*expected as u64, "role"))]
    WrongNumberOfPlayers {
        /// Players given.
        found: usize,
        /// Roles of the game.
        expected: usize,
    },
    /// The opening is not one of these rules.
    #[error("the opening has `{0}`, which is not legal there")]
    Opening(String),
    /// It was cancelled, and the match was aborted at the players.
    #[error("interrupted")]
    Interrupted,
}

/// What a match reports while it is played.
pub trait Spectator {
    /// Before START and before each PLAY, which the players have `clock` to answer; `step` joint
    /// moves have been made.
    fn waiting(&mut self, _request: Request, _step: u32, _clock: Duration) {}
    /// After START, in the initial state; `faults` are those at START.
    fn started(&mut self, _faults: &[Fault], _facts: &[String]) {}
    /// After each joint move; `facts` hold in the new state.
    fn moved(&mut self, _step: u32, _turns: &[RoleTurn], _facts: &[String]) {}
}

/// Without output.
impl Spectator for () {}

impl Spectator for &mut dyn Spectator {
    fn waiting(&mut self, request: Request, step: u32, clock: Duration) {
        (**self).waiting(request, step, clock);
    }

    fn started(&mut self, faults: &[Fault], facts: &[String]) {
        (**self).started(faults, facts);
    }

    fn moved(&mut self, step: u32, turns: &[RoleTurn], facts: &[String]) {
        (**self).moved(step, turns, facts);
    }
}

/// A unique id for a match, as one symbol; `number` distinguishes matches of one millisecond.
pub fn match_id(game: &str, number: u32) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let game: String = game.chars().filter(|&c| is_plain(c)).collect();
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    format!("panza.{game}.{}.{}", now.as_millis(), number + 1)
}

/// Plays a match. Must not be called from a thread of the runtime itself. When `cancelled` becomes
/// true the match is aborted.
///
/// # Errors
/// The rules cannot be evaluated, or the match was cancelled.
pub fn play_match(
    plan: &MatchPlan<'_>,
    runtime: &Handle,
    cancelled: &watch::Receiver<bool>,
    spectator: &mut impl Spectator,
) -> Result<MatchRecord, MatchError> {
    let referee = Referee::new(plan.rules)?;
    let (found, expected) = (plan.seats.len(), referee.roles().len());
    if found != expected {
        return Err(MatchError::WrongNumberOfPlayers { found, expected });
    }
    let is_told_nothing = |seat: &Seat| !matches!(seat.player, SeatPlayer::Remote(_));
    let is_led = plan.seats.iter().map(is_told_nothing).collect();
    let mut table = Table {
        plan,
        runtime,
        cancelled: cancelled.clone(),
        referee,
        random: Random::new(plan.seed),
        moves: Vec::new(),
        faults: Vec::new(),
        stuck: Vec::new(),
        is_led,
    };
    let started = Instant::now();
    match table.play(spectator) {
        Ok((ending, goals)) => Ok(MatchRecord {
            ending,
            stuck: table.stuck,
            goals,
            forced_steps: plan.opening.moves.len().min(table.moves.len()),
            moves: table.moves,
            faults: table.faults,
            time: started.elapsed(),
        }),
        Err(error) => {
            table.abort();
            Err(error)
        }
    }
}

struct Table<'a> {
    plan: &'a MatchPlan<'a>,
    runtime: &'a Handle,
    cancelled: watch::Receiver<bool>,
    referee: Referee,
    random: Random,
    moves: Vec<Vec<String>>,
    faults: Vec<Fault>,
    stuck: Vec<usize>,
    /// By role: whether some PLAY has named another move than the legal one that the player had
    /// answered, or the role has no player over HTTP.
    is_led: Vec<bool>,
}

/// One player's answer and how long it took.
type Answer = (Result<Reply, NoAnswer>, Duration);

impl Table<'_> {
    fn play(
        &mut self,
        spectator: &mut impl Spectator,
    ) -> Result<(Ending, Vec<Option<u8>>), MatchError> {
        let plan = self.plan;
        let Clocks { start, play } = plan.clocks;
        let roles = self.referee.roles().to_vec();
        let starts = roles
            .iter()
            .map(|role| messages::start(&plan.id, role, plan.rules_text, start, play))
            .collect();
        let clock = Duration::from_secs(start.into());
        spectator.waiting(Request::Start, 0, clock);
        self.ask_without_moves(Request::Start, starts, clock)?;
        spectator.started(&self.faults, &self.referee.facts());
        while !self.referee.is_over()? {
            let legal = self.referee.legal_moves()?;
            let is_stuck = |&role: &usize| legal[role].is_empty();
            self.stuck = (0..legal.len()).filter(is_stuck).collect();
            let is_endless = self.step_number() >= plan.max_steps;
            if is_endless || !self.stuck.is_empty() {
                let goals = self.referee.goals()?;
                self.abort();
                let is_stuck = !self.stuck.is_empty();
                let ending = if is_stuck {
                    Ending::Stuck
                } else {
                    Ending::Endless
                };
                return Ok((ending, goals));
            }
            spectator.waiting(Request::Play, self.step_number(), self.move_clock());
            let turns = self.step(&legal)?;
            spectator.moved(self.step_number(), &turns, &self.referee.facts());
        }
        let goals = self.referee.goals()?;
        let stop = messages::stop(&plan.id, self.moves.last().map(Vec::as_slice));
        let clock = Duration::from_secs(play.into());
        self.ask_without_moves(Request::Stop, vec![stop; roles.len()], clock)?;
        Ok((Ending::Terminal, goals))
    }

    fn step_number(&self) -> u32 {
        self.moves.len() as u32
    }

    /// The clock for the next move.
    fn move_clock(&self) -> Duration {
        let MatchPlan {
            opening, clocks, ..
        } = self.plan;
        let forced = opening.moves.get(self.moves.len());
        let clock = opening.clock.filter(|_| forced.is_some());
        let clock = clock.unwrap_or(clocks.play);
        // While a PLAY is unanswered, one with the same moves would look like itself sent again.
        let is_again = forced.is_some() && forced == self.moves.last();
        let clock = if is_again {
            clock.max(clocks.play)
        } else {
            clock
        };
        Duration::from_secs(clock.into())
    }

    fn step(&mut self, legal: &[Vec<TermId>]) -> Result<Vec<RoleTurn>, MatchError> {
        let plan = self.plan;
        let last = self.moves.last().map(Vec::as_slice);
        let play = messages::play(&plan.id, last);
        let is_again = last == plan.opening.moves.get(self.moves.len()).map(Vec::as_slice);
        let clock = self.move_clock();
        let is_short = clock < Duration::from_secs(plan.clocks.play.into());
        let margin = if is_short {
            Duration::ZERO
        } else {
            plan.patience.play_margin
        };
        let until = Instant::now() + clock + margin;
        let answers = self.ask_all(vec![play; legal.len()], clock + margin)?;
        let forced = self.forced(legal)?;
        let mut joint_move = Vec::with_capacity(legal.len());
        let mut turns = Vec::with_capacity(legal.len());
        let mut is_ambiguous = false;
        for (role, ((answer, time), legal)) in answers.into_iter().zip(legal).enumerate() {
            let (answered, fault) = self.answered(role, answer, legal);
            let mv = forced.as_ref().map_or(answered, |moves| moves[role]);
            if forced.is_some() && (mv != answered || fault.is_some()) {
                is_ambiguous |= is_again && !self.is_led[role];
                self.is_led[role] |= fault.is_none();
            }
            // A player has the play clock, so it may still search.
            let fault = fault.filter(|(kind, _)| !(is_short && *kind == FaultKind::Timeout));
            let fault = fault.map(|(kind, detail)| self.note(Request::Play, role, kind, detail));
            joint_move.push(mv);
            turns.push(RoleTurn {
                mv: self.referee.show(mv),
                time,
                fault,
            });
        }
        if is_ambiguous {
            // A player that does not know yet that its moves are made for it may take the next PLAY
            // for this one, sent again because the answer was lost: not after the clock.
            let clock_end = async { tokio::time::sleep_until(until.into()).await };
            self.unless_cancelled(clock_end)?;
        }
        let opening = &plan.opening;
        if opening.clock.is_some() && self.moves.len() + 1 == opening.moves.len() {
            // A player that answers messages in turn may search for the play clock at each, and is
            // behind then. INFO waits for it, so that the next move has its whole clock.
            let clock = Duration::from_secs(plan.clocks.play.into()) * opening.moves.len() as u32;
            self.ask_all(vec!["( INFO )".to_string(); legal.len()], clock)?;
        }
        self.referee.advance(&joint_move)?;
        self.moves
            .push(turns.iter().map(|turn| turn.mv.clone()).collect());
        Ok(turns)
    }

    /// The joint move of the opening that is made now, where there is one.
    fn forced(&mut self, legal: &[Vec<TermId>]) -> Result<Option<Vec<TermId>>, MatchError> {
        let Some(texts) = self.plan.opening.moves.get(self.moves.len()) else {
            return Ok(None);
        };
        let read = |(text, legal): (&String, &Vec<_>)| self.referee.read_move(text, legal);
        let moves: Option<Vec<TermId>> = texts.iter().zip(legal).map(read).collect();
        let moves = moves.filter(|moves| moves.len() == legal.len());
        let missing = || MatchError::Opening(texts.join(" "));
        moves.ok_or_else(missing).map(Some)
    }

    /// The move of an answer; where that has none, another one, and why.
    fn answered(
        &mut self,
        role: usize,
        answer: Result<Reply, NoAnswer>,
        legal: &[TermId],
    ) -> (TermId, Option<(FaultKind, String)>) {
        // Drawn in any case, so that a seed's later moves do not depend on earlier faults.
        let replacement = legal[self.random.below(legal.len() as u32) as usize];
        match (&self.plan.seats[role].player, answer) {
            (SeatPlayer::FirstLegal, _) => (legal[0], None),
            (SeatPlayer::Random(random), _) => {
                let mut random = lock(random);
                (legal[random.below(legal.len() as u32) as usize], None)
            }
            (SeatPlayer::Remote(_), Ok(reply)) => {
                match self.referee.read_move(&reply.text, legal) {
                    Some(mv) => (mv, None),
                    None => (replacement, Some(no_move(&reply))),
                }
            }
            (SeatPlayer::Remote(_), Err(no_answer)) => (replacement, Some(described(no_answer))),
        }
    }

    /// Sends requests whose answers have no moves. A missing answer is a fault, and so is that of a
    /// player that fails at START: it cannot play.
    fn ask_without_moves(
        &mut self,
        request: Request,
        bodies: Vec<String>,
        clock: Duration,
    ) -> Result<(), MatchError> {
        for (role, (answer, _)) in self.ask_all(bodies, clock)?.into_iter().enumerate() {
            let (kind, detail) = match answer {
                Err(no_answer) => described(no_answer),
                Ok(reply) if request == Request::Start && is_refusal(&reply) => no_move(&reply),
                Ok(_) => continue,
            };
            self.note(request, role, kind, detail);
        }
        Ok(())
    }

    fn note(&mut self, request: Request, role: usize, kind: FaultKind, detail: String) -> Fault {
        let fault = Fault {
            request,
            step: self.step_number(),
            role,
            kind,
            detail,
        };
        self.faults.push(fault.clone());
        fault
    }

    /// Sends each role's body to its player, all at once, and waits for all answers.
    fn ask_all(&mut self, bodies: Vec<String>, clock: Duration) -> Result<Vec<Answer>, MatchError> {
        let connect = self.plan.patience.connect;
        let asking = ask_seats(&self.plan.seats, bodies, connect, clock);
        self.unless_cancelled(asking)
    }

    /// Waits for work, unless the match is cancelled.
    fn unless_cancelled<T>(&mut self, work: impl Future<Output = T>) -> Result<T, MatchError> {
        let cancelled = &mut self.cancelled;
        self.runtime.block_on(async {
            tokio::select! {
                biased;
                // An error means that the match cannot be cancelled any more.
                Ok(_) = cancelled.wait_for(|&cancelled| cancelled) => Err(MatchError::Interrupted),
                done = work => Ok(done),
            }
        })
    }

    /// Sends ABORT to all players and ignores their answers.
    fn abort(&self) {
        let bodies = vec![messages::abort(&self.plan.id); self.plan.seats.len()];
        let Patience { connect, abort, .. } = self.plan.patience;
        self.runtime.block_on(ask_seats(
            &self.plan.seats,
            bodies,
            connect.min(abort),
            abort,
        ));
    }
}

async fn ask_seats(
    seats: &[Seat],
    bodies: Vec<String>,
    connect: Duration,
    clock: Duration,
) -> Vec<Answer> {
    // Names with characters outside ASCII do not fit in a header.
    let is_plain = |name: &str| name.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    let names = seats.iter().map(|seat| seat.name.as_str());
    let names = names.map(|name| if is_plain(name) { name } else { "?" });
    let players: Arc<str> = names.collect::<Vec<_>>().join(", ").into();
    // Players without an address have no answers.
    let mut answers: Vec<Answer> = vec![(Ok(Reply::default()), Duration::ZERO); seats.len()];
    let mut asking = JoinSet::new();
    for (position, (seat, body)) in seats.iter().cloned().zip(bodies).enumerate() {
        let SeatPlayer::Remote(address) = seat.player else {
            continue;
        };
        let players = Arc::clone(&players);
        answers[position].0 = Err(NoAnswer::Connection("the request was lost".to_string()));
        asking.spawn(async move {
            let started = Instant::now();
            let answer = ask(&address, &seat.name, &players, body, connect, clock).await;
            (position, (answer, started.elapsed()))
        });
    }
    while let Some(joined) = asking.join_next().await {
        if let Ok((position, answer)) = joined {
            answers[position] = answer;
        }
    }
    answers
}

fn described(no_answer: NoAnswer) -> (FaultKind, String) {
    match no_answer {
        NoAnswer::Timeout => (FaultKind::Timeout, "no answer in time".to_string()),
        NoAnswer::Connection(why) => (FaultKind::Connection, why),
    }
}

/// Whether a player refuses a START.
fn is_refusal(reply: &Reply) -> bool {
    reply.is_failure && !reply.text.eq_ignore_ascii_case("ready")
}

/// What an answer is that has no legal move.
fn no_move(reply: &Reply) -> (FaultKind, String) {
    let kind = match reply.is_failure {
        true => FaultKind::Failed,
        false => FaultKind::Illegal,
    };
    (kind, shortened(&reply.text))
}

/// An answer for a message: its first hundred characters.
fn shortened(answer: &str) -> String {
    if answer.is_empty() {
        return "an empty answer".to_string();
    }
    let cut: String = answer.chars().take(100).collect();
    let dots = if cut.len() < answer.len() { "..." } else { "" };
    format!("`{}{dots}`", cut.escape_debug())
}
