//! Prospects: for each role, how far its greatest goal is and how many moves it would have, as
//! inputs of an evaluation.
//!
//! The distance is that of the additive delete relaxation (h_add; Bonet and Geffner 2001): a true
//! fact costs nothing, a false one costs a move of the role and what that move needs, a conjunction
//! costs the sum of its parts, and a disjunction its cheapest part. Other roles stand still, and
//! turns and step counters cost nothing. Where a chain of stones wins, that is the number of stones
//! missing on the shortest way; where a line wins, those missing in the best line. The moves are
//! those that would be legal if it were the role's turn.
//!
//! Costs are bytes, computed for [`WIDTH`] states at once. Each role gets a word of bits, one for
//! each bound that a number meets, so that an evaluation reads them like facts.
//!
//! Invariants: equal states have equal words; a role's word does not depend on the order of roles.
//!
//! Never uses: evaluations, random games, clocks.

#![allow(unsafe_code)]

mod compile;
mod program;
mod vector;
mod words;

#[cfg(test)]
mod tests;

use panza_gdl::{CHANCE_ROLE, Id};
use panza_propnet::Network;
use panza_sync::Budget;

use compile::compile;
use program::{Buffer, Program};
use vector::UNREACHABLE;

/// Roles of a game with prospects, at most.
pub const MAX_ROLES: usize = 8;
/// The bits of a role's word.
pub const WORD_BITS: usize = 64;
/// Distances are left out where every role is nearer to its goal at the start, or cannot reach it:
/// they would say nothing, as where a goal is that the other role has no move.
const MIN_DISTANCE: u8 = 2;
/// The states that are computed together.
pub const WIDTH: usize = vector::WIDTH;

/// The numbers of a role in a state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Prospect {
    /// Moves of the role to its greatest goal in the relaxation; 255 where it is out of reach, or
    /// where distances say nothing.
    distance: u8,
    /// Moves that are legal if it is the role's turn, but for those without effect.
    moves: u16,
}

/// The prospects of a game's roles, compiled.
#[derive(Clone, PartialEq, Debug)]
pub struct Prospects {
    n_facts: usize,
    /// For each role; `None` for the one that draws.
    programs: Vec<Option<Program>>,
}

impl Prospects {
    /// Compiles the prospects of a game. `None` for more than [`MAX_ROLES`] roles, where the
    /// network is too large, and where the budget is spent.
    pub fn find(network: &Network, budget: &mut Budget) -> Option<Self> {
        if network.roles.len() > MAX_ROLES {
            return None;
        }
        let compiled = network.roles.enumerate().map(|(role, name)| {
            Some(match name.as_str() {
                CHANCE_ROLE => None,
                _ => Some(compile(network, role, budget)?),
            })
        });
        let mut found = Self {
            n_facts: network.facts.len(),
            programs: compiled.collect::<Option<_>>()?,
        };
        let mut first = vec![0; found.n_facts.div_ceil(64).max(1)];
        for base in &network.initial {
            first[base.index() / 64] |= 1 << (base.index() % 64);
        }
        let first = found.of_state(&first);
        let is_told = |it: &Prospect| (MIN_DISTANCE..UNREACHABLE).contains(&it.distance);
        if !first.iter().any(is_told) {
            let programs = found.programs.iter_mut().flatten();
            programs.for_each(Program::leave_out_distance);
        }
        Some(found)
    }

    /// The facts of the game.
    pub fn n_facts(&self) -> usize {
        self.n_facts
    }

    /// The words of a state's prospects: one for each role.
    pub fn n_words(&self) -> usize {
        self.programs.len()
    }

    /// The steps and operands of the programs of all roles, each of one to two
    /// nanoseconds for [`WIDTH`] states with AVX2.
    pub fn size(&self) -> usize {
        let programs = self.programs.iter().flatten();
        programs.map(Program::size).sum()
    }

    /// Buffers for [`words`](Self::words).
    pub fn buffer(&self) -> ProspectBuffer {
        let programs = self.programs.iter().flatten();
        ProspectBuffer {
            costs: Buffer::new(programs),
            numbers: Vec::new(),
        }
    }

    /// Hands the words of some states, one word for each role, to `put` with the place of the
    /// state. At most [`WIDTH`] states, the bits of facts.
    ///
    /// # Panics
    /// There are more states.
    pub fn words(
        &self,
        states: &[&[u64]],
        buffer: &mut ProspectBuffer,
        mut put: impl FnMut(usize, &[u64]),
    ) {
        self.read(states, buffer);
        let n_roles = self.programs.len();
        let mut words = [0; MAX_ROLES];
        for (place, of_state) in buffer.numbers.chunks(n_roles).enumerate() {
            for (role, word) in words[..n_roles].iter_mut().enumerate() {
                *word = self.word_of(role, of_state);
            }
            put(place, &words[..n_roles]);
        }
    }

    /// The numbers of each role in one state.
    fn of_state(&self, state: &[u64]) -> Vec<Prospect> {
        let mut buffer = self.buffer();
        self.read(&[state], &mut buffer);
        buffer.numbers
    }

    fn read(&self, states: &[&[u64]], buffer: &mut ProspectBuffer) {
        assert!(states.len() <= WIDTH, "too many states at once");
        let n_roles = self.programs.len();
        buffer.numbers.clear();
        let none = Prospect {
            distance: UNREACHABLE,
            moves: 0,
        };
        buffer.numbers.resize(states.len() * n_roles, none);
        for (role, program) in self.programs.iter().enumerate() {
            let Some(program) = program else { continue };
            let (distances, moves) = program.run(states, &mut buffer.costs);
            for place in 0..states.len() {
                buffer.numbers[place * n_roles + role] = Prospect {
                    distance: distances[place],
                    moves: moves[place],
                };
            }
        }
    }

    /// The bits of a role, from the numbers of all roles.
    fn word_of(&self, role: usize, of_state: &[Prospect]) -> u64 {
        if self.programs[role].is_none() {
            return 0;
        }
        let own = of_state[role];
        let others = of_state.iter().enumerate();
        let others = others.filter(|&(other, _)| other != role && self.programs[other].is_some());
        let others = others.map(|(_, prospect)| prospect);
        let nearest = others.clone().map(|it| it.distance).min();
        let most = others.map(|it| it.moves).max();
        let lead = nearest.map_or(0, |it| it.saturating_sub(own.distance));
        let lead_in_moves = most.map_or(0, |most| own.moves.saturating_sub(most));
        words::word(own.distance, own.moves, lead, lead_in_moves)
    }
}

/// Buffers, kept so that nothing is allocated for each state.
#[derive(Clone, Debug)]
pub struct ProspectBuffer {
    costs: Buffer,
    /// For each state those of all roles.
    numbers: Vec<Prospect>,
}
