//! Small games written by hand, for the tests of the search.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::{GameInfo, Machine, MoveId, PlayoutEnd, Random, Reasoner, RoleId};
use panza_machine::UnknownFact;

/// Moves of role `r` are numbered from `r * ROLE` on.
pub(super) const ROLE: u32 = 100_000;

/// The rules of a game, stated without regard to speed. Moves are numbers below [`ROLE`] here.
pub(super) trait Rules: Send + Sync + 'static {
    fn n_roles(&self) -> usize;
    fn initial(&self) -> Vec<u64>;
    fn is_terminal(&self, state: &[u64]) -> bool;
    fn goal(&self, state: &[u64], role: usize) -> u8;
    fn legal(&self, state: &[u64], role: usize) -> Vec<u32>;
    fn next(&self, state: &[u64], joint_move: &[u32]) -> Vec<u64>;
    /// Called at the start of each playout; `own` says whether the searching thread plays.
    fn before_playout(&self, _own: bool) {}
    /// Called for each question about legal moves that is not part of a playout.
    fn asked_for_moves(&self) {}
}

/// A machine for any rules.
pub(super) struct Game<R> {
    pub(super) rules: R,
    /// The thread that made it, which is the one that searches.
    owner: std::thread::ThreadId,
}

impl<R: Rules> Game<R> {
    pub(super) fn new(rules: R) -> Arc<Self> {
        Arc::new(Self {
            rules,
            owner: std::thread::current().id(),
        })
    }
}

impl<R: Rules> GameInfo for Game<R> {
    fn n_roles(&self) -> usize {
        self.rules.n_roles()
    }
    fn role_name(&self, role: RoleId) -> &str {
        ["role0", "role1", "role2", "role3"][role.0 as usize]
    }
    fn move_text(&self, mv: MoveId) -> String {
        (mv.0 % ROLE).to_string()
    }
    fn find_move(&self, role: RoleId, text: &str) -> Option<MoveId> {
        text.parse::<u32>()
            .ok()
            .map(|mv| MoveId(role.0 * ROLE + mv))
    }
    fn state_facts(&self, state: &[u64]) -> Vec<String> {
        state.iter().map(u64::to_string).collect()
    }
    fn state_from_facts(&self, facts: &[String]) -> Result<Vec<u64>, UnknownFact> {
        facts
            .iter()
            .map(|fact| fact.parse().map_err(|_| UnknownFact(fact.clone())))
            .collect()
    }
}

impl<R: Rules> Machine for Game<R> {
    fn kind(&self) -> &'static str {
        "test"
    }
    fn info(&self) -> &dyn GameInfo {
        self
    }
    fn initial_state(&self) -> Vec<u64> {
        self.rules.initial()
    }
    fn reasoner(self: Arc<Self>) -> Box<dyn Reasoner> {
        Box::new(RulesReasoner {
            state: self.rules.initial(),
            legal: Vec::new(),
            game: self,
        })
    }
}

struct RulesReasoner<R> {
    game: Arc<Game<R>>,
    state: Vec<u64>,
    legal: Vec<MoveId>,
}

impl<R: Rules> Reasoner for RulesReasoner<R> {
    fn set_state(&mut self, state: &[u64]) {
        self.state = state.to_vec();
    }
    fn is_terminal(&mut self) -> bool {
        self.game.rules.is_terminal(&self.state)
    }
    fn goals(&mut self, out: &mut [Option<u8>]) {
        for (role, goal) in out.iter_mut().enumerate() {
            *goal = Some(self.game.rules.goal(&self.state, role));
        }
    }
    fn legal_moves(&mut self, role: RoleId) -> &[MoveId] {
        self.game.rules.asked_for_moves();
        let legal = self.game.rules.legal(&self.state, role.0 as usize);
        self.legal.clear();
        self.legal
            .extend(legal.iter().map(|mv| MoveId(role.0 * ROLE + mv)));
        &self.legal
    }
    fn next_state(&mut self, joint_move: &[MoveId], out: &mut Vec<u64>) {
        let moves: Vec<u32> = joint_move.iter().map(|mv| mv.0 % ROLE).collect();
        for (role, mv) in joint_move.iter().enumerate() {
            assert_eq!((mv.0 / ROLE) as usize, role, "a move of another role");
            let legal = self.game.rules.legal(&self.state, role);
            assert!(legal.contains(&moves[role]), "an illegal move");
        }
        *out = self.game.rules.next(&self.state, &moves);
    }
    fn playout(&mut self, random: &mut Random, max_steps: u32, goals: &mut [u8]) -> PlayoutEnd {
        let rules = &self.game.rules;
        rules.before_playout(std::thread::current().id() == self.game.owner);
        let mut steps = 0;
        let mut end = PlayoutEnd::CutOff;
        'steps: loop {
            if rules.is_terminal(&self.state) {
                end = PlayoutEnd::Finished { steps };
                break;
            }
            if steps == max_steps {
                break;
            }
            let mut joint_move = Vec::new();
            for role in 0..rules.n_roles() {
                let legal = rules.legal(&self.state, role);
                if legal.is_empty() {
                    end = PlayoutEnd::Finished { steps };
                    break 'steps;
                }
                joint_move.push(legal[random.below(legal.len() as u32) as usize]);
            }
            self.state = rules.next(&self.state, &joint_move);
            steps += 1;
        }
        for (role, goal) in goals.iter_mut().enumerate() {
            *goal = rules.goal(&self.state, role);
        }
        end
    }
}

/// Nim for any number of players who move in turn: take any number from one heap. Who takes the
/// last one wins all. The state is the role to move and the heaps.
pub(super) struct Nim {
    pub(super) players: usize,
    pub(super) heaps: Vec<u64>,
}

impl Nim {
    const PASS: u32 = 99_999;

    pub(super) fn new(players: usize, heaps: &[u64]) -> Self {
        Self {
            players,
            heaps: heaps.to_vec(),
        }
    }

    pub(super) fn mv(heap: u32, count: u32) -> u32 {
        heap * 1000 + count
    }
}

impl Rules for Nim {
    fn n_roles(&self) -> usize {
        self.players
    }
    fn initial(&self) -> Vec<u64> {
        [&[0], self.heaps.as_slice()].concat()
    }
    fn is_terminal(&self, state: &[u64]) -> bool {
        state[1..=self.heaps.len()].iter().all(|&heap| heap == 0)
    }
    fn goal(&self, state: &[u64], role: usize) -> u8 {
        let last = (state[0] as usize + self.players - 1) % self.players;
        if self.is_terminal(state) && last == role {
            100
        } else {
            0
        }
    }
    fn legal(&self, state: &[u64], role: usize) -> Vec<u32> {
        if state[0] as usize != role {
            return vec![Self::PASS];
        }
        let heaps = state[1..=self.heaps.len()].iter().zip(0..);
        heaps
            .flat_map(|(&heap, number)| (1..=heap as u32).map(move |count| Self::mv(number, count)))
            .collect()
    }
    fn next(&self, state: &[u64], joint_move: &[u32]) -> Vec<u64> {
        let mut next = state.to_vec();
        let mv = joint_move[state[0] as usize];
        next[1 + (mv / 1000) as usize] -= u64::from(mv % 1000);
        next[0] = (state[0] + 1) % self.players as u64;
        next
    }
}

/// A game given as a table. The state is the number of a node; node 0 is the start.
#[derive(Clone, Debug)]
pub(super) struct Table {
    pub(super) roles: usize,
    pub(super) nodes: Vec<TableNode>,
}

#[derive(Clone, Debug)]
pub(super) enum TableNode {
    /// The game is over; the goals.
    End(Vec<u8>),
    /// How many moves each role has, and the node after each joint move, the first role's move
    /// counting fastest.
    Choice(Vec<u32>, Vec<usize>),
}

impl Rules for Table {
    fn n_roles(&self) -> usize {
        self.roles
    }
    fn initial(&self) -> Vec<u64> {
        vec![0]
    }
    fn is_terminal(&self, state: &[u64]) -> bool {
        matches!(self.nodes[state[0] as usize], TableNode::End(_))
    }
    fn goal(&self, state: &[u64], role: usize) -> u8 {
        match &self.nodes[state[0] as usize] {
            TableNode::End(goals) => goals[role],
            TableNode::Choice(..) => 0,
        }
    }
    fn legal(&self, state: &[u64], role: usize) -> Vec<u32> {
        match &self.nodes[state[0] as usize] {
            TableNode::End(_) => Vec::new(),
            TableNode::Choice(counts, _) => (0..counts[role]).collect(),
        }
    }
    fn next(&self, state: &[u64], joint_move: &[u32]) -> Vec<u64> {
        match &self.nodes[state[0] as usize] {
            TableNode::End(_) => state.to_vec(),
            TableNode::Choice(counts, next) => {
                let mut index = 0;
                for (&count, &mv) in counts.iter().zip(joint_move).rev() {
                    index = index * count as usize + mv as usize;
                }
                vec![next[index] as u64]
            }
        }
    }
}

/// A game of one joint move: two roles, a goal for each pair of moves.
pub(super) fn matrix(goals: &[&[(u8, u8)]]) -> Table {
    let (rows, columns) = (goals.len(), goals[0].len());
    let mut nodes = vec![TableNode::Choice(
        vec![rows as u32, columns as u32],
        (1..=rows * columns).collect(),
    )];
    for column in 0..columns {
        for row in goals {
            let (first, second) = row[column];
            nodes.push(TableNode::End(vec![first, second]));
        }
    }
    Table { roles: 2, nodes }
}

/// One player, a row of lights; each move switches a light and its neighbours. All on is worth 100,
/// and the clock ends the game.
pub(super) struct Lights {
    pub(super) lights: u32,
    pub(super) steps: u64,
}

impl Rules for Lights {
    fn n_roles(&self) -> usize {
        1
    }
    fn initial(&self) -> Vec<u64> {
        vec![0, 0]
    }
    fn is_terminal(&self, state: &[u64]) -> bool {
        state[1] == self.steps || self.goal(state, 0) == 100
    }
    fn goal(&self, state: &[u64], _role: usize) -> u8 {
        if state[0].count_ones() == self.lights {
            100
        } else {
            0
        }
    }
    fn legal(&self, _state: &[u64], _role: usize) -> Vec<u32> {
        (0..self.lights).collect()
    }
    fn next(&self, state: &[u64], joint_move: &[u32]) -> Vec<u64> {
        let around = 0b111 << joint_move[0] >> 1;
        let all = (1 << self.lights) - 1;
        vec![state[0] ^ (around & all), state[1] + 1]
    }
}

/// Two roles in turn, `moves` moves each time, `plies` plies. The first role gets 100 if its first
/// move was `winning`, else 20 plus 1 for each of its later moves that are even. Counts how often
/// it is asked for legal moves.
pub(super) struct Wide {
    pub(super) moves: u32,
    pub(super) plies: u64,
    pub(super) winning: u32,
    pub(super) asked: AtomicUsize,
}

impl Rules for Wide {
    fn n_roles(&self) -> usize {
        2
    }
    fn initial(&self) -> Vec<u64> {
        vec![0, 0]
    }
    fn is_terminal(&self, state: &[u64]) -> bool {
        state[0] == self.plies
    }
    fn goal(&self, state: &[u64], role: usize) -> u8 {
        let first = if state[1] == 1 { 100 } else { 20 };
        if role == 0 { first } else { 100 - first }
    }
    fn legal(&self, state: &[u64], role: usize) -> Vec<u32> {
        if state[0] % 2 == role as u64 {
            (0..self.moves).collect()
        } else {
            vec![self.moves]
        }
    }
    fn next(&self, state: &[u64], joint_move: &[u32]) -> Vec<u64> {
        let wins = state[0] == 0 && joint_move[0] == self.winning;
        vec![state[0] + 1, state[1] | u64::from(wins)]
    }
    fn asked_for_moves(&self) {
        self.asked.fetch_add(1, Ordering::Relaxed);
    }
}

/// Two roles walk on for ever, each with two moves; the goals are 30 and 60 throughout.
pub(super) struct Endless;

impl Rules for Endless {
    fn n_roles(&self) -> usize {
        2
    }
    fn initial(&self) -> Vec<u64> {
        vec![1]
    }
    fn is_terminal(&self, _state: &[u64]) -> bool {
        false
    }
    fn goal(&self, _state: &[u64], role: usize) -> u8 {
        [30, 60][role]
    }
    fn legal(&self, _state: &[u64], _role: usize) -> Vec<u32> {
        vec![0, 1]
    }
    fn next(&self, state: &[u64], joint_move: &[u32]) -> Vec<u64> {
        let mixed = state[0]
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(u64::from(joint_move[0] * 2 + joint_move[1]));
        vec![mixed]
    }
}

/// Rules whose playouts do something besides.
pub(super) struct Playing<R, F> {
    pub(super) rules: R,
    pub(super) before: F,
}

impl<R: Rules, F: Fn(bool) + Send + Sync + 'static> Rules for Playing<R, F> {
    fn n_roles(&self) -> usize {
        self.rules.n_roles()
    }
    fn initial(&self) -> Vec<u64> {
        self.rules.initial()
    }
    fn is_terminal(&self, state: &[u64]) -> bool {
        self.rules.is_terminal(state)
    }
    fn goal(&self, state: &[u64], role: usize) -> u8 {
        self.rules.goal(state, role)
    }
    fn legal(&self, state: &[u64], role: usize) -> Vec<u32> {
        self.rules.legal(state, role)
    }
    fn next(&self, state: &[u64], joint_move: &[u32]) -> Vec<u64> {
        self.rules.next(state, joint_move)
    }
    fn before_playout(&self, own: bool) {
        (self.before)(own);
    }
}

/// A game whose playouts take this long.
pub(super) fn slow<R: Rules>(rules: R, time: Duration) -> Arc<dyn Machine> {
    Game::new(Playing {
        rules,
        before: move |_| {
            let start = Instant::now();
            while start.elapsed() < time {
                std::hint::spin_loop();
            }
        },
    })
}

/// A game that sets a flag at the start of its `count`th playout.
pub(super) fn stopping<R: Rules>(
    rules: R,
    count: usize,
    flag: Arc<AtomicBool>,
) -> Arc<dyn Machine> {
    let playouts = AtomicUsize::new(0);
    Game::new(Playing {
        rules,
        before: move |_| {
            if playouts.fetch_add(1, Ordering::Relaxed) + 1 == count {
                flag.store(true, Ordering::Release);
            }
        },
    })
}

/// A game whose playouts panic in every thread but the searching one, from the `count`th on.
pub(super) fn panicking<R: Rules>(rules: R, count: usize) -> Arc<dyn Machine> {
    let playouts = AtomicUsize::new(0);
    Game::new(Playing {
        rules,
        before: move |own: bool| {
            if !own && playouts.fetch_add(1, Ordering::Relaxed) + 1 >= count {
                panic!("this playout was made to fail");
            }
        },
    })
}
