//! A game as the batches and the jobs use it: compiled once, shared by all threads.
//!
//! Loading compiles the network and nothing else. What only some calls need is made by the first
//! of them: the code that steps in lanes, the playouts in lanes, and the game as a search wants it.
//!
//! Invariants: facts and moves have the numbers of the network built from the rules; these do not
//! depend on the processor. What is made is never changed.
//!
//! Never uses: Python.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use panza_game::{BuildError, BuiltGame, LanesSource, PlayoutPolicy};
use panza_gdl::{Id, IdVec, MoveId, RoleId, Rules, sexpr};
use panza_machine::lanes::interpret::Features;
use panza_machine::{
    CounterMachine, ExpanderLayout, GameInfo, GangLayout, Machine, NetworkInfo, RowSizes,
    SequentialStepper, StateRows, Stepper,
};
use panza_propnet::Network;
use panza_sync::{Budget, lock};

use crate::batch_error::BatchError;
use crate::planes::Planes;
use crate::roles::{Choice, RoleMoves};

/// Playouts that run at once on a thread.
const PLAYOUT_LANES: usize = 512;

/// The sizes of a game, for [`Core::sizes`].
#[derive(Clone, Debug)]
pub struct GameSizes {
    /// Ground rules.
    pub ground_rules: usize,
    /// Gates of the network before the passes, and after them.
    pub gates: [usize; 2],
    /// The time that the load took.
    pub load_time: Duration,
}

/// A compiled game.
pub struct Core {
    /// The rules.
    pub rules: Rules,
    /// The engine for one state at a time.
    pub counter: Arc<CounterMachine>,
    /// The names.
    pub info: NetworkInfo,
    /// The network as built from the rules. `None` for very large games.
    pub network: Option<Arc<Network>>,
    /// Sizes, for people.
    pub built: GameSizes,
    /// The sizes of rows.
    pub sizes: RowSizes,
    /// Each role's moves as bits of a row.
    pub roles: Vec<RoleMoves>,
    /// The most moves of a role.
    pub max_moves: usize,
    /// The initial state.
    pub initial: InitialState,
    /// The role that draws its moves at random.
    pub chance: Option<usize>,
    /// For each move whether the next state depends on it.
    matters: IdVec<MoveId, bool>,
    source: LanesSource,
    /// Time and bytes for its networks.
    limits: (Duration, usize),
    steps: OnceLock<Option<Arc<ExpanderLayout>>>,
    steppers: Mutex<Vec<Box<dyn Stepper>>>,
    playouts: OnceLock<Option<Arc<GangLayout>>>,
    full: Mutex<Option<BuiltGame>>,
    planes: OnceLock<Result<Arc<Planes>, BatchError>>,
    fact_numbers: OnceLock<HashMap<String, usize>>,
}

/// The initial state and what is known about it.
#[derive(Clone, Debug, Default)]
pub struct InitialState {
    /// Its words.
    pub state: Vec<u64>,
    /// The legal moves; none if the game is over at once.
    pub legal: Vec<u64>,
    /// Whether it is terminal.
    pub is_terminal: bool,
    /// Each role's goal.
    pub goals: Vec<u8>,
    /// Whether some role has no legal move.
    pub is_stuck: bool,
    /// See [`Core::player_of`].
    pub player: i16,
}

/// In place of the player to move: the game is over.
pub const OVER: i16 = -2;
/// In place of the player to move: several roles choose at once, or none has a choice.
pub const NOBODY: i16 = -1;

impl Core {
    /// Compiles rules within these limits of time and bytes, which later networks get too.
    ///
    /// # Errors
    /// The limits were exceeded.
    pub fn new(
        rules: Rules,
        limits: (Duration, usize),
        stop: &Arc<AtomicBool>,
    ) -> Result<Self, BuildError> {
        let started = Instant::now();
        let budget = Budget::within(limits.0, limits.1).stopped_by(stop);
        let compiled = panza_game::compile(&rules, &budget)?;
        let counter = Arc::new(compiled.machine);
        let network = &compiled.lanes.network;
        let info = NetworkInfo::new(network);
        let n_moves = info.moves.len();
        let sizes = RowSizes {
            n_roles: info.roles.len(),
            state_words: info.state_words(),
            legal_words: RowSizes::legal_words_of(n_moves),
        };
        let roles: Vec<RoleMoves> = info.role_moves.iter().map(RoleMoves::new).collect();
        let most = info.role_moves.iter().map(|range| range.len()).max();
        let matters = network.effective_moves();
        let mut core = Self {
            rules,
            chance: info.chance_role().map(Id::index),
            info,
            network: compiled.network,
            built: GameSizes {
                ground_rules: compiled.ground_rules,
                gates: [compiled.gates_full, compiled.gates_optimised],
                load_time: Duration::ZERO,
            },
            sizes,
            roles,
            max_moves: most.unwrap_or(0),
            initial: InitialState::default(),
            matters,
            source: compiled.lanes,
            counter,
            limits,
            steps: OnceLock::new(),
            steppers: Mutex::new(Vec::new()),
            playouts: OnceLock::new(),
            full: Mutex::new(None),
            planes: OnceLock::new(),
            fact_numbers: OnceLock::new(),
        };
        core.initial = core.look_at_initial();
        core.built.load_time = started.elapsed();
        Ok(core)
    }

    fn look_at_initial(&self) -> InitialState {
        let mut initial = InitialState {
            state: self.counter.initial_state(),
            legal: vec![0; self.sizes.legal_words],
            goals: vec![0; self.sizes.n_roles],
            ..InitialState::default()
        };
        let mut terminal = [false];
        let rows = StateRows {
            states: &mut initial.state,
            legal: &mut initial.legal,
            terminal: &mut terminal,
            goals: &mut initial.goals,
        };
        self.sequential_stepper().step(&[], rows);
        initial.is_terminal = terminal[0];
        (initial.player, initial.is_stuck) = self.player_of(&initial.legal);
        if initial.is_terminal || initial.is_stuck {
            initial.player = OVER;
            initial.legal.fill(0);
        }
        initial
    }

    /// The only role with a choice among legal moves; where none has one, the only role whose move
    /// has an effect. Else [`NOBODY`]. And whether some role has no legal move.
    #[inline]
    pub fn player_of(&self, legal: &[u64]) -> (i16, bool) {
        let mut player = None;
        let mut n_choosing = 0;
        let mut is_stuck = false;
        for (role, moves) in self.roles.iter().enumerate() {
            match moves.choice(legal) {
                Choice::None => is_stuck = true,
                Choice::Only(_) => {}
                Choice::Several => {
                    n_choosing += 1;
                    player = Some(role as i16);
                }
            }
        }
        if n_choosing == 0 {
            player = self.acting_role(legal);
        }
        let player = player.filter(|_| n_choosing < 2).unwrap_or(NOBODY);
        (player, is_stuck)
    }

    /// The only role whose only legal move has an effect.
    fn acting_role(&self, legal: &[u64]) -> Option<i16> {
        let has_effect = |moves: &RoleMoves| match moves.choice(legal) {
            Choice::Only(mv) => self.matters.get(mv) == Some(&true),
            _ => false,
        };
        let roles = self.roles.iter().enumerate();
        let mut acting = roles.filter(|(_, moves)| has_effect(moves));
        let (role, _) = acting.next()?;
        acting.next().is_none().then_some(role as i16)
    }

    /// The number of moves of a role.
    pub fn moves_of(&self, role: usize) -> Range<u32> {
        let range = self.info.role_moves.get(RoleId::from_index(role));
        range.cloned().unwrap_or(0..0)
    }

    /// The words of a move of a role, by its number among the role's moves.
    pub fn move_text(&self, role: usize, action: u32) -> Option<&str> {
        let range = self.moves_of(role);
        let mv = range
            .start
            .checked_add(action)
            .filter(|mv| *mv < range.end)?;
        self.info
            .moves
            .get(MoveId(mv))
            .map(|(_, text)| text.as_str())
    }

    /// The number of a move among the role's moves.
    pub fn action_of(&self, role: usize, text: &str) -> Option<u32> {
        let mv = self
            .info
            .find_move(RoleId::from_index(role), &canonical(text)?)?;
        Some(mv.0 - self.moves_of(role).start)
    }

    /// The state in which exactly these facts hold.
    ///
    /// # Errors
    /// Names the first fact that no state of the game holds.
    pub fn state_from_facts(&self, facts: &[String]) -> Result<Vec<u64>, String> {
        let numbers = self.fact_numbers.get_or_init(|| {
            let facts = self.info.facts.as_slice();
            facts.iter().cloned().zip(0..).collect()
        });
        let mut state = vec![0; self.sizes.state_words];
        for fact in facts {
            let number = numbers.get(fact).or_else(|| numbers.get(&canonical(fact)?));
            let number: usize =
                *number.ok_or_else(|| format!("`{fact}` is no fact of a state of this game"))?;
            state[number / 64] |= 1 << (number % 64);
        }
        Ok(state)
    }

    fn sequential_stepper(&self) -> SequentialStepper {
        SequentialStepper::new(self.sizes, Arc::clone(&self.counter).reasoner())
    }

    /// The engine that steps batches: `lanes`, or `counters` where the game is too large for it.
    pub fn engine(&self) -> &'static str {
        match self.steps() {
            Some(_) => "lanes",
            None => "counters",
        }
    }

    fn steps(&self) -> Option<&Arc<ExpanderLayout>> {
        let steps = || panza_game::compile_steps(&self.source);
        self.steps.get_or_init(steps).as_ref()
    }

    /// A stepper, given back by [`give_back`](Self::give_back).
    pub fn stepper(&self) -> Box<dyn Stepper> {
        let free = {
            let mut steppers = lock(&self.steppers);
            steppers.pop()
        };
        free.unwrap_or_else(|| match self.steps() {
            Some(layout) => layout.stepper(),
            None => Box::new(self.sequential_stepper()),
        })
    }

    /// Keeps a stepper for the next call.
    pub fn give_back(&self, stepper: Box<dyn Stepper>) {
        const MOST: usize = 64;
        let mut steppers = lock(&self.steppers);
        if steppers.len() < MOST {
            steppers.push(stepper);
        }
    }

    /// Uniformly random playouts in lanes. `None` where the game is too large for them.
    pub fn playouts(&self) -> Option<&Arc<GangLayout>> {
        let compile = || {
            let programs = self
                .source
                .programs(&self.budget(), PlayoutPolicy::Uniform)?;
            let n_words = PLAYOUT_LANES / 64;
            let layout =
                GangLayout::new(&programs, self.sizes.n_roles, Features::detect(), n_words);
            Some(Arc::new(layout))
        };
        self.playouts.get_or_init(compile).as_ref()
    }

    /// The planes of observations.
    ///
    /// # Errors
    /// They have too many cells.
    pub fn planes(&self) -> Result<Arc<Planes>, BatchError> {
        let machine: Arc<dyn Machine> = self.counter.clone();
        let facts = self.info.facts.as_slice();
        let find = || Planes::find(&machine, facts, &self.rules).map(Arc::new);
        self.planes.get_or_init(find).clone()
    }

    fn budget(&self) -> Budget {
        Budget::within(self.limits.0, self.limits.1)
    }

    /// The game as a search wants it, built again from the rules with the fastest playouts.
    ///
    /// # Errors
    /// The limits were exceeded.
    pub fn full(&self, stop: &Arc<AtomicBool>) -> Result<BuiltGame, BuildError> {
        let mut full = lock(&self.full);
        if let Some(game) = &*full {
            return Ok(game.clone());
        }
        let budget = self.budget().stopped_by(stop);
        let game = panza_game::build(&self.rules, &budget)?;
        *full = Some(game.clone());
        Ok(game)
    }
}

/// The canonical form of a text; nothing where it is not exactly one expression.
fn canonical(text: &str) -> Option<String> {
    Some(sexpr::parse_one(text)?.canonical())
}
