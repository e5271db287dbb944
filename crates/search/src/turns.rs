//! Whose turn it is, read from a single fact.
//!
//! Random games tell which fact holds where the first role chooses and not where the second does,
//! or the other way round. The search then knows the mover of a state without the machine.
//!
//! Invariant: the mover that the fact tells is a guess. The search compares it with the legal moves
//! of each node that it expands.
//!
//! Never uses: clocks.

use std::sync::Arc;

use panza_gdl::{Id, MoveId, RoleId};
use panza_machine::{Machine, Reasoner};
use panza_sync::Random;

/// Random games, joint moves of each at most, and of all from which on no other game begins.
const GAMES: usize = 64;
const MAX_LENGTH: usize = 500;
const ENOUGH_MOVES: usize = 1_000;

/// How two roles take turns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Turns {
    /// The index of the fact, and the role that chooses where it holds; `None` where no fact tells.
    fact: Option<(usize, usize)>,
}

/// What was seen of the states in which a role chooses.
struct Seen {
    /// Facts that always held, and those that ever did.
    always: Vec<u64>,
    ever: Vec<u64>,
}

impl Turns {
    /// The turns in random games. `None` where both roles chose at once somewhere, where it is not
    /// a game of two roles without chance, and once `is_over` says so.
    pub fn find(
        machine: &Arc<dyn Machine>,
        random: &mut Random,
        is_over: impl Fn() -> bool,
    ) -> Option<Self> {
        let info = machine.info();
        if info.n_roles() != 2 || info.chance_role().is_some() {
            return None;
        }
        let initial = machine.initial_state();
        let mut seen = [(); 2].map(|()| Seen {
            always: vec![u64::MAX; initial.len()],
            ever: vec![0; initial.len()],
        });
        let mut reasoner = Arc::clone(machine).reasoner();
        let mut n_moves = 0;
        for _ in 0..GAMES {
            n_moves += play(&mut *reasoner, initial.clone(), &mut seen, random, &is_over)?;
            if n_moves >= ENOUGH_MOVES {
                break;
            }
        }
        let tells = |role: usize| {
            let [of, other] = [&seen[role], &seen[1 - role]];
            let words = of.always.iter().zip(&other.ever).enumerate();
            let mut found = words.filter_map(|(index, (always, ever))| {
                let facts = always & !ever;
                (facts != 0).then(|| 64 * index + facts.trailing_zeros() as usize)
            });
            found.next().map(|fact| (fact, role))
        };
        Some(Self {
            fact: tells(0).or_else(|| tells(1)),
        })
    }

    /// Turns that this fact tells: its index, and the role that chooses where it holds.
    pub fn told_by(fact: Option<(usize, usize)>) -> Self {
        Self {
            fact: fact.filter(|&(_, role)| role < 2),
        }
    }

    /// The fact that tells, as in [`told_by`](Self::told_by).
    pub fn fact(self) -> Option<(usize, usize)> {
        self.fact
    }

    /// The role that chooses in a state, as far as the fact tells.
    #[inline]
    pub(super) fn mover(self, state: &[u64]) -> Option<usize> {
        let (fact, role) = self.fact?;
        let holds = state.get(fact / 64)? >> (fact % 64) & 1 == 1;
        Some(if holds { role } else { 1 - role })
    }

    /// Trusts the fact no more, since it was wrong.
    pub(super) fn forget(&mut self) {
        self.fact = None;
    }
}

/// Plays a random game. Returns its joint moves; `None` where both roles choose at once, and where
/// there is no time.
fn play(
    reasoner: &mut dyn Reasoner,
    mut state: Vec<u64>,
    seen: &mut [Seen; 2],
    random: &mut Random,
    is_over: &impl Fn() -> bool,
) -> Option<usize> {
    let mut next = Vec::with_capacity(state.len());
    for length in 0..MAX_LENGTH {
        if is_over() {
            return None;
        }
        reasoner.set_state(&state);
        if reasoner.is_terminal() {
            return Some(length);
        }
        let mut joint_move: [MoveId; 2] = [MoveId(0); 2];
        let mut n_choosers = 0;
        for (role, chosen) in joint_move.iter_mut().enumerate() {
            let moves = reasoner.legal_moves(RoleId::from_index(role));
            if moves.is_empty() {
                return Some(length);
            }
            *chosen = *random.choose(moves);
            if moves.len() > 1 {
                n_choosers += 1;
                let Seen { always, ever } = &mut seen[role];
                for ((always, ever), word) in always.iter_mut().zip(ever).zip(&state) {
                    *always &= word;
                    *ever |= word;
                }
            }
        }
        if n_choosers > 1 {
            return None;
        }
        reasoner.next_state(&joint_move, &mut next);
        std::mem::swap(&mut state, &mut next);
    }
    Some(MAX_LENGTH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_read_from_a_fact() {
        for (name, takes_turns) in [
            ("ticTacToe", true),
            ("breakthrough", true),
            ("connectFour", true),
            ("connectFourSimultaneous", false),
        ] {
            let machine = panza_testing::game(name).machine;
            let turns = Turns::find(&machine, &mut Random::new(1), || false);
            assert_eq!(turns.is_some(), takes_turns, "{name}");
            if let Some(turns) = turns {
                assert_eq!(turns.mover(&machine.initial_state()), Some(0), "{name}");
            }
        }
    }
}
