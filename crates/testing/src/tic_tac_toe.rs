//! Tic-tac-toe on two bitboards: the fast game of tests and benchmarks.

use std::sync::Arc;

use panza_gdl::{MoveId, RoleId};
use panza_machine::{GameInfo, Machine, PlayoutEnd, Reasoner, UnknownFact};
use panza_sync::Random;

const LINES: [u64; 8] = [0o007, 0o070, 0o700, 0o111, 0o222, 0o444, 0o421, 0o124];
const FULL: u64 = 0o777;
/// A role's moves are `role * ROLE + cell`, and `role * ROLE + NOOP`.
const ROLE: u32 = 16;
const NOOP: u32 = 9;

/// The game. A state is one word: crosses in bits 0 to 8, noughts in bits 16 to 24. Crosses begin.
pub struct TicTacToe;

fn crosses(state: u64) -> u64 {
    state & FULL
}

fn noughts(state: u64) -> u64 {
    state >> 16 & FULL
}

/// The role to move.
fn turn(state: u64) -> u32 {
    crosses(state).count_ones() - noughts(state).count_ones()
}

fn has_line(board: u64) -> bool {
    LINES.map(|line| board & line == line).contains(&true)
}

fn is_over(state: u64) -> bool {
    has_line(crosses(state)) || has_line(noughts(state)) || crosses(state) | noughts(state) == FULL
}

fn goals(state: u64) -> [u8; 2] {
    if has_line(crosses(state)) {
        [100, 0]
    } else if has_line(noughts(state)) {
        [0, 100]
    } else {
        [50, 50]
    }
}

fn mark(state: u64, cell: u32) -> u64 {
    state | 1 << (cell + 16 * turn(state))
}

impl GameInfo for TicTacToe {
    fn n_roles(&self) -> usize {
        2
    }

    fn role_name(&self, role: RoleId) -> &str {
        ["xplayer", "oplayer"][role.0 as usize]
    }

    fn move_text(&self, mv: MoveId) -> String {
        match mv.0 % ROLE {
            NOOP => "noop".to_owned(),
            cell => format!("(mark {} {})", cell / 3 + 1, cell % 3 + 1),
        }
    }

    fn find_move(&self, role: RoleId, text: &str) -> Option<MoveId> {
        (0..=NOOP)
            .map(|cell| MoveId(role.0 * ROLE + cell))
            .find(|&mv| self.move_text(mv) == text)
    }

    fn state_facts(&self, state: &[u64]) -> Vec<String> {
        vec![format!(
            "(board {:o} {:o})",
            crosses(state[0]),
            noughts(state[0])
        )]
    }

    fn state_from_facts(&self, facts: &[String]) -> Result<Vec<u64>, UnknownFact> {
        Err(UnknownFact(facts.join(" ")))
    }
}

impl Machine for TicTacToe {
    fn kind(&self) -> &'static str {
        "bitboard"
    }
    fn info(&self) -> &dyn GameInfo {
        self
    }

    fn initial_state(&self) -> Vec<u64> {
        vec![0]
    }

    fn reasoner(self: Arc<Self>) -> Box<dyn Reasoner> {
        Box::new(Board {
            state: 0,
            legal: Vec::with_capacity(9),
        })
    }
}

struct Board {
    state: u64,
    legal: Vec<MoveId>,
}

impl Reasoner for Board {
    fn set_state(&mut self, state: &[u64]) {
        self.state = state[0];
    }

    fn is_terminal(&mut self) -> bool {
        is_over(self.state)
    }

    fn goals(&mut self, out: &mut [Option<u8>]) {
        for (place, goal) in out.iter_mut().zip(goals(self.state)) {
            *place = Some(goal);
        }
    }

    fn legal_moves(&mut self, role: RoleId) -> &[MoveId] {
        self.legal.clear();
        if role.0 == turn(self.state) {
            let free = FULL & !(crosses(self.state) | noughts(self.state));
            self.legal.extend(
                (0..9)
                    .filter(|cell| free >> cell & 1 == 1)
                    .map(|cell| MoveId(role.0 * ROLE + cell)),
            );
        } else {
            self.legal.push(MoveId(role.0 * ROLE + NOOP));
        }
        &self.legal
    }

    fn next_state(&mut self, joint_move: &[MoveId], out: &mut Vec<u64>) {
        let mv = joint_move[turn(self.state) as usize];
        out.clear();
        out.push(mark(self.state, mv.0 % ROLE));
    }

    fn playout(&mut self, random: &mut Random, max_steps: u32, out: &mut [u8]) -> PlayoutEnd {
        let mut steps = 0;
        let mut end = PlayoutEnd::CutOff;
        loop {
            if is_over(self.state) {
                end = PlayoutEnd::Finished { steps };
                break;
            }
            if steps == max_steps {
                break;
            }
            let mut free = FULL & !(crosses(self.state) | noughts(self.state));
            for _ in 0..random.below(free.count_ones()) {
                free &= free - 1;
            }
            self.state = mark(self.state, free.trailing_zeros());
            steps += 1;
        }
        out.copy_from_slice(&goals(self.state));
        end
    }
}
