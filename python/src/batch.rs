//! Many states of a game, advanced together.
//!
//! A row of each array belongs to one state. A step reads all actions first, so that a wrong one
//! changes nothing. It then runs part of the rows on each thread.
//!
//! Invariants: the legal moves of a state that is over are all off, and its moves are ignored. The
//! random numbers of a row depend on the seed, the number of draws before, and the row, never on
//! the number of threads.
//!
//! Never uses: Python.

use std::sync::{Arc, Mutex};

use panza_gdl::{Id, MoveId};
use panza_machine::{NO_GOAL, NO_MOVE, StateRows, Stepper};
use panza_sync::{lock, unpoisoned};

use crate::batch_error::BatchError;
use crate::core::{Core, OVER};
use crate::roles::{Choice, write_bits};

/// Bytes of the largest batch.
const MAX_BYTES: usize = 8 << 30;

/// The last step ended the game, or it was over before.
pub const TERMINATED: u8 = 1;
/// The same without an end by the rules: too many steps, or a role without a legal move.
pub const TRUNCATED: u8 = 2;
/// The last step did that.
pub const ENDED_NOW: u8 = 4;

/// What a batch does by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Seed of all random numbers.
    pub seed: u64,
    /// Whether a state that is over is replaced by the initial one in the same step.
    pub auto_reset: bool,
    /// A game is truncated after this many steps.
    pub max_steps: u32,
    /// Threads of a step.
    pub threads: usize,
}

/// Many states of a game.
#[derive(Clone)]
pub struct Batch {
    /// The game.
    pub core: Arc<Core>,
    /// What it does by itself.
    pub options: Options,
    /// Random draws so far.
    pub draws: u64,
    /// The states.
    pub states: Vec<u64>,
    /// The legal moves, a bit for each.
    pub legal: Vec<u64>,
    /// Each role's goal at the end, or [`NO_GOAL`].
    pub goals: Vec<u8>,
    /// [`TERMINATED`], [`TRUNCATED`], [`ENDED_NOW`].
    pub flags: Vec<u8>,
    /// The player to move.
    pub player: Vec<i16>,
    /// Steps since the game began.
    pub steps: Vec<u32>,
}

/// A number that names an action.
pub trait ActionNumber: Copy + Send + Sync {
    /// The same as a wide number.
    fn wide(self) -> i64;
}

impl ActionNumber for i32 {
    fn wide(self) -> i64 {
        i64::from(self)
    }
}

impl ActionNumber for i64 {
    fn wide(self) -> i64 {
        self
    }
}

/// The actions of a step.
#[derive(Clone, Copy, Debug)]
pub enum Actions<'a, A> {
    /// One for each state, of the player to move.
    OfPlayer(&'a [A]),
    /// One for each state and role.
    OfRoles(&'a [A]),
}

/// In place of an action: the only legal move.
const ONLY_MOVE: i64 = -1;

impl Batch {
    /// Initial states.
    ///
    /// # Errors
    /// The states would take more than `MAX_BYTES` of memory.
    pub fn initial(core: &Arc<Core>, n: usize, options: Options) -> Result<Self, BatchError> {
        let mut batch = Self::with_rows(core, n, options)?;
        for row in 0..n {
            batch.set_initial(row);
        }
        Ok(batch)
    }

    /// Rows of zeros.
    fn with_rows(core: &Arc<Core>, n: usize, options: Options) -> Result<Self, BatchError> {
        let bytes = n.saturating_mul(Self::row_bytes(core));
        if bytes > MAX_BYTES {
            return Err(too_large(n, bytes));
        }
        let sizes = core.sizes;
        Ok(Self {
            core: Arc::clone(core),
            options,
            draws: 0,
            states: zeros(n, sizes.state_words)?,
            legal: zeros(n, sizes.legal_words)?,
            goals: zeros(n, sizes.n_roles)?,
            flags: zeros(n, 1)?,
            player: zeros(n, 1)?,
            steps: zeros(n, 1)?,
        })
    }

    /// Bytes of a state with all that is kept beside it.
    pub fn row_bytes(core: &Core) -> usize {
        let words = core.sizes.state_words + core.sizes.legal_words;
        8 * words + core.sizes.n_roles + 1 + 2 + 4
    }

    /// The number of states.
    pub fn len(&self) -> usize {
        self.flags.len()
    }

    /// Makes the row an initial state.
    pub fn set_initial(&mut self, row: usize) {
        let core = Arc::clone(&self.core);
        let mut part = self.part();
        part.set_initial(&core, row);
        copy_row(part.goals, row, &core.initial.goals, 0, core.sizes.n_roles);
        part.flags[row] = match (core.initial.is_terminal, core.initial.is_stuck) {
            (true, _) => TERMINATED,
            (false, true) => TRUNCATED,
            (false, false) => 0,
        };
    }

    /// Ends the game of a row where its state is not an end by the rules.
    pub fn end(&mut self, row: usize) {
        self.player[row] = OVER;
        let core = Arc::clone(&self.core);
        self.part().clear_legal(&core, row);
    }

    /// Whether a game is over and stays so.
    pub fn is_over(&self, row: usize) -> bool {
        self.player[row] == OVER
    }

    /// The words of a state.
    pub fn state(&self, row: usize) -> &[u64] {
        let n_words = self.core.sizes.state_words;
        &self.states[row * n_words..(row + 1) * n_words]
    }

    /// The legal moves of a state.
    pub fn legal(&self, row: usize) -> &[u64] {
        let n_words = self.core.sizes.legal_words;
        &self.legal[row * n_words..(row + 1) * n_words]
    }

    /// The goals of a state.
    pub fn goals(&self, row: usize) -> &[u8] {
        let n_roles = self.core.sizes.n_roles;
        &self.goals[row * n_roles..(row + 1) * n_roles]
    }

    /// States with these words, evaluated. Their games begin here.
    ///
    /// # Errors
    /// The states would take more than `MAX_BYTES` of memory.
    pub fn of_states(
        core: &Arc<Core>,
        states: &[u64],
        options: Options,
    ) -> Result<Self, BatchError> {
        let n = states.len() / core.sizes.state_words;
        let mut batch = Self::with_rows(core, n, options)?;
        batch.states.copy_from_slice(states);
        let mut terminal: Vec<bool> = zeros(n, 1)?;
        let mut stepper = core.stepper();
        let rows = StateRows {
            states: &mut batch.states,
            legal: &mut batch.legal,
            terminal: &mut terminal,
            goals: &mut batch.goals,
        };
        stepper.step(&[], rows);
        core.give_back(stepper);
        let mut part = batch.part();
        for (row, is_terminal) in terminal.into_iter().enumerate() {
            part.settle(core, row, is_terminal, u32::MAX);
            part.flags[row] &= !ENDED_NOW;
        }
        Ok(batch)
    }

    /// The states of some rows, in this order.
    ///
    /// # Errors
    /// The states would take more than `MAX_BYTES` of memory.
    pub fn select(&self, rows: &[usize]) -> Result<Self, BatchError> {
        let mut batch = Self::with_rows(&self.core, rows.len(), self.options)?;
        batch.draws = self.draws;
        let sizes = self.core.sizes;
        for (to, &from) in rows.iter().enumerate() {
            copy_row(&mut batch.states, to, &self.states, from, sizes.state_words);
            copy_row(&mut batch.legal, to, &self.legal, from, sizes.legal_words);
            copy_row(&mut batch.goals, to, &self.goals, from, sizes.n_roles);
            batch.flags[to] = self.flags[from];
            batch.player[to] = self.player[from];
            batch.steps[to] = self.steps[from];
        }
        Ok(batch)
    }

    /// Adds the states of another batch of the same game.
    ///
    /// # Errors
    /// The states would take more than `MAX_BYTES` of memory.
    pub fn append(&mut self, other: &Self) -> Result<(), BatchError> {
        let n = self.len() + other.len();
        let bytes = n.saturating_mul(Self::row_bytes(&self.core));
        if bytes > MAX_BYTES {
            return Err(too_large(n, bytes));
        }
        self.states.extend_from_slice(&other.states);
        self.legal.extend_from_slice(&other.legal);
        self.goals.extend_from_slice(&other.goals);
        self.flags.extend_from_slice(&other.flags);
        self.player.extend_from_slice(&other.player);
        self.steps.extend_from_slice(&other.steps);
        Ok(())
    }

    /// A number for each state that is the same for equal states.
    pub fn hash_of(&self, row: usize) -> u64 {
        let words = self.state(row).iter();
        words.fold(0x243f_6a88_85a3_08d3, |hash, &word| mix(hash ^ word))
    }

    /// Makes a step in every state that is not over, or only where `held` has no true.
    ///
    /// # Panics
    /// The number of actions is not that of the states, or of states and roles; or that of `held`
    /// is not that of the states.
    ///
    /// # Errors
    /// Names the first action that is not legal; no state has changed then.
    pub fn step<A: ActionNumber>(
        &mut self,
        actions: Actions<'_, A>,
        held: Option<&[bool]>,
    ) -> Result<(), BatchError> {
        let core = Arc::clone(&self.core);
        let options = self.options;
        let n = self.len();
        match actions {
            Actions::OfPlayer(actions) => assert_eq!(actions.len(), n),
            Actions::OfRoles(actions) => assert_eq!(actions.len(), n * core.sizes.n_roles),
        }
        assert!(held.is_none_or(|held| held.len() == n));
        let size = part_size(n, options.threads);
        let parts = self.part().split(&core, size);
        let failure = Mutex::new(None);
        let parts = parts.into_iter().enumerate().collect();
        let parts = in_parallel(parts, &|(index, part)| {
            let mut moves = Vec::new();
            let asked = Asked {
                actions,
                first: index * size,
                held,
            };
            if let Err((row, error)) = part.read(&core, asked, &mut moves) {
                let mut first = lock(&failure);
                if first.as_ref().is_none_or(|&(other, _)| row < other) {
                    *first = Some((row, error));
                }
            }
            (part, moves)
        });
        if let Some((_, error)) = unpoisoned(failure.into_inner()) {
            return Err(error);
        }
        in_parallel(parts, &|(mut part, moves)| {
            let mut stepper = core.stepper();
            part.step(&core, options, &moves, stepper.as_mut());
            core.give_back(stepper);
        });
        Ok(())
    }

    /// Draws a legal move for each role of each state that is not over, uniformly; elsewhere
    /// [`ONLY_MOVE`].
    pub fn random_actions(&mut self, out: &mut [i32]) {
        let core = &*self.core;
        let n_roles = core.sizes.n_roles;
        let seed = mix(self.options.seed ^ mix(self.draws));
        self.draws += 1;
        let n_words = core.sizes.legal_words;
        let size = part_size(self.len(), self.options.threads);
        let legal = self
            .legal
            .chunks(size * n_words)
            .zip(self.player.chunks(size));
        let parts = legal.zip(out.chunks_mut(size * n_roles)).enumerate();
        in_parallel(parts.collect(), &|(part, ((legal, player), out))| {
            let rows = legal.chunks_exact(n_words).zip(player).zip(part * size..);
            for (((legal, &player), row), out) in rows.zip(out.chunks_exact_mut(n_roles)) {
                if player == OVER {
                    out.fill(ONLY_MOVE as i32);
                    continue;
                }
                let start = seed.wrapping_add((row as u64).wrapping_mul(GOLDEN));
                let mut random = Stream(mix(start));
                for (moves, out) in core.roles.iter().zip(out) {
                    let drawn = moves.draw(legal, |bound| random.below(bound));
                    *out = drawn.map_or(ONLY_MOVE as i32, |action| action as i32);
                }
            }
        });
    }

    /// Writes for each state, role and move whether it is legal.
    pub fn write_masks(&self, out: &mut [bool]) {
        let core = &*self.core;
        let (n_roles, most) = (core.sizes.n_roles, core.max_moves.max(1));
        let n_words = core.sizes.legal_words;
        let size = part_size(self.len(), self.options.threads);
        let parts = self
            .legal
            .chunks(size * n_words)
            .zip(out.chunks_mut(size * n_roles * most));
        in_parallel(parts.collect(), &|(legal, out)| {
            let rows = legal.chunks_exact(n_words);
            for (legal, out) in rows.zip(out.chunks_exact_mut(n_roles * most)) {
                for (moves, out) in core.roles.iter().zip(out.chunks_exact_mut(most)) {
                    moves.write_flags(legal, out);
                }
            }
        });
    }

    /// Writes the same as bits, the lowest first; each role of a state begins with a new byte.
    pub fn write_packed_masks(&self, out: &mut [u8]) {
        let core = &*self.core;
        let n_bytes = core.max_moves.div_ceil(8).max(1);
        let (n_words, row_bytes) = (core.sizes.legal_words, core.sizes.n_roles * n_bytes);
        let size = part_size(self.len(), self.options.threads);
        let legal = self.legal.chunks(size * n_words);
        let parts = legal.zip(out.chunks_mut(size * row_bytes));
        in_parallel(parts.collect(), &|(legal, out)| {
            let rows = legal.chunks_exact(n_words);
            for (legal, out) in rows.zip(out.chunks_exact_mut(row_bytes)) {
                for (moves, out) in core.roles.iter().zip(out.chunks_exact_mut(n_bytes)) {
                    moves.write_packed(legal, out);
                }
            }
        });
    }

    /// Writes for each state and fact whether it holds.
    pub fn write_facts(&self, out: &mut [bool]) {
        let n_facts = self.core.info.facts.len().max(1);
        let states = self.states.chunks_exact(self.core.sizes.state_words);
        for (state, out) in states.zip(out.chunks_exact_mut(n_facts)) {
            write_bits(state, 0, out);
        }
    }

    /// Each role's reward of the last step: its goal over 100 where that ended the game, else 0.
    pub fn write_rewards(&self, out: &mut [f32]) {
        let n_roles = self.core.sizes.n_roles;
        let rows = self.goals.chunks_exact(n_roles).zip(&self.flags);
        for ((goals, &flags), out) in rows.zip(out.chunks_exact_mut(n_roles)) {
            let has_ended = flags & (ENDED_NOW | TERMINATED) == ENDED_NOW | TERMINATED;
            for (out, &goal) in out.iter_mut().zip(goals) {
                let is_defined = has_ended && goal != NO_GOAL;
                *out = if is_defined {
                    f32::from(goal) / 100.0
                } else {
                    0.0
                };
            }
        }
    }

    fn part(&mut self) -> Part<'_> {
        Part {
            states: &mut self.states,
            legal: &mut self.legal,
            goals: &mut self.goals,
            flags: &mut self.flags,
            player: &mut self.player,
            steps: &mut self.steps,
        }
    }
}

/// The actions that some rows read.
struct Asked<'a, A> {
    actions: Actions<'a, A>,
    /// The number of the first row in the batch.
    first: usize,
    /// The rows of the batch that make no step.
    held: Option<&'a [bool]>,
}

/// Some rows of a batch.
struct Part<'a> {
    states: &'a mut [u64],
    legal: &'a mut [u64],
    goals: &'a mut [u8],
    flags: &'a mut [u8],
    player: &'a mut [i16],
    steps: &'a mut [u32],
}

impl<'a> Part<'a> {
    /// Parts of this many rows; the last may have fewer.
    fn split(self, core: &Core, size: usize) -> Vec<Part<'a>> {
        let sizes = core.sizes;
        let parts = self
            .states
            .chunks_mut(size * sizes.state_words)
            .zip(self.legal.chunks_mut(size * sizes.legal_words))
            .zip(self.goals.chunks_mut(size * sizes.n_roles))
            .zip(self.flags.chunks_mut(size))
            .zip(self.player.chunks_mut(size))
            .zip(self.steps.chunks_mut(size));
        let part = |(((((states, legal), goals), flags), player), steps)| Part {
            states,
            legal,
            goals,
            flags,
            player,
            steps,
        };
        parts.map(part).collect()
    }

    /// Reads the joint move of each row.
    fn read<A: ActionNumber>(
        &self,
        core: &Core,
        asked: Asked<'_, A>,
        moves: &mut Vec<MoveId>,
    ) -> Result<(), (usize, BatchError)> {
        let Asked {
            actions,
            first,
            held,
        } = asked;
        let n_roles = core.sizes.n_roles;
        moves.reserve_exact(self.flags.len() * n_roles);
        let rows = self.legal.chunks_exact(core.sizes.legal_words);
        for (index, (legal, &player)) in rows.zip(&*self.player).enumerate() {
            let row = first + index;
            if player == OVER || held.is_some_and(|held| held[row]) {
                moves.extend((0..n_roles).map(|_| NO_MOVE));
                continue;
            }
            for (role, of_role) in core.roles.iter().enumerate() {
                let action = match actions {
                    Actions::OfRoles(actions) => actions[row * n_roles + role].wide(),
                    Actions::OfPlayer(actions) if player == role as i16 => actions[row].wide(),
                    Actions::OfPlayer(_) => ONLY_MOVE,
                };
                let mv = match action {
                    ONLY_MOVE => match of_role.choice(legal) {
                        Choice::Only(mv) => Some(mv),
                        _ => None,
                    },
                    _ => of_role
                        .move_of(action)
                        .filter(|mv| legal[mv.index() / 64] >> (mv.index() % 64) & 1 == 1),
                };
                let is_joint = matches!(actions, Actions::OfRoles(_));
                let Some(mv) = mv else {
                    let error = illegal(core, row, role, action, of_role.count(legal), is_joint);
                    return Err((row, error));
                };
                moves.push(mv);
            }
        }
        Ok(())
    }

    fn step(&mut self, core: &Core, options: Options, moves: &[MoveId], stepper: &mut dyn Stepper) {
        let n = self.flags.len();
        let mut terminal = vec![false; n];
        stepper.step(
            moves,
            StateRows {
                states: self.states,
                legal: self.legal,
                terminal: &mut terminal,
                goals: self.goals,
            },
        );
        let n_roles = core.sizes.n_roles;
        for (row, is_terminal) in terminal.into_iter().enumerate() {
            if moves[row * n_roles] == NO_MOVE {
                self.flags[row] &= !ENDED_NOW;
                if self.player[row] == OVER {
                    self.clear_legal(core, row);
                }
                continue;
            }
            self.steps[row] += 1;
            self.settle(core, row, is_terminal, options.max_steps);
            if options.auto_reset && self.player[row] == OVER {
                self.set_initial(core, row);
            }
        }
    }

    /// Sets what follows from a new state: flags, player, and no legal moves once it is over.
    #[inline]
    fn settle(&mut self, core: &Core, row: usize, is_terminal: bool, max_steps: u32) {
        let n_words = core.sizes.legal_words;
        let legal = &self.legal[row * n_words..(row + 1) * n_words];
        let (player, is_stuck) = core.player_of(legal);
        let is_truncated = !is_terminal && (is_stuck || self.steps[row] >= max_steps);
        if is_terminal || is_truncated {
            let how = if is_terminal { TERMINATED } else { TRUNCATED };
            self.flags[row] = how | ENDED_NOW;
            self.player[row] = OVER;
            self.clear_legal(core, row);
        } else {
            self.flags[row] = 0;
            self.player[row] = player;
        }
    }

    fn clear_legal(&mut self, core: &Core, row: usize) {
        let n_words = core.sizes.legal_words;
        self.legal[row * n_words..(row + 1) * n_words].fill(0);
    }

    /// Makes the row an initial state. Its flags and its goals stay: they tell of the game before.
    fn set_initial(&mut self, core: &Core, row: usize) {
        let sizes = core.sizes;
        copy_row(self.states, row, &core.initial.state, 0, sizes.state_words);
        copy_row(self.legal, row, &core.initial.legal, 0, sizes.legal_words);
        self.player[row] = core.initial.player;
        self.steps[row] = 0;
    }
}

/// Rows of each part of a batch that threads share.
fn part_size(n: usize, threads: usize) -> usize {
    n.div_ceil(threads.max(1)).max(MIN_ROWS)
}

/// Rows for which a thread is worth its start.
const MIN_ROWS: usize = 256;

/// Does the work on each item, on a thread of its own except for the first.
pub fn in_parallel<T: Send, R: Send>(items: Vec<T>, work: &(impl Fn(T) -> R + Sync)) -> Vec<R> {
    let mut items = items.into_iter();
    let Some(first) = items.next() else {
        return Vec::new();
    };
    if items.len() == 0 {
        return vec![work(first)];
    }
    std::thread::scope(|scope| {
        let threads: Vec<_> = items.map(|item| scope.spawn(move || work(item))).collect();
        let mut results = vec![work(first)];
        for thread in threads {
            let result = thread.join();
            results.push(result.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        results
    })
}

/// Says which action is not legal, and what is expected.
fn illegal(
    core: &Core,
    row: usize,
    role: usize,
    action: i64,
    n_legal: u32,
    is_joint: bool,
) -> BatchError {
    let name = core.info.roles.as_slice().get(role).map_or("", |name| name);
    let n_moves = core.roles[role].len();
    let text = u32::try_from(action).ok();
    let text = text.and_then(|action| core.move_text(role, action));
    let message = match (action, text) {
        (ONLY_MOVE, _) if !is_joint => format!(
            "in state {row} the role `{name}` has {n_legal} legal moves although it is not the \
             player to move: expected actions of shape (batch, roles)"
        ),
        (ONLY_MOVE, _) => format!(
            "in state {row} the role `{name}` has {n_legal} legal moves: expected the number of \
             one of them, found -1, which stands for the only legal move"
        ),
        (_, None) => format!(
            "in state {row} the role `{name}` has moves 0 to {}: found action {action}",
            n_moves.saturating_sub(1)
        ),
        (_, Some(text)) => format!(
            "in state {row} action {action}, `{text}`, is not legal for the role `{name}`; see \
             `legal_action_mask`"
        ),
    };
    BatchError::Illegal(message)
}

fn too_large(n: usize, bytes: usize) -> BatchError {
    BatchError::TooLarge(format!(
        "{n} states of this game take {bytes} bytes; a batch may take {MAX_BYTES}"
    ))
}

/// Zeros for `n` rows, without an abort where there is no memory.
fn zeros<T: Default + Clone>(n: usize, row: usize) -> Result<Vec<T>, BatchError> {
    let mut zeros = Vec::new();
    let count = n.saturating_mul(row);
    if zeros.try_reserve_exact(count).is_err() {
        return Err(too_large(n, count.saturating_mul(size_of::<T>())));
    }
    zeros.resize(count, T::default());
    Ok(zeros)
}

fn copy_row<T: Copy>(to: &mut [T], row: usize, from: &[T], from_row: usize, size: usize) {
    to[row * size..(row + 1) * size].copy_from_slice(&from[from_row * size..(from_row + 1) * size]);
}

/// 2^64 over the golden ratio.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The mixing function of `SplitMix64` (Steele, Lea and Flood, 2014).
#[inline]
pub fn mix(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(GOLDEN);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

/// The random numbers of one row: `SplitMix64`.
struct Stream(u64);

impl Stream {
    /// A number below a bound, each exactly as likely as any other. The bound must not be 0.
    #[inline]
    fn below(&mut self, bound: u32) -> u32 {
        loop {
            let number = mix(self.0);
            self.0 = self.0.wrapping_add(GOLDEN);
            let product = (number >> 32) * u64::from(bound);
            // Lemire's rejection (2019).
            if (product as u32) >= bound || (product as u32) >= bound.wrapping_neg() % bound {
                return (product >> 32) as u32;
            }
        }
    }
}
