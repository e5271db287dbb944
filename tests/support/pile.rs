//! A small game with a hand-written machine that can be made to fail.
//!
//! Two roles take one or two tokens from a pile in turn; the role that takes the last one wins. The
//! other role's only move is `noop`, so every second PLAY has one legal move.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::Sender;

use panza_gdl::{Id, MoveId, RoleId};
use panza_machine::{GameInfo, Machine, PlayoutEnd, Reasoner, UnknownFact};
use panza_sync::Random;

/// The rules, for a pile of `size` tokens, in GDL.
pub fn rules(size: u64) -> String {
    let succ: Vec<String> = (0..size).map(|n| format!("(succ {n} {})", n + 1)).collect();
    format!(
        "(role first) (role second) (init (pile {size})) (init (control first)) {}
        (<= (legal ?r (take 1)) (true (control ?r)) (true (pile ?n)) (succ ?m ?n))
        (<= (legal ?r (take 2)) (true (control ?r)) (true (pile ?n)) (succ ?m ?n) (succ ?l ?m))
        (<= (legal first noop) (true (control second)))
        (<= (legal second noop) (true (control first)))
        (<= (next (pile ?m)) (does ?r (take 1)) (true (pile ?n)) (succ ?m ?n))
        (<= (next (pile ?l)) (does ?r (take 2)) (true (pile ?n)) (succ ?m ?n) (succ ?l ?m))
        (<= (next (control first)) (true (control second)))
        (<= (next (control second)) (true (control first)))
        (<= terminal (true (pile 0)))
        (<= (goal first 100) (true (pile 0)) (true (control second)))
        (<= (goal second 100) (true (pile 0)) (true (control first)))
        (<= (goal first 0) (not (won first))) (<= (goal second 0) (not (won second)))
        (<= (won first) (true (pile 0)) (true (control second)))
        (<= (won second) (true (pile 0)) (true (control first)))",
        succ.join(" ")
    )
}

/// What every panic that was ordered says.
pub const MISCHIEF: &str = "beyond me";

/// What the machine does besides its duty.
#[derive(Clone, Debug, Default)]
pub struct Mischief {
    /// Playouts panic.
    pub playouts_panic: bool,
    /// Everything on states panics.
    pub states_panic: bool,
    /// Playouts take until this is set.
    pub playouts_hang: Option<Arc<AtomicBool>>,
    /// Asking for legal moves takes until this is set.
    pub legal_moves_hang: Option<Arc<AtomicBool>>,
    /// Told the name of each thread that makes a reasoner.
    pub taken: Option<Sender<String>>,
    /// Everything panics on threads of this name.
    pub panics_on: Option<&'static str>,
    /// Everything takes until this is set on threads of this name.
    pub hangs_on: Option<(&'static str, Arc<AtomicBool>)>,
    /// How many of the next calls of `Machine::kind` panic.
    pub kind_panics: Arc<AtomicU32>,
}

impl Mischief {
    /// Panics or hangs where that is ordered for the thread.
    fn act(&self) {
        let thread = std::thread::current();
        let is_named = |name: &str| thread.name() == Some(name);
        assert!(
            !self.panics_on.is_some_and(is_named),
            "threads are beyond me"
        );
        if let Some((name, until)) = &self.hangs_on
            && is_named(name)
        {
            hang(until);
        }
    }
}

/// The game: a state is the pile and the role in control.
#[derive(Debug)]
pub struct Pile {
    pub size: u64,
    pub kind: &'static str,
    pub mischief: Mischief,
}

const ROLES: [&str; 2] = ["first", "second"];
const MOVES: [&str; 3] = ["noop", "(take 1)", "(take 2)"];

impl Pile {
    /// A machine that does its duty.
    pub fn new(size: u64) -> Self {
        Self {
            size,
            kind: "pile",
            mischief: Mischief::default(),
        }
    }
}

/// Waits until the flag is set.
pub fn hang(until: &AtomicBool) {
    while !until.load(Ordering::Relaxed) {
        std::thread::yield_now();
    }
}

impl GameInfo for Pile {
    fn n_roles(&self) -> usize {
        ROLES.len()
    }

    fn role_name(&self, role: RoleId) -> &str {
        ROLES[role.index()]
    }

    fn move_text(&self, mv: MoveId) -> String {
        MOVES[mv.index() % MOVES.len()].into()
    }

    fn find_move(&self, role: RoleId, text: &str) -> Option<MoveId> {
        let number = MOVES.iter().position(|name| *name == text)?;
        Some(MoveId::from_index(role.index() * MOVES.len() + number))
    }

    fn state_facts(&self, state: &[u64]) -> Vec<String> {
        vec![
            format!("(control {})", ROLES[state[1] as usize]),
            format!("(pile {})", state[0]),
        ]
    }

    fn state_from_facts(&self, facts: &[String]) -> Result<Vec<u64>, UnknownFact> {
        Err(UnknownFact(facts.concat()))
    }
}

impl Machine for Pile {
    fn kind(&self) -> &'static str {
        let one_less = |left: u32| left.checked_sub(1);
        let left = &self.mischief.kind_panics;
        let panics = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less);
        assert!(panics.is_err(), "the kind is beyond me");
        self.kind
    }
    fn info(&self) -> &dyn GameInfo {
        self
    }

    fn initial_state(&self) -> Vec<u64> {
        vec![self.size, 0]
    }

    fn reasoner(self: Arc<Self>) -> Box<dyn Reasoner> {
        self.mischief.act();
        if let Some(taken) = &self.mischief.taken {
            let thread = std::thread::current();
            let _ = taken.send(thread.name().unwrap_or_default().to_string());
        }
        Box::new(PileReasoner {
            state: self.initial_state(),
            legal: Vec::new(),
            machine: self,
        })
    }
}

struct PileReasoner {
    machine: Arc<Pile>,
    state: Vec<u64>,
    legal: Vec<MoveId>,
}

impl PileReasoner {
    fn after(&self, joint_move: &[MoveId]) -> Vec<u64> {
        let taken: u64 = joint_move
            .iter()
            .map(|mv| (mv.index() % MOVES.len()) as u64)
            .sum();
        vec![self.state[0].saturating_sub(taken), 1 - self.state[1]]
    }
}

impl Reasoner for PileReasoner {
    fn set_state(&mut self, state: &[u64]) {
        assert!(!self.machine.mischief.states_panic, "states are beyond me");
        self.machine.mischief.act();
        self.state = state.to_vec();
    }

    fn is_terminal(&mut self) -> bool {
        self.state[0] == 0
    }

    fn goals(&mut self, out: &mut [Option<u8>]) {
        for (role, goal) in out.iter_mut().enumerate() {
            let has_won = self.is_terminal() && self.state[1] != role as u64;
            *goal = Some(if has_won { 100 } else { 0 });
        }
    }

    fn legal_moves(&mut self, role: RoleId) -> &[MoveId] {
        if let Some(until) = &self.machine.mischief.legal_moves_hang {
            hang(until);
        }
        let base = role.index() * MOVES.len();
        let numbers = match (self.state[1] == role.index() as u64, self.state[0]) {
            (true, 0) => 0..0,
            (true, 1) => 1..2,
            (true, _) => 1..3,
            (false, _) => 0..1,
        };
        self.legal = numbers.map(|n| MoveId::from_index(base + n)).collect();
        &self.legal
    }

    fn next_state(&mut self, joint_move: &[MoveId], out: &mut Vec<u64>) {
        *out = self.after(joint_move);
    }

    fn playout(&mut self, random: &mut Random, max_steps: u32, goals: &mut [u8]) -> PlayoutEnd {
        assert!(
            !self.machine.mischief.playouts_panic,
            "playouts are beyond me"
        );
        self.machine.mischief.act();
        if let Some(until) = &self.machine.mischief.playouts_hang {
            hang(until);
        }
        let mut steps = 0;
        while !self.is_terminal() {
            if steps == max_steps {
                return PlayoutEnd::CutOff;
            }
            let joint_move: Vec<MoveId> = [RoleId(0), RoleId(1)]
                .into_iter()
                .map(|role| {
                    let legal = self.legal_moves(role);
                    legal[random.below(legal.len() as u32) as usize]
                })
                .collect();
            self.state = self.after(&joint_move);
            steps += 1;
        }
        let mut values = [None; 2];
        self.goals(&mut values);
        for (goal, value) in goals.iter_mut().zip(values) {
            *goal = value.unwrap_or(0);
        }
        PlayoutEnd::Finished { steps }
    }
}
